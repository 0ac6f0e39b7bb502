// Arrival and node orders of one run: drawn as the published experiments draw them, or read from
// files.
//
// The experiments of FGD (Weng et al., ATC 2023) shuffle the pods, append clones until the demand
// would pass ratio x capacity (the test counts one GPU of the draw), or delete pods when there is
// too much, and put the nodes into a random order that breaks ties. We make the same draws from the
// same generator: with the public lists and seeds 42 to 51 the orders are the authors' own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/rng.h"
#include "sim/workload.h"

namespace tessera {

struct RunOrder {
    std::vector<std::uint32_t> arrivals;  // pods of the workload, in order of arrival
    std::vector<std::uint32_t> nodes;     // nodes in tie-break order
};

struct DrawOptions {
    std::uint64_t seed = 42;
    double ratio = 1.3;  // demand over GPU capacity
};
RunOrder draw_order(const Workload& workload, const std::vector<NodeSpec>& nodes,
                    const DrawOptions& options);

std::vector<std::uint32_t> draw_node_order(std::size_t nodes, Rng& rng);

// DIRECTORY/WORKLOAD-SEED.csv and DIRECTORY/WORKLOAD-SEED-nodes.csv, each perhaps with .gz.
struct OrderFiles {
    std::string directory;
    std::string workload;
    std::uint64_t seed = 42;
};
Expected<RunOrder> read_run_order(const OrderFiles& files, const Workload& workload,
                                  std::size_t nodes);

}  // namespace tessera
