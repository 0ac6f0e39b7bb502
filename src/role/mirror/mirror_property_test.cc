// A mirror against a plain model (plain_model.h): an API server that tells late, twice or by a new
// list, and carries out writes that nobody waits for any more, other schedulers, and a
// kube-scheduler that asks the extender. TESSERA_PROPERTY_SCALE=n tries n times as many histories.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "role/intake/intake.h"
#include "role/mirror/mirror.h"
#include "role/mirror/plain_model.h"

namespace tessera {
namespace {

using testing::Event;
using testing::kDoubtFor;
using testing::kHoldFor;
using testing::one_in;
using testing::Pending;

struct Post {  // a Binding on its way to the API server
    PodKey key;
    BindPlan plan;
    std::int64_t until = 0;  // given up by us, it may be carried out before then
};

class History : private testing::PlainModel {
  public:
    explicit History(std::uint64_t seed) : PlainModel(seed), mirror_(options()) {
        for (int n = 0; n < 3; ++n) {
            change_node(n);
        }
        for (int i = 0; i < 6; ++i) {
            create_pod();
        }
        events_.clear();
        told_nodes_ = nodes_;
        told_pods_ = pods_;
        // In any order, and with events between them.
        list_maps();
        mirror_.replace_pods(values(told_pods_));
        if (one_in(rng_, 2)) {
            change_pod_status();
            deliver_all();
        }
        list_nodes();
        EXPECT_TRUE(mirror_.synced());
    }

    void run(int steps) {
        for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
            SCOPED_TRACE("step " + std::to_string(step));
            one_step();
            check();
        }
        deliver_all();
        while (!posts_.empty()) {
            end_post();
        }
        pass(10 * kHoldFor);
        deliver_all();
        hear();
        expire();
        list_pods();
        expire();
        pass(10 * kHoldFor);
        hear();
        expire();
        check();
        // But for those that are bound where no node is any more, of whose binds nobody told.
        const auto away = std::count_if(told_pods_.begin(), told_pods_.end(), [&](const auto& one) {
            return !one.second.node_name.empty() && !told_nodes_.contains(one.second.node_name);
        });
        EXPECT_LE(mirror_.held_count(), static_cast<std::size_t>(away));
        check_rebuilt();
    }

    std::map<std::string, int> tally;

  private:
    MirrorOptions options() {
        MirrorOptions result;
        result.signing_key = key_;
        if (one_in(rng_, 2)) {
            result.spare_names = 0;  // they are let go as often as can be
        }
        return result;
    }

    template <class Map>
    static std::vector<typename Map::mapped_type> values(const Map& map) {
        std::vector<typename Map::mapped_type> result;
        for (const auto& [key, value] : map) {
            result.push_back(value);
        }
        return result;
    }

    // --- what the mirror is told

    void deliver() {
        if (!events_.empty()) {
            const Event event = std::move(events_.front());
            events_.pop_front();
            tell(event);
            if (one_in(rng_, 5)) {
                tell(event);
            }
        }
    }

    void deliver_all() {
        while (!events_.empty()) {
            deliver();
        }
    }

    void tell(const Event& event) {
        switch (event.kind) {
            case Event::Kind::node:
                told_nodes_[event.node.name] = event.node;
                mirror_.node_changed(event.node);
                break;
            case Event::Kind::node_gone:
                told_nodes_.erase(event.node.name);
                mirror_.node_gone(event.node.name);
                break;
            case Event::Kind::pod:
                told(event.pod);
                mirror_.pod_changed(event.pod);
                break;
            case Event::Kind::pod_gone:
                forget(event.pod.uid);
                mirror_.pod_gone(event.pod);
                break;
            case Event::Kind::map:
                told_maps_[event.map.name] = event.map;
                mirror_.config_map_changed(event.map);
                break;
            case Event::Kind::map_gone:
                told_maps_.erase(event.map.name);
                mirror_.config_map_gone(event.map.space, event.map.name);
                break;
        }
    }

    void drop_events(std::initializer_list<Event::Kind> kinds) {
        std::erase_if(events_, [&](const Event& event) {
            return std::find(kinds.begin(), kinds.end(), event.kind) != kinds.end();
        });
    }

