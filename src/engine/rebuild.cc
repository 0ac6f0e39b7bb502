#include "engine/rebuild.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tessera {

Expected<void> Rebuild::add_pod(OwnerId owner, Holding holding) {
    if (owner.valid() && owner.kind() == OwnerKind::claim) {
        return fail(ErrorKind::invalid, "{}: a claim in the list of pods", describe(owner));
    }
    return add({owner, std::move(holding), {}}, pods_complete_, "pods");
}

Expected<void> Rebuild::add_claim(OwnerId owner, Holding holding, std::span<const OwnerId> users) {
    if (owner.valid() && owner.kind() == OwnerKind::pod) {
        return fail(ErrorKind::invalid, "{}: a pod in the list of claims", describe(owner));
    }
    return add({owner, std::move(holding), {users.begin(), users.end()}}, claims_complete_,
               "claims");
}

Expected<void> Rebuild::add(Entry entry, bool complete, const char* list) {
    if (!entry.owner.valid()) {
        return fail(ErrorKind::invalid, "list of {}: an entry without owner", list);
    }
    if (complete) {
        return fail(ErrorKind::conflict, "{}: the list of {} was said to be complete",
                    describe(entry.owner), list);
    }
    entries_.push_back(std::move(entry));
    return {};
}

Expected<Ledger> Rebuild::finish() {
    if (!complete()) {
        return fail(ErrorKind::conflict, "rebuild: the list of {} is not complete yet",
                    pods_complete_ ? "claims" : "pods");
    }
    // The same state whatever the order of the lists.
    const auto key = [](const Entry& entry) {
        return std::tuple(entry.holding.started, entry.owner);
    };
    std::sort(entries_.begin(), entries_.end(),
              [&](const Entry& a, const Entry& b) { return key(a) < key(b); });
    Ledger ledger(cluster_);
    for (const Entry& entry : entries_) {
        if (Expected<void> restored = restore(ledger, entry); !restored) {
            faults_.push_back(std::move(restored.error()));
        }
    }
    entries_.clear();
    return ledger;
}

Expected<void> Rebuild::restore(Ledger& ledger, const Entry& entry) {
    if (ledger.knows(entry.owner)) {
        return fail(ErrorKind::invalid, "{}: listed twice", describe(entry.owner));
    }
    TESSERA_CHECK(ledger.confirm(entry.owner, entry.holding.placement, entry.holding.terms));
    if (entry.holding.terminating) {
        TESSERA_CHECK(ledger.terminate(entry.owner));
    }
    if (entry.owner.kind() == OwnerKind::claim) {
        for (OwnerId pod : entry.users) {
            TESSERA_CHECK(ledger.add_user(entry.owner, pod));
        }
    }
    return {};
}

}  // namespace tessera
