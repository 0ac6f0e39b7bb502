// What a terminal is told, so that a picture stays in place: the cursor hidden while frames follow
// each other, and a clean line with the cursor shown when they end, also by Ctrl-C.
#pragma once

#include <string>
#include <string_view>

namespace tessera::cli {

std::string opened_screen();
// The picture from the top left corner; every line wipes what was longer before it.
std::string screen_frame(std::string_view picture);
// The cursor stands below the picture, perhaps behind the ^C that the terminal itself wrote.
std::string closed_screen();

}  // namespace tessera::cli
