// Pods made of arbitrary keys and values: a demand within bounds, or one sentence.
//
// The input is lines "k=v": a leading digit chooses what the pair is (label, annotation, resource
// of a container, of an init container, scheduler), so that the fuzzer can mix vocabularies.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "dialect/asking.h"
#include "dialect/gpushare.h"

namespace tessera {
namespace {

void add_resource(std::vector<Container>& containers, std::string_view key,
                  std::string_view value) {
    const auto quantity = Quantity::parse(value);
    if (containers.empty() || containers.back().limits.size() > 3) {
        containers.push_back({});
        containers.back().name = "c" + std::to_string(containers.size());
    }
    if (quantity) {
        containers.back().limits[std::string(key)] = *quantity;
    }
}

Pod pod_of(std::string_view text) {
    Pod pod;
    for (std::string_view line : split(text, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals == std::string_view::npos || equals < 1) {
            continue;
        }
        const std::string_view key = line.substr(1, equals - 1);
        const std::string_view value = line.substr(equals + 1);
        switch (line.front()) {
            case '0':
                pod.labels[std::string(key)] = value;
                break;
            case '1':
                pod.annotations[std::string(key)] = value;
                break;
            case '2':
                add_resource(pod.init_containers, key, value);
                break;
            case '3':
                pod.scheduler_name = value;
                break;
            default:
                add_resource(pod.containers, key, value);
        }
    }
    return pod;
}

void check(const Pod& pod) {
    Vocabulary names;
    FilterTable filters;
    DialectContext context{names, filters, {}};
    const auto asked = pod_demand(pod, context);
    if (!asked) {
        TESSERA_ASSERT(!asked.error().message.empty(), "a refusal says why");
    } else {
        for (const Alternative& alternative : asked->demand.alternatives) {
            for (const GpuRequest& request : alternative.requests) {
                TESSERA_ASSERT(request.gpus > 0 && request.gpus <= kMaxGpusPerNode &&
                                   request.milli.value() >= 0 && request.milli <= kWholeGpu &&
                                   request.memory.value() >= 0 &&
                                   request.memory.value() <= kMaxGpuMemoryMib,
                               "a demand stays within bounds");
            }
        }
    }
    NodeSpec node;
    node.name = "n";
    node.gpus.resize(3);
    node.gpus[1].uuid = "GPU-1";
    const auto placement = read_back(pod, node, context);
    if (placement && *placement) {
        for (const DeviceGrant& grant : (*placement)->grants) {
            TESSERA_ASSERT(grant.gpu.slot() < 3, "a grant is on a device that exists");
        }
    }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(pod_of(text));
    NodeSpec node;
    node.gpus.resize(4);
    mark_unhealthy(node, read_unhealthy_gpus(text));
    return 0;
}
