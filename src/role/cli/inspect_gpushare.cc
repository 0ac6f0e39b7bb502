// The two layouts of kubectl inspect gpushare, whose users have scripts that read them.
#include <fmt/format.h>

#include <algorithm>

#include "role/cli/inspect_text.h"

namespace tessera::cli {
namespace {

using Row = std::vector<std::string>;

// Sizes in the unit of aliyun.com/gpu-mem: what is there rounded down, what is taken up.
struct Units {
    std::string_view name;
    std::int64_t mib = 1;

    std::int64_t total(std::int64_t memory) const { return memory / mib; }
    std::int64_t used(std::int64_t memory) const { return (memory + mib - 1) / mib; }
};
Units units_of(const Mirror& mirror) {
    return mirror.memory_unit() == MemoryUnit::gib ? Units{"GiB", 1024} : Units{"MiB", 1};
}

struct Use {
    std::int64_t used = 0;
    std::int64_t total = 0;

    void add(const Use& other) {
        used += other.used;
        total += other.total;
    }
    std::string text() const { return fmt::format("{}/{}", used, total); }
    std::int64_t percent() const { return total == 0 ? 0 : used * 100 / total; }
};

struct NodeUse {
    std::string name;
    std::string address;
    std::vector<Use> gpus;
    Use sum;
    std::int64_t pending = 0;
    // By pod: what it has of each GPU, and what of none.
    struct OfPod {
        std::vector<std::int64_t> gpus;
        std::int64_t pending = 0;
    };
    std::map<std::pair<std::string, std::string>, OfPod> pods;  // by namespace and name
};

NodeUse use_of(const Mirror& mirror, NodeIndex node, const PendingByNode& pending) {
    const Units units = units_of(mirror);
    const NodeReport report = mirror.report(node);
    NodeUse result{report.spec->name,
                   report.address.empty() ? "unknown" : report.address,
                   std::vector<Use>(report.gpus.size()),
                   {},
                   0,
                   {}};
    const auto of_pod = [&](const std::string& space, const std::string& name) -> auto& {
        auto& pod = result.pods[{space, name}];
        pod.gpus.resize(report.gpus.size());
        return pod;
    };
    const auto waiting = pending.find(report.spec->name);
    const auto pends = [&](const std::string& uid) {
        return waiting != pending.end() &&
               std::any_of(waiting->second.begin(), waiting->second.end(),
                           [&](const PendingPod& pod) { return pod.uid == uid; });
    };
    for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
        std::map<std::pair<std::string, std::string>, std::int64_t> by_pod;
        for (const ShareOnGpu& share : report.gpus[gpu]) {
            if (!pends(share.uid)) {
                by_pod[{share.space, share.name}] += share.grant.memory.value();
            }
        }
        Use& use = result.gpus[gpu];
        use.total = units.total(report.spec->gpus[gpu].memory.value());
        for (const auto& [pod, memory] : by_pod) {
            of_pod(pod.first, pod.second).gpus[gpu] = units.used(memory);
            use.used += units.used(memory);
        }
        result.sum.add(use);
    }
    if (waiting != pending.end()) {
        for (const PendingPod& pod : waiting->second) {
            of_pod(pod.space, pod.name).pending += pod.units;
            result.pending += pod.units;
        }
    }
    result.sum.used += result.pending;
    return result;
}

// Nodes that share GPU memory, which are the only ones that the original shows.
std::vector<NodeUse> uses_of(const Mirror& mirror, std::span<const NodeIndex> nodes,
                             const PendingByNode& pending) {
    std::vector<NodeUse> result;
    for (const NodeIndex node : nodes) {
        NodeUse use = use_of(mirror, node, pending);
        if (use.sum.total > 0) {
            result.push_back(std::move(use));
        }
    }
    return result;
}

// The original draws a line as long as a row with its tabs, and some more.
std::string dashes(const Row& row, std::size_t more) {
    std::size_t length = more + row.size();
    for (const std::string& cell : row) {
        length += cell.size();
    }
    return std::string(length, '-') + '\n';
}

}  // namespace

std::string gpushare_summary(const Mirror& mirror, std::span<const NodeIndex> nodes,
                             const PendingByNode& pending) {
    const std::vector<NodeUse> uses = uses_of(mirror, nodes, pending);
    std::size_t most = 0;
    bool waiting = false;
    for (const NodeUse& use : uses) {
        most = std::max(most, use.gpus.size());
        waiting = waiting || use.pending > 0;
    }
    Row header{"NAME", "IPADDRESS"};
    for (std::size_t gpu = 0; gpu < most; ++gpu) {
        header.push_back(fmt::format("GPU{}(Allocated/Total)", gpu));
    }
    if (waiting) {
        header.emplace_back("PENDING(Allocated)");
    }
    header.push_back(fmt::format("GPU Memory({})", units_of(mirror).name));
    std::vector<Row> rows{std::move(header)};
    Use all;
    for (const NodeUse& use : uses) {
        Row row{use.name, use.address};
        for (std::size_t gpu = 0; gpu < most; ++gpu) {
            row.push_back(gpu < use.gpus.size() ? use.gpus[gpu].text() : "0/0");
        }
        if (waiting) {
            row.push_back(use.pending > 0 ? fmt::format("{}", use.pending) : "");
        }
        row.push_back(use.sum.text());
        rows.push_back(std::move(row));
        all.add(use.sum);
    }
    return fmt::format("{}{}Allocated/Total GPU Memory In Cluster:\n{} ({}%)\n", aligned(rows),
                       dashes(rows[rows.size() > 1 ? 1 : 0], 20), all.text(), all.percent());
}

std::string gpushare_details(const Mirror& mirror, std::span<const NodeIndex> nodes,
                             const PendingByNode& pending) {
    std::string text;
    Use all;
    for (const NodeUse& use : uses_of(mirror, nodes, pending)) {
        Row header{"NAME", "NAMESPACE"};
        for (std::size_t gpu = 0; gpu < use.gpus.size(); ++gpu) {
            header.push_back(fmt::format("GPU{}(Allocated)", gpu));
        }
        if (use.pending > 0) {
            header.emplace_back("Pending(Allocated)");
        }
        std::vector<Row> rows{std::move(header)};
        for (const auto& [pod, has] : use.pods) {
            Row row{pod.second, pod.first};
            for (const std::int64_t units : has.gpus) {
                row.push_back(fmt::format("{}", units));
            }
            if (use.pending > 0) {
                row.push_back(fmt::format("{}", has.pending));
            }
            rows.push_back(std::move(row));
        }
        const std::vector<Row> sums{
            {"Allocated :", fmt::format("{} ({}%)", use.sum.used, use.sum.percent())},
            {"Total :", fmt::format("{}", use.sum.total)}};
        text +=
            fmt::format("\n{}\n{}{}{}", aligned({{"NAME:", use.name}, {"IPADDRESS:", use.address}}),
                        aligned(rows), aligned(sums), dashes(rows.back(), 10));
        all.add(use.sum);
    }
    return text + fmt::format("\n\nAllocated/Total GPU Memory In Cluster:  {} ({}%)\n", all.text(),
                              all.percent());
}

}  // namespace tessera::cli
