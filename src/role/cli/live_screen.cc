#include "role/cli/live_screen.h"

namespace tessera::cli {

std::string opened_screen() { return "\033[?25l\033[2J"; }

std::string screen_frame(std::string_view picture) {
    std::string text = "\033[H";
    for (const char c : picture) {
        text += c == '\n' ? "\033[K\n" : std::string(1, c);
    }
    return text + "\033[J";
}

std::string closed_screen() { return "\r\033[J\033[?25h"; }

}  // namespace tessera::cli
