#include "codec/trace_csv.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "codec/csv.h"
#include "codec/trace_row.h"
#include "model/gpu_models.h"
#include "model/model_name.h"

namespace tessera {

namespace {

constexpr std::int64_t kCpuMilliMax = 1'000'000'000;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 40;
constexpr std::int64_t kGpuMemoryMibMax = std::int64_t{1} << 30;
constexpr double kSecondsMax = 1e12;
constexpr std::int64_t kPhillyJobGpusMax = 4096;
constexpr std::size_t kProblemsShown = 10;

std::string too_many_models() {
    return fmt::format("is one GPU model too many; {} are possible", kTraceModelsMax);
}

// Collects broken rows: all of them fail a strict reader, a lenient one counts them.
class Problems {
  public:
    // `may_skip`: the user may ask for broken rows to be passed over.
    explicit Problems(const TraceReadOptions& options, bool may_skip = true)
        : options_(options), may_skip_(may_skip) {}

    void add(std::string message) {
        ++rows_.count;
        if (rows_.samples.size() < kProblemsShown) {
            rows_.samples.push_back(std::move(message));
        }
    }

    Expected<SkippedRows> verdict() && {
        if (options_.lenient || rows_.count == 0) {
            return std::move(rows_);
        }
        std::string text;
        for (const std::string& sample : rows_.samples) {
            text += text.empty() ? sample : "\n" + sample;
        }
        if (rows_.count > rows_.samples.size()) {
            text += fmt::format("\nand {} more broken rows", rows_.count - rows_.samples.size());
        }
        text += may_skip_ ? "\n(--lenient skips and counts broken rows)" : "";
        return tl::unexpected<Error>(Error{ErrorKind::invalid, std::move(text)});
    }

