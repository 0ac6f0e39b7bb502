// What the engine would decide about a demand now, and why, without taking anything.
//
//   Decision why = explain(placer, demand);
//   if (why.placed()) { why.candidates[0].terms ... } else { why.refusal.fixes ... }
//
// The placement is the one that the next choose() would give, its draw included; the draw is not
// used up. Every node is looked at, so this is for people and logs, not for the decision itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cluster.h"
#include "engine/placer.h"
#include "model/decision.h"
#include "model/demand.h"
#include "model/demand_class.h"
#include "model/placement.h"

namespace tessera {

struct ExplainOptions {
    std::size_t runners_up = 3;
    bool keep_whole = false;  // see DiagnosisOptions
    // Another state of the same nodes (a copy with something taken off); null: the placer's own.
    const Cluster* cluster = nullptr;
    GroupOf group{};  // of a class alone; a demand names its own
};

// By the first alternative that fits, as Placer::choose(); when none does, why the first does not.
// Whether devices must stay whole is taken from the demand.
Decision explain(Placer& placer, const Demand& demand, ExplainOptions options = {});
// A class alone. `asked` is the class before the policy adapts it; it is interned.
Decision explain(Placer& placer, const DemandClass& asked, const ExplainOptions& options = {});

// A pod that runs: how its node scores for it now, and where it would go if it came now.
struct RunningReport {
    Placement placement;
    bool fits_here = true;  // it would find room on its node again: health may have changed
    Candidate here{};       // its node, scored without the pod itself; no score if it does not fit
    std::int64_t better = 0;  // nodes that would come before it
    DeviceChoice devices{};   // those it has, as they would be without it
    Decision anew{};          // decided again, the pod taken off
};
RunningReport explain_running(Placer& placer, const Demand& demand, const Placement& placement,
                              std::uint64_t start);

}  // namespace tessera
