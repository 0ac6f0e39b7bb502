#include "kube/background_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/fake_http_client.h"

namespace tessera {
namespace {

class BackgroundWriterTest : public ::testing::Test {
  protected:
    ~BackgroundWriterTest() override { http_.close(); }

    BackgroundWriter open(BackgroundWriterOptions options = {}) {
        options.busy = [this] { return busy_; };
        options.clock = time_.clock();
        return {http_, std::move(options)};
    }
    void write(BackgroundWriter& writer, int count) {
        for (int i = 0; i < count; ++i) {
            writer.write(ApiCall::create("/events/" + std::to_string(i), "{}"));
        }
    }

    bool busy_ = false;
    int status_ = 201;
    std::vector<std::string> asked_;
    std::size_t most_open_ = 0;
    VirtualTime time_;
    FakeHttpClient http_{time_, [this](FakeHttpClient& to, const FakeCall& call) {
                             asked_.push_back(call.call.path);
                             most_open_ = std::max(most_open_, to.open_calls());
                             to.answer(call.id, {.status = status_, .body = "{}"}, seconds(1));
                         }};
};

TEST_F(BackgroundWriterTest, WritesInOrderSoManyAtATime) {
    auto writer = open({.max_in_flight = 2});
    write(writer, 5);
    time_.run_for(seconds(60));
    EXPECT_EQ(asked_, (std::vector<std::string>{"/events/0", "/events/1", "/events/2", "/events/3",
                                                "/events/4"}));
    EXPECT_EQ(most_open_, 2U);
    const BackgroundWriterCounts counts = writer.counts();
    EXPECT_EQ(counts.written, 5U);
    EXPECT_EQ(counts.waiting + counts.in_flight, 0U);
    EXPECT_GT(counts.last_written, Nanoseconds(0));
}

TEST_F(BackgroundWriterTest, YieldsWhileThereIsSomethingMoreImportant) {
    auto writer = open();
    busy_ = true;
    write(writer, 3);
    time_.run_for(seconds(10));
    EXPECT_TRUE(asked_.empty());
    busy_ = false;
    time_.run_for(seconds(10));
    EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(BackgroundWriterTest, WhoHasWaitedLongGoesOneAtATimeAllTheSame) {
    auto writer = open({.patience = seconds(30)});
    busy_ = true;
    write(writer, 3);
    time_.run_for(seconds(29));
    EXPECT_TRUE(asked_.empty());
    time_.run_for(seconds(31));
    EXPECT_EQ(asked_.size(), 3U);
    EXPECT_EQ(most_open_, 1U);
}

TEST_F(BackgroundWriterTest, WhatFindsNoRoomIsDroppedAndCounted) {
    auto writer = open({.max_waiting = 2});
    busy_ = true;
    write(writer, 5);
    EXPECT_EQ(writer.counts().waiting, 2U);
    EXPECT_EQ(writer.counts().dropped, 3U);
}

TEST_F(BackgroundWriterTest, AStopDropsWhatWaits) {
    auto writer = open({.max_in_flight = 1});
    write(writer, 3);
    writer.stop();
    write(writer, 1);
    time_.run_for(seconds(60));
    EXPECT_EQ(asked_.size(), 1U) << "what had begun";
    EXPECT_EQ(writer.counts().dropped, 3U);
}

TEST_F(BackgroundWriterTest, AWriteThatIsRefusedIsToldAndCounted) {
    status_ = 403;
    auto writer = open();
    int told = 0;
    writer.write(ApiCall::create("/events", "{}"), [&](const ApiResult<std::string>& result) {
        EXPECT_FALSE(result);
        ++told;
    });
    time_.run_for(seconds(60));
    EXPECT_EQ(told, 1);
    EXPECT_EQ(writer.counts().failed, 1U);
}

}  // namespace
}  // namespace tessera
