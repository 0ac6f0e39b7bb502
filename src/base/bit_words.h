// Sets of small numbers as rows of 64-bit words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

inline constexpr std::size_t kWordBits = 64;

constexpr std::size_t words_for(std::size_t bits) { return (bits + kWordBits - 1) / kWordBits; }
constexpr std::size_t word_of(std::size_t bit) { return bit / kWordBits; }
constexpr std::uint64_t bit_in_word(std::size_t bit) {
    return std::uint64_t{1} << (bit % kWordBits);
}

}  // namespace tessera
