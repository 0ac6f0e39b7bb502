// prioritize: the node whose share is held gets 10, the others 0 to 9 by the order of their keys.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "codec/kube_json.h"
#include "role/extender/verbs.h"

namespace tessera {
namespace {

constexpr std::uint8_t kTop = 10;

// By the share of nodes that have a smaller key, in parts of the range of keys: the order is kept
// and nothing is sorted. Nodes that do not fit count for nothing and get 0.
void score(std::vector<Key> keys, std::size_t best, std::span<std::uint8_t> scores) {
    constexpr int kPartBits = 10;
    constexpr std::size_t kParts = std::size_t{1} << kPartBits;
    keys[best] = 0;
    Key low = std::numeric_limits<Key>::max();
    Key high = 0;
    for (const Key key : keys) {
        low = std::min(low, key == 0 ? low : key);
        high = std::max(high, key);
    }
    std::array<std::uint32_t, kParts> counts{};
    std::array<std::uint8_t, kParts> score_of{};
    const int shift =
        high < low ? 0 : std::max(0, static_cast<int>(std::bit_width(high - low)) - kPartBits);
    std::uint64_t others = 0;
    for (const Key key : keys) {
        if (key != 0) {
            ++counts[(key - low) >> shift];
            ++others;
        }
    }
    std::uint64_t smaller = 0;
    for (std::size_t part = 0; part < kParts && others > 1; ++part) {
        if (counts[part] != 0) {
            score_of[part] = static_cast<std::uint8_t>((kTop - 1) * smaller / (others - 1));
            smaller += counts[part];
        }
    }
    for (std::size_t at = 0; at < keys.size(); ++at) {
        scores[at] = keys[at] == 0 ? std::uint8_t{0} : score_of[(keys[at] - low) >> shift];
    }
    scores[best] = kTop;
}

}  // namespace

HttpResponse prioritize(Desk& desk, Call& call) {
    Scratch& scratch = Scratch::of_thread();
    const auto read = desk.node_lists.read(scratch.reader, call.request.body);
    if (!read) {
        return error_answer(400, read.error().message);
    }
    if (read->pod.empty()) {
        return error_answer(400, "the request has no Pod");
    }
    const auto pod = read_pod_json(read->pod);
    if (!pod) {
        return error_answer(400, "the pod cannot be read: " + pod.error().message);
    }
    const ExtenderArgs& args = read->nodes->args();
    scratch.marks.assign(args.size(), 0);
    {
        const auto mirror = desk.hold();
        auto fit = mirror->rank(*pod, read->nodes->candidates(*mirror), {"", desk.now()});
        if (!fit) {
            return error_answer(fit.error().kind == ErrorKind::invalid ? 400 : 500,
                                fit.error().message);
        }
        // A pod that asks for no GPU of ours is no matter of ours: the others' scores count.
        if (fit->best != SIZE_MAX) {
            score(std::move(fit->keys), fit->best, scratch.marks);
        }
    }
    return {.body = write_host_priorities(args, scratch.marks)};
}

}  // namespace tessera
