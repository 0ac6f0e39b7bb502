// KubeShare's pool of pod-manager ports of one node: 50051 to 50561.
//
// A port is not given out again until all others were, so that a client of an ended pod does not
// meet the manager of the next one.
//   PortPool pool;
//   auto first = pool.take();   // 50051
//   pool.release(*first);
//   auto second = pool.take();  // 50052
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tessera {

class PortPool {
  public:
    static constexpr std::uint16_t kFirst = 50051;
    static constexpr std::uint16_t kCount = 511;

    static constexpr bool contains(std::int64_t port) {
        return port >= kFirst && port < kFirst + kCount;
    }

    // The next free port after the one given out last; nullopt when all are in use.
    std::optional<std::uint16_t> take() {
        for (std::size_t step = 0; step < kCount; ++step) {
            const std::size_t at = (next_ + step) % kCount;
            if (!used_[at]) {
                used_.set(at);
                next_ = (at + 1) % kCount;
                return static_cast<std::uint16_t>(kFirst + at);
            }
        }
        return std::nullopt;
    }

    // For a pod that has its port already (after a restart). False when it is not ours to give
    // or in use.
    bool reserve(std::int64_t port) {
        if (!contains(port) || used_[slot(port)]) {
            return false;
        }
        used_.set(slot(port));
        return true;
    }

    // A port outside the pool or not in use is left alone: false.
    bool release(std::int64_t port) {
        if (!contains(port) || !used_[slot(port)]) {
            return false;
        }
        used_.reset(slot(port));
        return true;
    }

    std::size_t free() const { return kCount - used_.count(); }

  private:
    static std::size_t slot(std::int64_t port) { return static_cast<std::size_t>(port - kFirst); }

    std::bitset<kCount> used_;
    std::size_t next_ = 0;
};

}  // namespace tessera
