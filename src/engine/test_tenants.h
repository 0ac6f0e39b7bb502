// What a door would know of pods, for tests; and a ledger as text, to be compared.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/ledger.h"
#include "engine/tenants.h"

namespace tessera::testing_cluster {

class TestTenants final : public Tenants {
  public:
    struct Entry {
        Tenant tenant;
        std::vector<BudgetIndex> budgets;
    };

    Tenant tenant(OwnerId pod) const override {
        const auto at = pods.find(pod);
        if (at == pods.end()) {
            return {};
        }
        Tenant tenant = at->second.tenant;
        tenant.budgets = at->second.budgets;
        return tenant;
    }
    std::span<const OwnerId> members(GroupIndex gang) const override {
        const auto at = gangs.find(gang);
        return at == gangs.end() ? std::span<const OwnerId>() : at->second;
    }
    std::int32_t disruptions_allowed(BudgetIndex budget) const override {
        const auto at = allowed.find(budget);
        return at == allowed.end() ? 0 : at->second;
    }
    // A node serves when all who are in the way there have gone and all who are needed are left.
    bool serves(NodeIndex node, std::span<const OwnerId> gone) const override {
        ++asked;
        const auto has_gone = [&](OwnerId owner) {
            return std::find(gone.begin(), gone.end(), owner) != gone.end();
        };
        const auto [in_begin, in_end] = in_the_way.equal_range(node);
        const auto [need_begin, need_end] = needed.equal_range(node);
        return std::all_of(in_begin, in_end, [&](const auto& e) { return has_gone(e.second); }) &&
               std::none_of(need_begin, need_end,
                            [&](const auto& e) { return has_gone(e.second); });
    }

    std::map<OwnerId, Entry> pods;
    std::map<GroupIndex, std::vector<OwnerId>> gangs;
    std::map<BudgetIndex, std::int32_t> allowed;
    std::multimap<NodeIndex, OwnerId> in_the_way;
    std::multimap<NodeIndex, OwnerId> needed;
    mutable int asked = 0;
};

// Everything that the ledger tells, order of lists and ids of shares included.
inline std::string dump(const Ledger& ledger) {
    std::string text;
    const Cluster& cluster = ledger.cluster();
    for (std::uint32_t n = 0; n < cluster.size(); ++n) {
        const NodeState& state = cluster.node(NodeIndex(n));
        text += fmt::format("node {}: {} {} {} {} {} {}\n", n, state.free_cpu_milli,
                            state.free_memory_mib, state.free_pods, state.oldest_start,
                            state.idle_value, state.sizes);
        for (int gpu = 0; gpu < state.gpu_count; ++gpu) {
            const GpuState& device = state.gpus[static_cast<std::size_t>(gpu)];
            text += fmt::format(" gpu {}: {} {} {} {}\n", gpu, device.free_memory_mib,
                                device.idle_milli, device.shares, device.free_slots);
        }
        for (OwnerId owner : ledger.owners_on(NodeIndex(n))) {
            const auto known = ledger.find(owner);
            text += fmt::format(" {} {} {} {}:", owner.value(), to_string(known->state),
                                known->start, known->deadline.value());
            for (const ShareView& share : ledger.shares(owner)) {
                text += fmt::format(" {}/{}/{}/{}", share.id.value(), share.grant.gpu.value(),
                                    share.grant.milli.value(), share.grant.memory.value());
            }
            for (OwnerId user : ledger.users(owner)) {
                text += fmt::format(" used by {}", user.value());
            }
            text += '\n';
        }
    }
    return text;
}

}  // namespace tessera::testing_cluster
