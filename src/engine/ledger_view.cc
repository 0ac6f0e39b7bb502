// The ledger's questions: what is held, by whom, and whether the books are right.
#include <algorithm>

#include "engine/ledger.h"

namespace tessera {

std::optional<OwnerView> Ledger::find(OwnerId owner) const {
    const std::uint32_t slot = owner.valid() ? store_.find(owner) : kNoSlot;
    if (slot == kNoSlot) {
        return std::nullopt;
    }
    const OwnerRecord& record = store_[slot];
    return OwnerView{.id = owner,
                     .state = record.state,
                     .node = record.node,
                     .start = record.start,
                     .deadline = record.has_deadline ? record.deadline : kNoDeadline,
                     .tolerates = record.tolerates};
}

std::optional<Placement> Ledger::placement(OwnerId owner) const {
    const std::uint32_t slot = owner.valid() ? store_.find(owner) : kNoSlot;
    if (slot == kNoSlot) {
        return std::nullopt;
    }
    return store_.placement(slot);
}

Grants Ledger::grants(OwnerId owner, RequestIndex request) const {
    Grants found;
    for (const ShareView& share : shares(owner)) {
        if (share.grant.request == request) {
            found.push_back(share.grant);
        }
    }
    return found;
}

ShareView Ledger::view(std::uint32_t share) const {
    const OwnerRecord& owner = store_[store_.share(share).owner];
    return {.id = store_.share_id(share),
            .owner = owner.id,
            .grant = store_.grant(share),
            .admin_access = owner.admin_access};
}

std::optional<ShareView> Ledger::share(ShareId id) const {
    const std::uint32_t found = store_.find_share(id);
    if (found == kNoSlot) {
        return std::nullopt;
    }
    return view(found);
}

std::vector<ShareView> Ledger::shares(OwnerId owner) const {
    std::vector<ShareView> found;
    const std::uint32_t slot = owner.valid() ? store_.find(owner) : kNoSlot;
    if (slot != kNoSlot) {
        for (std::uint32_t at = store_[slot].first_share; at != kNoSlot;
             at = store_.share(at).next) {
            found.push_back(view(at));
        }
    }
    return found;
}

std::vector<ShareView> Ledger::shares_on(NodeIndex node) const {
    std::vector<ShareView> found;
    for (OwnerId owner : owners_on(node)) {
        const std::vector<ShareView> held = shares(owner);
        found.insert(found.end(), held.begin(), held.end());
    }
    return found;
}

std::vector<ShareView> Ledger::shares_on(NodeIndex node, GpuIndex gpu) const {
    std::vector<ShareView> found = shares_on(node);
    std::erase_if(found, [gpu](const ShareView& share) { return share.grant.gpu != gpu; });
    return found;
}

std::vector<ShareView> Ledger::shares_to_evict(NodeIndex node) const {
    std::vector<ShareView> found = shares_on(node);
    const std::vector<GpuSpec>& gpus = cluster_.spec(node).gpus;
    std::erase_if(found, [&](const ShareView& share) {
        const std::size_t gpu = share.grant.gpu.slot();
        return gpu >= gpus.size() || gpus[gpu].health != Health::evict ||
               store_[store_.find(share.owner)].tolerates == Health::evict;
    });
    return found;
}

std::vector<OwnerId> Ledger::owners_on(NodeIndex node) const {
    std::vector<OwnerId> found;
    for (std::uint32_t at = store_.first_on_node(node); at != kNoSlot;
         at = store_[at].on_node.after) {
        found.push_back(store_[at].id);
    }
    return found;
}

std::vector<OwnerId> Ledger::owners() const {
    std::vector<OwnerId> found;
    for (std::uint32_t slot = 0; slot < store_.owner_slots(); ++slot) {
        if (store_[slot].id.valid() && store_[slot].attached) {
            found.push_back(store_[slot].id);
        }
    }
    return found;
}

std::vector<OverCommitment> Ledger::over_committed() const {
    std::vector<OverCommitment> found;
    if (cluster_.over_committed_gpus() + cluster_.over_committed_nodes() == 0) {
        return found;
    }
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        const NodeIndex node(n);
        if (cluster_.over_committed(node)) {
            found.push_back({.node = node, .gpu = GpuIndex::none()});
        }
        for (std::uint8_t gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
            if (cluster_.over_committed(node, GpuIndex(gpu))) {
                found.push_back({.node = node, .gpu = GpuIndex(gpu)});
            }
        }
    }
    return found;
}

std::vector<std::string> Ledger::verify() const {
    std::vector<std::string> differences = store_.verify();
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        const NodeIndex node(n);
        Cluster::NodeUse used;
        std::array<GpuUse, kMaxGpusPerNode> gpus{};
        for (OwnerId owner : owners_on(node)) {
            const std::uint32_t slot = store_.find(owner);
            const Placement held = store_.placement(slot);
            used.cpu_milli += held.cpu.value();
            used.memory_mib += held.memory.value();
            used.pods += held.pods;
            if (held.grants.empty() || held.admin_access) {
                continue;
            }
            used.gpu_pod_starts.push_back(store_[slot].start);
            for (const DeviceGrant& grant : held.grants) {
                gpus[grant.gpu.slot()].add(grant, 1);
            }
        }
        std::sort(used.gpu_pod_starts.begin(), used.gpu_pod_starts.end());
        const Cluster::NodeUse& kept = cluster_.use(node);
        if (used.cpu_milli != kept.cpu_milli || used.memory_mib != kept.memory_mib ||
            used.pods != kept.pods || used.gpu_pod_starts != kept.gpu_pod_starts) {
            differences.push_back(fmt::format(
                "node \"{}\": holders have {} milli-cores, {} MiB and {} pods, recorded are {}, {} "
                "and {}",
                cluster_.spec(node).name, used.cpu_milli, used.memory_mib, used.pods,
                kept.cpu_milli, kept.memory_mib, kept.pods));
        }
        for (std::uint8_t gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
            if (gpus[gpu] != cluster_.use(node, GpuIndex(gpu))) {
                differences.push_back(
                    fmt::format("node \"{}\": the use of GPU {} is not the sum of its {} shares",
                                cluster_.spec(node).name, gpu, gpus[gpu].shares));
            }
        }
    }
    if (!cluster_.consistent()) {
        differences.emplace_back("cluster: what is shown as free is not capacity less use");
    }
    if (!users_.consistent()) {
        differences.emplace_back("claims: pods and claims disagree about who uses what");
    }
    return differences;
}

std::size_t Ledger::memory_bytes() const {
    return store_.memory_bytes() + users_.memory_bytes() +
           journal_.capacity() * sizeof(JournalEntry) + touched_.capacity() * sizeof(NodeIndex);
}

}  // namespace tessera
