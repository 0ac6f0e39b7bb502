#include "role/intake/intake.h"

#include <algorithm>

#include "codec/gpu_annotation.h"
#include "codec/placement_annotation.h"
#include "codec/placement_signature.h"
#include "dialect/asking.h"
#include "dialect/gpushare.h"
#include "dialect/kubeshare.h"
#include "dialect/own_keys.h"

namespace tessera {
namespace {

// Without the resources that count devices, so that no rule about them can fail.
Node host_part(const Node& node) {
    Node host = node;
    for (ResourceList* list : {&host.capacity, &host.allocatable}) {
        std::erase_if(*list, [](const auto& entry) {
            return entry.first != "cpu" && entry.first != "memory" && entry.first != "pods";
        });
    }
    return host;
}

const GpuRequest* request_named(const PodDemand& asked, const Placement& placement,
                                RequestIndex name) {
    if (placement.alternative >= asked.demand.alternatives.size()) {
        return nullptr;
    }
    const auto& requests = asked.demand.alternatives[placement.alternative].requests;
    const auto found = std::find_if(requests.begin(), requests.end(),
                                    [&](const GpuRequest& one) { return one.name == name; });
    return found == requests.end() ? nullptr : &*found;
}

// A record with a name or a device missing would be read as another placement.
Expected<void> check_recordable(const PlacedPod& placed, const Vocabulary& names) {
    const auto known = [&](RequestIndex name) { return name.slot() < names.requests.size(); };
    for (const DeviceGrant& grant : placed.placement.grants) {
        if (grant.gpu.slot() >= placed.node.gpus.size()) {
            return fail(ErrorKind::internal, "GPU {} is granted, but node {} has {}",
                        grant.gpu.value(), shown(placed.node.name), placed.node.gpus.size());
        }
        if (!known(grant.request)) {
            return fail(ErrorKind::internal,
                        "GPU {} of node {} is granted to a container without a name",
                        grant.gpu.value(), shown(placed.node.name));
        }
    }
    for (const ContainerUse& use : placed.asked.uses) {
        if (!known(use.container) || !known(use.request)) {
            return fail(ErrorKind::internal, "a container that uses GPUs has no name");
        }
    }
    return {};
}

// Of what check_recordable() accepts.
GrantRecord record_of(const DeviceGrant& grant, const PlacedPod& placed, const Vocabulary& names) {
    GrantRecord record;
    record.request = names.requests.name(grant.request);
    record.gpu = grant.gpu.value();
    record.uuid = placed.node.gpus[grant.gpu.slot()].uuid;
    record.milli = grant.milli.value();
    const GpuRequest* request = request_named(placed.asked, placed.placement, grant.request);
    record.limit_milli = request == nullptr ? kWholeGpu.value() : request->limit.value();
    record.memory_mib = grant.memory.value();
    record.spare = grant.spare;
    return record;
}

Expected<PlacementRecord> record_of(const PlacedPod& placed, const Vocabulary& names) {
    TESSERA_TRY(const Dialect* dialect, dialect_of(placed.pod));
    PlacementRecord record;
    record.owner = placed.pod.owner();
    record.node = placed.node.name;
    record.dialect = dialect->name;
    record.cpu_milli = placed.placement.cpu.value();
    record.memory_mib = placed.placement.memory.value();
    record.alternative = placed.placement.alternative;
    record.admin_access = placed.placement.admin_access;
    for (const DeviceGrant& grant : placed.placement.grants) {
        record.grants.push_back(record_of(grant, placed, names));
    }
    for (const ContainerUse& use : placed.asked.uses) {
        record.containers[std::string(names.requests.name(use.container))].emplace_back(
            names.requests.name(use.request));
    }
    return record;
}

// A device keeps its UUID when the order of devices changes, so that is asked first.
Expected<GpuIndex> device_of(const GrantRecord& grant, const NodeSpec& node) {
    if (!grant.uuid.empty()) {
        return gpu_by_uuid(kOwnPlacement, grant.uuid, node);
    }
    if (grant.gpu >= static_cast<std::int32_t>(node.gpus.size())) {
        return fail(ErrorKind::not_found, "{}: GPU {} is not on node {}, which has {}",
                    kOwnPlacement, grant.gpu, shown(node.name), node.gpus.size());
    }
    return GpuIndex(static_cast<GpuIndex::rep>(grant.gpu));
}

Expected<Placement> placement_of(const PlacementRecord& record, const NodeSpec& node,
                                 DialectContext& context) {
    Placement placement;
    placement.node = context.names.nodes.intern(node.name);
    placement.cpu = MilliCpu(record.cpu_milli);
    placement.memory = MemoryMib(record.memory_mib);
    placement.alternative = static_cast<std::uint8_t>(record.alternative);
    placement.admin_access = record.admin_access;
    for (const GrantRecord& grant : record.grants) {
        TESSERA_TRY(const GpuIndex gpu, device_of(grant, node));
        placement.grants.push_back({context.names.requests.intern(grant.request), gpu,
                                    MilliGpu(grant.milli), MemoryMib(grant.memory_mib),
                                    grant.spare});
    }
    return placement;
}

// Our own record, if it is about this pod on this node: a copy on another pod proves nothing.
Expected<std::optional<Placement>> own_record(const Pod& pod, const NodeSpec& node,
                                              DialectContext& context) {
    const std::string* text = find(pod.annotations, kOwnPlacement);
    if (text == nullptr) {
        return std::nullopt;
    }
    TESSERA_TRY(const PlacementRecord record, read_placement_annotation(*text));
    if (record.owner != pod.owner() || record.node != node.name) {
        return std::nullopt;
    }
    TESSERA_TRY(Placement placement, placement_of(record, node, context));
    return placement;
}

Expected<std::optional<Placement>> foreign_record(const Pod& pod, const NodeSpec& node,
                                                  DialectContext& context) {
    const std::string* allocation = find(pod.annotations, kGpushareAllocation);
    if (allocation == nullptr) {
        return read_back(pod, node, context);
    }
    TESSERA_TRY(const auto units, read_gpushare_allocation(*allocation));
    std::vector<GpusharePiece> pieces;
    for (const DeviceUnits& one : units) {
        pieces.push_back({one.gpu, one.units});
    }
    Placement placement;
    TESSERA_TRY(placement.grants, gpushare_grants(pieces, node, context));
    return placement;
}

bool is_signed(const Pod& pod, std::string_view key) {
    const std::string* record = find(pod.annotations, kOwnPlacement);
    const std::string* signature = find(pod.annotations, kOwnSignature);
    return record != nullptr && signature != nullptr && signature_matches(key, *record, *signature);
}

// Grants under a name that no request has are those of the first request that lacks devices.
void name_strangers(Grants& grants, const std::vector<GpuRequest>& requests) {
    const auto count = [&](RequestIndex name) {
        return std::count_if(grants.begin(), grants.end(),
                             [&](const DeviceGrant& grant) { return grant.request == name; });
    };
    for (DeviceGrant& grant : grants) {
        const bool known = std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
            return request.name == grant.request;
        });
        const auto lacking = std::find_if(
            requests.begin(), requests.end(),
            [&](const GpuRequest& request) { return count(request.name) < request.gpus; });
        if (!known && lacking != requests.end()) {
            grant.request = lacking->name;
        }
    }
}

