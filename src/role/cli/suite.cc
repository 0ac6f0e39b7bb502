#include "role/cli/suite.h"

#include <array>
#include <cstdio>

#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/progress.h"
#include "sim/transfer_suite.h"

namespace tessera::cli {

namespace {

constexpr std::string_view kSeeds = "400-409";
constexpr std::string_view kQuickSeeds = "400-402";
constexpr std::string_view kPolicies = "fgd,tessera";

Expected<TransferOptions> options_of(const SuiteFlags& flags) {
    TransferOptions options;
    if (flags.json && flags.csv) {
        return fail(ErrorKind::invalid, "--json and --csv exclude each other");
    }
    const std::string seeds(flags.quick ? kQuickSeeds : kSeeds);
    TESSERA_TRY(options.seeds, parse_seeds(flags.seeds.empty() ? seeds : flags.seeds));
    TESSERA_TRY(const auto policies,
                parse_list("--policy", flags.policies.empty() ? kPolicies : flags.policies));
    if (policies.size() != 2) {
        return fail(ErrorKind::invalid,
                    "--policy: the suite compares two policies, the reference first: {}",
                    kPolicies);
    }
    TESSERA_TRY(options.reference, PolicySource::open(policies[0]));
    TESSERA_TRY(options.candidate, PolicySource::open(policies[1]));
    TESSERA_CHECK(check_names_differ(std::array{options.reference, options.candidate}));
    options.cells = flags.cells;
    options.data = flags.data;
    options.quick = flags.quick;
    options.threads = flags.threads;
    return options;
}

Expected<std::vector<CellResult>> run_with_progress(const TransferOptions& options) {
    ExperimentProgress progress;
    const ProgressBar bar("transfer suite", [&] {
        const auto total = static_cast<double>(progress.arrivals_total.load());
        return total > 0 ? static_cast<double>(progress.arrivals_done.load()) / total : 0.0;
    });
    return run_transfer_suite(options, progress);
}

}  // namespace

int run_suite(const SuiteFlags& flags) {
    const auto options = options_of(flags);
    if (!options) {
        return report_error(options.error());
    }
    const auto results = run_with_progress(*options);
    if (!results) {
        return report_error(results.error());
    }
    if (flags.json) {
        fmt::print("{}", transfer_json(*results, *options));
    } else if (flags.csv) {
        fmt::print("{}", transfer_csv(*results));
    } else {
        fmt::print("{}", transfer_table(*results, *options));
    }
    return lost_cells(*results) == 0 ? kExitFine : kExitNo;
}

}  // namespace tessera::cli
