#include "role/mirror/pod_book.h"

#include <functional>

#include "base/assert.h"

namespace tessera {

PodIndex PodBook::open(const Pod& pod) {
    TESSERA_ASSERT(!pod.uid.empty(), "pods without uid are refused where they enter");
    if (const auto known = by_uid_.find(pod.uid); known != by_uid_.end()) {
        return known->second;
    }
    PodIndex index(static_cast<std::uint32_t>(records_.size()));
    if (free_.empty()) {
        records_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
    }
    PodRecord& record = records_[index.slot()];
    record.space = pod.space;
    record.name = pod.name;
    record.uid = pod.uid;
    by_uid_.emplace(pod.uid, index);
    by_name_[full_name(pod.space, pod.name)] = index;
    return index;
}

PodIndex PodBook::find(std::string_view uid) const {
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? PodIndex() : found->second;
}

PodIndex PodBook::find(std::string_view space, std::string_view name) const {
    const auto found = by_name_.find(full_name(space, name));
    return found == by_name_.end() ? PodIndex() : found->second;
}

void PodBook::close(PodIndex index) {
    PodRecord& record = records_[index.slot()];
    by_uid_.erase(record.uid);
    // A pod of the same name may have come since.
    const std::string name = full_name(record.space, record.name);
    if (const auto named = by_name_.find(name); named != by_name_.end() && named->second == index) {
        by_name_.erase(named);
    }
    record = PodRecord();
    free_.push_back(index);
}

}  // namespace tessera
