#include "engine/ledger.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace tessera {
namespace {

bool amount(std::int64_t value, std::int64_t most) { return value >= 0 && value <= most; }

const char* to_string(Health health) {
    return health == Health::ok ? "ok" : health == Health::no_new ? "no_new" : "evict";
}

const char* to_string(AllocatorMode mode) {
    return mode == AllocatorMode::annotation ? "annotations" : "claims";
}

AllocatorMode allocator_of(OwnerId owner) {
    return owner.kind() == OwnerKind::claim ? AllocatorMode::claim : AllocatorMode::annotation;
}

}  // namespace

Ledger::Ledger(Cluster cluster) : cluster_(std::move(cluster)) {
    for (std::size_t node = 0; node < cluster_.size(); ++node) {
        store_.add_node();
    }
}

void Ledger::require_no_statement() const {
    TESSERA_ASSERT(statements_ == 0, "events are served between statements");
}

Expected<NodeIndex> Ledger::add_node(NodeSpec spec) {
    require_no_statement();
    TESSERA_CHECK(cluster_.check(spec));
    const NodeIndex node = cluster_.add_node(std::move(spec));
    store_.add_node();
    changed(node);
    return node;
}

Expected<void> Ledger::update_node(NodeIndex node, NodeSpec spec) {
    require_no_statement();
    if (node.slot() >= cluster_.size()) {
        return fail(ErrorKind::not_found, "node {}: there are {} nodes", node.value(),
                    cluster_.size());
    }
    TESSERA_CHECK(cluster_.check(spec));
    cluster_.update_node(node, std::move(spec));
    changed(node);
    return {};
}

Expected<void> Ledger::remove_node(NodeIndex node) {
    require_no_statement();
    if (node.slot() >= cluster_.size()) {
        return fail(ErrorKind::not_found, "node {}: there are {} nodes", node.value(),
                    cluster_.size());
    }
    cluster_.remove_node(node);
    changed(node);
    return {};
}

Expected<void> Ledger::set_health(NodeIndex node, GpuIndex gpu, Health health) {
    if (node.slot() >= cluster_.size() || gpu.slot() >= cluster_.spec(node).gpus.size()) {
        return fail(ErrorKind::not_found, "GPU {} of node {}: no such device", gpu.value(),
                    node.value());
    }
    NodeSpec spec = cluster_.spec(node);
    spec.gpus[gpu.slot()].health = health;
    return update_node(node, std::move(spec));
}

// What may come from outside, whoever says it.
Expected<void> Ledger::check(OwnerId owner, const Placement& placement) const {
    if (!owner.valid()) {
        return fail(ErrorKind::invalid, "placement: it has no owner");
    }
    if (placement.node.slot() >= cluster_.size()) {
        return fail(ErrorKind::not_found, "{}: node {} is not known, there are {}", describe(owner),
                    placement.node.value(), cluster_.size());
    }
    if (!amount(placement.cpu.value(), kMaxAmount) ||
        !amount(placement.memory.value(), kMaxAmount)) {
        return fail(ErrorKind::invalid, "{}: {} milli-cores and {} MiB, each must be from 0 to {}",
                    describe(owner), placement.cpu.value(), placement.memory.value(), kMaxAmount);
    }
    const bool claim = owner.kind() == OwnerKind::claim;
    if (claim &&
        (placement.pods != 0 || placement.cpu.value() != 0 || placement.memory.value() != 0)) {
        return fail(ErrorKind::invalid,
                    "{}: a claim holds devices only, its pods take cores, memory and pod count",
                    describe(owner));
    }
    if (placement.pods > 1 || (owner.kind() == OwnerKind::pod && placement.pods == 0)) {
        return fail(ErrorKind::invalid, "{}: counts as {} pods, a pod counts as 1", describe(owner),
                    placement.pods);
    }
    if (placement.grants.size() > kMaxGrantsPerOwner) {
        return fail(ErrorKind::invalid, "{}: {} grants, at most {} are accepted", describe(owner),
                    placement.grants.size(), kMaxGrantsPerOwner);
    }
    for (const DeviceGrant& grant : placement.grants) {
        bool good = grant.gpu.slot() < kMaxGpusPerNode &&
                    amount(grant.milli.value(), kWholeGpu.value()) &&
                    amount(grant.memory.value(), kMaxAmount);
        for (std::int64_t spare : grant.spare) {
            good = good && amount(spare, kMaxAmount);
        }
        if (!good) {
            return fail(ErrorKind::invalid,
                        "{}: a grant of {} milli and {} MiB on GPU {}; accepted are 0 to {} milli, "
                        "0 to {} MiB (or other units) and GPUs below {}",
                        describe(owner), grant.milli.value(), grant.memory.value(),
                        grant.gpu.value(), kWholeGpu.value(), kMaxAmount, kMaxGpusPerNode);
        }
        const Device* device = cluster_.device(placement.node, grant.gpu);
        if (device != nullptr && device->shares >= kMaxSharesPerGpu) {
            return fail(ErrorKind::conflict, "{}: GPU {} of node \"{}\" has {} shares already",
                        describe(owner), grant.gpu.value(), cluster_.spec(placement.node).name,
                        device->shares);
        }
    }
    return {};
}

