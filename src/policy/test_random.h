// Random nodes and demands for property tests: every footprint, and every oddity of a node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.h"
#include "model/demand.h"
#include "model/node.h"
#include "model/node_filter.h"
#include "policy/test_world.h"

namespace tessera::testing {

template <class T>
T any_of(Rng& rng, std::initializer_list<T> values) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(rng.below(values.size())));
}

inline bool one_in(Rng& rng, std::uint64_t n) { return rng.below(n) == 0; }

inline GpuSpec random_gpu(Rng& rng) {
    // One draw a line: compilers differ in the order of arguments.
    const ModelIndex model(static_cast<std::uint16_t>(rng.below(3)));
    GpuSpec gpu = gpu_spec(model, any_of<std::int64_t>(rng, {0, 8'000, 16'384, 40'960, 81'920}));
    gpu.slots = any_of<std::uint16_t>(rng, {0, 0, 0, 1, 2, 5});
    gpu.health = any_of(rng, {Health::ok, Health::ok, Health::ok, Health::ok, Health::ok,
                              Health::ok, Health::no_new, Health::evict});
    gpu.mode = one_in(rng, 20) ? AllocatorMode::claim : AllocatorMode::annotation;
    gpu.spare = {one_in(rng, 3) ? 7 : 0, 0, 0};
    return gpu;
}

inline LinkMatrix random_links(Rng& rng, int gpus) {
    LinkMatrix links(gpus);
    for (int a = 0; a < gpus; ++a) {
        for (int b = a + 1; b < gpus; ++b) {
            links.set(a, b,
                      {any_of(rng, {LinkLevel::system, LinkLevel::numa, LinkLevel::pcie_switch,
                                    LinkLevel::nvlink}),
                       static_cast<std::uint8_t>(rng.below(3))});
        }
    }
    return links;
}

