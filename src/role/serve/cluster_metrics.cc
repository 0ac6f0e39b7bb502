#include "role/serve/cluster_metrics.h"

namespace tessera {
namespace {

constexpr MetricName kMilli{"tessera_gpu_milli", "Thousandths of GPUs: all there is, and taken."};
constexpr MetricName kMemory{"tessera_gpu_memory_mib", "GPU memory in MiB: all, and taken."};
constexpr MetricName kPods{"tessera_pods", "Pods that hold something, by how we know."};

}  // namespace

ClusterMetrics::ClusterMetrics(Metrics& metrics)
    : nodes_(metrics.gauge({"tessera_nodes", "Nodes that are there."})),
      gpus_(metrics.gauge({"tessera_gpus", "GPUs of these nodes."})),
      milli_total_(metrics.gauge(kMilli, {{"part", "total"}})),
      milli_used_(metrics.gauge(kMilli, {{"part", "allocated"}})),
      memory_total_(metrics.gauge(kMemory, {{"part", "total"}})),
      memory_used_(metrics.gauge(kMemory, {{"part", "allocated"}})),
      pods_(metrics.gauge(kPods, {{"kind", "placed"}})),
      foreign_(metrics.gauge(kPods, {{"kind", "foreign"}})),
      held_(metrics.gauge(kPods, {{"kind", "held"}})),
      expired_(metrics.counter(
          {"tessera_holds_expired_total", "Shares that were held and never bound."})),
      over_gpus_(metrics.gauge(
          {"tessera_gpus_over_committed", "GPUs that hold more than they have; should be 0."})),
      over_nodes_(metrics.gauge({"tessera_nodes_over_committed",
                                 "Nodes that hold more cores, memory or pods than they have."})) {}

void ClusterMetrics::read(const Mirror& mirror) {
    if (!mirror.synced()) {
        return;
    }
    const Cluster& cluster = mirror.cluster();
    const auto nodes = mirror.nodes_by_name();
    std::int64_t gpus = 0;
    std::int64_t milli = 0;
    std::int64_t memory = 0;
    std::int64_t memory_used = 0;
    for (const NodeIndex node : nodes) {
        const NodeSpec& spec = cluster.spec(node);
        gpus += static_cast<std::int64_t>(spec.gpus.size());
        for (std::size_t g = 0; g < spec.gpus.size(); ++g) {
            const GpuUse use = cluster.use(node, GpuIndex(static_cast<GpuIndex::rep>(g)));
            milli += use.milli;
            memory += spec.gpus[g].memory.value();
            memory_used += use.memory_mib;
        }
    }
    const std::size_t foreign = mirror.ledger().count(OwnerKind::foreign);
    const std::size_t held = mirror.held_count();
    nodes_.set(static_cast<double>(nodes.size()));
    gpus_.set(static_cast<double>(gpus));
    milli_total_.set(static_cast<double>(gpus * kWholeGpu.value()));
    milli_used_.set(static_cast<double>(milli));
    memory_total_.set(static_cast<double>(memory));
    memory_used_.set(static_cast<double>(memory_used));
    pods_.set(static_cast<double>(mirror.pod_count() - foreign - held));
    foreign_.set(static_cast<double>(foreign));
    held_.set(static_cast<double>(held));
    expired_.add(mirror.expired_count() - expired_.value());
    over_gpus_.set(static_cast<double>(cluster.over_committed_gpus()));
    over_nodes_.set(static_cast<double>(cluster.over_committed_nodes()));
}

}  // namespace tessera
