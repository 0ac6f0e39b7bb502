// "Would fit if": the nearest single changes that make a class fit, each of them tried.
//
// A change of an amount is the smallest that works; a change of model or of a node constraint, and
// waiting for a GPU, a node or other pods, are counted by where it would fit then. diagnosis.h says
// why it does not.
#pragma once

#include <functional>
#include <vector>

#include "engine/cluster.h"
#include "model/decision.h"
#include "model/demand_class.h"
#include "model/node_filter.h"
#include "policy/catalog.h"
#include "policy/policy.h"

namespace tessera {

struct DiagnosisOptions {
    // How it adapts classes; null: not at all. A fix is a change of what was asked, so it is
    // adapted again before it is tried.
    const Policy* policy = nullptr;
    // The pod wants its GPUs alone: a smaller share of one is no answer.
    bool keep_whole = false;
    bool fixes = true;
    // Whether the devices that the policy picks on a node have the other capacities that the class
    // asks for (SpareAmounts); empty: they are not asked for.
    std::function<bool(NodeIndex)> has_capacity = nullptr;
};

// For a class that fits nowhere; smallest change first. `asked` is the class before the policy
// adapted it. Amounts by how much of them is given up, then other models, then node constraints
// (of the tolerations those that open most nodes), then waiting.
std::vector<Fix> find_fixes(const Cluster& cluster, const Catalog& catalog,
                            const DemandClass& asked, const DiagnosisOptions& options);

// The class with a fix applied, and its filter; each is unchanged by the other's fixes and a wait.
DemandClass apply_fix(DemandClass asked, const Fix& fix);
NodeFilter apply_fix(NodeFilter filter, const Fix& fix);

// Whether some node would do if all were open, empty and well.
bool fits_ever(const Cluster& cluster, const Catalog& catalog, const DemandClass& placed);

// The node with nothing on it.
NodeState emptied(const Cluster& cluster, NodeIndex node);

}  // namespace tessera
