#include "engine/owner_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "engine/device.h"

namespace tessera {
namespace {

// Doubly linked lists threaded through the records. An unlinked record keeps its neighbours, so
// that relinking in reverse order puts it back where it was.
template <OwnerRecord::Link OwnerRecord::* kLink>
struct Thread {
    static void link_first(Slab<OwnerRecord>& owners, std::uint32_t& first, std::uint32_t slot) {
        owners[slot].*kLink = {.before = kNoSlot, .after = first};
        relink(owners, first, slot);
    }
    static void relink(Slab<OwnerRecord>& owners, std::uint32_t& first, std::uint32_t slot) {
        const OwnerRecord::Link link = owners[slot].*kLink;
        (link.before == kNoSlot ? first : (owners[link.before].*kLink).after) = slot;
        if (link.after != kNoSlot) {
            (owners[link.after].*kLink).before = slot;
        }
    }
    static void unlink(Slab<OwnerRecord>& owners, std::uint32_t& first, std::uint32_t slot) {
        const OwnerRecord::Link link = owners[slot].*kLink;
        (link.before == kNoSlot ? first : (owners[link.before].*kLink).after) = link.after;
        if (link.after != kNoSlot) {
            (owners[link.after].*kLink).before = link.before;
        }
    }
};
using NodeThread = Thread<&OwnerRecord::on_node>;
using TimedThread = Thread<&OwnerRecord::timed>;

}  // namespace

std::uint32_t OwnerStore::create(OwnerId owner, const Placement& placement) {
    const std::uint32_t slot = owners_.take();
    OwnerRecord& record = owners_[slot];
    record = {};
    record.id = owner;
    record.node = placement.node;
    record.cpu_milli = placement.cpu.value();
    record.memory_mib = placement.memory.value();
    record.pods = placement.pods;
    record.alternative = placement.alternative;
    record.admin_access = placement.admin_access;
    // Where a first attach() puts it: in front.
    record.on_node.after = first_on_node_[placement.node.slot()];
    std::uint32_t last = kNoSlot;
    for (const DeviceGrant& grant : placement.grants) {
        create_share(slot, grant, last);
    }
    return slot;
}

void OwnerStore::create_share(std::uint32_t slot, const DeviceGrant& grant, std::uint32_t& last) {
    const std::uint32_t at = shares_.take();
    ShareRecord& share = shares_[at];
    share.owner = slot;
    share.next = kNoSlot;
    share.request = grant.request;
    share.gpu = grant.gpu;
    share.milli = static_cast<std::int16_t>(grant.milli.value());
    share.memory_mib = grant.memory.value();
    share.spare = kNoSlot;
    if (any(grant.spare)) {
        share.spare = spares_.take();
        spares_[share.spare] = grant.spare;
    }
    (last == kNoSlot ? owners_[slot].first_share : shares_[last].next) = at;
    last = at;
    ++owners_[slot].shares;
}

void OwnerStore::attach(std::uint32_t slot) {
    OwnerRecord& record = owners_[slot];
    auto& slots = slot_of_[static_cast<std::size_t>(record.id.kind())];
    if (record.id.index() >= slots.size()) {
        slots.resize(record.id.index() + std::size_t{1}, kNoSlot);
    }
    TESSERA_ASSERT(slots[record.id.index()] == kNoSlot && !record.attached,
                   "an owner is recorded once");
    slots[record.id.index()] = slot;
    record.attached = true;
    attached_shares_ += record.shares;
    ++counts_[static_cast<std::size_t>(record.id.kind())];
    NodeThread::relink(owners_, first_on_node_[record.node.slot()], slot);
    if (record.has_deadline) {
        TimedThread::relink(owners_, first_timed_, slot);
    }
}

void OwnerStore::detach(std::uint32_t slot) {
    OwnerRecord& record = owners_[slot];
    TESSERA_ASSERT(record.attached, "only an owner that is there can leave");
    record.attached = false;
    attached_shares_ -= record.shares;
    slot_of_[static_cast<std::size_t>(record.id.kind())][record.id.index()] = kNoSlot;
    --counts_[static_cast<std::size_t>(record.id.kind())];
    if (record.has_deadline) {
        TimedThread::unlink(owners_, first_timed_, slot);
    }
    NodeThread::unlink(owners_, first_on_node_[record.node.slot()], slot);
}

void OwnerStore::destroy(std::uint32_t slot) { remove(slot, true); }
void OwnerStore::uncreate(std::uint32_t slot) { remove(slot, false); }

// Slots go back in the reverse order of create(), see Slab.
void OwnerStore::remove(std::uint32_t slot, bool ids_end) {
    OwnerRecord& record = owners_[slot];
    TESSERA_ASSERT(!record.attached, "a record ends after its owner left");
    InlineVector<std::uint32_t, 16> chain;
    for (std::uint32_t at = record.first_share; at != kNoSlot; at = shares_[at].next) {
        chain.push_back(at);
    }
    TESSERA_ASSERT(chain.size() == record.shares, "no share is lost or doubled");
    while (!chain.empty()) {
        ShareRecord& share = shares_[chain.back()];
        if (share.spare != kNoSlot) {
            spares_.give(share.spare);
        }
        share.owner = kNoSlot;
        share.generation += ids_end ? 1 : 0;
        shares_.give(chain.back());
        chain.pop_back();
    }
    record.id = OwnerId::none();
    owners_.give(slot);
}

void OwnerStore::set_terms(std::uint32_t slot, std::uint64_t start, Health tolerates) {
    owners_[slot].start = start;
    owners_[slot].tolerates = tolerates;
}

void OwnerStore::set_deadline(std::uint32_t slot, Nanoseconds deadline) {
    OwnerRecord& record = owners_[slot];
    TESSERA_ASSERT(record.attached, "only an owner that is there can expire");
    if (!record.has_deadline) {
        TimedThread::link_first(owners_, first_timed_, slot);
    }
    record.has_deadline = true;
    record.deadline = deadline;
}

void OwnerStore::clear_deadline(std::uint32_t slot) {
    OwnerRecord& record = owners_[slot];
    if (record.has_deadline) {
        TimedThread::unlink(owners_, first_timed_, slot);
    }
    record.has_deadline = false;
    record.deadline = {};
}

DeviceGrant OwnerStore::grant(std::uint32_t share) const {
    const ShareRecord& record = shares_[share];
    DeviceGrant grant;
    grant.request = record.request;
    grant.gpu = record.gpu;
    grant.milli = MilliGpu(record.milli);
    grant.memory = MemoryMib(record.memory_mib);
    if (record.spare != kNoSlot) {
        grant.spare = spares_[record.spare];
    }
    return grant;
}

Placement OwnerStore::placement(std::uint32_t slot) const {
    const OwnerRecord& record = owners_[slot];
    Placement placement;
    placement.node = record.node;
    placement.cpu = MilliCpu(record.cpu_milli);
    placement.memory = MemoryMib(record.memory_mib);
    placement.pods = record.pods;
    placement.alternative = record.alternative;
    placement.admin_access = record.admin_access;
    placement.grants.reserve(record.shares);
    for (std::uint32_t at = record.first_share; at != kNoSlot; at = shares_[at].next) {
        placement.grants.push_back(grant(at));
    }
    return placement;
}

std::uint32_t OwnerStore::find_share(ShareId id) const {
    const auto slot = static_cast<std::uint32_t>(id.value());
    if (slot >= shares_.slots() || shares_[slot].owner == kNoSlot || share_id(slot) != id ||
        !owners_[shares_[slot].owner].attached) {
        return kNoSlot;
    }
    return slot;
}

std::size_t OwnerStore::memory_bytes() const {
    std::size_t bytes = owners_.memory_bytes() + shares_.memory_bytes() + spares_.memory_bytes() +
                        first_on_node_.capacity() * sizeof(std::uint32_t);
    for (const auto& slots : slot_of_) {
        bytes += slots.capacity() * sizeof(std::uint32_t);
    }
    return bytes;
}

std::vector<std::string> OwnerStore::verify() const {
    std::vector<std::string> differences;
    std::vector<bool> reached(shares_.slots(), false);
    std::array<std::size_t, kOwnerKinds> counts{};
    for (std::uint32_t slot = 0; slot < owners_.slots(); ++slot) {
        if (owners_[slot].id.valid()) {
            counts[static_cast<std::size_t>(owners_[slot].id.kind())] += owners_[slot].attached;
            verify_owner(slot, reached, differences);
        }
    }
    if (counts != counts_) {
        differences.emplace_back("owners: the counts by kind are wrong");
    }
    const auto held = static_cast<std::size_t>(std::count(reached.begin(), reached.end(), true));
    if (held != shares_.live()) {
        differences.push_back(fmt::format("shares: {} have an owner, {} are live: {} lost", held,
                                          shares_.live(), shares_.live() - held));
    }
    for (std::uint32_t free : shares_.free_slots()) {
        if (reached[free] || shares_[free].owner != kNoSlot) {
            differences.push_back(fmt::format("share slot {}: both free and held", free));
        }
    }
    verify_lists(differences);
    return differences;
}

void OwnerStore::verify_owner(std::uint32_t slot, std::vector<bool>& reached,
                              std::vector<std::string>& differences) const {
    const OwnerRecord& record = owners_[slot];
    if (record.attached && find(record.id) != slot) {
        differences.push_back(fmt::format("{}: not found by its id", describe(record.id)));
    }
    std::uint32_t count = 0;
    for (std::uint32_t at = record.first_share; at != kNoSlot; at = shares_[at].next) {
        if (reached[at] || shares_[at].owner != slot) {
            differences.push_back(
                fmt::format("{}: share slot {} has another owner", describe(record.id), at));
            return;
        }
        reached[at] = true;
        ++count;
    }
    if (count != record.shares) {
        differences.push_back(
            fmt::format("{}: {} shares, {} recorded", describe(record.id), count, record.shares));
    }
}

void OwnerStore::verify_lists(std::vector<std::string>& differences) const {
    std::size_t on_nodes = 0;
    for (std::uint32_t node = 0; node < first_on_node_.size(); ++node) {
        std::uint32_t before = kNoSlot;
        for (std::uint32_t at = first_on_node_[node]; at != kNoSlot && on_nodes <= owners();
             at = owners_[at].on_node.after) {
            const OwnerRecord& record = owners_[at];
            if (!record.attached || record.node.value() != node ||
                record.on_node.before != before) {
                differences.push_back(fmt::format("node {}: its list of owners is broken", node));
            }
            before = at;
            ++on_nodes;
        }
    }
    std::size_t timed = 0;
    for (std::uint32_t at = first_timed_; at != kNoSlot && timed <= owners();
         at = owners_[at].timed.after) {
        if (!owners_[at].attached || !owners_[at].has_deadline) {
            differences.emplace_back("the list of deadlines is broken");
        }
        ++timed;
    }
    std::size_t attached = 0;
    std::size_t with_deadline = 0;
    for (std::uint32_t slot = 0; slot < owners_.slots(); ++slot) {
        const bool live = owners_[slot].id.valid() && owners_[slot].attached;
        attached += live ? 1 : 0;
        with_deadline += live && owners_[slot].has_deadline ? 1 : 0;
    }
    if (attached != on_nodes || with_deadline != timed) {
        differences.push_back(
            fmt::format("owners: {} live and {} with a deadline, lists hold {} and {}", attached,
                        with_deadline, on_nodes, timed));
    }
}

}  // namespace tessera
