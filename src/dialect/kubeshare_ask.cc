#include "dialect/kubeshare_ask.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/quantity.h"
#include "base/text.h"
#include "base/wording.h"
#include "model/gpu.h"

namespace tessera {
namespace {

constexpr std::string_view kLimit = "sharedgpu/gpu_limit";
constexpr std::string_view kRequest = "sharedgpu/gpu_request";
constexpr std::string_view kMemory = "sharedgpu/gpu_mem";
constexpr std::string_view kModel = "sharedgpu/gpu_model";
constexpr std::string_view kPriority = "sharedgpu/priority";
constexpr std::string_view kGroup = "sharedgpu/group_name";
constexpr std::string_view kGroupOfReadme = "sharedgpu/pod_group_name";
constexpr std::string_view kHeadcount = "sharedgpu/group_headcount";
constexpr std::string_view kThreshold = "sharedgpu/group_threshold";
constexpr std::string_view kMinAvailable = "sharedgpu/min_available";
constexpr std::array kGpuLabels = {kLimit, kRequest, kMemory};

constexpr std::string_view kLimit1 = "kubeshare/gpu_limit";
constexpr std::string_view kRequest1 = "kubeshare/gpu_request";
constexpr std::string_view kMemory1 = "kubeshare/gpu_mem";
constexpr std::array kGpuAnnotations = {kLimit1, kRequest1, kMemory1};

// Steering by what else a GPU holds, and what serves the same end.
struct Tag {
    std::string_view key;
    std::string_view instead;
};
constexpr std::string_view kAlone = "tessera.dev/isolation: exclusive gives a pod its own GPU";
constexpr std::array<Tag, 3> kTags{
    {{"kubeshare/sched_affinity", "containers of one pod share its GPU"},
     {"kubeshare/sched_anti-affinity", kAlone},
     {"kubeshare/sched_exclusion", kAlone}}};

constexpr std::int64_t kHeadcountMax = 100'000;
constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 50;
constexpr std::int64_t kNano = 1'000'000'000;

struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::string_view what;
};

Expected<std::int64_t> integer(std::string_view key, std::string_view text, const Range& range) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < range.low || value > range.high) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: {} {} is", key, in_quotes(text),
                    range.what, range_text(range.low, range.high));
    }
    return value;
}

// An empty label is an absent one.
const std::string* given(const StringMap& map, std::string_view key) {
    const std::string* text = find(map, key);
    return text == nullptr || text->empty() ? nullptr : text;
}

struct Keys {
    const StringMap* map;
    std::string_view limit;
    std::string_view request;
    std::string_view memory;
};

template <class Names>
std::string_view first_of(const StringMap& map, const Names& keys) {
    const auto found =
        std::ranges::find_if(keys, [&](std::string_view key) { return find(map, key) != nullptr; });
    return found == keys.end() ? std::string_view() : *found;
}

// Limit and request are both 0, or absent and the other 0.
bool asks_for_nothing(const Keys& keys) {
    const auto zero = [&](std::string_view key) {
        const std::string* text = find(*keys.map, key);
        if (text == nullptr) {
            return key == keys.request;
        }
        const auto value = parse_decimal(key, *text);
        return value && value->zero();
    };
    return zero(keys.limit) && zero(keys.request);
}

Expected<void> check_shares(const Keys& keys, const KubeshareAsk& ask) {
    const auto& text = [&](std::string_view key) {
        const std::string* value = find(*keys.map, key);
        return value == nullptr ? std::string("absent") : in_quotes(*value);
    };
    if (ask.request > ask.limit) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: at most {}, which is {}, is",
                    keys.request, text(keys.request), keys.limit, text(keys.limit));
    }
    if (!ask.several()) {
        return {};
    }
    if (!ask.limit.integral() || ask.limit.whole > kMaxGpusPerNode) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted: a part of a GPU up to 1, or a whole number of GPUs "
                    "up to {} is",
                    keys.limit, text(keys.limit), kMaxGpusPerNode);
    }
    if (ask.request != ask.limit) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted: for several GPUs it equals {}, which is {}",
                    keys.request, text(keys.request), keys.limit, text(keys.limit));
    }
    return {};
}

