// KubeShare's description of a cluster: a forest of cells whose leaves are GPUs.
//
// A cell type says how many cells of which type it contains; a name that is no type is a GPU
// model. One level of every tree stands for a node. A leaf's id is its path, for example
// "2/lemon/1", and the distance between two ids says how far apart two GPUs are
// (cell_distance.h):
//   auto tree = CellTree::build(config);
//   for (CellIndex leaf : tree->leaves_of("lemon")) { ... tree->cell(leaf).id ... }
// The file is a hint about who is near whom. How much of a GPU is left is the ledger's business.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tsl/robin_map.h>

#include "base/error.h"
#include "base/strong_id.h"
#include "model/topology.h"

namespace tessera {

using CellIndex = StrongId<struct CellTag>;
using CellNodeIndex = StrongId<struct CellNodeTag>;    // a node named by the file
using CellModelIndex = StrongId<struct CellModelTag>;  // a GPU model named by the file

// The file as it was read. Lines are for messages, 0 = unknown.
struct CellType {
    std::string name;
    std::string child;  // another type, or a GPU model
    std::int64_t child_count = 0;
    std::optional<std::int64_t> child_priority{};  // 0..100; of the GPU model when the child is one
    bool node_level = false;
    int line = 0;
};

struct CellSpec {
    std::string type;                // empty = as the parent's type says
    std::string id;                  // empty = its position
    std::vector<CellSpec> children;  // empty = as many as the type says
    int line = 0;
};

struct CellConfig {
    std::vector<CellType> types;
    std::vector<CellSpec> cells;
};

struct CellLimits {
    std::int64_t cells = 1'000'000;  // a typing error must not eat the machine
    int levels = 16;
};

struct Cell {
    std::string id;
    std::string type;       // of a leaf: the GPU model
    CellIndex parent;       // none = a root
    CellIndex first_child;  // children are neighbours; none = a leaf
    std::uint32_t child_count = 0;
    std::uint8_t level = 1;  // 1 = leaf
    CellNodeIndex node;      // none = above the nodes
    CellModelIndex model;    // a tree has one

    bool leaf() const { return child_count == 0; }
};

class CellTree {
  public:
    static Expected<CellTree> build(const CellConfig& config, const CellLimits& limits = {});

    std::span<const Cell> cells() const { return cells_; }
    const Cell& cell(CellIndex index) const { return cells_[index.slot()]; }
    std::span<const CellIndex> roots() const { return roots_; }
    // All GPUs, tree by tree, depth first.
    std::span<const CellIndex> leaves() const { return leaves_; }
    // Those of one node, in the order in which its GPUs fill them; none for a node not named.
    std::span<const CellIndex> leaves_of(std::string_view node) const;
    // The leaf of that id, or none.
    CellIndex find_leaf(std::string_view id) const;

    std::size_t node_count() const { return node_names_.size(); }
    std::string_view node_name(CellNodeIndex node) const { return node_names_[node.slot()]; }
    std::string_view model_name(CellModelIndex model) const { return model_names_[model.slot()]; }
    // 0..100, 0 for a model the file does not name.
    std::int32_t priority(std::string_view model) const;
    std::int32_t priority(const Cell& cell) const { return priorities_[cell.model.slot()]; }
    CellIndex common_ancestor(CellIndex a, CellIndex b) const;  // none = different trees

    // What is allowed but seldom meant, a sentence each.
    std::span<const std::string> warnings() const { return warnings_; }

  private:
    friend class CellTreeBuilder;

    std::vector<Cell> cells_;
    std::vector<CellIndex> roots_;
    std::vector<CellIndex> leaves_;
    std::vector<std::vector<CellIndex>> node_leaves_;  // by CellNodeIndex
    std::vector<std::int32_t> priorities_;             // by CellModelIndex
    std::vector<CellIndex> leaves_by_id_;              // sorted
    std::vector<std::string> node_names_;
    std::vector<std::string> model_names_;
    tsl::robin_map<std::string, CellNodeIndex> nodes_;
    std::vector<std::string> warnings_;
};

// Which leaf each GPU of a node fills: those of its model, in order; none when the file has no
// (more) leaf for it.
std::vector<CellIndex> match_leaves(const CellTree& tree, std::string_view node,
                                    std::span<const std::string> gpu_models);

// The node's links as far as the file tells: GPUs under one innermost cell count as behind one
// switch, one level further out as behind one host bridge, and so on. Empty when it tells nothing.
LinkMatrix links_of_leaves(const CellTree& tree, std::span<const CellIndex> leaf_of_gpu);

}  // namespace tessera
