#include "engine/gang_fill.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "engine/class_placement.h"
#include "engine/gang_room.h"
#include "model/alternatives.h"
#include "policy/assignment.h"

namespace tessera {
namespace {

constexpr std::int64_t kAnyNumber = 1 << 20;

}  // namespace

GangFill::GangFill(Engine& engine, PolicySlot policy, const GangAsk& ask)
    : engine_(engine),
      placer_(engine.placer(policy)),
      ask_(ask),
      statement_(engine.ledger_for_statement()),
      begin_(statement_.checkpoint()),
      placed_(ask.members.size()),
      near_(engine.cluster().size()),
      shared_(engine.cluster().size()) {
    for (OwnerId owner : ask.running) {
        if (const auto held = engine.ledger().placement(owner)) {
            ++running_;
            note(*held, 1);
        }
    }
    gather_peers();
}

void GangFill::gather_peers() {
    std::map<std::vector<ClassIndex>, std::size_t> known;
    for (std::size_t i = 0; i < ask_.members.size(); ++i) {
        const Demand& demand = *ask_.members[i].demand;
        std::vector<ClassIndex> classes;
        const std::size_t end =
            std::clamp<std::size_t>(demand.alternatives.size(), 1, kMaxAlternatives);
        for (std::size_t a = 0; a < end; ++a) {
            classes.push_back(placer_.intern(demand, a));
        }
        const auto [at, added] = known.try_emplace(classes, peers_.size());
        if (added) {
            peers_.push_back({std::move(classes), {}});
        }
        peers_[at->second].members.push_back(i);
    }
    // Small ones find room between large ones.
    std::stable_sort(peers_.begin(), peers_.end(), [&](const GangPeers& a, const GangPeers& b) {
        const DemandClass& one = wanted(a.classes.front());
        const DemandClass& other = wanted(b.classes.front());
        return std::tuple(one.gpu_milli_total, one.cpu, one.memory) >
               std::tuple(other.gpu_milli_total, other.cpu, other.memory);
    });
}

DomainIndex GangFill::domain(std::size_t level, NodeIndex node) const {
    const auto& preferred = ask_.topology.preferred;
    if (level == 0) {
        return DomainIndex(node.value());
    }
    return level > preferred.size() ? DomainIndex(0) : preferred[level - 1]->of_node[node.slot()];
}

void GangFill::note(const Placement& placement, int sign) {
    near_[placement.node.slot()] += sign;
    for (const DeviceGrant& grant : placement.grants) {
        std::int16_t& members = shared_[placement.node.slot()][grant.gpu.slot()];
        members = static_cast<std::int16_t>(members + sign);
    }
}

std::vector<std::size_t> GangFill::waiting(const GangPeers& peers) const {
    std::vector<std::size_t> members;
    std::copy_if(peers.members.begin(), peers.members.end(), std::back_inserter(members),
                 [&](std::size_t member) { return !placed_[member]; });
    return members;
}

std::vector<GangFill::Room> GangFill::rooms() {
    std::vector<NodeIndex> nodes;
    for (std::uint32_t n = 0; n < engine_.cluster().size(); ++n) {
        nodes.emplace_back(n);
    }
    std::vector<Room> rooms(nodes.size());
    std::vector<std::int64_t> here(nodes.size());
    for (const GangPeers& peers : peers_) {
        std::fill(here.begin(), here.end(), 0);
        for (ClassIndex one : peers.classes) {
            find_leaves(nodes, {.peers = peers, .alternative = 0, .demand_class = one});
            for (const Site& leaf : leaves_) {
                here[leaf.node.slot()] += leaf.room;
            }
        }
        for (std::size_t n = 0; n < rooms.size(); ++n) {
            rooms[n].members += std::min(std::ssize(peers.members), here[n]);
            rooms[n].any_number += here[n];
        }
    }
    if (!exact()) {
        const LeastAsked least = least_asked();
        for (std::size_t n = 0; n < rooms.size(); ++n) {
            const std::int64_t most = room_for(engine_.cluster(), nodes[n], least, kAnyNumber);
            rooms[n].members = std::min(rooms[n].members, most);
        }
    }
    return rooms;
}

// Unlike classes share a node: each member takes at least this.
LeastAsked GangFill::least_asked() const {
    LeastAsked least;
    for (const GangPeers& peers : peers_) {
        for (ClassIndex one : peers.classes) {
            const DemandClass& asks = wanted(one);
            least.cpu_milli = std::min(least.cpu_milli, asks.cpu.value());
            least.memory_mib = std::min(least.memory_mib, asks.memory.value());
            least.gpu_milli =
                std::min(least.gpu_milli, asks.admin_access ? 0 : asks.gpu_milli_total);
        }
    }
    return least;
}

bool GangFill::exact() const {
    return peers_.size() == 1 && peers_.front().classes.size() == 1 &&
           room_is_exact(wanted(peers_.front().classes.front()));
}

// Nodes on which the class fits now, by the keys of the index.
void GangFill::find_leaves(std::span<const NodeIndex> nodes, const Asked& asked) {
    const DecisionScores scores =
        placer_.scores(engine_.cluster(), asked.demand_class, {ask_.group});
    std::vector<Key> keys(nodes.size());
    placer_.rank(asked.demand_class, nodes, keys);
    leaves_.clear();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (keys[i] == 0) {
            continue;
        }
        Site site;
        site.node = nodes[i];
        // Of one member it is enough to know that it fits.
        site.room =
            asked.peers.members.size() == 1
                ? 1
                : room_for(engine_.cluster(), nodes[i], wanted(asked.demand_class), kAnyNumber);
        site.near = near_[nodes[i].slot()];
        site.key = scores.by_group() ? scores.key(nodes[i]) : keys[i];
        site.tie = scores.tie(nodes[i]);
        leaves_.push_back(std::move(site));
    }
}

