// What the API tells of pods: who holds what, from being bound until the containers have ended.
#include <set>
#include <utility>

#include "base/assert.h"
#include "dialect/asking.h"
#include "dialect/own_keys.h"
#include "role/intake/intake.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

// A pod that is bound without asking for GPUs needs no more than its place in the ledger.
bool worth_keeping(const Held& held) {
    return !held.placement.grants.empty() || held.devices_unknown;
}

}  // namespace

void Mirror::State::replace_pods(std::vector<Pod> pods) {
    if (!synced()) {
        first_pods_ = std::move(pods);
        start_when_listed();
        return;
    }
    std::set<std::string_view> listed;
    for (const Pod& pod : pods) {
        listed.insert(pod.uid);
        take_pod(pod);
    }
    // A pod that only a request has named may be younger than the list.
    pods_.each([&](PodIndex index, PodRecord& record) {
        if (record.seen && !listed.contains(record.uid)) {
            release(index, true);
            pods_.close(index);
        }
    });
}

void Mirror::State::pod_changed(const Pod& pod) {
    if (synced()) {
        take_pod(pod);
    } else if (first_pods_) {
        first_pods_->push_back(pod);  // taken in order: the last word counts
    }
}

void Mirror::State::pod_gone(const Pod& pod) {
    if (!synced()) {
        if (first_pods_) {
            std::erase_if(*first_pods_, [&](const Pod& one) { return one.uid == pod.uid; });
        }
        return;
    }
    const PodIndex index = pods_.find(pod.uid);
    if (index.valid()) {
        release(index, true);
        pods_.close(index);
    }
}

void Mirror::State::take_pod(const Pod& pod) {
    if (pod.uid.empty()) {
        note(fmt::format("{} has no uid and is left out", describe(pod)));
        return;
    }
    if (pod.ended()) {
        pod_gone(pod);
        return;
    }
    const PodIndex index = pods_.open(pod);
    pods_[index].seen = true;
    pods_[index].priority = pod.priority.value_or(0);
    if (pod.node_name.empty()) {
        take_pending(index, pod);
    } else {
        take_bound(index, pod);
    }
}

// An event may be older than a bind of ours: a pod is never unbound, so what it holds stays.
void Mirror::State::take_pending(PodIndex index, const Pod& pod) {
    pods_[index].pod = std::make_unique<Pod>(pod);
}

void Mirror::State::take_bound(PodIndex index, const Pod& pod) {
    PodRecord& record = pods_[index];
    const NodeIndex node = find_node(pod.node_name, {});
    record.awaits_node = !node.valid();
    if (record.awaits_node) {
        record.pod = std::make_unique<Pod>(pod);
        record.node = pod.node_name;
        return;
    }
    DialectContext known = context();
    const NodeSpec& spec = cluster().spec(node);
    auto held = read_held(pod, spec, known, options_.signing_key);
    if (!held) {
        // What it holds by its own word cannot be read; that it is there can.
        note(fmt::format("{}; it is counted by what it asks for", held.error().message));
        Pod plain = pod;
        plain.annotations.erase(std::string(kOwnPlacement));
        held = read_held(plain, spec, known, options_.signing_key);
    }
    if (!held) {
        Held nothing;
        nothing.placement.node = node;
        held = nothing;
    }
    if (held->devices_unknown) {
        guess_devices(pod, node, *held);
    }
    ports_.hold(pod, node);
    record.node = pod.node_name;
    record.pod = worth_keeping(*held) ? std::make_unique<Pod>(pod) : nullptr;
    record.asked.reset();
    confirm_held(index, *held);
    if (pod.deleting && record.holds()) {
        const auto asked =
            record.ours() ? engine_->terminate(index) : engine_->terminate_foreign(index);
        if (!asked) {
            note(fmt::format("{}: {}", describe(pod), asked.error().message));
        }
    }
}

