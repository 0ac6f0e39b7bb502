#include "role/cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <initializer_list>
#include <string_view>

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

}  // namespace tessera::cli
