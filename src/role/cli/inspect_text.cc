#include "role/cli/inspect_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/wording.h"

namespace tessera::cli {
namespace {

constexpr double kMibPerGib = 1024;

using Row = std::vector<std::string>;

// "7.9", "80": GiB with a decimal where there is one.
std::string gib(std::int64_t mib) {
    const double value = static_cast<double>(mib) / kMibPerGib;
    return value == static_cast<double>(mib / 1024) ? fmt::format("{}", mib / 1024)
                                                    : fmt::format("{:.1f}", value);
}

std::int64_t percent(std::int64_t part, std::int64_t of) { return of <= 0 ? 0 : part * 100 / of; }

// Exact, also where more is held than there is.
struct Sums {
    std::int64_t gpus = 0;
    std::int64_t memory = 0;
    std::int64_t memory_used = 0;
    std::int64_t milli_used = 0;

    void add(const Sums& other) {
        gpus += other.gpus;
        memory += other.memory;
        memory_used += other.memory_used;
        milli_used += other.milli_used;
    }
    std::string memory_text() const {
        return memory == 0 && memory_used == 0
                   ? "-"
                   : fmt::format("{}/{}", gib(memory_used), gib(memory));
    }
    std::string compute_text() const {
        return fmt::format("{}/{}", static_cast<double>(milli_used) / 1000, gpus);
    }
};

GpuIndex gpu_index(std::size_t gpu) { return GpuIndex(static_cast<GpuIndex::rep>(gpu)); }

Sums sums_of(const Mirror& mirror, NodeIndex node, std::size_t gpu) {
    const GpuUse use = mirror.cluster().use(node, gpu_index(gpu));
    return {1, mirror.cluster().spec(node).gpus[gpu].memory.value(), use.memory_mib, use.milli};
}

struct Marks {
    bool unhealthy = false;
    bool over = false;
    bool closed = false;

    std::string legend() const {
        std::string text;
        text += unhealthy ? "! takes nothing new: it is not healthy\n" : "";
        text += over ? "* holds more than it has\n" : "";
        text += closed ? "(closed) takes no pods\n" : "";
        return text;
    }
};

// "40/80 50%": memory in GiB where it is known, compute where some is reserved.
std::string gpu_cell(const Mirror& mirror, NodeIndex node, std::size_t gpu, Marks& marks) {
    const Sums sums = sums_of(mirror, node, gpu);
    const bool unhealthy = mirror.cluster().spec(node).gpus[gpu].health != Health::ok;
    const bool over = mirror.cluster().over_committed(node, gpu_index(gpu));
    marks.unhealthy |= unhealthy;
    marks.over |= over;
    std::string cell = sums.memory > 0 || sums.memory_used > 0 ? sums.memory_text() : "";
    if (sums.milli_used > 0 || cell.empty()) {
        cell += fmt::format("{}{}%", cell.empty() ? "" : " ", percent(sums.milli_used, 1000));
    }
    return cell + (unhealthy ? "!" : "") + (over ? "*" : "");
}

std::string node_cell(const NodeReport& report, Marks& marks) {
    marks.closed |= !report.left->schedulable;
    return report.spec->name + (report.left->schedulable ? "" : " (closed)");
}

std::string shown_address(const NodeReport& report, std::string_view otherwise) {
    return report.address.empty() ? std::string(otherwise) : report.address;
}

std::size_t most_gpus(const Mirror& mirror, std::span<const NodeIndex> nodes) {
    std::size_t most = 0;
    for (const NodeIndex node : nodes) {
        most = std::max(most, mirror.cluster().spec(node).gpus.size());
    }
    return most;
}

std::string total_line(const Sums& sums, std::size_t nodes) {
    return fmt::format("{}, {}: memory {} GiB ({} %), compute {} GPUs ({} %)\n",
                       counted(static_cast<std::int64_t>(nodes), "node"), counted(sums.gpus, "GPU"),
                       sums.memory_text(), percent(sums.memory_used, sums.memory),
                       sums.compute_text(), percent(sums.milli_used, sums.gpus * 1000));
}

}  // namespace

std::string aligned(const std::vector<Row>& rows) {
    std::vector<std::size_t> widths;
    for (const Row& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string text;
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text;
}

std::string inspect_summary(const Mirror& mirror, std::span<const NodeIndex> nodes) {
    const std::size_t most = most_gpus(mirror, nodes);
    Row header{"NODE", "ADDRESS"};
    for (std::size_t gpu = 0; gpu < most; ++gpu) {
        header.push_back(fmt::format("GPU{}", gpu));
    }
    header.emplace_back("MEMORY(GiB)");
    header.emplace_back("COMPUTE(GPUs)");
    std::vector<Row> rows{std::move(header)};
    Sums all;
    Marks marks;
    for (const NodeIndex node : nodes) {
        const NodeReport report = mirror.report(node);
        Row row{node_cell(report, marks), shown_address(report, "-")};
        Sums sums;
        for (std::size_t gpu = 0; gpu < most; ++gpu) {
            const bool there = gpu < report.gpus.size();
            row.push_back(there ? gpu_cell(mirror, node, gpu, marks) : "-");
            sums.add(there ? sums_of(mirror, node, gpu) : Sums{});
        }
        row.push_back(sums.memory_text());
        row.push_back(sums.compute_text());
        rows.push_back(std::move(row));
        all.add(sums);
    }
    return fmt::format("{}\n{}{}", aligned(rows), total_line(all, nodes.size()), marks.legend());
}

std::string inspect_details(const Mirror& mirror, std::span<const NodeIndex> nodes,
                            const std::string& space) {
    std::string text;
    Sums all;
    Marks marks;
    for (const NodeIndex node : nodes) {
        const NodeReport report = mirror.report(node);
        std::vector<Row> rows{
            {"GPU", "MODEL", "TAKEN", "NAMESPACE", "POD", "CONTAINER", "GiB", "COMPUTE", "STATE"}};
        for (std::size_t gpu = 0; gpu < report.gpus.size(); ++gpu) {
            const GpuSpec& spec = report.spec->gpus[gpu];
            const std::string model(spec.model.valid() ? mirror.names().models.name(spec.model)
                                                       : std::string_view("-"));
            Row head{fmt::format("{}", gpu), model, gpu_cell(mirror, node, gpu, marks)};
            const std::size_t before = rows.size();
            for (const ShareOnGpu& share : report.gpus[gpu]) {
                if (!space.empty() && share.space != space) {
                    continue;
                }
                Row row = rows.size() == before ? head : Row(head.size());
                row.insert(row.end(),
                           {share.space, share.name,
                            share.grant.request.valid()
                                ? std::string(mirror.names().requests.name(share.grant.request))
                                : "-",
                            gib(share.grant.memory.value()),
                            fmt::format("{}%", percent(share.grant.milli.value(), 1000)),
                            std::string(share.state)});
                rows.push_back(std::move(row));
            }
            if (rows.size() == before) {
                rows.push_back(std::move(head));
            }
            all.add(sums_of(mirror, node, gpu));
        }
        text += fmt::format("{} ({})\n{}\n", node_cell(report, marks),
                            shown_address(report, "no address"), aligned(rows));
    }
    return text + total_line(all, nodes.size()) + marks.legend();
}

}  // namespace tessera::cli
