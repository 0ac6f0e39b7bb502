// A vector whose first N elements live inside it: no allocation for the usual, small case.
//
//   InlineVector<DeviceGrant, 2> grants;   // one or two GPUs: no heap
//   grants.push_back({...});
//
// For trivially copyable elements only, which is all that the hot path keeps. Elements beyond the
// N-th move everything to the heap, as std::vector does; references are invalidated alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/assert.h"

namespace tessera {

template <class T, std::size_t N>
class InlineVector {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    static_assert(N > 0);

  public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    InlineVector() = default;
    InlineVector(std::initializer_list<T> items) { assign({items.begin(), items.size()}); }
    explicit InlineVector(std::span<const T> items) { assign(items); }
    explicit InlineVector(std::size_t count, const T& item = T()) { resize(count, item); }
    InlineVector(const InlineVector& other) { assign({other.data(), other.size()}); }
    InlineVector(InlineVector&& other) noexcept { steal(other); }
    InlineVector& operator=(const InlineVector& other) {
        if (this != &other) {
            assign({other.data(), other.size()});
        }
        return *this;
    }
    InlineVector& operator=(InlineVector&& other) noexcept {
        if (this != &other) {
            free_heap();
            steal(other);
        }
        return *this;
    }
    ~InlineVector() { free_heap(); }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    std::size_t capacity() const { return capacity_; }
    bool on_heap() const { return capacity_ > N; }

    T* data() { return on_heap() ? heap_ : inline_data(); }
    const T* data() const { return on_heap() ? heap_ : inline_data(); }
    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }
    T& operator[](std::size_t at) { return data()[at]; }
    const T& operator[](std::size_t at) const { return data()[at]; }
    T& at(std::size_t at) {
        TESSERA_ASSERT(at < size_, "an index lies within its vector");
        return data()[at];
    }
    const T& at(std::size_t at) const {
        TESSERA_ASSERT(at < size_, "an index lies within its vector");
        return data()[at];
    }
    T& front() { return data()[0]; }
    const T& front() const { return data()[0]; }
    T& back() { return data()[size_ - 1]; }
    const T& back() const { return data()[size_ - 1]; }

    void push_back(const T& item) {
        if (size_ == capacity_) {
            const T copy = item;  // it may live in the storage that grow() gives up
            grow(std::size_t{capacity_} * 2);
            new (data() + size_++) T(copy);
            return;
        }
        new (data() + size_++) T(item);
    }
    template <class... Args>
    T& emplace_back(Args&&... args) {
        push_back(T{std::forward<Args>(args)...});
        return back();
    }
    void pop_back() {
        TESSERA_ASSERT(size_ > 0, "an empty vector has nothing to remove");
        --size_;
    }
    void clear() { size_ = 0; }
    void reserve(std::size_t count) {
        if (count > capacity_) {
            grow(count);
        }
    }
    void resize(std::size_t count, const T& item = T()) {
        const T copy = item;
        reserve(count);
        for (std::size_t at = size_; at < count; ++at) {
            new (data() + at) T(copy);
        }
        size_ = static_cast<std::uint32_t>(count);
    }
    // `items` must not lie in this vector.
    void assign(std::span<const T> items) {
        reserve(items.size());
        if (!items.empty()) {
            std::memcpy(static_cast<void*>(data()), items.data(), items.size_bytes());
        }
        size_ = static_cast<std::uint32_t>(items.size());
    }

    friend bool operator==(const InlineVector& a, const InlineVector& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

  private:
    T* inline_data() { return std::launder(reinterpret_cast<T*>(inline_)); }
    const T* inline_data() const { return std::launder(reinterpret_cast<const T*>(inline_)); }

    void grow(std::size_t count) {
        TESSERA_ASSERT(count <= UINT32_MAX, "a small vector stays small");
        T* moved = static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(alignof(T))));
        if (size_ > 0) {
            std::memcpy(static_cast<void*>(moved), data(), size_ * sizeof(T));
        }
        free_heap();
        heap_ = moved;
        capacity_ = static_cast<std::uint32_t>(count);
    }
    void free_heap() {
        if (on_heap()) {
            ::operator delete(heap_, std::align_val_t(alignof(T)));
            capacity_ = N;
        }
    }
    void steal(InlineVector& other) noexcept {
        size_ = other.size_;
        capacity_ = other.capacity_;
        if (other.on_heap()) {
            heap_ = other.heap_;
            other.capacity_ = N;
        } else if (size_ > 0) {
            std::memcpy(inline_, other.inline_, std::min<std::size_t>(size_, N) * sizeof(T));
        }
        other.size_ = 0;
    }

    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = N;
    union {
        alignas(T) std::byte inline_[N * sizeof(T)];
        T* heap_;
    };
};

}  // namespace tessera
