#include "sim/orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/file.h"

namespace tessera {

namespace {

void shuffle(std::vector<std::uint32_t>& items, Rng& rng) {
    for (std::size_t left = items.size(); left > 1; --left) {
        std::swap(items[left - 1], items[rng.below(left)]);
    }
}

void append_clones(std::vector<std::uint32_t>& arrivals, const Workload& workload,
                   std::int64_t target_milli, Rng& rng) {
    std::int64_t arrived = workload.gpu_milli_total;
    while (true) {
        const auto pod = static_cast<std::uint32_t>(rng.below(workload.pods.size()));
        const std::int64_t one_gpu = workload.pods[pod].gpu_milli.value();
        if (arrived + one_gpu > target_milli) {
            return;
        }
        arrived += workload.gpu_milli[pod];
        arrivals.push_back(pod);
    }
}

void delete_surplus(std::vector<std::uint32_t>& arrivals, const Workload& workload,
                    std::int64_t target_milli, Rng& rng) {
    std::int64_t arrived = workload.gpu_milli_total;
    while (arrived > target_milli && !arrivals.empty()) {
        const auto place = static_cast<std::ptrdiff_t>(rng.below(arrivals.size()));
        arrived -= workload.gpu_milli[arrivals[static_cast<std::size_t>(place)]];
        arrivals.erase(arrivals.begin() + place);
    }
}

}  // namespace

std::vector<std::uint32_t> draw_node_order(std::size_t nodes, Rng& rng) {
    std::vector<std::uint32_t> order(nodes);
    std::iota(order.begin(), order.end(), 0U);
    shuffle(order, rng);
    return order;
}

RunOrder draw_order(const Workload& workload, const std::vector<NodeSpec>& nodes,
                    const DrawOptions& options) {
    Rng rng(options.seed);
    Rng node_rng = rng.fork();
    RunOrder order;
    order.arrivals.resize(workload.pods.size());
    std::iota(order.arrivals.begin(), order.arrivals.end(), 0U);
    shuffle(order.arrivals, rng);
    const auto target =
        static_cast<std::int64_t>(options.ratio * static_cast<double>(gpu_milli_capacity(nodes)));
    if (workload.gpu_milli_total > target) {
        delete_surplus(order.arrivals, workload, target, rng);
    } else if (workload.gpu_milli_total > 0) {
        append_clones(order.arrivals, workload, target, rng);
    }
    order.nodes = draw_node_order(nodes.size(), node_rng);
    return order;
}

Expected<RunOrder> read_run_order(const OrderFiles& files, const Workload& workload,
                                  std::size_t nodes) {
    const std::string stem = fmt::format("{}/{}-{}", files.directory, files.workload, files.seed);
    const std::string pod_file = stem + ".csv";
    const std::string node_file = stem + "-nodes.csv";
    TESSERA_TRY(const std::string pod_text, read_file_or_packed(pod_file));
    TESSERA_TRY(const auto rows,
                read_order(pod_text, {pod_file, "pod_row", workload.pod_of_row.size()}));
    RunOrder order;
    order.arrivals.reserve(rows.size());
    for (const std::uint32_t row : rows) {
        const std::uint32_t pod = workload.pod_of_row[row];
        if (pod == kNoPod) {
            return fail(ErrorKind::invalid,
                        "{}: row {} of the pod list is broken and was skipped, so this order "
                        "cannot be repeated",
                        pod_file, row);
        }
        order.arrivals.push_back(pod);
    }
    TESSERA_TRY(const std::string node_text, read_file_or_packed(node_file));
    TESSERA_TRY(order.nodes, read_order(node_text, {node_file, "node_row", nodes}));
    std::vector<std::uint32_t> sorted = order.nodes;
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    if (sorted.size() != nodes || order.nodes.size() != nodes) {
        return fail(ErrorKind::invalid,
                    "{}: names {} different nodes in {} lines, but the node list has {}; is it "
                    "the order of another list?",
                    node_file, sorted.size(), order.nodes.size(), nodes);
    }
    return order;
}

}  // namespace tessera
