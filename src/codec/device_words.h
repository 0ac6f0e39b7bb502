// The words that our JSON uses for what a device is, by the order of the enumerations.
#pragma once

#include <array>
#include <string_view>

namespace tessera {

inline constexpr std::array<std::string_view, 3> kHealthWords{"ok", "no-new", "evict"};
inline constexpr std::array<std::string_view, 2> kAllocatorWords{"annotation", "claim"};
inline constexpr std::array<std::string_view, 3> kAttributeWords{"numa", "link", "parent"};
inline constexpr std::array<std::string_view, 6> kLinkWords{"unknown",   "system",      "numa",
                                                            "pcie-host", "pcie-switch", "nvlink"};

}  // namespace tessera
