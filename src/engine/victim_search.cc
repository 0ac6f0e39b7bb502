#include "engine/victim_search.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

// Those that the node admits; none means that there is no room for the pod.
std::vector<const DemandClass*> classes_of(const VictimQuestion& question) {
    std::vector<const DemandClass*> result;
    for (ClassIndex one : question.wanted) {
        const DemandClass& wanted = question.classes[one];
        if (question.ledger.cluster().admits(question.node, wanted.filter)) {
            result.push_back(&wanted);
        }
    }
    return result;
}

}  // namespace

void VictimUnit::add(OwnerId owner, const Tenant& tenant, std::uint64_t started) {
    const std::int64_t importance = tenant.importance();
    owners.push_back(owner);
    importance_sum += importance;
    if (importance >= highest) {
        start = importance > highest ? started : std::min(start, started);
        highest = importance;
    }
    budgets.insert(budgets.end(), tenant.budgets.begin(), tenant.budgets.end());
}

void VictimCost::add(const VictimUnit& unit) {
    victims += std::ssize(unit.owners);
    importance_sum += unit.importance_sum;
    if (unit.highest >= highest) {
        start = unit.highest > highest ? unit.start : std::min(start, unit.start);
        highest = unit.highest;
    }
}

bool cheaper(const VictimCost& a, const VictimCost& b, VictimOrder order) {
    // The later start is the cheaper.
    const auto rest = [](const VictimCost& x, const VictimCost& y) {
        return std::tuple(x.violations, x.highest, x.victims, x.importance_sum, y.start) <
               std::tuple(y.violations, y.highest, y.victims, y.importance_sum, x.start);
    };
    if (order == VictimOrder::fewest && a.victims != b.victims) {
        return a.victims < b.victims;
    }
    return rest(a, b);
}

VictimSearch::VictimSearch(const VictimQuestion& question)
    : question_(question),
      room_(question.ledger, question.node, classes_of(question), question.gone) {
    for (const VictimUnit* one : question.units) {
        room_.add_unit(one->owners, one->importance_sum);
    }
    room_.units_complete();
    read_budgets();
}

void VictimSearch::read_budgets() {
    covered_by_.resize(question_.units.size());
    if (question_.tenants == nullptr) {
        return;
    }
    for (std::size_t i = 0; i < question_.units.size(); ++i) {
        for (BudgetIndex budget : unit(i).budgets) {
            const auto at = std::find_if(budgets_.begin(), budgets_.end(),
                                         [&](const Budget& b) { return b.index == budget; });
            covered_by_[i].push_back(static_cast<std::uint32_t>(at - budgets_.begin()));
            if (at == budgets_.end()) {
                const std::int32_t allowed = question_.tenants->disruptions_allowed(budget);
                budgets_.push_back({budget, std::max(0, allowed)});
            }
        }
        std::sort(covered_by_[i].begin(), covered_by_[i].end());
    }
}

std::optional<VictimCost> VictimSearch::bound() {
    VictimCost least;
    if (!room_.can_fit()) {
        return std::nullopt;
    }
    // As many levels of importance as it takes; nobody more important need be a victim.
    std::vector<std::size_t> by_importance(question_.units.size());
    std::iota(by_importance.begin(), by_importance.end(), std::size_t{0});
    std::sort(by_importance.begin(), by_importance.end(),
              [&](std::size_t a, std::size_t b) { return unit(a).highest < unit(b).highest; });
    std::size_t needed = 0;
    for (; !room_.fits(); ++needed) {
        room_.set_fate(by_importance[needed], Fate::goes);
        least.highest = unit(by_importance[needed]).highest;
    }
    room_.open_all();
    if (needed == 0) {
        return least;
    }
    for (std::size_t i : by_importance) {
        if (unit(i).highest > least.highest) {
            room_.set_fate(i, Fate::stays);
        }
    }
    if (question_.order == VictimOrder::fewest) {
        room_.open_all();  // more important ones may be fewer
    }
    const auto missing = room_.missing().value_or(VictimRoom::Missing());
    room_.open_all();
    least.victims = std::max<std::int64_t>(1, missing.units);
    least.importance_sum =
        std::max(missing.weight, least.victims * unit(by_importance.front()).highest);
    return least;
}

