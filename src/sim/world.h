// The engine as a simulated run drives it: pods and classes by the numbers of a run.
//
// The same engine as behind every other door; a run only has its own way of naming things: classes
// by their place in the workload's mix, pods in order of coming.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"
#include "model/cluster_state.h"
#include "policy/policy.h"
#include "sim/workload.h"

namespace tessera {

// When the state of a run is taken, and where to.
struct StateRequest {
    ClusterState* into = nullptr;  // null: nothing is recorded
    std::size_t after = SIZE_MAX;  // so many arrivals; by default the last one
};

class World {
  public:
    struct Setup {
        const Workload* workload = nullptr;
        const std::vector<NodeSpec>* nodes = nullptr;  // each must pass Cluster::check()
        std::span<const std::uint32_t> node_order;     // ties go to the earlier one
        std::uint64_t seed = 42;
        StateRequest state = {};
    };
    World(const Setup& setup, std::unique_ptr<Policy> policy);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // A pod comes and is placed if it fits.
    bool arrive(std::uint32_t pod, std::uint32_t class_number) {
        note_arrival(class_number);
        note_pod(pod, class_number);
        return engine_.arrive(PodIndex(pod), classes_[class_number]);
    }
    // A pod comes, and is placed when place() says so.
    void observe(std::uint32_t pod, std::uint32_t class_number) {
        note_arrival(class_number);
        note_pod(pod, class_number);
        engine_.observe(classes_[class_number]);
    }
    // A try for a pod that was observed; succeeds when fits() says so.
    bool place(std::uint32_t pod, std::uint32_t class_number) {
        return engine_.try_place(PodIndex(pod), classes_[class_number]);
    }
    bool fits(std::uint32_t class_number) {
        return engine_.fitting_nodes(classes_[class_number]) > 0;
    }
    void depart(std::uint32_t pod) {
        note_departure(pod);
        engine_.depart(PodIndex(pod));
    }

    // Where a placed pod is.
    NodeIndex node_of(std::uint32_t pod) const { return engine_.placement(PodIndex(pod))->node; }
    const Cluster& cluster() const { return engine_.cluster(); }

    // The run tells how many of its `total` pods have come, from 0 on: the state is taken when it
    // was asked for.
    void reached(std::size_t arrivals, std::size_t total) {
        if (recording() && arrivals == std::min(state_.after, total)) {
            take_state();
        }
    }

  private:
    bool recording() const { return state_.into != nullptr; }
    void take_state() const;
    void note_arrival(std::uint32_t class_number) {
        if (recording()) {
            history_.push_back(static_cast<std::int32_t>(class_number));
        }
    }
    void note_pod(std::uint32_t pod, std::uint32_t class_number) {
        if (recording()) {
            pods_[pod] = class_number;
        }
    }
    void note_departure(std::uint32_t pod);

    Engine engine_;
    const Workload* workload_;
    StateRequest state_;
    std::uint64_t seed_;
    std::vector<std::int32_t> history_;            // as in ClusterState
    std::map<std::uint32_t, std::uint32_t> pods_;  // here or waiting, with their class numbers
    std::vector<ClassIndex> classes_;              // by class number
};

}  // namespace tessera