// What our own grants must respect besides room.
Expected<void> Ledger::check_devices(OwnerId owner, const Placement& placement,
                                     Health worst) const {
    const AllocatorMode allocator = allocator_of(owner);
    for (const DeviceGrant& grant : placement.grants) {
        const Device* device = cluster_.device(placement.node, grant.gpu);
        if (device != nullptr && !device->absent() && device->mode == allocator &&
            device->health <= worst) [[likely]] {
            continue;
        }
        const std::string& node = cluster_.spec(placement.node).name;
        if (device == nullptr || device->absent()) {
            return fail(ErrorKind::conflict, "{}: node \"{}\" has {} GPUs, asked is GPU {}",
                        describe(owner), node, cluster_.node(placement.node).gpu_count,
                        grant.gpu.value());
        }
        if (device->mode != allocator) {
            return fail(ErrorKind::conflict,
                        "{}: GPU {} of node \"{}\" is handed out by {}, not by {}", describe(owner),
                        grant.gpu.value(), node, to_string(device->mode), to_string(allocator));
        }
        return fail(
            ErrorKind::conflict, "{}: GPU {} of node \"{}\" has health \"{}\", tolerated is \"{}\"",
            describe(owner), grant.gpu.value(), node, to_string(device->health), to_string(worst));
    }
    return {};
}

Expected<void> Ledger::assume(OwnerId owner, const Placement& placement, const Terms& terms) {
    require_no_statement();
    return do_assume(owner, placement, terms);
}

Expected<void> Ledger::do_assume(OwnerId owner, const Placement& placement, const Terms& terms) {
    TESSERA_CHECK(check(owner, placement));
    if (owner.kind() == OwnerKind::foreign) {
        return fail(ErrorKind::invalid, "{}: what others placed is confirmed, never assumed",
                    describe(owner));
    }
    if (const std::uint32_t known = store_.find(owner); known != kNoSlot) {
        return fail(ErrorKind::conflict, "{}: already {} on node \"{}\"", describe(owner),
                    tessera::to_string(store_[known].state),
                    cluster_.spec(store_[known].node).name);
    }
    TESSERA_CHECK(check_devices(owner, placement, terms.tolerates));
    const NodeIndex node = placement.node;
    if (!cluster_.use(node).present) {
        return fail(ErrorKind::conflict, "{}: node \"{}\" is gone", describe(owner),
                    cluster_.spec(node).name);
    }
    if (!cluster_.fits(placement)) {
        return fail(ErrorKind::conflict, "{}: {}", describe(owner), cluster_.misfit(placement));
    }
    const std::uint32_t over_before = cluster_.use(node).over_gpus;
    const bool node_over_before = cluster_.over_committed(node);
    const std::uint32_t slot =
        insert(owner, placement, terms, {.state = OwnerState::assumed, .start = next_start_++});
    // The invariants of a device (sums within its size, slots, whole means alone) hold after each
    // grant of ours, unless others had broken them before.
    TESSERA_ASSERT((cluster_.use(node).over_gpus & ~over_before) == 0 &&
                       (node_over_before || !cluster_.over_committed(node)),
                   "we never grant more than there is");
    note({.move = JournalEntry::Move::assumed, .slot = slot, .claim = {}, .pod = {}});
    changed(node);
    return {};
}

Expected<Confirmation> Ledger::confirm(OwnerId owner, const Placement& placement,
                                       const Terms& terms) {
    require_no_statement();
    Confirmation result;
    Entry entry{.state = OwnerState::confirmed, .start = next_start_};
    const std::uint32_t known = owner.valid() ? store_.find(owner) : kNoSlot;
    const bool same = known != kNoSlot && holds_as(known, placement);
    if (!same) {  // what is held already has been checked, and takes no further share
        TESSERA_CHECK(check(owner, placement));
    }
    if (same) {
        const bool news = store_[known].state == OwnerState::assumed;
        if (news) {
            store_.set_state(known, OwnerState::confirmed);
            store_.clear_deadline(known);
        }
        store_.set_terms(known, store_[known].start, terms.tolerates);
        store_.set_alternative(known, placement.alternative);
        result.outcome = news ? Confirmation::Outcome::confirmed : Confirmation::Outcome::unchanged;
    } else {
        result.outcome = Confirmation::Outcome::adopted;
        if (known != kNoSlot) {
            result.outcome = Confirmation::Outcome::moved;
            result.from = store_[known].node;
            entry.start = store_[known].start;
            if (store_[known].state == OwnerState::terminating) {
                entry.state = OwnerState::terminating;
            }
            remove(known);
            touched_.push_back(result.from);
        } else {
            ++next_start_;
        }
        insert(owner, placement, terms, entry);
        touched_.push_back(placement.node);
    }
    result.over_committed = over_committed(placement);
    result.wrong_allocator = wrong_allocator(owner, placement);
    tell_changed();
    return result;
}