VictimAnswer VictimSearch::find(const Limits& limits) {
    if (!room_.can_fit()) {
        return {};
    }
    std::vector<std::size_t> all(question_.units.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (!allowed_by_rules(all)) {
        return {.outcome = RoomOutcome::other_rules, .set = {}};
    }
    VictimAnswer answer = search(false, limits);
    if (answer.outcome == RoomOutcome::found && !allowed_by_rules(answer.set.units)) {
        const std::size_t before = answer.steps;
        answer = search(true, limits);
        answer.steps += before;
    }
    return answer;
}

VictimAnswer VictimSearch::search(bool ask_rules, const Limits& limits) {
    limits_ = limits;
    ask_rules_ = ask_rules;
    cost_ = VictimCost();
    best_.reset();
    refused_ = 0;
    over_budget_ = false;
    complete_ = true;
    steps_ = 0;
    least_highest_ = bound()->highest;
    greedy();
    room_.open_all();
    set_branch_order();
    explore(0);
    room_.open_all();
    VictimAnswer answer{.outcome = RoomOutcome::too_dear, .set = {}, .exact = complete_};
    answer.steps = steps_;
    if (best_) {
        answer.outcome = RoomOutcome::found;
        answer.set = std::move(*best_);
    } else if (over_budget_) {
        answer.outcome = RoomOutcome::budgets;
    } else if (refused_ > 0) {
        answer.outcome = RoomOutcome::other_rules;
    }
    return answer;
}

std::vector<OwnerId> VictimSearch::leaving(std::span<const std::size_t> units) const {
    std::vector<OwnerId> owners(question_.gone.begin(), question_.gone.end());
    for (std::size_t i : units) {
        owners.insert(owners.end(), unit(i).owners.begin(), unit(i).owners.end());
    }
    return owners;
}

bool VictimSearch::allowed_by_rules(std::span<const std::size_t> units) {
    return question_.tenants == nullptr ||
           question_.tenants->serves(question_.node, leaving(units));
}

// While nobody is charged.
VictimCost VictimSearch::cost_of(std::span<const std::size_t> units) {
    VictimCost cost;
    for (std::size_t i : units) {
        cost.add(unit(i));
        cost.violations += charge(i, 1);
    }
    for (std::size_t i : units) {
        charge(i, -1);
    }
    return cost;
}

// How many more budgets are violated when the unit goes; or as many less when it comes back.
std::int64_t VictimSearch::charge(std::size_t unit, std::int32_t sign) {
    std::int64_t violations = 0;
    for (std::uint32_t at : covered_by_[unit]) {
        Budget& budget = budgets_[at];
        const std::int32_t before = std::max(0, budget.used - budget.allowed);
        budget.used += sign;
        violations += std::max(0, budget.used - budget.allowed) - before;
    }
    return violations;
}

bool VictimSearch::hopeless(const VictimCost& cost) const {
    return (best_ && !cheaper(cost, best_->cost, question_.order)) ||
           (limits_.worth && cheaper(*limits_.worth, cost, question_.order)) ||
           (!question_.violate_budgets && cost.violations > 0);
}

// A set that makes room. False when the door's rules forbid it: a larger one may do.
bool VictimSearch::offer(std::vector<std::size_t> units, const VictimCost& cost) {
    over_budget_ = over_budget_ || (!question_.violate_budgets && cost.violations > 0);
    if (hopeless(cost)) {
        return true;
    }
    if (ask_rules_ && !allowed_by_rules(units)) {
        ++refused_;
        return false;
    }
    best_ = VictimSet{std::move(units), cost};
    return true;
}

std::vector<std::size_t> VictimSearch::with_fate(Fate wanted) const {
    std::vector<std::size_t> units;
    for (std::size_t i = 0; i < question_.units.size(); ++i) {
        if (room_.fate(i) == wanted) {
            units.push_back(i);
        }
    }
    return units;
}

// Starting points: all go, and come back one by one where there is room for them, first in order
// of importance alone; then, of those that are not more important than the victims left, those on
// devices that many others hold.
void VictimSearch::greedy() {
    std::vector<std::size_t> order = least_wanted_first();
    spare_in(order);
    const std::int64_t highest = best_ ? best_->cost.highest : INT64_MAX;
    const std::vector<bool> violates = violating();
    for (ClassIndex one : question_.wanted) {
        const DemandClass& wanted = question_.classes[one];
        room_.open_all();
        std::vector<std::pair<std::int64_t, std::uint8_t>> places;
        for (std::size_t i = 0; i < question_.units.size(); ++i) {
            places.push_back(room_.place_of(i, wanted));
        }
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const auto rank = [&](std::size_t i) {
                return std::tuple(static_cast<bool>(violates[i]), unit(i).highest > highest,
                                  places[i]);
            };
            return rank(a) > rank(b);
        });
        spare_in(order);
    }
}

// Who would violate a budget if all went, the least important first.
std::vector<bool> VictimSearch::violating() const {
    std::vector<std::size_t> order(question_.units.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return unit(a).highest < unit(b).highest;
    });
    std::vector<std::int32_t> used(budgets_.size());
    std::vector<bool> violates(question_.units.size());
    for (std::size_t i : order) {
        for (std::uint32_t at : covered_by_[i]) {
            violates[i] = ++used[at] > budgets_[at].allowed || violates[i];
        }
    }
    return violates;
}

// In what order units are spared: who violates a budget, then the most important, then the oldest.
std::vector<std::size_t> VictimSearch::least_wanted_first() const {
    const std::vector<bool> violates = violating();
    std::vector<std::size_t> order(question_.units.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(static_cast<bool>(violates[b]), unit(b).highest, unit(a).start) <
               std::tuple(static_cast<bool>(violates[a]), unit(a).highest, unit(b).start);
    });
    return order;
}

