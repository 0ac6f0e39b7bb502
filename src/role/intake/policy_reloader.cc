#include "role/intake/policy_reloader.h"

#include <sys/stat.h>

#include <utility>

#include "sim/policy_source.h"

namespace tessera {

PolicyReloader::Stamp PolicyReloader::stamp_of(const std::string& path) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0) {
        return {};
    }
    return {found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size, found.st_ino};
}

Expected<PolicyReloader> PolicyReloader::open(std::string path) {
    // Before the file is read: a change in between is seen at the next look.
    const Stamp stamp = stamp_of(path);
    TESSERA_TRY(PolicySpec spec, read_policy_file(path));
    TESSERA_TRY(PolicyHolder holder, PolicyHolder::start(std::move(spec)));
    return PolicyReloader(std::move(path), std::move(holder), stamp);
}

Expected<bool> PolicyReloader::look() {
    return stamp_of(path_) == stamp_ ? Expected<bool>(false) : reload();
}

Expected<bool> PolicyReloader::reload() {
    stamp_ = stamp_of(path_);
    return holder_.offer(read_policy_file(path_));
}

}  // namespace tessera