void GangFill::place_near(std::span<const NodeIndex> nodes, std::size_t level) {
    for (const GangPeers& peers : peers_) {
        for (std::size_t a = 0; a < peers.classes.size(); ++a) {
            Asked asked{peers, a, peers.classes[a], waiting(peers)};
            if (asked.left() == 0) {
                break;
            }
            find_leaves(nodes, asked);
            std::vector<std::size_t> all(leaves_.size());
            std::iota(all.begin(), all.end(), std::size_t{0});
            fill(all, level, asked, asked.left());
        }
    }
}

// The domains of the next level that the nodes are in; nodes that are in none stand alone.
std::vector<GangFill::Site> GangFill::sites_of(std::span<const std::size_t> leaves,
                                               std::size_t level) const {
    std::vector<Site> sites;
    sites.reserve(level > 1 ? 0 : leaves.size());
    std::vector<std::size_t> site_of;  // by domain
    for (std::size_t i : leaves) {
        const Site& leaf = leaves_[i];
        const DomainIndex in = level > 1 ? domain(level - 1, leaf.node) : DomainIndex();
        if (!in.valid()) {
            sites.push_back(leaf);
            continue;
        }
        site_of.resize(std::max(site_of.size(), in.slot() + 1), SIZE_MAX);
        if (site_of[in.slot()] == SIZE_MAX) {
            site_of[in.slot()] = sites.size();
            sites.push_back({.node = leaf.node});
        }
        Site& site = sites[site_of[in.slot()]];
        site.room += leaf.room;
        site.near += leaf.near;
        std::tie(site.key, site.tie) =
            std::max(std::tuple(site.key, site.tie), std::tuple(leaf.key, leaf.tie));
        site.leaves.push_back(i);
    }
    return sites;
}

// Who is near, then who has the most room, then whom the policy likes best.
bool GangFill::before(const Site& a, const Site& b) {
    return std::tuple(b.near, b.room, b.key, b.tie, a.node) <
           std::tuple(a.near, a.room, a.key, a.tie, b.node);
}

// Of sites in that order the first; or, of those that are as near and have room for all, the first
// with the least room.
std::size_t GangFill::next_site(std::span<const Site> sites, std::int64_t count) {
    std::size_t best = 0;
    for (std::size_t i = 1;
         i < sites.size() && sites[i].room >= count && sites[i].near == sites[0].near; ++i) {
        best = sites[i].room < sites[best].room ? i : best;
    }
    return best;
}

