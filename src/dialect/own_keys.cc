#include "dialect/own_keys.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/wording.h"
#include "dialect/asking.h"
#include "model/model_name.h"

namespace tessera {
namespace {

constexpr std::string_view kModel = "tessera.dev/gpu-model";
constexpr std::string_view kClass = "tessera.dev/class";
constexpr std::string_view kPriority = "tessera.dev/priority";
constexpr std::string_view kGroup = "tessera.dev/group";
constexpr std::string_view kGroupSize = "tessera.dev/group-size";
constexpr std::string_view kGroupMin = "tessera.dev/group-min";
constexpr std::string_view kApp = "tessera.dev/app";
constexpr std::string_view kIsolation = "tessera.dev/isolation";
constexpr std::array kPerContainer{kOwnMilli, kOwnLimitMilli, kOwnMemoryMib};
constexpr std::array kPerPod{kModel,     kClass,    kPriority, kGroup,
                             kGroupSize, kGroupMin, kApp,      kIsolation};
constexpr std::int64_t kGroupMax = 100'000;
constexpr std::size_t kModelsPerPod = 64;

bool has_container(const Pod& pod, std::string_view name) {
    const auto named = [&](const Container& container) { return container.name == name; };
    return std::any_of(pod.containers.begin(), pod.containers.end(), named) ||
           std::any_of(pod.init_containers.begin(), pod.init_containers.end(), named);
}

template <class Items, class Item>
bool contains(const Items& items, const Item& item) {
    return std::find(items.begin(), items.end(), item) != items.end();
}

// " did you mean tessera.dev/gpu-milli?", or nothing. A key for one container is judged by what
// stands before the container's name.
std::string meant(std::string_view key) {
    std::vector<std::string_view> names(kPerContainer.begin(), kPerContainer.end());
    const std::size_t point = key.find('.', kOwnPrefix.size());
    if (point != std::string_view::npos) {
        const std::string_view base = nearest_name(key.substr(0, point), names);
        return base.empty() ? "" : fmt::format(" did you mean {}.NAME?", base);
    }
    names.insert(names.end(), kPerPod.begin(), kPerPod.end());
    return did_you_mean(key, names);
}

Expected<void> check_key(const Pod& pod, std::string_view key) {
    if (contains(kPerContainer, key) || contains(kPerPod, key) || key == kOwnPlacement ||
        key == kOwnSignature) {
        return {};
    }
    for (std::string_view base : kPerContainer) {
        if (!key.starts_with(base) || key.size() <= base.size() || key[base.size()] != '.') {
            continue;
        }
        const std::string_view name = key.substr(base.size() + 1);
        if (has_container(pod, name)) {
            return {};
        }
        return fail(ErrorKind::invalid, "{} is not accepted: the pod has no container {}",
                    in_quotes(key), in_quotes(name));
    }
    return fail(ErrorKind::invalid,
                "{} is not a key of ours:{} accepted are {}, {} and, for one container, the first "
                "three with .NAME",
                in_quotes(key), meant(key), fmt::join(kPerContainer, ", "),
                fmt::join(kPerPod, ", "));
}

Expected<void> check_resources(const Container& container) {
    for (const auto* list : {&container.requests, &container.limits}) {
        for (const auto& [resource, amount] : *list) {
            if (std::string_view(resource).starts_with(kOwnPrefix) && resource != kOwnGpus) {
                return fail(ErrorKind::invalid,
                            "container {}: resource {} is not accepted: {} is the only one",
                            shown(container.name), in_quotes(resource), kOwnGpus);
            }
        }
    }
    return {};
}

Expected<std::optional<std::int64_t>> own_number(const Pod& pod, std::string_view key,
                                                 const Bounds& bounds) {
    TESSERA_TRY(const auto text, own_value(pod, key));
    if (!text) {
        return std::nullopt;
    }
    TESSERA_TRY(const std::int64_t number, whole_number(key, *text, bounds));
    return number;
}

// One of the words, by position; nullopt when the key is absent.
Expected<std::optional<std::size_t>> own_word(const Pod& pod, std::string_view key,
                                              std::initializer_list<std::string_view> words) {
    TESSERA_TRY(const auto text, own_value(pod, key));
    if (!text) {
        return std::nullopt;
    }
    const auto found = std::find(words.begin(), words.end(), trimmed(*text));
    if (found == words.end()) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: {} are", key, in_quotes(*text),
                    fmt::join(words, ", "));
    }
    return static_cast<std::size_t>(found - words.begin());
}

