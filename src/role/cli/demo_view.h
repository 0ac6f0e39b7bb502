// The demo's picture: one line per node, one tile per GPU, in at most 80 columns and 24 lines.
#pragma once

#include <string>

#include "sim/day.h"

namespace tessera::cli {

struct ViewStyle {
    bool colour = false;
    bool blocks = false;  // block characters; else plain ASCII
};

inline constexpr std::size_t kViewColumns = 80;
inline constexpr std::size_t kViewRows = 24;

// Lines joined by "\n".
std::string render_day(const SimulatedDay& day, const ViewStyle& style, std::string_view policy);

// A GPU as five characters: used part filled.
std::string gpu_tile(int used_milli, const ViewStyle& style);

}  // namespace tessera::cli
