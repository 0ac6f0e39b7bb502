#include "engine/victim_room.h"

#include <algorithm>
#include <numeric>

#include "policy/devices.h"

namespace tessera {
namespace {

// A unit that holds w devices counts for 1/w on each: a number that every w divides.
constexpr std::int64_t kUnit = 720'720;

// Whether devices of this kind can ever serve the class.
bool usable(const DeviceKind& kind, const DemandClass& wanted, const GpuRequest& request) {
    return kind.health <= wanted.tolerates && kind.mode == AllocatorMode::annotation &&
           wanted.allows(kind.model) && request.memory_on(kind.memory) <= kind.memory;
}

// The request that asks for the most devices.
const GpuRequest& widest_request(const DemandClass& wanted) {
    return *std::max_element(
        wanted.requests.begin(), wanted.requests.end(),
        [](const GpuRequest& a, const GpuRequest& b) { return a.gpus < b.gpus; });
}

}  // namespace

VictimRoom::VictimRoom(const Ledger& ledger, NodeIndex node, std::vector<const DemandClass*> wanted,
                       std::span<const OwnerId> gone)
    : ledger_(ledger),
      node_(node),
      wanted_(std::move(wanted)),
      now_(ledger.cluster(), node),
      most_(now_) {
    for (OwnerId owner : ledger.owners_on(node)) {
        if (std::find(gone.begin(), gone.end(), owner) == gone.end()) {
            now_.take(*ledger.placement(owner), ledger.find(owner)->start);
        }
    }
}

void VictimRoom::add_unit(std::span<const OwnerId> owners, std::int64_t weight) {
    const auto unit = static_cast<std::uint32_t>(pieces_.size());
    Piece& piece = pieces_.emplace_back();
    piece.weight = weight;
    std::array<GpuUse, kMaxGpusPerNode> devices{};
    for (OwnerId owner : owners) {
        const auto known = ledger_.find(owner);
        if (!known || known->node != node_) {
            continue;
        }
        Placement placement = *ledger_.placement(owner);
        piece.cpu_milli += placement.cpu.value();
        piece.memory_mib += placement.memory.value();
        piece.pods += placement.pods;
        for (const DeviceGrant& grant : placement.grants) {
            if (!placement.admin_access) {
                devices[grant.gpu.slot()].add(grant, 1);
            }
        }
        piece.held.push_back({std::move(placement), known->start});
    }
    for (std::size_t gpu = 0; gpu < devices.size(); ++gpu) {
        if (devices[gpu].shares > 0) {
            piece.devices.emplace_back(static_cast<std::uint8_t>(gpu), devices[gpu]);
        }
    }
    for (const auto& [gpu, use] : piece.devices) {
        DeviceHolders& holders = devices_[gpu];
        holders.by_milli.push_back({use.milli, unit});
        holders.by_memory.push_back({use.memory_mib, unit});
        holders.widest = std::max(holders.widest, std::ssize(piece.devices));
    }
    by_cpu_.push_back({piece.cpu_milli, unit});
    by_memory_.push_back({piece.memory_mib, unit});
    by_pods_.push_back({piece.pods, unit});
}

void VictimRoom::units_complete() {
    const auto sort = [](Holders& holders) {
        std::stable_sort(holders.begin(), holders.end(),
                         [](const Holder& a, const Holder& b) { return a.amount > b.amount; });
    };
    for (DeviceHolders& device : devices_) {
        sort(device.by_milli);
        sort(device.by_memory);
    }
    sort(by_cpu_);
    sort(by_memory_);
    sort(by_pods_);
    fates_.assign(pieces_.size(), Fate::open);
    most_ = now_;
    for (std::size_t unit = 0; unit < pieces_.size(); ++unit) {
        move(most_, unit, true);
    }
}

void VictimRoom::move(NodeCopy& copy, std::size_t unit, bool give) const {
    for (const Held& held : pieces_[unit].held) {
        if (give) {
            copy.give(held.placement, held.start);
        } else {
            copy.take(held.placement, held.start);
        }
    }
}

void VictimRoom::set_fate(std::size_t unit, Fate fate) {
    const Fate before = std::exchange(fates_[unit], fate);
    if ((before == Fate::goes) != (fate == Fate::goes)) {
        move(now_, unit, fate == Fate::goes);
    }
    if ((before == Fate::stays) != (fate == Fate::stays)) {
        move(most_, unit, before == Fate::stays);
    }
}

void VictimRoom::open_all() {
    for (std::size_t unit = 0; unit < fates_.size(); ++unit) {
        set_fate(unit, Fate::open);
    }
}

bool VictimRoom::fits(const NodeCopy& copy) const {
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [&](const DemandClass* one) { return copy.fits(*one); });
}

