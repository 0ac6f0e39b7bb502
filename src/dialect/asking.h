// What the dialects share: reading amounts with errors that name the key, and turning the asks of
// containers into requests by Kubernetes' rule.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "dialect/dialect.h"
#include "engine/cluster.h"
#include "model/demand.h"
#include "model/pod.h"
#include "model/resource_math.h"

namespace tessera {

struct Bounds {
    std::int64_t min = 0;
    std::int64_t max = 0;
    std::string_view what;  // "MiB", "GPUs": names the unit in the message
};

// A name from outside as part of a message: as it is, quoted and shortened where it is long or odd.
std::string shown(std::string_view name);

// A whole number within the bounds, from a quantity or from the text of a label or annotation.
Expected<std::int64_t> whole_number(std::string_view key, Quantity amount, const Bounds& bounds);
Expected<std::int64_t> whole_number(std::string_view key, std::string_view text,
                                    const Bounds& bounds);

// The container's amount of a resource, 0 when it asks for none.
Expected<std::int64_t> asked_amount(const Container& container, std::string_view resource,
                                    const Bounds& bounds);

// The first of the resources that any container asks for (more than nothing); empty when none.
std::string first_asked(const Pod& pod, const std::vector<std::string_view>& resources);

// A request with GPU memory in MiB.
void set_memory(GpuRequest& request, std::int64_t mib);

// One request per asking container. `ask` returns gpus = 0 for a container that asks for none.
using AskOf = std::function<Expected<GpuRequest>(const Container&)>;
Expected<PodDemand> demand_by_container(const Pod& pod, DialectContext& context, const AskOf& ask);

// One request for the whole pod, used by the containers that ask for `resource`, or by all of them
// when that is empty. No GPU when the request is for none.
PodDemand demand_by_pod(const Pod& pod, DialectContext& context, GpuRequest request,
                        std::string_view resource = {});

// Devices that are all alike, as a node without our annotation can describe them. Model and memory
// come from the labels of GPU feature discovery where the dialect has no better source.
struct EvenGpus {
    std::string_view key;  // where the count comes from, for messages
    std::int64_t count = 0;
    std::int64_t memory_mib = 0;
    std::uint16_t slots = 0;
};
Expected<std::vector<GpuSpec>> even_gpus(const Node& node, const EvenGpus& gpus,
                                         DialectContext& context);

// Index lists in annotations: "0,2". Spaces are tolerated, anything else is an error.
Expected<std::vector<GpuIndex>> gpu_indices(std::string_view key, std::string_view text,
                                            const NodeSpec& node);

// The device of that UUID; the error names the key that holds it.
Expected<GpuIndex> gpu_by_uuid(std::string_view key, std::string_view uuid, const NodeSpec& node);

// Every request of the demand on the devices named for it.
struct RequestDevices {
    RequestIndex request;
    std::vector<GpuIndex> gpus;
};
Expected<Grants> grants_of(const PodDemand& asked, const std::vector<RequestDevices>& devices,
                           const NodeSpec& node);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);

}  // namespace tessera
