// The chunked transfer coding, strictly and byte by byte: nothing of it has to be kept.
//
//   ChunkedBody chunks(limits);
//   const auto piece = chunks.next(bytes);   // piece.data of it is body, piece.taken is done with
//
// Written anew because the parser of Boost.Beast 1.74 stops the program when "0\r\n" arrives in
// pieces. Extensions and trailers are passed over; they are bounded in sum, as the head is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera {

// What is wrong with `c` behind `before` in the lines of a head or of the coding; null: nothing.
// Anything but CR LF as a line's end, or a line folded into the next, others may read otherwise.
const char* line_fault(char c, char before);

class ChunkedBody {
  public:
    enum class State { more, complete, malformed, too_large };
    struct Limits {
        std::size_t data = 0;
        std::size_t extras = 0;  // bytes of extensions and trailers
    };
    struct Piece {
        std::size_t taken = 0;
        std::string_view data;
    };

    explicit ChunkedBody(Limits limits) : left_(limits) {}

    Piece next(std::string_view bytes);  // to the end of one piece of data, or of the bytes
    State state() const { return state_; }

  private:
    enum class Part { size, extension, data_end, trailer };

    void take(char c);
    void take_size(char c);
    void end_size();
    void take_extra();

    Limits left_;
    State state_ = State::more;
    Part part_ = Part::size;
    char before_ = '\n';
    int digits_ = 0;
    std::uint64_t size_ = 0;
    std::size_t data_left_ = 0;    // of this chunk
    std::size_t line_length_ = 0;  // of a trailer
};

}  // namespace tessera
