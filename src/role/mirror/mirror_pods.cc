// What the API tells of pods: who holds what, from being bound until the containers have ended.
#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "dialect/asking.h"
#include "dialect/own_keys.h"
#include "engine/class_placement.h"
#include "model/alternatives.h"
#include "role/intake/intake.h"
#include "role/mirror/mirror_state.h"
#include "role/mirror/pod_pack.h"

namespace tessera {
namespace {

// What a placement of ours is told by, and proved with.
constexpr std::array kRecordKeys{kOwnPlacement, kOwnSignature};

bool same_record(const Pod& a, const Pod& b) {
    return std::all_of(kRecordKeys.begin(), kRecordKeys.end(), [&](std::string_view key) {
        const std::string* one = find(a.annotations, key);
        const std::string* other = find(b.annotations, key);
        return one == nullptr || other == nullptr ? one == other : *one == *other;
    });
}

// A pod that is bound without asking for GPUs needs no more than its place in the ledger.
bool worth_keeping(const Held& held) {
    return !held.placement.grants.empty() || held.devices_unknown;
}

}  // namespace

void Mirror::State::replace_pods(std::vector<Pod> pods) {
    if (!synced()) {
        first_pods_.emplace(std::move(pods));
        start_when_listed();
        return;
    }
    ++pod_lists_;
    for (const Pod& pod : pods) {
        take_pod(pod);
    }
    pods_.each([&](PodIndex index, PodRecord& record) {
        if (record.list == pod_lists_) {
            return;
        }
        if (record.seen) {
            remove(index);
        } else if (record.stage == PodStage::bound) {
            // The list may be older than the bind. Then the watch tells soon; else it has gone.
            missed_.try_emplace(record.uid);
        }
        // Any other that only a request has named may be younger than the list.
    });
}

void Mirror::State::pod_changed(const Pod& pod) {
    if (synced()) {
        take_pod(pod);
    } else if (first_pods_) {
        first_pods_->put(pod);
    }
}

void Mirror::State::pod_gone(const Pod& pod) {
    if (!synced()) {
        if (first_pods_) {
            first_pods_->erase(pod.uid);
        }
        return;
    }
    if (const PodIndex index = pods_.find(pod.uid); index.valid()) {
        remove(index);
    }
}

void Mirror::State::settle(PodIndex index) {
    if (observer_ != nullptr) {
        observer_->pod_settled(index);
    }
}

void Mirror::State::remove(PodIndex index) {
    settle(index);
    const NodeIndex node = pods_[index].holds() ? pods_[index].node : NodeIndex();
    release(index);
    stop_awaiting(index);
    close(index);
    guess_again_on(node);
}

void Mirror::State::close(PodIndex index) {
    forget_neighbour(index);
    pods_.close(index);
}

void Mirror::State::let_go(PodIndex index) {
    const NodeIndex node = pods_[index].holds() ? pods_[index].node : NodeIndex();
    release(index);
    if (!pods_[index].seen) {
        close(index);
    }
    guess_again_on(node);
}

// Pods whose devices nobody tells may have been counted where there is no room: for want of a free
// device then, or because it was told later whose device that is. Now there may be a better guess.
void Mirror::State::guess_again_on(NodeIndex node) {
    if (!node.valid() || guessing_ || !gpus_over_committed(node)) {
        return;
    }
    guessing_ = true;
    for (OwnerId owner : ledger().owners_on(node)) {
        if (const PodIndex index(owner.index());
            owner.kind() == OwnerKind::foreign && pods_[index].guessed) {
            take_bound(index, unpack_bound(pods_[index].packed));
        }
    }
    guessing_ = false;
}

bool Mirror::State::gpus_over_committed(NodeIndex node) const {
    for (std::size_t gpu = 0; gpu < cluster().spec(node).gpus.size(); ++gpu) {
        if (cluster().over_committed(node, GpuIndex(static_cast<GpuIndex::rep>(gpu)))) {
            return true;
        }
    }
    return false;
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
    make_room_for_names();
    const PodIndex index = pods_.open(pod);
    PodRecord& record = pods_[index];
    record.seen = true;
    record.list = pod_lists_;
    record.priority = pod.priority.value_or(0);
    learn_neighbour(index, pod);
    if (!pod.node_name.empty()) {
        settle(index);
        take_bound(index, pod);
    } else if (!record.bound()) {
        // What it holds stays: the event may be older than a bind of ours.
        record.pod = std::make_unique<Pod>(pod);
        if (observer_ != nullptr) {
            observer_->pod_waits(index, pod);
        }
    }
}

// Its containers have the devices that we gave them, whatever somebody wrote on the pod since: the
// pod with our record as it was, where another one is told.
std::optional<Pod> Mirror::State::with_granted_record(const PodRecord& record, const Pod& told) {
    if (record.stage != PodStage::bound || record.packed.empty()) {
        return std::nullopt;
    }
    const Pod before = unpack_bound(record.packed);
    if (before.node_name != told.node_name || same_record(before, told)) {
        return std::nullopt;
    }
    note(fmt::format("{}: its placement was changed after it was bound; what was granted counts",
                     describe(told)));
    Pod kept = told;
    for (const std::string_view key : kRecordKeys) {
        kept.annotations.erase(std::string(key));
        if (const std::string* granted = find(before.annotations, key)) {
            kept.annotations.emplace(key, *granted);
        }
    }
    return kept;
}

void Mirror::State::take_bound(PodIndex index, const Pod& told) {
    PodRecord& record = pods_[index];
    const std::optional<Pod> granted = with_granted_record(record, told);
    const Pod& pod = granted ? *granted : told;
    stop_awaiting(index);
    record.pod.reset();
    const NodeIndex node = find_node(pod.node_name, {});
    if (!node.valid()) {
        if (record.holds() && node_name(record.node) != pod.node_name) {
            release(index);  // it went elsewhere than we thought
        }
        record.awaited = pod.node_name;
        record.packed = pack_bound(pod);
        awaiting_[pod.node_name].push_back(index);
        return;
    }
    Held held = read_share(pod, node);
    if (record.holds() && record.ours() != held.ours) {
        release(index);
    }
    if (held.devices_unknown) {
        guess_devices(index, pod, held);
    }
    confirm_held(index, pod, held);
    record.packed = worth_keeping(held) ? pack_bound(pod) : std::string();
    record.guessed = held.devices_unknown;
    ports_.hold(pod, node);
    if (pod.deleting && record.holds()) {
        const auto asked =
            record.ours() ? engine_->terminate(index) : engine_->terminate_foreign(index);
        TESSERA_ASSERT(asked.has_value(), "who holds something can be asked to end");
    }
    guess_again_on(node);
}

// By its own word; where that cannot be read, by what it asks for. That it is there is certain.
Held Mirror::State::read_share(const Pod& pod, NodeIndex node) {
    DialectContext known = context();
    const NodeSpec& spec = cluster().spec(node);
    auto held = read_held(pod, spec, known, options_.signing_key);
    if (held) {
        return std::move(*held);
    }
    note(fmt::format("{}; it is counted by what it asks for", held.error().message));
    if (pod.annotations.contains(kOwnPlacement)) {
        Pod plain = pod;
        plain.annotations.erase(std::string(kOwnPlacement));
        if (auto other = read_held(plain, spec, known, options_.signing_key)) {
            return std::move(*other);
        }
    }
    return asked_share(pod, node);
}

// Its devices are still to be guessed.
Held Mirror::State::asked_share(const Pod& pod, NodeIndex node) {
    DialectContext known = context();
    Held result;
    result.placement.node = node;
    if (const auto asked = pod_demand(pod, known)) {
        result.placement.cpu = asked->demand.cpu;
        result.placement.memory = asked->demand.memory;
        result.devices_unknown = asked->demand.wants_gpu();
    }
    return result;
}

// Nothing tells which devices it has, so those count that would be chosen for it: the sum is right.
void Mirror::State::guess_devices(PodIndex index, const Pod& pod, Held& held) {
    const NodeIndex node = held.placement.node;
    if (pods_[index].stage == PodStage::foreign) {
        // The guess of before stands, unless it was one too many; its own share must not be in its
        // way.
        const auto known = ledger().placement(OwnerId::foreign(index.value()));
        const auto there = [&](const DeviceGrant& grant) {
            return grant.gpu.slot() < cluster().spec(node).gpus.size();
        };
        if (known && known->node == node && !known->grants.empty() && !gpus_over_committed(node) &&
            std::all_of(known->grants.begin(), known->grants.end(), there)) {
            held.placement.grants = known->grants;
            return;
        }
        release(index);
    }
    const auto asked = question(pod, std::string_view());
    if (!asked) {
        return;
    }
    const auto choice = choose_on(node, *asked);
    held.placement.grants = choice ? choice->placement.grants : fullest_share(node, *asked);
    note(fmt::format("{} runs on node {} and nothing tells its GPUs: {}", describe(pod),
                     shown(pod.node_name),
                     choice ? "the ones that would be chosen are counted"
                            : "none is free, and those with most left are counted"));
}

// What it asks for at its full size, though it does not fit, where most is left. A pod of more
// devices than the ledger counts for one has the whole node, several times over.
Grants Mirror::State::fullest_share(NodeIndex node, const Question& asked) {
    const DemandClass& wanted = engine_->placer(asked.policy).classes()[asked.classes.front()];
    const NodeState& state = cluster().node(node);
    std::vector<GpuIndex> order;
    for (std::uint8_t gpu = 0; gpu < state.gpu_count; ++gpu) {
        order.emplace_back(gpu);
    }
    if (order.empty()) {
        return {};
    }
    std::stable_sort(order.begin(), order.end(), [&](GpuIndex a, GpuIndex b) {
        return state.gpus[a.slot()].value > state.gpus[b.slot()].value;
    });
    std::size_t count = 0;  // DemandClass::gpus ends at 65,535
    for (const GpuRequest& request : wanted.requests) {
        count += request.gpus;
    }
    if (count > kMaxGrantsPerOwner) {
        GpuRequest whole = wanted.requests.front();
        whole.name = asked.asked.demand.alternatives.front().requests.front().name;
        whole.gpus = state.gpu_count;
        whole.milli = kWholeGpu;
        whole.memory_ppm = kWholeMemoryPpm;
        DemandClass all;
        all.requests = {whole};
        return placement_of(all, cluster(), node, order).grants;
    }
    DeviceList devices;
    for (std::size_t i = 0; i < count; ++i) {
        devices.push_back(order[i % order.size()]);
    }
    Placement placement = placement_of(wanted, cluster(), node, devices);
    name_grants(asked.asked.demand, placement);
    return placement.grants;
}

void Mirror::State::confirm_held(PodIndex index, const Pod& pod, const Held& held) {
    PodRecord& record = pods_[index];
    if (held.ours && !record.learnt.valid()) {
        if (const auto asked = question(pod, std::string_view())) {
            learn(index, *asked);
        }
    }
    record.node = held.placement.node;
    auto confirmed =
        held.ours
            ? engine_->confirm(index, {record.policy, record.learnt, held.placement, record.group})
            : engine_->confirm_foreign(index, held.placement);
    bool ours = held.ours;
    if (!confirmed) {
        note(fmt::format("{}: {}; it is counted by what it asks for", describe(pod),
                         confirmed.error().message));
        confirmed = confirm_asked(index, pod, held.placement.node);
        ours = false;
    }
    record.decided.reset();
    stand_on(index, record.node);
    set_doubt(record, false);
    set_stage(record, ours ? PodStage::bound : PodStage::foreign);
    if (confirmed->over_committed && confirmed->outcome != Confirmation::Outcome::unchanged) {
        note(fmt::format("node {}: {} holds more than is there", shown(pod.node_name),
                         describe(pod)));
    }
}

// A pod whose record tells of amounts that no machine has. It is there all the same.
Confirmation Mirror::State::confirm_asked(PodIndex index, const Pod& pod, NodeIndex node) {
    if (pods_[index].ours()) {
        release(index);
    }
    Held asked = asked_share(pod, node);
    if (asked.devices_unknown) {
        guess_devices(index, pod, asked);
    }
    auto confirmed = engine_->confirm_foreign(index, asked.placement);
    if (!confirmed) {
        // So does what it asks for: no more is believed of it than that.
        release(index);
        Placement bare;
        bare.node = node;
        confirmed = engine_->confirm_foreign(index, bare);
        TESSERA_ASSERT(confirmed.has_value(), "a pod that holds nothing can be counted");
    }
    return *confirmed;
}

// The policy hears of a pod once, by its first alternative, wherever it was placed.
void Mirror::State::learn(PodIndex index, const Question& asked) {
    PodRecord& record = pods_[index];
    record.group = asked.group.group;
    if (!record.learnt.valid() && asked.asked.demand.wants_gpu()) {
        record.policy = asked.policy;
        record.learnt = asked.classes.front();
        engine_->placer(asked.policy).arrived(record.learnt);
    }
}

void Mirror::State::release(PodIndex index) {
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
            engine_->depart(index);
            record.learnt = ClassIndex();
            break;
        case PodStage::held:
        case PodStage::binding:
            engine_->drop(index);
            break;
    }
    forget_share(record);
}

