#include "role/cli/terminal.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/text.h"

namespace tessera::cli {

bool moves_cursor(int descriptor) {
    const char* name = std::getenv("TERM");
    return name != nullptr && *name != '\0' && std::string_view(name) != "dumb" &&
           isatty(descriptor) != 0;
}

bool colours_wanted() {
    const char* refused = std::getenv("NO_COLOR");
    return moves_cursor(STDOUT_FILENO) && (refused == nullptr || *refused == '\0');
}

bool shows_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (value != nullptr && *value != '\0') {
            const std::string_view locale = value;
            return locale.find("UTF-8") != std::string_view::npos ||
                   locale.find("utf8") != std::string_view::npos;
        }
    }
    return false;
}

std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = utf8_length(text, at);
        const auto first = static_cast<unsigned char>(text[at]);
        // U+0080 to U+009F are control characters as well.
        const bool control =
            first < 0x20 || first == 0x7f ||
            (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0);
        if (length > 0 && !control) {
            out += text.substr(at, length);
            at += length;
            continue;
        }
        for (const std::size_t end = at + std::max<std::size_t>(1, length); at < end; ++at) {
            fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                           static_cast<unsigned char>(text[at]));
        }
    }
    return out;
}

}  // namespace tessera::cli
