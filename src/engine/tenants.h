// What a door knows of those who hold shares, for decisions about who gives way to whom.
//
// The ledger knows what is held and who is terminating; everything else about a pod is the door's:
// its priority, whether it may be evicted, which disruption budgets cover it, whether its gang goes
// with it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/strong_id.h"
#include "engine/owner.h"
#include "model/demand.h"
#include "model/ids.h"

namespace tessera {

using BudgetIndex = StrongId<struct BudgetTag>;  // a disruption budget, dense, given out by a door

// Why somebody is not evicted. The door says the first ones, the rest follows from what is known.
enum class Stay : std::uint8_t {
    no,         // it may go
    never,      // it is never preempted
    too_young,  // its minimum run time is not over
    binding,    // a write about it is under way
    node_own,   // the node runs it by itself (a mirror pod)
    important,  // it is at least as important as the pod that asks
    own_gang,   // of the gang of the pod that asks
    gang,       // it would take its gang with it, of which somebody stays
    foreign,    // others placed it
    claim,      // a device claim, which its users share
};
inline constexpr std::size_t kStays = 10;
inline constexpr std::array<std::string_view, kStays> kStayNames{
    "MayGo",     "NeverPreempted", "TooYoung",   "Binding", "OfTheNode",
    "Important", "OwnGang",        "GangMember", "Foreign", "Claim"};

// Larger gives way to nobody who is smaller: the service class first (an opportunistic pod gives
// way to any other), then the priority. Never negative.
constexpr std::int64_t importance_of(ServiceClass service, std::int32_t priority) {
    const std::int64_t base = service == ServiceClass::opportunistic ? 0 : std::int64_t{1} << 32;
    return base + priority + (std::int64_t{1} << 31);
}

struct Tenant {
    std::int32_t priority = 0;
    ServiceClass service = ServiceClass::guaranteed;
    Stay stay = Stay::no;
    GroupIndex gang{};  // whose members go all together; none: it goes alone
    std::span<const BudgetIndex> budgets = {};  // that cover it

    std::int64_t importance() const { return importance_of(service, priority); }
};

class Tenants {
  public:
    // Asked of pods that hold a share and are not terminating.
    virtual Tenant tenant(OwnerId pod) const = 0;
    // Of a gang that goes whole, on whatever nodes; those who hold nothing are passed over.
    virtual std::span<const OwnerId> members(GroupIndex gang) const = 0;
    // How many more pods the budget lets go now.
    virtual std::int32_t disruptions_allowed(BudgetIndex budget) const = 0;
    // Whether the node serves the pod that asks by all rules that the engine does not know, if
    // these were gone.
    virtual bool serves(NodeIndex node, std::span<const OwnerId> gone) const = 0;

  protected:
    ~Tenants() = default;
};

}  // namespace tessera
