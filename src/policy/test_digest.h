// All that a policy decides by, in one number: keys, ties, devices and the terms of its scores.
//
// Decisions are equal between compilers and machines. Each of them must find the digests below in
// the same worlds; one that differs has rounded something else, or folded a constant another way.
// Who changes a policy on purpose puts the new digest here.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/hash.h"
#include "base/rng.h"
#include "policy/assignment.h"
#include "policy/registry.h"
#include "policy/tessera/gap_value.h"
#include "policy/test_random.h"

namespace tessera::testing {

// Nodes in use, and classes that arrive.
struct DigestWorld {
    explicit DigestWorld(Rng& rng) {
        for (int n = 0; n < 6; ++n) {
            NodeSpec spec = plain_node(rng);
            spec.cpu = MilliCpu(spec.cpu.value() + 8'000);
            spec.memory = MemoryMib(spec.memory.value() + 32'768);
            nodes.push_back(&world.add(spec));
            occupy(rng, world, *nodes.back());
        }
        for (int c = 0; c < 24; ++c) {
            classes.push_back(world.intern(plain_demand(rng)));
            mix.push_back({world[classes.back()], 1 + static_cast<std::int64_t>(rng.below(9))});
        }
    }

    TestWorld world;
    std::vector<NodeState*> nodes;
    std::vector<ClassIndex> classes;
    std::vector<ClassCount> mix;
};

class DigestCensus final : public Census {
  public:
    explicit DigestCensus(const DigestWorld& known) : known_(known) {}
    std::int64_t hosts(ClassIndex demand_class) const override {
        std::int64_t count = 0;
        for (const NodeState* node : known_.nodes) {
            const DemandClass& wanted = known_.world[demand_class];
            count += fits(*node, wanted, known_.world.catalog()) ? 1 : 0;
        }
        return count;
    }

  private:
    const DigestWorld& known_;
};

inline void add_scores(const Scorer& scorer, const DigestWorld& known, Hash& digest) {
    for (const NodeState* node : known.nodes) {
        digest.add(scorer.tie(*node));
        for (const ClassIndex wanted : known.classes) {
            if (!fits(*node, known.world[wanted], known.world.catalog())) {
                continue;
            }
            digest.add(TestWorld::key(scorer, *node, wanted));
            for (const TermValue& term : scorer.explain(*node, wanted)) {
                digest.add(std::bit_cast<std::uint64_t>(term.value));
            }
            if (known.world[wanted].wants_gpu()) {
                for (const GpuIndex gpu : TestWorld::chosen(scorer, *node, wanted)) {
                    digest.add(gpu.value());
                }
            }
        }
    }
}

// At the start, and after enough arrivals that one that learns has learnt.
inline std::uint64_t score_digest(std::string_view name) {
    Hash digest;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Rng rng(seed);
        DigestWorld known(rng);
        const Catalog catalog = known.world.catalog();
        const auto policy = make_policy(name, {.mix = known.mix});
        TESSERA_ASSERT(policy.has_value(), "a shipped policy");
        for (ClassIndex& wanted : known.classes) {
            wanted = known.world.intern((*policy)->adapt(known.world[wanted]));
        }
        std::shared_ptr<const Scorer> scorer = (*policy)->scorer(catalog);
        add_scores(*scorer, known, digest);
        for (int arrival = 0; arrival < 400; ++arrival) {
            const ClassIndex wanted = known.classes[rng.below(known.classes.size())];
            (*policy)->arrived(wanted);
            if (one_in(rng, 3)) {
                (*policy)->departed(wanted);
            }
            PolicyUpdate update = (*policy)->update(catalog, DigestCensus(known));
            scorer = update.scorer != nullptr ? std::move(update.scorer) : scorer;
        }
        add_scores(*scorer, known, digest);
    }
    return digest.value();
}

inline std::uint64_t gap_digest() {
    Hash digest;
    Rng rng(7);
    for (int mix = 0; mix < 40; ++mix) {
        std::vector<SizeDemand> sizes;
        for (std::uint64_t n = rng.below(12); n > 0; --n) {
            sizes.push_back(
                {1 + static_cast<int>(rng.below(999)), static_cast<double>(1 + rng.below(1'000))});
        }
        for (const double value : gap_values(sizes)) {
            digest.add(std::bit_cast<std::uint64_t>(value));
        }
    }
    return digest.value();
}

struct KnownDigest {
    std::string_view policy;
    std::uint64_t digest;
};
inline constexpr std::uint64_t kGapDigest = 0x2f0348255a9618a3;
inline constexpr auto kScoreDigests = std::to_array<KnownDigest>({
    {"tessera", 0x6c5185d4c142c2e0},        {"fgd", 0x8bd6e5f63cef4ae4},
    {"fgd-published", 0x9228dc88d1e19ba0},  {"binpack", 0xbc889f96a764a8f0},
    {"spread", 0x72501d634712d037},         {"random", 0xac603511263a5ec8},
    {"bestfit", 0xe4b85a62452006a5},        {"bestfit-memory", 0xb9c1fdc8c834399e},
    {"dotprod", 0x174e95897c09933f},        {"clustering", 0xddb0af40bde649ab},
    {"packing", 0xd72acea12c2bf792},        {"gpushare", 0x481a7ef28572c82c},
    {"kubeshare", 0x1a39b862971b2b53},      {"elastic-binpack", 0x526d1a09eb3a1d16},
    {"elastic-spread", 0xc162a458d93fb1c5}, {"elastic-random", 0x69b0c8630ec7060b},
    {"keti", 0x2928abf46c192652},           {"least-loaded", 0x6aeaff1f7b6ce528},
    {"exclusive", 0x63fc810df85cb9c6},
});

}  // namespace tessera::testing