    void list_nodes() {
        drop_events({Event::Kind::node, Event::Kind::node_gone});
        told_nodes_ = nodes_;
        mirror_.replace_nodes(values(nodes_));
    }

    void list_maps() {
        drop_events({Event::Kind::map, Event::Kind::map_gone});
        told_maps_ = maps_;
        mirror_.replace_config_maps(values(maps_));
    }

    void list_pods() {
        drop_events({Event::Kind::pod, Event::Kind::pod_gone});
        const std::map<std::string, Pod> before = told_pods_;
        for (const auto& [uid, pod] : before) {
            if (!pods_.contains(uid)) {
                forget(uid);
            }
        }
        for (const auto& [uid, pod] : pods_) {
            told(pod);
        }
        for (auto& [uid, one] : pending_) {
            one.missed =
                one.missed || (one.state == Pending::State::bound && !told_pods_.contains(uid));
        }
        mirror_.replace_pods(values(pods_));
        hear();
    }

    // As a bookmark: true when nothing of pods is on its way.
    void hear() {
        const bool all = std::none_of(events_.begin(), events_.end(), [](const Event& event) {
            return event.kind == Event::Kind::pod || event.kind == Event::Kind::pod_gone;
        });
        heard_ = all ? now_ : heard_;
    }

    void expire() {
        mirror_.expire(Nanoseconds(now_), Nanoseconds(heard_));
        for (auto at = pending_.begin(); at != pending_.end();) {
            at = over(at->first, at->second) ? pending_.erase(at) : std::next(at);
        }
    }

    // --- kube-scheduler

    std::vector<std::string> names() const { return {"n0", "n1", "n2", "n3", "ghost"}; }

    void filter() {
        Pod* pod = any_pod(false);
        std::optional<Pod> gone;
        if (pod == nullptr || one_in(rng_, 20)) {
            gone = make_pod("unheard");  // never reaches the API
            pod = &*gone;
        }
        ++tally["filter"];
        look();
        std::vector<NodeIndex> among;
        std::vector<bool> plain;
        for (const std::string& name : names()) {
            among.push_back(mirror_.find_node(name));
            plain.push_back(fits_plainly(*pod, name));
        }
        const auto known = pending_.find(pod->uid);
        const bool bound = told_pods_.contains(pod->uid) && !told_pods_[pod->uid].node_name.empty();
        const auto fit = mirror_.filter(*pod, among, {"", Nanoseconds(now_)});
        if (bound || (known != pending_.end() && known->second.state != Pending::State::held)) {
            ++tally["filter refused"];
            EXPECT_FALSE(fit);
            return;
        }
        ASSERT_TRUE(fit) << fit.error().message;
        if (known != pending_.end() && known->second.in_doubt) {
            ++tally["filter in doubt"];
            EXPECT_LE(fit->fitting, 1U);
            if (fit->best != SIZE_MAX) {
                EXPECT_EQ(names()[fit->best], known->second.node);
            }
            return;
        }
        pending_.erase(pod->uid);
        for (std::size_t n = 0; n < among.size(); ++n) {
            EXPECT_EQ(fit->keys[n] != 0, plain[n])
                << names()[n] << " for " << pod->uid << ": " << told(names()[n], *pod);
        }
        EXPECT_EQ(fit->best != SIZE_MAX, fit->fitting > 0);
        if (fit->best != SIZE_MAX) {
            EXPECT_TRUE(plain[fit->best]);
            keep(pod->uid, names()[fit->best]);
            last_filtered_ = *pod;
        }
    }

    // The mirror holds a share now; it must be what was asked for.
    void keep(const std::string& uid, const std::string& node) {
        look();
        const auto held = in_ledger(uid);
        ASSERT_TRUE(held) << uid << " holds nothing";
        EXPECT_EQ(mirror_.node_name(held->node), node);
        ASSERT_EQ(held->grants.size(), 1U);
        EXPECT_EQ(held->grants[0].milli.value(), asks_.at(uid).milli);
        EXPECT_GE(held->grants[0].memory.value(), asks_.at(uid).memory_mib);
        Pending one;
        one.node = node;
        one.placement = *held;
        one.deadline = now_ + kHoldFor;
        pending_[uid] = one;
    }

