// What tessera inspect prints: nodes and what is on their GPUs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "role/mirror/mirror.h"

namespace tessera::cli {

// A row per node: memory and compute taken of each GPU, and the sums.
std::string inspect_summary(const Mirror& mirror, std::span<const NodeIndex> nodes);
// A table per node with a row per share; of all namespaces, or of one.
std::string inspect_details(const Mirror& mirror, std::span<const NodeIndex> nodes,
                            const std::string& space);

// A pod that runs on a node, asks for GPU memory and says nothing of the GPU that it got. We count
// it on a GPU all the same; gpushare's own tools show it apart.
struct PendingPod {
    std::string space;
    std::string name;
    std::string uid;
    std::int64_t units = 0;  // of aliyun.com/gpu-mem
};
using PendingByNode = std::map<std::string, std::vector<PendingPod>, std::less<>>;

// As kubectl inspect gpushare prints them, with nodes in the order of their names.
std::string gpushare_summary(const Mirror& mirror, std::span<const NodeIndex> nodes,
                             const PendingByNode& pending);
std::string gpushare_details(const Mirror& mirror, std::span<const NodeIndex> nodes,
                             const PendingByNode& pending);

// Columns as wide as their widest cell, two spaces between them, nothing behind the last.
std::string aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace tessera::cli
