// Any text is a topology or an error; what is built keeps its promises.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "codec/cell_yaml.h"
#include "model/cell_distance.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const CellLimits limits{.cells = 5000, .levels = 16};
    const auto config = parse_cell_yaml(text, limits);
    if (!config) {
        TESSERA_ASSERT(!config.error().message.empty(), "an error says something");
        return 0;
    }
    const auto tree = CellTree::build(*config, limits);
    if (!tree) {
        return 0;
    }
    for (const CellIndex leaf : tree->leaves()) {
        TESSERA_ASSERT(tree->find_leaf(tree->cell(leaf).id) == leaf, "ids are unique");
        TESSERA_ASSERT(cell_distance(tree->cell(leaf).id, tree->cell(leaf).id) == 0,
                       "nothing is nearer than itself");
    }
    return 0;
}
