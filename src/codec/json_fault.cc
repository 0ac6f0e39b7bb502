// The place of a fault in JSON, which simdjson does not tell: a plain walk by the grammar.
#include <cctype>

#include "base/text.h"
#include "codec/json_value.h"

namespace tessera {
namespace {

class JsonScan {
  public:
    explicit JsonScan(std::string_view text) : text_(text) {}

    // Where the walk came to a stop; npos when all of the text is one value.
    std::size_t stop() {
        blanks();
        if (!value(0)) {
            return at_;
        }
        blanks();
        return at_ == text_.size() ? std::string_view::npos : at_;
    }

  private:
    static constexpr int kDepthMax = 1000;

    char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) {
            return false;
        }
        ++at_;
        return true;
    }
    void blanks() {
        while (here() == ' ' || here() == '\t' || here() == '\n' || here() == '\r') {
            ++at_;
        }
    }

    bool value(int depth) {
        if (depth > kDepthMax) {
            return false;
        }
        switch (here()) {
            case '{':
                return listed('}', depth, true);
            case '[':
                return listed(']', depth, false);
            case '"':
                return string();
            case 't':
                return word("true");
            case 'f':
                return word("false");
            case 'n':
                return word("null");
            default:
                return number();
        }
    }

    // Values with commas between them; members have a name and a colon before.
    bool listed(char end, int depth, bool named) {
        ++at_;
        blanks();
        if (take(end)) {
            return true;
        }
        while (true) {
            blanks();
            if (named) {
                if (here() != '"' || !string()) {
                    return false;
                }
                blanks();
                if (!take(':')) {
                    return false;
                }
                blanks();
            }
            if (!value(depth + 1)) {
                return false;
            }
            blanks();
            if (take(end)) {
                return true;
            }
            if (!take(',')) {
                return false;
            }
        }
    }

    bool string() {
        ++at_;
        while (at_ < text_.size()) {
            const auto c = static_cast<unsigned char>(text_[at_]);
            if (c == '"') {
                ++at_;
                return true;
            }
            if (c < 0x20) {
                return false;
            }
            if (c == '\\') {
                if (!escape()) {
                    return false;
                }
                continue;
            }
            const std::size_t length = utf8_length(text_, at_);
            if (length == 0) {
                return false;
            }
            at_ += length;
        }
        return false;
    }

    bool escape() {
        const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
        if (c == 'u') {
            for (std::size_t i = 2; i < 6; ++i) {
                if (at_ + i >= text_.size() ||
                    std::isxdigit(static_cast<unsigned char>(text_[at_ + i])) == 0) {
                    return false;
                }
            }
            at_ += 6;
            return true;
        }
        if (c == '\0' || std::string_view("\"\\/bfnrt").find(c) == std::string_view::npos) {
            return false;
        }
        at_ += 2;
        return true;
    }

    bool word(std::string_view wanted) {
        if (!text_.substr(at_).starts_with(wanted)) {
            return false;
        }
        at_ += wanted.size();
        return true;
    }

    bool digits() {
        const std::size_t begin = at_;
        while (here() >= '0' && here() <= '9') {
            ++at_;
        }
        return at_ > begin;
    }

    bool number() {
        take('-');
        if (!take('0') && !digits()) {
            return false;
        }
        if (take('.') && !digits()) {
            return false;
        }
        if (take('e') || take('E')) {
            if (!take('+')) {
                take('-');
            }
            return digits();
        }
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

std::optional<TextPlace> json_fault(std::string_view text) {
    const std::string_view body = without_byte_order_mark(text);
    const std::size_t stop = JsonScan(body).stop();
    if (stop == std::string_view::npos) {
        return std::nullopt;
    }
    TextPlace place;
    for (const char c : body.substr(0, stop)) {
        place.line += c == '\n' ? 1 : 0;
        place.column = c == '\n' ? 1 : place.column + 1;
    }
    return place;
}

}  // namespace tessera
