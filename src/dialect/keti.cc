#include "dialect/keti.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "dialect/asking.h"

namespace tessera {
namespace {

constexpr std::string_view kGpus = "keti.com/mpsgpu";
constexpr std::string_view kMemoryRequest = "GPUrequest";
constexpr std::string_view kMemoryLimit = "GPUlimits";
constexpr std::string_view kPriority = "priority";
constexpr std::string_view kNodeName = "nodeName";
constexpr std::string_view kUuid = "UUID";
constexpr std::int32_t kPriorityDefault = 50;

std::string asks(const Pod& pod) { return first_asked(pod, {kGpus}); }

Expected<std::optional<Bytes>> memory_annotation(const Pod& pod, std::string_view key) {
    const std::string* text = find(pod.annotations, key);
    if (text == nullptr) {
        return std::nullopt;
    }
    auto amount = Quantity::parse(trimmed(*text));
    if (!amount) {
        return tl::unexpected(std::move(amount.error()).within(key));
    }
    const Quantity most = Quantity::of(kMaxGpuMemoryMib * kBytesPerMib);
    if (amount->negative() || *amount > most) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: GPU memory from 0 to {} Ti is",
                    key, in_quotes(*text), kMaxGpuMemoryMib / (1 << 20));
    }
    TESSERA_TRY(const std::int64_t bytes, amount->value_up());
    return Bytes(bytes);
}

// What is reserved on each GPU: the request, which defaults to the limit.
Expected<Bytes> memory_of(const Pod& pod) {
    TESSERA_TRY(const auto request, memory_annotation(pod, kMemoryRequest));
    TESSERA_TRY(const auto limit, memory_annotation(pod, kMemoryLimit));
    if (request && limit && *request > *limit) {
        return fail(ErrorKind::invalid, "{}: {} is not accepted: at most {}, which is {}, is",
                    kMemoryRequest, in_quotes(pod.annotations.find(kMemoryRequest)->second),
                    kMemoryLimit, in_quotes(pod.annotations.find(kMemoryLimit)->second));
    }
    return request ? *request : limit.value_or(Bytes(0));
}

// The original upper-cases first and then compares with "Immediatly", which cannot match; both
// spellings of the word are meant.
Expected<std::int32_t> priority_of(const Pod& pod) {
    const std::string* text = find(pod.annotations, kPriority);
    if (text == nullptr || trimmed(*text).empty()) {
        return kPriorityDefault;
    }
    std::string word(trimmed(*text));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    struct Word {
        std::string_view text;
        std::int32_t priority;
    };
    static constexpr std::array<Word, 12> kWords{{{"L", 10},
                                                  {"LOW", 10},
                                                  {"M", kPriorityDefault},
                                                  {"MIDDLE", kPriorityDefault},
                                                  {"MEDIUM", kPriorityDefault},
                                                  {"N", kPriorityDefault},
                                                  {"NORMAL", kPriorityDefault},
                                                  {"H", 100},
                                                  {"HIGH", 100},
                                                  {"I", 1500},
                                                  {"IMMEDIATLY", 1500},
                                                  {"IMMEDIATELY", 1500}}};
    for (const Word& known : kWords) {
        if (known.text == word) {
            return known.priority;
        }
    }
    return fail(ErrorKind::invalid,
                "{}: {} is not accepted: Low, Middle, High, Immediately or their first letters are",
                kPriority, in_quotes(*text));
}

// Of a card, as the device plugin was started. MPS has fewer, but a slot is a part of 1000 milli.
Expected<int> slots_of(const DialectContext& context) {
    const int slots = context.options.keti_slots;
    if (slots < 1 || slots > kWholeGpu.value()) {
        return fail(ErrorKind::invalid, "{}: {} slots per card are not accepted: 1 to {} are",
                    kGpus, slots, kWholeGpu.value());
    }
    return slots;
}

