// The ledger once more, as plainly as possible: the reference of ledger_property_test.cc.
//
// Maps and sums, nothing incremental: what is used is added up from the owners each time it is
// asked for, and a roll back restores a copy of everything.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "engine/cluster.h"
#include "engine/ledger.h"
#include "engine/owner.h"
#include "model/node.h"
#include "model/placement.h"

namespace tessera::reference {

struct Held {
    Placement placement;
    OwnerState state = OwnerState::assumed;
    Nanoseconds deadline = kNoDeadline;
    Health tolerates = Health::ok;
    std::uint64_t start = 0;
    std::vector<ShareId> shares;  // as the ledger named them

    Grants grants(RequestIndex request) const {
        Grants found;
        for (const DeviceGrant& grant : placement.grants) {
            if (grant.request == request) {
                found.push_back(grant);
            }
        }
        return found;
    }
};

struct Sums {
    std::int64_t cpu = 0;
    std::int64_t memory = 0;
    std::int64_t pods = 0;
    std::vector<std::uint64_t> gpu_starts;
    struct Gpu {
        std::int64_t milli = 0;
        std::int64_t memory = 0;
        std::int64_t shares = 0;
        std::int64_t whole = 0;
        SpareAmounts spare{};
    };
    std::array<Gpu, kMaxGpusPerNode> gpus{};

    void add(const Placement& placement) {
        cpu += placement.cpu.value();
        memory += placement.memory.value();
        pods += placement.pods;
        if (placement.admin_access) {
            return;
        }
        for (const DeviceGrant& grant : placement.grants) {
            Gpu& gpu = gpus.at(grant.gpu.slot());
            gpu.milli += grant.milli.value();
            gpu.memory += grant.memory.value();
            gpu.shares += 1;
            gpu.whole += grant.milli == kWholeGpu ? 1 : 0;
            for (std::size_t d = 0; d < kSpareDimensions; ++d) {
                gpu.spare[d] += grant.spare[d];
            }
        }
    }
};

class Model {
  public:
    explicit Model(std::int64_t milli_per_gpu) : milli_per_gpu_(milli_per_gpu) {}

    std::vector<NodeSpec> specs;
    std::vector<bool> present;
    std::map<OwnerId, Held> owners;
    std::map<OwnerId, std::set<OwnerId>> users;
    std::vector<std::vector<OwnerId>> on_node;  // newest first
    std::uint64_t next_start = 0;

    Sums sums(NodeIndex node) const {
        Sums total;
        for (const auto& [owner, held] : owners) {
            if (held.placement.node == node) {
                total.add(held.placement);
                if (!held.placement.admin_access && !held.placement.grants.empty()) {
                    total.gpu_starts.push_back(held.start);
                }
            }
        }
        std::sort(total.gpu_starts.begin(), total.gpu_starts.end());
        return total;
    }

    bool grantable(OwnerId owner, const Placement& placement, Health tolerates) const {
        const NodeSpec& spec = specs.at(placement.node.slot());
        if (owner.kind() == OwnerKind::foreign || owners.contains(owner) ||
            !present.at(placement.node.slot())) {
            return false;
        }
        const auto wanted =
            owner.kind() == OwnerKind::claim ? AllocatorMode::claim : AllocatorMode::annotation;
        for (const DeviceGrant& grant : placement.grants) {
            if (grant.gpu.slot() >= spec.gpus.size() ||
                spec.gpus[grant.gpu.slot()].mode != wanted ||
                spec.gpus[grant.gpu.slot()].health > tolerates) {
                return false;
            }
        }
        return room(placement);
    }

    void put(OwnerId owner, Held held) {
        auto& list = on_node.at(held.placement.node.slot());
        list.insert(list.begin(), owner);
        owners[owner] = std::move(held);
    }

    void take(OwnerId owner) {
        std::erase(on_node.at(owners.at(owner).placement.node.slot()), owner);
        owners.erase(owner);
    }

