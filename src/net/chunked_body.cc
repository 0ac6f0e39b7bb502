#include "net/chunked_body.h"

#include <algorithm>
#include <charconv>

namespace tessera {
namespace {

constexpr int kMostDigits = 16;  // of a 64-bit size

}  // namespace

const char* line_fault(char c, char before) {
    if (before == '\r' && c != '\n') {
        return "a carriage return without a line feed";
    }
    if (c == '\n' && before != '\r') {
        return "a line feed without a carriage return";
    }
    if (before == '\n' && (c == ' ' || c == '\t')) {
        return "a line that begins with a space";
    }
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\t' && c != '\r' && c != '\n') || code == 0x7f) {
        return "a control character";
    }
    return nullptr;
}

ChunkedBody::Piece ChunkedBody::next(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && state_ == State::more) {
        if (data_left_ == 0) {
            take(bytes[at++]);
            continue;
        }
        const std::string_view data = bytes.substr(at, data_left_);
        data_left_ -= data.size();
        if (data_left_ == 0) {
            part_ = Part::data_end;
            before_ = '\0';
        }
        return {at + data.size(), data};
    }
    return {at, {}};
}

void ChunkedBody::take(char c) {
    if (line_fault(c, before_) != nullptr) {
        state_ = State::malformed;
        return;
    }
    before_ = c;
    switch (part_) {
        case Part::size:
            return take_size(c);
        case Part::extension:
            return c == '\n' ? end_size() : take_extra();
        case Part::data_end:
            if (c == '\n') {
                part_ = Part::size;
            } else if (c != '\r') {
                state_ = State::malformed;
            }
            return;
        case Part::trailer:
            ++line_length_;
            if (c != '\n') {
                return take_extra();
            }
            if (line_length_ == 2) {  // CR LF alone
                state_ = State::complete;
            }
            line_length_ = 0;
            return;
    }
}

void ChunkedBody::take_size(char c) {
    unsigned int digit = 0;
    if (c == '\n') {
        end_size();
    } else if (std::from_chars(&c, &c + 1, digit, 16).ptr != &c) {
        size_ = size_ * 16 + digit;
        state_ = ++digits_ > kMostDigits ? State::malformed : State::more;
    } else if (digits_ == 0 || (c != ';' && c != '\r')) {
        state_ = State::malformed;
    } else if (c == ';') {
        part_ = Part::extension;
    }
}

void ChunkedBody::end_size() {
    if (size_ > left_.data) {
        state_ = State::too_large;
        return;
    }
    part_ = size_ == 0 ? Part::trailer : Part::size;
    data_left_ = static_cast<std::size_t>(size_);
    left_.data -= data_left_;
    size_ = 0;
    digits_ = 0;
}

void ChunkedBody::take_extra() {
    if (left_.extras == 0) {
        state_ = State::malformed;
    } else {
        --left_.extras;
    }
}

}  // namespace tessera
