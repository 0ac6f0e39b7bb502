// The ledger's records: owners and their shares, packed, found by owner, by node and by share id.
//
// The ledger (ledger.h) decides; this only remembers. An owner can be detached (found nowhere, its
// record kept) and attached again at the very same places, in reverse order: that is what makes a
// roll back exact.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "engine/owner.h"
#include "engine/slab.h"
#include "model/gpu.h"
#include "model/ids.h"
#include "model/placement.h"

namespace tessera {

// One part of one device. 32 bytes: an owner of eight devices has eight of them.
struct ShareRecord {
    std::int64_t memory_mib = 0;
    std::uint32_t owner = kNoSlot;  // its record; kNoSlot = free
    std::uint32_t next = kNoSlot;   // of the same owner
    std::uint32_t generation = 0;   // of the slot: tells a share from its predecessors
    std::uint32_t spare = kNoSlot;  // amounts in a driver's own units are rare, so kept apart
    RequestIndex request;
    std::int16_t milli = 0;
    GpuIndex gpu;
};
static_assert(sizeof(ShareRecord) == 32);

struct OwnerRecord {
    struct Link {
        std::uint32_t before = kNoSlot;
        std::uint32_t after = kNoSlot;
    };

    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::uint64_t start = 0;
    Nanoseconds deadline;
    OwnerId id;
    NodeIndex node;
    std::uint32_t first_share = kNoSlot;
    std::uint32_t shares = 0;
    Link on_node;
    Link timed;  // among those with a deadline
    OwnerState state = OwnerState::assumed;
    Health tolerates = Health::ok;
    std::uint8_t pods = 0;
    std::uint8_t alternative = 0;
    bool admin_access = false;
    bool has_deadline = false;
    bool attached = false;
};

class OwnerStore {
  public:
    void add_node() { first_on_node_.push_back(kNoSlot); }

    // kNoSlot when unknown.
    std::uint32_t find(OwnerId owner) const {
        const auto& slots = slot_of_[static_cast<std::size_t>(owner.kind())];
        return owner.index() < slots.size() ? slots[owner.index()] : kNoSlot;
    }
    const OwnerRecord& operator[](std::uint32_t slot) const { return owners_[slot]; }

    // A new record with its shares, found nowhere yet.
    std::uint32_t create(OwnerId owner, const Placement& placement);
    void attach(std::uint32_t slot);
    void detach(std::uint32_t slot);
    // Of a detached owner. The share ids end with it.
    void destroy(std::uint32_t slot);
    // Of a detached owner, the last created: as if it had never been, share ids included.
    void uncreate(std::uint32_t slot);

    // What an owner may change while it is there. A deadline puts it among the timed.
    void set_terms(std::uint32_t slot, std::uint64_t start, Health tolerates);
    void set_state(std::uint32_t slot, OwnerState state) { owners_[slot].state = state; }
    void set_alternative(std::uint32_t slot, std::uint8_t alternative) {
        owners_[slot].alternative = alternative;
    }
    void set_deadline(std::uint32_t slot, Nanoseconds deadline);
    void clear_deadline(std::uint32_t slot);

    Placement placement(std::uint32_t slot) const;
    DeviceGrant grant(std::uint32_t share) const;
    ShareId share_id(std::uint32_t share) const {
        return ShareId(std::uint64_t{shares_[share].generation} << 32 | share);
    }
    // kNoSlot when that share is no more.
    std::uint32_t find_share(ShareId id) const;
    const ShareRecord& share(std::uint32_t share) const { return shares_[share]; }

    std::uint32_t first_on_node(NodeIndex node) const { return first_on_node_[node.slot()]; }
    std::uint32_t first_timed() const { return first_timed_; }

    // Of those attached.
    std::size_t owners() const { return counts_[0] + counts_[1] + counts_[2]; }
    std::size_t shares() const { return attached_shares_; }
    std::size_t count(OwnerKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
    std::size_t nodes() const { return first_on_node_.size(); }
    std::uint32_t owner_slots() const { return static_cast<std::uint32_t>(owners_.slots()); }
    std::size_t memory_bytes() const;

    // Differences between what is recorded and what a walk over everything finds.
    std::vector<std::string> verify() const;

  private:
    void create_share(std::uint32_t slot, const DeviceGrant& grant, std::uint32_t& last);
    void remove(std::uint32_t slot, bool ids_end);
    void verify_owner(std::uint32_t slot, std::vector<bool>& reached,
                      std::vector<std::string>& differences) const;
    void verify_lists(std::vector<std::string>& differences) const;

    Slab<OwnerRecord> owners_;
    Slab<ShareRecord> shares_;
    Slab<SpareAmounts> spares_;
    std::array<std::vector<std::uint32_t>, kOwnerKinds> slot_of_;
    std::array<std::size_t, kOwnerKinds> counts_{};
    std::size_t attached_shares_ = 0;
    std::vector<std::uint32_t> first_on_node_;
    std::uint32_t first_timed_ = kNoSlot;
};

}  // namespace tessera
