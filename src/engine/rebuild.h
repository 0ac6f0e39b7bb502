// The ledger's state at start, from the API's two lists: pods and device claims.
//
//   Rebuild rebuild(std::move(cluster));
//   rebuild.add_pod(owner, {.placement = ..., .started = ...});   // each list in any order
//   rebuild.pods_complete();
//   rebuild.add_claim(owner, {...}, users);
//   rebuild.claims_complete();
//   TESSERA_TRY(Ledger ledger, rebuild.finish());
//
// There is no ledger, so no decision, before both lists are complete: a claim's share does not
// depend on a bound pod, and what one list holds alone would look free in the other. What the
// lists tell is taken as it is; more than there is becomes an alarm (Ledger::over_committed()).
// The mirror takes pods one by one as they are told; this waits for the door of device claims.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "engine/ledger.h"
#include "engine/owner.h"
#include "model/placement.h"

namespace tessera {

class Rebuild {
  public:
    explicit Rebuild(Cluster cluster) : cluster_(std::move(cluster)) {}

    struct Holding {
        Placement placement;
        Nanoseconds started;       // orders owners by age, equal ones by id
        Terms terms{};             // the deadline is not used: the API's word is confirmed
        bool terminating = false;  // deletion asked for, containers may still run
    };
    // A pod placed by us, or a foreigner (a pod of another scheduler).
    Expected<void> add_pod(OwnerId owner, Holding holding);
    // A claim of ours, or a foreigner (another allocator's). A user need not be among the pods.
    Expected<void> add_claim(OwnerId owner, Holding holding, std::span<const OwnerId> users = {});
    void pods_complete() { pods_complete_ = true; }
    void claims_complete() { claims_complete_ = true; }
    bool complete() const { return pods_complete_ && claims_complete_; }

    // Once both lists are complete. An entry that nobody can hold (a node that is gone, a negative
    // amount, an owner listed twice) is left out and becomes a fault: it must not stop the start.
    Expected<Ledger> finish();
    const std::vector<Error>& faults() const { return faults_; }

  private:
    struct Entry {
        OwnerId owner;
        Holding holding;
        std::vector<OwnerId> users;
    };
    Expected<void> add(Entry entry, bool complete, const char* list);
    static Expected<void> restore(Ledger& ledger, const Entry& entry);

    Cluster cluster_;
    std::vector<Entry> entries_;
    std::vector<Error> faults_;
    bool pods_complete_ = false;
    bool claims_complete_ = false;
};

}  // namespace tessera