// Nothing tells which devices it has, so those count that would be chosen for it: the sum is right.
void Mirror::State::guess_devices(const Pod& pod, NodeIndex node, Held& held) {
    const auto asked = question(pod, {});
    if (!asked) {
        return;
    }
    // Its own share of before must not stand in the way.
    const PodIndex index = pods_.find(pod.uid);
    if (index.valid() && pods_[index].stage == PodStage::foreign && pods_[index].pod != nullptr) {
        const auto known = ledger().placement(OwnerId::foreign(index.value()));
        if (known && known->node == node) {
            held.placement.grants = known->grants;
            return;
        }
    }
    const auto choice = choose_on(node, *asked);
    note(fmt::format("{} runs on node {} and nothing tells its GPUs: {}", describe(pod),
                     shown(pod.node_name),
                     choice ? "the ones that would be chosen are counted"
                            : "none is free, and none is counted"));
    if (choice) {
        held.placement.grants = choice->placement.grants;
    }
}

void Mirror::State::confirm_held(PodIndex index, const Held& held) {
    PodRecord& record = pods_[index];
    const bool was_foreign = record.stage == PodStage::foreign;
    if (record.holds() && was_foreign == held.ours) {
        release(index, false);
    }
    if (held.ours && record.pod != nullptr) {
        learn(index, *record.pod);
    }
    record.choice.placement = held.placement;
    const auto confirmed = held.ours ? engine_->confirm(index, record.choice)
                                     : engine_->confirm_foreign(index, held.placement);
    if (!confirmed) {
        note(fmt::format("pod {}/{}: {}", shown(record.space), shown(record.name),
                         confirmed.error().message));
        return;
    }
    record.stage = held.ours ? PodStage::bound : PodStage::foreign;
    if (confirmed->over_committed && confirmed->outcome != Confirmation::Outcome::unchanged) {
        note(fmt::format("node {}: pod {}/{} holds more than is there", shown(record.node),
                         shown(record.space), shown(record.name)));
    }
}

// The policy hears of a pod once, by its first alternative, wherever it was placed.
void Mirror::State::learn(PodIndex index, const Pod& pod) {
    PodRecord& record = pods_[index];
    if (record.learnt) {
        return;
    }
    const auto asked = question(pod, {});
    if (asked && asked->asked.demand.wants_gpu()) {
        record.choice.policy = asked->policy;
        record.choice.demand_class = asked->classes.front();
        engine_->placer(asked->policy).arrived(asked->classes.front());
        record.learnt = true;
    }
}

void Mirror::State::release(PodIndex index, bool ended) {
    PodRecord& record = pods_[index];
    switch (record.stage) {
        case PodStage::pending:
            return;
        case PodStage::foreign: {
            const bool released = engine_->release_foreign(index).has_value();
            TESSERA_ASSERT(released, "a foreigner that holds something is in the ledger");
            break;
        }
        case PodStage::bound:
            if (ended) {
                engine_->depart(index);
                break;
            }
            [[fallthrough]];
        case PodStage::held:
        case PodStage::binding:
            engine_->drop(index);
            break;
    }
    ports_.release(record.owner());
    record.stage = PodStage::pending;
}

void Mirror::State::look_again_at_pods_of(std::string_view node) {
    pods_.each([&](PodIndex index, PodRecord& record) {
        if (record.node == node && record.pod != nullptr && !record.pod->node_name.empty()) {
            const Pod pod = *record.pod;
            take_bound(index, pod);
        }
    });
}

std::size_t Mirror::State::expire(Nanoseconds now) {
    if (!synced()) {
        return 0;
    }
    const std::vector<PodIndex> ended = engine_->expire(now);
    for (PodIndex index : ended) {
        PodRecord& record = pods_[index];
        ports_.release(record.owner());
        record.stage = PodStage::pending;
        record.asked.reset();
        if (!record.seen) {
            pods_.close(index);
        }
    }
    return ended.size();
}

}  // namespace tessera