// Those that go, and those that still may.
std::vector<std::size_t> VictimSearch::not_staying() const {
    std::vector<std::size_t> units = with_fate(Fate::goes);
    const std::vector<std::size_t> open = with_fate(Fate::open);
    units.insert(units.end(), open.begin(), open.end());
    return units;
}

void VictimSearch::spare_in(std::span<const std::size_t> order) {
    for (std::size_t i : order) {
        room_.set_fate(i, Fate::stays);
        const bool room = room_.can_fit();
        if (!room || (ask_rules_ && !allowed_by_rules(not_staying()))) {
            room_.set_fate(i, Fate::goes);
        }
    }
    std::vector<std::size_t> units = with_fate(Fate::goes);
    const VictimCost cost = cost_of(units);
    offer(std::move(units), cost);
}

// Units that hold nothing that is short are left out, unless the door's rules may want them gone;
// and those that are too important to be in a better set than is known.
void VictimSearch::set_branch_order() {
    const bool by_importance = question_.order == VictimOrder::least_important;
    const std::int64_t highest =
        by_importance && best_ && best_->cost.violations == 0 ? best_->cost.highest : INT64_MAX;
    order_.clear();
    const DemandClass& wanted = question_.classes[question_.wanted.front()];
    std::vector<std::pair<std::int64_t, std::uint8_t>> places;
    for (std::size_t i = 0; i < question_.units.size(); ++i) {
        places.push_back(room_.place_of(i, wanted));
        if (unit(i).highest <= highest && (ask_rules_ || room_.matters(i))) {
            order_.push_back(i);
        } else {
            room_.set_fate(i, Fate::stays);
        }
    }
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
        return std::tuple(places[a], unit(a).highest, unit(b).start) <
               std::tuple(places[b], unit(b).highest, unit(a).start);
    });
    least_important_.assign(order_.size() + 1, INT64_MAX);
    for (std::size_t at = order_.size(); at-- > 0;) {
        least_important_[at] = std::min(least_important_[at + 1], unit(order_[at]).highest);
    }
}

// What any set costs that is made of those that go and of open ones from here on.
VictimCost VictimSearch::at_least(const VictimRoom::Missing& more, std::size_t at) const {
    VictimCost cost = cost_;
    if (cost.highest < least_highest_) {
        cost.highest = least_highest_;
        cost.start = kNeverStarted;
    }
    if (more.units > 0 && at < order_.size()) {
        cost.victims += more.units;
        cost.importance_sum += std::max(more.weight, more.units * least_important_[at]);
    }
    return cost;
}

void VictimSearch::explore(std::size_t at) {
    if (steps_ == limits_.steps || refused_ >= limits_.refusals) {
        complete_ = false;
        return;
    }
    ++steps_;
    const auto more = room_.missing();
    if (!more || hopeless(at_least(*more, at))) {
        over_budget_ = over_budget_ || (!question_.violate_budgets && cost_.violations > 0);
        return;
    }
    if (more->units == 0 && room_.fits() && offer(with_fate(Fate::goes), cost_)) {
        return;
    }
    while (at < order_.size() && !room_.open(order_[at])) {
        ++at;
    }
    if (at < order_.size()) {
        explore_with(order_[at], at + 1);
        explore_without(order_[at], at + 1);
    }
}

void VictimSearch::explore_with(std::size_t index, std::size_t at) {
    const VictimCost before = cost_;
    room_.set_fate(index, Fate::goes);
    cost_.add(unit(index));
    cost_.violations += charge(index, 1);
    explore(at);
    charge(index, -1);
    cost_ = before;
    room_.set_fate(index, Fate::open);
}

void VictimSearch::explore_without(std::size_t index, std::size_t at) {
    std::vector<std::size_t> staying{index};
    room_.set_fate(index, Fate::stays);
    for (std::size_t later = at; later < order_.size() && !ask_rules_; ++later) {
        const std::size_t other = order_[later];
        if (room_.open(other) && replaces(index, other)) {
            room_.set_fate(other, Fate::stays);
            staying.push_back(other);
        }
    }
    if (room_.can_fit()) {
        explore(at);
    }
    for (std::size_t i : staying) {
        room_.set_fate(i, Fate::open);
    }
}

// Whether one need not go where the other stays: it frees no more and costs no less.
bool VictimSearch::replaces(std::size_t a, std::size_t b) const {
    const VictimUnit& one = unit(a);
    const VictimUnit& other = unit(b);
    const bool younger = one.highest < other.highest || one.start >= other.start;
    const bool lighter = one.highest <= other.highest && one.owners.size() <= other.owners.size() &&
                         one.importance_sum <= other.importance_sum && younger;
    return lighter && (covered_by_[a].empty() || covered_by_[a] == covered_by_[b]) &&
           room_.frees_as_much(a, b);
}

}  // namespace tessera
