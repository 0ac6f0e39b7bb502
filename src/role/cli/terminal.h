// What standard output can show.
#pragma once

namespace tessera::cli {

// A terminal that obeys escape sequences: TERM is set, and not to "dumb".
bool moves_cursor(int descriptor);
// Such a terminal, and the user has not asked for no colours (NO_COLOR).
bool colours_wanted();
// By the locale: block characters and the like.
bool shows_utf8();

}  // namespace tessera::cli
