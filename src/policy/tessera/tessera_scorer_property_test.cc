// Keys against the plain potential, before and after, for random nodes and classes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "policy/assignment.h"
#include "policy/tessera/tessera_scorer.h"
#include "policy/test_random.h"

namespace tessera {
namespace {

using testing::TestWorld;

GapTerm random_gap(Rng& rng) {
    std::vector<SizeDemand> sizes;
    for (std::uint64_t n = 1 + rng.below(6); n > 0; --n) {
        sizes.push_back({1 + static_cast<int>(rng.below(999)), 1 + rng.uniform()});
    }
    std::array<double, 1001> needs_more{};
    double more = rng.uniform();
    for (double& share : needs_more) {
        share = more;
        more *= 0.999;
    }
    return {gap_values(sizes), needs_more, 0.5};
}

Potential random_potential(Rng& rng, const Catalog& catalog) {
    Potential potential;
    potential.gaps = {random_gap(rng), random_gap(rng)};
    for (std::size_t kind = 0; kind < catalog.kinds.size(); ++kind) {
        potential.gap_of_kind.push_back(static_cast<std::uint8_t>(rng.below(2)));
    }
    potential.stranding = StrandingTerm(0.5 + 20 * rng.uniform());
    std::vector<HostTerm::Host> hosts;
    for (std::uint64_t n = rng.below(4); n > 0; --n) {
        hosts.push_back({.cpu_milli = static_cast<std::int64_t>(rng.below(32'000)),
                         .memory_mib = static_cast<std::int64_t>(rng.below(65'536)),
                         .gpus = 2 + static_cast<int>(rng.below(7)),
                         .price = rng.uniform(),
                         .shape_allows = std::vector<bool>(catalog.shapes.size(), true)});
    }
    potential.host = HostTerm(hosts, catalog.shapes.size());
    for (std::size_t shape = 0; shape < catalog.shapes.size(); ++shape) {
        potential.scarcity.price.push_back(static_cast<std::int64_t>(rng.below(2 * kUnit)));
    }
    potential.drain = DrainTerm(500 * rng.uniform());
    potential.core_admission = AdmissionTerm({{1'000, 0.5}, {8'000, 0.5}}, rng.uniform());
    potential.memory_admission = AdmissionTerm({{512, 0.3}, {65'536, 0.7}}, rng.uniform());
    potential.even_cores = EvenTerm(96'000, 1000 * rng.uniform());
    potential.even_memory = EvenTerm(1 << 20, 1000 * rng.uniform());
    return potential;
}

std::int64_t floored(std::int64_t gain) {
    return static_cast<std::int64_t>(
        std::floor(static_cast<double>(gain) / static_cast<double>(40 * kUnit)));
}

// The key as documented: the floored score above three bits for little idle GPU.
Key expected_key(const NodeState& node, std::int64_t score) {
    int halvings = 0;
    for (int steps = std::min(255, node.idle_value / 200); steps > 0; steps /= 2) {
        ++halvings;
    }
    return static_cast<Key>(std::clamp<std::int64_t>(score + 6'144, 1, 8'191) * 8 + 7 -
                            std::min(7, halvings));
}

struct Tried {
    TestWorld world;
    std::vector<NodeState*> nodes;
    std::vector<ClassIndex> classes;
    std::optional<TesseraScorer> scorer;

    std::int64_t gain(const NodeState& node, ClassIndex c, const DeviceList& devices) const {
        NodeState after = node;
        apply_devices(after, world[c], world.catalog(), devices);
        return scorer->plain_potential(node) - scorer->plain_potential(after);
    }
};

void make(Tried& tried, std::uint64_t seed) {
    Rng rng(seed);
    for (int n = 0; n < 6; ++n) {
        NodeSpec spec = testing::random_node(rng);
        spec.cpu = MilliCpu(spec.cpu.value() + 8'000);
        NodeState& node = tried.world.add(spec);
        tried.nodes.push_back(&node);
        for (std::uint64_t pods = rng.below(20); pods > 0 && node.gpu_count > 0; --pods) {
            const auto gpu = static_cast<int>(rng.below(node.gpu_count));
            const GpuState& device = node.gpus[static_cast<std::size_t>(gpu)];
            const int milli = testing::any_of(rng, {1, 100, 300, 500, 1000});
            if (device.free_slots > 0 && (milli < 1000 || device.empty()) &&
                device.idle_milli >= milli) {
                tried.world.take(node, gpu, milli, static_cast<std::int64_t>(rng.below(5'000)));
            }
        }
    }
    for (int i = 0; i < 40; ++i) {
        tried.classes.push_back(tried.world.intern(testing::random_demand(rng)));
    }
    const Catalog catalog = tried.world.catalog();
    tried.scorer.emplace(std::make_shared<const Potential>(random_potential(rng, catalog)),
                         catalog);
}

// Calls check(tried, node, class) for every class on every node that it fits.
template <class Check>
int each_fit(std::uint64_t seeds, Check check) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= seeds && !::testing::Test::HasFatalFailure(); ++seed) {
        SCOPED_TRACE(seed);
        Tried tried;
        make(tried, seed);
        for (const NodeState* node : tried.nodes) {
            for (const ClassIndex c : tried.classes) {
                if (fits(*node, tried.world[c], tried.world.catalog())) {
                    check(tried, *node, c);
                    ++count;
                }
            }
        }
    }
    return count;
}

TEST(TesseraScorerProperty, KeyIsWhatTheChosenDevicesCost) {
    const int count = each_fit(60, [](const Tried& tried, const NodeState& node, ClassIndex c) {
        const DeviceList devices = TestWorld::chosen(*tried.scorer, node, c);
        ASSERT_EQ(devices.size(), tried.world[c].gpus);
        ASSERT_EQ(TestWorld::key(*tried.scorer, node, c),
                  expected_key(node, floored(tried.gain(node, c, devices))))
            << "footprint " << static_cast<int>(tried.world[c].footprint);
    });
    EXPECT_GT(count, 1'000);
}

TEST(TesseraScorerProperty, AShareGoesToTheFirstOfTheBestDevices) {
    const int count = each_fit(60, [](const Tried& tried, const NodeState& node, ClassIndex c) {
        const DemandClass& wanted = tried.world[c];
        if (wanted.footprint != Footprint::share || wanted.admin_access) {
            return;
        }
        const DeviceMask mask = fitting_devices(node, wanted, tried.world.catalog());
        int best = -1;
        std::int64_t best_score = 0;
        for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
            if ((mask >> gpu & 1U) == 0) {
                continue;
            }
            const std::int64_t score =
                floored(tried.gain(node, c, {GpuIndex(static_cast<std::uint8_t>(gpu))}));
            if (best < 0 || score > best_score) {
                best = gpu;
                best_score = score;
            }
        }
        ASSERT_EQ(TestWorld::chosen(*tried.scorer, node, c),
                  DeviceList{GpuIndex(static_cast<std::uint8_t>(best))});
        ASSERT_EQ(TestWorld::key(*tried.scorer, node, c), expected_key(node, best_score));
    });
    EXPECT_GT(count, 500);
}

TEST(TesseraScorerProperty, ExplanationSumsToTheGain) {
    each_fit(30, [](const Tried& tried, const NodeState& node, ClassIndex c) {
        double sum = 0;
        for (const TermValue& term : tried.scorer->explain(node, c)) {
            sum += term.value;
        }
        const DeviceList devices = TestWorld::chosen(*tried.scorer, node, c);
        ASSERT_NEAR(sum * static_cast<double>(kUnit),
                    static_cast<double>(tried.gain(node, c, devices)), 1e-3);
    });
}

TEST(TesseraScorerProperty, LittleIdleThenOlderNodesWinTies) {
    Tried tried;
    make(tried, 1);
    const auto tie = [&](std::int32_t idle, std::uint64_t start) {
        NodeState node;
        node.idle_value = idle;
        node.oldest_start = start;
        return tried.scorer->tie(node);
    };
    EXPECT_GT(tie(0, 5), tie(0, 6));
    EXPECT_GT(tie(0, 6), tie(0, kNeverStarted));  // no GPU pod: last
    EXPECT_EQ(tie(0, std::uint64_t{1} << 40), tie(0, kNeverStarted));
    EXPECT_EQ(tie(0, 5), tie(199, 5));  // steps of 200 milli
    EXPECT_GT(tie(199, kNeverStarted), tie(200, 5));
    EXPECT_EQ(tie(255 * 200, kNeverStarted), 0U);
}

}  // namespace
}  // namespace tessera
