// Policy `tessera`: the potential of potential.h, its mix learnt from what arrives.
//
// It knows nothing at the start and has one setting for all loads. It adapts through the classes
// seen, through how many nodes could host each whole-node class now, and through departures per
// arrival. Measurements: docs/placement.md.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/mix_learner.h"
#include "policy/policy.h"
#include "policy/tessera/potential.h"

namespace tessera {

struct TesseraParameters {
    double useless_weight = 0.5;  // of x Q(x) in the gap's cost
    double scarce_share = 0.6;    // classes confined to less of the GPUs than this are scarce
    double scarcity_most = 1.5;
    double safety = 4;  // deviations of a class's population kept as hosts
    double host_power = 4;
    double host_least = 0.02;    // smaller prices count as none
    double drain_weight = 100;   // milli per device, times departures per arrival
    double drain_by_whole = 12;  // times the share of demand that needs whole nodes, when > 1
    double drain_most = 5;
    double admission_weight = 0.15;   // of cores, always
    double admission_filling = 0.75;  // of cores, more while nothing departs
    double admission_by_whole = 2;  // of cores, while pods depart, times the share of whole devices
    double memory_filling = 1;      // of memory, while nothing departs
    double admission_from = 0.95;   // asked against what is there, where the terms begin
    double admission_width = 0.15;
    double even_filling = 100000;  // milli: a node without free cores or memory, while none departs
    double even_from = 1.25;       // asked against what is there, where that begins and drain ends
    double even_width = 0.5;
};

class TesseraPolicy final : public Policy {
  public:
    explicit TesseraPolicy(TesseraParameters parameters = {}) : parameters_(parameters) {}

    std::string_view name() const override { return "tessera"; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override;
    void arrived(ClassIndex demand_class) override;
    void departed(ClassIndex demand_class) override;
    PolicyUpdate update(const Catalog& catalog, const Census& census) override;

  private:
    struct HostClass {
        ClassIndex demand_class;
        double need = 0;   // hosts to keep
        double price = 0;  // P_m
    };

    // A class without GPUs, whose pods may take the last hosts.
    struct Rival {
        ClassIndex demand_class;
        double cores = 0;  // asked in all
        std::int64_t hosts = 0;
    };

    void learn(const Catalog& catalog);
    void learn_gaps(const Catalog& catalog, double gpu_demand);
    void learn_scarcity(const Catalog& catalog, double gpu_demand);
    void learn_hosts(const Catalog& catalog, double gpu_demand);
    void learn_rivals(const Catalog& catalog);
    void learn_cores(const Catalog& catalog, double gpu_demand);
    double shortage(const Catalog& catalog, double gpu_demand, bool cores, double doubt) const;
    double very_short(const Catalog& catalog, double gpu_demand, bool cores) const;
    double filling() const;
    EvenTerm evenness(const Catalog& catalog, double gpu_demand, bool cores) const;
    AdmissionTerm admission(const Catalog& catalog, double gpu_demand, bool cores) const;
    HostTerm host_term(const Catalog& catalog) const;
    std::vector<ClassIndex> reprice_hosts(const Catalog& catalog, const Census& census);
    double kept_for(const HostClass& host, const Catalog& catalog, std::int64_t hosts) const;
    bool follow_departures();
    double count(std::size_t demand_class) const;
    std::shared_ptr<const Scorer> make_scorer(const Catalog& catalog) const;

    TesseraParameters parameters_;
    MixLearner mix_;
    Potential potential_;
    std::vector<HostClass> hosts_;
    std::vector<Rival> rivals_;
    std::uint64_t window_start_ = 0;  // arrivals when the last window ended
    std::uint64_t window_departures_ = 0;
    double departures_per_arrival_ = 0;  // followed
    double drain_ = 0;                   // in force
};

}  // namespace tessera
