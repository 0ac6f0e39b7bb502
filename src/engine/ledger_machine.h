// Runs operations on a ledger and on its plain model, and compares everything after each step.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/rng.h"
#include "engine/ledger.h"
#include "engine/ledger_operations.h"
#include "engine/ledger_reference.h"
#include "engine/rebuild.h"
#include "engine/statement.h"

namespace tessera::reference {

// Stops at the first difference: its text is the failure.
#define REQUIRE_SAME(condition, what)                                              \
    do {                                                                           \
        if (!(condition)) {                                                        \
            return fmt::format("{} ({}) after step {}", what, #condition, steps_); \
        }                                                                          \
    } while (false)

class Machine final : private NodeObserver {
  public:
    explicit Machine(std::int32_t milli_per_gpu)
        : milli_(milli_per_gpu),
          model_(milli_per_gpu),
          ledger_(std::make_unique<Ledger>(Cluster({.milli_per_gpu = MilliGpu(milli_per_gpu)}))) {
        Rng rng(5);
        for (std::uint32_t node = 0; node < kNodes; ++node) {
            NodeSpec spec = draw_node(rng, node);
            spec.gpus.resize(3);
            for (GpuSpec& gpu : spec.gpus) {
                gpu.memory = MemoryMib(100);
                gpu.mode = node == 2 ? AllocatorMode::claim : AllocatorMode::annotation;
            }
            model_.specs.push_back(spec);
            model_.present.push_back(true);
            model_.on_node.emplace_back();
            TESSERA_ASSERT(ledger_->add_node(spec).has_value(), "the first nodes are good");
        }
        ledger_->observe(this);
    }
    ~Machine() {
        while (!statements_.empty()) {
            statements_.pop_back();
        }
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // "" when ledger and model agree afterwards.
    std::string step(const Op& op) {
        ++steps_;
        told_.clear();
        const std::vector<NodeState> before(ledger_->cluster().nodes().begin(),
                                            ledger_->cluster().nodes().end());
        const bool rebuilt = op.kind == Kind::rebuild;
        std::string fault = apply(op);
        if (fault.empty()) {
            fault = compare();
        }
        if (fault.empty() && !rebuilt) {
            fault = compare_told(before);
        }
        return fault;
    }

  private:
    void node_changed(NodeIndex node) override { told_.push_back(node); }

    std::string apply(const Op& op) {
        Rng rng(op.detail);
        const OwnerId owner = owner_of(op.owner % kOwners);
        const std::uint32_t node = op.node % kNodes;
        const bool open = !statements_.empty();
        switch (op.kind) {
            case Kind::assume:
                return assume(rng, owner, node);
            case Kind::release:
                return release(owner);
            case Kind::add_user:
            case Kind::drop_user:
                return use(op.kind == Kind::add_user, OwnerId::claim(op.detail % 3), owner);
            case Kind::begin:
            case Kind::checkpoint:
            case Kind::roll_back:
            case Kind::end:
                return statement(op);
            default:
                // Events wait until the statements are over.
                return open ? "" : event(op, owner, node);
        }
    }

    std::string event(const Op& op, OwnerId owner, std::uint32_t node) {
        Rng rng(op.detail);
        switch (op.kind) {
            case Kind::confirm:
                return confirm(owner, draw_placement(rng, owner, node), rng);
            case Kind::confirm_as_held:
                return model_.owners.contains(owner)
                           ? confirm(owner, model_.owners.at(owner).placement, rng)
                           : "";
            case Kind::terminate:
                return terminate(owner);
            case Kind::expire:
                return expire(Nanoseconds(now_ += static_cast<std::int64_t>(rng.below(6))));
            case Kind::set_deadline:
                return set_deadline(rng, owner);
            case Kind::rebuild:
                return rebuild(rng);
            default:
                return change_node(op, NodeIndex(node));
        }
    }

    std::string assume(Rng& rng, OwnerId owner, std::uint32_t node) {
        const Placement placement = draw_placement(rng, owner, node);
        const Terms terms = draw_terms(rng, now_);
        const bool expected = model_.grantable(owner, placement, terms.tolerates);
        const auto done = statements_.empty() ? ledger_->assume(owner, placement, terms)
                                              : statements_.back()->assume(owner, placement, terms);
        REQUIRE_SAME(done.has_value() == expected,
                     done ? "assume was granted" : done.error().message);
        if (expected) {
            model_.put(owner, {.placement = placement,
                               .state = OwnerState::assumed,
                               .deadline = terms.deadline,
                               .tolerates = terms.tolerates,
                               .start = model_.next_start++,
                               .shares = share_ids(owner)});
            return new_ids_are_new(owner);
        }
        return "";
    }

    std::string release(OwnerId owner) {
        const bool used = model_.drop_uses(owner);
        const bool expected = model_.owners.contains(owner) || used;
        const auto done =
            statements_.empty() ? ledger_->release(owner) : statements_.back()->release(owner);
        REQUIRE_SAME(done.has_value() == expected, "release");
        if (model_.owners.contains(owner)) {
            retire(owner);
            model_.take(owner);
        }
        return "";
    }

    std::string use(bool add, OwnerId claim, OwnerId pod) {
        const bool pods = pod.kind() == OwnerKind::pod;
        const bool expected = pods && (!add || model_.owners.contains(claim));
        Expected<void> done;
        if (statements_.empty()) {
            done = add ? ledger_->add_user(claim, pod) : ledger_->drop_user(claim, pod);
        } else {
            Statement& last = *statements_.back();
            done = add ? last.add_user(claim, pod) : last.drop_user(claim, pod);
        }
        REQUIRE_SAME(done.has_value() == expected, "use of a claim");
        if (expected && add) {
            model_.users[claim].insert(pod);
        } else if (expected && model_.users.contains(claim)) {
            model_.users[claim].erase(pod);
            if (model_.users[claim].empty()) {
                model_.users.erase(claim);
            }
        }
        return "";
    }

    std::string confirm(OwnerId owner, const Placement& placement, Rng& rng) {
        const Terms terms = draw_terms(rng, now_);
        const auto done = ledger_->confirm(owner, placement, terms);
        REQUIRE_SAME(done.has_value(), done.error().message);
        const auto known = model_.owners.find(owner);
        if (known == model_.owners.end()) {
            REQUIRE_SAME(done->outcome == Confirmation::Outcome::adopted, "confirm of the unknown");
            put_confirmed(owner, placement, terms, model_.next_start++);
            return new_ids_are_new(owner);
        }
        Held& held = known->second;
        // The order of grants and the alternative's number do not matter.
        Placement same = placement;
        same.alternative = held.placement.alternative;
        const Grants& had = held.placement.grants;
        if (std::is_permutation(had.begin(), had.end(), same.grants.begin(), same.grants.end())) {
            same.grants = had;
        }
        if (same == held.placement) {
            const bool news = held.state == OwnerState::assumed;
            REQUIRE_SAME(done->outcome == (news ? Confirmation::Outcome::confirmed
                                                : Confirmation::Outcome::unchanged),
                         "confirm as held");
            held.state = news ? OwnerState::confirmed : held.state;
            held.deadline = kNoDeadline;
            held.tolerates = terms.tolerates;
            held.placement.alternative = placement.alternative;
            return "";
        }
        REQUIRE_SAME(done->outcome == Confirmation::Outcome::moved, "confirm elsewhere");
        REQUIRE_SAME(done->from == held.placement.node, "where it moved from");
        const bool ending = held.state == OwnerState::terminating;
        const std::uint64_t start = held.start;
        retire(owner);
        model_.take(owner);
        put_confirmed(owner, placement, terms, start);
        model_.owners.at(owner).state = ending ? OwnerState::terminating : OwnerState::confirmed;
        return new_ids_are_new(owner);
    }

    void put_confirmed(OwnerId owner, const Placement& placement, const Terms& terms,
                       std::uint64_t start) {
        model_.put(owner, {.placement = placement,
                           .state = OwnerState::confirmed,
                           .deadline = kNoDeadline,
                           .tolerates = terms.tolerates,
                           .start = start,
                           .shares = share_ids(owner)});
    }

    std::string terminate(OwnerId owner) {
        const auto done = ledger_->terminate(owner);
        REQUIRE_SAME(done.has_value() == model_.owners.contains(owner), "terminate");
        if (done) {
            model_.owners.at(owner).state = OwnerState::terminating;
            model_.owners.at(owner).deadline = kNoDeadline;
        }
        return "";
    }

    std::string set_deadline(Rng& rng, OwnerId owner) {
        const Nanoseconds deadline = draw_terms(rng, now_).deadline;
        const auto held = model_.owners.find(owner);
        const bool expected =
            held != model_.owners.end() && held->second.state == OwnerState::assumed;
        const auto done = ledger_->set_deadline(owner, deadline);
        REQUIRE_SAME(done.has_value() == expected, "set_deadline");
        if (expected) {
            held->second.deadline = deadline;
        }
        return "";
    }

    std::string expire(Nanoseconds now) {
        std::vector<std::pair<std::uint64_t, OwnerId>> due;
        for (const auto& [owner, held] : model_.owners) {
            if (held.deadline != kNoDeadline && held.deadline <= now) {
                due.emplace_back(held.start, owner);
            }
        }
        std::sort(due.begin(), due.end());
        const std::vector<OwnerId> expired = ledger_->expire(now);
        REQUIRE_SAME(expired.size() == due.size(), "expire");
        for (std::size_t at = 0; at < due.size(); ++at) {
            REQUIRE_SAME(expired[at] == due[at].second, "the order of expiry");
            retire(expired[at]);
            model_.drop_uses(expired[at]);
            model_.take(expired[at]);
        }
        return "";
    }

    std::string change_node(const Op& op, NodeIndex node) {
        Rng rng(op.detail);
        NodeSpec& spec = model_.specs.at(node.slot());
        if (op.kind == Kind::remove_node) {
            model_.present[node.slot()] = false;
            spec = NodeSpec();
            spec.pods = 0;
            spec.schedulable = false;
            REQUIRE_SAME(ledger_->remove_node(node).has_value(), "remove_node");
        } else if (op.kind == Kind::set_health) {
            const GpuIndex gpu(static_cast<std::uint8_t>(rng.below(3)));
            const auto health = static_cast<Health>(rng.below(3));
            const bool known = gpu.slot() < spec.gpus.size();
            REQUIRE_SAME(ledger_->set_health(node, gpu, health).has_value() == known, "set_health");
            if (known) {
                model_.present[node.slot()] = true;
                spec.gpus[gpu.slot()].health = health;
            }
        } else {
            model_.present[node.slot()] = true;
            spec = draw_node(rng, node.value());
            REQUIRE_SAME(ledger_->update_node(node, spec).has_value(), "update_node");
        }
        return "";
    }

    std::string statement(const Op& op) {
        const bool open = !statements_.empty();
        if (op.kind == Kind::begin && statements_.size() < 3) {
            if (!open) {
                twin_ = std::make_unique<Ledger>(*ledger_);
            }
            statements_.push_back(std::make_unique<Statement>(*ledger_));
            saved_.push_back({model_, {}});
        } else if (op.kind == Kind::checkpoint && open) {
            saved_.back().second.emplace_back(statements_.back()->checkpoint(), model_);
        } else if (op.kind == Kind::roll_back && open && !saved_.back().second.empty()) {
            auto& marks = saved_.back().second;
            marks.resize(op.detail % marks.size() + 1, marks.front());
            statements_.back()->roll_back(marks.back().first);
            model_ = marks.back().second;
        } else if (op.kind == Kind::end && open) {
            const bool commit = op.detail % 3 == 0;
            if (commit) {
                statements_.back()->commit();
            } else {
                model_ = saved_.back().first;
            }
            statements_.pop_back();  // which discards, unless committed
            saved_.pop_back();
            return commit || !statements_.empty() ? "" : compare_future(op.detail);
        }
        return "";
    }

    // After a roll back the future is the same too: what a copy from before the statement would do
    // next, down to the ids of its shares.
    std::string compare_future(std::uint32_t seed) {
        Ledger rolled_back = *ledger_;
        rolled_back.observe(nullptr);
        twin_->observe(nullptr);
        Rng rng(seed);
        for (int step = 0; step < 12; ++step) {
            const OwnerId owner = owner_of(static_cast<std::uint32_t>(rng.below(kOwners)));
            const auto node = static_cast<std::uint32_t>(rng.below(kNodes));
            const Placement placement = draw_placement(rng, owner, node);
            for (Ledger* ledger : {&rolled_back, twin_.get()}) {
                if (step % 3 == 0) {
                    (void)ledger->release(owner);
                } else {
                    (void)ledger->confirm(owner, placement);
                }
            }
            REQUIRE_SAME(share_ids(owner, rolled_back) == share_ids(owner, *twin_),
                         "the ids after a roll back");
        }
        return "";
    }

    // Start again from what the API would list, in any order.
    std::string rebuild(Rng& rng) {
        Cluster cluster({.milli_per_gpu = MilliGpu(milli_)});
        for (std::uint32_t node = 0; node < kNodes; ++node) {
            cluster.add_node(model_.specs[node]);
            if (!model_.present[node]) {
                cluster.remove_node(NodeIndex(node));
            }
        }
        std::vector<std::pair<std::uint64_t, OwnerId>> list;
        for (const auto& [owner, held] : model_.owners) {
            list.emplace_back(rng.next(), owner);
        }
        std::sort(list.begin(), list.end());
        Rebuild rebuilt(std::move(cluster));
        for (const auto& [order, owner] : list) {
            const Held& held = model_.owners.at(owner);
            const Rebuild::Holding holding{
                .placement = held.placement,
                .started = Nanoseconds(static_cast<std::int64_t>(held.start)),
                .terms = {.deadline = kNoDeadline, .tolerates = held.tolerates},
                .terminating = held.state == OwnerState::terminating};
            const auto& pods = model_.users[owner];
            const std::vector<OwnerId> users(pods.begin(), pods.end());
            const bool claim = owner.kind() == OwnerKind::claim ||
                               (owner.kind() == OwnerKind::foreign && rng.below(2) == 0);
            REQUIRE_SAME((claim ? rebuilt.add_claim(owner, holding, users)
                                : rebuilt.add_pod(owner, holding)),
                         "rebuild");
        }
        std::erase_if(model_.users, [](const auto& item) { return item.second.empty(); });
        REQUIRE_SAME(!rebuilt.finish(), "a rebuild waits for both lists");
        rebuilt.claims_complete();
        rebuilt.pods_complete();
        auto ledger = rebuilt.finish();
        REQUIRE_SAME(ledger.has_value() && rebuilt.faults().empty(), "rebuild");
        ledger_ = std::make_unique<Ledger>(std::move(*ledger));
        ledger_->observe(this);
        ended_.clear();
        restart_model();
        return "";
    }

    void restart_model() {
        std::map<std::uint64_t, OwnerId> by_age;
        for (const auto& [owner, held] : model_.owners) {
            by_age[held.start] = owner;
        }
        for (auto& list : model_.on_node) {
            list.clear();
        }
        model_.next_start = 0;
        for (const auto& [start, owner] : by_age) {
            Held held = model_.owners.at(owner);
            held.start = model_.next_start++;
            held.deadline = kNoDeadline;
            held.shares = share_ids(owner);
            if (held.state == OwnerState::assumed) {
                held.state = OwnerState::confirmed;
            }
            model_.put(owner, std::move(held));
        }
    }

    std::vector<ShareId> share_ids(OwnerId owner) const { return share_ids(owner, *ledger_); }
    static std::vector<ShareId> share_ids(OwnerId owner, const Ledger& ledger) {
        std::vector<ShareId> ids;
        for (const ShareView& share : ledger.shares(owner)) {
            ids.push_back(share.id);
        }
        return ids;
    }

    void retire(OwnerId owner) {
        if (statements_.empty()) {  // what a statement ends may come back
            const auto& ids = model_.owners.at(owner).shares;
            ended_.insert(ended_.end(), ids.begin(), ids.end());
            while (ended_.size() > 64) {
                ended_.pop_front();
            }
        }
    }

    std::string new_ids_are_new(OwnerId owner) const {
        for (ShareId id : model_.owners.at(owner).shares) {
            REQUIRE_SAME(std::find(ended_.begin(), ended_.end(), id) == ended_.end(),
                         "a share id is used twice");
        }
        return "";
    }

    std::string compare() const {
        std::size_t shares = 0;
        std::set<ShareId> ids;
        for (const auto& [owner, held] : model_.owners) {
            const auto found = ledger_->find(owner);
            REQUIRE_SAME(found.has_value(), "an owner is lost");
            REQUIRE_SAME(found->state == held.state && found->node == held.placement.node &&
                             found->start == held.start && found->tolerates == held.tolerates &&
                             found->deadline == held.deadline,
                         "an owner differs");
            REQUIRE_SAME(*ledger_->placement(owner) == held.placement, "a placement differs");
            REQUIRE_SAME(share_ids(owner) == held.shares, "share ids differ");
            for (std::size_t at = 0; at < held.shares.size(); ++at) {
                const auto share = ledger_->share(held.shares[at]);
                REQUIRE_SAME(share && share->owner == owner &&
                                 share->grant == held.placement.grants[at] &&
                                 share->admin_access == held.placement.admin_access,
                             "a share differs");
            }
            for (std::uint32_t n = 0; n < 3; ++n) {  // the last is never drawn
                REQUIRE_SAME(
                    ledger_->grants(owner, RequestIndex(n)) == held.grants(RequestIndex(n)),
                    "what a request holds");
            }
            shares += held.shares.size();
            ids.insert(held.shares.begin(), held.shares.end());
        }
        REQUIRE_SAME(ids.size() == shares && ledger_->share_count() == shares,
                     "a share is lost or doubled");
        REQUIRE_SAME(ledger_->size() == model_.owners.size(), "the number of owners");
        for (ShareId id : ended_) {
            REQUIRE_SAME(!ledger_->share(id), "a share lives after its end");
        }
        for (std::uint32_t n = 0; n < 3; ++n) {
            const OwnerId claim = OwnerId::claim(n);
            const auto users = ledger_->users(claim);
            const auto known = model_.users.find(claim);
            const std::set<OwnerId> expected =
                known == model_.users.end() ? std::set<OwnerId>() : known->second;
            REQUIRE_SAME(std::equal(users.begin(), users.end(), expected.begin(), expected.end()),
                         "the users of a claim differ");
        }
        REQUIRE_SAME(ledger_->over_committed() == model_.over_committed(), "the alarms differ");
        std::int64_t milli = 0;
        std::int64_t gpus = 0;
        for (std::uint32_t node = 0; node < kNodes; ++node) {
            gpus += static_cast<std::int64_t>(model_.specs[node].gpus.size());
            for (const Sums::Gpu& gpu : model_.sums(NodeIndex(node)).gpus) {
                milli += gpu.milli;
            }
        }
        REQUIRE_SAME(
            ledger_->cluster().gpu_milli_used() == milli && ledger_->cluster().gpu_count() == gpus,
            "the cluster's sums");
        for (std::uint32_t node = 0; node < kNodes; ++node) {
            if (std::string fault = compare_node(NodeIndex(node)); !fault.empty()) {
                return fault;
            }
        }
        const std::vector<std::string> differences = ledger_->verify();
        REQUIRE_SAME(differences.empty(), differences.front());
        return "";
    }

    std::string compare_node(NodeIndex node) const {
        const Sums total = model_.sums(node);
        const NodeState& state = ledger_->cluster().node(node);
        const NodeSpec& spec = model_.specs.at(node.slot());
        const auto at_least_0 = [](std::int64_t value) { return value < 0 ? 0 : value; };
        REQUIRE_SAME(state.free_cpu_milli == at_least_0(spec.cpu.value() - total.cpu) &&
                         state.free_memory_mib == at_least_0(spec.memory.value() - total.memory) &&
                         state.free_pods == at_least_0(spec.pods - total.pods),
                     "what is free of a node");
        REQUIRE_SAME(
            state.gpu_pods == static_cast<std::int32_t>(total.gpu_starts.size()) &&
                state.oldest_start ==
                    (total.gpu_starts.empty() ? kNeverStarted : total.gpu_starts.front()) &&
                state.schedulable == spec.schedulable && state.gpu_count == spec.gpus.size(),
            "a node differs");
        REQUIRE_SAME(ledger_->owners_on(node) == model_.on_node.at(node.slot()),
                     "the owners on a node, or their order");
        int idle = 0;
        int empty = 0;
        std::size_t evicted = 0;
        for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
            const GpuState left = model_.left(node, gpu, total);
            const GpuState& shown = state.gpus.at(gpu);
            REQUIRE_SAME(left.idle_milli == shown.idle_milli &&
                             left.free_memory_mib == shown.free_memory_mib &&
                             left.shares == shown.shares && left.value == shown.value &&
                             left.free_slots == shown.free_slots,
                         "what is left of a GPU");
            if (spec.gpus[gpu].health == Health::ok) {
                idle += left.value;
                empty += left.shares == 0 ? 1 : 0;
            }
        }
        std::uint32_t sizes = 0;
        for (const auto& [owner, held] : model_.owners) {
            const Grants& grants = held.placement.grants;
            if (held.placement.node == node && !grants.empty() && !held.placement.admin_access) {
                sizes |=
                    grants.size() == 1 && grants[0].milli < kWholeGpu ? 1U : 1U << grants.size();
            }
            for (const DeviceGrant& grant : grants) {
                const bool out = held.placement.node == node && held.tolerates != Health::evict &&
                                 grant.gpu.slot() < spec.gpus.size() &&
                                 spec.gpus[grant.gpu.slot()].health == Health::evict;
                evicted += out ? 1 : 0;
            }
        }
        REQUIRE_SAME(state.idle_value == idle && state.empty_gpus == empty, "idle devices");
        REQUIRE_SAME(state.sizes == sizes, "the sizes of pods on a node");
        REQUIRE_SAME(ledger_->shares_to_evict(node).size() == evicted, "shares to evict");
        return "";
    }

    // The observer hears of each changed node, and of none twice.
    std::string compare_told(const std::vector<NodeState>& before) const {
        const std::set<NodeIndex> told(told_.begin(), told_.end());
        REQUIRE_SAME(told.size() == told_.size(), "a node was told twice");
        for (std::uint32_t n = 0; n < kNodes; ++n) {
            const NodeState& a = before[n];
            const NodeState& b = ledger_->cluster().node(NodeIndex(n));
            bool same = a.free_cpu_milli == b.free_cpu_milli &&
                        a.free_memory_mib == b.free_memory_mib && a.free_pods == b.free_pods &&
                        a.idle_value == b.idle_value && a.oldest_start == b.oldest_start &&
                        a.gpu_pods == b.gpu_pods && a.sizes == b.sizes && a.shape == b.shape &&
                        a.empty_gpus == b.empty_gpus && a.schedulable == b.schedulable;
            for (std::size_t gpu = 0; same && gpu < a.gpu_count; ++gpu) {
                same = a.gpus[gpu].idle_milli == b.gpus[gpu].idle_milli &&
                       a.gpus[gpu].free_memory_mib == b.gpus[gpu].free_memory_mib &&
                       a.gpus[gpu].shares == b.gpus[gpu].shares &&
                       a.gpus[gpu].kind == b.gpus[gpu].kind;
            }
            REQUIRE_SAME(same || told.contains(NodeIndex(n)), "a changed node was not told");
        }
        return "";
    }

    using Marks = std::vector<std::pair<Statement::Checkpoint, Model>>;

    std::int32_t milli_;
    Model model_;
    std::unique_ptr<Ledger> ledger_;
    std::unique_ptr<Ledger> twin_;  // a copy from before the outermost statement
    std::vector<std::unique_ptr<Statement>> statements_;
    std::vector<std::pair<Model, Marks>> saved_;  // one per statement: its begin, its checkpoints
    std::deque<ShareId> ended_;
    std::vector<NodeIndex> told_;
    std::int64_t now_ = 0;
    std::uint64_t steps_ = 0;
};

#undef REQUIRE_SAME

}  // namespace tessera::reference
