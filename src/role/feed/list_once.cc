#include "role/feed/list_once.h"

#include "kube/object_json.h"
#include "kube/paths.h"

namespace tessera {
namespace {

constexpr std::string_view kPageSize = "500";
// Somebody sits before it: enough for a server that is busy, not for one that is away.
constexpr Nanoseconds kPatience{6'000'000'000};
constexpr int kGone = 410;

// The status of the refusal is kept, to tell a list that grew too old.
ApiResult<void> one_list(const CallApi& call, std::string_view path, ObjectSink& sink) {
    ObjectReader reader;
    std::string next;
    sink.list_begins();
    do {
        auto body = call(ApiCall::get(with_query(path, {{"limit", kPageSize}, {"continue", next}}))
                             .within(kPatience));
        if (!body) {
            return tl::unexpected(std::move(body.error()));
        }
        auto page = reader.page(*body, [&](std::string_view object) { sink.listed(object); });
        if (!page) {
            ApiError error;
            error.error = std::move(page.error()).within(path);
            return tl::unexpected(std::move(error));
        }
        next = std::move(page->next);
    } while (!next.empty());
    sink.list_ends();
    return {};
}

}  // namespace

Expected<void> list_once(const CallApi& call, std::string_view path, ObjectSink& sink) {
    auto done = one_list(call, path, sink);
    if (!done && done.error().status == kGone) {
        done = one_list(call, path, sink);
    }
    if (!done) {
        return tl::unexpected(std::move(done.error().error));
    }
    return {};
}

}  // namespace tessera
