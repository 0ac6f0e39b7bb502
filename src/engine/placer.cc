#include "engine/placer.h"

#include <algorithm>
#include <utility>

#include "engine/class_placement.h"
#include "model/alternatives.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

constexpr std::size_t kMoreColumns = 64;  // at the start, and each time that they are all in use
constexpr std::size_t kMostColumns = 16'384;  // what the index counts in

// A new policy is told of about so many arrivals: enough to know the mix, and no long wait.
constexpr std::uint64_t kMostRetold = 6400;

// The two best of the nodes offered in node order: of equal ones the first comes first.
struct BestTwo {
    struct Ranked {
        NodeIndex node;
        std::pair<Key, Tie> rank{};
    };
    Ranked first;
    Ranked second;

    void offer(NodeIndex node, std::pair<Key, Tie> rank) {
        if (!first.node.valid() || rank > first.rank) {
            second = std::exchange(first, {node, rank});
        } else if (!second.node.valid() || rank > second.rank) {
            second = {node, rank};
        }
    }
};

// Hosts counted by looking at every node: what the index knows without looking.
class ScanCensus final : public Census {
  public:
    ScanCensus(const Cluster& cluster, const ClassTable& classes)
        : cluster_(cluster), classes_(classes) {}

    std::int64_t hosts(ClassIndex demand_class) const override {
        const Catalog known = cluster_.catalog(classes_);
        std::int64_t count = 0;
        for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
            count += admits_and_fits(cluster_, NodeIndex(n), classes_[demand_class], known) ? 1 : 0;
        }
        return count;
    }

  private:
    const Cluster& cluster_;
    const ClassTable& classes_;
};

// Answers as they were given before, while there are any; keeps those that it gives.
class RetellingCensus final : public Census {
  public:
    RetellingCensus(const Census& live, std::vector<std::int64_t>& retold,
                    std::vector<std::int64_t>& told)
        : live_(live), retold_(retold), told_(told) {}

    std::int64_t hosts(ClassIndex demand_class) const override {
        std::int64_t answer = 0;
        if (retold_.empty()) {
            answer = live_.hosts(demand_class);
        } else {
            answer = retold_.back();
            retold_.pop_back();
        }
        told_.push_back(answer);
        return answer;
    }

  private:
    const Census& live_;
    std::vector<std::int64_t>& retold_;
    std::vector<std::int64_t>& told_;
};

}  // namespace

Placer::Placer(const Cluster& cluster, std::unique_ptr<Policy> policy, Options options,
               const GroupMembers* groups)
    : cluster_(cluster),
      groups_(groups),
      policy_(std::move(policy)),
      options_(options),
      rng_(options.seed) {
    options_.max_columns = std::min(options_.max_columns, kMostColumns);
    nodes_replaced();
}

void Placer::nodes_replaced() {
    known_ = extent();
    std::vector<ClassIndex> columns(std::min(kMoreColumns, options_.max_columns));
    if (index_ != nullptr) {
        columns.assign(index_->columns().begin(), index_->columns().end());
    }
    start_index(policy_->scorer(catalog()), columns);
}

void Placer::start_index(std::shared_ptr<const Scorer> scorer,
                         std::span<const ClassIndex> columns) {
    index_ = std::make_unique<Index>(cluster_, classes_);
    next_.reset();  // the policy's new scorer is of the coming epoch already
    index_->reset(std::move(scorer), columns);
    if (!options_.full_scan) {
        index_->refresh_all();
    }
    ++sequence_;
    ++epoch_;
}

ClassIndex Placer::intern(const Demand& demand, std::size_t alternative) {
    return intern(demand_class(demand, alternative));
}

ClassIndex Placer::intern(const DemandClass& demand_class) {
    const ClassIndex index = classes_.intern(policy_->adapt(demand_class));
    sightings_.resize(classes_.size());
    return index;
}

