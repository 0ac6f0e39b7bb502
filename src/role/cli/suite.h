// tessera sim --suite: many experiments with one verdict.
#pragma once

#include <string>

namespace tessera::cli {

struct SuiteFlags {
    std::string name;
    std::string data;
    std::string cells;
    std::string seeds;     // empty: the suite's own
    std::string policies;  // empty: tessera against fgd
    bool quick = false;
    bool json = false;
    bool csv = false;
    std::size_t threads = 0;
};

// The exit code: 1 when a cell is lost.
int run_suite(const SuiteFlags& flags);

}  // namespace tessera::cli
