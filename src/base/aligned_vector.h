// A vector whose elements start on a cache line.
//
// For tables that are read line by line: one that starts in the middle of a line touches two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace tessera {

inline constexpr std::size_t kCacheLine = 64;

template <class T>
struct CacheLineAllocator {
    using value_type = T;

    CacheLineAllocator() = default;
    template <class U>
    explicit CacheLineAllocator(const CacheLineAllocator<U>&) {}

    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(kCacheLine)));
    }
    void deallocate(T* memory, std::size_t) {
        ::operator delete(memory, std::align_val_t(kCacheLine));
    }
    template <class U>
    friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator<U>&) {
        return true;
    }
};

template <class T>
using AlignedVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace tessera