// One unit is one MPS slot of a card, so it reserves a slot's part of the compute and may use all.
Expected<PodDemand> demand(const Pod& pod, DialectContext& context) {
    TESSERA_TRY(const Bytes memory, memory_of(pod));
    TESSERA_TRY(const int slots, slots_of(context));
    const auto ask = [&](const Container& container) -> Expected<GpuRequest> {
        TESSERA_TRY(const std::int64_t gpus,
                    asked_amount(container, kGpus, {0, kMaxGpusPerNode, "GPUs"}));
        GpuRequest request;
        request.gpus = static_cast<std::uint16_t>(gpus);
        request.milli = MilliGpu(kWholeGpu.value() / slots);
        request.memory = asked_mib(memory);
        request.memory_bytes = memory;
        return request;
    };
    TESSERA_TRY(PodDemand result, demand_by_container(pod, context, ask));
    TESSERA_TRY(result.priority, priority_of(pod));
    result.demand.isolation = result.demand.wants_gpu() ? Isolation::mps : Isolation::none;
    if (const std::string* node = find(pod.annotations, kNodeName)) {
        result.pinned_node = std::string(trimmed(*node));
    }
    return result;
}

Expected<PlacementMarks> marks(const PlacedPod& placed, const DialectContext&) {
    PlacementMarks result;
    std::vector<std::string> uuids;
    for (const DeviceGrant& grant : placed.placement.grants) {
        const std::string& uuid = placed.node.gpus[grant.gpu.slot()].uuid;
        if (uuid.empty()) {
            return fail(ErrorKind::conflict, "GPU {} of node {} has no known UUID, which {} needs",
                        grant.gpu.value(), placed.node.name, kGpus);
        }
        if (std::find(uuids.begin(), uuids.end(), uuid) == uuids.end()) {
            uuids.push_back(uuid);
        }
    }
    if (!uuids.empty()) {
        result.annotations.emplace(kUuid, fmt::format("{}", fmt::join(uuids, ",")));
    }
    return result;
}

// The list is per pod, so the requests take from it in turn. Empty elements, which the original
// writes between pairs, are skipped.
Expected<std::optional<Grants>> read_back(const Pod& pod, const NodeSpec& node,
                                          DialectContext& context) {
    const std::string* text = find(pod.annotations, kUuid);
    TESSERA_TRY(const PodDemand asked, demand(pod, context));
    if (text == nullptr || !asked.demand.wants_gpu()) {
        return std::nullopt;
    }
    std::vector<GpuIndex> gpus;
    for (std::string_view uuid : split(*text, ',')) {
        if (!uuid.empty()) {
            TESSERA_TRY(const GpuIndex gpu, gpu_by_uuid(kUuid, uuid, node));
            gpus.push_back(gpu);
        }
    }
    if (gpus.empty()) {
        return std::nullopt;
    }
    std::vector<RequestDevices> devices;
    std::size_t next = 0;
    for (const GpuRequest& request : asked.demand.alternatives.front().requests) {
        RequestDevices got{request.name, {}};
        for (std::size_t gpu = 0; gpu < std::min<std::size_t>(request.gpus, gpus.size()); ++gpu) {
            got.gpus.push_back(gpus[next++ % gpus.size()]);
        }
        devices.push_back(std::move(got));
    }
    TESSERA_TRY(Grants grants, grants_of(asked, devices, node));
    return grants;
}

Expected<std::vector<GpuSpec>> node_gpus(const Node& node, DialectContext& context) {
    const Quantity* amount = node.offered(kGpus);
    if (amount == nullptr || amount->zero()) {
        return std::vector<GpuSpec>{};
    }
    TESSERA_TRY(const int slots, slots_of(context));
    TESSERA_TRY(const std::int64_t units,
                whole_number(kGpus, *amount, {0, std::int64_t{kMaxGpusPerNode} * slots, "slots"}));
    if (units % slots != 0) {
        return fail(ErrorKind::invalid,
                    "{}: {} is not accepted: a multiple of {} slots per card is", kGpus, units,
                    slots);
    }
    return even_gpus(node, {kGpus, units / slots, 0, static_cast<std::uint16_t>(slots)}, context);
}

}  // namespace

Dialect keti_dialect() {
    return {"keti", {"gpu-scheduler"}, kGpus, asks, demand, marks, read_back, node_gpus};
}

}  // namespace tessera
