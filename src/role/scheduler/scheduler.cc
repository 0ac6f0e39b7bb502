#include "role/scheduler/scheduler.h"

#include <utility>

#include "base/assert.h"
#include "base/hash.h"
#include "model/pod_rules.h"
#include "role/wording/decision_words.h"

namespace tessera {
namespace {

constexpr std::string_view kUnschedulable = "Unschedulable";
constexpr std::string_view kSchedulerError = "SchedulerError";
// Where those stand whose manifest cannot be served: only a change of it helps them.
constexpr LineKey kBrokenLine{0};
// Above all lines of those that ask for the same.
constexpr std::uint64_t kLonelyLines = std::uint64_t{1} << 63;
// Lines that are kept though nobody stands in them.
constexpr std::size_t kSpareLines = 1'024;

void add(Hash& hash, std::string_view text) {
    for (char c : text) {
        hash.add(static_cast<unsigned char>(c));
    }
    hash.add(text.size());
}

// Of what people may change on a pod that waits. Its conditions, which we write ourselves, are not
// in it: nobody is helped by them.
std::uint64_t trait_of(const Pod& pod) {
    Hash hash;
    for (const StringMap* map : {&pod.labels, &pod.annotations, &pod.node_selector}) {
        for (const auto& [key, value] : *map) {
            add(hash, key);
            add(hash, value);
        }
        hash.add(map->size());
    }
    hash.add(pod.tolerations.size());
    return hash.value();
}

PodKey key_of(const BindPlan& plan) { return {plan.space, plan.name, plan.uid}; }

}  // namespace

Scheduler::Scheduler(FeedTarget cluster, PodReports& reports, SchedulerOptions options,
                     SchedulerPorts ports)
    : mirror_(cluster.mirror),
      mutex_(cluster.mutex),
      reports_(reports),
      options_(std::move(options)),
      ports_(std::move(ports)),
      queue_(options_.queue) {}

// Ours if it calls us by one of our names and nothing holds it back.
std::optional<std::string_view> Scheduler::policy_of(const Pod& pod) const {
    const std::string* policy = find(options_.names, pod.scheduler_name);
    if (policy == nullptr || pod.deleting || !rules_of(pod).gates.empty()) {
        return std::nullopt;
    }
    return *policy;
}

// By its own word, so that the order outlives this process.
Nanoseconds Scheduler::first_seen(const Pod& pod) const {
    return pod.created_s > 0 ? Nanoseconds(pod.created_s * 1'000'000'000) : options_.wall();
}

void Scheduler::pod_waits(PodIndex index, const Pod& pod) {
    const UnitIndex unit = unit_of(index);
    const auto policy = policy_of(pod);
    if (!policy) {
        pod_settled(index);
        return;
    }
    if (waiting_.size() <= index.slot()) {
        waiting_.resize(index.slot() + 1);
    }
    Waiting& known = waiting_[index.slot()];
    known.policy = *policy;
    const auto ask = mirror_.ask(index, *policy);
    const std::uint64_t trait = trait_of(pod);
    const bool is_new = !queue_.has(unit);
    const std::int32_t priority = ask ? ask->priority : pod.priority.value_or(0);
    queue_.add(unit, {priority, is_new ? first_seen(pod) : queue_.rank(unit).first_seen});
    if (!is_new && known.trait != trait) {
        queue_.changed(unit);
    }
    known.trait = trait;
    ports_.wake(Nanoseconds(0));
}

void Scheduler::pod_settled(PodIndex index) {
    const UnitIndex unit = unit_of(index);
    if (queue_.has(unit)) {
        queue_.remove(unit);
        waiting_[index.slot()] = {};
        reports_.forget(mirror_.key_of(index).uid);
        ports_.wake(Nanoseconds(0));  // its line may have been waiting for its end
    }
}

// All are asked about anew.
void Scheduler::asks_changed() {
    queue_.flush(options_.clock(), Nanoseconds(0));
    line_keys_.clear();
    lines_.clear();
    ports_.wake(Nanoseconds(0));
}

void Scheduler::neighbours_changed() {
    if (!neighbours_) {
        neighbours_ = true;
        ports_.wake(Nanoseconds(0));
    }
}

void Scheduler::room_appeared() {
    if (!room_) {
        room_ = true;
        ports_.wake(Nanoseconds(0));
    }
}

void Scheduler::run() {
    if (!ports_.why_not_ready().empty()) {
        return;  // it is asked for again when that has changed
    }
    Outcome outcome = decide_some();
    for (auto& [pod, plan] : outcome.plans) {
        bind(pod, std::move(plan));
    }
    for (const Refused& one : outcome.refused) {
        reports_.refused(one.pod, one.why);
    }
    wake_again();
}

Scheduler::Outcome Scheduler::decide_some() {
    Outcome outcome;
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = options_.clock();
    queue_.flush(now, options_.longest_parked);
    wake_who_has_room();
    for (std::size_t i = 0; i < options_.run_length && binding_ < options_.max_binding; ++i) {
        const auto unit = queue_.pop(now);
        if (!unit) {
            break;
        }
        decide(pod_of(*unit), outcome);
    }
    return outcome;
}

void Scheduler::wake_who_has_room() {
    const bool room = std::exchange(room_, false);
    const bool neighbours = std::exchange(neighbours_, false);
    if (room) {
        queue_.room([&](LineKey line) { return mirror_.serves(lines_.at(line).ask); });
    }
    if (room || neighbours) {
        queue_.happened(Cause::pods, options_.clock());
    }
}

void Scheduler::decide(PodIndex pod, Outcome& outcome) {
    const Nanoseconds now = options_.clock();
    auto plan = mirror_.place(pod, {waiting_[pod.slot()].policy, now});
    if (on_decision) {
        on_decision(options_.clock() - now);
    }
    if (plan && *plan) {
        ++counts_.decided;
        ++binding_;
        waiting_[pod.slot()].binding = true;
        queue_.found(unit_of(pod));
        outcome.plans.emplace_back(pod, std::move(**plan));
        return;
    }
    if (plan) {
        park(pod, outcome);
        return;
    }
    // Its manifest, which only its owner can mend; or a bind of before, whose end is not known yet.
    const bool broken = plan.error().kind == ErrorKind::invalid;
    outcome.refused.push_back(
        {mirror_.key_of(pod), {broken ? kUnschedulable : kSchedulerError, plan.error().message}});
    if (broken) {
        queue_.park(unit_of(pod), {kBrokenLine, Causes()}, now);
    } else {
        queue_.retry(unit_of(pod), now);
    }
}

void Scheduler::park(PodIndex pod, Outcome& outcome) {
    ++counts_.parked;
    const Nanoseconds now = options_.clock();
    const std::string_view policy = waiting_[pod.slot()].policy;
    const auto ask = mirror_.ask(pod, policy);
    TESSERA_ASSERT(ask.has_value(), "a pod that was to be placed can be asked about");
    // Whom rules between pods concern stands alone: nobody knows who else they would let in.
    const LineKey key = ask->by_rules ? LineKey(kLonelyLines | pod.value()) : line_of(*ask);
    queue_.park(unit_of(pod), {key, Causes::of(ask->by_rules ? Cause::pods : Cause::room)}, now);
    PodKey who = mirror_.key_of(pod);
    if (!reports_.listens(who.uid)) {
        return;
    }
    outcome.refused.push_back(
        {std::move(who), {kUnschedulable, ask->by_rules ? words_about(pod) : words_of(key, pod)}});
}

std::string Scheduler::words_about(PodIndex pod) {
    const auto why = mirror_.why_waiting(pod, waiting_[pod.slot()].policy);
    return why ? refusal_line(*why, {[&](NodeIndex node) { return mirror_.node_name(node); },
                                     mirror_.names()})
               : why.error().message;
}

// Why nothing of the line fits; all who stand in it may be told the same.
std::string Scheduler::words_of(LineKey key, PodIndex pod) {
    const Nanoseconds now = options_.clock();
    Line& line = lines_.at(key);
    if (line.words.empty() || line.words_at + options_.words_last <= now) {
        line.words = words_about(pod);
        line.words_at = now;
    }
    return line.words;
}

LineKey Scheduler::line_of(const Ask& ask) {
    if (const auto known = line_keys_.find(ask); known != line_keys_.end()) {
        return known->second;
    }
    drop_empty_lines();
    const LineKey key(++last_line_);
    line_keys_.emplace(ask, key);
    lines_.emplace(key, Line{ask, {}, {}});
    return key;
}

void Scheduler::drop_empty_lines() {
    if (lines_.size() < 2 * queue_.lines() + kSpareLines) {
        return;
    }
    std::erase_if(lines_, [&](const auto& entry) { return !queue_.has_line(entry.first); });
    std::erase_if(line_keys_, [&](const auto& entry) { return !lines_.contains(entry.second); });
}

void Scheduler::bind(PodIndex pod, BindPlan plan) {
    PodKey key = key_of(plan);
    std::string node = plan.node;
    ports_.bind(std::move(plan),
                [this, pod, key = std::move(key), node = std::move(node)](WriteOutcome ending) {
                    bind_ended(pod, key, node, std::move(ending));
                });
}

void Scheduler::bind_ended(PodIndex pod, const PodKey& key, const std::string& node,
                           WriteOutcome ending) {
    const bool bound = ending.end == WriteEnd::done;
    {
        const std::lock_guard lock(mutex_);
        const Nanoseconds now = options_.clock();
        mirror_.bind_ended(key, ending, now);
        --binding_;
        ++(bound ? counts_.bound : counts_.failed);
        // The watch may have told first; then the index may be another pod's by now.
        const UnitIndex unit = unit_of(pod);
        if (queue_.has(unit) && waiting_[pod.slot()].binding &&
            mirror_.key_of(pod).uid == key.uid) {
            waiting_[pod.slot()].binding = false;
            bound ? queue_.remove(unit) : queue_.retry(unit, now);
        }
    }
    if (bound) {
        reports_.placed(key, node);
    } else {
        reports_.refused(key, {kSchedulerError, std::move(ending.message)});
    }
    ports_.wake(Nanoseconds(0));
}

void Scheduler::wake_again() {
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = options_.clock();
    if (binding_ >= options_.max_binding) {
        return;  // a bind that ends wakes us
    }
    if (queue_.any_ready(now)) {
        ports_.wake(Nanoseconds(0));
    } else if (const auto next = queue_.next_ready()) {
        ports_.wake(*next - now);
    }
}

SchedulerCounts Scheduler::counts() const {
    const std::lock_guard lock(mutex_);
    SchedulerCounts counts = counts_;
    counts.queue = queue_.counts();
    counts.binding = binding_;
    return counts;
}

}  // namespace tessera