Expected<void> apply_models(const Pod& pod, DialectContext& context, Demand& demand) {
    TESSERA_TRY(const auto text, own_value(pod, kModel));
    if (!text) {
        return {};
    }
    if (!demand.models.empty()) {
        return fail(ErrorKind::invalid, "{}: the pod's own vocabulary names a model too", kModel);
    }
    const auto wanted = split(*text, ',');
    if (wanted.size() > kModelsPerPod) {
        return fail(ErrorKind::invalid, "{}: {} models are not accepted: up to {} are", kModel,
                    wanted.size(), kModelsPerPod);
    }
    for (std::string_view name : wanted) {
        if (name.empty()) {
            return fail(ErrorKind::invalid,
                        "{}: {} is not accepted: model names with commas "
                        "between them, best first, are",
                        kModel, in_quotes(*text));
        }
        TESSERA_TRY(const ModelIndex model, intern_model(name, context.names.models));
        if (!contains(demand.models, model)) {
            demand.models.push_back(model);
        }
    }
    return {};
}

Expected<void> apply_gang(const Pod& pod, DialectContext& context, Demand& demand) {
    TESSERA_TRY(const auto name, own_value(pod, kGroup));
    TESSERA_TRY(const auto size, own_number(pod, kGroupSize, {1, kGroupMax, "pods"}));
    TESSERA_TRY(const auto minimum_text, own_value(pod, kGroupMin));
    if (!name && !size && !minimum_text) {
        return {};
    }
    if (!name || trimmed(*name).empty() || !size) {
        return fail(ErrorKind::invalid, "a gang is not complete: accepted are {} and {} together",
                    kGroup, kGroupSize);
    }
    if (demand.gang) {
        return fail(ErrorKind::invalid, "{}: the pod's own vocabulary names a group too", kGroup);
    }
    TESSERA_TRY(const auto minimum, own_number(pod, kGroupMin, {1, *size, "pods"}));
    Gang gang;
    gang.group = context.names.groups.intern(fmt::format("{}/{}", pod.space, trimmed(*name)));
    gang.size = static_cast<std::int32_t>(*size);
    gang.minimum = static_cast<std::int32_t>(minimum.value_or(*size));
    demand.gang = gang;
    return {};
}

}  // namespace

Expected<std::optional<std::string_view>> own_value(const Pod& pod, std::string_view key) {
    const std::string* annotation = find(pod.annotations, key);
    const std::string* label = find(pod.labels, key);
    if (annotation != nullptr && label != nullptr && *annotation != *label) {
        return fail(ErrorKind::invalid, "{}: the annotation says {}, the label {}: one is accepted",
                    key, in_quotes(*annotation), in_quotes(*label));
    }
    const std::string* value = annotation != nullptr ? annotation : label;
    return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

Expected<void> check_own_keys(const Pod& pod) {
    for (const StringMap* map : {&pod.annotations, &pod.labels}) {
        for (auto at = map->lower_bound(kOwnPrefix);
             at != map->end() && std::string_view(at->first).starts_with(kOwnPrefix); ++at) {
            TESSERA_CHECK(check_key(pod, at->first));
        }
    }
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            TESSERA_CHECK(check_resources(container));
        }
    }
    return {};
}

Expected<void> apply_own_keys(const Pod& pod, DialectContext& context, PodDemand& asked) {
    TESSERA_CHECK(apply_models(pod, context, asked.demand));
    TESSERA_CHECK(apply_gang(pod, context, asked.demand));
    TESSERA_TRY(const auto service,
                own_word(pod, kClass, {"guaranteed", "opportunistic", "latency"}));
    if (service) {
        asked.demand.service = static_cast<ServiceClass>(*service);
    }
    TESSERA_TRY(const auto isolation,
                own_word(pod, kIsolation, {"none", "hook", "mps", "mig", "exclusive"}));
    if (isolation) {
        asked.demand.isolation = static_cast<Isolation>(*isolation);
    }
    constexpr std::int64_t kPriorityMax = std::numeric_limits<std::int32_t>::max();
    TESSERA_TRY(const auto priority,
                own_number(pod, kPriority, {-kPriorityMax, kPriorityMax, "32 bits"}));
    if (priority) {
        asked.priority = static_cast<std::int32_t>(*priority);
    }
    TESSERA_TRY(const auto app, own_value(pod, kApp));
    if (app && !trimmed(*app).empty()) {
        asked.demand.app = context.names.apps.intern(trimmed(*app));
    }
    return {};
}

}  // namespace tessera
