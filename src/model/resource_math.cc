#include "model/resource_math.h"

#include <algorithm>

namespace tessera {
namespace {

Quantity asked_of(const Container& container, std::string_view resource) {
    const Quantity* amount = container.asked(resource);
    return amount == nullptr ? Quantity() : *amount;
}

const Quantity* pod_level(const Pod& pod, std::string_view resource) {
    const Quantity* request = find(pod.requests, resource);
    return request != nullptr ? request : find(pod.limits, resource);
}

bool covers(const GpuRequest& have, const GpuRequest& need) {
    return have.gpus >= need.gpus && have.milli >= need.milli && have.memory >= need.memory &&
           have.memory_ppm >= need.memory_ppm;
}

void raise(GpuRequest& request, const GpuRequest& need) {
    request.milli = std::max(request.milli, need.milli);
    request.limit = std::max(request.limit, need.limit);
    request.memory = std::max(request.memory, need.memory);
    request.memory_bytes = std::max(request.memory_bytes, need.memory_bytes);
    request.memory_ppm = std::max(request.memory_ppm, need.memory_ppm);
}

// Finds devices for one init container among the requests that are idle while it runs.
class InitFold {
  public:
    InitFold(GpuRequests& result, std::size_t ask, std::vector<std::size_t> idle)
        : result_(result), ask_(ask), idle_(std::move(idle)) {}

    void run(GpuRequest need) {
        if (need.whole()) {
            need.gpus = static_cast<std::uint16_t>(need.gpus - take_whole(need));
        }
        if (need.gpus == 0 || take_one(need)) {
            return;
        }
        result_.requests.push_back(need);
        use(result_.requests.size() - 1);
    }

  private:
    void use(std::size_t request) { result_.uses.push_back({ask_, request}); }

    // Whole devices of different requests are different devices, so they add up.
    std::uint16_t take_whole(const GpuRequest& need) {
        std::uint16_t taken = 0;
        for (std::size_t index : idle_) {
            GpuRequest& request = result_.requests[index];
            if (taken < need.gpus && request.whole()) {
                raise(request, need);
                use(index);
                taken = static_cast<std::uint16_t>(std::min<int>(need.gpus, taken + request.gpus));
            }
        }
        return taken;
    }

    // One request with enough devices: one that covers the need, else the largest, made to.
    bool take_one(const GpuRequest& need) {
        std::size_t best = result_.requests.size();
        for (std::size_t index : idle_) {
            const GpuRequest& request = result_.requests[index];
            if (request.gpus < need.gpus || (need.whole() && request.whole())) {
                continue;  // too few, or taken above
            }
            if (covers(request, need)) {
                use(index);
                return true;
            }
            if (best == result_.requests.size() ||
                std::pair(request.milli, request.memory) >
                    std::pair(result_.requests[best].milli, result_.requests[best].memory)) {
                best = index;
            }
        }
        if (best == result_.requests.size()) {
            return false;
        }
        raise(result_.requests[best], need);
        use(best);
        return true;
    }

    GpuRequests& result_;
    std::size_t ask_;
    std::vector<std::size_t> idle_;
};

}  // namespace

Quantity effective_request(const Pod& pod, std::string_view resource) {
    Quantity side_cars;
    Quantity peak;
    for (const Container& container : pod.init_containers) {
        const Quantity with = side_cars + asked_of(container, resource);
        peak = std::max(peak, with);
        if (container.restartable) {
            side_cars = with;
        }
    }
    Quantity steady = side_cars;
    for (const Container& container : pod.containers) {
        steady += asked_of(container, resource);
    }
    Quantity total = std::max(peak, steady);
    if (const Quantity* whole_pod = pod_level(pod, resource)) {
        total = *whole_pod;
    }
    const Quantity* overhead = find(pod.overhead, resource);
    return overhead == nullptr ? total : total + *overhead;
}

Expected<HostRequest> effective_host_request(const Pod& pod) {
    auto cpu = effective_request(pod, "cpu").milli_up();
    if (!cpu) {
        return tl::unexpected(std::move(cpu.error()).within("resources cpu"));
    }
    auto memory = effective_request(pod, "memory").value_up();
    if (!memory) {
        return tl::unexpected(std::move(memory.error()).within("resources memory"));
    }
    return HostRequest{MilliCpu(*cpu), asked_mib(Bytes(*memory))};
}

GpuRequests effective_gpu_requests(std::span<const ContainerAsk> asks) {
    GpuRequests result;
    std::vector<std::size_t> asked_by;  // per request: its ask
    for (std::size_t ask = 0; ask < asks.size(); ++ask) {
        if (asks[ask].role != ContainerRole::init && asks[ask].request.gpus > 0) {
            result.uses.push_back({ask, result.requests.size()});
            result.requests.push_back(asks[ask].request);
            asked_by.push_back(ask);
        }
    }
    for (std::size_t ask = 0; ask < asks.size(); ++ask) {
        if (asks[ask].role != ContainerRole::init || asks[ask].request.gpus == 0) {
            continue;
        }
        std::vector<std::size_t> idle;
        for (std::size_t index = 0; index < result.requests.size(); ++index) {
            const std::size_t owner = asked_by[index];
            const bool runs_already = asks[owner].role == ContainerRole::side_car && owner < ask;
            if (!runs_already) {
                idle.push_back(index);
            }
        }
        InitFold(result, ask, std::move(idle)).run(asks[ask].request);
        asked_by.resize(result.requests.size(), ask);
    }
    return result;
}

}  // namespace tessera
