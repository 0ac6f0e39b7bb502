#include "dialect/dialect.h"

#include <algorithm>
#include <array>
#include <limits>

#include "dialect/asking.h"
#include "dialect/elastic.h"
#include "dialect/gpushare.h"
#include "dialect/keti.h"
#include "dialect/kube_knots.h"
#include "dialect/kubeshare.h"
#include "dialect/native.h"
#include "dialect/nvidia.h"
#include "dialect/own_keys.h"
#include "model/node_constraints.h"

namespace tessera {
namespace {

// Those that know a card's memory come before those that only count.
const auto& table() {
    static const std::array kTable{
        gpushare_dialect(),    // aliyun.com/gpu-mem; Co-scheML
        kubeshare_dialect(),   // sharedgpu/, kubeshare/
        elastic_dialect(),     // elasticgpu.io, elasticgpu.com, nano-gpu
        keti_dialect(),        // keti.com/mpsgpu
        kube_knots_dialect(),  // GPU_MEM_REQ
        nvidia_dialect(),      // nvidia.com/gpu; HAMi
        native_dialect(),      // tessera.dev
    };
    return kTable;
}

// Amounts beyond these are no pod's, and would bring sums near the limits of the arithmetic.
Expected<HostRequest> host_request(const Pod& pod) {
    for (std::string_view resource : {"cpu", "memory"}) {
        for (const auto* containers : {&pod.init_containers, &pod.containers}) {
            for (const Container& container : *containers) {
                const Quantity* amount = container.asked(resource);
                if (amount != nullptr && amount->negative()) {
                    return fail(ErrorKind::invalid,
                                "container {}: {}: {} is not accepted: 0 or more is",
                                shown(container.name), resource, amount->to_string());
                }
            }
        }
    }
    TESSERA_TRY(const HostRequest host, effective_host_request(pod));
    struct Total {
        std::string_view resource;
        std::int64_t amount;
        std::string_view unit;
    };
    for (const Total& total : {Total{"cpu", host.cpu.value(), "milli-cores"},
                               Total{"memory", host.memory.value(), "MiB"}}) {
        if (total.amount < 0 || total.amount > kMaxAmount) {
            return fail(ErrorKind::invalid, "resources {}: {} {} are not accepted: 0 to {} are",
                        total.resource, total.amount, total.unit, kMaxAmount);
        }
    }
    return host;
}

// What every pod has, whatever it speaks.
Expected<PodDemand> complete(const Pod& pod, PodDemand asked, DialectContext& context) {
    TESSERA_CHECK(apply_own_keys(pod, context, asked));
    TESSERA_TRY(const HostRequest host, host_request(pod));
    asked.demand.cpu = host.cpu;
    asked.demand.memory = host.memory;
    asked.demand.priority = asked.priority.value_or(pod.priority.value_or(0));
    asked.demand.filter = context.filters.intern(node_filter(
        {asked.pinned_node, pod.node_selector, pod.node_terms, pod.tolerations}, context.names));
    return asked;
}

Expected<PodDemand> demand_within(const Pod& pod, DialectContext& context) {
    TESSERA_CHECK(check_own_keys(pod));
    TESSERA_TRY(const Dialect* dialect, dialect_of(pod));
    TESSERA_TRY(PodDemand asked, dialect->demand(pod, context));
    return complete(pod, std::move(asked), context);
}

template <class T>
Expected<T> within(Expected<T> result, const std::string& where) {
    if (!result) {
        return tl::unexpected(std::move(result.error()).within(where));
    }
    return result;
}

Expected<std::optional<Placement>> read_back_within(const Pod& pod, const NodeSpec& node,
                                                    DialectContext& context) {
    TESSERA_TRY(const Dialect* dialect, dialect_of(pod));
    TESSERA_TRY(const auto grants, dialect->read_back(pod, node, context));
    if (!grants) {
        return std::nullopt;
    }
    TESSERA_TRY(const HostRequest host, host_request(pod));
    Placement placement;
    placement.node = context.names.nodes.intern(node.name);
    placement.cpu = host.cpu;
    placement.memory = host.memory;
    placement.grants = *grants;
    return placement;
}

// Capacity offered, rounded down.
Expected<std::int64_t> offered(const Node& node, std::string_view resource, bool milli) {
    const Quantity* amount = node.offered(resource);
    if (amount == nullptr) {
        return 0;
    }
    if (amount->negative()) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: 0 or more is", resource,
                    amount->to_string());
    }
    return within(milli ? amount->milli_down() : amount->value_down(), std::string(resource));
}

