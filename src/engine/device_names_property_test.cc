// Names of devices against a plain table: whatever is bound, placed and taken out, in any order.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device_names.h"

namespace tessera {
namespace {

constexpr int kNames = 6;
constexpr int kUuids = 4;
constexpr int kPlaces = 4;

struct Op {
    int kind = 0;  // 0 place, 1 displace, 2 bind, 3 unbind
    int name = 0;
    int uuid = 0;
    int place = 0;
};

std::ostream& operator<<(std::ostream& out, const Op& op) {
    return out << op.kind << ":" << op.name << "," << op.uuid << "," << op.place;
}

std::string uuid_of(int uuid) { return "GPU-" + std::to_string(uuid); }
NodeIndex node_of(int place) { return NodeIndex(static_cast<std::uint32_t>(place / 2)); }
GpuIndex gpu_of(int place) { return GpuIndex(static_cast<std::uint8_t>(place % 2)); }

// Two drivers, two pools: every part of a name tells devices apart.
struct NameText {
    explicit NameText(int name)
        : driver("driver-" + std::to_string(name % 2)),
          pool("pool-" + std::to_string(name / 2 % 2)),
          device("device-" + std::to_string(name / 4)) {}
    DeviceName view() const { return {driver, pool, device}; }

    std::string driver;
    std::string pool;
    std::string device;
};

struct Bound {
    int uuid = 0;
    PartitionIndex partition;
};

struct Table {
    std::map<int, Bound> names;
    std::map<int, int> places;  // by UUID

    std::optional<DeviceLocation> locate(int name) const {
        const auto bound = names.find(name);
        if (bound == names.end() || !places.contains(bound->second.uuid)) {
            return std::nullopt;
        }
        const int place = places.at(bound->second.uuid);
        return DeviceLocation{node_of(place), gpu_of(place), bound->second.partition};
    }
};

void apply(const Op& op, DeviceNames& names, Table& table) {
    const NameText name(op.name);
    switch (op.kind) {
        case 0: {
            // Within its node a GPU may be renumbered, or replaced by another; two GPUs on two
            // nodes have no UUID in common.
            const auto known = table.places.find(op.uuid);
            const bool expected =
                known == table.places.end() || node_of(known->second) == node_of(op.place);
            const auto done = names.place(uuid_of(op.uuid), node_of(op.place), gpu_of(op.place));
            RC_ASSERT(done.has_value() == expected);
            if (expected) {
                std::erase_if(table.places,
                              [&](const auto& entry) { return entry.second == op.place; });
                table.places[op.uuid] = op.place;
            }
            break;
        }
        case 1:
            names.displace(uuid_of(op.uuid));
            table.places.erase(op.uuid);
            break;
        case 2: {
            const PartitionIndex partition =
                op.place == 0 ? PartitionIndex::none()
                              : PartitionIndex(static_cast<std::uint16_t>(op.place));
            RC_ASSERT(names.bind(name.view(), {uuid_of(op.uuid), partition}).has_value());
            table.names[op.name] = {op.uuid, partition};
            break;
        }
        default:
            names.unbind(name.view());
            table.names.erase(op.name);
            break;
    }
}

RC_GTEST_PROP(DeviceNamesProperty, AgreeWithAPlainTable, ()) {
    const auto any_op = rc::gen::build<Op>(rc::gen::set(&Op::kind, rc::gen::inRange(0, 4)),
                                           rc::gen::set(&Op::name, rc::gen::inRange(0, kNames)),
                                           rc::gen::set(&Op::uuid, rc::gen::inRange(0, kUuids)),
                                           rc::gen::set(&Op::place, rc::gen::inRange(0, kPlaces)));
    DeviceNames names;
    Table table;
    for (const Op& op : *rc::gen::container<std::vector<Op>>(any_op)) {
        apply(op, names, table);
        std::map<std::pair<NodeIndex, GpuIndex>, std::vector<DeviceNameIndex>> at;
        for (int name = 0; name < kNames; ++name) {
            const auto expected = table.locate(name);
            RC_ASSERT(names.locate(NameText(name).view()) == expected);
            if (expected) {
                at[{expected->node, expected->gpu}].push_back(names.find(NameText(name).view()));
            }
        }
        // A share taken under one name is seen under all.
        for (int place = 0; place < kPlaces; ++place) {
            auto& expected = at[{node_of(place), gpu_of(place)}];
            std::sort(expected.begin(), expected.end());
            RC_ASSERT(names.names_of(node_of(place), gpu_of(place)) == expected);
        }
    }
}

}  // namespace
}  // namespace tessera