void Placer::arrived(ClassIndex demand_class) {
    Sightings& sightings = sightings_[demand_class.slot()];
    sightings.before = std::exchange(sightings.last, ++seen_);
    ++sightings.count;
    policy_->arrived(demand_class);
    if (next_ != nullptr) {
        build_slice();
    } else {
        adopt(ask_policy());
    }
}

PolicyUpdate Placer::ask_policy() {
    return options_.full_scan ? ask_policy(ScanCensus(cluster_, classes_)) : ask_policy(*index_);
}

PolicyUpdate Placer::ask_policy(const Census& census) {
    if (!options_.record_census && retold_.empty()) {
        return policy_->update(catalog(), census);
    }
    return policy_->update(catalog(), RetellingCensus(census, retold_, told_));
}

void Placer::retell_census(std::vector<std::int64_t> told) {
    retold_ = std::move(told);
    std::reverse(retold_.begin(), retold_.end());
}

void Placer::set_policy(std::unique_ptr<Policy> policy) {
    policy_ = std::move(policy);
    adopt({options_.full_scan ? learn_anew(ScanCensus(cluster_, classes_)) : learn_anew(*index_),
           {}});
}

// A policy that knows of no arrival yet learns the mix of those that were.
std::shared_ptr<const Scorer> Placer::learn_anew(const Census& census) {
    const std::uint64_t scale = 1 + seen_ / kMostRetold;
    for (std::uint32_t c = 0; c < sightings_.size(); ++c) {
        const std::uint64_t times = (sightings_[c].count + scale - 1) / scale;
        for (std::uint64_t i = 0; i < times; ++i) {
            policy_->arrived(ClassIndex(c));
        }
    }
    PolicyUpdate update = ask_policy(census);
    return update.scorer != nullptr ? std::move(update.scorer) : policy_->scorer(catalog());
}

std::vector<ClassIndex> Placer::keep_only(const std::vector<bool>& kept,
                                          std::unique_ptr<Policy> policy) {
    std::vector<ClassIndex> now(classes_.size());
    std::vector<Sightings> sightings;
    ClassTable classes;
    for (std::uint32_t c = 0; c < now.size(); ++c) {
        if (c < kept.size() && kept[c]) {
            now[c] = classes.intern(classes_[ClassIndex(c)]);
            sightings.push_back(sightings_[c]);
        }
    }
    std::vector<ClassIndex> columns;
    for (const ClassIndex column : index_->columns()) {
        if (column.valid() && now[column.slot()].valid()) {
            columns.push_back(now[column.slot()]);
        }
    }
    columns.resize(std::clamp(columns.size(), std::min(kMoreColumns, options_.max_columns),
                              options_.max_columns));
    classes_ = std::move(classes);
    sightings_ = std::move(sightings);
    policy_ = std::move(policy);
    // At once, also where there are many nodes: the old scores are of other indices.
    start_index(learn_anew(ScanCensus(cluster_, classes_)), columns);
    return now;
}

void Placer::departed(ClassIndex demand_class) { policy_->departed(demand_class); }

void Placer::adopt(PolicyUpdate update) {
    if (update.scorer == nullptr) {
        return;
    }
    if (update.hosts_of.empty()) {
        if (cluster_.size() <= options_.rebuild_at_once_nodes) {
            rebuild_now(std::move(update.scorer));
        } else {
            next_ = std::make_unique<Index>(cluster_, classes_);
            next_->reset(std::move(update.scorer), index_->columns());
            built_ = 0;
            build_slice();
        }
        return;
    }
    index_->replace_scorer(std::move(update.scorer));
    ++epoch_;
    if (options_.full_scan) {
        return;
    }
    std::vector<bool> stale(cluster_.size(), false);
    for (ClassIndex host_class : update.hosts_of) {
        index_->each_with_room(host_class, [&](NodeIndex node) { stale[node.slot()] = true; });
    }
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        if (stale[n]) {
            index_->refresh(NodeIndex(n));
            ++counters_.host_refreshes;
        }
    }
}