Expected<void> read_shares(const Keys& keys, KubeshareAsk& ask) {
    const std::string* limit = find(*keys.map, keys.limit);
    if (limit == nullptr) {
        return fail(ErrorKind::invalid, "{} is missing: it is needed with {} and {}", keys.limit,
                    keys.request, keys.memory);
    }
    TESSERA_TRY(ask.limit, parse_decimal(keys.limit, *limit));
    if (const std::string* request = find(*keys.map, keys.request)) {
        TESSERA_TRY(ask.request, parse_decimal(keys.request, *request));
    }
    if (const std::string* memory = given(*keys.map, keys.memory)) {
        TESSERA_TRY(const std::int64_t bytes,
                    integer(keys.memory, *memory, {0, kMemoryBytesMax, "a number of bytes"}));
        ask.memory = Bytes(bytes);
    }
    return check_shares(keys, ask);
}

// Tags of GPUs steer pods towards or away from what else a GPU holds. Nothing here keeps tags of
// GPUs, and ignoring one would put together what the user wants apart.
Expected<void> check_tags(const Pod& pod) {
    for (const Tag& tag : kTags) {
        if (const std::string* text = given(pod.annotations, tag.key)) {
            return fail(ErrorKind::invalid, "{}: {} is not accepted: GPUs keep no tags here; {}",
                        tag.key, in_quotes(*text), tag.instead);
        }
    }
    return {};
}

// 1.0 knows parts of one GPU only, and wants all three keys.
Expected<void> check_first_version(const Pod& pod, const KubeshareAsk& ask) {
    for (const std::string_view key : kGpuAnnotations) {
        if (find(pod.annotations, key) == nullptr) {
            return fail(ErrorKind::invalid, "{} is missing: {}, {} and {} are needed together", key,
                        kRequest1, kLimit1, kMemory1);
        }
    }
    if (ask.several()) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: 0 to 1 is", kLimit1,
                    in_quotes(*find(pod.annotations, kLimit1)));
    }
    return {};
}

Expected<std::optional<std::string>> group_name(const Pod& pod) {
    const std::string* name = given(pod.labels, kGroup);
    const std::string* other = given(pod.labels, kGroupOfReadme);
    if (name != nullptr && other != nullptr && *name != *other) {
        return fail(ErrorKind::invalid, "{} is {}, {} is {}: one group is accepted", kGroup,
                    in_quotes(*name), kGroupOfReadme, in_quotes(*other));
    }
    const std::string* found = name != nullptr ? name : other;
    return found == nullptr ? std::nullopt : std::optional(*found);
}

Expected<std::int32_t> group_minimum(const Pod& pod, std::int64_t headcount) {
    const std::string* threshold = given(pod.labels, kThreshold);
    const std::string* minimum = given(pod.labels, kMinAvailable);
    if (threshold == nullptr && minimum != nullptr) {
        TESSERA_TRY(const std::int64_t count,
                    integer(kMinAvailable, *minimum, {1, kHeadcountMax, "a number of pods"}));
        return static_cast<std::int32_t>(count);
    }
    if (threshold == nullptr) {
        return fail(ErrorKind::invalid, "{} is missing: {}, {} and {} belong together", kThreshold,
                    kGroup, kHeadcount, kThreshold);
    }
    TESSERA_TRY(const Decimal part, parse_decimal(kThreshold, *threshold));
    const std::int64_t count = gang_minimum(part, headcount);
    if (part.zero() || count > kHeadcountMax) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted: a part of {} above 0, for {} pods at most, is",
                    kThreshold, in_quotes(*threshold), kHeadcount, kHeadcountMax);
    }
    return static_cast<std::int32_t>(std::max<std::int64_t>(1, count));
}