    void bind() {
        Pod* pod = any_pod(false);
        if (last_filtered_ && !one_in(rng_, 4)) {
            pod = &*last_filtered_;
        }
        if (pod == nullptr) {
            return;
        }
        const PodKey key{pod->space, pod->name, pod->uid};
        const auto known = pending_.find(pod->uid);
        const std::string node = known != pending_.end() && !one_in(rng_, 3)
                                     ? known->second.node
                                     : names()[rng_.below(5)];
        look();
        const bool fits = fits_plainly(*pod, node);
        const std::optional<Pending> before =
            known == pending_.end() ? std::nullopt : std::optional(known->second);
        auto plan = mirror_.prepare_bind(key, node, Nanoseconds(now_));
        ++tally[plan ? "bind" : "bind refused"];
        if (before && (before->state != Pending::State::held || before->in_doubt)) {
            if (!plan) {
                return;  // what may be bound stays as it is
            }
            if (before->state != Pending::State::held) {
                EXPECT_TRUE(plan->bound_already);
                return;
            }
        } else if (!plan) {
            if (told_nodes_.contains(node)) {
                pending_.erase(pod->uid);
            }
            return;
        }
        if (plan->bound_already) {
            EXPECT_EQ(told_pods_.at(pod->uid).node_name, node);
            return;
        }
        EXPECT_TRUE(fits) << pod->uid << " on " << node;
        EXPECT_EQ(plan->in_doubt, before && before->in_doubt);
        keep(pod->uid, node);
        pending_[pod->uid].state = Pending::State::binding;
        posts_.push_back({{plan->space, plan->name, plan->uid}, *plan});
    }

    // What the API server does with a Binding; false: it refuses.
    bool carry_out(const Post& post) {
        const auto found = pods_.find(post.key.uid);
        if (found == pods_.end() || !found->second.node_name.empty() || found->second.deleting) {
            return false;
        }
        Pod& pod = found->second;
        pod.node_name = post.plan.node;
        for (const auto& [key, value] : post.plan.annotations) {
            pod.annotations[key] = value;
        }
        for (const auto& [key, value] : post.plan.labels) {
            pod.labels[key] = value;
        }
        events_.push_back({Event::Kind::pod, {}, pod});
        bound_by_us_[pod.uid] = pod.node_name;
        return true;
    }

    // As a binder tells it: what an earlier bind may still do is no refusal.
    WriteOutcome outcome_of(const Post& post, bool accepted) {
        if (one_in(rng_, 4)) {
            return {WriteEnd::unknown};
        }
        if (accepted) {
            return {WriteEnd::done};
        }
        const auto found = pods_.find(post.key.uid);
        if (found == pods_.end() || (found->second.node_name.empty() && found->second.deleting)) {
            return {WriteEnd::refused};
        }
        WriteOutcome outcome{WriteEnd::refused};
        if (!found->second.node_name.empty() && !one_in(rng_, 3)) {
            outcome.seen = std::make_shared<const Pod>(found->second);
        } else if (post.plan.in_doubt) {
            outcome.end = WriteEnd::unknown;
        }
        return outcome;
    }

    // Nobody waits for it any more.
    void end_late() {
        if (!late_.empty()) {
            const auto at = late_.begin() + pick(late_.size());
            if (!one_in(rng_, 3) && carry_out(*at)) {
                ++tally["landed late"];
            }
            late_.erase(at);
        }
    }

    void pass(std::int64_t time) {
        const auto over = [&](const Post& one) { return one.until <= now_ + time; };
        while (std::any_of(late_.begin(), late_.end(), over)) {
            end_late();
        }
        now_ += time;
    }

