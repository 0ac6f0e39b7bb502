// Policy: makes scorers, and learns.
//
// The engine tells the policy of arrivals and departures and asks now and then whether its scores
// have changed. An answer names what became stale, so that the engine refreshes no more than that.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "policy/catalog.h"
#include "policy/scorer.h"

namespace tessera {

// A change of scores. Without a scorer nothing changed.
struct PolicyUpdate {
    std::shared_ptr<const Scorer> scorer;
    // Empty: every node's keys are stale. Else only those of nodes that can host one of these.
    std::vector<ClassIndex> hosts_of;
};

class Policy {
  public:
    virtual ~Policy() = default;

    virtual std::string_view name() const = 0;

    // A scorer for this catalog: asked at the start and when the cluster's nodes have changed.
    // The catalog's classes may grow afterwards.
    virtual std::shared_ptr<const Scorer> scorer(const Catalog& catalog) = 0;

    // Turns what was asked for into what is placed (`exclusive` makes whole devices of shares).
    // Unless a policy says otherwise, guaranteed and opportunistic pods place alike.
    virtual DemandClass adapt(DemandClass demand_class) const {
        demand_class.service = ServiceClass::guaranteed;
        return demand_class;
    }

    virtual void arrived(ClassIndex) {}
    virtual void departed(ClassIndex) {}
    // Asked after each arrival.
    virtual PolicyUpdate update(const Catalog&, const Census&) { return {}; }
};

}  // namespace tessera