bool Ledger::holds_as(std::uint32_t slot, const Placement& placement) const {
    Placement held = store_.placement(slot);
    const bool same_grants =
        held.grants.size() == placement.grants.size() &&
        std::is_permutation(held.grants.begin(), held.grants.end(), placement.grants.begin());
    return same_grants && held.node == placement.node && held.cpu == placement.cpu &&
           held.memory == placement.memory && held.pods == placement.pods &&
           held.admin_access == placement.admin_access;
}

bool Ledger::wrong_allocator(OwnerId owner, const Placement& placement) const {
    if (owner.kind() == OwnerKind::foreign) {
        return false;
    }
    const std::vector<GpuSpec>& gpus = cluster_.spec(placement.node).gpus;
    return std::any_of(placement.grants.begin(), placement.grants.end(), [&](const auto& grant) {
        return grant.gpu.slot() < gpus.size() && gpus[grant.gpu.slot()].mode != allocator_of(owner);
    });
}

bool Ledger::over_committed(const Placement& placement) const {
    if (cluster_.over_committed(placement.node)) {
        return true;
    }
    return std::any_of(placement.grants.begin(), placement.grants.end(), [&](const auto& grant) {
        return cluster_.over_committed(placement.node, grant.gpu);
    });
}

Expected<void> Ledger::terminate(OwnerId owner) {
    require_no_statement();
    const std::uint32_t slot = owner.valid() ? store_.find(owner) : kNoSlot;
    if (slot == kNoSlot) {
        return fail(ErrorKind::not_found, "{}: holds nothing", describe(owner));
    }
    store_.set_state(slot, OwnerState::terminating);
    store_.clear_deadline(slot);
    return {};
}

Expected<void> Ledger::release(OwnerId owner) {
    require_no_statement();
    return do_release(owner);
}

Expected<void> Ledger::do_release(OwnerId owner) {
    const std::uint32_t slot = owner.valid() ? store_.find(owner) : kNoSlot;
    const bool used = owner.valid() && drop_uses(owner);
    if (slot == kNoSlot) {
        if (used) {
            return {};
        }
        return fail(ErrorKind::not_found, "{}: holds nothing", describe(owner));
    }
    const NodeIndex node = store_[slot].node;
    remove(slot);
    changed(node);
    return {};
}

std::vector<OwnerId> Ledger::expire(Nanoseconds now) {
    require_no_statement();
    std::vector<std::uint32_t> due;
    for (std::uint32_t at = store_.first_timed(); at != kNoSlot; at = store_[at].timed.after) {
        if (store_[at].deadline <= now) {
            due.push_back(at);
        }
    }
    std::sort(due.begin(), due.end(), [this](std::uint32_t a, std::uint32_t b) {
        return store_[a].start < store_[b].start;
    });
    std::vector<OwnerId> expired;
    for (std::uint32_t slot : due) {
        expired.push_back(store_[slot].id);
        touched_.push_back(store_[slot].node);
        drop_uses(store_[slot].id);
        remove(slot);
    }
    tell_changed();
    return expired;
}

Expected<void> Ledger::set_deadline(OwnerId owner, Nanoseconds deadline) {
    require_no_statement();
    const std::uint32_t slot = owner.valid() ? store_.find(owner) : kNoSlot;
    if (slot == kNoSlot) {
        return fail(ErrorKind::not_found, "{}: holds nothing", describe(owner));
    }
    if (store_[slot].state != OwnerState::assumed) {
        return fail(ErrorKind::conflict, "{}: {}, only an assumption has a deadline",
                    describe(owner), tessera::to_string(store_[slot].state));
    }
    if (deadline == kNoDeadline) {
        store_.clear_deadline(slot);
    } else {
        store_.set_deadline(slot, deadline);
    }
    return {};
}

Expected<void> Ledger::add_user(OwnerId claim, OwnerId pod) {
    require_no_statement();
    return do_add_user(claim, pod);
}

