// Calls of the Kubernetes API, with its errors understood and its refusals waited out.
//
//   ApiClient api(*http, boot_time_now, seed);
//   api.send(ApiCall::get(path).within(Nanoseconds(4'000'000'000)), [](auto answer) { ... });
//   auto pod = api.call(ApiCall::get(path));                  // for commands: waits
//
// 429 and 503 say that nothing was done: such calls are made again, after the time that the server
// asks for or an exponential back-off with jitter, until the deadline. After other 5xx and a lost
// connection nobody knows whether the write was done; only what may be done twice is repeated then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/error.h"
#include "kube/backoff.h"
#include "kube/clock.h"
#include "net/http_client.h"

namespace tessera {

struct ApiError {
    Error error;         // a sentence for people
    int status = 0;      // of HTTP; 0: no answer came
    std::string reason;  // the API's own word: "Conflict", "NotFound", "Expired"
    std::optional<Nanoseconds> retry_after{};
    // The API server may have done what was asked all the same.
    bool unsure = false;

    // Worth another attempt: nothing was done, or nobody knows.
    bool passing() const { return unsure || status == 429; }
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;

// An answer that is not 2xx, or none, as an error; `what` is "GET /api/v1/pods".
ApiError api_error(const Expected<ClientAnswer>& answer, const ClientCall& call);
// The body of a 2xx answer, or the error.
ApiResult<std::string> api_answer(Expected<ClientAnswer> answer, const ClientCall& call);

struct ApiCall {
    ClientCall http;
    // All attempts together. Nothing: one attempt.
    std::optional<Nanoseconds> deadline{};
    bool repeatable = true;  // may be done twice
    BackoffRange backoff{};

    static ApiCall get(std::string path);
    static ApiCall create(std::string path, std::string body);  // not repeatable
    static ApiCall replace(std::string path, std::string body);
    static ApiCall merge_patch(std::string path, std::string body);
    // Of the built-in kinds: their lists are merged by key.
    static ApiCall strategic_patch(std::string path, std::string body);
    static ApiCall remove(std::string path);

    ApiCall within(Nanoseconds time) && {
        deadline = time;
        return std::move(*this);
    }
};

// The HttpClient must outlive all calls. Callbacks run on its thread.
class ApiClient {
  public:
    using Done = std::function<void(ApiResult<std::string>)>;

    ApiClient(HttpClient& http, Clock clock, std::uint64_t seed);

    void send(ApiCall call, Done done);
    // Waits; not from the client's thread.
    ApiResult<std::string> call(ApiCall call);

  private:
    struct Shared;
    struct Attempt;
    std::shared_ptr<Shared> shared_;
};

}  // namespace tessera
