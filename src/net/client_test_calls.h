// Calls of a client and what comes back, for its tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "net/client_test_server.h"
#include "net/http_client.h"

namespace tessera::testing {

inline constexpr auto kPatience = std::chrono::seconds(60);
inline constexpr Nanoseconds kMillisecond{1'000'000};

inline std::unique_ptr<HttpClient> client_of(HttpClientOptions options) {
    auto client = HttpClient::open(std::move(options));
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
}

inline std::string answer_text(int status, const std::string& body,
                               const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(status) + " Because\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline ScriptedServer::Script always(std::string text) {
    return [text = std::move(text)](ServedConnection& peer, const std::string&) {
        return peer.write(text);
    };
}

inline const std::string kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

// A value that a callback will bring.
template <class T>
class Awaited {
  public:
    void set(T value) {
        const std::lock_guard lock(state_->mutex);
        state_->values.push_back(std::move(value));
        state_->changed.notify_all();
    }
    // The n-th that came.
    T get(std::size_t n = 0) const {
        std::unique_lock lock(state_->mutex);
        const bool came =
            state_->changed.wait_for(lock, kPatience, [&] { return state_->values.size() > n; });
        TESSERA_ASSERT(came, "the callback has not run");
        return state_->values[n];
    }
    std::size_t count() const {
        const std::lock_guard lock(state_->mutex);
        return state_->values.size();
    }

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<T> values;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

using Answer = Expected<ClientAnswer>;

inline HttpClient::Done to(Awaited<Answer> target) {
    return [target](Answer answer) mutable { target.set(std::move(answer)); };
}

inline ScriptedServer::Script silent() {
    return [](ServedConnection& peer, const std::string&) {
        peer.await_end();
        return false;
    };
}

}  // namespace tessera::testing
