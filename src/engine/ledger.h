// The ledger: who holds which part of which node and device.
//
// The life of an owner's share; every arrow is a call, and tests cover each:
//
//                        confirm (adopts what the API tells)
//        +-------------------------------------------------------+
//        |                                                       v
//     unknown --- assume ---> ASSUMED ------- confirm -----> CONFIRMED --+ confirm (again: nothing;
//      ^ ^ ^                   |   |                           |   ^-----+ elsewhere: moves there)
//      | | +-- expire/release -+   +-- terminate --+           |
//      | |                                         v           |
//      | +---------------- release ---------- TERMINATING <-- terminate
//      +------------------ release -----------------------------+
//
// - assume() is ours: it grants only what is free, on devices of the right allocator and health.
// - confirm() is the API's word: it is never refused for want of room. What it brings beyond a
//   device's capacity is recorded exactly, shown as over-committed, and stops nobody.
// - A terminating owner holds its share until release(): its containers may still run.
// - A foreigner is confirmed and released, never assumed. A claim holds its share for its users
//   and outlives them.
// Tentative moves, with roll back, are a Statement's (statement.h). Time is passed in.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "engine/claim_users.h"
#include "engine/cluster.h"
#include "engine/owner.h"
#include "engine/owner_store.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/node.h"
#include "model/placement.h"

namespace tessera {

inline constexpr Nanoseconds kNoDeadline{std::numeric_limits<std::int64_t>::max()};
inline constexpr std::size_t kMaxGrantsPerOwner = 1024;

// Told once per node that a call changed. The index of scores listens.
class NodeObserver {
  public:
    virtual void node_changed(NodeIndex node) = 0;

  protected:
    ~NodeObserver() = default;
};

struct Terms {
    Nanoseconds deadline = kNoDeadline;  // an assumption that is not confirmed ends here
    Health tolerates = Health::ok;       // the worst health of a device that it may go to
};

struct Confirmation {
    enum class Outcome : std::uint8_t {
        confirmed,  // as assumed
        unchanged,  // known already
        adopted,    // not known before
        moved,      // held elsewhere or otherwise until now
    };
    Outcome outcome = Outcome::confirmed;
    NodeIndex from;                // when moved: where it was
    bool over_committed = false;   // its node or one of its devices now holds more than it has
    bool wrong_allocator = false;  // holds a device that another allocator hands out
};

struct OwnerView {
    OwnerId id;
    OwnerState state = OwnerState::assumed;
    NodeIndex node;
    std::uint64_t start = 0;  // sequence of arrival in the ledger
    Nanoseconds deadline = kNoDeadline;
    Health tolerates = Health::ok;
};

struct ShareView {
    ShareId id;
    OwnerId owner;
    DeviceGrant grant;
    bool admin_access = false;  // use without occupying
};

struct OverCommitment {
    NodeIndex node;
    GpuIndex gpu;  // none(): the node's cores, memory or pods

    friend bool operator==(const OverCommitment&, const OverCommitment&) = default;
};

class Ledger {
  public:
    explicit Ledger(Cluster cluster = Cluster());

    // The observer outlives the ledger or is replaced; nullptr for none.
    void observe(NodeObserver* observer) { observer_ = observer; }
    const Cluster& cluster() const { return cluster_; }

    Expected<NodeIndex> add_node(NodeSpec spec);
    Expected<void> update_node(NodeIndex node, NodeSpec spec);
    Expected<void> remove_node(NodeIndex node);
    Expected<void> set_health(NodeIndex node, GpuIndex gpu, Health health);

    // An error leaves everything as it was; "conflict" when the room, the health or the allocator
    // forbids it now.
    Expected<void> assume(OwnerId owner, const Placement& placement, const Terms& terms = {});
    Expected<Confirmation> confirm(OwnerId owner, const Placement& placement,
                                   const Terms& terms = {});
    Expected<void> terminate(OwnerId owner);
    Expected<void> release(OwnerId owner);
    // Ends the assumptions whose deadline has come; returns them, oldest first.
    std::vector<OwnerId> expire(Nanoseconds now);
    // Only an assumed owner has a deadline (kNoDeadline: it waits for ever).
    Expected<void> set_deadline(OwnerId owner, Nanoseconds deadline);

