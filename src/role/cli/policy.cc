// tessera policy: list, show and check placement policies.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "codec/policy_yaml.h"
#include "policy/composed_policy.h"
#include "policy/rules.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "sim/policy_source.h"

namespace tessera::cli {
namespace {

void print_table(const std::vector<std::pair<std::string, std::string>>& rows) {
    std::size_t width = 0;
    for (const auto& row : rows) {
        width = std::max(width, row.first.size());
    }
    for (const auto& row : rows) {
        fmt::print("  {:<{}}  {}\n", row.first, width, row.second);
    }
}

void list_json() {
    JsonWriter json;
    json.begin_object();
    json.key("policies");
    json.begin_array();
    for (const PolicyInfo& info : known_policies()) {
        json.begin_object();
        json.member("name", info.name);
        json.member("summary", info.summary);
        json.end_object();
    }
    json.end_array();
    json.key("scores");
    json.begin_array();
    for (const RuleInfo& rule : rules::table()) {
        json.begin_object();
        json.member("name", rule.name);
        json.member("low", rule.low);
        json.member("high", rule.high);
        json.member("summary", rule.summary);
        json.end_object();
    }
    json.end_array();
    json.key("parameters");
    json.begin_array();
    for (const ParameterInfo& parameter : tessera_parameters()) {
        json.begin_object();
        json.member("name", parameter.name);
        json.member("low", parameter.low);
        json.member("high", parameter.high);
        json.member("standard", parameter.standard);
        json.member("summary", parameter.summary);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    fmt::print("{}\n", json.take());
}

void list_text() {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const PolicyInfo& info : known_policies()) {
        rows.emplace_back(info.name, info.summary);
    }
    fmt::print("policies\n");
    print_table(rows);
    rows.clear();
    for (const RuleInfo& rule : rules::table()) {
        rows.emplace_back(rule.name,
                          fmt::format("{} ({} to {})", rule.summary, rule.low, rule.high));
    }
    fmt::print("\nscores that a policy file may weigh\n");
    print_table(rows);
    rows.clear();
    for (const ParameterInfo& parameter : tessera_parameters()) {
        rows.emplace_back(parameter.name,
                          fmt::format("{} ({}, from {} to {})", parameter.summary,
                                      parameter.standard, parameter.low, parameter.high));
    }
    fmt::print("\nparameters of base: tessera\n");
    print_table(rows);
}

int show(const std::string& name, bool as_json) {
    auto spec = PolicySource::is_file(name) ? read_policy_file(name) : shipped_policy(name);
    if (!spec) {
        return report_error(spec.error());
    }
    if (!PolicySource::is_file(name)) {
        // What is printed shall be good as a file, and a file may not take a shipped name.
        spec->name.value = "my-" + spec->name.value;
    }
    const std::string text = write_policy_yaml(*spec);
    if (as_json) {
        JsonWriter json;
        json.begin_object();
        json.member("name", spec->name.value);
        json.member("summary", spec->summary);
        json.member("yaml", text);
        json.end_object();
        fmt::print("{}\n", json.take());
    } else {
        fmt::print("{}", text);
    }
    return kExitFine;
}

// A bad policy is the answer "no"; a file that cannot be read is worse.
int check(const std::vector<std::string>& files, bool as_json) {
    int worst = kExitFine;
    JsonWriter json;
    json.begin_array();
    for (const std::string& file : files) {
        const auto spec = read_policy_file(file);
        const int code = spec                                          ? kExitFine
                         : spec.error().kind == ErrorKind::environment ? kExitEnvironment
                                                                       : kExitNo;
        worst = std::max(worst, code);
        if (as_json) {
            json.begin_object();
            json.member("file", file);
            json.member("good", spec.has_value());
            json.member(spec ? "name" : "reason", spec ? spec->name.value : spec.error().message);
            json.end_object();
        } else if (spec) {
            fmt::print("{}: policy {} is good\n", file, spec->name.value);
        } else {
            fmt::print(stderr, "{}\n", spec.error().message);
        }
    }
    json.end_array();
    if (as_json) {
        fmt::print("{}\n", json.take());
    }
    return worst;
}

}  // namespace

int run_policy(const Arguments& arguments) {
    CLI::App app("List, show and check placement policies.", "tessera policy");
    app.footer(
        "examples:\n"
        "  tessera policy list\n"
        "  tessera policy show tessera > mine.yaml    my-tessera: a start for one of your own\n"
        "  tessera policy check mine.yaml\n"
        "  tessera sim --policy mine.yaml,fgd\n\n"
        "Exit codes: 0 good, 1 a policy is refused, 2 wrong use, 3 a file cannot be read.");
    app.require_subcommand(1);
    bool json = false;
    std::string name;
    std::vector<std::string> files;
    CLI::App* list = app.add_subcommand("list", "the policies, scores and parameters");
    CLI::App* shown = app.add_subcommand("show", "a policy as the file that makes it");
    shown->add_option("NAME", name, "a shipped policy, or a file")->required();
    CLI::App* checked = app.add_subcommand("check", "whether files are good policies");
    checked->add_option("FILE", files, "policy files")->required();
    for (CLI::App* command : {list, shown, checked}) {
        command->add_flag("--json", json, "as JSON");
    }
    if (const auto code = parse(app, arguments)) {
        return *code;
    }
    if (list->parsed()) {
        json ? list_json() : list_text();
        return kExitFine;
    }
    return shown->parsed() ? show(name, json) : check(files, json);
}

}  // namespace tessera::cli
