#include "role/cli/demo_view.h"

#include <algorithm>
#include <array>

#include "base/wording.h"

namespace tessera::cli {

namespace {

constexpr int kTileCells = 5;
constexpr int kMilliPerCell = 1000 / kTileCells;
constexpr std::size_t kHeadAndFoot = 11;  // lines that are not nodes, and one for the cursor

constexpr std::string_view kReset = "\033[0m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kBold = "\033[1m";

// Calm when there is room, warm when a device is shared, cool when it is taken whole.
std::string_view tile_colour(int used_milli) {
    if (used_milli == 0) {
        return kDim;
    }
    return used_milli >= 1000 ? "\033[34m" : "\033[32m";
}

std::string painted(std::string_view text, std::string_view colour, const ViewStyle& style) {
    return style.colour ? fmt::format("{}{}{}", colour, text, kReset) : std::string(text);
}

std::string filled_part(int used_milli, const ViewStyle& style) {
    constexpr std::array<std::string_view, 8> kEighths{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int full = used_milli / kMilliPerCell;
    const int rest = used_milli % kMilliPerCell;
    std::string text;
    for (int cell = 0; cell < kTileCells; ++cell) {
        if (cell < full) {
            text += style.blocks ? "█" : "#";
        } else if (cell == full && rest > 0) {
            text += style.blocks
                        ? kEighths[static_cast<std::size_t>(std::max(1, rest * 8 / kMilliPerCell))]
                        : ":";
        } else {
            text += style.blocks ? "·" : ".";
        }
    }
    return text;
}

std::string clock(double hour) {
    const auto minutes = static_cast<int>(hour * 60 + 1e-6);
    return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

std::string node_line(const SimulatedDay& day, NodeIndex index, const ViewStyle& style) {
    const NodeState& node = day.cluster().node(index);
    const NodeSpec& spec = day.cluster().spec(index);
    std::string line = fmt::format("{:<11.11}", spec.name);
    constexpr std::size_t kTilesShown = 8;
    for (std::size_t g = 0; g < std::min<std::size_t>(node.gpu_count, kTilesShown); ++g) {
        line += gpu_tile(1000 - node.gpus[g].idle_milli, style) + " ";
    }
    for (std::size_t g = node.gpu_count; g < kTilesShown; ++g) {
        line += "      ";
    }
    if (node.gpu_count > kTilesShown) {
        // In place of the cores: there is no room for both.
        return line + fmt::format(" and {} GPUs more", node.gpu_count - kTilesShown);
    }
    const auto used = (spec.cpu.value() - node.free_cpu_milli) / 1000;
    return line + fmt::format(" {:>4}/{} cores", used, spec.cpu.value() / 1000);
}

}  // namespace

std::string gpu_tile(int used_milli, const ViewStyle& style) {
    return painted(filled_part(used_milli, style), tile_colour(used_milli), style);
}

std::string render_day(const SimulatedDay& day, const ViewStyle& style, std::string_view policy) {
    std::string text =
        painted(fmt::format("Tessera  {}  policy {}", clock(day.hour()), policy), kBold, style);
    text += fmt::format("\nallocated {:5.1f} %   running {:>4}   waiting {:>4}\n\n",
                        day.allocated_percent(), day.running(), day.waiting());
    const std::size_t nodes = day.cluster().size();
    const std::size_t shown = std::min(nodes, kViewRows - kHeadAndFoot);
    for (std::uint32_t n = 0; n < shown; ++n) {
        text += node_line(day, NodeIndex(n), style) + "\n";
    }
    if (shown < nodes) {
        text +=
            fmt::format("and {}\n", counted(static_cast<std::int64_t>(nodes - shown), "more node"));
    }
    text += "\nlast placements\n";
    for (const std::string& placement : day.recent()) {
        text += fmt::format("  {}\n", placement);
    }
    return text;
}

}  // namespace tessera::cli
