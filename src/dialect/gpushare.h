// Alibaba's gpushare, spoken by Co-scheML as well: limits aliyun.com/gpu-mem.
//
// A pod asks for memory of one device: the units of its containers by Kubernetes' rule, together.
// Compute is time-shared, so it reserves none and may use all. Placed pods carry the five
// ALIYUN_COM_GPU_MEM_* annotations that the device plugin and its kubectl plugin read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/dialect.h"

namespace tessera {

Dialect gpushare_dialect();

// The unit a node counts in. The plugin does not tell it; its own tools take a device of more
// than 100 units for MiB, and so do we.
MemoryUnit gpushare_unit(const Node& node);
// The unit a pod asks in, where only devices are known: MiB when none of them has so many GiB. GiB
// where the memory of none is known.
MemoryUnit gpushare_unit(const Pod& pod, std::span<const NodeSpec> nodes);

// One piece of the annotation scheduler.framework.gpushare.allocation (codec reads its JSON):
// so many units of a device for a container, by index.
struct GpusharePiece {
    std::int64_t gpu = 0;
    std::int64_t units = 0;
};
inline constexpr std::string_view kGpushareAllocation = "scheduler.framework.gpushare.allocation";
Expected<Grants> gpushare_grants(const std::vector<GpusharePiece>& pieces, const NodeSpec& node,
                                 DialectContext& context);

// The ConfigMap unhealthy-gpu-NODE in kube-system, key gpus: a comma list of device indices.
inline constexpr std::string_view kUnhealthyGpuPrefix = "unhealthy-gpu-";
struct UnhealthyGpus {
    std::vector<std::int64_t> gpus;    // ascending, each once
    std::vector<std::string> ignored;  // entries that are no index, as messages
};
UnhealthyGpus read_unhealthy_gpus(std::string_view text);

// Those devices take nothing new. Returns a message for each index that the node does not have.
std::vector<std::string> mark_unhealthy(NodeSpec& node, const UnhealthyGpus& unhealthy);

}  // namespace tessera
