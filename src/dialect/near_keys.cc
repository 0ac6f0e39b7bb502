#include "dialect/near_keys.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "base/text.h"
#include "base/wording.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 13> kSharedGpu{
    "sharedgpu/gpu_limit",       "sharedgpu/gpu_request",     "sharedgpu/gpu_mem",
    "sharedgpu/gpu_model",       "sharedgpu/priority",        "sharedgpu/group_name",
    "sharedgpu/pod_group_name",  "sharedgpu/group_headcount", "sharedgpu/group_threshold",
    "sharedgpu/min_available",   "sharedgpu/cell_id",         "sharedgpu/gpu_uuid",
    "sharedgpu/gpu_manager_port"};
constexpr std::array<std::string_view, 8> kKubeShare{
    "kubeshare/gpu_request", "kubeshare/gpu_limit",      "kubeshare/gpu_mem",
    "kubeshare/GPUID",       "kubeshare/sched_affinity", "kubeshare/sched_anti-affinity",
    "kubeshare/gpu_info",    "kubeshare/sched_exclusion"};
constexpr std::array<std::string_view, 3> kElastic{
    "elasticgpu.io/gpu-core", "elasticgpu.io/gpu-memory", "elasticgpu.io/assumed"};
constexpr std::array<std::string_view, 2> kAliyun{"aliyun.com/gpu-mem", "aliyun.com/gpu-count"};

struct Namespace {
    std::string_view begin;
    std::span<const std::string_view> keys;
    std::string_view any_after = {};  // what follows this is a name, and right whatever it is
};

constexpr std::array<Namespace, 4> kNamespaces{
    {{"sharedgpu/", kSharedGpu},
     {"kubeshare/", kKubeShare},
     {"elasticgpu.io/", kElastic, "elasticgpu.io/container-"},
     {"aliyun.com/gpu-", kAliyun}}};

const Namespace* stranger_in(std::string_view key) {
    const auto in = std::ranges::find_if(
        kNamespaces, [&](const Namespace& space) { return key.starts_with(space.begin); });
    if (in == kNamespaces.end() || std::ranges::find(in->keys, key) != in->keys.end()) {
        return nullptr;
    }
    const bool named = !in->any_after.empty() && key.starts_with(in->any_after);
    return named ? nullptr : &*in;
}

}  // namespace

std::vector<std::string> unknown_key_notes(const Pod& pod) {
    std::set<std::string_view> keys;
    for (const StringMap* map : {&pod.labels, &pod.annotations}) {
        for (const auto& [key, value] : *map) {
            keys.insert(key);
        }
    }
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            for (const ResourceList* list : {&container.requests, &container.limits}) {
                for (const auto& [resource, amount] : *list) {
                    keys.insert(resource);
                }
            }
        }
    }
    std::vector<std::string> notes;
    for (const std::string_view key : keys) {
        if (const Namespace* space = stranger_in(key)) {
            notes.push_back(fmt::format(
                "its {} is not a key of {} and was passed over{}", in_quotes(key), space->begin,
                nearest_name(key, space->keys).empty() ? ""
                                                       : ";" + did_you_mean(key, space->keys)));
        }
    }
    return notes;
}

}  // namespace tessera
