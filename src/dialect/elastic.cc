#include "dialect/elastic.h"

#include <algorithm>
#include <array>

#include "dialect/asking.h"

namespace tessera {
namespace {

// The names changed with the project; all of them are still written in manifests.
struct Domain {
    std::string_view core;
    std::string_view memory;     // empty: none
    std::string_view container;  // annotation: prefix of the container's name
    std::string_view assumed;    // annotation and label
};
constexpr std::array<Domain, 5> kDomains{{
    {"elasticgpu.io/gpu-core", "elasticgpu.io/gpu-memory", "elasticgpu.io/container-",
     "elasticgpu.io/assumed"},
    {"elasticgpu.com/gpu-core", "elasticgpu.com/gpu-memory", "elasticgpu.io/container-",
     "elasticgpu.io/assumed"},
    {"nano-gpu/gpu-percent", "", "nano-gpu/container-", "nano-gpu/assume"},
    {"nano-gpu.io/gpu-core", "nano-gpu.io/gpu-memory", "nano-gpu/container-", "nano-gpu/assume"},
    {"elastic-gpu/gpu-percent", "", "nano-gpu/container-", "nano-gpu/assume"},
}};
constexpr std::int64_t kCorePerCard = 100;
constexpr Bounds kCoreBounds{0, std::int64_t{kMaxGpusPerNode} * kCorePerCard,
                             "hundredths of a GPU"};
constexpr Bounds kMemoryBounds{0, kMaxGpuMemoryMib, "MiB"};

bool asks_in(const Container& container, const Domain& domain) {
    for (std::string_view resource : {domain.core, domain.memory}) {
        const Quantity* amount = resource.empty() ? nullptr : container.asked(resource);
        if (amount != nullptr && !amount->zero()) {
            return true;
        }
    }
    return false;
}

// The domain in which the pod asks; the first one when it asks in none. Two are an error: the
// same card would be asked for twice.
Expected<const Domain*> domain_of(const Pod& pod) {
    const Domain* found = nullptr;
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            for (const Domain& domain : kDomains) {
                if (!asks_in(container, domain) || found == &domain) {
                    continue;
                }
                if (found != nullptr) {
                    return fail(ErrorKind::invalid,
                                "container {}: {} and {} both ask for GPUs: one of the two is "
                                "accepted in a pod",
                                shown(container.name), found->core, domain.core);
                }
                found = &domain;
            }
        }
    }
    return found == nullptr ? &kDomains[0] : found;
}

std::string asks(const Pod& pod) {
    std::vector<std::string_view> resources;
    for (const Domain& domain : kDomains) {
        resources.push_back(domain.core);
        if (!domain.memory.empty()) {
            resources.push_back(domain.memory);
        }
    }
    return first_asked(pod, resources);
}

Expected<GpuRequest> container_ask(const Container& container, const Domain& domain) {
    GpuRequest request;
    request.gpus = 0;
    TESSERA_TRY(const std::int64_t core, asked_amount(container, domain.core, kCoreBounds));
    std::int64_t memory = 0;
    if (!domain.memory.empty()) {
        TESSERA_TRY(memory, asked_amount(container, domain.memory, kMemoryBounds));
    }
    if (core >= kCorePerCard) {  // whole cards; their memory comes with them
        request.gpus = static_cast<std::uint16_t>(core / kCorePerCard);
        request.milli = kWholeGpu;
    } else if (core > 0 || memory > 0) {
        request.gpus = 1;
        request.milli = MilliGpu(static_cast<std::int32_t>(core * 1000 / kCorePerCard));
        set_memory(request, memory);
    }
    return request;
}

Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    TESSERA_TRY(const Domain* domain, domain_of(pod));
    return demand_by_container(pod, context, [&](const Container& container) {
        return container_ask(container, *domain);
    });
}

// Indices of the devices that a container uses, over all requests it uses.
std::string indices_of(const PlacedPod& placed, RequestIndex container) {
    std::string list;
    for (const ContainerUse& use : placed.asked.uses) {
        if (use.container != container) {
            continue;
        }
        for (const DeviceGrant& grant : placed.placement.grants) {
            if (grant.request == use.request) {
                list += (list.empty() ? "" : ",") + std::to_string(grant.gpu.value());
            }
        }
    }
    return list;
}

