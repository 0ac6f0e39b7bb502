#include "dialect/kubeshare.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "dialect/asking.h"
#include "dialect/kubeshare_ask.h"
#include "model/cell_distance.h"
#include "model/model_name.h"
#include "model/port_pool.h"

namespace tessera {
namespace {

constexpr std::string_view kCellId = "sharedgpu/cell_id";
constexpr std::string_view kGpuModel = "sharedgpu/gpu_model";
constexpr std::string_view kGpuMemory = "sharedgpu/gpu_mem";
constexpr std::string_view kGpuUuid = "sharedgpu/gpu_uuid";
constexpr std::string_view kManagerPort = "sharedgpu/gpu_manager_port";
constexpr std::string_view kGpuInfo = "kubeshare/gpu_info";  // on nodes, 1.0
constexpr std::string_view kGpuId = "kubeshare/GPUID";       // on pods, 1.0

// Reserved compute is rounded up, what may be used on top is rounded down.
GpuRequest share_of(const KubeshareAsk& ask) {
    GpuRequest request;
    request.milli = MilliGpu(static_cast<std::int32_t>(ask.request.milli_up()));
    const auto limit = static_cast<std::int32_t>(ask.limit.milli_down());
    request.limit = std::max({request.milli, MilliGpu(limit), MilliGpu(1)});
    request.memory = asked_mib(ask.memory);
    request.memory_bytes = ask.memory;
    if (ask.memory == Bytes(0) && !request.whole()) {
        request.memory_ppm = static_cast<std::int32_t>(ask.request.ppm_down());
    }
    return request;
}

// For several GPUs KubeShare asks for the sum of their memory.
GpuRequest several_of(const KubeshareAsk& ask) {
    GpuRequest request;
    request.gpus = static_cast<std::uint16_t>(ask.limit.whole);
    request.milli = kWholeGpu;
    request.memory_bytes = Bytes((ask.memory.value() + request.gpus - 1) / request.gpus);
    request.memory = asked_mib(request.memory_bytes);
    return request;
}

GpuRequest request_of(const KubeshareAsk& ask) {
    if (ask.limit.zero()) {
        GpuRequest none;
        none.gpus = 0;
        return none;
    }
    return ask.several() ? several_of(ask) : share_of(ask);
}

Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    TESSERA_TRY(const KubeshareAsk ask, read_kubeshare(pod));
    const std::string* forced = find(pod.annotations, kGpuId);
    if (forced != nullptr && pod.node_name.empty()) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted: which GPU a pod gets is decided here", kGpuId,
                    in_quotes(*forced));
    }
    PodDemand result = demand_by_pod(pod, context, request_of(ask));
    result.demand.service = ask.service();
    result.priority = ask.priority;
    if (result.demand.wants_gpu()) {
        result.demand.isolation = ask.several() ? Isolation::none : Isolation::hook;
        if (!ask.model.empty()) {
            TESSERA_TRY(const ModelIndex model, intern_model(ask.model, context.names.models));
            result.demand.models.push_back(model);
        }
    }
    if (ask.group) {
        Gang gang;
        gang.group = context.names.groups.intern(fmt::format("{}/{}", pod.space, ask.group->name));
        gang.minimum = ask.group->minimum;
        // A threshold above 1 wants more members than the headcount says.
        gang.size = std::max(ask.group->headcount, ask.group->minimum);
        result.demand.gang = gang;
    }
    return result;
}

std::string_view model_of(const GpuSpec& gpu, const DialectContext& context) {
    return gpu.model.valid() ? context.names.models.name(gpu.model) : std::string_view();
}

// To the byte as KubeShare has it, which counts in bytes: what was asked, or a part of the card.
// Several GPUs, and one that a share has alone, are all of theirs.
Bytes memory_of(const KubeshareAsk& ask, const GpuRequest& request, const DeviceGrant& grant,
                const GpuSpec& gpu) {
    if (request.gpus == 1 && request.memory_bytes > Bytes(0)) {
        return request.memory_bytes;
    }
    const bool part = request.memory_ppm > 0 && grant.milli < kWholeGpu;
    return part ? default_memory(ask.request, Bytes(gpu.memory.value() * kBytesPerMib))
                : Bytes(grant.memory.value() * kBytesPerMib);
}

