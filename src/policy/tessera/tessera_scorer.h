// The scorer of policy `tessera`: placements by what they cost the node's potential.
#pragma once

#include <memory>

#include "policy/catalog.h"
#include "policy/scorer.h"
#include "policy/tessera/potential.h"

namespace tessera {

class TesseraScorer final : public Scorer {
  public:
    TesseraScorer(std::shared_ptr<const Potential> potential, const Catalog& catalog)
        : potential_(std::move(potential)), catalog_(catalog) {}

    void score(const NodeState& node, std::span<const ClassIndex> classes,
               std::span<Key> keys) const override;
    Key largest_key() const override;
    Tie tie(const NodeState& node) const override;
    std::string order() const override;
    void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                std::uint64_t draw, DeviceList& devices) const override;
    std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class) const override;

    const Potential& potential() const { return *potential_; }

    // Phi of a state, device by device: slow and plain, for explain and as the tests' reference.
    std::int64_t plain_potential(const NodeState& node) const;

  private:
    class Evaluation;

    std::int64_t coupled_gain(const NodeState& node, ClassIndex demand_class) const;

    std::shared_ptr<const Potential> potential_;
    Catalog catalog_;
};

}  // namespace tessera