void Placer::rebuild_now(std::shared_ptr<const Scorer> scorer) {
    const std::vector<ClassIndex> columns(index_->columns().begin(), index_->columns().end());
    index_->reset(std::move(scorer), columns);
    if (!options_.full_scan) {
        index_->refresh_all();
    }
    ++counters_.rebuilds;
    ++epoch_;
}

void Placer::build_slice() {
    const std::size_t end = std::min(cluster_.size(), built_ + options_.slice_nodes);
    for (; built_ < end; ++built_) {
        if (!options_.full_scan) {
            next_->refresh(NodeIndex(static_cast<std::uint32_t>(built_)));
        }
        ++counters_.sliced_nodes;
    }
    if (built_ == cluster_.size()) {
        index_ = std::move(next_);
        ++counters_.rebuilds;
        ++epoch_;
    }
}

void Placer::node_changed(NodeIndex node) {
    if (known_ != extent()) {
        ++counters_.rebuilds;
        nodes_replaced();
        return;
    }
    ++sequence_;
    if (options_.full_scan) {
        return;
    }
    if (outgrown()) {
        make_room(0);
        return;
    }
    index_->refresh(node);
    if (next_ != nullptr && node.slot() < built_) {
        next_->refresh(node);
    }
}

int Placer::column_for(ClassIndex demand_class) {
    const int column = index_->column_of(demand_class);
    if (column >= 0 || options_.full_scan || classes_[demand_class].wants_spare()) {
        return column;
    }
    ClassIndex instead_of;  // none: a free column
    std::span<const ClassIndex> columns = index_->columns();
    if (std::find(columns.begin(), columns.end(), ClassIndex()) == columns.end()) {
        if (columns.size() < options_.max_columns) {
            make_room(std::min(kMoreColumns, options_.max_columns - columns.size()));
        } else {
            instead_of = rarer_than(demand_class);
            if (!instead_of.valid()) {
                return -1;
            }
        }
    }
    index_->set_column(demand_class, instead_of, cluster_.size());
    if (next_ != nullptr) {
        next_->set_column(demand_class, instead_of, built_);
    }
    return index_->column_of(demand_class);
}

// The class with a column that has not been seen for longest, if it is rarer than the newcomer,
// which must have been seen twice since: classes in turn would else cost a column each, every time.
ClassIndex Placer::rarer_than(ClassIndex demand_class) const {
    std::span<const ClassIndex> columns = index_->columns();
    const auto oldest =
        std::min_element(columns.begin(), columns.end(), [&](ClassIndex a, ClassIndex b) {
            return sightings_[a.slot()].last < sightings_[b.slot()].last;
        });
    const bool rarer = oldest != columns.end() &&
                       sightings_[oldest->slot()].last < sightings_[demand_class.slot()].before;
    return rarer ? *oldest : ClassIndex();
}

// The same scores in a larger index: for more columns, or for nodes that joined.
void Placer::make_room(std::size_t more_columns) {
    std::vector<ClassIndex> columns(index_->columns().begin(), index_->columns().end());
    columns.resize(columns.size() + more_columns);
    index_->reset(std::shared_ptr(index_->shared_scorer()), columns);
    index_->refresh_all();
    if (next_ != nullptr) {
        next_->reset(std::shared_ptr(next_->shared_scorer()), columns);
        next_->refresh_first(built_);
    }
    ++counters_.rebuilds;
}

std::optional<Placement> Placer::choose(ClassIndex demand_class, GroupIndex group) {
    return choose_drawn({demand_class, group}, rng_.next());
}

std::optional<Placement> Placer::choose(const Demand& demand) {
    const std::uint64_t draw = rng_.next();
    const GroupIndex group = demand.gang ? demand.gang->group : GroupIndex();
    return first_that_fits(demand, [&](std::size_t alternative) {
        return choose_drawn({intern(demand, alternative), group}, draw);
    });
}

std::optional<Placement> Placer::choose_drawn(Asked asked, std::uint64_t draw) {
    if (asked.group.valid()) {
        const DecisionScores near = scores(cluster_, asked.demand_class, {asked.group});
        if (near.by_group()) {
            ++counters_.scans;
            return scan_and_place(near, draw);
        }
    }
    const NodeIndex node = pick(asked.demand_class, column_for(asked.demand_class), draw);
    return node.valid() ? place_on(node, asked.demand_class, draw) : std::nullopt;
}

