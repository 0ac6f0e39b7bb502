#include "kube/api_client.h"

#include <algorithm>
#include <future>
#include <utility>

#include "base/rng.h"
#include "base/text.h"
#include "kube/object_json.h"

namespace tessera {
namespace {

constexpr std::int64_t kRetryAfterSecondsMax = 86'400;

ErrorKind kind_of(int status) {
    switch (status) {
        case 404:
        case 410:
            return ErrorKind::not_found;
        case 409:
            return ErrorKind::conflict;
        case 401:
        case 403:
        case 408:
        case 429:
            return ErrorKind::environment;
        default:
            return status >= 400 && status < 500 ? ErrorKind::invalid : ErrorKind::environment;
    }
}

std::string_view hint(int status) {
    switch (status) {
        case 401:
            return "; check the token or the client certificate";
        case 403:
            return "; grant the role that allows it";
        default:
            return "";
    }
}

}  // namespace

ApiError api_error(const Expected<ClientAnswer>& answer, const ClientCall& call) {
    ApiError result;
    if (!answer) {
        result.error = answer.error();
        result.unsure = answer.error().kind == ErrorKind::environment;
        return result;
    }
    const std::string where =
        fmt::format("{} {}", call.method, call.path.substr(0, call.path.find('?')));
    result.status = answer->status;
    result.retry_after = answer->retry_after;
    // A 503 too: it may come from a proxy that lost the server while that was at work.
    result.unsure = answer->status >= 500;
    std::string said;
    if (const auto status = read_status(answer->body)) {
        result.reason = status->reason;
        said = status->message;
        if (!result.retry_after && status->retry_after_seconds) {
            result.retry_after = Nanoseconds(
                std::min(*status->retry_after_seconds, kRetryAfterSecondsMax) * 1'000'000'000);
        }
    } else if (!answer->body.empty()) {
        said = in_quotes(answer->body);
    }
    result.error = {kind_of(answer->status),
                    fmt::format("{}: the API server answered {}{}{}{}{}{}", where, answer->status,
                                result.reason.empty() ? "" : " ", result.reason,
                                said.empty() ? "" : ": ", said, hint(answer->status))};
    return result;
}

ApiResult<std::string> api_answer(Expected<ClientAnswer> answer, const ClientCall& call) {
    if (answer && answer->status >= 200 && answer->status < 300) {
        return std::move(answer->body);
    }
    return tl::unexpected(api_error(answer, call));
}

ApiCall ApiCall::get(std::string path) { return {.http = {.path = std::move(path)}}; }

ApiCall ApiCall::create(std::string path, std::string body) {
    return {.http = {.method = "POST",
                     .path = std::move(path),
                     .content_type = "application/json",
                     .body = std::move(body)},
            .repeatable = false};
}

ApiCall ApiCall::replace(std::string path, std::string body) {
    return {.http = {.method = "PUT",
                     .path = std::move(path),
                     .content_type = "application/json",
                     .body = std::move(body)}};
}

ApiCall ApiCall::merge_patch(std::string path, std::string body) {
    return {.http = {.method = "PATCH",
                     .path = std::move(path),
                     .content_type = "application/merge-patch+json",
                     .body = std::move(body)}};
}

ApiCall ApiCall::strategic_patch(std::string path, std::string body) {
    ApiCall call = merge_patch(std::move(path), std::move(body));
    call.http.content_type = "application/strategic-merge-patch+json";
    return call;
}

ApiCall ApiCall::remove(std::string path) {
    return {.http = {.method = "DELETE", .path = std::move(path)}};
}

struct ApiClient::Shared {
    HttpClient& http;
    Clock clock;
    Rng rng;  // of the client's thread
};

// One call and its repetitions; kept alive by the callback that comes next.
struct ApiClient::Attempt : std::enable_shared_from_this<ApiClient::Attempt> {
    Attempt(std::shared_ptr<Shared> of, ApiCall asked, Done told)
        : shared(std::move(of)),
          call(std::move(asked)),
          done(std::move(told)),
          backoff(call.backoff),
          begun(shared->clock()) {}
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    // A client that is closed forgets its timers: whoever waits for the next attempt is told here.
    ~Attempt() {
        if (done != nullptr) {
            last_error.error.kind = ErrorKind::conflict;
            last_error.error.message += "; and then the client was closed";
            tell(tl::unexpected(std::move(last_error)));
        }
    }

    void begin() {
        ++attempts;
        ClientCall copy = call.http;
        if (call.deadline) {
            copy.timeout = std::min(copy.timeout, left());
        }
        shared->http.send(std::move(copy), [self = shared_from_this()](Expected<ClientAnswer> got) {
            self->ended(std::move(got));
        });
    }
    void ended(Expected<ClientAnswer> got) {
        auto result = api_answer(std::move(got), call.http);
        if (result || !call.deadline || !result.error().passing() ||
            (result.error().unsure && !call.repeatable)) {
            tell(std::move(result));
            return;
        }
        const Nanoseconds wait = backoff.next(shared->rng, result.error().retry_after);
        if (wait >= left()) {
            result.error().error.message += fmt::format(
                " ({} attempts in {} ms)", attempts, (shared->clock() - begun).value() / 1'000'000);
            tell(std::move(result));
            return;
        }
        last_error = std::move(result.error());
        shared->http.later(wait, [self = shared_from_this()] { self->begin(); });
    }
    void tell(ApiResult<std::string> result) { std::exchange(done, nullptr)(std::move(result)); }
    Nanoseconds left() const { return begun + *call.deadline - shared->clock(); }

    const std::shared_ptr<Shared> shared;
    ApiCall call;
    Done done;
    Backoff backoff;
    const Nanoseconds begun;
    int attempts = 0;
    ApiError last_error{};
};

ApiClient::ApiClient(HttpClient& http, Clock clock, std::uint64_t seed)
    : shared_(std::make_shared<Shared>(http, std::move(clock), Rng(seed))) {}

void ApiClient::send(ApiCall call, Done done) {
    std::make_shared<Attempt>(shared_, std::move(call), std::move(done))->begin();
}

ApiResult<std::string> ApiClient::call(ApiCall call) {
    std::promise<ApiResult<std::string>> promise;
    auto answer = promise.get_future();
    send(std::move(call),
         [&promise](ApiResult<std::string> got) { promise.set_value(std::move(got)); });
    return answer.get();
}

}  // namespace tessera
