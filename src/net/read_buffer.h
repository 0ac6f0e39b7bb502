// Bytes read and not yet taken, in one piece. Grows for a body, shrinks when that is over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace tessera {

class ReadBuffer {
  public:
    explicit ReadBuffer(std::size_t capacity)
        : data_(std::make_unique_for_overwrite<char[]>(capacity)), capacity_(capacity) {}

    std::string_view bytes() const { return {data_.get() + begin_, end_ - begin_}; }
    void consume(std::size_t count) {
        begin_ += count;
        if (begin_ == end_) {
            begin_ = end_ = 0;
        }
    }
    // Where the next bytes go, and that they have come.
    std::span<char> room() {
        if (begin_ > 0) {
            std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
        }
        return {data_.get() + end_, capacity_ - end_};
    }
    void filled(std::size_t count) { end_ += count; }

    // To this size, or to what the bytes in it need.
    void resize(std::size_t capacity) {
        capacity = std::max(capacity, bytes().size());
        if (capacity == capacity_) {
            return;
        }
        auto moved = std::make_unique_for_overwrite<char[]>(capacity);
        std::memcpy(moved.get(), data_.get() + begin_, end_ - begin_);
        data_ = std::move(moved);
        capacity_ = capacity;
        end_ -= begin_;
        begin_ = 0;
    }
    std::size_t capacity() const { return capacity_; }

  private:
    std::unique_ptr<char[]> data_;
    std::size_t capacity_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace tessera
