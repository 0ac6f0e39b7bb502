#include "sim/transfer_suite.h"

#include <algorithm>
#include <memory>

#include "base/assert.h"
#include "base/rng.h"
#include "sim/file.h"
#include "sim/generate.h"
#include "sim/parallel.h"

namespace tessera {

namespace {

constexpr std::string_view k64 = "64x8g96c768Gi";
constexpr std::string_view k12 = "12x8g96c768Gi";

constexpr TransferCell kCells[] = {
    {"64 x (8 GPUs, 96 cores, 768 GiB)", k64, "default", 5},
    {"500 x (8, 96, 768)", "500x8g96c768Gi", "default", 1},
    {"64 x (8, 128, 1 TiB)", "64x8g128c1Ti", "default", 5},
    {"500 x (8, 128, 1 TiB)", "500x8g128c1Ti", "default", 1},
    {"128 x (4, 48, 384)", "128x4g48c384Gi", "default", 5},
    {"1000 x (4, 48, 384)", "1000x4g48c384Gi", "default", 1},
    {"spot, 1069 nodes", "spot-quarter", "default", 1},
    {"spot, 1069 nodes", "spot-quarter", "multigpu50", 1},
    {"4 x (8, 96, 768)", "4x8g96c768Gi", "default", 40},
    {"12 x (8, 96, 768)", k12, "default", 40},
    {"8 x (4, 48, 384)", "8x4g48c384Gi", "default", 40},
    {"2 x 8 + 4 x 4 + 6 x 1 GPUs", "2x8g96c768Gi,4x4g48c384Gi,6x1g12c96Gi", "default", 40},
    {"64 x 8, 2 cores per GPU", "64x8g16c768Gi", "default", 5},
    {"64 x 8, 4 cores per GPU", "64x8g32c768Gi", "default", 5},
    {"64 x 8, 32 cores per GPU", "64x8g256c768Gi", "default", 5},
    {"64 x (8, 96, 128 GiB)", "64x8g96c128Gi", "default", 5},
    {"64 x (8, 96, 64 GiB)", "64x8g96c64Gi", "default", 5},
    {"64 x (8, 96, 768)", k64, "multigpu50", 5},
    {"12 x (8, 96, 768)", k12, "multigpu50", 40},
    {"64 x (8, 96, 768)", k64, "gpushare100", 5},
    {"12 x (8, 96, 768)", k12, "gpushare100", 40},
    {"64 x (8, 96, 768)", k64, "llm", 5},
    {"12 x (8, 96, 768)", k12, "llm", 40},
    {"openb", "openb", "llm", 1},
    {"64 x (8, 96, 768)", k64, "sevenths", 5},
    {"12 x (8, 96, 768)", k12, "sevenths", 40},
    {"openb", "openb", "sevenths", 1},
    {"64 x (8, 96, 768)", k64, "notebooks", 5},
    {"12 x (8, 96, 768)", k12, "notebooks", 40},
    {"openb", "openb", "notebooks", 1},
    {"64 x (8, 96, 768)", k64, "philly", 5},
    {"12 x (8, 96, 768)", k12, "philly", 40},
};

constexpr std::size_t kChurnArrivals = 30000;
constexpr std::size_t kQueueArrivals = 20000;
constexpr std::size_t kQuickDivisor = 3;
constexpr double kRatio = 1.3;
constexpr std::uint64_t kSpotQuarterSeed = 1;

// Nodes and pods of a cell, from the public lists or generated.
class CellInputs {
  public:
    explicit CellInputs(std::string data) : data_(std::move(data)) {}

    Expected<ExperimentInputs> load(const TransferCell& cell) {
        ExperimentInputs inputs;
        Interner<ModelIndex> models;
        TESSERA_TRY(inputs.nodes, nodes(cell.nodes, models));
        TESSERA_TRY(PodTrace pods, pods_of(cell.pods, models));
        if (cell.nodes != "openb") {
            for (TracePod& pod : pods.pods) {
                pod.models.clear();  // models of another cluster mean nothing here
            }
        }
        Workload workload = make_workload(std::string(cell.pods), std::move(pods));
        inputs.workload = without_misfits(workload, inputs.nodes);
        return inputs;
    }

  private:
    Expected<std::vector<NodeSpec>> nodes(std::string_view name, Interner<ModelIndex>& models) {
        if (data_.empty() || (name != "openb" && name != "spot-quarter")) {
            return generate_nodes(name, models);
        }
        const std::string path = data_ + (name == "openb" ? "/openb/openb_node_list_gpu_node.csv"
                                                          : "/alibaba-spot-v2026/node_info_df.csv");
        TESSERA_TRY(const std::string text, read_file(path));
        TESSERA_TRY(NodeTrace trace, read_node_trace(text, {path, false}, models));
        if (name == "openb") {
            return std::move(trace.nodes);
        }
        Rng rng(kSpotQuarterSeed);
        std::vector<NodeSpec> quarter;
        const auto order = draw_node_order(trace.nodes.size(), rng);
        for (std::size_t i = 0; i < order.size() / 4; ++i) {
            quarter.push_back(trace.nodes[order[i]]);
        }
        return quarter;
    }

