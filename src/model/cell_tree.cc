#include "model/cell_tree.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "model/model_name.h"

namespace tessera {
namespace {

constexpr std::int64_t kNamesApart = 100;

std::string_view last_segment(std::string_view id) { return id.substr(id.rfind('/') + 1); }

// The value of a segment of digits only; others, and those past any sensible count, are names.
std::optional<std::int64_t> number_of(std::string_view segment) {
    constexpr std::size_t kDigitsMax = 9;
    std::int64_t value = 0;
    const char* end = segment.data() + segment.size();
    if (segment.empty() || segment.size() > kDigitsMax || segment.front() == '-') {
        return std::nullopt;
    }
    const auto [stop, error] = std::from_chars(segment.data(), end, value);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::int64_t segment_distance(std::string_view a, std::string_view b) {
    const auto left = number_of(a);
    const auto right = number_of(b);
    if (left && right) {
        return *left > *right ? *left - *right : *right - *left;
    }
    return a == b ? 0 : kNamesApart;
}

// Takes the last segment off an id; false when nothing is left.
bool take_last(std::string_view& id, std::string_view& segment) {
    if (id.empty()) {
        return false;
    }
    segment = last_segment(id);
    id.remove_suffix(std::min(id.size(), segment.size() + 1));
    return true;
}

}  // namespace

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

std::int64_t cell_distance(std::string_view a, std::string_view b) {
    std::int64_t distance = 0;
    std::string_view left;
    std::string_view right;
    while (!a.empty() && !b.empty()) {
        take_last(a, left);
        take_last(b, right);
        distance += segment_distance(left, right);
    }
    std::string_view rest = a.empty() ? b : a;
    while (take_last(rest, left)) {
        distance += number_of(left).value_or(kNamesApart);
    }
    return distance;
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
