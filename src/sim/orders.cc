#include "sim/orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/file.h"
#include "sim/published_random.h"

namespace tessera {

namespace {

// Draws that the authors' program makes for other things, and that therefore move ours.
constexpr int kDrawsBeforePods = 1;    // a number in a log line
constexpr int kDrawsBeforeNodes = 10;  // time-outs of the watches of the Kubernetes client library

void discard(PublishedRandom& random, int draws) {
    for (int i = 0; i < draws; ++i) {
        random.next();
    }
}

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> items(count);
    std::iota(items.begin(), items.end(), 0U);
    return items;
}

template <typename Named>
std::vector<std::uint32_t> sorted_by_name(const std::vector<Named>& named) {
    std::vector<std::uint32_t> items = numbers(named.size());
    std::stable_sort(items.begin(), items.end(), [&](std::uint32_t a, std::uint32_t b) {
        return named[a].name < named[b].name;
    });
    return items;
}

std::uint32_t count_of(const std::vector<std::uint32_t>& items) {
    return static_cast<std::uint32_t>(items.size());
}

void append_clones(std::vector<std::uint32_t>& arrivals, const Workload& workload,
                   std::int64_t target_milli, PublishedRandom& random) {
    const std::vector<std::uint32_t> sorted = sorted_by_name(workload.pods);
    std::int64_t arrived = workload.gpu_milli_total;
    while (true) {
        const std::uint32_t pod = sorted[random.below(count_of(sorted))];
        const std::int64_t one_gpu = workload.pods[pod].gpu_milli.value();
        if (arrived + one_gpu > target_milli) {
            return;
        }
        arrived += workload.gpu_milli[pod];
        arrivals.push_back(pod);
    }
}

void delete_surplus(std::vector<std::uint32_t>& arrivals, const Workload& workload,
                    std::int64_t target_milli, PublishedRandom& random) {
    std::int64_t arrived = workload.gpu_milli_total;
    while (arrived > target_milli && !arrivals.empty()) {
        const std::uint32_t place = random.below(count_of(arrivals));
        arrived -= workload.gpu_milli[arrivals[place]];
        arrivals.erase(arrivals.begin() + place);
    }
}

// The i-th node by name gets the i-th number of a permutation, and nodes go by their numbers.
std::vector<std::uint32_t> permuted_nodes(const std::vector<NodeSpec>& nodes,
                                          PublishedRandom& random) {
    std::vector<std::uint32_t> place(nodes.size());
    for (std::uint32_t i = 0; i < place.size(); ++i) {
        const std::uint32_t other = random.below(i + 1);
        place[i] = place[other];
        place[other] = i;
    }
    const std::vector<std::uint32_t> sorted = sorted_by_name(nodes);
    std::vector<std::uint32_t> order(nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[place[i]] = sorted[i];
    }
    return order;
}

}  // namespace

std::vector<std::uint32_t> draw_node_order(std::size_t nodes, Rng& rng) {
    std::vector<std::uint32_t> order = numbers(nodes);
    for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[rng.below(left)]);
    }
    return order;
}

RunOrder draw_order(const Workload& workload, const std::vector<NodeSpec>& nodes,
                    const DrawOptions& options) {
    PublishedRandom random(options.seed);
    discard(random, kDrawsBeforePods);
    RunOrder order;
    order.arrivals = sorted_by_name(workload.pods);
    for (std::uint32_t left = count_of(order.arrivals); left > 1; --left) {
        std::swap(order.arrivals[left - 1], order.arrivals[random.below_for_shuffle(left)]);
    }
    const auto target =
        static_cast<std::int64_t>(options.ratio * static_cast<double>(gpu_milli_capacity(nodes)));
    if (workload.gpu_milli_total > target) {
        delete_surplus(order.arrivals, workload, target, random);
    } else if (workload.gpu_milli_total > 0) {
        append_clones(order.arrivals, workload, target, random);
    }
    discard(random, kDrawsBeforeNodes);
    order.nodes = permuted_nodes(nodes, random);
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
