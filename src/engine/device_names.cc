#include "engine/device_names.h"

#include <algorithm>

#include "base/hash.h"

namespace tessera {

std::size_t DeviceNames::KeyHash::operator()(const Key& key) const {
    Hash hash;
    hash.add(key.driver.value());
    hash.add(key.pool.value());
    hash.add(key.device.value());
    return hash.value();
}

std::uint64_t DeviceNames::place_key(NodeIndex node, GpuIndex gpu) {
    return std::uint64_t{node.value()} << 8 | gpu.value();
}

DeviceNames::UuidIndex DeviceNames::intern_uuid(std::string_view uuid) {
    const UuidIndex index = uuids_.intern(uuid);
    if (index.slot() == physical_.size()) {
        physical_.emplace_back();
    }
    return index;
}

Expected<void> DeviceNames::place(std::string_view uuid, NodeIndex node, GpuIndex gpu) {
    if (uuid.empty() || !node.valid() || !gpu.valid()) {
        return fail(ErrorKind::invalid, "GPU \"{}\": a UUID, a node and a number are needed", uuid);
    }
    const UuidIndex index = intern_uuid(uuid);
    Physical& physical = physical_[index.slot()];
    if (physical.node == node && physical.gpu == gpu) {
        return {};
    }
    if (physical.node.valid() && physical.node != node) {
        return fail(ErrorKind::conflict,
                    "GPU \"{}\": on node {} and on node {}; a UUID belongs to one GPU", uuid,
                    physical.node.value(), node.value());
    }
    // Within its node a GPU may be renumbered, or replaced by another.
    if (physical.node.valid()) {
        at_.erase(place_key(physical.node, physical.gpu));
    }
    if (const auto former = at_.find(place_key(node, gpu)); former != at_.end()) {
        physical_[former->second.slot()].node = NodeIndex::none();
    }
    physical.node = node;
    physical.gpu = gpu;
    at_[place_key(node, gpu)] = index;
    return {};
}

void DeviceNames::displace(std::string_view uuid) {
    const UuidIndex index = uuids_.find(uuid);
    if (index.valid() && physical_[index.slot()].node.valid()) {
        Physical& physical = physical_[index.slot()];
        at_.erase(place_key(physical.node, physical.gpu));
        physical.node = NodeIndex::none();
    }
}

Expected<DeviceNameIndex> DeviceNames::bind(const DeviceName& name, const Target& target) {
    if (name.driver.empty() || name.device.empty() || target.uuid.empty()) {
        return fail(ErrorKind::invalid,
                    "device \"{}/{}/{}\" with UUID \"{}\": driver, device and UUID are needed",
                    name.driver, name.pool, name.device, target.uuid);
    }
    const Key key{texts_.intern(name.driver), texts_.intern(name.pool), texts_.intern(name.device)};
    const auto [found, added] =
        index_.try_emplace(key, static_cast<std::uint32_t>(entries_.size()));
    const DeviceNameIndex index = found->second;
    if (added) {
        entries_.push_back({.key = key, .uuid = {}, .partition = {}});
    }
    detach(index);
    Entry& entry = entries_[index.slot()];
    entry.uuid = intern_uuid(target.uuid);
    entry.partition = target.partition;
    auto& names = physical_[entry.uuid.slot()].names;
    names.insert(std::lower_bound(names.begin(), names.end(), index), index);
    return index;
}

void DeviceNames::unbind(const DeviceName& name) {
    if (const DeviceNameIndex index = find(name); index.valid()) {
        detach(index);
    }
}

void DeviceNames::detach(DeviceNameIndex name) {
    Entry& entry = entries_[name.slot()];
    if (entry.uuid.valid()) {
        std::erase(physical_[entry.uuid.slot()].names, name);
        entry.uuid = UuidIndex::none();
    }
}

DeviceNameIndex DeviceNames::find(const DeviceName& name) const {
    const Key key{texts_.find(name.driver), texts_.find(name.pool), texts_.find(name.device)};
    const auto found = index_.find(key);
    return found == index_.end() ? DeviceNameIndex::none() : found->second;
}

std::optional<DeviceLocation> DeviceNames::locate(const DeviceName& name) const {
    return locate(find(name));
}

std::optional<DeviceLocation> DeviceNames::locate(DeviceNameIndex name) const {
    if (!name.valid() || name.slot() >= entries_.size() || !entries_[name.slot()].uuid.valid()) {
        return std::nullopt;
    }
    const Entry& entry = entries_[name.slot()];
    const Physical& physical = physical_[entry.uuid.slot()];
    if (!physical.node.valid()) {
        return std::nullopt;
    }
    return DeviceLocation{physical.node, physical.gpu, entry.partition};
}

std::vector<DeviceNameIndex> DeviceNames::names_of(NodeIndex node, GpuIndex gpu) const {
    const auto found = at_.find(place_key(node, gpu));
    return found == at_.end() ? std::vector<DeviceNameIndex>()
                              : physical_[found->second.slot()].names;
}

std::string_view DeviceNames::driver(DeviceNameIndex name) const {
    return texts_.name(entries_[name.slot()].key.driver);
}

std::string_view DeviceNames::pool(DeviceNameIndex name) const {
    return texts_.name(entries_[name.slot()].key.pool);
}

std::string_view DeviceNames::device(DeviceNameIndex name) const {
    return texts_.name(entries_[name.slot()].key.device);
}

}  // namespace tessera
