// Which owners belong to which group, and where their devices are.
//
// For scores that keep a group together (GroupTerm in policy/scorer.h). The ledger says what each
// member holds now; a member that holds nothing any more does not count.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ledger.h"
#include "model/ids.h"
#include "model/node.h"

namespace tessera {

// A pod's group, and who in it does not count: the pod itself, where it runs already.
struct GroupOf {
    GroupIndex group{};
    std::uint64_t but_started = kNeverStarted;  // OwnerView::start
};

class GroupMembers {
  public:
    explicit GroupMembers(const Ledger& ledger) : ledger_(ledger) {}

    void join(GroupIndex group, OwnerId owner);
    void leave(GroupIndex group, OwnerId owner);

    // The cell of each device that a member holds (model/cell_distance.h), once per share.
    std::vector<std::string> cells(const GroupOf& asked) const;
    std::size_t memory_bytes() const;

  private:
    struct GroupHash {
        std::size_t operator()(GroupIndex group) const { return group.slot(); }
    };

    const Ledger& ledger_;
    tsl::robin_map<GroupIndex, std::vector<OwnerId>, GroupHash> members_;
};

}  // namespace tessera