    Expected<PodTrace> pods_of(std::string_view kind, Interner<ModelIndex>& models) {
        const bool openb = kind == "default" || kind == "multigpu50" || kind == "gpushare100";
        if (data_.empty() || (!openb && kind != "philly")) {
            return generate_pods({std::string(kind == "default" ? "openb" : kind)}, models);
        }
        const std::string path = openb ? fmt::format("{}/openb/openb_pod_list_{}.csv", data_, kind)
                                       : data_ + "/philly/philly_jobs.csv";
        TESSERA_TRY(const std::string text, read_file(path));
        return read_pod_trace(text, {path, false}, models);
    }

    std::string data_;
};

struct Job {
    std::size_t cell = 0;
    Measure measure = Measure::saturation;
    std::size_t seed = 0;
};

// The two policies' results of one job.
struct JobResult {
    std::array<double, 2> value{};
    std::array<double, 2> refused{};
    std::array<SizeCount, 2> whole_node{};
};

class TransferRunner {
  public:
    // The policies are some that check_policies() let pass.
    TransferRunner(const TransferOptions& options, ExperimentProgress& progress)
        : options_(options), progress_(progress) {}

    JobResult run(const TransferCell& cell, const ExperimentInputs& inputs, const Job& job) const {
        const std::uint64_t seed = options_.seeds[job.seed];
        switch (job.measure) {
            case Measure::saturation:
                return saturation(cell, inputs, seed);
            case Measure::churn_90:
                return churn(cell, inputs, seed, 0.9);
            case Measure::churn_100:
                return churn(cell, inputs, seed, 1.0);
            case Measure::backfill_90:
                return queue(cell, inputs, seed, {0.9, Discipline::backfill});
            case Measure::strict_85:
                break;
        }
        return queue(cell, inputs, seed, {0.85, Discipline::strict});
    }

    // Pods that come in one job, over both policies, for the progress bar.
    std::uint64_t arrivals(const TransferCell& cell, const ExperimentInputs& inputs,
                           Measure measure) const {
        if (is_wait(measure)) {
            return 2 * shortened(kQueueArrivals);
        }
        if (measure != Measure::saturation) {
            return 2 * shortened(kChurnArrivals);
        }
        const auto pods = static_cast<double>(inputs.workload.pods.size());
        const double milli = std::max(1.0, static_cast<double>(inputs.workload.gpu_milli_total));
        const double demand = kRatio * static_cast<double>(gpu_milli_capacity(inputs.nodes));
        return static_cast<std::uint64_t>(2 * cell.draws * demand * pods / milli);
    }

  private:
    std::size_t shortened(std::size_t arrivals) const {
        return options_.quick ? arrivals / kQuickDivisor : arrivals;
    }
    Lifetimes lifetimes(const TransferCell& cell) const {
        return cell.pods == "notebooks" ? Lifetimes::logn : Lifetimes::exp;
    }
    std::unique_ptr<Policy> policy(std::size_t which, const Workload& workload) const {
        const PolicySource& source = which == 0 ? options_.reference : options_.candidate;
        auto made = source.make({workload.mix});
        TESSERA_ASSERT(made.has_value(), "the policies were checked before");
        return std::move(*made);
    }
    RunSetup setup(const ExperimentInputs& inputs, std::uint64_t seed) const {
        return {&inputs.workload, &inputs.nodes, seed, &progress_.arrivals_done};
    }

    JobResult saturation(const TransferCell& cell, const ExperimentInputs& inputs,
                         std::uint64_t seed) const {
        JobResult result;
        const auto capacity = static_cast<double>(gpu_milli_capacity(inputs.nodes));
        for (int draw = 0; draw < cell.draws; ++draw) {
            const std::uint64_t draw_seed = seed * 1000 + static_cast<std::uint64_t>(draw);
            const RunOrder order = draw_order(inputs.workload, inputs.nodes, {draw_seed, kRatio});
            for (std::size_t which = 0; which < 2; ++which) {
                const InflateRun run = run_inflate(setup(inputs, draw_seed), order,
                                                   policy(which, inputs.workload), {});
                result.value[which] +=
                    100 * static_cast<double>(run.end.gpu_milli) / capacity / cell.draws;
            }
        }
        return result;
    }

    Stream stream(const TransferCell& cell, const ExperimentInputs& inputs,
                  const StreamOptions& options) const {
        StreamOptions all = options;
        all.lifetimes = lifetimes(cell);
        auto drawn = draw_stream(inputs.workload, inputs.nodes, all);
        TESSERA_ASSERT(drawn.has_value(), "every cell has GPUs and pods that ask for them");
        return std::move(*drawn);
    }

