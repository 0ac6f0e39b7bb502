#include "role/mirror/pod_book.h"

#include "base/assert.h"

namespace tessera {

PodIndex PodBook::open(const Pod& pod) {
    TESSERA_ASSERT(!pod.uid.empty(), "pods without uid are refused where they enter");
    if (const PodIndex known = find(pod.uid); known.valid()) {
        return known;
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
    by_uid_.insert(index);
    by_name_.erase(Name(pod.space, pod.name));
    by_name_.insert(index);
    return index;
}

PodIndex PodBook::find(std::string_view uid) const {
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? PodIndex() : *found;
}

PodIndex PodBook::find(std::string_view space, std::string_view name) const {
    const auto found = by_name_.find(Name(space, name));
    return found == by_name_.end() ? PodIndex() : *found;
}

void PodBook::close(PodIndex index) {
    by_uid_.erase(index);
    // A pod of the same name may have come since.
    if (const auto named = by_name_.find(index); named != by_name_.end() && *named == index) {
        by_name_.erase(named);
    }
    records_[index.slot()] = PodRecord();
    free_.push_back(index);
}

}  // namespace tessera