void GangFill::fill(std::span<const std::size_t> leaves, std::size_t level, Asked& asked,
                    std::int64_t count) {
    std::vector<Site> sites = sites_of(leaves, level);
    std::sort(sites.begin(), sites.end(), before);
    const std::int64_t end = asked.left() - count;
    for (std::size_t at = 0; at < sites.size() && asked.left() > end; ++at) {
        const auto first = sites.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t next = next_site({first, sites.end()}, asked.left() - end);
        std::rotate(first, first + static_cast<std::ptrdiff_t>(next),
                    first + static_cast<std::ptrdiff_t>(next) + 1);
        const std::int64_t here = std::min(sites[at].room, asked.left() - end);
        if (sites[at].leaves.empty()) {
            place_on(sites[at].node, asked, here);
        } else {
            fill(sites[at].leaves, level - 1, asked, here);
        }
    }
}

void GangFill::place_on(NodeIndex node, Asked& asked, std::int64_t count) {
    for (; count > 0; --count, ++asked.next) {
        if (!place_one(node, asked.waiting[asked.next], asked, count)) {
            return;
        }
    }
}

bool GangFill::place_one(NodeIndex node, std::size_t member, const Asked& asked,
                         std::int64_t together) {
    std::optional<Placement> placement = choose(node, asked, together);
    const PodIndex pod = ask_.members[member].pod;
    if (!placement || !statement_.assume(OwnerId::pod(pod.value()), *placement,
                                         {.tolerates = wanted(asked.demand_class).tolerates})) {
        return false;
    }
    placement->alternative = static_cast<std::uint8_t>(asked.alternative);
    name_grants(*ask_.members[member].demand, *placement);
    note(*placement, 1);
    placed_[member] = true;
    seats_.push_back({pod, asked.peers.classes.front(), std::move(*placement)});
    return true;
}

// Shares that stay together go on one device as far as they can; all others where the policy puts
// them on this node.
std::optional<Placement> GangFill::choose(NodeIndex node, const Asked& asked,
                                          std::int64_t together) {
    const Cluster& cluster = engine_.cluster();
    const DemandClass& one = wanted(asked.demand_class);
    const Catalog catalog = cluster.catalog(placer_.classes());
    if (!fits(cluster.node(node), one, catalog)) {
        return std::nullopt;
    }
    if (together > 1 || near_[node.slot()] > 0) {
        DeviceMask held = 0;
        for (std::size_t gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
            held |= shared_[node.slot()][gpu] > 0 ? DeviceMask{1} << gpu : 0;
        }
        if (const auto gpu = device_for_shares(cluster, node, one, catalog, together, held)) {
            return placement_of(one, cluster, node, {*gpu});
        }
    }
    const DecisionScores scores = placer_.scores(cluster, asked.demand_class, {ask_.group});
    return scores.by_group() ? placer_.choose_on(scores, node, placer_.draws().next())
                             : placer_.choose_on(node, asked.demand_class);
}

void GangFill::place_plainly(std::span<const NodeIndex> nodes, Order order) {
    std::vector<Key> keys(nodes.size());
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        const GangPeers& peers = peers_[order == Order::largest_first ? i : peers_.size() - 1 - i];
        for (std::size_t member : peers.members) {
            for (std::size_t a = 0; a < peers.classes.size() && !placed_[member]; ++a) {
                const Asked asked{peers, a, peers.classes[a]};
                const auto ranking = placer_.rank(asked.demand_class, nodes, keys);
                if (ranking.best != SIZE_MAX) {
                    place_one(nodes[ranking.best], member, asked, 1);
                }
            }
        }
    }
}

void GangFill::roll_back() {
    statement_.roll_back(begin_);
    for (const GangSeat& seat : seats_) {
        note(seat.placement, -1);
    }
    placed_.assign(placed_.size(), false);
    seats_.clear();
}

}  // namespace tessera