    // The API server answers, or the answer is lost; the write may have happened in both cases.
    void end_post() {
        if (posts_.empty()) {
            return;
        }
        const auto at = posts_.begin() + pick(posts_.size());
        const Post post = *at;
        posts_.erase(at);
        const bool accepted = !one_in(rng_, 3) && carry_out(post);
        if (one_in(rng_, 3)) {
            deliver_all();
        }
        const WriteOutcome outcome = outcome_of(post, accepted);
        const WriteEnd result = outcome.end;
        if (result == WriteEnd::unknown && !accepted) {
            late_.push_back(post);
            late_.back().until = now_ + kDoubtFor;
        }
        mirror_.bind_ended(post.key, outcome, Nanoseconds(now_));
        const auto one = pending_.find(post.key.uid);
        if (one == pending_.end() || one->second.state != Pending::State::binding) {
            return;
        }
        if (outcome.seen != nullptr) {
            ++tally["bind found elsewhere"];
            told(*outcome.seen);
            return;
        }
        if (result == WriteEnd::refused) {
            pending_.erase(one);
        } else if (result == WriteEnd::done) {
            one->second.state = Pending::State::bound;
        } else {
            one->second.state = Pending::State::held;
            one->second.in_doubt = true;
            one->second.deadline = now_ + kDoubtFor;
        }
    }

    void one_step() {
        const std::uint64_t lot = rng_.below(100);
        if (lot < 22) {
            filter();
        } else if (lot < 36) {
            bind();
        } else if (lot < 46) {
            end_post();
        } else if (lot < 48) {
            end_late();
        } else if (lot < 66) {
            deliver();
        } else if (lot < 76) {
            create_pod();
        } else if (lot < 83) {
            end_pod();
        } else if (lot < 86) {
            change_pod_status();
        } else if (lot < 89) {
            change_node(static_cast<int>(rng_.below(4)));
        } else if (lot < 90) {
            remove_node();
        } else if (lot < 93) {
            change_health();
        } else if (lot < 96) {
            pass(static_cast<std::int64_t>(rng_.below(kHoldFor)));
            if (one_in(rng_, 2)) {
                hear();
            }
            expire();
        } else if (lot < 97) {
            list_pods();
        } else if (lot < 98) {
            list_nodes();
        } else if (lot < 99) {
            list_maps();
        } else if (Pod* pod = any_pod(false)) {
            const std::vector<NodeIndex> among{mirror_.find_node("n0"), mirror_.find_node("n1")};
            EXPECT_TRUE(mirror_.rank(*pod, among, {"", Nanoseconds(now_)}));
            EXPECT_TRUE(mirror_.explain(*pod, {"", Nanoseconds(now_)}));
            const auto ask = mirror_.ask(*pod, {"", Nanoseconds(now_)});
            EXPECT_TRUE(ask);
            (void)mirror_.victims_needed(*pod, *ask, {among[0], {}});
        }
    }

    // --- after every step

    // Who is where by the mirror's own report.
    void look() {
        by_uid_.clear();
        for (std::uint32_t n = 0; n < mirror_.cluster().size(); ++n) {
            for (OwnerId owner : mirror_.ledger().owners_on(NodeIndex(n))) {
                const std::string uid(mirror_.uid_of(owner));
                by_uid_[uid].push_back(mirror_.ledger().placement(owner).value());
            }
        }
    }

