// What standard output can show.
#pragma once

#include <string>
#include <string_view>

namespace tessera::cli {

// A terminal that obeys escape sequences: TERM is set, and not to "dumb".
bool moves_cursor(int descriptor);
// Such a terminal, and the user has not asked for no colours (NO_COLOR).
bool colours_wanted();
// By the locale: block characters and the like.
bool shows_utf8();

// Text of others as it may be shown: control characters, which a terminal would obey, and what is
// not UTF-8 become \xNN.
std::string printable(std::string_view text);

}  // namespace tessera::cli
