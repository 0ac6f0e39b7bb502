// Builds a CellTree from the file's types and cells, with a sentence for every way to get it wrong.
#include "model/cell_tree.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "model/model_name.h"

namespace tessera {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t kIdLengthMax = 253;
constexpr std::size_t kShownMax = 80;

// A type, and what follows from it.
struct ResolvedType {
    const CellType* type = nullptr;
    std::int64_t cells = 0;   // in a subtree, itself included
    int level = 0;            // 0 = not yet resolved
    int node_levels = 0;      // at or below it, on the way to a leaf
    int child = -1;           // -1 = the child is a GPU model
    std::int32_t model = -1;  // into the model names
};

// A name as part of a path in a message.
std::string shown(std::string_view name) {
    const bool plain = name.size() <= kShownMax &&
                       std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; });
    return plain ? std::string(name) : in_quotes(name);
}

std::string at_line(int line) { return line > 0 ? fmt::format("line {}: ", line) : std::string(); }

std::string_view last_segment(std::string_view id) { return id.substr(id.rfind('/') + 1); }

// Ids go into paths and into comma lists.
bool good_id(std::string_view id) {
    if (id.empty() || id.size() > kIdLengthMax || id.front() == '/' || id.back() == '/' ||
        id.find("//") != std::string_view::npos) {
        return false;
    }
    return std::all_of(id.begin(), id.end(),
                       [](char c) { return c > ' ' && c != ',' && c != '\x7f'; });
}

}  // namespace

// Builds in three steps: the types and what follows from them, then each tree breadth first (ids
// count along a level), then the views by node, by model and by id.
class CellTreeBuilder {
  public:
    CellTreeBuilder(const CellConfig& config, const CellLimits& limits)
        : config_(config), limits_(limits) {}

    Expected<CellTree> build() {
        TESSERA_CHECK(read_types());
        TESSERA_CHECK(check_size());
        for (std::size_t i = 0; i < config_.cells.size(); ++i) {
            TESSERA_CHECK(grow(config_.cells[i], i + 1));
        }
        TESSERA_CHECK(index_leaves());
        if (unnamed_nodes_ > 0) {
            tree_.warnings_.push_back(fmt::format(
                "{} node-level cells have no cellId, so that their node names are positions (the "
                "first is \"{}\")",
                unnamed_nodes_, first_unnamed_node_));
        }
        return std::move(tree_);
    }

  private:
    struct Pending {
        CellIndex cell;
        const CellSpec* spec;  // null = synthesised
        int type;              // -1 = a GPU
    };

    Expected<void> read_types() {
        types_.resize(config_.types.size());
        for (std::size_t i = 0; i < types_.size(); ++i) {
            const CellType& type = config_.types[i];
            TESSERA_CHECK(check_type(type));
            types_[i].type = &type;
            if (!by_name_.emplace(type.name, static_cast<int>(i)).second) {
                return fail(ErrorKind::invalid, "{}cellTypes: {} is there twice",
                            at_line(type.line), in_quotes(type.name));
            }
        }
        for (std::size_t i = 0; i < types_.size(); ++i) {
            TESSERA_CHECK(resolve(static_cast<int>(i)));
        }
        return {};
    }

    static Expected<void> check_type(const CellType& type) {
        const std::string where =
            fmt::format("{}cellTypes.{}", at_line(type.line), shown(type.name));
        if (type.name.empty()) {
            return fail(ErrorKind::invalid, "{}cellTypes: a type needs a name", at_line(type.line));
        }
        if (canonical_model(type.child).empty()) {
            return fail(ErrorKind::invalid,
                        "{}.childCellType is missing: name another cell type or a GPU model",
                        where);
        }
        if (type.child_count < 1) {
            return fail(ErrorKind::invalid, "{}.childCellNumber: {} is not a count of 1 or more",
                        where, type.child_count);
        }
        if (type.child_priority && (*type.child_priority < 0 || *type.child_priority > 100)) {
            return fail(ErrorKind::invalid, "{}.childCellPriority: {} is not in 0..100", where,
                        *type.child_priority);
        }
        return {};
    }