    void check() {
        look();
        const std::vector<std::string> faults = mirror_.ledger().verify();
        ASSERT_TRUE(faults.empty()) << faults.front();
        ASSERT_TRUE(mirror_.cluster().consistent());
        std::size_t tentative = 0;
        for (const auto& [uid, one] : pending_) {
            tentative += one.state == Pending::State::bound ? 0 : 1;
            const auto held = in_ledger(uid);
            ASSERT_TRUE(held) << uid << " lost its share";
            ASSERT_EQ(held->node, one.placement.node) << uid;
            ASSERT_EQ(held->grants, one.placement.grants) << uid;
        }
        // Those bound to nodes that have gone may be held there until a deadline.
        ASSERT_GE(mirror_.held_count(), tentative);
        for (const auto& [uid, pod] : told_pods_) {
            const auto spec = pod.node_name.empty() ? std::nullopt : spec_of(pod.node_name);
            if (!spec) {
                continue;
            }
            const auto held = in_ledger(uid);
            ASSERT_TRUE(held) << uid << " is bound and not counted";
            ASSERT_EQ(mirror_.node_name(held->node), pod.node_name) << uid;
            const auto share = share_of(pod, *spec);
            ASSERT_EQ(held->grants.size(), share->grants.size()) << uid;
            for (std::size_t g = 0; g < share->grants.size(); ++g) {
                ASSERT_EQ(held->grants[g].gpu, share->grants[g].gpu) << uid;
                ASSERT_EQ(held->grants[g].milli, share->grants[g].milli) << uid;
                ASSERT_EQ(held->grants[g].memory, share->grants[g].memory) << uid;
            }
            ASSERT_EQ(held->cpu, share->cpu) << uid;
        }
        // Told of or not.
        for (const auto& [uid, node] : bound_by_us_) {
            const auto pod = pods_.find(uid);
            if (pod != pods_.end() && !pod->second.ended() && told_nodes_.contains(node)) {
                const auto held = in_ledger(uid);
                ASSERT_TRUE(held) << uid << " is bound, and its share was given away";
                ASSERT_EQ(mirror_.node_name(held->node), node) << uid;
            }
        }
        for (const auto& [uid, placements] : by_uid_) {
            const bool known = pending_.contains(uid) ||
                               (told_pods_.contains(uid) && !told_pods_[uid].node_name.empty());
            ASSERT_TRUE(known) << uid << " holds something and should not";
        }
    }

    // A mirror that is started now, from lists, counts the same.
    void check_rebuilt() {
        Mirror fresh(options());
        fresh.replace_nodes(values(nodes_));
        fresh.replace_pods(values(pods_));
        fresh.replace_config_maps(values(maps_));
        for (const auto& [name, node] : nodes_) {
            const NodeIndex here = mirror_.find_node(name);
            const NodeIndex there = fresh.find_node(name);
            ASSERT_TRUE(here.valid() && there.valid());
            EXPECT_EQ(mirror_.cluster().spec(here).gpus.size(),
                      fresh.cluster().spec(there).gpus.size());
            const NodeReport a = mirror_.report(here);
            const NodeReport b = fresh.report(there);
            EXPECT_EQ(a.left->free_cpu_milli, b.left->free_cpu_milli);
            EXPECT_EQ(a.left->free_pods, b.left->free_pods);
            std::multiset<std::string> ours;
            std::multiset<std::string> theirs;
            collect(a, ours);
            collect(b, theirs);
            EXPECT_EQ(ours, theirs) << name;
        }
    }

    // Devices that were guessed depend on the order of events: their sizes only.
    void collect(const NodeReport& report, std::multiset<std::string>& out) {
        for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
            for (const ShareOnGpu& share : report.gpus[gpu]) {
                const auto held = read_held(pods_.at(share.uid), *report.spec, context_, key_);
                const bool told = held && !held->devices_unknown;
                out.insert(fmt::format("{} {} {} {} {}", share.uid, share.state, told ? gpu : 99,
                                       share.grant.milli.value(), share.grant.memory.value()));
            }
        }
    }

    Mirror mirror_;
    std::vector<Post> posts_;
    std::vector<Post> late_;                          // their end was told as unknown
    std::map<std::string, std::string> bound_by_us_;  // uid, node
    std::optional<Pod> last_filtered_;
};

int scale() {
    const char* asked = std::getenv("TESSERA_PROPERTY_SCALE");
    return std::max(1, asked == nullptr ? 1 : std::atoi(asked));
}

TEST(MirrorProperty, EqualsAPlainModelWhateverTheOrderOfEvents) {
    std::map<std::string, int> tally;
    for (int seed = 1; seed <= 150 * scale() && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        History history(static_cast<std::uint64_t>(seed));
        history.run(250);
        for (const auto& [what, count] : history.tally) {
            tally[what] += count;
        }
    }
    for (const char* what :
         {"filter", "filter refused", "filter in doubt", "bind", "bind refused", "landed late"}) {
        EXPECT_GT(tally[what], 50) << what;
    }
}

}  // namespace
}  // namespace tessera
