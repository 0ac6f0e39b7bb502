// Scorer: one epoch of a policy, immutable and pure.
//
// A scorer turns (node state, class) into a key; the engine keeps the keys and reads the best.
// Because a key depends on nothing else, a change of one node refreshes that node's keys only.
// A policy author writes a scorer (or, more often, terms for one) and never meets the index.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/demand_class.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/topology.h"

namespace tessera {

// Larger is better. 0 means "does not fit" and is never given to a node that does.
using Key = std::uint32_t;
inline constexpr std::int64_t kKeyOffset = std::int64_t{1} << 31;
// The key of a score of any sign; scores beyond 2^31 in size are equal.
constexpr Key key_of(std::int64_t score) {
    return static_cast<Key>(std::clamp(score + kKeyOffset, std::int64_t{1}, 2 * kKeyOffset - 1));
}
// Decides between nodes of equal key, whatever the class; larger is better. Of nodes that are equal
// in this too, the one added first wins.
using Tie = std::uint64_t;

// One part of a score, in the policy's own unit, for people.
struct TermValue {
    std::string_view name;
    double value = 0;
};

// The devices for each request of a class, request by request.
using DeviceList = std::vector<GpuIndex>;

// How the engine picks among the nodes that fit.
enum class Selection : std::uint8_t {
    best,         // largest key, first node on ties
    second_best,  // the one behind it; the best where it is the only one
    uniform,      // any, by the engine's seeded draw
};

// How far each device of a node is from the devices that the pod's group holds: the mean distance
// in thousandths (model/cell_distance.h).
using GroupDistances = std::array<std::int64_t, kMaxGpusPerNode>;

// The whole score of a pod whose group has members placed already, for policies that keep a group
// together. This is no function of one node's state: no index serves it, and the engine asks it of
// every node that fits. It asks only where a member is placed; for all other pods the scorer
// decides.
class GroupTerm {
  public:
    // False for a class whose score the group does not change.
    virtual bool concerns(ClassIndex demand_class) const = 0;
    // As the scorer's functions of the same names.
    virtual Key score(const NodeState& node, ClassIndex demand_class,
                      const GroupDistances& distances) const = 0;
    virtual void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                        const GroupDistances& distances, DeviceList& devices) const = 0;
    virtual std::vector<TermValue> explain(const NodeState& node, ClassIndex demand_class,
                                           const GroupDistances& distances) const = 0;

  protected:
    ~GroupTerm() = default;
};

class Scorer {
  public:
    virtual ~Scorer() = default;

    virtual Selection selection() const { return Selection::best; }

    // No key is larger. The engine keeps keys in half the memory where they are below 2^16, which
    // makes it faster by a third where there are many classes.
    virtual Key largest_key() const { return std::numeric_limits<Key>::max(); }

    // Keys of `classes`, all of which fit on `node`.
    virtual void score(const NodeState& node, std::span<const ClassIndex> classes,
                       std::span<Key> keys) const = 0;

    virtual Tie tie(const NodeState&) const { return 0; }

    // How nodes are compared where scores are equal or nearly so, as a sentence.
    virtual std::string order() const { return "of equal scores the node added first wins"; }

    // Which devices the class takes on `node`, where it fits. `draw` is a random number of this
    // decision, for policies that choose by lot.
    virtual void choose(const NodeState& node, ClassIndex demand_class, const LinkMatrix& links,
                        std::uint64_t draw, DeviceList& devices) const = 0;

    // The parts of the score, for explain. They sum to what the key was made from.
    virtual std::vector<TermValue> explain(const NodeState& node,
                                           ClassIndex demand_class) const = 0;

    // None: where the members of a group are makes no difference.
    virtual const GroupTerm* group_term() const { return nullptr; }
};

}  // namespace tessera
