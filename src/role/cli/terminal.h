// What standard output can show.
#pragma once

namespace tessera::cli {

// A terminal, and the user has not asked for none (NO_COLOR).
bool colours_wanted();
// By the locale: block characters and the like.
bool shows_utf8();

}  // namespace tessera::cli
