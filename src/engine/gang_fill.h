// Fills nodes with the members of a gang, close together: the inner part of plan_gang().
//
// Every node has room for so many members of a class. Where one node, or one domain of the next
// level, has room for all that are left, the fullest such is taken; else the one with the most
// room, and then the next. Those where members are already come first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/gang_placement.h"
#include "engine/gang_room.h"
#include "engine/statement.h"

namespace tessera {

// Members whose alternatives are the same classes.
struct GangPeers {
    std::vector<ClassIndex> classes;
    std::vector<std::size_t> members;  // into the ask's, in its order
};

class GangFill {
  public:
    GangFill(Engine& engine, PolicySlot policy, const GangAsk& ask);

    std::span<const GangPeers> peers() const { return peers_; }
    // Members that hold shares on the node, those placed here included.
    std::int32_t near(NodeIndex node) const { return near_[node.slot()]; }
    std::size_t running() const { return running_; }
    const std::vector<GangSeat>& seats() const { return seats_; }

    // By node, for as many of the waiting members as it has room for, each class by itself: no more
    // of them fit there. And for how many if there were any number of them.
    struct Room {
        std::int64_t members = 0;
        std::int64_t any_number = 0;
    };
    std::vector<Room> rooms();
    // Whether that is exact: place_near() then places as many as anything else would.
    bool exact() const;

    // As many as fit on the nodes of a domain of this level. Level 0 is a node; domains of the
    // levels below are kept together.
    void place_near(std::span<const NodeIndex> nodes, std::size_t level);
    // The same, each member where the policy likes it best.
    enum class Order : std::uint8_t { largest_first, smallest_first };
    void place_plainly(std::span<const NodeIndex> nodes, Order order);
    void roll_back();

    // A level's domain of a node; none where it has no part in any.
    DomainIndex domain(std::size_t level, NodeIndex node) const;

  private:
    // A node that takes members of a class, or a domain of such nodes.
    struct Site {
        std::int64_t room = 0;
        std::int64_t near = 0;
        Key key = 0;
        Tie tie = 0;
        NodeIndex node;                        // of a domain: its first
        std::vector<std::size_t> leaves = {};  // of a domain, into leaves_; of a node none
    };
    // Members of one class that look for a place by one of their alternatives.
    struct Asked {
        const GangPeers& peers;
        std::size_t alternative = 0;
        ClassIndex demand_class{};
        std::vector<std::size_t> waiting = {};
        std::size_t next = 0;  // of waiting

        std::int64_t left() const { return std::ssize(waiting) - static_cast<std::int64_t>(next); }
    };

    void gather_peers();
    LeastAsked least_asked() const;
    const DemandClass& wanted(ClassIndex one) const { return placer_.classes()[one]; }
    std::vector<std::size_t> waiting(const GangPeers& peers) const;
    void note(const Placement& placement, int sign);

    void find_leaves(std::span<const NodeIndex> nodes, const Asked& asked);
    std::vector<Site> sites_of(std::span<const std::size_t> leaves, std::size_t level) const;
    static bool before(const Site& a, const Site& b);
    static std::size_t next_site(std::span<const Site> sites, std::int64_t count);
    void fill(std::span<const std::size_t> leaves, std::size_t level, Asked& asked,
              std::int64_t count);
    void place_on(NodeIndex node, Asked& asked, std::int64_t count);
    bool place_one(NodeIndex node, std::size_t member, const Asked& asked, std::int64_t together);
    std::optional<Placement> choose(NodeIndex node, const Asked& asked, std::int64_t together);

    Engine& engine_;
    Placer& placer_;
    const GangAsk& ask_;
    Statement statement_;
    Statement::Checkpoint begin_;
    std::vector<GangPeers> peers_;  // the largest first
    std::vector<bool> placed_;      // by member
    std::vector<GangSeat> seats_;
    std::vector<Site> leaves_;
    std::vector<std::int32_t> near_;  // by node
    // How many members share each device, by node.
    std::vector<std::array<std::int16_t, kMaxGpusPerNode>> shared_;
    std::size_t running_ = 0;
};

}  // namespace tessera