// Exact use is compared, not what is shown as free: a device without a free slot shows nothing
// left, and an over-committed one no less than nothing. What is not asked for cannot be short.
VictimRoom::Short VictimRoom::shortage(const DemandClass& wanted) const {
    const Cluster::NodeUse& use = now_.use();
    const auto lacks = [](std::int64_t asked, std::int64_t used, std::int64_t there) {
        return asked > 0 ? std::max<std::int64_t>(0, asked - (there - used)) : 0;
    };
    return {.cpu_milli = lacks(wanted.cpu.value(), use.cpu_milli, use.cpu_capacity_milli),
            .memory_mib = lacks(wanted.memory.value(), use.memory_mib, use.memory_capacity_mib),
            .pods = lacks(1, use.pods, use.pods_capacity)};
}

// So many of the largest open ones hold that amount together.
std::optional<std::int64_t> VictimRoom::count_to(std::int64_t amount,
                                                 const Holders& holders) const {
    std::int64_t count = 0;
    for (auto at = holders.begin(); amount > 0 && at != holders.end() && at->amount > 0; ++at) {
        if (open(at->unit)) {
            amount -= at->amount;
            ++count;
        }
    }
    return amount > 0 ? std::nullopt : std::optional(count);
}

std::optional<VictimRoom::Missing> VictimRoom::missing() const {
    std::optional<Missing> least;
    for (const DemandClass* one : wanted_) {
        if (const auto here = missing_for(*one)) {
            least = least.value_or(*here);
            least->units = std::min(least->units, here->units);
            least->weight = std::min(least->weight, here->weight);
        }
    }
    return least;
}

std::optional<VictimRoom::Missing> VictimRoom::missing_for(const DemandClass& wanted) const {
    std::optional<Missing> most = missing_on_devices(wanted);
    const Short lacks = shortage(wanted);
    for (const auto& needed :
         {count_to(lacks.cpu_milli, by_cpu_), count_to(lacks.memory_mib, by_memory_),
          count_to(lacks.pods, by_pods_)}) {
        if (!needed || !most) {
            return std::nullopt;
        }
        most->units = std::max(most->units, *needed);
    }
    return most;
}

// The devices that need the fewest, as many as one request asks for. Different requests may share
// devices, so only one of them is looked at.
std::optional<VictimRoom::Missing> VictimRoom::missing_on_devices(const DemandClass& wanted) const {
    if (!wanted.wants_gpu() || wanted.admin_access) {
        return Missing();
    }
    const GpuRequest& request = widest_request(wanted);
    std::array<std::int64_t, kMaxGpusPerNode> units{};
    std::array<std::int64_t, kMaxGpusPerNode> weights{};
    std::size_t devices = 0;
    for (std::size_t gpu = 0; gpu < now_.state().gpu_count; ++gpu) {
        if (usable(now_.kind(gpu), wanted, request)) {
            if (const auto here = missing_on(gpu, request)) {
                units[devices] = here->units;
                weights[devices++] = here->weight;
            }
        }
    }
    if (devices < request.gpus) {
        return std::nullopt;
    }
    const auto sum_of_least = [&](auto& values) {
        std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(devices));
        return std::accumulate(values.begin(), values.begin() + request.gpus, std::int64_t{0});
    };
    return Missing{(sum_of_least(units) + kUnit - 1) / kUnit, sum_of_least(weights)};
}

