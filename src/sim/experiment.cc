#include "sim/experiment.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "sim/parallel.h"

namespace tessera {

namespace {

// What one run leaves behind.
struct RunRecord {
    Metrics metrics;
    CurveSet curves;
    std::size_t untimed = 0;
};

class ExperimentRunner {
  public:
    ExperimentRunner(const ExperimentInputs& inputs, const Experiment& experiment,
                     ExperimentProgress& progress)
        : inputs_(inputs), experiment_(experiment), progress_(progress) {}

    Expected<RunRecord> run(const PolicySource& source, std::uint64_t seed) const {
        TESSERA_TRY(auto policy, source.make({inputs_.workload.mix, experiment_.model_priority,
                                              experiment_.keti}));
        const RunSetup setup{&inputs_.workload, &inputs_.nodes, seed, &progress_.arrivals_done,
                             experiment_.state};
        if (experiment_.protocol == Protocol::inflate) {
            return inflate(setup, std::move(policy));
        }
        TESSERA_TRY(const Stream stream, stream_of(seed));
        TESSERA_CHECK(check_moment(stream.arrivals.size()));
        RunRecord record;
        record.untimed = stream.untimed;
        if (experiment_.protocol == Protocol::churn) {
            record.metrics = metrics_of(run_churn(setup, stream, std::move(policy)));
        } else {
            record.metrics =
                metrics_of(run_queue(setup, stream, std::move(policy), experiment_.discipline));
        }
        return record;
    }

    // Arrivals of one run, to know how far all of them are.
    Expected<std::size_t> arrivals(std::uint64_t seed) const {
        if (experiment_.protocol == Protocol::inflate) {
            TESSERA_TRY(const RunOrder order, order_of(seed));
            return order.arrivals.size();
        }
        TESSERA_TRY(const Stream stream, stream_of(seed));
        return stream.arrivals.size();
    }

  private:
    Expected<RunRecord> inflate(const RunSetup& setup, std::unique_ptr<Policy> policy) const {
        TESSERA_TRY(const RunOrder order, order_of(setup.seed));
        TESSERA_CHECK(check_moment(order.arrivals.size()));
        const InflateRun run =
            run_inflate(setup, order, std::move(policy), {experiment_.fragmentation});
        RunRecord record;
        record.metrics = metrics_of(run);
        record.curves.allocated = run.allocated.values();
        if (experiment_.fragmentation) {
            record.curves.fragmented = run.fragmented.values();
            record.curves.fragmented_of_idle = run.fragmented_of_idle.values();
        }
        return record;
    }

    // Whether the moment at which the state is wanted comes.
    Expected<void> check_moment(std::size_t arrivals) const {
        const StateRequest& wanted = experiment_.state;
        if (wanted.into != nullptr && wanted.after != SIZE_MAX && wanted.after > arrivals) {
            return fail(
                ErrorKind::invalid, "--at: {} is not accepted; {} this run", wanted.after,
                arrivals == 1 ? "1 pod comes in" : fmt::format("{} pods come in", arrivals));
        }
        return {};
    }

    Expected<RunOrder> order_of(std::uint64_t seed) const {
        if (experiment_.orders.empty()) {
            return draw_order(inputs_.workload, inputs_.nodes, {seed, experiment_.ratio});
        }
        return read_run_order({experiment_.orders, experiment_.orders_workload, seed},
                              inputs_.workload, inputs_.nodes.size());
    }

    Expected<Stream> stream_of(std::uint64_t seed) const {
        if (experiment_.trace_times) {
            return trace_stream(inputs_.workload, inputs_.nodes, {seed, experiment_.trace_load});
        }
        return draw_stream(inputs_.workload, inputs_.nodes,
                           {seed, experiment_.load, experiment_.arrivals, experiment_.lifetimes});
    }

    const ExperimentInputs& inputs_;
    const Experiment& experiment_;
    ExperimentProgress& progress_;
};

// Adds a run's curve to a sum; runs may differ by a bucket at the end, the shorter one then counts
// its last value.
void add_curve(std::vector<double>& sum, std::vector<double> curve, std::size_t runs_before) {
    if (curve.empty()) {
        return;
    }
    const std::size_t size = std::max(sum.size(), curve.size());
    const double last_of_sum = sum.empty() ? 0 : sum.back();
    sum.resize(size, runs_before == 0 ? 0 : last_of_sum);
    curve.resize(size, curve.back());
    for (std::size_t i = 0; i < size; ++i) {
        sum[i] += curve[i];
    }
}

void divide(std::vector<double>& values, std::size_t by) {
    for (double& value : values) {
        value /= static_cast<double>(by);
    }
}

PolicyResult gather(const std::string& policy, const std::vector<std::uint64_t>& seeds,
                    std::span<RunRecord> records) {
    PolicyResult result;
    result.policy = policy;
    result.seeds = seeds;
    for (std::size_t i = 0; i < records.size(); ++i) {
        RunRecord& record = records[i];
        result.untimed = record.untimed;
        add_curve(result.curves.allocated, std::move(record.curves.allocated), i);
        add_curve(result.curves.fragmented, std::move(record.curves.fragmented), i);
        add_curve(result.curves.fragmented_of_idle, std::move(record.curves.fragmented_of_idle), i);
        result.runs.push_back(std::move(record.metrics));
    }
    divide(result.curves.allocated, records.size());
    divide(result.curves.fragmented, records.size());
    divide(result.curves.fragmented_of_idle, records.size());
    result.mean = mean_of(result.runs);
    return result;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
    constexpr std::array<std::string_view, 3> kNames{"inflate", "churn", "queue"};
    return kNames[static_cast<std::size_t>(protocol)];
}

Expected<void> check_policies(std::span<const PolicySource> policies, const Workload& workload) {
    for (const PolicySource& source : policies) {
        if (auto made = source.make({workload.mix}); !made) {
            return tl::unexpected<Error>(std::move(made.error()));
        }
    }
    return {};
}

Expected<std::vector<PolicyResult>> run_experiment(const ExperimentInputs& inputs,
                                                   const Experiment& experiment,
                                                   ExperimentProgress& progress) {
    const ExperimentRunner runner(inputs, experiment, progress);
    const std::size_t seeds = experiment.seeds.size();
    const std::size_t jobs = experiment.policies.size() * seeds;
    TESSERA_TRY(const std::size_t arrivals, runner.arrivals(experiment.seeds.front()));
    progress.arrivals_total = arrivals * jobs;
    std::vector<RunRecord> records(jobs);
    std::vector<std::optional<Error>> errors(jobs);
    // Seeds outermost: the first seed of every policy is done early.
    parallel_for(jobs, experiment.threads, [&](std::size_t job) {
        const std::size_t policy = job % experiment.policies.size();
        const std::size_t seed = job / experiment.policies.size();
        const std::size_t place = policy * seeds + seed;
        auto record = runner.run(experiment.policies[policy], experiment.seeds[seed]);
        if (record) {
            records[place] = std::move(*record);
        } else {
            errors[place] = std::move(record.error());
        }
    });
    for (std::optional<Error>& error : errors) {
        if (error) {
            return tl::unexpected<Error>(std::move(*error));
        }
    }
    std::vector<PolicyResult> results;
    for (std::size_t p = 0; p < experiment.policies.size(); ++p) {
        results.push_back(gather(experiment.policies[p].name(), experiment.seeds,
                                 std::span(records).subspan(p * seeds, seeds)));
    }
    return results;
}

}  // namespace tessera
