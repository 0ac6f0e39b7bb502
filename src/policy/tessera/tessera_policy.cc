#include "policy/tessera/tessera_policy.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "policy/devices.h"
#include "policy/tessera/tessera_scorer.h"

namespace tessera {
namespace {

constexpr std::uint64_t kWindow = 256;  // arrivals between looks at hosts and departures
constexpr double kPriceMove = 0.05;     // a smaller change of P_m is not taken
constexpr double kDrainMove = 0.1;
constexpr std::size_t kMostHosts = 64;
constexpr std::size_t kMostRivals = 32;
constexpr double kBearable = 0.02;      // share of the nodes that may be kept beyond a population
constexpr std::size_t kMostGaps = 256;  // what gap_of_kind can count
constexpr double kDoubt = 1;            // about half the deviation of what pods ask, over its mean
constexpr double kStrongDoubt = 2;      // for what cannot be taken back: pods once spread stay so
constexpr double kFollow = 0.25;        // share of a window's departures that is believed

// What a share takes of a device of this size, in milli: compute or memory, whichever is more.
int share_size(const DemandClass& c, MemoryMib total) {
    std::int64_t size = c.milli.value();
    if (total.value() > 0) {
        const std::int64_t memory = c.memory_on(total).value();
        size = std::max(size, (memory * 1000 + total.value() - 1) / total.value());
    }
    return static_cast<int>(std::min<std::int64_t>(size, 1000));
}

double gpu_milli(const DemandClass& c) { return static_cast<double>(c.gpu_milli_total); }

// Whether an empty node of this shape could take the class.
bool shape_holds(const NodeShape& shape, const DemandClass& c, const Catalog& catalog) {
    if (shape.cpu < c.cpu || shape.memory < c.memory) {
        return false;
    }
    const auto devices = std::count_if(shape.kinds.begin(), shape.kinds.end(), [&](KindIndex kind) {
        return may_use(c, catalog.kinds[kind.slot()]);
    });
    return devices >= c.gpus;
}

// Whether any so many empty, healthy devices of a node of this shape would do for the class: only
// then is "empty devices" enough to know that the node can host it.
bool any_devices_do(const NodeShape& shape, const DemandClass& c, const Catalog& catalog) {
    return shape_holds(shape, c, catalog) &&
           std::all_of(shape.kinds.begin(), shape.kinds.end(), [&](KindIndex kind) {
               const DeviceKind& device = catalog.kinds[kind.slot()];
               return device.health != Health::ok || may_use(c, device);
           });
}

// What the node that has most has of each.
struct Largest {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::size_t gpus = 0;
};

Largest largest(const Catalog& catalog) {
    Largest most;
    for (std::size_t i = 0; i < catalog.shapes.size(); ++i) {
        if (catalog.nodes_of_shape[i] > 0) {
            const NodeShape& shape = catalog.shapes[i];
            most.cpu_milli = std::max(most.cpu_milli, shape.cpu.value());
            most.memory_mib = std::max(most.memory_mib, shape.memory.value());
            most.gpus = std::max(most.gpus, shape.kinds.size());
        }
    }
    return most;
}

ClassIndex class_at(std::size_t slot) { return ClassIndex(static_cast<std::uint32_t>(slot)); }

}  // namespace

std::shared_ptr<const Scorer> TesseraPolicy::scorer(const Catalog& catalog) {
    learn(catalog);
    potential_.host = host_term(catalog);
    return make_scorer(catalog);
}

std::shared_ptr<const Scorer> TesseraPolicy::make_scorer(const Catalog& catalog) const {
    return std::make_shared<TesseraScorer>(std::make_shared<const Potential>(potential_), catalog);
}

void TesseraPolicy::arrived(ClassIndex demand_class) { mix_.arrived(demand_class); }
void TesseraPolicy::departed(ClassIndex) { ++window_departures_; }

double TesseraPolicy::count(std::size_t demand_class) const {
    return static_cast<double>(mix_.counts()[demand_class]) / MixLearner::kUnit;
}

PolicyUpdate TesseraPolicy::update(const Catalog& catalog, const Census& census) {
    bool everything = false;
    std::vector<ClassIndex> repriced;
    if (mix_.arrivals() - window_start_ >= kWindow) {
        everything = follow_departures();
        repriced = reprice_hosts(catalog, census);
    }
    if (mix_.due()) {
        everything = everything || mix_.moved(*catalog.classes);
        mix_.learned(catalog.nodes);
    }
    if (everything) {
        learn(catalog);
        // Also of classes that are new: a small cluster fills early.
        reprice_hosts(catalog, census);
    }
    if (!everything && repriced.empty()) {
        return {};
    }
    potential_.host = host_term(catalog);
    return {make_scorer(catalog), everything ? std::vector<ClassIndex>() : repriced};
}

void TesseraPolicy::learn(const Catalog& catalog) {
    mix_.adopt();
    double gpu_demand = 0;
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        gpu_demand += count(i) * gpu_milli((*catalog.classes)[class_at(i)]);
    }
    potential_.gap_of_kind.assign(catalog.kinds.size(), 0);
    potential_.scarcity.price.assign(catalog.shapes.size(), 0);
    if (gpu_demand <= 0) {
        potential_.gaps.assign(1, GapTerm());
        potential_.core_admission = AdmissionTerm();
        potential_.memory_admission = AdmissionTerm();
        potential_.even_cores = EvenTerm();
        potential_.even_memory = EvenTerm();
        hosts_.clear();
        rivals_.clear();
        return;
    }
    learn_gaps(catalog, gpu_demand);
    learn_scarcity(catalog, gpu_demand);
    learn_hosts(catalog, gpu_demand);
    learn_rivals(catalog);
    learn_cores(catalog, gpu_demand);
}