    // Whoever leaves the ledger leaves its claims.
    bool drop_uses(OwnerId owner) {
        if (owner.kind() == OwnerKind::claim) {
            return users.erase(owner) > 0;
        }
        bool any = false;
        for (auto at = users.begin(); at != users.end();) {
            any = at->second.erase(owner) > 0 || any;
            at = at->second.empty() ? users.erase(at) : std::next(at);
        }
        return any;
    }

    // What a device shows as left, from its sums.
    GpuState left(NodeIndex node, std::size_t gpu, const Sums& total) const {
        const GpuSpec& spec = specs.at(node.slot()).gpus.at(gpu);
        const Sums::Gpu& used = total.gpus.at(gpu);
        const bool full = used.whole > 0 || (spec.slots > 0 && used.shares >= spec.slots);
        std::int64_t idle = std::min<std::int64_t>(milli_per_gpu_ - used.milli, 1000);
        std::int64_t memory = spec.memory.value() - used.memory;
        idle = full || idle < 0 ? 0 : idle;
        memory = full || memory < 0 ? 0 : memory;
        GpuState state;
        state.idle_milli = static_cast<std::int16_t>(idle);
        state.free_memory_mib = static_cast<std::int32_t>(memory);
        state.shares = static_cast<std::uint16_t>(used.shares);
        if (full) {
            state.free_slots = 0;
        } else if (spec.slots > 0) {
            state.free_slots = static_cast<std::uint16_t>(spec.slots - used.shares);
        }
        state.value = device_value(state.idle_milli, memory, spec.memory.value());
        return state;
    }

    std::vector<OverCommitment> over_committed() const {
        std::vector<OverCommitment> found;
        for (std::uint32_t n = 0; n < specs.size(); ++n) {
            if (!present[n]) {
                continue;
            }
            const Sums total = sums(NodeIndex(n));
            const NodeSpec& spec = specs[n];
            if (total.cpu > spec.cpu.value() || total.memory > spec.memory.value() ||
                total.pods > spec.pods) {
                found.push_back({NodeIndex(n), GpuIndex::none()});
            }
            for (std::uint8_t gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
                if (over(spec, gpu, total.gpus.at(gpu))) {
                    found.push_back({NodeIndex(n), GpuIndex(gpu)});
                }
            }
        }
        return found;
    }

  private:
    bool room(const Placement& placement) const {
        const NodeSpec& spec = specs.at(placement.node.slot());
        const Sums used = sums(placement.node);
        Sums asked;
        asked.add(placement);
        const auto enough = [](std::int64_t in_use, std::int64_t more, std::int64_t capacity) {
            return more == 0 || in_use + more <= capacity;
        };
        bool fits = enough(used.cpu, asked.cpu, spec.cpu.value()) &&
                    enough(used.memory, asked.memory, spec.memory.value()) &&
                    enough(used.pods, asked.pods, spec.pods);
        for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
            const Sums::Gpu& u = used.gpus.at(gpu);
            const Sums::Gpu& a = asked.gpus.at(gpu);
            const GpuSpec& device = spec.gpus[gpu];
            if (a.shares == 0) {
                continue;
            }
            fits = fits && enough(u.milli, a.milli, milli_per_gpu_) &&
                   enough(u.memory, a.memory, device.memory.value()) &&
                   (device.slots == 0 || u.shares + a.shares <= device.slots) &&
                   (u.whole + a.whole == 0 || u.shares + a.shares == 1);
            for (std::size_t d = 0; d < kSpareDimensions; ++d) {
                fits = fits && enough(u.spare[d], a.spare[d], device.spare[d]);
            }
        }
        return fits;
    }

    bool over(const NodeSpec& spec, std::size_t gpu, const Sums::Gpu& used) const {
        if (gpu >= spec.gpus.size()) {
            return used.shares > 0;
        }
        const GpuSpec& device = spec.gpus[gpu];
        bool over = used.milli > milli_per_gpu_ || used.memory > device.memory.value() ||
                    (device.slots > 0 && used.shares > device.slots) ||
                    (used.whole > 0 && used.shares > 1);
        for (std::size_t d = 0; d < kSpareDimensions; ++d) {
            over = over || used.spare[d] > device.spare[d];
        }
        return over;
    }

    std::int64_t milli_per_gpu_;
};

}  // namespace tessera::reference
