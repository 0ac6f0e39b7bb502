// Whatever the network and the server do, in the end the sink holds what the server holds.
//
// Each history is drawn from a seed: changes at random times, answers that are late, cut, refused,
// garbled or told twice, versions that are forgotten. Then the faults stop, and so do the changes.
// TESSERA_PROPERTY_SCALE=n runs n times as many histories.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "kube/fake_http_client.h"
#include "kube/fake_objects.h"
#include "kube/reflector.h"

namespace tessera {
namespace {

class History {
  public:
    explicit History(std::uint64_t seed) : rng_(seed), share_(rng_.below(60)), seed_(seed) {
        http_.latency = [this] {
            return milliseconds(1 + static_cast<std::int64_t>(rng_.below(50)));
        };
        for (std::uint64_t n = rng_.below(30); n > 0; --n) {
            change();
        }
    }

    std::string run() {
        reflector_.start();
        if (seed_ % 2 == 0) {
            time_.run_for(seconds(1));
        }
        changing_ = true;
        keep_changing();
        for (std::uint64_t left = 60 + rng_.below(1200); left > 0; --left) {
            time_.run_for(seconds(1));
            if (!told_all()) {
                return "it says that all has been told, and it has not";
            }
        }
        changing_ = false;
        share_ = 0;
        // A watch that is silent is noticed, and the longest back-off ends.
        time_.run_for(seconds(300));
        if (!sink_.fault.empty()) {
            return sink_.fault;
        }
        if (sink_.values != server_.values()) {
            return "the sink holds something else than the server";
        }
        if (!reflector_.healthy() || http_.open_calls() != 1) {
            return "it does not watch in the end: " + reflector_.last_error();
        }
        // And it follows what happens from now on.
        server_.put("last", 4711);
        tell_open_watch();
        time_.run_for(seconds(1));
        return sink_.values == server_.values() ? "" : "it does not follow any more";
    }
    ReflectorCounts counts() const { return reflector_.counts(); }

  private:
    bool strikes(std::uint64_t percent) { return rng_.below(100) < percent * share_ / 60; }

    void change() {
        const std::string name = "o" + std::to_string(rng_.below(40));
        rng_.below(4) == 0 ? server_.remove(name)
                           : server_.put(name, static_cast<int>(rng_.below(1000)));
        states_.emplace_back(time_.now(), server_.values());
    }
    // The sink holds what the server held at some moment that is not before told_until().
    bool told_all() const {
        for (auto state = states_.rbegin(); state != states_.rend(); ++state) {
            if (state->second == sink_.values) {
                return true;
            }
            if (state->first < reflector_.told_until()) {
                return false;
            }
        }
        return true;  // nothing has been told of yet
    }
    void keep_changing() {
        if (!changing_) {
            return;
        }
        change();
        if (strikes(10)) {
            server_.forget(rng_.below(5));
        }
        tell_open_watch();
        time_.after(milliseconds(1 + static_cast<std::int64_t>(rng_.below(4000))),
                    [this] { keep_changing(); });
    }