    // Walks down from a type; iterative, because a file may chain thousands of types.
    Expected<void> resolve(int start) {
        std::vector<int> chain;
        int at = start;
        while (at >= 0 && types_[slot(at)].level == 0) {
            if (std::cmp_greater_equal(chain.size(), limits_.levels)) {
                return chain_too_long(start);
            }
            chain.push_back(at);
            const auto child = by_name_.find(types_[slot(at)].type->child);
            at = child == by_name_.end() ? -1 : child->second;
            types_[slot(chain.back())].child = at;
        }
        for (auto step = chain.rbegin(); step != chain.rend(); ++step) {
            TESSERA_CHECK(derive(types_[slot(*step)]));
        }
        return {};
    }

    // Either a cycle or more levels than anyone builds.
    tl::unexpected<Error> chain_too_long(int start) const {
        int at = start;
        for (int step = 0; std::cmp_less_equal(step, types_.size()); ++step) {
            const auto child = by_name_.find(types_[slot(at)].type->child);
            if (child == by_name_.end()) {
                break;
            }
            at = child->second;
            if (at == start || std::cmp_equal(step, types_.size())) {
                return fail(
                    ErrorKind::invalid, "{}cellTypes.{}.childCellType: {} leads back to itself",
                    at_line(types_[slot(at)].type->line), shown(types_[slot(at)].type->name),
                    in_quotes(types_[slot(at)].type->child));
            }
        }
        const CellType& type = *types_[slot(start)].type;
        return fail(ErrorKind::invalid, "{}cellTypes.{} is more than {} levels deep",
                    at_line(type.line), shown(type.name), limits_.levels);
    }

    Expected<void> derive(ResolvedType& self) {
        const CellType& type = *self.type;
        self.node_levels = type.node_level ? 1 : 0;
        std::int64_t child_cells = 1;
        int child_level = 1;
        if (self.child >= 0) {
            const ResolvedType& child = types_[slot(self.child)];
            child_cells = child.cells;
            child_level = child.level;
            self.node_levels += child.node_levels;
            self.model = child.model;
        } else {
            TESSERA_TRY(self.model, leaf_model(type));
        }
        self.level = child_level + 1;
        if (self.level > limits_.levels) {
            return fail(ErrorKind::invalid, "{}cellTypes.{} is more than {} levels deep",
                        at_line(type.line), shown(type.name), limits_.levels);
        }
        if (self.node_levels > 1) {
            return fail(ErrorKind::invalid,
                        "{}cellTypes.{}: isNodeLevel is set here and on a type inside it; a node "
                        "contains no nodes",
                        at_line(type.line), shown(type.name));
        }
        self.cells = type.child_count > kHuge / child_cells
                         ? kHuge
                         : std::min(kHuge, 1 + type.child_count * child_cells);
        return {};
    }

    // The GPU model that a type contains, with its priority: one model has one.
    Expected<std::int32_t> leaf_model(const CellType& type) {
        const auto next = static_cast<std::int32_t>(tree_.model_names_.size());
        const std::string model_name = canonical_model(type.child);
        const auto [found, fresh] = models_.emplace(model_name, next);
        if (fresh) {
            tree_.model_names_.push_back(model_name);
            tree_.priorities_.push_back(0);
            priority_from_.push_back(nullptr);
        }
        const std::size_t model = slot(found->second);
        if (!type.child_priority) {
            return found->second;
        }
        const auto priority = static_cast<std::int32_t>(*type.child_priority);
        if (const CellType* first = priority_from_[model];
            first != nullptr && tree_.priorities_[model] != priority) {
            return fail(ErrorKind::invalid,
                        "{}cellTypes.{}.childCellPriority: GPU model {} has priority {} here "
                        "and {} in {}; a model has one priority",
                        at_line(type.line), shown(type.name), in_quotes(type.child), priority,
                        tree_.priorities_[model], in_quotes(first->name));
        }
        priority_from_[model] = &type;
        tree_.priorities_[model] = priority;
        return found->second;
    }

