#include "model/cell_tree.h"

#include <algorithm>
#include <functional>

#include "model/model_name.h"

namespace tessera {

std::span<const CellIndex> CellTree::leaves_of(std::string_view node) const {
    const auto found = nodes_.find(std::string(node));
    if (found == nodes_.end()) {
        return {};
    }
    return node_leaves_[found->second.slot()];
}

CellIndex CellTree::find_leaf(std::string_view id) const {
    const auto found = std::ranges::lower_bound(
        leaves_by_id_, id, std::ranges::less(),
        [this](CellIndex leaf) { return std::string_view(cell(leaf).id); });
    return found != leaves_by_id_.end() && cell(*found).id == id ? *found : CellIndex::none();
}

std::int32_t CellTree::priority(std::string_view model) const {
    const auto found = std::ranges::find(model_names_, canonical_model(model));
    return found == model_names_.end()
               ? 0
               : priorities_[static_cast<std::size_t>(found - model_names_.begin())];
}

CellIndex CellTree::common_ancestor(CellIndex a, CellIndex b) const {
    while (a != b && a.valid() && b.valid()) {
        CellIndex& lower = cell(a).level <= cell(b).level ? a : b;
        lower = cell(lower).parent;
    }
    return a == b ? a : CellIndex::none();
}

std::vector<CellIndex> match_leaves(const CellTree& tree, std::string_view node,
                                    std::span<const std::string> gpu_models) {
    const std::span<const CellIndex> leaves = tree.leaves_of(node);
    std::vector<bool> taken(leaves.size(), false);
    std::vector<CellIndex> result(gpu_models.size());
    for (std::size_t gpu = 0; gpu < gpu_models.size(); ++gpu) {
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            if (!taken[i] && tree.cell(leaves[i]).type == gpu_models[gpu]) {
                taken[i] = true;
                result[gpu] = leaves[i];
                break;
            }
        }
    }
    return result;
}

LinkMatrix links_of_leaves(const CellTree& tree, std::span<const CellIndex> leaf_of_gpu) {
    const bool known = std::ranges::any_of(leaf_of_gpu, &CellIndex::valid);
    if (!known) {
        return {};
    }
    const int gpus = static_cast<int>(leaf_of_gpu.size());
    LinkMatrix links(gpus);
    for (int a = 0; a < gpus; ++a) {
        for (int b = a + 1; b < gpus; ++b) {
            const CellIndex left = leaf_of_gpu[static_cast<std::size_t>(a)];
            const CellIndex right = leaf_of_gpu[static_cast<std::size_t>(b)];
            if (!left.valid() || !right.valid()) {
                continue;
            }
            const CellIndex shared = tree.common_ancestor(left, right);
            const int level = shared.valid() ? tree.cell(shared).level : 0;
            LinkLevel link = LinkLevel::system;
            if (level >= 2 && level <= 4) {
                constexpr LinkLevel kByLevel[] = {LinkLevel::pcie_switch, LinkLevel::pcie_host,
                                                  LinkLevel::numa};
                link = kByLevel[level - 2];
            }
            links.set(a, b, Link{link, 0});
        }
    }
    return links;
}

}  // namespace tessera
