// Random operations on the ledger, each checked against a plain model (ledger_machine.h).
//
// The same interpreter runs what rapidcheck draws, and shrinks when it fails, and a long seeded
// walk of a million steps (of some thousands under the sanitizers, which are slow).
// TESSERA_PROPERTY_SCALE=n makes the walk n times as long.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/ledger_machine.h"
#include "engine/ledger_operations.h"

namespace tessera::reference {
namespace {

#ifdef TESSERA_SANITIZED
constexpr int kWalks = 1;
constexpr int kSteps = 20'000;
#else
constexpr int kWalks = 20;
constexpr int kSteps = 50'000;
#endif

rc::Gen<Op> any_op() {
    const auto kind = rc::gen::map(rc::gen::inRange(0, kKinds),
                                   [](int number) { return static_cast<Kind>(number); });
    return rc::gen::build<Op>(
        rc::gen::set(&Op::kind, kind),
        rc::gen::set(&Op::owner, rc::gen::inRange<std::uint32_t>(0, kOwners)),
        rc::gen::set(&Op::node, rc::gen::inRange<std::uint32_t>(0, kNodes)),
        rc::gen::set(&Op::detail, rc::gen::inRange<std::uint32_t>(0, 100'000)));
}

RC_GTEST_PROP(LedgerProperty, AgreesWithAPlainModel, ()) {
    const auto ops = *rc::gen::container<std::vector<Op>>(any_op());
    Machine machine(*rc::gen::element(1000, 1500));
    for (const Op& op : ops) {
        const std::string fault = machine.step(op);
        if (!fault.empty()) {
            RC_FAIL(fault);
        }
    }
}

TEST(LedgerProperty, AgreesWithAPlainModelOnALongWalk) {
    const char* asked = std::getenv("TESSERA_PROPERTY_SCALE");
    const int scale = std::max(1, asked == nullptr ? 1 : std::atoi(asked));
    std::vector<Kind> lots;
    for (int kind = 0; kind < kKinds; ++kind) {
        lots.insert(lots.end(),
                    static_cast<std::size_t>(kWeights.at(static_cast<std::size_t>(kind))),
                    static_cast<Kind>(kind));
    }
    for (int walk = 0; walk < kWalks * scale; ++walk) {
        Rng rng(static_cast<std::uint64_t>(walk) + 1);
        Machine machine(walk % 2 == 0 ? 1000 : 1500);
        for (int step = 0; step < kSteps; ++step) {
            const Op op{.kind = lots[rng.below(lots.size())],
                        .owner = static_cast<std::uint32_t>(rng.below(kOwners)),
                        .node = static_cast<std::uint32_t>(rng.below(kNodes)),
                        .detail = static_cast<std::uint32_t>(rng.next())};
            const std::string fault = machine.step(op);
            ASSERT_EQ(fault, "") << "walk " << walk << ", step " << step;
        }
    }
}

}  // namespace
}  // namespace tessera::reference