    // Before anything is made: does what the file asks for fit?
    Expected<void> check_size() {
        std::int64_t total = 0;
        for (std::size_t i = 0; i < config_.cells.size(); ++i) {
            const CellSpec& spec = config_.cells[i];
            const auto type = by_name_.find(spec.type);
            if (type == by_name_.end()) {
                return fail(ErrorKind::invalid,
                            "{}cells[{}].cellType: {} is not among the cellTypes",
                            at_line(spec.line), i, in_quotes(spec.type));
            }
            const ResolvedType& resolved = types_[slot(type->second)];
            if (resolved.node_levels == 0) {
                return fail(ErrorKind::invalid,
                            "{}cells[{}].cellType: no type from {} down to {} has "
                            "isNodeLevel, so its GPUs would belong to no node (if {} is not "
                            "a GPU model, it is missing in cellTypes)",
                            at_line(spec.line), i, in_quotes(spec.type),
                            in_quotes(tree_.model_names_[slot(resolved.model)]),
                            in_quotes(tree_.model_names_[slot(resolved.model)]));
            }
            total = std::min(kHuge, total + resolved.cells);
            if (total > limits_.cells) {
                return fail(ErrorKind::invalid,
                            "{}cells[{}]: with this one the file describes more than {} cells; "
                            "check childCellNumber",
                            at_line(spec.line), i, limits_.cells);
            }
        }
        tree_.cells_.reserve(static_cast<std::size_t>(total));
        return {};
    }

    // One tree, level by level.
    Expected<void> grow(const CellSpec& root, std::size_t position) {
        std::vector<Pending> level;
        std::vector<Pending> next;
        TESSERA_TRY(const CellIndex first, add(&root, by_name_[root.type], {}, position));
        tree_.roots_.push_back(first);
        level.push_back({first, &root, by_name_[root.type]});
        while (!level.empty()) {
            next.clear();
            for (const Pending& parent : level) {
                TESSERA_CHECK(add_children(parent, next));
            }
            level.swap(next);
        }
        return {};
    }

    Expected<void> add_children(const Pending& parent, std::vector<Pending>& level) {
        if (parent.type < 0) {
            tree_.leaves_.push_back(parent.cell);
            return {};
        }
        const ResolvedType& type = types_[slot(parent.type)];
        const bool given = parent.spec != nullptr && !parent.spec->children.empty();
        if (given && std::cmp_not_equal(parent.spec->children.size(), type.type->child_count)) {
            return fail(ErrorKind::invalid,
                        "{}cell \"{}\" of type {} lists {} cellChildren, its type says {}",
                        at_line(parent.spec->line), tree_.cell(parent.cell).id,
                        in_quotes(type.type->name), parent.spec->children.size(),
                        type.type->child_count);
        }
        for (std::int64_t k = 0; k < type.type->child_count; ++k) {
            const CellSpec* spec =
                given ? &parent.spec->children[static_cast<std::size_t>(k)] : nullptr;
            TESSERA_TRY(const CellIndex child, add(spec, type.child, parent, level.size() + 1));
            Cell& above = tree_.cells_[parent.cell.slot()];
            above.first_child = k == 0 ? child : above.first_child;
            above.child_count += 1;
            level.push_back({child, spec, type.child});
        }
        return {};
    }