// The ledger has nothing of it any more.
void Mirror::State::forget_share(PodRecord& record) {
    room_appeared();
    stand_nowhere(pods_.find(record.uid));
    ports_.release(record.owner());
    record.decided.reset();
    set_doubt(record, false);
    set_stage(record, PodStage::pending);
}

void Mirror::State::set_stage(PodRecord& record, PodStage stage) {
    const auto tentative = [](PodStage one) {
        return one == PodStage::held || one == PodStage::binding ? 1 : 0;
    };
    held_ += static_cast<std::size_t>(tentative(stage));
    held_ -= static_cast<std::size_t>(tentative(record.stage));
    record.stage = stage;
}

void Mirror::State::stop_awaiting(PodIndex index) {
    PodRecord& record = pods_[index];
    if (record.awaited.empty()) {
        return;
    }
    const auto found = awaiting_.find(record.awaited);
    std::erase(found->second, index);
    if (found->second.empty()) {
        awaiting_.erase(found);
    }
    record.awaited.clear();
}

// Another description of its devices may give a share another place.
void Mirror::State::look_again_at_pods_of(NodeIndex node) {
    std::vector<PodIndex> there;
    for (OwnerId owner : ledger().owners_on(node)) {
        there.emplace_back(owner.index());
    }
    if (const auto found = awaiting_.find(node_name(node)); found != awaiting_.end()) {
        there.insert(there.end(), found->second.begin(), found->second.end());
    }
    std::sort(there.begin(), there.end());
    there.erase(std::unique(there.begin(), there.end()), there.end());
    for (PodIndex index : there) {
        if (!pods_[index].packed.empty()) {
            const Pod pod = unpack_bound(pods_[index].packed);
            take_bound(index, pod);
        }
    }
}