Expected<std::optional<KubeshareGroup>> read_group(const Pod& pod) {
    TESSERA_TRY(const auto name, group_name(pod));
    const std::string* headcount = given(pod.labels, kHeadcount);
    const std::string* minimum = given(pod.labels, kMinAvailable);
    if (!name) {
        for (const std::string_view key : {kHeadcount, kThreshold}) {
            if (given(pod.labels, key) != nullptr) {
                return fail(ErrorKind::invalid, "{} is missing: {}, {} and {} belong together",
                            kGroup, kGroup, kHeadcount, kThreshold);
            }
        }
        return std::nullopt;
    }
    if (headcount == nullptr && minimum == nullptr) {
        return fail(ErrorKind::invalid, "{} is missing: {}, {} and {} belong together", kHeadcount,
                    kGroup, kHeadcount, kThreshold);
    }
    KubeshareGroup group;
    group.name = *name;
    TESSERA_TRY(const std::int64_t count, integer(headcount != nullptr ? kHeadcount : kMinAvailable,
                                                  headcount != nullptr ? *headcount : *minimum,
                                                  {1, kHeadcountMax, "a number of pods"}));
    group.headcount = static_cast<std::int32_t>(count);
    TESSERA_TRY(group.minimum, group_minimum(pod, count));
    return group;
}

}  // namespace

std::int64_t Decimal::milli_up() const {
    const bool rest = nano % 1'000'000 != 0 || more;
    return milli_down() + (rest ? 1 : 0);
}

Expected<Decimal> parse_decimal(std::string_view key, std::string_view text) {
    constexpr std::int64_t kWholeMax = 1'000'000'000;
    Decimal value;
    bool point = false;
    bool digits = false;
    std::int64_t place = kNano;
    bool good = true;
    for (const char c : text) {
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            good = false;
            break;
        }
        digits = true;
        const int digit = c - '0';
        if (!point) {
            value.whole = std::min(kWholeMax, value.whole * 10 + digit);
        } else if (place > 1) {
            place /= 10;
            value.nano += digit * place;
        } else {
            value.more = value.more || digit != 0;
        }
    }
    if (!good || !digits || value.whole >= kWholeMax) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted: a plain decimal such as 0.5 or 2 is", key,
                    in_quotes(text));
    }
    return value;
}

std::string kubeshare_asks(const Pod& pod) {
    const std::string_view label = first_of(pod.labels, kGpuLabels);
    if (!label.empty() && !asks_for_nothing({&pod.labels, kLimit, kRequest, kMemory})) {
        return std::string(label);
    }
    const std::string_view annotation = first_of(pod.annotations, kGpuAnnotations);
    if (!annotation.empty() &&
        !asks_for_nothing({&pod.annotations, kLimit1, kRequest1, kMemory1})) {
        return std::string(annotation);
    }
    return {};
}

Expected<KubeshareAsk> read_kubeshare(const Pod& pod) {
    KubeshareAsk ask;
    TESSERA_CHECK(check_tags(pod));
    const std::string_view label = first_of(pod.labels, kGpuLabels);
    const std::string_view annotation = first_of(pod.annotations, kGpuAnnotations);
    if (!label.empty() && !annotation.empty()) {
        return fail(ErrorKind::invalid, "label {} and annotation {}: one of the two is accepted",
                    label, annotation);
    }
    if (!label.empty()) {
        TESSERA_CHECK(read_shares({&pod.labels, kLimit, kRequest, kMemory}, ask));
    }
    if (!annotation.empty()) {
        TESSERA_CHECK(read_shares({&pod.annotations, kLimit1, kRequest1, kMemory1}, ask));
        TESSERA_CHECK(check_first_version(pod, ask));
    }
    if (const std::string* model = given(pod.labels, kModel)) {
        ask.model = *model;
    }
    if (const std::string* priority = given(pod.labels, kPriority)) {
        TESSERA_TRY(const std::int64_t value,
                    integer(kPriority, *priority, {-1, 100, "a whole number"}));
        ask.priority = static_cast<std::int32_t>(value);
    }
    TESSERA_TRY(ask.group, read_group(pod));
    return ask;
}

std::int64_t gang_minimum(const Decimal& threshold, std::int64_t headcount) {
    const Int128 nano = (Int128{threshold.whole} * kNano + threshold.nano) * headcount;
    return static_cast<std::int64_t>((nano + kNano / 2) / kNano);
}

Bytes default_memory(const Decimal& request, Bytes card) {
    const Int128 nano = Int128{request.whole} * kNano + request.nano;
    return Bytes(static_cast<std::int64_t>(nano * card.value() / kNano));
}

}  // namespace tessera