Expected<void> Ledger::do_add_user(OwnerId claim, OwnerId pod) {
    if (!claim.valid() || claim.kind() != OwnerKind::claim || !pod.valid() ||
        pod.kind() != OwnerKind::pod) {
        return fail(ErrorKind::invalid, "{} cannot use {}: pods use claims", describe(pod),
                    describe(claim));
    }
    if (!knows(claim)) {
        return fail(ErrorKind::not_found, "{}: not allocated, {} cannot use it", describe(claim),
                    describe(pod));
    }
    if (users_.has(claim, pod)) {
        return {};
    }
    if (users_.users(claim).size() >= kMaxUsersPerClaim) {
        return fail(ErrorKind::conflict, "{}: has {} users, no room for {}", describe(claim),
                    kMaxUsersPerClaim, describe(pod));
    }
    users_.add(claim, pod);
    note({.move = JournalEntry::Move::user_added, .claim = claim, .pod = pod});
    return {};
}

Expected<void> Ledger::drop_user(OwnerId claim, OwnerId pod) {
    require_no_statement();
    return do_drop_user(claim, pod);
}

Expected<void> Ledger::do_drop_user(OwnerId claim, OwnerId pod) {
    if (!claim.valid() || claim.kind() != OwnerKind::claim || !pod.valid() ||
        pod.kind() != OwnerKind::pod) {
        return fail(ErrorKind::invalid, "{} cannot use {}: pods use claims", describe(pod),
                    describe(claim));
    }
    if (users_.drop(claim, pod)) {
        note({.move = JournalEntry::Move::user_dropped, .claim = claim, .pod = pod});
    }
    return {};
}

// A pod that leaves drops its claims, a claim that ends drops its pods.
bool Ledger::drop_uses(OwnerId owner) {
    if (users_.empty() || owner.kind() == OwnerKind::foreign) {
        return false;
    }
    const bool is_claim = owner.kind() == OwnerKind::claim;
    bool any = false;
    while (true) {
        const auto others = is_claim ? users_.users(owner) : users_.claims(owner);
        if (others.empty()) {
            return any;
        }
        const OwnerId other = others.back();
        const OwnerId claim = is_claim ? owner : other;
        const OwnerId pod = is_claim ? other : owner;
        users_.drop(claim, pod);
        note({.move = JournalEntry::Move::user_dropped, .claim = claim, .pod = pod});
        any = true;
    }
}

std::uint32_t Ledger::insert(OwnerId owner, const Placement& placement, const Terms& terms,
                             Entry entry) {
    const std::uint32_t slot = store_.create(owner, placement);
    store_.set_terms(slot, entry.start, terms.tolerates);
    store_.set_state(slot, entry.state);
    store_.attach(slot);
    if (entry.state == OwnerState::assumed && terms.deadline != kNoDeadline) {
        store_.set_deadline(slot, terms.deadline);
    }
    cluster_.take(placement, entry.start);
    return slot;
}

void Ledger::take_out(std::uint32_t slot) {
    cluster_.give(store_.placement(slot), store_[slot].start);
    store_.detach(slot);
}

void Ledger::take_back(std::uint32_t slot) {
    store_.attach(slot);
    cluster_.take(store_.placement(slot), store_[slot].start);
}

void Ledger::remove(std::uint32_t slot) {
    take_out(slot);
    if (statements_ > 0) {
        note({.move = JournalEntry::Move::released, .slot = slot, .claim = {}, .pod = {}});
    } else {
        store_.destroy(slot);
    }
}

void Ledger::note(const JournalEntry& entry) {
    if (statements_ > 0) {
        journal_.push_back(entry);
    }
}

void Ledger::undo(const JournalEntry& entry) {
    switch (entry.move) {
        case JournalEntry::Move::assumed:
            touched_.push_back(store_[entry.slot].node);
            next_start_ = store_[entry.slot].start;
            take_out(entry.slot);
            store_.uncreate(entry.slot);
            break;
        case JournalEntry::Move::released:
            touched_.push_back(store_[entry.slot].node);
            take_back(entry.slot);
            break;
        case JournalEntry::Move::user_added:
            users_.drop(entry.claim, entry.pod);
            break;
        case JournalEntry::Move::user_dropped:
            users_.add(entry.claim, entry.pod);
            break;
    }
}

void Ledger::roll_back(std::size_t mark) {
    while (journal_.size() > mark) {
        undo(journal_.back());
        journal_.pop_back();
    }
    tell_changed();
}

void Ledger::finish_journal() {
    for (const JournalEntry& entry : journal_) {
        if (entry.move == JournalEntry::Move::released) {
            store_.destroy(entry.slot);
        }
    }
    journal_.clear();
}

void Ledger::tell_changed() {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (NodeIndex node : touched_) {
        changed(node);
    }
    touched_.clear();
}

}  // namespace tessera
