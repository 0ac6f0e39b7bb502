// Kubernetes' own accounting of containers, once, for every resource.
//
// Init containers run one after the other, before the rest; side-cars (restartable init containers)
// keep running. So at any time a pod needs
//   max( regular containers + all side-cars,
//        for each init container: it + the side-cars started before it )
// plus the pod's overhead. Pod-level requests, where written, stand for that sum. The same rule
// holds for GPUs, where "it + ..." cannot be a plain sum: shares are on devices (see below).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/demand.h"
#include "model/pod.h"

namespace tessera {

Quantity effective_request(const Pod& pod, std::string_view resource);

// CPU and memory of a pod as a demand counts them: rounded up. Errors name the resource.
struct HostRequest {
    MilliCpu cpu;
    MemoryMib memory;
};
Expected<HostRequest> effective_host_request(const Pod& pod);

enum class ContainerRole : std::uint8_t { regular, init, side_car };

// What one container asks of the GPUs; gpus = 0 when it asks for none.
struct ContainerAsk {
    GpuRequest request;
    ContainerRole role = ContainerRole::regular;
};

// The requests to place, and for each ask the index of the request it uses (-1: none). Regular
// containers and side-cars have their own. An init container uses devices of those that are not
// running yet, which are made as large as it needs; where it needs more devices than they have, it
// gets a request of its own for the rest, and uses that as well.
struct GpuRequests {
    struct Use {
        std::size_t ask = 0;
        std::size_t request = 0;
    };
    std::vector<GpuRequest> requests;
    std::vector<Use> uses;
};
GpuRequests effective_gpu_requests(std::span<const ContainerAsk> asks);

}  // namespace tessera