void Mirror::State::set_doubt(PodRecord& record, bool in_doubt) {
    in_doubt_ += in_doubt ? 1 : 0;
    in_doubt_ -= record.in_doubt ? 1 : 0;
    record.in_doubt = in_doubt;
}

void Mirror::State::end_doubts(Nanoseconds now, Nanoseconds heard) {
    if (in_doubt_ == 0) {
        return;
    }
    pods_.each([&](PodIndex index, const PodRecord& record) {
        if (record.in_doubt && record.doubt_until <= heard) {
            const bool set = engine_->set_deadline(index, now).has_value();
            TESSERA_ASSERT(set, "what is assumed has a deadline");
        }
    });
}

std::size_t Mirror::State::drop_holds() {
    std::size_t dropped = 0;
    pods_.each([&](PodIndex index, const PodRecord& record) {
        if (record.stage == PodStage::held && !record.in_doubt) {
            let_go(index);
            ++dropped;
        }
    });
    return dropped;
}

std::size_t Mirror::State::expire(Nanoseconds now, Nanoseconds heard) {
    if (!synced()) {
        return 0;
    }
    end_doubts(now, heard);
    const std::vector<PodIndex> ended = engine_->expire(now);
    for (PodIndex index : ended) {
        PodRecord& record = pods_[index];
        const NodeIndex node = record.node;
        forget_share(record);
        if (!record.seen) {
            close(index);
        }
        guess_again_on(node);
    }
    const std::size_t count = ended.size() + end_missed(now);
    expired_ += count;
    return count;
}

// Bound by us, never shown by the watch, and not in a list since: it came and went unseen.
std::size_t Mirror::State::end_missed(Nanoseconds now) {
    std::size_t ended = 0;
    for (auto one = missed_.begin(); one != missed_.end();) {
        auto& [uid, until] = *one;
        const PodIndex index = pods_.find(uid);
        const bool unseen = index.valid() && !pods_[index].seen;
        until = until.value_or(now + options_.hold_for);
        if (unseen && *until > now) {
            ++one;
            continue;
        }
        if (unseen) {
            remove(index);
            ++ended;
        }
        one = missed_.erase(one);
    }
    return ended;
}

}  // namespace tessera
