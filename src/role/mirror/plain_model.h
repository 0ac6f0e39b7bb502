// A plain model of a mirror: what it has been told and what it answered, from which is recomputed,
// pod by pod and by plain sums, what is taken and what fits.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dialect/gpushare.h"
#include "role/intake/intake.h"
#include "role/mirror/mirror.h"
#include "role/mirror/test_api.h"

namespace tessera::testing {

inline constexpr std::int64_t kHoldFor = 20'000'000'000;
inline constexpr std::int64_t kDoubtFor = 3 * kHoldFor;

// What is taken of a device, a node; all by plain sums.
struct GpuTaken {
    std::int64_t milli = 0;
    std::int64_t memory = 0;
    int shares = 0;
    bool whole = false;
};
struct NodeTaken {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    int pods = 0;
    std::vector<GpuTaken> gpus;
};

// What the mirror decided about a pod and the API has not told yet.
struct Pending {
    enum class State { held, binding, bound } state = State::held;
    std::string node;
    Placement placement;
    std::int64_t deadline = 0;
    bool in_doubt = false;
    std::optional<std::int64_t> missed_until{};
    bool missed = false;
};

class PlainModel : protected TestApi {
  protected:
    explicit PlainModel(std::uint64_t seed)
        : TestApi(seed), key_(one_in(rng_, 2) ? "secret" : "") {}

    void told(const Pod& pod) {
        if (pod.ended()) {
            forget(pod.uid);
            return;
        }
        const auto known = told_pods_.find(pod.uid);
        if (known != told_pods_.end() && !known->second.node_name.empty() &&
            pod.node_name.empty()) {
            return;  // an event from before it was bound, and a bind has seen it since
        }
        told_pods_[pod.uid] = pod;
        if (!pod.node_name.empty()) {
            pending_.erase(pod.uid);
        }
    }

    void forget(const std::string& uid) {
        told_pods_.erase(uid);
        pending_.erase(uid);
    }

    bool over(const std::string& uid, Pending& one) {
        if (one.state != Pending::State::bound) {
            return one.state == Pending::State::held &&
                   one.deadline <= (one.in_doubt ? heard_ : now_);
        }
        if (!one.missed || told_pods_.contains(uid)) {
            return false;
        }
        one.missed_until = one.missed_until.value_or(now_ + kHoldFor);
        return *one.missed_until <= now_;
    }

    std::optional<NodeSpec> spec_of(const std::string& name) {
        const auto found = told_nodes_.find(name);
        if (found == told_nodes_.end()) {
            return std::nullopt;
        }
        NodeSpec spec = take_node(found->second, context_).value();
        if (const auto map = told_maps_.find("unhealthy-gpu-" + name); map != told_maps_.end()) {
            mark_unhealthy(spec, read_unhealthy_gpus(map->second.data.at("gpus")));
        }
        return spec;
    }

    // Where the mirror has it in its ledger; an error of the test when it is there twice.
    std::optional<Placement> in_ledger(const std::string& uid) {
        std::optional<Placement> found;
        const auto seen = by_uid_.find(uid);
        if (seen != by_uid_.end()) {
            EXPECT_EQ(seen->second.size(), 1U) << uid << " is counted twice";
            found = seen->second.front();
        }
        return found;
    }

    // Sums of all that the model knows to be taken on a node.
    NodeTaken taken_on(const std::string& name, const NodeSpec& spec, const std::string& but = "") {
        NodeTaken taken;
        taken.gpus.resize(16);
        const auto add = [&](const Placement& one) {
            taken.cpu += one.cpu.value();
            taken.memory += one.memory.value();
            taken.pods += 1;
            for (const DeviceGrant& grant : one.grants) {
                GpuTaken& gpu = taken.gpus[grant.gpu.slot()];
                gpu.milli += grant.milli.value();
                gpu.memory += grant.memory.value();
                gpu.shares += 1;
                gpu.whole = gpu.whole || grant.milli == kWholeGpu;
            }
        };
        for (const auto& [uid, pod] : told_pods_) {
            if (pod.node_name == name && uid != but) {
                if (const auto held = share_of(pod, spec)) {
                    add(*held);
                }
            }
        }
        for (const auto& [uid, one] : pending_) {
            if (one.node == name && uid != but) {
                add(one.placement);
            }
        }
        return taken;
    }

    // By its annotations; where they do not tell, what the mirror guessed.
    std::optional<Placement> share_of(const Pod& pod, const NodeSpec& spec) {
        auto held = read_held(pod, spec, context_, key_);
        if (held && !held->devices_unknown) {
            return held->placement;
        }
        return in_ledger(pod.uid);
    }

    bool fits_plainly(const Pod& pod, const std::string& name) {
        const auto spec = spec_of(name);
        if (!spec) {
            return false;
        }
        const NodeTaken taken = taken_on(name, *spec, pod.uid);
        const std::int64_t cpu = pod.containers[0].requests.at("cpu").milli_up().value();
        // What is not asked for is not short, whatever others took of it.
        if ((cpu > 0 && taken.cpu + cpu > spec->cpu.value()) || taken.pods + 1 > spec->pods) {
            return false;
        }
        const Ask ask = asks_.at(pod.uid);
        for (std::size_t g = 0; g < spec->gpus.size(); ++g) {
            const GpuTaken& gpu = taken.gpus[g];
            const bool milli = ask.milli == 0 || gpu.milli + ask.milli <= 1000;
            const bool memory = gpu.memory + ask.memory_mib <= spec->gpus[g].memory.value();
            const bool room = ask.whole() ? gpu.shares == 0 : !gpu.whole && milli && memory;
            if (room && spec->gpus[g].health == Health::ok) {
                return true;
            }
        }
        return false;
    }

    // For failures.
    std::string told(const std::string& name, const Pod& pod) {
        const Ask ask = asks_.at(pod.uid);
        std::string text = fmt::format("asks {} milli, {} MiB;", ask.milli, ask.memory_mib);
        const auto spec = spec_of(name);
        for (std::size_t g = 0; spec && g < spec->gpus.size(); ++g) {
            const GpuTaken gpu = taken_on(name, *spec, pod.uid).gpus[g];
            text += fmt::format(" GPU {}: {} shares of {} milli, {} of {} MiB, health {};", g,
                                gpu.shares, gpu.milli, gpu.memory, spec->gpus[g].memory.value(),
                                static_cast<int>(spec->gpus[g].health));
        }
        return text;
    }

    std::string key_;
    Vocabulary names_;
    FilterTable filters_;
    DialectContext context_{names_, filters_, {}};
    std::map<std::string, Node> told_nodes_;
    std::map<std::string, Pod> told_pods_;
    std::map<std::string, ConfigMap> told_maps_;
    std::map<std::string, Pending> pending_;
    std::map<std::string, std::vector<Placement>> by_uid_;  // by the mirror's own report
    std::int64_t now_ = 1'000'000'000;
    std::int64_t heard_ = 0;  // what happened to pods until then has been told
};

}  // namespace tessera::testing