// No grant is less than what its request asks for; where there are more grants than devices asked
// for, as some systems split a request, all of them together are not. False when devices are
// missing.
bool raise_to_request(Grants& grants, const GpuRequest& request, const NodeSpec& node) {
    std::size_t devices = 0;
    MilliGpu milli;
    MemoryMib memory;
    MemoryMib asked_of_device;
    const auto memory_on = [&](const DeviceGrant& grant) {
        return request.memory_on(node.gpus[grant.gpu.slot()].memory);
    };
    for (const DeviceGrant& grant : grants) {
        if (grant.request == request.name) {
            ++devices;
            milli = milli + grant.milli;
            memory = memory + grant.memory;
            asked_of_device = std::max(asked_of_device, memory_on(grant));
        }
    }
    const bool split = devices > request.gpus && milli >= request.milli * request.gpus &&
                       memory >= asked_of_device * request.gpus;
    for (DeviceGrant& grant : grants) {
        if (grant.request == request.name && !split) {
            grant.milli = std::max(grant.milli, request.milli);
            grant.memory = std::max(grant.memory, memory_on(grant));
        }
    }
    return devices >= request.gpus;
}

// Whoever wrote the record, it counts no less than the pod asks for. False when devices are
// missing.
bool raise_to_demand(Placement& placement, const PodDemand& asked, const NodeSpec& node) {
    if (!asked.demand.wants_gpu()) {
        return true;
    }
    const std::size_t alternative =
        std::min<std::size_t>(placement.alternative, asked.demand.alternatives.size() - 1);
    const auto& requests = asked.demand.alternatives[alternative].requests;
    name_strangers(placement.grants, requests);
    bool complete = true;
    for (const GpuRequest& request : requests) {
        complete = raise_to_request(placement.grants, request, node) && complete;
    }
    return complete;
}

