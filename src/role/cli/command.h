// A sub-command of tessera: one line in the table of commands.cc, one file of its own.
//
//   {"sim", "run a trace or a generated workload through placement policies", run_sim},
//
// A command gets its arguments without the program's name and its own, and returns the exit code:
// 0 fine, 1 the answer is no, 2 wrong use or a file that is not good, 3 environment (a file that
// cannot be read or written).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera::cli {

inline constexpr int kExitFine = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitUse = 2;
inline constexpr int kExitEnvironment = 3;

using Arguments = std::vector<std::string>;

struct Command {
    std::string_view name;
    std::string_view summary;
    int (*run)(const Arguments& arguments);
};

std::span<const Command> commands();
std::string_view program_version();

// Finds the command and runs it.
int run_command_line(int argc, const char* const* argv);

// Prints the error for a person on standard error; the exit code of its kind.
int report_error(const Error& error);
int exit_code(ErrorKind kind);

// The commands, each in the file of its name.
int run_sim(const Arguments& arguments);
int run_trace(const Arguments& arguments);
int run_policy(const Arguments& arguments);
int run_explain(const Arguments& arguments);
int run_demo(const Arguments& arguments);
int run_serve(const Arguments& arguments);
int run_inspect(const Arguments& arguments);
int run_completion(const Arguments& arguments);
int run_version(const Arguments& arguments);
int run_help(const Arguments& arguments);

}  // namespace tessera::cli
