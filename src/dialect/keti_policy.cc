#include "dialect/keti_policy.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/quantity.h"
#include "base/text.h"
#include "base/wording.h"
#include "dialect/asking.h"

namespace tessera {
namespace {

constexpr std::string_view kWeights = "node-gpu-score-weight";
constexpr std::string_view kNvlink = "nvlink-weight-percentage";
constexpr std::string_view kAllocate = "gpu-allocate-prefer";
constexpr std::int32_t kPercentMax = 10'000;

struct Switch {
    std::string_view key;
    bool KetiPolicy::* flag;
};

constexpr std::array kSwitches = {
    Switch{"node-reservation-permit", &KetiPolicy::node_reservation},
    Switch{"pod-re-schedule-permit", &KetiPolicy::reschedule},
    Switch{"avoid-nvlink-one-gpu", &KetiPolicy::avoid_nvlink_one_gpu},
    Switch{"multi-node-allocation-permit", &KetiPolicy::multi_node_allocation},
    Switch{"non-gpu-node-prefer", &KetiPolicy::prefer_non_gpu_node},
    Switch{"multi-gpu-node-prefer", &KetiPolicy::prefer_multi_gpu_node},
    Switch{"least-score-node-prefer", &KetiPolicy::prefer_least_score},
    Switch{"avoid-high-score-node", &KetiPolicy::avoid_high_score},
};

// A plain decimal in 0..1, exact to thousandths.
std::optional<std::int32_t> weight_milli(std::string_view text) {
    const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || c == '.';
    });
    const auto quantity = plain ? Quantity::parse(text)
                                : Expected<Quantity>(fail(ErrorKind::invalid, "not a decimal"));
    if (!quantity || *quantity > Quantity::of(1)) {
        return std::nullopt;
    }
    const auto milli = quantity->milli_down();
    const bool exact = milli && Quantity::from_nano(Int128{*milli} * 1'000'000) == *quantity;
    return exact ? std::optional(static_cast<std::int32_t>(*milli)) : std::nullopt;
}

Expected<void> read_weights(std::string_view value, KetiPolicy& policy) {
    const std::string_view text = trimmed(value);
    const std::size_t split = text.find_first_of(": \t");
    std::optional<std::int32_t> node;
    std::optional<std::int32_t> gpu;
    if (split != std::string_view::npos) {
        node = weight_milli(trimmed(text.substr(0, split)));
        std::string_view rest = trimmed(text.substr(split));
        rest.remove_prefix(rest.starts_with(':') ? 1 : 0);
        gpu = weight_milli(trimmed(rest));
    }
    if (!node || !gpu || (*node == 0 && *gpu == 0)) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted; write two weights in 0..1 with at most three "
                    "decimals, not both 0, as in \"0.4:0.6\"",
                    kWeights, in_quotes(value));
    }
    policy.node_weight_milli = *node;
    policy.gpu_weight_milli = *gpu;
    return {};
}

Expected<void> read_percent(std::string_view value, KetiPolicy& policy) {
    const std::string_view text = trimmed(value);
    const char* end = text.data() + text.size();
    std::int32_t percent = -1;
    const auto [stop, error] = std::from_chars(text.data(), end, percent);
    if (error != std::errc() || stop != end || percent < 0 || percent > kPercentMax) {
        return fail(ErrorKind::invalid, "{}: {} is not a whole number of percent in 0..{}", kNvlink,
                    in_quotes(value), kPercentMax);
    }
    policy.nvlink_percent = percent;
    return {};
}

// The words that Go's parser of booleans takes.
Expected<bool> read_flag(std::string_view key, std::string_view value) {
    constexpr std::array kYes = {"1", "t", "T", "true", "TRUE", "True"};
    constexpr std::array kNo = {"0", "f", "F", "false", "FALSE", "False"};
    const std::string_view text = trimmed(value);
    if (std::ranges::find(kYes, text) != kYes.end()) {
        return true;
    }
    if (std::ranges::find(kNo, text) != kNo.end()) {
        return false;
    }
    return fail(ErrorKind::invalid, "{}: {} is neither \"true\" nor \"false\"", key,
                in_quotes(value));
}

Expected<void> read_key(std::string_view key, std::string_view value, KetiPolicy& policy) {
    if (key == kWeights) {
        return read_weights(value, policy);
    }
    if (key == kNvlink) {
        return read_percent(value, policy);
    }
    if (key == kAllocate) {
        const std::string_view word = trimmed(value);
        if (word != "spread" && word != "binpack") {
            return fail(ErrorKind::invalid, "{}: {} is neither \"spread\" nor \"binpack\"", key,
                        in_quotes(value));
        }
        policy.allocate = word == "binpack" ? KetiAllocate::binpack : KetiAllocate::spread;
        return {};
    }
    for (const Switch& entry : kSwitches) {
        if (entry.key == key) {
            TESSERA_TRY(policy.*entry.flag, read_flag(key, value));
            return {};
        }
    }
    std::vector<std::string_view> keys{kWeights, kNvlink, kAllocate};
    for (const Switch& entry : kSwitches) {
        keys.push_back(entry.key);
    }
    return fail(ErrorKind::invalid, "{}: no such key of KETI's policy;{} the keys are {}",
                shown(key), did_you_mean(key, keys), fmt::join(keys, ", "));
}

}  // namespace

bool is_keti_policy(std::string_view config_map_name) {
    return config_map_name == "gpu-scheduler-policy" ||
           config_map_name == "gpu-scheduler-configmap";
}

Expected<KetiPolicy> parse_keti_policy(const StringMap& data, const KetiPolicy& defaults) {
    KetiPolicy policy = defaults;
    for (const auto& [key, value] : data) {
        TESSERA_CHECK(read_key(key, value, policy));
    }
    return policy;
}

}  // namespace tessera
