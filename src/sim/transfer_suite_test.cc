#include "sim/transfer_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

MeasureResult measure(Measure which, std::vector<double> reference, std::vector<double> candidate) {
    MeasureResult result;
    result.measure = which;
    result.reference = std::move(reference);
    result.candidate = std::move(candidate);
    return result;
}

TEST(TransferSuite, VerdictsNeedPointsAndErrors) {
    // +0.05 for certain is no win, +1 with a wide spread is a tie, -0.5 for certain is a loss.
    EXPECT_EQ(measure(Measure::saturation, {90, 91}, {90.05, 91.05}).verdict(), Verdict::tie);
    EXPECT_EQ(measure(Measure::saturation, {90, 90}, {95, 87}).verdict(), Verdict::tie);
    EXPECT_EQ(measure(Measure::churn_90, {90, 91, 92}, {89.5, 90.5, 91.5}).verdict(),
              Verdict::loss);
    EXPECT_EQ(measure(Measure::strict_85, {10, 11}, {9, 10}).verdict(), Verdict::win)
        << "less waiting is better";
    EXPECT_EQ(measure(Measure::strict_85, {0, 0}, {0, 0}).verdict(), Verdict::tie);
}

TEST(TransferSuite, ReportsHaveNoExponents) {
    CellResult cell;
    cell.cell = transfer_cells().front();
    cell.measures = {measure(Measure::saturation, {90, 91}, {90.5, 91.5}),
                     measure(Measure::backfill_90, {1340, 1341}, {1234567, 1234567}),
                     measure(Measure::strict_85, {0.0000123, 0.0000123}, {53.12, 53.12})};
    TransferOptions options;
    options.seeds = {1};
    const std::string table = transfer_table({cell}, options);
    EXPECT_THAT(table, AllOf(HasSubstr("1340 -> 1234567 worse"), HasSubstr("0.0000123 -> 53.1"),
                             HasSubstr("90.50 -> 91.00"), HasSubstr(" 1 seed, paired"),
                             HasSubstr("1 win, 0 ties, 0 losses")));
    EXPECT_THAT(transfer_csv({cell}),
                AllOf(HasSubstr(",1340.500000,1234567.000000,"), HasSubstr(",0.000012,53.120000,"),
                      Not(testing::ContainsRegex("[0-9]e[-+][0-9]"))));
}

TEST(TransferSuite, CellsAreDistinct) {
    std::set<std::string> names;
    for (const TransferCell& cell : transfer_cells()) {
        EXPECT_TRUE(names.insert(std::string(cell.nodes) + " " + std::string(cell.pods)).second);
    }
    EXPECT_EQ(names.size(), 32U);
}

TEST(TransferSuite, RunsTheCellsAskedFor) {
    TransferOptions options;
    options.reference = *PolicySource::open("random");
    options.candidate = *PolicySource::open("bestfit");
    options.seeds = {400, 401};
    options.cells = "12 x (8, 96, 768); llm";
    options.quick = true;
    ExperimentProgress progress;
    const auto results = run_transfer_suite(options, progress);
    ASSERT_TRUE(results.has_value()) << results.error().message;
    ASSERT_EQ(results->size(), 1U);
    ASSERT_EQ((*results)[0].measures.size(), kMeasures);
    EXPECT_EQ((*results)[0].measures[0].verdict(), Verdict::win);
    EXPECT_EQ(lost_cells(*results), 0U);
    EXPECT_THAT(transfer_table(*results, options), HasSubstr("3 wins, 0 ties, 0 losses"));
    EXPECT_THAT(transfer_json(*results, options), HasSubstr("\"losses\":0"));
    EXPECT_THAT(transfer_csv(*results), HasSubstr("saturation"));
    options.cells = "nothing";
    EXPECT_THAT(run_transfer_suite(options, progress).error().message, HasSubstr("--cells"));
}

}  // namespace
}  // namespace tessera