// Everybody must leave a device that is wanted whole.
std::optional<VictimRoom::Missing> VictimRoom::all_on(std::size_t gpu) const {
    if (most_.device(gpu).shares > 0) {
        return std::nullopt;
    }
    Missing missing;
    for (const Holder& holder : devices_[gpu].by_milli) {
        if (open(holder.unit)) {
            const Piece& piece = pieces_[holder.unit];
            missing.units += kUnit / std::ssize(piece.devices);
            missing.weight += piece.weight / std::ssize(piece.devices);
        }
    }
    return missing;
}

std::int64_t VictimRoom::lightest_on(std::size_t gpu) const {
    std::int64_t least = INT64_MAX;
    for (const Holder& holder : devices_[gpu].by_milli) {
        if (open(holder.unit)) {
            least = std::min(least, pieces_[holder.unit].weight);
        }
    }
    return least;
}

std::optional<VictimRoom::Missing> VictimRoom::missing_on(std::size_t gpu,
                                                          const GpuRequest& request) const {
    if (request.whole()) {
        return all_on(gpu);
    }
    const Device& device = now_.device(gpu);
    const std::int64_t milli = request.milli.value();
    const std::int64_t memory = request.memory_on(now_.kind(gpu).memory).value();
    const DeviceHolders& holders = devices_[gpu];
    const auto for_milli =
        count_to(milli > 0 ? milli - (now_.milli_per_gpu() - device.milli) : 0, holders.by_milli);
    const auto for_memory = count_to(
        memory > 0 ? memory - (device.memory_size_mib - device.memory_mib) : 0, holders.by_memory);
    if (!for_milli || !for_memory) {
        return std::nullopt;
    }
    const bool full = now_.state().gpus[gpu].free_slots == 0;
    const std::int64_t count = std::max({*for_milli, *for_memory, std::int64_t{full ? 1 : 0}});
    if (count == 0) {
        return Missing();
    }
    const std::int64_t lightest = lightest_on(gpu);
    if (lightest == INT64_MAX) {
        return std::nullopt;
    }
    return Missing{count * kUnit / holders.widest, count * (lightest / holders.widest)};
}

bool VictimRoom::matters(std::size_t unit) const {
    const Piece& piece = pieces_[unit];
    return std::any_of(wanted_.begin(), wanted_.end(), [&](const DemandClass* one) {
        const Short lacks = shortage(*one);
        return (lacks.cpu_milli > 0 && piece.cpu_milli > 0) ||
               (lacks.memory_mib > 0 && piece.memory_mib > 0) ||
               (lacks.pods > 0 && piece.pods > 0) || (one->wants_gpu() && !piece.devices.empty());
    });
}

bool VictimRoom::frees_as_much(std::size_t a, std::size_t b) const {
    const Piece& more = pieces_[a];
    const Piece& less = pieces_[b];
    if (more.cpu_milli < less.cpu_milli || more.memory_mib < less.memory_mib ||
        more.pods < less.pods) {
        return false;
    }
    return std::all_of(less.devices.begin(), less.devices.end(), [&](const auto& device) {
        const auto at = std::find_if(more.devices.begin(), more.devices.end(),
                                     [&](const auto& d) { return d.first == device.first; });
        return at != more.devices.end() && at->second.milli >= device.second.milli &&
               at->second.memory_mib >= device.second.memory_mib &&
               at->second.shares >= device.second.shares &&
               at->second.exclusive >= device.second.exclusive &&
               std::equal(device.second.spare.begin(), device.second.spare.end(),
                          at->second.spare.begin(), std::less_equal<>());
    });
}

std::pair<std::int64_t, std::uint8_t> VictimRoom::place_of(std::size_t unit,
                                                           const DemandClass& wanted) const {
    std::pair<std::int64_t, std::uint8_t> best{INT64_MAX, kMaxGpusPerNode};
    if (!wanted.wants_gpu()) {
        return best;
    }
    const GpuRequest& request = widest_request(wanted);
    for (const auto& [gpu, use] : pieces_[unit].devices) {
        if (gpu < now_.state().gpu_count && usable(now_.kind(gpu), wanted, request)) {
            const auto here = missing_on(gpu, request);
            best = std::min(best, std::pair(here ? here->units : INT64_MAX - 1, gpu));
        }
    }
    return best;
}

}  // namespace tessera