  private:
    const TraceReadOptions& options_;
    bool may_skip_;
    SkippedRows rows_;
};

Expected<TraceHeader> read_header(CsvReader& reader, std::string_view file) {
    CsvRow row;
    std::string error;
    if (!reader.next(row, error)) {
        return fail(ErrorKind::invalid, "{}:1:1: the file is empty; a header line was expected",
                    file);
    }
    if (!error.empty()) {
        return fail(ErrorKind::invalid, "{}:{}", file, error);
    }
    return TraceHeader::make(std::move(row), file);
}

// Calls parse(row, number) for every record; broken ones go to `problems`.
template <class Parse>
std::size_t each_row(CsvReader& reader, std::string_view file, std::size_t columns,
                     Problems& problems, Parse parse) {
    CsvRow row;
    std::string error;
    std::uint32_t number = 0;
    for (; reader.next(row, error); ++number) {
        if (!error.empty()) {
            problems.add(fmt::format("{}:{}", file, error));
        } else if (row.fields.size() != columns) {
            problems.add(fmt::format("{}:{}:1: the row has {} fields, the header {}", file,
                                     row.line, row.fields.size(), columns));
        } else if (auto parsed = parse(TraceRow(row, file), number); !parsed) {
            problems.add(std::move(parsed.error().message));
        }
    }
    return number;
}

struct PodColumns {
    TraceColumn name, cpu, memory, gpus, gpu_milli, models, qos, created, deleted, scheduled;
};

PodColumns openb_columns(const TraceHeader& header) {
    return {header.column("name"),          header.column("cpu_milli"),
            header.column("memory_mib"),    header.column("num_gpu"),
            header.column("gpu_milli"),     header.column("gpu_spec"),
            header.column("qos"),           header.column("creation_time"),
            header.column("deletion_time"), header.column("scheduled_time")};
}

PodColumns v2025_columns(const TraceHeader& header) {
    PodColumns columns = openb_columns(header);
    columns.name = header.column("instance_sn");
    columns.cpu = header.column("cpu_request");
    columns.memory = header.column("memory_request");
    columns.gpus = header.column("gpu_request");
    return columns;
}

Expected<std::vector<ModelIndex>> parse_models(const TraceRow& row, const TraceColumn& column,
                                               Interner<ModelIndex>& models) {
    std::vector<ModelIndex> allowed;
    std::string_view rest = row.text(column);
    while (!rest.empty()) {
        const std::size_t bar = rest.find('|');
        const std::string_view name = rest.substr(0, bar);
        if (name.empty() || bar == rest.size() - 1) {
            return row.wrong(column, "has an empty model; models are joined by |");
        }
        const auto model = intern_model(name, models, kTraceModelsMax);
        if (!model) {
            return row.wrong(column, too_many_models());
        }
        allowed.push_back(*model);
        rest.remove_prefix(bar == std::string_view::npos ? rest.size() : bar + 1);
    }
    return allowed;
}

Expected<std::int32_t> parse_qos(const TraceRow& row, const TraceColumn& column) {
    const std::string_view qos = row.text(column);
    if (qos == "LS" || qos == "Guaranteed") {
        return 2;
    }
    if (qos == "Burstable") {
        return 1;
    }
    if (qos.empty() || qos == "BE") {
        return 0;
    }
    return row.wrong(column, "is not one of LS, Guaranteed, Burstable, BE");
}

// How long the pod ran: from its start, so a pod that never started has no duration.
Expected<void> parse_times(const TraceRow& row, const PodColumns& columns, TracePod& pod) {
    TESSERA_TRY(pod.submit_s, row.optional_number(columns.created, 0, kSecondsMax));
    TESSERA_TRY(const auto deleted, row.optional_number(columns.deleted, 0, 2 * kSecondsMax));
    TESSERA_TRY(const auto scheduled, row.optional_number(columns.scheduled, 0, kSecondsMax));
    if (deleted && scheduled) {
        if (*deleted < *scheduled) {
            return row.wrong(columns.deleted, "is before the pod's scheduled_time");
        }
        pod.duration_s = *deleted - *scheduled;
        if (*pod.duration_s > kSecondsMax) {
            return row.wrong(columns.deleted, "makes the pod live too long");
        }
    }
    return {};
}

Expected<TracePod> parse_openb_pod(const TraceRow& row, const PodColumns& columns,
                                   Interner<ModelIndex>& models) {
    TracePod pod;
    pod.name = row.text(columns.name);
    if (pod.name.empty()) {
        return row.wrong(columns.name, "is empty");
    }
    TESSERA_TRY(const auto cpu, row.integer(columns.cpu, 0, kCpuMilliMax));
    TESSERA_TRY(const auto memory, row.integer(columns.memory, 0, kMemoryMibMax));
    TESSERA_TRY(const auto gpus, row.integer(columns.gpus, 0, kMaxGpusPerNode));
    const bool wants_gpu = gpus > 0;
    TESSERA_TRY(const auto milli, row.integer(columns.gpu_milli, wants_gpu ? 1 : 0,
                                              wants_gpu ? kWholeGpu.value() : 0));
    TESSERA_TRY(pod.models, parse_models(row, columns.models, models));
    TESSERA_TRY(pod.priority, parse_qos(row, columns.qos));
    TESSERA_CHECK(parse_times(row, columns, pod));
    pod.cpu = MilliCpu(cpu);
    pod.memory = MemoryMib(memory);
    pod.gpus = static_cast<std::uint16_t>(gpus);
    pod.gpu_milli = MilliGpu(static_cast<std::int32_t>(milli));
    return pod;
}

struct PhillyColumns {
    TraceColumn submitted, duration, gpus;
};

// A job becomes one pod, or several when it is wider than a node.
Expected<void> parse_philly_job(const TraceRow& row, const PhillyColumns& columns,
                                std::uint32_t number, std::vector<TracePod>& pods) {
    TESSERA_TRY(const double submit_s, row.timestamp(columns.submitted));
    TESSERA_TRY(const double duration_s, row.number(columns.duration, 0, kSecondsMax));
    TESSERA_TRY(std::int64_t gpus, row.integer(columns.gpus, 1, kPhillyJobGpusMax));
    for (int part = 0; gpus > 0; ++part) {
        const auto here = std::min<std::int64_t>(gpus, kPhillyPodGpus);
        gpus -= here;
        TracePod pod;
        pod.name = fmt::format("philly-{}", number);
        if (part > 0 || gpus > 0) {
            pod.name += fmt::format("-{}", part);
        }
        pod.cpu = MilliCpu(here * kPhillyCoresPerGpu * 1000);
        pod.memory = MemoryMib(here * kPhillyGibPerGpu * 1024);
        pod.gpus = static_cast<std::uint16_t>(here);
        pod.gpu_milli = kWholeGpu;
        pod.submit_s = submit_s;
        pod.duration_s = duration_s;
        pod.row = number;
        pods.push_back(std::move(pod));
    }
    return {};
}

Expected<TracePod> parse_v2025_pod(const TraceRow& row, const PodColumns& columns) {
    TracePod pod;
    pod.name = row.text(columns.name);
    if (pod.name.empty()) {
        return row.wrong(columns.name, "is empty");
    }
    TESSERA_TRY(const double cores, row.number(columns.cpu, 0, kCpuMilliMax / 1000.0));
    TESSERA_TRY(const auto gpus, row.integer(columns.gpus, 0, kMaxGpusPerNode));
    TESSERA_TRY(const double gib, row.number(columns.memory, 0, kMemoryMibMax / 1024.0));
    TESSERA_CHECK(parse_times(row, columns, pod));
    pod.cpu = MilliCpu(static_cast<std::int64_t>(std::ceil(cores * 1000)));
    pod.memory = MemoryMib(static_cast<std::int64_t>(std::ceil(gib * 1024)));
    pod.gpus = static_cast<std::uint16_t>(gpus);
    pod.gpu_milli = gpus > 0 ? kWholeGpu : MilliGpu(0);
    return pod;
}

bool has_all(const TraceHeader& header, std::initializer_list<std::string_view> names) {
    return std::all_of(names.begin(), names.end(),
                       [&](std::string_view name) { return header.has(name); });
}

Expected<TraceFormat> pod_format(const TraceHeader& header, std::string_view file) {
    if (has_all(header, {"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"})) {
        return TraceFormat::openb;
    }
    if (has_all(header, {"timestamp", "duration", "num_gpus"})) {
        return TraceFormat::philly;
    }
    if (has_all(header, {"instance_sn", "cpu_request", "gpu_request", "memory_request"})) {
        return TraceFormat::v2025;
    }
    return fail(ErrorKind::invalid,
                "{}:1:1: not a pod list that is known; the header must have "
                "name,cpu_milli,memory_mib,num_gpu,gpu_milli (openb), "
                "timestamp,duration,num_gpus (Philly) or "
                "instance_sn,cpu_request,gpu_request,memory_request (Alibaba v2025)",
                file);
}

struct NodeColumns {
    TraceColumn name, cpu, memory, gpus, model, gpu_memory;
    bool spot = false;
};

Expected<NodeColumns> node_columns(const TraceHeader& header, std::string_view file) {
    if (has_all(header, {"sn", "cpu_milli", "memory_mib", "gpu"})) {
        return NodeColumns{header.column("sn"),
                           header.column("cpu_milli"),
                           header.column("memory_mib"),
                           header.column("gpu"),
                           header.column("model"),
                           header.column("gpu_memory_mib"),
                           false};
    }
    if (has_all(header, {"gpu_model", "gpu_capacity_num", "cpu_num", "node_name"})) {
        return NodeColumns{header.column("node_name"),
                           header.column("cpu_num"),
                           header.column("memory_gib"),
                           header.column("gpu_capacity_num"),
                           header.column("gpu_model"),
                           header.column("gpu_memory_mib"),
                           true};
    }
    return fail(ErrorKind::invalid,
                "{}:1:1: not a node list that is known; the header must have "
                "sn,cpu_milli,memory_mib,gpu (openb) or "
                "gpu_model,gpu_capacity_num,cpu_num,node_name (Alibaba spot)",
                file);
}

Expected<GpuSpec> parse_gpu(const TraceRow& row, const NodeColumns& columns,
                            Interner<ModelIndex>& models) {
    GpuSpec gpu;
    const std::string_view model = row.text(columns.model);
    if (!model.empty()) {
        const auto interned = intern_model(model, models, kTraceModelsMax);
        if (!interned) {
            return row.wrong(columns.model, too_many_models());
        }
        gpu.model = *interned;
    }
    gpu.memory = usual_memory(model).value_or(MemoryMib(0));
    if (!row.text(columns.gpu_memory).empty()) {
        TESSERA_TRY(const auto mib, row.integer(columns.gpu_memory, 0, kGpuMemoryMibMax));
        gpu.memory = MemoryMib(mib);
    }
    return gpu;
}

Expected<NodeSpec> parse_node(const TraceRow& row, const NodeColumns& columns,
                              Interner<ModelIndex>& models) {
    NodeSpec node;
    node.name = row.text(columns.name);
    if (node.name.empty()) {
        return row.wrong(columns.name, "is empty");
    }
    node.pods = kTracePodsPerNode;
    TESSERA_TRY(const auto gpus, row.integer(columns.gpus, 0, kMaxGpusPerNode));
    if (columns.spot) {
        TESSERA_TRY(const auto cores, row.integer(columns.cpu, 1, kCpuMilliMax / 1000));
        node.cpu = MilliCpu(cores * 1000);
        double gib = static_cast<double>(cores * kSpotGibPerCore);
        if (!row.text(columns.memory).empty()) {
            TESSERA_TRY(gib, row.number(columns.memory, 0, kMemoryMibMax / 1024.0));
        }
        node.memory = MemoryMib(static_cast<std::int64_t>(gib * 1024));
    } else {
        TESSERA_TRY(const auto cpu, row.integer(columns.cpu, 1, kCpuMilliMax));
        TESSERA_TRY(const auto memory, row.integer(columns.memory, 1, kMemoryMibMax));
        node.cpu = MilliCpu(cpu);
        node.memory = MemoryMib(memory);
    }
    TESSERA_TRY(const GpuSpec gpu, parse_gpu(row, columns, models));
    node.gpus.assign(static_cast<std::size_t>(gpus), gpu);
    return node;
}

}  // namespace

std::string_view to_string(TraceFormat format) {
    constexpr std::array<std::string_view, 3> kNames{"openb", "philly", "v2025"};
    return kNames[static_cast<std::size_t>(format)];
}

Expected<PodTrace> read_pod_trace(std::string_view text, const TraceReadOptions& options,
                                  Interner<ModelIndex>& models) {
    CsvReader reader(text);
    TESSERA_TRY(const TraceHeader header, read_header(reader, options.file));
    PodTrace trace;
    TESSERA_TRY(trace.format, pod_format(header, options.file));
    Problems problems(options);
    const auto keep = [&](Expected<TracePod> pod, std::uint32_t number) -> Expected<void> {
        if (!pod) {
            return tl::unexpected<Error>(std::move(pod.error()));
        }
        pod->row = number;
        trace.pods.push_back(std::move(*pod));
        return {};
    };
    const PodColumns openb = openb_columns(header);
    const PodColumns v2025 = v2025_columns(header);
    const PhillyColumns philly{header.column("timestamp"), header.column("duration"),
                               header.column("num_gpus")};
    const auto parse = [&](const TraceRow& row, std::uint32_t number) -> Expected<void> {
        switch (trace.format) {
            case TraceFormat::openb:
                return keep(parse_openb_pod(row, openb, models), number);
            case TraceFormat::v2025:
                return keep(parse_v2025_pod(row, v2025), number);
            case TraceFormat::philly:
                break;
        }
        return parse_philly_job(row, philly, number, trace.pods);
    };
    trace.rows = each_row(reader, options.file, header.size(), problems, parse);
    TESSERA_TRY(trace.skipped, std::move(problems).verdict());
    if (trace.pods.empty()) {
        return fail(ErrorKind::invalid, "{}: the file has a header but no usable row",
                    options.file);
    }
    return trace;
}

Expected<NodeTrace> read_node_trace(std::string_view text, const TraceReadOptions& options,
                                    Interner<ModelIndex>& models) {
    CsvReader reader(text);
    TESSERA_TRY(const TraceHeader header, read_header(reader, options.file));
    TESSERA_TRY(const NodeColumns columns, node_columns(header, options.file));
    NodeTrace trace;
    Problems problems(options);
    std::set<std::string> names;
    const auto parse = [&](const TraceRow& row, std::uint32_t) -> Expected<void> {
        TESSERA_TRY(NodeSpec node, parse_node(row, columns, models));
        if (!names.insert(node.name).second) {
            return row.wrong(columns.name, "is the name of an earlier node too");
        }
        trace.nodes.push_back(std::move(node));
        return {};
    };
    trace.rows = each_row(reader, options.file, header.size(), problems, parse);
    TESSERA_TRY(trace.skipped, std::move(problems).verdict());
    if (trace.nodes.empty()) {
        return fail(ErrorKind::invalid, "{}: the file has a header but no usable row",
                    options.file);
    }
    return trace;
}

bool is_node_trace(std::string_view text) {
    CsvReader reader(text);
    const auto header = read_header(reader, "");
    return header && node_columns(*header, "").has_value();
}

Expected<std::vector<std::uint32_t>> read_order(std::string_view text,
                                                const OrderReadOptions& options) {
    CsvReader reader(text);
    TESSERA_TRY(const TraceHeader header, read_header(reader, options.file));
    const TraceColumn column = header.column(options.column);
    if (!column.present) {
        return fail(ErrorKind::invalid, "{}:1:1: the header has no column {}", options.file,
                    options.column);
    }
    // Without a row it would be another order.
    const TraceReadOptions strict{options.file, false};
    Problems problems(strict, false);
    std::vector<std::uint32_t> order;
    const auto high = static_cast<std::int64_t>(options.rows) - 1;
    each_row(reader, options.file, header.size(), problems,
             [&](const TraceRow& row, std::uint32_t) -> Expected<void> {
                 TESSERA_TRY(const auto value, row.integer(column, 0, high));
                 order.push_back(static_cast<std::uint32_t>(value));
                 return {};
             });
    if (auto verdict = std::move(problems).verdict(); !verdict) {
        return tl::unexpected<Error>(std::move(verdict.error()));
    }
    if (order.empty()) {
        return fail(ErrorKind::invalid, "{}: the file has a header but no row", options.file);
    }
    return order;
}

}  // namespace tessera
