#include "kube/token_file.h"

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "kube/access.h"

namespace tessera {
namespace {

// What changes when a file is written or replaced. A Secret's file is a link that is turned to
// another file, so the inode tells where two files are equally old and long.
using Stamp = std::array<std::int64_t, 5>;

Stamp stamp_of(const std::string& file) {
    struct stat found{};
    if (::stat(file.c_str(), &found) != 0) {
        return {};
    }
    return {static_cast<std::int64_t>(found.st_ino), found.st_size, found.st_mtim.tv_sec,
            found.st_mtim.tv_nsec, 1};
}

class TokenFile {
  public:
    TokenFile(std::string file, std::string first)
        : file_(std::move(file)), token_(std::move(first)) {}

    std::string now() {
        const std::lock_guard lock(mutex_);
        const Stamp stamp = stamp_of(file_);  // before reading: a later change is seen next time
        if (stamp == stamp_ || stamp == Stamp{}) {
            return token_;
        }
        auto text = read_small_file(file_);
        if (!text) {
            return token_;
        }
        std::string token = trimmed(std::move(*text));
        if (!token.empty()) {
            token_ = std::move(token);
            stamp_ = stamp;
        }
        return token_;
    }

  private:
    std::mutex mutex_;
    const std::string file_;
    std::string token_;
    Stamp stamp_{};
};

}  // namespace

std::function<std::string()> token_from_file(std::string file, std::string first) {
    auto shared = std::make_shared<TokenFile>(std::move(file), std::move(first));
    return [shared] { return shared->now(); };
}

}  // namespace tessera