void TesseraPolicy::learn_gaps(const Catalog& catalog, double gpu_demand) {
    // Sizes depend on the device's memory only where somebody asks for memory.
    bool asks_memory = false;
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        asks_memory = asks_memory || c.gpu_memory.value() > 0 || c.gpu_memory_ppm > 0;
    }
    std::map<std::int64_t, std::uint8_t> by_memory;
    potential_.gaps.clear();
    for (std::size_t kind = 0; kind < catalog.kinds.size(); ++kind) {
        const MemoryMib total = catalog.kinds[kind].memory;
        const auto [found, fresh] = by_memory.try_emplace(
            asks_memory ? total.value() : 0,
            static_cast<std::uint8_t>(std::min(potential_.gaps.size(), kMostGaps - 1)));
        potential_.gap_of_kind[kind] = found->second;
        if (!fresh || potential_.gaps.size() == kMostGaps) {
            continue;
        }
        std::array<double, 1001> demand{};  // of pods, by size of a share
        std::array<double, 1001> needs_more{};
        for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
            const DemandClass& c = (*catalog.classes)[class_at(i)];
            if (!c.wants_gpu() || count(i) <= 0) {
                continue;
            }
            const int size = c.footprint == Footprint::whole ? 1000 : share_size(c, total);
            needs_more[static_cast<std::size_t>(size)] += count(i) * gpu_milli(c) / gpu_demand;
            if (size > 0 && size < 1000) {
                demand[static_cast<std::size_t>(size)] += count(i) * c.gpus;
            }
        }
        // From "needs exactly x" to "needs more than x".
        double more = 0;
        for (std::size_t x = 1001; x-- > 0;) {
            const double here = needs_more[x];
            needs_more[x] = more;
            more += here;
        }
        std::vector<SizeDemand> sizes;
        for (int x = 1; x < 1000; ++x) {
            if (demand[static_cast<std::size_t>(x)] > 0) {
                sizes.push_back({x, demand[static_cast<std::size_t>(x)]});
            }
        }
        potential_.gaps.emplace_back(gap_values(sizes), needs_more, parameters_.useless_weight);
    }
    if (potential_.gaps.empty()) {
        potential_.gaps.emplace_back();
    }
}

void TesseraPolicy::learn_scarcity(const Catalog& catalog, double gpu_demand) {
    const double gpus = static_cast<double>(catalog.gpus);
    std::vector<double> price(catalog.shapes.size(), 0);
    std::vector<std::size_t> holding;
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        if (!c.wants_gpu() || count(i) <= 0) {
            continue;
        }
        holding.clear();
        double room = 0;
        for (std::size_t shape = 0; shape < catalog.shapes.size(); ++shape) {
            if (shape_holds(catalog.shapes[shape], c, catalog)) {
                holding.push_back(shape);
                room += static_cast<double>(catalog.nodes_of_shape[shape] *
                                            catalog.shapes[shape].kinds.size());
            }
        }
        if (room > 0 && room <= parameters_.scarce_share * gpus) {
            const double share = count(i) * gpu_milli(c) / gpu_demand;
            for (std::size_t shape : holding) {
                price[shape] += share * gpus / room;
            }
        }
    }
    for (std::size_t shape = 0; shape < price.size(); ++shape) {
        potential_.scarcity.price[shape] = std::llround(
            std::min(price[shape], parameters_.scarcity_most) * static_cast<double>(kUnit));
    }
}

