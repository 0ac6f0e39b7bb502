// A command line run as a user runs it, with its output caught.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "role/cli/command.h"

namespace tessera::cli {

struct Outcome {
    int code = 0;
    std::string out;
    std::string err;
};

inline Outcome tessera(const std::vector<std::string>& arguments) {
    std::vector<const char*> argv{"tessera"};
    for (const std::string& argument : arguments) {
        argv.push_back(argument.c_str());
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Outcome outcome;
    outcome.code = run_command_line(static_cast<int>(argv.size()), argv.data());
    std::fflush(stdout);
    outcome.out = testing::internal::GetCapturedStdout();
    outcome.err = testing::internal::GetCapturedStderr();
    return outcome;
}

}  // namespace tessera::cli
