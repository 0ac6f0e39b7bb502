#include "dialect/asking.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/wording.h"
#include "model/model_name.h"

namespace tessera {
namespace {

auto out_of_bounds(std::string_view key, std::string_view value, const Bounds& bounds) {
    return fail(ErrorKind::invalid, "{}: {} is not accepted: a whole number of {} {} is", key,
                value, bounds.what, range_text(bounds.min, bounds.max));
}

// Containers in the order in which they start, with their roles.
std::vector<std::pair<const Container*, ContainerRole>> started(const Pod& pod) {
    std::vector<std::pair<const Container*, ContainerRole>> result;
    for (const Container& container : pod.init_containers) {
        result.emplace_back(&container,
                            container.restartable ? ContainerRole::side_car : ContainerRole::init);
    }
    for (const Container& container : pod.containers) {
        result.emplace_back(&container, ContainerRole::regular);
    }
    return result;
}

Expected<void> check_device_count(const GpuRequests& requests) {
    int devices = 0;
    for (const GpuRequest& request : requests.requests) {
        devices += request.gpus;
        if (devices > kMaxGpusPerNode && request.whole()) {
            return fail(ErrorKind::invalid,
                        "the pod asks for {} or more whole GPUs: accepted are up to {}, what a "
                        "node can have",
                        devices, kMaxGpusPerNode);
        }
    }
    return {};
}

}  // namespace

std::string shown(std::string_view name) {
    constexpr std::size_t kShownMax = 80;
    const bool plain =
        !name.empty() && name.size() <= kShownMax &&
        std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    return plain ? std::string(name) : in_quotes(name);
}

std::string_view trimmed(std::string_view text) {
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

Expected<std::int64_t> whole_number(std::string_view key, Quantity amount, const Bounds& bounds) {
    if (!amount.integral() || amount < Quantity::of(bounds.min) ||
        amount > Quantity::of(bounds.max)) {
        return out_of_bounds(key, amount.to_string(), bounds);
    }
    return amount.value_down();
}

Expected<std::int64_t> whole_number(std::string_view key, std::string_view text,
                                    const Bounds& bounds) {
    std::int64_t number = 0;
    const std::string_view digits = trimmed(text);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < bounds.min ||
        number > bounds.max) {
        return out_of_bounds(key, in_quotes(text), bounds);
    }
    return number;
}

Expected<std::int64_t> asked_amount(const Container& container, std::string_view resource,
                                    const Bounds& bounds) {
    const Quantity* amount = container.asked(resource);
    if (amount == nullptr) {
        return 0;
    }
    return whole_number(fmt::format("container {}: {}", shown(container.name), resource), *amount,
                        bounds);
}

std::string first_asked(const Pod& pod, const std::vector<std::string_view>& resources) {
    for (const auto& [container, role] : started(pod)) {
        for (std::string_view resource : resources) {
            const Quantity* amount = container->asked(resource);
            if (amount != nullptr && !amount->zero()) {
                return std::string(resource);
            }
        }
    }
    return {};
}

void set_memory(GpuRequest& request, std::int64_t mib) {
    request.memory = MemoryMib(mib);
    request.memory_bytes = Bytes(mib * kBytesPerMib);
}

Expected<PodDemand> demand_by_container(const Pod& pod, DialectContext& context, const AskOf& ask) {
    const auto containers = started(pod);
    std::vector<ContainerAsk> asks;
    for (const auto& [container, role] : containers) {
        TESSERA_TRY(GpuRequest request, ask(*container));
        request.name = context.names.requests.intern(container->name);
        asks.push_back({request, role});
    }
    GpuRequests requests = effective_gpu_requests(asks);
    TESSERA_CHECK(check_device_count(requests));
    PodDemand result;
    for (const GpuRequests::Use& use : requests.uses) {
        result.uses.push_back({asks[use.ask].request.name, requests.requests[use.request].name});
    }
    if (!requests.requests.empty()) {
        result.demand.alternatives.push_back({std::move(requests.requests)});
    }
    return result;
}

PodDemand demand_by_pod(const Pod& pod, DialectContext& context, GpuRequest request,
                        std::string_view resource) {
    PodDemand result;
    if (request.gpus == 0) {
        return result;
    }
    request.name = context.names.requests.intern(kPodRequest);
    for (const auto& [container, role] : started(pod)) {
        const Quantity* amount = container->asked(resource);
        if (resource.empty() || (amount != nullptr && !amount->zero())) {
            result.uses.push_back({context.names.requests.intern(container->name), request.name});
        }
    }
    result.demand.alternatives.push_back({{request}});
    return result;
}

Expected<std::vector<GpuSpec>> even_gpus(const Node& node, const EvenGpus& gpus,
                                         DialectContext& context) {
    if (gpus.count > kMaxGpusPerNode) {
        return fail(ErrorKind::invalid, "{}: {} GPUs are not accepted: a node has up to {}",
                    gpus.key, gpus.count, kMaxGpusPerNode);
    }
    GpuSpec spec;
    spec.memory = MemoryMib(gpus.memory_mib);
    spec.slots = gpus.slots;
    for (std::string_view label : {"nvidia.com/gpu.product", "aliyun.accelerator/nvidia_name"}) {
        const std::string* name = find(node.labels, label);
        if (name != nullptr && !name->empty() && !spec.model.valid()) {
            TESSERA_TRY(spec.model, intern_model(*name, context.names.models));
        }
    }
    const std::string* memory = find(node.labels, "nvidia.com/gpu.memory");
    if (memory != nullptr && gpus.memory_mib == 0) {
        TESSERA_TRY(const std::int64_t mib,
                    whole_number("nvidia.com/gpu.memory", *memory, {0, kMaxGpuMemoryMib, "MiB"}));
        spec.memory = MemoryMib(mib);
    }
    return std::vector<GpuSpec>(static_cast<std::size_t>(std::max<std::int64_t>(gpus.count, 0)),
                                spec);
}

Expected<std::vector<GpuIndex>> gpu_indices(std::string_view key, std::string_view text,
                                            const NodeSpec& node) {
    std::vector<GpuIndex> result;
    for (std::string_view part : split(text, ',')) {
        if (node.gpus.empty()) {
            return fail(ErrorKind::invalid, "{}: {} names a GPU, but node {} has none", key,
                        in_quotes(text), shown(node.name));
        }
        const Bounds bounds{0, static_cast<std::int64_t>(node.gpus.size()) - 1, "a GPU's index"};
        TESSERA_TRY(const std::int64_t index, whole_number(key, part, bounds));
        const GpuIndex gpu(static_cast<GpuIndex::rep>(index));
        if (std::find(result.begin(), result.end(), gpu) != result.end()) {
            return fail(ErrorKind::invalid, "{}: {} names GPU {} twice", key, in_quotes(text),
                        index);
        }
        result.push_back(gpu);
    }
    return result;
}

Expected<GpuIndex> gpu_by_uuid(std::string_view key, std::string_view uuid, const NodeSpec& node) {
    const auto found = std::find_if(node.gpus.begin(), node.gpus.end(),
                                    [&](const GpuSpec& gpu) { return gpu.uuid == uuid; });
    if (found == node.gpus.end()) {
        return fail(ErrorKind::not_found, "{}: {} is not a GPU of node {}", key, in_quotes(uuid),
                    shown(node.name));
    }
    return GpuIndex(static_cast<GpuIndex::rep>(found - node.gpus.begin()));
}

Expected<Grants> grants_of(const PodDemand& asked, const std::vector<RequestDevices>& devices,
                           const NodeSpec& node) {
    Grants grants;
    if (!asked.demand.wants_gpu()) {
        return grants;
    }
    for (const RequestDevices& got : devices) {
        const auto& requests = asked.demand.alternatives.front().requests;
        const auto request = std::find_if(requests.begin(), requests.end(),
                                          [&](const auto& one) { return one.name == got.request; });
        if (request == requests.end()) {
            continue;  // a container that asks for nothing holds nothing, whatever is written
        }
        for (GpuIndex gpu : got.gpus) {
            const GpuSpec& spec = node.gpus[gpu.slot()];
            const bool alone = request->whole();
            grants.push_back({request->name,
                              gpu,
                              request->milli,
                              alone ? spec.memory : request->memory_on(spec.memory),
                              {}});
        }
    }
    return grants;
}

}  // namespace tessera
