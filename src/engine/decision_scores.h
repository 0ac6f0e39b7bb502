// The scores of one decision: the scorer's own, or with the term of the pod's group.
//
// Whoever decides or explains asks here, so that both see the same scores.
//   DecisionScores scores(scorer, cluster, demand_class);
//   scores.keep_near(members.cells({group}));
//   if (scores.by_group()) { ... every node that fits must be looked at ... }
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cluster.h"
#include "model/cell_distance.h"
#include "policy/scorer.h"

namespace tessera {

class DecisionScores {
  public:
    DecisionScores(const Scorer& scorer, const Cluster& cluster, ClassIndex demand_class)
        : scorer_(scorer), cluster_(cluster), class_(demand_class) {}

    // The cells that the pod's group holds. No effect without any, or where the policy has no term
    // for them.
    void keep_near(std::span<const std::string> cells);
    bool by_group() const { return group_.has_value(); }

    const Cluster& cluster() const { return cluster_; }
    ClassIndex demand_class() const { return class_; }
    Selection selection() const { return scorer_.selection(); }

    // Of a node where the class fits.
    Key key(NodeIndex node) const;
    Tie tie(NodeIndex node) const { return scorer_.tie(cluster_.node(node)); }
    void choose(NodeIndex node, std::uint64_t draw, DeviceList& devices) const;
    std::vector<TermValue> explain(NodeIndex node) const;

  private:
    GroupDistances distances(NodeIndex node) const;

    const Scorer& scorer_;
    const Cluster& cluster_;
    ClassIndex class_;
    std::optional<DistanceToCells> group_;
};

}  // namespace tessera