// Most nodes are plain: devices alike and healthy.
inline NodeSpec plain_node(Rng& rng) {
    NodeSpec node;
    node.cpu = MilliCpu(any_of<std::int64_t>(rng, {0, 4'000, 32'000, 96'000, 128'000}));
    node.memory = MemoryMib(any_of<std::int64_t>(rng, {0, 8'192, 262'144, 786'432}));
    node.pods = any_of<std::int32_t>(rng, {110, 110, 110, 3, 0});
    node.schedulable = !one_in(rng, 15);
    const int gpus = any_of(rng, {0, 1, 2, 4, 8, 8, 8, 16});
    const bool unlike = one_in(rng, 3);
    GpuSpec gpu = random_gpu(rng);
    if (!unlike && !one_in(rng, 4)) {
        gpu.health = Health::ok;
        gpu.mode = AllocatorMode::annotation;
    }
    for (int i = 0; i < gpus; ++i) {
        gpu = unlike ? random_gpu(rng) : gpu;
        gpu.numa = static_cast<std::uint8_t>(i / 4);
        node.gpus.push_back(gpu);
    }
    if (gpus > 0 && one_in(rng, 3)) {
        node.links = random_links(rng, gpus);
    }
    return node;
}

// The same with a name, for distances, and sometimes partitions of devices.
inline NodeSpec random_node(Rng& rng) {
    NodeSpec node = plain_node(rng);
    node.name = "n" + std::to_string(rng.below(50));
    const bool partitions = one_in(rng, 8);
    for (std::size_t i = 0; partitions && i < node.gpus.size(); ++i) {
        node.gpus[i].parent = one_in(rng, 4) ? "" : "GPU-" + std::to_string(i / 3);
    }
    return node;
}

inline GpuRequest random_request(Rng& rng) {
    GpuRequest request;
    switch (rng.below(7)) {
        case 0:
            request.milli = MilliGpu(any_of(rng, {1, 100, 142, 190, 250, 500, 810, 999}));
            break;
        case 1:
            request.memory =
                MemoryMib(any_of<std::int64_t>(rng, {1, 1'024, 8'000, 16'384, 20'000}));
            break;
        case 2:
            request.milli = MilliGpu(any_of(rng, {100, 250, 500}));
            request.memory = MemoryMib(any_of<std::int64_t>(rng, {1'024, 8'000, 20'000}));
            break;
        case 3:
            request.milli = MilliGpu(any_of(rng, {0, 0, 250}));
            request.memory_ppm = any_of(rng, {1, 142'857, 250'000, 500'000, 1'000'000});
            break;
        case 4:
            request.gpus = any_of<std::uint16_t>(rng, {2, 2, 3, 4});
            request.milli = MilliGpu(any_of(rng, {0, 200, 500, 700}));
            request.memory_ppm = one_in(rng, 2) ? 300'000 : 0;
            break;
        default:
            request.gpus = any_of<std::uint16_t>(rng, {1, 1, 2, 3, 4, 5, 8, 8, 16, 17});
            request.milli = kWholeGpu;
            request.memory = MemoryMib(one_in(rng, 5) ? 20'000 : 0);
            break;
    }
    if (one_in(rng, 12)) {
        request.spare = {any_of<std::int64_t>(rng, {1, 3, 7}), 0, 0};
    }
    return request;
}

inline void add_rule(Rng& rng, GpuRequest& request) {
    request.rule = any_of(rng, {GroupRule::same, GroupRule::distinct});
    request.rule_attribute =
        any_of(rng, {kAttributeNuma, kAttributeNuma, kAttributeLink, AttributeIndex(7)});
}

inline Demand plain_demand(Rng& rng) {
    Demand demand;
    demand.cpu = MilliCpu(any_of<std::int64_t>(rng, {0, 500, 1'000, 4'000, 8'000, 16'000, 64'000}));
    demand.memory = MemoryMib(any_of<std::int64_t>(rng, {0, 512, 4'096, 65'536, 300'000}));
    demand.tolerates = one_in(rng, 5) ? Health::no_new : Health::ok;
    demand.admin_access = one_in(rng, 25);
    demand.isolation = one_in(rng, 20) ? Isolation::exclusive : Isolation::none;
    if (one_in(rng, 6)) {
        return demand;
    }
    const std::size_t requests = one_in(rng, 5) ? 2 + rng.below(3) : 1;
    demand.alternatives.emplace_back();
    for (std::size_t i = 0; i < requests; ++i) {
        demand.alternatives[0].requests.push_back(random_request(rng));
    }
    if (requests == 1 && one_in(rng, 5)) {
        add_rule(rng, demand.alternatives[0].requests[0]);
    }
    for (std::uint16_t model = 0; model < 3 && one_in(rng, 3); ++model) {
        demand.models.push_back(ModelIndex(model));
    }
    return demand;
}

// The same with a class of service, in one of a few groups or in none, and who stays on devices
// that others must leave.
inline Demand random_demand(Rng& rng) {
    Demand demand = plain_demand(rng);
    demand.service = any_of(rng, {ServiceClass::guaranteed, ServiceClass::guaranteed,
                                  ServiceClass::opportunistic, ServiceClass::latency});
    if (one_in(rng, 3)) {
        demand.gang = Gang{GroupIndex(static_cast<std::uint32_t>(rng.below(4))), 8, 1};
    }
    if (one_in(rng, 8)) {
        demand.tolerates = Health::evict;
    }
    if (demand.wants_gpu() && demand.alternatives[0].requests[0].rule != GroupRule::none &&
        one_in(rng, 4)) {
        demand.alternatives[0].requests[0].rule_attribute = kAttributeParent;
    }
    return demand;
}

// Labels and taints of a small world, so that filters meet them: keys 0 to 2, values 0 to 2.
inline LabelKey any_label_key(Rng& rng) {
    return LabelKey(static_cast<std::uint32_t>(rng.below(3)));
}
inline LabelValue any_label_value(Rng& rng) {
    return LabelValue(static_cast<std::uint32_t>(rng.below(3)));
}
inline LabelValue any_node_name(Rng& rng) {
    return LabelValue(static_cast<std::uint32_t>(10 + rng.below(4)));
}

inline NodeTraits random_traits(Rng& rng) {
    NodeTraits traits;
    traits.name = any_node_name(rng);
    for (std::uint32_t key = 0; key < 3; ++key) {
        const LabelValue value = any_label_value(rng);
        if (!one_in(rng, 4)) {
            traits.labels.push_back({LabelKey(key), value});
        }
        if (!one_in(rng, 4) && value != LabelValue(2)) {
            traits.numbers.push_back({LabelKey(key), std::int64_t{value.value()}});
        }
    }
    for (std::uint64_t i = one_in(rng, 2) ? rng.below(3) : 0; i > 0; --i) {
        NodeTaint taint{any_label_key(rng), any_label_value(rng),
                        any_of(rng, {TaintEffect::no_schedule, TaintEffect::prefer_no_schedule,
                                     TaintEffect::no_execute})};
        taint.cordon = one_in(rng, 4);
        traits.taints.push_back(taint);
    }
    return traits;
}

inline LabelRequirement random_requirement(Rng& rng) {
    LabelRequirement one{.key = any_label_key(rng), .op = static_cast<LabelOperator>(rng.below(6))};
    one.bound = static_cast<std::int64_t>(rng.below(3));
    if (one.op == LabelOperator::in || one.op == LabelOperator::not_in) {
        one.values = {any_label_value(rng), any_label_value(rng)};
        std::sort(one.values.begin(), one.values.end());
    }
    return one;
}

// One in three says nothing, most of the others little.
inline NodeFilter random_filter(Rng& rng) {
    NodeFilter filter;
    if (one_in(rng, 3)) {
        return filter;
    }
    if (one_in(rng, 12)) {
        filter.node = any_node_name(rng);
    }
    if (one_in(rng, 4)) {
        filter.selector.push_back({any_label_key(rng), any_label_value(rng)});
    }
    for (std::uint64_t i = one_in(rng, 3) ? rng.below(3) : 0; i > 0; --i) {
        filter.terms.emplace_back();
        for (std::uint64_t j = rng.below(3); j > 0; --j) {
            filter.terms.back().push_back(random_requirement(rng));
        }
    }
    for (std::uint64_t i = rng.below(3); i > 0; --i) {
        TaintToleration one;
        one.key = one_in(rng, 3) ? LabelKey::none() : any_label_key(rng);
        one.value = one_in(rng, 3) ? any_label_value(rng) : LabelValue::none();
        one.effects = any_of<std::uint8_t>(rng, {1, 4, TaintToleration::kEveryEffect});
        filter.tolerations.push_back(one);
    }
    return filter;
}

inline void occupy(Rng& rng, TestWorld& world, NodeState& node) {
    for (std::uint64_t pods = rng.below(12); pods > 0 && node.gpu_count > 0; --pods) {
        const auto gpu = static_cast<int>(rng.below(node.gpu_count));
        const GpuState& device = node.gpus[static_cast<std::size_t>(gpu)];
        const int milli = any_of(rng, {100, 300, 500});
        if (device.free_slots > 0 && device.idle_milli >= milli) {
            world.take(node, gpu, milli, static_cast<std::int64_t>(rng.below(3'000)));
        }
    }
}

}  // namespace tessera::testing
