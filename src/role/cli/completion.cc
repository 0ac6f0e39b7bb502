// tessera completion: the sub-commands for the shell's tab key, with bash the options and policies
// too; files for everything else.
#include <array>
#include <cstdio>

#include "role/cli/command.h"
#include "role/cli/wrong_use.h"

namespace tessera::cli {

namespace {

std::string names() {
    std::string list;
    for (const Command& command : commands()) {
        list += list.empty() ? "" : " ";
        list += command.name;
    }
    return list;
}

// Options and parts of a command come from its own help, so that they cannot go stale.
std::string bash_script() {
    return fmt::format(
        "_tessera() {{\n"
        "    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
        "    local words=\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        words=\"{}\"\n"
        "    elif [ \"$before\" = --policy ]; then\n"
        "        words=$(tessera policy list 2>/dev/null | sed -n '/^$/q; s/^  \\([a-z-]*\\) "
        ".*/\\1/p')\n"
        "    elif [[ $word == -* ]]; then\n"
        "        words=$(tessera \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\" --help 2>/dev/null |\n"
        "            grep -oE '^  (-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+')\n"
        "    elif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
        "        words=$(tessera \"$before\" --help 2>/dev/null |\n"
        "            sed -n '/^Subcommands:/,/^$/s/^  \\([a-z]*\\) .*/\\1/p')\n"
        "    fi\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
        "    if [ ${{#COMPREPLY[@]}} -eq 0 ]; then\n"
        "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "    fi\n"
        "}}\n"
        "complete -o filenames -F _tessera tessera\n",
        names());
}

std::string zsh_script() {
    std::string script = "#compdef tessera\n_tessera() {\n    local -a commands=(\n";
    for (const Command& command : commands()) {
        script += fmt::format("        \"{}:{}\"\n", command.name, command.summary);
    }
    return script +
           "    )\n"
           "    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n"
           "    else\n"
           "        _files\n"
           "    fi\n"
           "}\n"
           "compdef _tessera tessera\n";
}

std::string fish_script() {
    std::string script;
    for (const Command& command : commands()) {
        script += fmt::format("complete -c tessera -n __fish_use_subcommand -f -a {} -d \"{}\"\n",
                              command.name, command.summary);
    }
    return script;
}

constexpr std::string_view kUsage =
    "usage: tessera completion bash|zsh|fish\n\n"
    "Prints the script; for bash, for instance: source <(tessera completion bash)\n";

}  // namespace

int run_completion(const Arguments& arguments) {
    const std::string shell = arguments.size() == 1 ? arguments.front() : "";
    if (shell == "--help" || shell == "-h") {
        fmt::print("{}", kUsage);
    } else if (shell == "bash") {
        fmt::print("{}", bash_script());
    } else if (shell == "zsh") {
        fmt::print("{}", zsh_script());
    } else if (shell == "fish") {
        fmt::print("{}", fish_script());
    } else if (arguments.size() == 1) {
        constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};
        return report_error({ErrorKind::invalid, no_such("shell", shell, kShells)});
    } else {
        fmt::print(stderr, "{}", kUsage);
        return kExitUse;
    }
    return kExitFine;
}

}  // namespace tessera::cli