    void serve(FakeHttpClient& to, const FakeCall& call) {
        if (strikes(40)) {
            misbehave(to, call);
            return;
        }
        if (!call.streams) {
            auto page = server_.page(call.call.path);
            if (strikes(10)) {
                page.body.resize(rng_.below(page.body.size()));
            }
            to.answer(call.id, std::move(page));
            return;
        }
        const auto version = std::stoull(query_value(call.call.path, "resourceVersion"));
        if (!server_.events_after(version)) {
            if (rng_.below(2) == 0) {
                to.answer(call.id, status_answer(410, "Expired"));
            } else {
                to.line(call.id,
                        R"({"type":"ERROR","object":)" + status_answer(410, "Expired").body + "}");
            }
            return;
        }
        watch_ = call.id;
        told_ = version;
        tell_open_watch();
        to.answer(call.id, {.status = 200, .body = ""},
                  seconds(std::stoll(query_value(call.call.path, "timeoutSeconds"))));
        bookmarks(call.id);
    }
    void misbehave(FakeHttpClient& to, const FakeCall& call) {
        switch (rng_.below(7)) {
            case 0:
                to.cut(call.id);
                break;
            case 1:
                to.answer(call.id, status_answer(410, "Expired"));
                break;
            case 2:
                to.answer(call.id, {.status = 429, .body = "", .retry_after = seconds(3)});
                break;
            case 3:
                to.answer(call.id,
                          status_answer(500 + static_cast<int>(rng_.below(5)), "Internal"));
                break;
            case 4:
                to.answer(call.id, {.status = 200, .body = "<html>"});
                break;
            case 5:
                to.answer(call.id, status_answer(403, "Forbidden"));
                break;
            default:
                break;  // silence
        }
    }
    // Tells the open watch what it has not been told, with what can go wrong with lines.
    void tell_open_watch() {
        if (!http_.is_open(watch_)) {
            return;
        }
        const auto events = server_.events_after(told_);
        if (!events) {
            http_.cut(watch_);
            return;
        }
        for (const auto& event : *events) {
            const std::string line = FakeObjects::line(event);
            if (strikes(3)) {
                // Garbled on the way, and the server goes on as if nothing had happened.
                http_.line(watch_, "{" + line.substr(rng_.below(line.size())));
                told_ = event.object.version;
                continue;
            }
            if (strikes(6)) {
                spoil(line);
                watch_ = HttpClient::CallId::none;
                return;
            }
            http_.line(watch_, line);
            if (strikes(20)) {
                http_.line(watch_, line);
            }
            told_ = event.object.version;
        }
    }
    void spoil(const std::string& line) {
        const std::string half = line.substr(0, rng_.below(line.size()));
        switch (rng_.below(4)) {
            case 0:
                http_.cut(watch_);
                break;
            case 1:
                http_.answer(watch_, {.status = 200, .body = half});
                break;
            case 2:
                http_.line(watch_, half.empty() ? "x" : half);
                break;
            default:
                break;  // from now on this watch is told nothing
        }
    }
    void bookmarks(HttpClient::CallId id) {
        time_.after(seconds(60), [this, id] {
            if (http_.is_open(id) && watch_ == id) {
                if (told_ == server_.version()) {
                    http_.line(id, server_.bookmark());
                }
                bookmarks(id);
            }
        });
    }

    Rng rng_;
    std::uint64_t share_;  // how bad it is, 0 to 60
    std::uint64_t seed_;
    bool changing_ = false;
    HttpClient::CallId watch_{};
    std::uint64_t told_ = 0;
    FakeObjects server_;
    VirtualTime time_;
    std::vector<std::pair<Nanoseconds, std::map<std::string, int>>> states_;  // since when
    RecordingSink sink_;
    FakeHttpClient http_{time_,
                         [this](FakeHttpClient& to, const FakeCall& call) { serve(to, call); }};
    Reflector reflector_{
        http_,
        sink_,
        {.path = "/objects", .page_size = 7, .seed = rng_.next(), .clock = time_.clock()}};
};

TEST(ReflectorProperty, InTheEndTheSinkHoldsWhatTheServerHolds) {
    const char* scale = std::getenv("TESSERA_PROPERTY_SCALE");
    const std::uint64_t histories = 400 * (scale == nullptr ? 1 : std::stoull(scale));
    ReflectorCounts all;
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        History history(seed);
        ASSERT_EQ(history.run(), "") << "seed " << seed;
        const ReflectorCounts counts = history.counts();
        all.lists += counts.lists;
        all.expired += counts.expired;
        all.throttled += counts.throttled;
        all.failed += counts.failed;
        all.refused += counts.refused;
        all.lost += counts.lost;
        all.silent += counts.silent;
        all.malformed += counts.malformed;
    }
    // The histories did hold what they are about.
    for (const std::uint64_t count : {all.lists, all.expired, all.throttled, all.failed,
                                      all.refused, all.lost, all.silent, all.malformed}) {
        EXPECT_GT(count, histories / 4);
    }
}

}  // namespace
}  // namespace tessera