Expected<NodeSpec> node_spec_within(const Node& node, DialectContext& context) {
    NodeSpec spec;
    spec.name = node.name;
    spec.schedulable = node.ready;
    spec.traits = node_traits(node, context.names);
    TESSERA_TRY(const std::int64_t cpu, offered(node, "cpu", true));
    TESSERA_TRY(const std::int64_t memory, offered(node, "memory", false));
    spec.cpu = MilliCpu(cpu);
    spec.memory = offered_mib(Bytes(memory));
    if (node.offered("pods") != nullptr) {
        TESSERA_TRY(const std::int64_t pods, offered(node, "pods", false));
        constexpr std::int64_t kPodsMax = std::numeric_limits<std::int32_t>::max();
        spec.pods = static_cast<std::int32_t>(std::min(pods, kPodsMax));
    }
    for (const Dialect& dialect : dialects()) {
        if (spec.gpus.empty()) {
            TESSERA_TRY(spec.gpus, dialect.node_gpus(node, context));
        }
    }
    add_cells(spec, context);
    return spec;
}

}  // namespace

std::span<const Dialect> dialects() { return table(); }

std::string describe(const Pod& pod) {
    return fmt::format("pod {}/{}", shown(pod.space), shown(pod.name));
}

const Dialect* find_dialect(std::string_view name) {
    const std::string_view wanted = name == "coscheml" ? "gpushare" : name;
    const auto found = std::find_if(table().begin(), table().end(),
                                    [&](const Dialect& one) { return one.name == wanted; });
    return found == table().end() ? nullptr : &*found;
}

Expected<const Dialect*> dialect_of(const Pod& pod) {
    const Dialect* spoken = nullptr;
    std::string by;
    for (const Dialect& dialect : dialects()) {
        std::string key = dialect.asks(pod);
        if (key.empty()) {
            continue;
        }
        if (spoken != nullptr) {
            return fail(ErrorKind::invalid,
                        "{} ({}) and {} ({}) both ask for GPUs: one vocabulary is accepted in a "
                        "pod",
                        by, spoken->name, key, dialect.name);
        }
        spoken = &dialect;
        by = std::move(key);
    }
    for (const Dialect& dialect : dialects()) {
        const auto& names = dialect.schedulers;
        if (spoken == nullptr &&
            std::find(names.begin(), names.end(), pod.scheduler_name) != names.end()) {
            spoken = &dialect;
        }
    }
    return spoken != nullptr ? spoken : find_dialect("native");
}

Expected<PodDemand> pod_demand(const Pod& pod, DialectContext& context) {
    return within(demand_within(pod, context), describe(pod));
}

Expected<PlacementMarks> placement_marks(const PlacedPod& placed, const DialectContext& context) {
    auto dialect = dialect_of(placed.pod);
    if (!dialect) {
        return tl::unexpected(std::move(dialect.error()).within(describe(placed.pod)));
    }
    return within((*dialect)->marks(placed, context), describe(placed.pod));
}

Expected<std::optional<Placement>> read_back(const Pod& pod, const NodeSpec& node,
                                             DialectContext& context) {
    return within(read_back_within(pod, node, context), describe(pod));
}

Expected<NodeSpec> node_spec(const Node& node, DialectContext& context) {
    return within(node_spec_within(node, context), fmt::format("node {}", shown(node.name)));
}

bool counts_resource(std::string_view name) {
    static constexpr std::array<std::string_view, 8> kPrefixes{
        "aliyun.com/gpu-", "elasticgpu.io/", "elasticgpu.com/", "elastic-gpu/",
        "nano-gpu",        "keti.com/",      "nvidia.com/gpu",  kOwnPrefix};
    return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace tessera