std::optional<Placement> Placer::choose_by_scan(ClassIndex demand_class, GroupIndex group) {
    return scan_and_place(scores(cluster_, demand_class, {group}), rng_.next());
}

std::optional<Placement> Placer::scan_and_place(const DecisionScores& scores, std::uint64_t draw) {
    const NodeIndex node = scan(scores, draw);
    return node.valid() ? place_among(scores, node, draw, devices_) : std::nullopt;
}

DecisionScores Placer::scores(const Cluster& cluster, ClassIndex demand_class,
                              const GroupOf& group) const {
    DecisionScores scores(index_->scorer(), cluster, demand_class);
    if (groups_ != nullptr && group.group.valid()) {
        scores.keep_near(groups_->cells(group));
    }
    return scores;
}

std::optional<Placement> Placer::choose_on(NodeIndex node, ClassIndex demand_class) {
    return place_on(node, demand_class, rng_.next());
}

NodeIndex Placer::pick(ClassIndex demand_class, int column, std::uint64_t draw) {
    if (column < 0) {
        ++counters_.scans;
        return scan(scores(cluster_, demand_class), draw);
    }
    const auto at = static_cast<std::size_t>(column);
    switch (index_->scorer().selection()) {
        case Selection::best:
            return index_->best(at);
        case Selection::second_best:
            return index_->second_best(at);
        case Selection::uniform:
            break;
    }
    return index_->any(at, rng_);
}

// Every node, by the plain rule. Serves classes without a column, and is what the index must equal.
NodeIndex Placer::scan(const DecisionScores& scores, std::uint64_t draw) {
    const DemandClass& wanted = classes_[scores.demand_class()];
    const Catalog known = catalog();
    const bool spare = wanted.wants_spare();
    const Selection selection = scores.selection();
    std::vector<NodeIndex> fitting;
    BestTwo best;
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        if (!admits_and_fits(cluster_, NodeIndex(n), wanted, known) ||
            (spare && !grantable(NodeIndex(n), scores, draw))) {
            continue;
        }
        if (selection == Selection::uniform) {
            fitting.push_back(NodeIndex(n));
            continue;
        }
        best.offer(NodeIndex(n), {scores.key(NodeIndex(n)), scores.tie(NodeIndex(n))});
    }
    if (!fitting.empty()) {
        return fitting[rng_.below(fitting.size())];
    }
    const bool second = selection == Selection::second_best && best.second.node.valid();
    return second ? best.second.node : best.first.node;
}

Placer::Ranking Placer::rank(ClassIndex demand_class, std::span<const NodeIndex> among,
                             std::span<Key> keys) {
    const int column = column_for(demand_class);
    const std::uint64_t draw = rng_.next();
    if (column >= 0) {
        index_->keys(static_cast<std::size_t>(column), among, keys);
    } else {
        const DecisionScores plain = scores(cluster_, demand_class);
        for (std::size_t i = 0; i < among.size(); ++i) {
            keys[i] = among[i].valid() ? key_on(among[i], plain, draw) : 0;
        }
    }
    return {select(among, keys, column >= 0), draw};
}

std::optional<Placer::Ranking> Placer::rank_near(const GroupOf& group, ClassIndex demand_class,
                                                 std::span<const NodeIndex> among,
                                                 std::span<Key> keys) {
    if (!group.group.valid()) {
        return std::nullopt;
    }
    const DecisionScores near = scores(cluster_, demand_class, group);
    if (!near.by_group()) {
        return std::nullopt;
    }
    ++counters_.scans;
    const std::uint64_t draw = rng_.next();
    for (std::size_t i = 0; i < among.size(); ++i) {
        keys[i] = among[i].valid() ? key_on(among[i], near, draw) : 0;
    }
    return Ranking{select(among, keys, false), draw};
}

