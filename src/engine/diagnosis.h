// Why a class does not fit: node by node and GPU by GPU, counted.
//
//   Refusal why = diagnose(cluster, placer.classes(), asked, {.policy = &placer.policy()});
//
// The verdict of a node equals the engine's own: a node without a reason is one where the class
// fits. What would make it fit is found by fixes.h. Cost: a few looks at each node, and none of it
// is on the way of a decision.
#pragma once

#include <cstdint>

#include "engine/cluster.h"
#include "engine/fixes.h"
#include "model/decision.h"
#include "model/demand_class.h"
#include "policy/catalog.h"

namespace tessera {

struct NodeVerdict {
    RefusalSet reasons;                                   // empty: the class fits
    RefusalCode first = RefusalCode::node_unschedulable;  // of the reasons, the one that counts

    bool fits() const { return reasons.empty(); }
};

// `placed` is the class as the policy places it (Policy::adapt).
NodeVerdict judge(const Cluster& cluster, const Catalog& catalog, NodeIndex node,
                  const DemandClass& placed);

// Counts over all nodes that do not fit. Fixes only when none does: `asked` is the class before
// the policy adapted it.
Refusal diagnose(const Cluster& cluster, const ClassTable& classes, const DemandClass& asked,
                 const DiagnosisOptions& options = {});

// Whether `size` equal pods fit together, and which refusal it is when they do not.
struct GangVerdict {
    bool fits = false;
    RefusalCode code = RefusalCode::gang_incomplete;
    std::int64_t members_now = 0;    // that fit now, up to the size
    std::int64_t members_empty = 0;  // that would fit on the empty cluster
};
GangVerdict judge_gang(const Cluster& cluster, const Catalog& catalog, const DemandClass& placed,
                       std::int64_t size);

}  // namespace tessera