Expected<PlacementMarks> marks(const PlacedPod& placed, const DialectContext& context) {
    PlacementMarks result;
    if (placed.placement.grants.empty()) {
        return result;
    }
    const GpuRequest& request = placed.asked.demand.alternatives.front().requests.front();
    // Lists have a comma behind every element, also the last.
    const bool several = request.gpus > 1;
    const std::string_view comma = several ? "," : "";
    TESSERA_TRY(const KubeshareAsk ask, read_kubeshare(placed.pod));
    std::int64_t bytes = 0;
    for (const DeviceGrant& grant : placed.placement.grants) {
        const GpuSpec& gpu = placed.node.gpus[grant.gpu.slot()];
        if (gpu.uuid.empty()) {
            return fail(ErrorKind::conflict, "GPU {} of node {} has no known UUID, which {} needs",
                        grant.gpu.value(), placed.node.name, kGpuUuid);
        }
        result.annotations[std::string(kCellId)]
            .append(cell_of(placed.node, grant.gpu))
            .append(comma);
        result.annotations[std::string(kGpuModel)].append(model_of(gpu, context)).append(comma);
        result.annotations[std::string(kGpuUuid)].append(gpu.uuid).append(comma);
        bytes += memory_of(ask, request, grant, gpu).value();
    }
    result.annotations.emplace(kGpuMemory, std::to_string(bytes));
    if (placed.manager_port) {
        result.annotations.emplace(kManagerPort, std::to_string(*placed.manager_port));
    }
    return result;
}

Expected<std::optional<Grants>> read_back(const Pod& pod, const NodeSpec& node,
                                          DialectContext& context) {
    const std::string* uuids = find(pod.annotations, kGpuUuid);
    TESSERA_TRY(const PodDemand asked, demand(pod, context));
    if (uuids == nullptr || !asked.demand.wants_gpu()) {
        return std::nullopt;
    }
    RequestDevices devices{asked.demand.alternatives.front().requests.front().name, {}};
    for (const std::string_view uuid : split(*uuids, ',')) {
        if (uuid.empty()) {
            continue;
        }
        TESSERA_TRY(const GpuIndex gpu, gpu_by_uuid(kGpuUuid, uuid, node));
        if (std::find(devices.gpus.begin(), devices.gpus.end(), gpu) == devices.gpus.end()) {
            devices.gpus.push_back(gpu);
        }
    }
    if (devices.gpus.empty()) {
        return std::nullopt;
    }
    TESSERA_TRY(Grants grants, grants_of(asked, {devices}, node));
    return grants;
}

// 1.0's inventory, "UUID:MIB,UUID:MIB,": each card with its own size.
Expected<std::vector<GpuSpec>> node_gpus(const Node& node, DialectContext& context) {
    const std::string* info = find(node.annotations, kGpuInfo);
    if (info == nullptr) {
        return std::vector<GpuSpec>{};
    }
    std::vector<std::string_view> entries = split(*info, ',');
    std::erase(entries, std::string_view());
    const auto count = static_cast<std::int64_t>(entries.size());
    TESSERA_TRY(std::vector<GpuSpec> gpus, even_gpus(node, {kGpuInfo, count, 0, 0}, context));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::size_t colon = entries[i].rfind(':');
        if (colon == std::string_view::npos || colon == 0) {
            return fail(ErrorKind::invalid, "{}: {} is not accepted: UUID:MIB is", kGpuInfo,
                        in_quotes(entries[i]));
        }
        TESSERA_TRY(const std::int64_t mib, whole_number(kGpuInfo, entries[i].substr(colon + 1),
                                                         {0, kMaxGpuMemoryMib, "MiB"}));
        gpus[i].memory = MemoryMib(mib);
        gpus[i].uuid = std::string(entries[i].substr(0, colon));
    }
    return gpus;
}

}  // namespace

Dialect kubeshare_dialect() {
    return {"kubeshare",
            {"kubeshare-scheduler"},
            "the label sharedgpu/gpu_limit",
            kubeshare_asks,
            demand,
            marks,
            read_back,
            node_gpus};
}

std::vector<CellIndex> leaves_of(const NodeSpec& node, const CellTree& cells,
                                 const Interner<ModelIndex>& models) {
    std::vector<std::string> names;
    for (const GpuSpec& gpu : node.gpus) {
        names.emplace_back(gpu.model.valid() ? models.name(gpu.model) : std::string_view());
    }
    return match_leaves(cells, node.name, names);
}

void add_cells(NodeSpec& node, const DialectContext& context) {
    if (context.options.cells != nullptr) {
        add_cells(node, *context.options.cells, context.names.models);
    }
}

void add_cells(NodeSpec& node, const CellTree& cells, const Interner<ModelIndex>& models) {
    const std::vector<CellIndex> leaves = leaves_of(node, cells, models);
    for (std::size_t gpu = 0; gpu < leaves.size(); ++gpu) {
        node.gpus[gpu].cell = leaves[gpu].valid() ? cells.cell(leaves[gpu]).id : std::string();
    }
    if (node.links.empty()) {
        node.links = links_of_leaves(cells, leaves);
    }
}

bool kubeshare_needs_port(const PlacedPod& placed) {
    return placed.asked.demand.isolation == Isolation::hook && !kubeshare_asks(placed.pod).empty();
}

std::optional<std::uint16_t> kubeshare_port(const Pod& pod) {
    const std::string* text = find(pod.annotations, kManagerPort);
    if (text == nullptr) {
        return std::nullopt;
    }
    std::int64_t port = 0;
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, port);
    const bool good = error == std::errc() && stop == end && PortPool::contains(port);
    return good ? std::optional(static_cast<std::uint16_t>(port)) : std::nullopt;
}

}  // namespace tessera
