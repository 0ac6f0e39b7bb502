// The one spelling of a GPU model's name.
//
// The driver says "Tesla V100 SXM2", node labels and KubeShare's files "Tesla-V100-SXM2": a label
// cannot hold a blank. Names are compared with dashes, wherever they come from.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// Blanks around the name fall away, those inside become one dash each run.
inline std::string canonical_model(std::string_view name) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    std::string result;
    bool gap = false;
    for (const char c : name) {
        if (blank(c)) {
            gap = !result.empty();
            continue;
        }
        if (gap) {
            result.push_back('-');
            gap = false;
        }
        result.push_back(c);
    }
    return result;
}

}  // namespace tessera
