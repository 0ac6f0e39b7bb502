#include "role/intake/live_policies.h"

#include <algorithm>
#include <utility>

#include "sim/policy_source.h"

namespace tessera {

Expected<void> LivePolicies::add(const std::string& given) {
    if (!PolicySource::is_file(given)) {
        TESSERA_CHECK(make_policy(given, {}));
        return {};
    }
    TESSERA_TRY(PolicyReloader file, PolicyReloader::open(given));
    TESSERA_CHECK(file.make({}));
    const std::lock_guard lock(mutex_);
    files_.insert_or_assign(given, std::move(file));
    return {};
}

Expected<std::unique_ptr<Policy>> LivePolicies::make(std::string_view given) const {
    const std::lock_guard lock(mutex_);
    const auto file = files_.find(given);
    return file == files_.end() ? make_policy(given, {}) : file->second.make({});
}

std::vector<LivePolicies::Change> LivePolicies::look() {
    std::map<std::string, PolicyReloader, std::less<>> files;
    {
        const std::lock_guard lock(mutex_);
        files = files_;
    }
    std::vector<Change> changes;
    for (auto& [name, file] : files) {
        const auto changed = file.look();
        if (!changed) {
            changes.push_back({name, changed.error()});
        } else if (*changed) {
            changes.push_back({name});
        }
    }
    const std::lock_guard lock(mutex_);
    files_ = std::move(files);
    return changes;
}

std::size_t LivePolicies::refused() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::count_if(
        files_.begin(), files_.end(), [](const auto& one) { return one.second.refused(); }));
}

}  // namespace tessera
