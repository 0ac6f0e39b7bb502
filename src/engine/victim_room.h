// A node on which some may go: what is free when these have gone, and how many more must.
//
// Every candidate is open, goes or stays. Two copies of the node (node_copy.h) are kept up to date:
// one without those that go, one without those that are open, too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/ledger.h"
#include "engine/node_copy.h"
#include "model/demand_class.h"

namespace tessera {

class VictimRoom {
  public:
    // Any of the wanted classes will do. Each unit is a set of owners; `gone` have left already.
    VictimRoom(const Ledger& ledger, NodeIndex node, std::vector<const DemandClass*> wanted,
               std::span<const OwnerId> gone);
    // `weight` is what its going costs; never negative.
    void add_unit(std::span<const OwnerId> owners, std::int64_t weight);
    void units_complete();

    enum class Fate : std::uint8_t { open, goes, stays };
    Fate fate(std::size_t unit) const { return fates_[unit]; }
    bool open(std::size_t unit) const { return fates_[unit] == Fate::open; }
    void set_fate(std::size_t unit, Fate fate);
    void open_all();

    // Whether there is room when those that go have gone; and when the open ones have, too.
    bool fits() const { return fits(now_); }
    bool can_fit() const { return fits(most_); }
    // At least so many of the open ones must go, and at least so much weight; nothing when not even
    // all of them are enough.
    struct Missing {
        std::int64_t units = 0;
        std::int64_t weight = 0;
    };
    std::optional<Missing> missing() const;

    // Whether the unit holds anything of what is short without any victim.
    bool matters(std::size_t unit) const;
    // Whether everything that b frees here is freed by a as well.
    bool frees_as_much(std::size_t a, std::size_t b) const;
    // Where the unit is in the way: the rank of the device, among those it holds, that needs the
    // fewest to go, and the device. Units that hold none come last.
    std::pair<std::int64_t, std::uint8_t> place_of(std::size_t unit,
                                                   const DemandClass& wanted) const;

  private:
    struct Held {
        Placement placement;
        std::uint64_t start = 0;
    };
    // What a unit holds on this node.
    struct Piece {
        std::vector<Held> held;
        std::vector<std::pair<std::uint8_t, GpuUse>> devices;  // by device
        std::int64_t cpu_milli = 0;
        std::int64_t memory_mib = 0;
        std::int64_t pods = 0;
        std::int64_t weight = 0;
    };
    struct Holder {
        std::int64_t amount = 0;
        std::uint32_t unit = 0;
    };
    using Holders = std::vector<Holder>;  // the largest amount first
    struct DeviceHolders {
        Holders by_milli;
        Holders by_memory;
        std::int64_t widest = 1;  // the most devices that one of them holds
    };
    struct Short {
        std::int64_t cpu_milli = 0;
        std::int64_t memory_mib = 0;
        std::int64_t pods = 0;
    };

    bool fits(const NodeCopy& copy) const;
    void move(NodeCopy& copy, std::size_t unit, bool give) const;
    Short shortage(const DemandClass& wanted) const;
    std::optional<Missing> missing_for(const DemandClass& wanted) const;
    std::optional<Missing> missing_on_devices(const DemandClass& wanted) const;
    // In parts of a unit, each of which may free several devices at once.
    std::optional<Missing> missing_on(std::size_t gpu, const GpuRequest& request) const;
    std::optional<Missing> all_on(std::size_t gpu) const;
    std::optional<std::int64_t> count_to(std::int64_t amount, const Holders& holders) const;
    std::int64_t lightest_on(std::size_t gpu) const;

    const Ledger& ledger_;
    NodeIndex node_;
    std::vector<const DemandClass*> wanted_;
    NodeCopy now_;
    NodeCopy most_;
    std::vector<Piece> pieces_;
    std::vector<Fate> fates_;
    std::array<DeviceHolders, kMaxGpusPerNode> devices_;
    Holders by_cpu_;
    Holders by_memory_;
    Holders by_pods_;
};

}  // namespace tessera
