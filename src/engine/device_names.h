// Which physical GPU a device name means: (driver, pool, device) -> (node, gpu, partition).
//
// Drivers publish devices under names of their own. Several names may mean one physical GPU (two
// drivers, a MIG partition and its parent); they are joined by the GPU's UUID, so that a share
// taken under one name is seen under all. Names and nodes may become known in either order: a name
// resolves as soon as the GPU with its UUID is placed.
//
//   DeviceNames names;
//   names.place("GPU-5f1c", node, gpu);                                  // from the node's GPUs
//   names.bind({"gpu.nvidia.com", "n1", "gpu-3"}, {.uuid = "GPU-5f1c"}); // from a ResourceSlice
//   names.locate({"gpu.nvidia.com", "n1", "gpu-3"})->gpu == gpu;
// The door of device claims uses it; annotations name GPUs by UUID or index.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/intern.h"
#include "base/strong_id.h"
#include "model/ids.h"

namespace tessera {

using PartitionIndex = StrongId<struct PartitionTag, std::uint16_t>;  // none() = the whole GPU
using DeviceNameIndex = StrongId<struct DeviceNameTag>;

struct DeviceName {
    std::string_view driver;
    std::string_view pool;
    std::string_view device;
};

struct DeviceLocation {
    NodeIndex node;
    GpuIndex gpu;
    PartitionIndex partition;

    friend bool operator==(const DeviceLocation&, const DeviceLocation&) = default;
};

class DeviceNames {
  public:
    // Where the GPU with this UUID is. Two GPUs with one UUID are refused: one of the nodes lies.
    Expected<void> place(std::string_view uuid, NodeIndex node, GpuIndex gpu);
    // The GPU was taken out; its names resolve no more until it is placed again.
    void displace(std::string_view uuid);

    struct Target {
        std::string_view uuid;
        PartitionIndex partition{};
    };
    // Says which GPU, or which partition of it, a name means; saying it again replaces it.
    Expected<DeviceNameIndex> bind(const DeviceName& name, const Target& target);
    void unbind(const DeviceName& name);

    // none() for a name never seen. Indices are dense and stay valid for ever.
    DeviceNameIndex find(const DeviceName& name) const;
    std::optional<DeviceLocation> locate(const DeviceName& name) const;
    std::optional<DeviceLocation> locate(DeviceNameIndex name) const;
    // All names of one physical GPU, partitions included, in the order they were first seen.
    std::vector<DeviceNameIndex> names_of(NodeIndex node, GpuIndex gpu) const;
    std::string_view driver(DeviceNameIndex name) const;
    std::string_view pool(DeviceNameIndex name) const;
    std::string_view device(DeviceNameIndex name) const;

    std::size_t size() const { return entries_.size(); }

  private:
    using TextIndex = StrongId<struct TextTag>;
    using UuidIndex = StrongId<struct UuidTag>;
    struct Key {
        TextIndex driver;
        TextIndex pool;
        TextIndex device;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const;
    };
    struct Entry {
        Key key;
        UuidIndex uuid;  // none() when unbound
        PartitionIndex partition;
    };
    struct Physical {
        NodeIndex node;  // none() while not placed
        GpuIndex gpu;
        std::vector<DeviceNameIndex> names;  // ascending
    };

    static std::uint64_t place_key(NodeIndex node, GpuIndex gpu);
    UuidIndex intern_uuid(std::string_view uuid);
    void detach(DeviceNameIndex name);

    Interner<TextIndex> texts_;
    Interner<UuidIndex> uuids_;
    std::vector<Physical> physical_;  // by uuid
    std::vector<Entry> entries_;      // by name
    tsl::robin_map<Key, DeviceNameIndex, KeyHash> index_;
    tsl::robin_map<std::uint64_t, UuidIndex> at_;  // by place
};

}  // namespace tessera
