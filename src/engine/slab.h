// Equal-sized records in one array, reused last out, first in.
//
// Because slots are reused in exactly the reverse order of their return, undoing a take and a
// return in reverse order leaves the slab as it was: a journal can roll back to the same slots.
#pragma once

#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace tessera {

inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

template <class T>
class Slab {
  public:
    // The slot's former content is still there: the caller overwrites what it needs to.
    std::uint32_t take() {
        if (!free_.empty()) {
            const std::uint32_t slot = free_.back();
            free_.pop_back();
            return slot;
        }
        TESSERA_ASSERT(items_.size() < kNoSlot, "a slab's slots suffice");
        items_.emplace_back();
        return static_cast<std::uint32_t>(items_.size() - 1);
    }
    void give(std::uint32_t slot) { free_.push_back(slot); }

    T& operator[](std::uint32_t slot) { return items_[slot]; }
    const T& operator[](std::uint32_t slot) const { return items_[slot]; }

    std::size_t slots() const { return items_.size(); }
    std::size_t live() const { return items_.size() - free_.size(); }
    const std::vector<std::uint32_t>& free_slots() const { return free_; }
    std::size_t memory_bytes() const {
        return items_.capacity() * sizeof(T) + free_.capacity() * sizeof(std::uint32_t);
    }

  private:
    std::vector<T> items_;
    std::vector<std::uint32_t> free_;
};

}  // namespace tessera