void TesseraPolicy::learn_hosts(const Catalog& catalog, double gpu_demand) {
    const std::size_t most_gpus = largest(catalog).gpus;
    std::vector<HostClass> hosts;
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        if (c.footprint != Footprint::whole || c.gpus * 2U <= most_gpus || count(i) <= 0 ||
            c.requests.front().rule != GroupRule::none) {
            continue;
        }
        HostClass host;
        host.demand_class = class_at(i);
        const double population =
            count(i) * gpu_milli(c) / gpu_demand * static_cast<double>(catalog.gpus) / c.gpus;
        // Where these would be many of the nodes, no more than the class has pods at a time.
        const double bearable = static_cast<double>(catalog.nodes) * kBearable;
        host.need =
            std::min(parameters_.safety * std::sqrt(population), std::max(population, bearable));
        const auto known = std::find_if(hosts_.begin(), hosts_.end(), [&](const HostClass& h) {
            return h.demand_class == host.demand_class;
        });
        host.price = known == hosts_.end() ? 0 : known->price;
        hosts.push_back(host);
    }
    // The table of prices grows with the square of their number; the rarest are left out.
    if (hosts.size() > kMostHosts) {
        std::stable_sort(hosts.begin(), hosts.end(),
                         [](const HostClass& a, const HostClass& b) { return a.need > b.need; });
        hosts.resize(kMostHosts);
    }
    hosts_ = std::move(hosts);
    double whole_nodes = 0;
    for (const HostClass& host : hosts_) {
        const DemandClass& c = (*catalog.classes)[host.demand_class];
        whole_nodes += count(host.demand_class.slot()) * gpu_milli(c) / gpu_demand;
    }
    const double more =
        std::clamp(parameters_.drain_by_whole * whole_nodes, 1.0, parameters_.drain_most);
    // Where memory runs out long before the GPUs, emptying a node only crowds the others.
    const double useful = 1 - very_short(catalog, gpu_demand, false);
    potential_.drain = DrainTerm(parameters_.drain_weight * more * drain_ * useful);
}

void TesseraPolicy::learn_rivals(const Catalog& catalog) {
    rivals_.clear();
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        if (!c.wants_gpu() && count(i) > 0) {
            rivals_.push_back({.demand_class = class_at(i),
                               .cores = count(i) * static_cast<double>(c.cpu.value())});
        }
    }
    // Their hosts are counted in every window.
    if (rivals_.size() > kMostRivals) {
        std::stable_sort(rivals_.begin(), rivals_.end(),
                         [](const Rival& a, const Rival& b) { return a.cores > b.cores; });
        rivals_.resize(kMostRivals);
    }
}

void TesseraPolicy::learn_cores(const Catalog& catalog, double gpu_demand) {
    double cores = 0;
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        cores += c.wants_gpu() ? count(i) * static_cast<double>(c.cpu.value()) : 0;
    }
    potential_.stranding = StrandingTerm(cores / gpu_demand);
    potential_.core_admission = admission(catalog, gpu_demand, true);
    potential_.memory_admission = admission(catalog, gpu_demand, false);
    potential_.even_cores = evenness(catalog, gpu_demand, true);
    potential_.even_memory = evenness(catalog, gpu_demand, false);
}

// What all pods ask, of cores or memory, for the GPUs there are, against what is there: the lower
// end of what the pods seen leave likely, for a few may ask for much by chance.
double TesseraPolicy::shortage(const Catalog& catalog, double gpu_demand, bool cores,
                               double doubt) const {
    double asked = 0;
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        asked += count(i) * static_cast<double>(cores ? c.cpu.value() : c.memory.value());
    }
    const auto there = static_cast<double>(cores ? catalog.cpu.value() : catalog.memory.value());
    const double gpus = 1000 * static_cast<double>(catalog.gpus);
    const double sure = 1 - doubt / std::sqrt(static_cast<double>(mix_.arrivals()));
    return there > 0 ? sure * asked / gpu_demand * gpus / there : 0;
}

// While pods only arrive, what is refused is gone for good and the terms may look far ahead; once
// pods depart as they come, a strong one keeps out pods that would have had their turn.
double TesseraPolicy::filling() const { return std::max(0.0, 1 - 4 * drain_); }

AdmissionTerm TesseraPolicy::admission(const Catalog& catalog, double gpu_demand,
                                       bool cores) const {
    std::vector<AdmissionTerm::Step> steps;
    double whole = 0;  // demand for whole devices
    for (std::size_t i = 0; i < mix_.counts().size(); ++i) {
        const DemandClass& c = (*catalog.classes)[class_at(i)];
        if (c.wants_gpu() && count(i) > 0) {
            whole += c.footprint == Footprint::whole ? count(i) * gpu_milli(c) : 0;
            steps.push_back(
                {cores ? c.cpu.value() : c.memory.value(), count(i) * gpu_milli(c) / gpu_demand});
        }
    }
    const double share =
        std::clamp((shortage(catalog, gpu_demand, cores, kDoubt) - parameters_.admission_from) /
                       parameters_.admission_width,
                   0.0, 1.0);
    if (!cores) {
        return AdmissionTerm(std::move(steps), filling() * parameters_.memory_filling * share);
    }
    // Shares go by their gaps first, and where cores are very short only pods of few cores are
    // left.
    const double by_whole = parameters_.admission_by_whole * whole / gpu_demand *
                            (1 - very_short(catalog, gpu_demand, true));
    const double weight = parameters_.admission_weight + filling() * parameters_.admission_filling +
                          (1 - filling()) * by_whole;
    return AdmissionTerm(std::move(steps), weight * share);
}