    Expected<CellIndex> add(const CellSpec* spec, int type, Pending parent, std::size_t position) {
        const Cell* above = parent.cell.valid() ? &tree_.cell(parent.cell) : nullptr;
        const std::string& type_name =
            type >= 0 ? types_[slot(type)].type->name : types_[slot(parent.type)].type->child;
        if (spec != nullptr) {
            TESSERA_CHECK(check_spec(*spec, type_name, type));
        }
        Cell cell;
        const bool named = spec != nullptr && !spec->id.empty();
        const std::string own = named ? spec->id : std::to_string(position);
        cell.id = above != nullptr ? above->id + "/" + own : own;
        cell.parent = parent.cell;
        cell.level = static_cast<std::uint8_t>(type >= 0 ? types_[slot(type)].level : 1);
        cell.node = above != nullptr ? above->node : CellNodeIndex::none();
        const int model = types_[slot(type >= 0 ? type : parent.type)].model;
        cell.model = CellModelIndex(static_cast<std::uint32_t>(model));
        cell.type = type >= 0 ? type_name : tree_.model_names_[slot(model)];
        if (type >= 0 && types_[slot(type)].type->node_level) {
            cell.node = node_named(last_segment(cell.id));
            if (!named && unnamed_nodes_++ == 0) {
                first_unnamed_node_ = cell.id;
            }
        }
        tree_.cells_.push_back(std::move(cell));
        return CellIndex(static_cast<std::uint32_t>(tree_.cells_.size() - 1));
    }

    static Expected<void> check_spec(const CellSpec& spec, const std::string& expected, int type) {
        if (!spec.type.empty() && spec.type != expected) {
            return fail(ErrorKind::invalid, "{}cellType: {} stands where the parent's type has {}",
                        at_line(spec.line), in_quotes(spec.type), in_quotes(expected));
        }
        if (!spec.id.empty() && !good_id(spec.id)) {
            return fail(ErrorKind::invalid,
                        "{}cellId: {} is not accepted: 1 to {} characters, no blanks or "
                        "commas, no empty part between slashes",
                        at_line(spec.line), in_quotes(spec.id), kIdLengthMax);
        }
        if (type < 0 && !spec.children.empty()) {
            return fail(ErrorKind::invalid,
                        "{}a cell of GPU model {} has cellChildren; a GPU contains none",
                        at_line(spec.line), in_quotes(expected));
        }
        return {};
    }

    CellNodeIndex node_named(std::string_view name) {
        const CellNodeIndex next(static_cast<std::uint32_t>(tree_.node_names_.size()));
        const auto [found, fresh] = tree_.nodes_.emplace(std::string(name), next);
        if (fresh) {
            tree_.node_names_.emplace_back(name);
            tree_.node_leaves_.emplace_back();
        }
        return found->second;
    }

    Expected<void> index_leaves() {
        for (const CellIndex leaf : tree_.leaves_) {
            const Cell& cell = tree_.cell(leaf);
            TESSERA_ASSERT(cell.node.valid(), "every tree has a node level");
            auto& of_node = tree_.node_leaves_[cell.node.slot()];
            if (of_node.size() == kMaxGpusPerNode) {
                return fail(ErrorKind::invalid,
                            "node \"{}\" has more than {} GPUs in the file, from cell \"{}\" on",
                            tree_.node_name(cell.node), kMaxGpusPerNode, cell.id);
            }
            of_node.push_back(leaf);
        }
        const auto id_of = [this](CellIndex leaf) -> const std::string& {
            return tree_.cell(leaf).id;
        };
        tree_.leaves_by_id_ = tree_.leaves_;
        std::ranges::sort(tree_.leaves_by_id_, std::ranges::less(), id_of);
        const auto twice =
            std::ranges::adjacent_find(tree_.leaves_by_id_, std::ranges::equal_to(), id_of);
        if (twice != tree_.leaves_by_id_.end()) {
            return fail(ErrorKind::invalid,
                        "cells: two GPUs have the id \"{}\"; give their cells different cellIds",
                        id_of(*twice));
        }
        return {};
    }

    static std::size_t slot(int index) { return static_cast<std::size_t>(index); }

    const CellConfig& config_;
    const CellLimits& limits_;
    CellTree tree_;
    std::vector<ResolvedType> types_;
    tsl::robin_map<std::string, int> by_name_;
    tsl::robin_map<std::string, std::int32_t> models_;
    std::vector<const CellType*> priority_from_;  // by model
    std::int64_t unnamed_nodes_ = 0;
    std::string first_unnamed_node_;
};

Expected<CellTree> CellTree::build(const CellConfig& config, const CellLimits& limits) {
    return CellTreeBuilder(config, limits).build();
}

}  // namespace tessera