Expected<PlacementMarks> marks(const PlacedPod& placed, const DialectContext& context) {
    TESSERA_TRY(const Domain* domain, domain_of(placed.pod));
    PlacementMarks result;
    for (const ContainerUse& use : placed.asked.uses) {
        const std::string_view name = context.names.requests.name(use.container);
        result.annotations[std::string(domain->container).append(name)] =
            indices_of(placed, use.container);
    }
    if (!placed.placement.grants.empty()) {
        result.annotations.emplace(domain->assumed, "true");
        result.labels.emplace(domain->assumed, "true");
    }
    return result;
}

// The part of a container's list that belongs to the request of its own name: an init container
// also lists the cards that it borrows from the containers after it, in the order of its uses.
Expected<std::vector<GpuIndex>> own_cards(const PodDemand& asked, RequestIndex container,
                                          std::string_view key,
                                          const std::vector<GpuIndex>& listed) {
    std::vector<GpuIndex> own;
    std::size_t at = 0;
    for (const ContainerUse& use : asked.uses) {
        if (use.container != container) {
            continue;
        }
        for (const GpuRequest& request : asked.demand.alternatives.front().requests) {
            if (request.name != use.request) {
                continue;
            }
            for (int gpu = 0; gpu < request.gpus; ++gpu, ++at) {
                if (use.request == container && at < listed.size()) {
                    own.push_back(listed[at]);
                }
            }
        }
    }
    if (at != listed.size()) {
        return fail(ErrorKind::invalid, "{}: {} cards are listed, the container asks for {}", key,
                    listed.size(), at);
    }
    return own;
}

Expected<std::optional<Grants>> read_back(const Pod& pod, const NodeSpec& node,
                                          DialectContext& context) {
    TESSERA_TRY(const Domain* domain, domain_of(pod));
    TESSERA_TRY(const PodDemand asked, demand(pod, context));
    std::vector<RequestDevices> devices;
    for (const auto& [key, value] : pod.annotations) {
        if (!std::string_view(key).starts_with(domain->container)) {
            continue;
        }
        const RequestIndex container =
            context.names.requests.find(std::string_view(key).substr(domain->container.size()));
        const bool holds =
            std::any_of(asked.uses.begin(), asked.uses.end(),
                        [&](const ContainerUse& use) { return use.container == container; });
        if (!container.valid() || !holds) {
            continue;  // the original writes a card even for containers that asked for none
        }
        TESSERA_TRY(const auto listed, gpu_indices(key, value, node));
        TESSERA_TRY(auto own, own_cards(asked, container, key, listed));
        devices.push_back({container, std::move(own)});
    }
    if (devices.empty()) {
        return std::nullopt;
    }
    TESSERA_TRY(Grants grants, grants_of(asked, devices, node));
    return grants;
}

// Cards = core / 100, memory spread evenly over them. A node with less than one card's worth has
// no card, and nothing is divided by it.
Expected<std::vector<GpuSpec>> node_gpus(const Node& node, DialectContext& context) {
    for (const Domain& domain : kDomains) {
        const Quantity* core = node.offered(domain.core);
        if (core == nullptr) {
            continue;
        }
        TESSERA_TRY(const std::int64_t units, whole_number(domain.core, *core, kCoreBounds));
        const std::int64_t cards = units / kCorePerCard;
        if (cards == 0) {
            continue;
        }
        std::int64_t memory = 0;
        const Quantity* total = domain.memory.empty() ? nullptr : node.offered(domain.memory);
        if (total != nullptr) {
            const Bounds bounds{0, cards * kMaxGpuMemoryMib, "MiB"};
            TESSERA_TRY(memory, whole_number(domain.memory, *total, bounds));
        }
        return even_gpus(node, {domain.core, cards, memory / cards, 0}, context);
    }
    return std::vector<GpuSpec>{};
}

}  // namespace

Dialect elastic_dialect() {
    return {"elastic", {},       "elasticgpu.io/gpu-core and gpu-memory", asks, demand, marks,
            read_back, node_gpus};
}

}  // namespace tessera
