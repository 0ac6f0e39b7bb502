#include "sim/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/plot.h"
#include "sim/published_results.h"
#include "sim/sim_fixture.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::Not;

ExperimentInputs small_inputs() {
    ExperimentInputs inputs;
    inputs.nodes = test_nodes("4x8g96c768Gi");
    inputs.workload = test_workload({test_pod(1, 300), test_pod(1, 1000), test_pod(2, 1000),
                                     test_pod(0, 0), test_pod(8, 1000)});
    return inputs;
}

std::vector<PolicyResult> run(Protocol protocol, const std::vector<std::string>& policies) {
    Experiment experiment;
    experiment.protocol = protocol;
    for (const std::string& policy : policies) {
        experiment.policies.push_back(*PolicySource::open(policy));
    }
    experiment.seeds = {1, 2, 3};
    experiment.threads = 2;
    experiment.arrivals = 500;
    experiment.fragmentation = protocol == Protocol::inflate;
    ExperimentProgress progress;
    auto results = run_experiment(small_inputs(), experiment, progress);
    EXPECT_TRUE(results.has_value()) << results.error().message;
    EXPECT_GT(progress.arrivals_done.load(), 0U);
    return std::move(*results);
}

ReportContext context(Protocol protocol) {
    ReportContext context;
    context.protocol = protocol;
    context.workload = "test";
    return context;
}

TEST(Report, InflateJsonHasTheKeys) {
    const auto results = run(Protocol::inflate, {"bestfit"});
    const std::string json = report_json(results, context(Protocol::inflate));
    EXPECT_THAT(json, testing::StartsWith(
                          R"({"protocol":"inflate","policy":"bestfit","workload":"test","runs":[{)"
                          R"("seed":1,"allocated_milli":)"));
    for (const char* key :
         {"failed_pods", "alloc_percent_at", "\"95\"", "\"100\"", "\"130\"",
          "first_refusal_percent", "decisions_per_second", "gpus_touched", "core_milli",
          "memory_mib", "arrivals", "\"mean\":{\"allocated_milli\""}) {
        EXPECT_THAT(json, HasSubstr(key));
    }
    EXPECT_THAT(json, Not(HasSubstr("null")));
}

TEST(Report, SeveralPoliciesAreAnArrayAndPaired) {
    const auto results = run(Protocol::inflate, {"bestfit", "random"});
    EXPECT_THAT(report_json(results, context(Protocol::inflate)), testing::StartsWith("[{"));
    for (std::size_t seed = 0; seed < 3; ++seed) {
        EXPECT_EQ(number(results[0].runs[seed], "arrivals"),
                  number(results[1].runs[seed], "arrivals"));
    }
}

TEST(Report, ThreadsDoNotChangeResults) {
    const auto once = run(Protocol::churn, {"bestfit", "fgd"});
    const auto again = run(Protocol::churn, {"bestfit", "fgd"});
    for (std::size_t p = 0; p < 2; ++p) {
        EXPECT_EQ(number(once[p].mean, "alloc_percent"), number(again[p].mean, "alloc_percent"));
    }
}

TEST(Report, ChurnAndQueueHaveTheirKeys) {
    const std::string churn =
        report_json(run(Protocol::churn, {"bestfit"}), context(Protocol::churn));
    for (const char* key : {"alloc_percent", "refused_gpu_percent", "refused_percent_by_gpus",
                            "\"0\":", "\"share\":", "\"1\":", "\"8\":"}) {
        EXPECT_THAT(churn, HasSubstr(key));
    }
    const std::string queue =
        report_json(run(Protocol::queue, {"bestfit"}), context(Protocol::queue));
    for (const char* key : {"wait_mean", "wait_p50", "wait_p95", "wait_p99", "completion_mean",
                            "wait_by_gpus", "makespan"}) {
        EXPECT_THAT(queue, HasSubstr(key));
    }
}

TEST(Report, CsvHasOneRowPerRunAndTheMean) {
    const std::string csv =
        report_csv(run(Protocol::inflate, {"bestfit", "random"}), context(Protocol::inflate));
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 4);
    EXPECT_THAT(csv, HasSubstr("alloc_percent_at_95"));
    const auto commas = [&](std::size_t from) {
        return std::count(csv.begin() + static_cast<std::ptrdiff_t>(from),
                          csv.begin() + static_cast<std::ptrdiff_t>(csv.find('\n', from)), ',');
    };
    EXPECT_EQ(commas(0), commas(csv.find('\n') + 1));
}

TEST(Report, TableLinesUp) {
    EXPECT_EQ(aligned({{"a", "long head"}, {"longer", "1"}}),
              "a       long head\nlonger          1\n");
    const std::string table =
        report_table(run(Protocol::queue, {"bestfit"}), context(Protocol::queue));
    EXPECT_THAT(table, HasSubstr("% of a mean lifetime"));
}

TEST(Report, PublishedTableStandsBesideOurs) {
    auto results = run(Protocol::inflate, {"bestfit"});
    ReportContext published = context(Protocol::inflate);
    published.against_published = true;
    EXPECT_THAT(report_table(results, published), HasSubstr("nothing was published"));
    published.workload = "default";
    const std::string table = report_table(results, published);
    EXPECT_THAT(table, HasSubstr("92.86"));
    EXPECT_THAT(table, HasSubstr("OFF")) << "four nodes do not behave as 1,213";
    EXPECT_DOUBLE_EQ(published_rate("default", "fgd")->at_130, 95.39);
    EXPECT_FALSE(published_rate("default", "tessera").has_value());
}

TEST(Plot, PagesStandAlone) {
    const auto results = run(Protocol::inflate, {"bestfit", "random"});
    ReportContext named = context(Protocol::inflate);
    named.workload = "a<b>&\"c\"";
    const std::string page = render_html(results, named);
    EXPECT_THAT(page, HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
    EXPECT_THAT(page, Not(HasSubstr("a<b>")));
    EXPECT_THAT(page, Not(HasSubstr("src=")));
    EXPECT_THAT(page, Not(HasSubstr("nan")));
    EXPECT_THAT(page, HasSubstr("Fragmented GPU"));
    const std::string svg = render_svg(results, named);
    EXPECT_THAT(svg, testing::StartsWith("<svg "));
    EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
    EXPECT_THAT(render_html(run(Protocol::churn, {"bestfit"}), context(Protocol::churn)),
                Not(HasSubstr("<svg")));
}

TEST(Plot, TicksAreRound) {
    EXPECT_EQ(axis_ticks(0, 100), (std::vector<double>{0, 20, 40, 60, 80, 100}));
    EXPECT_EQ(axis_ticks(80, 130), (std::vector<double>{80, 90, 100, 110, 120, 130}));
    EXPECT_FALSE(std::signbit(axis_ticks(0, 1).front()));
}

}  // namespace
}  // namespace tessera
