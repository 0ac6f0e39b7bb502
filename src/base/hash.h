// A small, fixed hash for composite keys: equal on every machine, unlike std::hash.
#pragma once

#include <cstdint>

namespace tessera {

class Hash {
  public:
    void add(std::uint64_t word) {
        state_ ^= word + 0x9e3779b97f4a7c15U + (state_ << 6) + (state_ >> 2);
        state_ *= 0xff51afd7ed558ccdU;
        state_ ^= state_ >> 33;
    }
    std::uint64_t value() const { return state_; }

  private:
    std::uint64_t state_ = 0x243f6a8885a308d3U;
};

}  // namespace tessera