// From 0 to 1: whether cores or memory run out long before the GPUs.
double TesseraPolicy::very_short(const Catalog& catalog, double gpu_demand, bool cores) const {
    const double least = shortage(catalog, gpu_demand, cores, kStrongDoubt);
    return std::clamp((least - parameters_.even_from) / parameters_.even_width, 0.0, 1.0);
}

EvenTerm TesseraPolicy::evenness(const Catalog& catalog, double gpu_demand, bool cores) const {
    const Largest most = largest(catalog);
    const double weight = filling() * very_short(catalog, gpu_demand, cores);
    return EvenTerm(cores ? most.cpu_milli : most.memory_mib, parameters_.even_filling * weight);
}

HostTerm TesseraPolicy::host_term(const Catalog& catalog) const {
    std::vector<HostTerm::Host> priced;
    for (const HostClass& host : hosts_) {
        if (host.price <= 0) {
            continue;
        }
        const DemandClass& c = (*catalog.classes)[host.demand_class];
        HostTerm::Host entry{.cpu_milli = c.cpu.value(),
                             .memory_mib = c.memory.value(),
                             .gpus = c.gpus,
                             .price = host.price,
                             .shape_allows = {}};
        for (const NodeShape& shape : catalog.shapes) {
            entry.shape_allows.push_back(any_devices_do(shape, c, catalog));
        }
        priced.push_back(std::move(entry));
    }
    return HostTerm(priced, catalog.shapes.size());
}

// From 0 to 1: how likely a host that is kept goes to the class it is kept for. Pods without GPUs
// that fit on nothing else take it as well, and its GPUs then serve nobody. One with n hosts
// elsewhere is counted as (1 + n)^-2 of such a pod.
double TesseraPolicy::kept_for(const HostClass& host, const Catalog& catalog,
                               std::int64_t hosts) const {
    const DemandClass& wanted = (*catalog.classes)[host.demand_class];
    double taken = 0;
    for (const Rival& rival : rivals_) {
        const DemandClass& c = (*catalog.classes)[rival.demand_class];
        // What another node selector lets in here, nobody counts.
        const bool comes_here = c.filter == wanted.filter || !c.filter.valid();
        if (comes_here && c.cpu <= wanted.cpu && c.memory <= wanted.memory) {
            const auto elsewhere = std::max<std::int64_t>(0, rival.hosts - hosts);
            taken +=
                count(rival.demand_class.slot()) / std::pow(1 + static_cast<double>(elsewhere), 2);
        }
    }
    const double own = count(host.demand_class.slot());
    return taken > 0 ? own / (own + taken) : 1;
}

std::vector<ClassIndex> TesseraPolicy::reprice_hosts(const Catalog& catalog, const Census& census) {
    std::vector<ClassIndex> moved;
    for (Rival& rival : rivals_) {
        rival.hosts = hosts_.empty() ? 0 : census.hosts(rival.demand_class);
    }
    for (HostClass& host : hosts_) {
        const std::int64_t hosts = census.hosts(host.demand_class);
        const auto nodes = static_cast<double>(hosts);
        double price =
            nodes <= 0 ? 1 : std::min(1.0, std::pow(host.need / nodes, parameters_.host_power));
        price *= kept_for(host, catalog, hosts);
        price = price < parameters_.host_least ? 0 : price;
        const bool appears = (price > 0) != (host.price > 0);
        if (appears || std::abs(price - host.price) > kPriceMove) {
            host.price = price;
            moved.push_back(host.demand_class);
        }
    }
    return moved;
}

bool TesseraPolicy::follow_departures() {
    const double rate = std::min(1.0, static_cast<double>(window_departures_) /
                                          static_cast<double>(mix_.arrivals() - window_start_));
    window_departures_ = 0;
    window_start_ = mix_.arrivals();
    departures_per_arrival_ += (rate - departures_per_arrival_) * kFollow;
    if (std::abs(departures_per_arrival_ - drain_) <= kDrainMove) {
        return false;
    }
    drain_ = departures_per_arrival_;
    return true;
}

}  // namespace tessera