    JobResult churn(const TransferCell& cell, const ExperimentInputs& inputs, std::uint64_t seed,
                    double load) const {
        const Stream pods = stream(cell, inputs, {seed, load, shortened(kChurnArrivals), {}});
        std::size_t largest = 0;
        for (const NodeSpec& node : inputs.nodes) {
            largest = std::max(largest, node.gpus.size());
        }
        JobResult result;
        for (std::size_t which = 0; which < 2; ++which) {
            const ChurnRun run =
                run_churn(setup(inputs, seed), pods, policy(which, inputs.workload));
            result.value[which] = run.alloc_percent;
            result.refused[which] = run.refused_gpu_percent;
            for (std::size_t gpus = largest / 2 + 1; gpus + 1 < kSizeKeys; ++gpus) {
                result.whole_node[which].offered += run.by_size[gpus + 1].offered;
                result.whole_node[which].refused += run.by_size[gpus + 1].refused;
            }
        }
        return result;
    }

    struct QueueCase {
        double load;
        Discipline discipline;
    };
    JobResult queue(const TransferCell& cell, const ExperimentInputs& inputs, std::uint64_t seed,
                    const QueueCase& queue_case) const {
        const Stream pods =
            stream(cell, inputs, {seed, queue_case.load, shortened(kQueueArrivals), {}});
        JobResult result;
        for (std::size_t which = 0; which < 2; ++which) {
            result.value[which] = run_queue(setup(inputs, seed), pods,
                                            policy(which, inputs.workload), queue_case.discipline)
                                      .wait.mean;
        }
        return result;
    }

    const TransferOptions& options_;
    ExperimentProgress& progress_;
};

MeasureResult gather(Measure measure, std::span<const JobResult> seeds) {
    MeasureResult result;
    result.measure = measure;
    std::array<double, 2> refused{};
    std::array<SizeCount, 2> whole{};
    for (const JobResult& seed : seeds) {
        result.reference.push_back(seed.value[0]);
        result.candidate.push_back(seed.value[1]);
        for (std::size_t which = 0; which < 2; ++which) {
            refused[which] += seed.refused[which] / static_cast<double>(seeds.size());
            whole[which].offered += seed.whole_node[which].offered;
            whole[which].refused += seed.whole_node[which].refused;
        }
    }
    if (measure == Measure::churn_90 || measure == Measure::churn_100) {
        result.refused = refused;
        if (whole[0].offered > 0) {
            result.refused_whole_node = {whole[0].percent(), whole[1].percent()};
        }
    }
    return result;
}

}  // namespace

std::string TransferCell::name() const { return fmt::format("{}; {}", cluster, pods); }

std::span<const TransferCell> transfer_cells() { return kCells; }

Expected<std::vector<CellResult>> run_transfer_suite(const TransferOptions& options,
                                                     ExperimentProgress& progress) {
    CellInputs loader(options.data);
    std::vector<CellResult> results;
    std::vector<ExperimentInputs> inputs;
    for (const TransferCell& cell : kCells) {
        if (cell.name().find(options.cells) == std::string::npos) {
            continue;
        }
        TESSERA_TRY(ExperimentInputs loaded, loader.load(cell));
        TESSERA_CHECK(
            check_policies(std::array{options.reference, options.candidate}, loaded.workload));
        results.push_back({cell, loaded.workload.dropped, {}});
        inputs.push_back(std::move(loaded));
    }
    if (results.empty()) {
        return fail(ErrorKind::invalid, "--cells: no cell's name contains \"{}\"", options.cells);
    }
    const TransferRunner runner(options, progress);
    std::vector<Job> jobs;
    std::uint64_t total = 0;
    for (std::size_t c = 0; c < results.size(); ++c) {
        for (std::size_t m = 0; m < kMeasures; ++m) {
            const auto measure = static_cast<Measure>(m);
            total += runner.arrivals(results[c].cell, inputs[c], measure) * options.seeds.size();
            for (std::size_t s = 0; s < options.seeds.size(); ++s) {
                jobs.push_back({c, measure, s});
            }
        }
    }
    progress.arrivals_total = total;
    std::vector<JobResult> done(jobs.size());
    parallel_for(jobs.size(), options.threads, [&](std::size_t j) {
        done[j] = runner.run(results[jobs[j].cell].cell, inputs[jobs[j].cell], jobs[j]);
    });
    const std::size_t seeds = options.seeds.size();
    for (std::size_t j = 0; j < jobs.size(); j += seeds) {
        results[jobs[j].cell].measures.push_back(
            gather(jobs[j].measure, std::span(done).subspan(j, seeds)));
    }
    return results;
}

}  // namespace tessera
