// Pods, nodes and a context for the dialects' tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "dialect/dialect.h"

namespace tessera::testing {

using Amounts = std::vector<std::pair<std::string, std::string_view>>;

inline Quantity quantity(std::string_view text) {
    auto parsed = Quantity::parse(text);
    TESSERA_ASSERT(parsed.has_value(), "tests write quantities that can be read");
    return *parsed;
}

inline Container container(std::string name, const Amounts& limits) {
    Container result;
    result.name = std::move(name);
    for (const auto& [resource, amount] : limits) {
        result.limits[resource] = quantity(amount);
    }
    return result;
}

inline Pod pod(std::vector<Container> containers) {
    Pod result;
    result.name = "train";
    result.uid = "uid-1";
    result.containers = std::move(containers);
    return result;
}

inline Pod pod(const Amounts& limits) { return pod(std::vector{container("main", limits)}); }

inline Node node(const Amounts& capacity) {
    Node result;
    result.name = "gpu-a";
    for (const auto& [resource, amount] : capacity) {
        result.capacity[resource] = quantity(amount);
    }
    return result;
}

// A node with devices of these sizes.
inline NodeSpec node_with(const std::vector<int>& memory_mib) {
    NodeSpec spec;
    spec.name = "gpu-a";
    for (std::size_t gpu = 0; gpu < memory_mib.size(); ++gpu) {
        GpuSpec device;
        device.memory = MemoryMib(memory_mib[gpu]);
        device.uuid = "GPU-" + std::to_string(gpu);
        spec.gpus.push_back(device);
    }
    return spec;
}

struct World {
    Vocabulary names;
    FilterTable filters;
    DialectContext context{names, filters, {}};

    Expected<PodDemand> ask(const Pod& pod) { return pod_demand(pod, context); }
    // The requests of the only alternative; none when the pod asks for no GPU or is refused.
    std::vector<GpuRequest> requests(const Pod& pod) {
        const auto asked = ask(pod);
        TESSERA_ASSERT(asked.has_value(), asked ? "" : asked.error().message.c_str());
        return asked->demand.wants_gpu() ? asked->demand.alternatives.front().requests
                                         : std::vector<GpuRequest>{};
    }
    std::string refusal(const Pod& pod) {
        const auto asked = ask(pod);
        return asked ? "accepted" : asked.error().message;
    }
    RequestIndex name(std::string_view text) { return names.requests.intern(text); }
};

}  // namespace tessera::testing