// What the index would hold for a class that has no column.
Key Placer::key_on(NodeIndex node, const DecisionScores& scores, std::uint64_t draw) {
    const DemandClass& wanted = classes_[scores.demand_class()];
    const bool fits = admits_and_fits(cluster_, node, wanted, catalog()) &&
                      (!wanted.wants_spare() || grantable(node, scores, draw));
    return fits ? scores.key(node) : 0;
}

// By the same rule as the index, whatever the order in which the nodes are named. `indexed`: the
// keys are the index's, which then has the ties, too.
std::size_t Placer::select(std::span<const NodeIndex> among, std::span<const Key> keys,
                           bool indexed) {
    const Scorer& scorer = index_->scorer();
    if (scorer.selection() == Selection::uniform) {
        std::vector<std::size_t> fitting;
        for (std::size_t i = 0; i < among.size(); ++i) {
            if (keys[i] != 0) {
                fitting.push_back(i);
            }
        }
        return fitting.empty() ? SIZE_MAX : fitting[rng_.below(fitting.size())];
    }
    struct Best {
        std::size_t at = SIZE_MAX;
        Key key = 0;
        Tie tie{};
    };
    Best first;
    Best second;
    const auto before = [&](const Best& a, const Best& b) {
        if (a.key != b.key) {
            return a.key > b.key;
        }
        return a.tie != b.tie ? a.tie > b.tie : among[a.at] < among[b.at];
    };
    const bool wants_second = scorer.selection() == Selection::second_best;
    const std::span<const Tie> ties = indexed ? index_->ties() : std::span<const Tie>();
    for (std::size_t i = 0; i < among.size(); ++i) {
        // Most nodes end here: a tie is looked at where it can decide.
        if (keys[i] == 0 || keys[i] < (wants_second ? second : first).key) {
            continue;
        }
        const Best one{i, keys[i],
                       indexed ? ties[among[i].slot()] : scorer.tie(cluster_.node(among[i]))};
        if (first.at == SIZE_MAX || before(one, first)) {
            second = std::exchange(first, one);
        } else if (wants_second && among[i] != among[first.at] &&
                   (second.at == SIZE_MAX || before(one, second))) {
            second = one;
        }
    }
    return wants_second && second.at != SIZE_MAX ? second.at : first.at;
}

bool Placer::grantable(NodeIndex node, const DecisionScores& scores, std::uint64_t draw) {
    const std::optional<Placement> placement = place_among(scores, node, draw, devices_);
    return placement && cluster_.fits(*placement);
}

std::optional<Placement> Placer::place_on(NodeIndex node, ClassIndex demand_class,
                                          std::uint64_t draw) {
    return place_among(scores(cluster_, demand_class), node, draw, devices_);
}

std::optional<Placement> Placer::choose_on(const DecisionScores& scores, NodeIndex node,
                                           std::uint64_t draw) const {
    DeviceList devices;
    return place_among(scores, node, draw, devices);
}

std::optional<Placement> Placer::place_among(const DecisionScores& scores, NodeIndex node,
                                             std::uint64_t draw, DeviceList& devices) const {
    const DemandClass& wanted = classes_[scores.demand_class()];
    devices.clear();
    if (wanted.wants_gpu()) {
        scores.choose(node, draw, devices);
        if (devices.size() != wanted.gpus) {
            return std::nullopt;
        }
    }
    return placement_of(wanted, scores.cluster(), node, devices);
}

std::int64_t Placer::fitting_nodes(ClassIndex demand_class) {
    column_for(demand_class);
    return index_->hosts(demand_class);
}

bool Placer::consistent() const {
    return index_->consistent(cluster_.size()) && (next_ == nullptr || next_->consistent(built_));
}

std::size_t Placer::memory_bytes() const {
    return index_->memory_bytes() + (next_ == nullptr ? 0 : next_->memory_bytes()) +
           sightings_.capacity() * sizeof(Sightings) +
           classes_.size() * (sizeof(DemandClass) + sizeof(ClassBrief) + sizeof(GpuRequest));
}

}  // namespace tessera