    // A pod need not be in the ledger to use a claim. Both are idempotent.
    Expected<void> add_user(OwnerId claim, OwnerId pod);
    Expected<void> drop_user(OwnerId claim, OwnerId pod);

    bool knows(OwnerId owner) const { return owner.valid() && store_.find(owner) != kNoSlot; }
    std::optional<OwnerView> find(OwnerId owner) const;
    std::optional<Placement> placement(OwnerId owner) const;
    // What one request (container) of an owner holds.
    Grants grants(OwnerId owner, RequestIndex request) const;
    std::optional<ShareView> share(ShareId id) const;
    std::vector<ShareView> shares(OwnerId owner) const;
    // Users of devices included that occupy nothing (admin_access). Newest owner first.
    std::vector<ShareView> shares_on(NodeIndex node) const;
    std::vector<ShareView> shares_on(NodeIndex node, GpuIndex gpu) const;
    // On devices whose health is `evict`, of owners who do not tolerate it.
    std::vector<ShareView> shares_to_evict(NodeIndex node) const;
    std::vector<OwnerId> owners_on(NodeIndex node) const;  // newest first
    std::vector<OwnerId> owners() const;                   // in no particular order
    std::span<const OwnerId> users(OwnerId claim) const { return users_.users(claim); }
    std::span<const OwnerId> claims_of(OwnerId pod) const { return users_.claims(pod); }

    std::size_t size() const { return store_.owners(); }
    std::size_t count(OwnerKind kind) const { return store_.count(kind); }
    std::size_t share_count() const { return store_.shares(); }

    // The alarm: what is held beyond capacity. Empty when all is well, and then at no cost.
    std::vector<OverCommitment> over_committed() const;

    // Computes everything anew from the shares alone; each difference is a sentence.
    std::vector<std::string> verify() const;
    std::size_t memory_bytes() const;  // without the cluster's

  private:
    friend class Statement;

    struct JournalEntry {
        enum class Move : std::uint8_t { assumed, released, user_added, user_dropped };
        Move move;
        std::uint32_t slot = kNoSlot;  // assumed, released
        OwnerId claim;                 // user_added, user_dropped
        OwnerId pod;
    };

    Expected<void> check(OwnerId owner, const Placement& placement) const;
    Expected<void> check_devices(OwnerId owner, const Placement& placement, Health worst) const;
    bool wrong_allocator(OwnerId owner, const Placement& placement) const;
    bool over_committed(const Placement& placement) const;
    bool holds_as(std::uint32_t slot, const Placement& placement) const;
    ShareView view(std::uint32_t share) const;

    // What the calls above and a Statement's have in common; noted while a statement is open.
    Expected<void> do_assume(OwnerId owner, const Placement& placement, const Terms& terms);
    Expected<void> do_release(OwnerId owner);
    Expected<void> do_add_user(OwnerId claim, OwnerId pod);
    Expected<void> do_drop_user(OwnerId claim, OwnerId pod);

    struct Entry {
        OwnerState state = OwnerState::assumed;
        std::uint64_t start = 0;
    };
    std::uint32_t insert(OwnerId owner, const Placement& placement, const Terms& terms,
                         Entry entry);
    void take_out(std::uint32_t slot);  // the record stays
    void take_back(std::uint32_t slot);
    void remove(std::uint32_t slot);
    bool drop_uses(OwnerId owner);
    void note(const JournalEntry& entry);
    void require_no_statement() const;

    void undo(const JournalEntry& entry);
    void roll_back(std::size_t mark);
    void finish_journal();

    void changed(NodeIndex node) {
        if (observer_ != nullptr) {
            observer_->node_changed(node);
        }
    }
    void tell_changed();

    Cluster cluster_;
    OwnerStore store_;
    ClaimUsers users_;
    NodeObserver* observer_ = nullptr;
    std::uint64_t next_start_ = 0;
    std::vector<JournalEntry> journal_;
    std::uint32_t statements_ = 0;    // open ones, nested
    std::vector<NodeIndex> touched_;  // by a call that changes many; emptied by tell_changed()
};

}  // namespace tessera