Expected<Held> held_within(const Pod& pod, const NodeSpec& node, DialectContext& context,
                           std::string_view signing_key) {
    Held held;
    TESSERA_TRY(const auto recorded, own_record(pod, node, context));
    if (recorded && (signing_key.empty() || is_signed(pod, signing_key))) {
        held.placement = *recorded;
        held.ours = true;
        return held;
    }
    TESSERA_TRY(const PodDemand asked, pod_demand(pod, context));
    if (recorded) {
        held.placement = *recorded;
        held.placement.admin_access = false;
    } else {
        TESSERA_TRY(const auto foreign, foreign_record(pod, node, context));
        if (foreign) {
            held.placement.grants = foreign->grants;
        }
    }
    held.devices_unknown = !raise_to_demand(held.placement, asked, node);
    held.placement.node = context.names.nodes.intern(node.name);
    held.placement.cpu = asked.demand.cpu;
    held.placement.memory = asked.demand.memory;
    return held;
}

}  // namespace

Expected<NodeSpec> take_node(const Node& node, DialectContext& context) {
    const std::string* list = find(node.annotations, kOwnGpuList);
    if (list == nullptr) {
        return node_spec(node, context);
    }
    TESSERA_TRY(NodeSpec spec, node_spec(host_part(node), context));
    auto inventory = read_gpu_annotation(*list, context.names);
    if (!inventory) {
        return tl::unexpected(
            std::move(inventory.error()).within(fmt::format("node {}", shown(node.name))));
    }
    spec.gpus = std::move(inventory->gpus);
    spec.links = std::move(inventory->links);
    add_cells(spec, context);
    return spec;
}

Expected<PlacementMarks> placement_writes(PlacedPod placed, const DialectContext& context,
                                          PortBook& ports, std::string_view signing_key) {
    if (auto checked = check_recordable(placed, context.names); !checked) {
        return tl::unexpected(std::move(checked.error()).within(describe(placed.pod)));
    }
    TESSERA_TRY(const PlacementRecord record, record_of(placed, context.names));
    auto port = ports.take(placed);
    if (!port) {
        return tl::unexpected(std::move(port.error()).within(describe(placed.pod)));
    }
    placed.manager_port = *port;
    auto marks = placement_marks(placed, context);
    if (!marks) {
        ports.release(placed.pod.owner());
        return marks;
    }
    std::string text = write_placement_annotation(record);
    if (!signing_key.empty()) {
        marks->annotations[std::string(kOwnSignature)] = sign_placement(signing_key, text);
    }
    marks->annotations[std::string(kOwnPlacement)] = std::move(text);
    return marks;
}

Expected<Held> read_held(const Pod& pod, const NodeSpec& node, DialectContext& context,
                         std::string_view signing_key) {
    auto held = held_within(pod, node, context, signing_key);
    if (!held && !held.error().message.starts_with(describe(pod))) {
        return tl::unexpected(std::move(held.error()).within(describe(pod)));
    }
    return held;
}

}  // namespace tessera
