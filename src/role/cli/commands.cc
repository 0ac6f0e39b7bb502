// The table of commands, and the ones too small for a file of their own.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include "role/cli/command.h"
#include "role/cli/wrong_use.h"

#ifndef TESSERA_VERSION
#define TESSERA_VERSION "unknown"
#endif

namespace tessera::cli {

namespace {

constexpr Command kCommands[] = {
    {"demo", "a short simulated day on a small cluster, live in the terminal", run_demo},
    {"sim", "run a trace or a generated workload through placement policies", run_sim},
    {"trace", "generate, import and show workloads and node lists", run_trace},
    {"explain", "why a pod goes where it goes, why it does not fit, what would help", run_explain},
    {"serve", "serve a Kubernetes cluster: as kube-scheduler's extender, as a scheduler",
     run_serve},
    {"inspect", "what is on the GPUs of a cluster, by node and by pod", run_inspect},
    {"policy", "list, show and check placement policies", run_policy},
    {"completion", "print the completion script of a shell: bash, zsh or fish", run_completion},
    {"version", "print the version", run_version},
    {"help", "list the commands, or explain one: tessera help sim", run_help},
};

const Command* find_command(std::string_view name) {
    const auto found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                    [&](const Command& command) { return command.name == name; });
    return found == std::end(kCommands) ? nullptr : found;
}

std::string overview() {
    std::string text =
        "Tessera places pods on GPUs, and shows what a policy would do.\n\n"
        "usage: tessera COMMAND [OPTION]...\n\n";
    for (const Command& command : kCommands) {
        text += fmt::format("  {:<12}{}\n", command.name, command.summary);
    }
    return text +
           "\ntessera COMMAND --help explains a command and gives examples.\n"
           "Exit codes: 0 fine, 1 the answer is no, 2 wrong use or a file that is not good,\n"
           "3 a file cannot be read or written, or a cluster not be reached.\n";
}

int unknown_command(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Command& command : kCommands) {
        names.push_back(command.name);
    }
    return report_error({ErrorKind::invalid, no_such("command", name, names)});
}

}  // namespace

std::span<const Command> commands() { return kCommands; }
std::string_view program_version() { return TESSERA_VERSION; }

int exit_code(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::invalid:
            return kExitUse;
        case ErrorKind::environment:
            return kExitEnvironment;
        case ErrorKind::not_found:
        case ErrorKind::conflict:
        case ErrorKind::internal:
            break;
    }
    return kExitNo;
}

int report_error(const Error& error) {
    fmt::print(stderr, "tessera: {}\n", error.message);
    return exit_code(error.kind);
}

int run_version(const Arguments& arguments) {
    const bool help = arguments == Arguments{"--help"} || arguments == Arguments{"-h"};
    if (!arguments.empty() && !help) {
        return report_error({ErrorKind::invalid, "version takes no argument"});
    }
    fmt::print("tessera {}\n", program_version());
    return kExitFine;
}

int run_help(const Arguments& arguments) {
    if (arguments.empty()) {
        fmt::print("{}", overview());
        return kExitFine;
    }
    const Command* command = find_command(arguments.front());
    if (command == nullptr) {
        return unknown_command(arguments.front());
    }
    if (command->run == run_help) {
        return run_help({});
    }
    Arguments asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return command->run(asked);
}

namespace {

// What was printed has to arrive: a full disk must not look like success.
int with_output(int code) {
    errno = 0;
    if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0) || code == kExitEnvironment) {
        return code;
    }
    // Without a reason when it failed some time ago.
    const std::string reason = errno == 0 ? "" : fmt::format(": {}", std::strerror(errno));
    return report_error({ErrorKind::environment, "standard output: cannot be written" + reason});
}

int run_named(int argc, const char* const* argv) {
    if (argc < 2) {
        fmt::print(stderr, "{}", overview());
        return kExitUse;
    }
    const std::string_view name = argv[1];
    if (name == "-h" || name == "--help") {
        return run_help({});
    }
    if (name == "--version") {
        return run_version({});
    }
    const Command* command = find_command(name);
    return command == nullptr ? unknown_command(name)
                              : command->run(Arguments(argv + 2, argv + argc));
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
    try {
        return with_output(run_named(argc, argv));
    } catch (const std::system_error& error) {
        // What fmt throws when it cannot print.
        return report_error({ErrorKind::environment,
                             fmt::format("standard output: cannot be written: {}", error.what())});
    } catch (const std::bad_alloc&) {
        return report_error({ErrorKind::environment, "there is not enough memory for this"});
    }
}

}  // namespace tessera::cli
