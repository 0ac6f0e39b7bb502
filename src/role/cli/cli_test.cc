// The command line as a user meets it: exit codes, sentences, tables, the demo.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "codec/test_directory.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/demo_view.h"
#include "role/cli/inputs.h"
#include "role/cli/live_screen.h"
#include "role/cli/progress.h"
#include "role/cli/terminal.h"
#include "role/cli/test_command.h"
#include "sim/file.h"

namespace tessera::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Seeds, ListsAndRanges) {
    EXPECT_EQ(*parse_seeds("42"), (std::vector<std::uint64_t>{42}));
    EXPECT_EQ(*parse_seeds("3-5,1,4"), (std::vector<std::uint64_t>{1, 3, 4, 5}));
    EXPECT_EQ(*parse_seeds("18446744073709551615"), (std::vector<std::uint64_t>{UINT64_MAX}));
    for (const char* text : {"", "a", "5-3", "1-", "-1", "1,,2", "0-99999999", "1-5x"}) {
        EXPECT_FALSE(parse_seeds(text).has_value()) << text;
    }
}

TEST(CommandLine, HelpVersionAndUnknownCommands) {
    EXPECT_EQ(tessera({}).code, kExitUse);
    EXPECT_THAT(tessera({"help"}).out, HasSubstr("sim"));
    EXPECT_THAT(tessera({"--version"}).out, testing::MatchesRegex("tessera [0-9.]+\n"));
    const Outcome unknown = tessera({"fly"});
    EXPECT_EQ(unknown.code, kExitUse);
    EXPECT_THAT(unknown.err, HasSubstr("fly: no such command; the commands are demo, sim"));
    for (const Command& command : commands()) {
        const Outcome help = tessera({"help", std::string(command.name).c_str()});
        EXPECT_EQ(help.code, kExitFine) << command.name;
        EXPECT_FALSE(help.out.empty()) << command.name;
    }
}

TEST(CommandLine, SlipsAreAnsweredWithWhatWasMeant) {
    const auto refused = [](const std::vector<std::string>& arguments) {
        const Outcome outcome = tessera(arguments);
        EXPECT_EQ(outcome.code, kExitUse);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_EQ(refused({"sim", "--polcy", "fgd"}),
              "tessera: --polcy: no such flag; did you mean --policy? tessera sim --help explains "
              "the flags\n");
    EXPECT_THAT(refused({"sim", "--polcy=fgd"}), HasSubstr("--polcy: no such flag; did you"));
    EXPECT_THAT(refused({"explain", "--stat", "x"}), HasSubstr("did you mean --state?"))
        << "rather than that --state is missing";
    EXPECT_THAT(refused({"policy", "list", "--jsn"}),
                HasSubstr("did you mean --json? tessera policy list --help"));
    EXPECT_THAT(refused({"sim", "--nonsense"}),
                HasSubstr("--nonsense: no such flag; tessera sim --help"));
    EXPECT_THAT(refused({"sm"}), HasSubstr("sm: no such command; did you mean sim? the commands"));
    EXPECT_THAT(refused({"help", "polcy"}), HasSubstr("did you mean policy?"));
    EXPECT_THAT(refused({"policy", "lst"}),
                HasSubstr("lst: no such command; did you mean list? the commands are list, show"));
    EXPECT_THAT(refused({"policy"}), HasSubstr("a command is missing after tessera policy"));
    EXPECT_THAT(refused({"completion", "bsh"}), HasSubstr("no such shell; did you mean bash?"));
    EXPECT_THAT(refused({"sim", "fgd"}), HasSubstr("fgd: one word too many"));
    EXPECT_THAT(refused({"sim", "\033[31m"}), HasSubstr("\"\\x1b[31m\": one word too many"));
    EXPECT_THAT(refused({"sim", "--protocol", "quue"}),
                HasSubstr("--protocol: \"quue\" is not accepted; did you mean queue? inflate, "));
    EXPECT_THAT(refused({"sim", "--policy"}), HasSubstr("--policy: its value is missing"));
    EXPECT_THAT(refused({"sim", "--policy", "a", "--policy", "b"}),
                HasSubstr("--policy: is there more than once"));
    EXPECT_THAT(refused({"sim", "--policy", "fdg"}), HasSubstr("did you mean fgd?"));
    EXPECT_THAT(refused({"policy", "show", "fdg"}), HasSubstr("did you mean fgd?"));
}

TEST(CommandLine, WrongUseOfSimSaysWhy) {
    const Outcome unknown = tessera({"sim", "--policy", "nobody"});
    EXPECT_EQ(unknown.code, kExitUse);
    EXPECT_THAT(unknown.err, HasSubstr("the policies are"));
    const Outcome later = tessera({"sim", "--policy", "coscheml"});
    EXPECT_EQ(later.code, kExitUse);
    EXPECT_THAT(later.err, HasSubstr("insight and prediction"));
    EXPECT_EQ(tessera({"sim", "--pods", "no/such.csv"}).code, kExitEnvironment);
    EXPECT_EQ(tessera({"sim", "--nodes", "no/such.csv"}).code, kExitEnvironment);
    EXPECT_EQ(tessera({"sim", "--orders", "no/such", "--seeds", "1"}).code, kExitEnvironment);
    EXPECT_EQ(tessera({"sim", "--protocol", "churn", "--orders", "x"}).code, kExitUse);
    EXPECT_EQ(tessera({"sim", "--load", "0.9"}).code, kExitUse);
    EXPECT_EQ(tessera({"sim", "--json", "--csv"}).code, kExitUse);
    EXPECT_EQ(tessera({"sim", "--protocol", "sideways"}).code, kExitUse);
    EXPECT_EQ(tessera({"sim", "--quick"}).code, kExitUse);
    EXPECT_THAT(tessera({"sim", "--nodes", "3x0g8c8Gi"}).err,
                HasSubstr("--nodes: none of the 3 nodes has a GPU"));
    const Outcome one = tessera({"sim", "--nodes", "0g8c8Gi"});
    EXPECT_EQ(one.code, kExitUse);
    EXPECT_THAT(one.err, HasSubstr("--nodes: the one node has not a GPU"));
    EXPECT_THAT(tessera({"sim", "--help"}).out, HasSubstr("@80Gi is the memory of each GPU"));
    EXPECT_EQ(tessera({"sim", "--nodes", "3x8g"}).code, kExitUse);
    for (const char* flag : {"--nodes", "--pods"}) {
        const Outcome empty = tessera({"sim", flag, ""});
        EXPECT_EQ(empty.code, kExitUse);
        EXPECT_THAT(empty.err, HasSubstr(std::string(flag) + ": a file or a name is expected"));
    }
    EXPECT_THAT(tessera({"sim", "--pods", "opnb"}).err, HasSubstr("did you mean openb?"));
    EXPECT_THAT(tessera({"sim", "--nodes", "opnb"}).err, HasSubstr("by name are openb, spot"));
    EXPECT_THAT(tessera({"sim", "--nodes", "1x17g8c8Gi"}).err, HasSubstr("--nodes: 17 GPUs"));
    EXPECT_THAT(tessera({"sim", "--seeds", "51-42"}).err, HasSubstr("ends before it begins"));
    EXPECT_THAT(tessera({"sim", "--seeds", ""}).err, HasSubstr("--seeds: nothing stands there"));
    EXPECT_THAT(tessera({"sim", "--plot", "/tmp/x.svg", "--html", "/tmp/x.svg"}).err,
                HasSubstr("two outputs cannot go to one file"));
}

// A file that lives as long as the test.
class TempFile {
  public:
    TempFile(const char* name, const std::string& text) : path_(directory_.file(name)) {
        EXPECT_TRUE(write_file(path_, text));
    }
    const char* path() const { return path_.c_str(); }

  private:
    TestDirectory directory_;
    std::string path_;
};

TEST(CommandLine, FilesThatAreThereAreNotTakenForNames) {
    const TempFile cut("tessera_cut.csv.gz", "\x1f\x8b\x08 cut");
    const Outcome damaged = tessera({"sim", "--pods", cut.path()});
    EXPECT_EQ(damaged.code, kExitUse);
    EXPECT_THAT(damaged.err, AllOf(HasSubstr("gzip: damaged"), Not(HasSubstr("generated"))));
    const Outcome folder = tessera({"sim", "--nodes", "/tmp"});
    EXPECT_EQ(folder.code, kExitEnvironment);
    EXPECT_THAT(folder.err, AllOf(HasSubstr("is a directory"), Not(HasSubstr("64x8g"))));
    const Outcome endless = tessera({"trace", "show", "/dev/zero"});
    EXPECT_EQ(endless.code, kExitUse);
    EXPECT_THAT(endless.err, HasSubstr("/dev/zero: has more than 268435456 bytes"));
}

TEST(CommandLine, NumbersAreTakenAtTheirWord) {
    const auto refused = [](const std::vector<std::string>& arguments) {
        const Outcome outcome = tessera(arguments);
        EXPECT_EQ(outcome.code, kExitUse);
        return outcome.err;
    };
    EXPECT_THAT(refused({"sim", "--ratio", "nan"}),
                HasSubstr("--ratio: \"nan\" is not accepted; a number from 0.01 to 100 is"));
    EXPECT_THAT(refused({"sim", "--protocol", "churn", "--load", "inf"}), HasSubstr("--load"));
    EXPECT_THAT(refused({"sim", "--count", "-5"}), HasSubstr("\"-5\" is not accepted; a whole"));
    EXPECT_THAT(refused({"sim", "--threads", "1.5"}), HasSubstr("\"1.5\""));
    EXPECT_THAT(refused({"trace", "generate", "--seed", "-1"}), HasSubstr("\"-1\""));
    EXPECT_THAT(refused({"demo", "--seconds", "nan"}), HasSubstr("--seconds"));
}

TEST(CommandLine, FlagsWithoutMeaningAreRefused) {
    EXPECT_THAT(tessera({"sim", "--at", "5"}).err, HasSubstr("--state FILE"));
    EXPECT_THAT(tessera({"sim", "--suite", "transfer", "--discipline", "strict"}).err,
                HasSubstr("--discipline has no meaning with --suite"));
    EXPECT_THAT(tessera({"trace", "generate", "llm", "--nodes", "openb"}).err,
                HasSubstr("workload has no meaning with --nodes"));
    EXPECT_EQ(tessera({"trace", "generate", "--count", "5", "--nodes", "openb"}).code, kExitUse);
    EXPECT_EQ(tessera({"version", "now"}).code, kExitUse);
    EXPECT_THAT(tessera({"help", "trace", "generate"}).out, HasSubstr("gpushareNN"));
}

TEST(CommandLine, OutputsAreTriedBeforeTheRuns) {
    for (const char* flag : {"--html", "--plot", "--state"}) {
        const Outcome outcome = tessera({"sim", flag, "/no/such/folder/file"});
        EXPECT_EQ(outcome.code, kExitEnvironment) << flag;
        EXPECT_THAT(outcome.err, HasSubstr("/no/such/folder/file: cannot be written"));
        EXPECT_TRUE(outcome.out.empty()) << flag;
    }
    EXPECT_EQ(tessera({"sim", "--html", "/"}).code, kExitEnvironment);
}

TEST(CommandLine, PoliciesOfOneRunDifferInName) {
    const auto refused = [](const std::vector<std::string>& arguments) {
        const Outcome outcome = tessera(arguments);
        EXPECT_EQ(outcome.code, kExitUse);
        return outcome.err;
    };
    EXPECT_THAT(refused({"sim", "--policy", "fgd,fgd"}), HasSubstr("fgd is there twice; name it"));
    EXPECT_THAT(refused({"sim", "--suite", "transfer", "--policy", "fgd,fgd"}),
                HasSubstr("fgd is there twice"));
    const TempFile one("tessera_one.yaml", "name: mine\nbase: bestfit\n");
    const TempFile other("tessera_other.yaml", "name: mine\nbase: fgd\n");
    const std::string pair = std::string(one.path()) + "," + other.path();
    EXPECT_THAT(refused({"sim", "--policy", pair}),
                AllOf(HasSubstr(one.path()), HasSubstr(other.path()),
                      HasSubstr("both have the name \"mine\""), HasSubstr("give one of them")));
    const TempFile shipped("tessera_shipped.yaml", "# mine\nname: fgd\nbase: bestfit\n");
    const std::string alone = refused({"sim", "--policy", shipped.path()});
    EXPECT_THAT(alone, HasSubstr(std::string(shipped.path()) +
                                 ":2: name: \"fgd\" is a shipped policy's name; give this"));
    EXPECT_EQ(tessera({"policy", "check", shipped.path()}).code, kExitNo);
    const Outcome published = tessera({"sim", "--nodes", "2x8g96c768Gi", "--count", "20",
                                       "--policy", "published,random", "--csv"});
    EXPECT_EQ(published.code, kExitFine) << published.err << "named alone and by its group is once";
}

TEST(CommandLine, SuiteAndDemoTakePolicyFiles) {
    const TestDirectory directory;
    const std::string file = directory.file("cli_policy.yaml");
    ASSERT_TRUE(write_file(file, "name: mine\nbase: bestfit\n").has_value());
    const std::string pair = "bestfit," + file;
    const Outcome suite =
        tessera({"sim", "--suite", "transfer", "--quick", "--cells", "8 x (4, 48, 384)", "--seeds",
                 "1-2", "--policy", pair.c_str(), "--json"});
    EXPECT_EQ(suite.code, kExitFine) << suite.err << suite.out;
    EXPECT_THAT(suite.out, HasSubstr("\"candidate\":\"mine\""));
    EXPECT_THAT(suite.out, HasSubstr("\"verdict\":\"tie\""));
    const Outcome demo = tessera({"demo", "--nodes", "2x8g96c768Gi", "--policy", file.c_str()});
    EXPECT_EQ(demo.code, kExitFine) << demo.err;
    EXPECT_THAT(demo.out, HasSubstr("policy mine"));
    EXPECT_EQ(tessera({"demo", "--policy", "nobody"}).code, kExitUse);
    EXPECT_EQ(tessera({"demo", "--policy", "no/such.yaml"}).code, kExitEnvironment);
}

TEST(CommandLine, SimPrintsTablesAndJson) {
    const Outcome table = tessera({"sim", "--nodes", "4x8g96c768Gi", "--pods", "llm", "--count",
                                   "200", "--policy", "bestfit,fgd"});
    EXPECT_EQ(table.code, kExitFine) << table.err;
    EXPECT_THAT(table.out, HasSubstr("bestfit"));
    EXPECT_TRUE(table.err.empty()) << "no progress bar without a terminal";
    const Outcome json = tessera({"sim", "--nodes", "4x8g96c768Gi", "--pods", "philly", "--count",
                                  "200", "--policy", "bestfit", "--protocol", "queue", "--json"});
    EXPECT_EQ(json.code, kExitFine) << json.err;
    EXPECT_THAT(json.out, HasSubstr("\"wait_mean\""));
}

TEST(CommandLine, SimTakesKubesharesTopology) {
    const std::string text =
        "cellTypes:\n  N:\n    childCellType: V100\n    childCellNumber: 4\n"
        "    childCellPriority: 60\n    isNodeLevel: true\ncells:\n- {cellType: N, cellId: ";
    const auto run = [](const TempFile& file) {
        return tessera({"sim", "--nodes", "2x4g48c384Gi:V100", "--pods", "notebooks", "--count",
                        "50", "--policy", "kubeshare", "--topology", file.path()});
    };
    const Outcome good = run(TempFile("tessera_cells.yaml", text + "node-00001}\n"));
    EXPECT_EQ(good.code, kExitFine) << good.err;
    EXPECT_TRUE(good.err.empty()) << good.err;
    const Outcome elsewhere = run(TempFile("tessera_cells.yaml", text + "far}\n"));
    EXPECT_EQ(elsewhere.code, kExitFine) << "the model's priority still counts";
    EXPECT_THAT(elsewhere.err, HasSubstr("the one node of the topology is not there"));
    const Outcome broken = run(TempFile("tessera_cells.yaml", text + "far\n"));
    EXPECT_EQ(broken.code, kExitUse);
    EXPECT_THAT(broken.err, testing::ContainsRegex("tessera_cells.yaml:[0-9]+: "));
    const TempFile cells("tessera_cells.yaml", text + "node-00001}\n");
    const Outcome state =
        tessera({"sim", "--nodes", "2x4g48c384Gi:V100", "--pods", "notebooks", "--count", "50",
                 "--policy", "kubeshare", "--topology", cells.path(), "--state", "-"});
    EXPECT_EQ(state.code, kExitUse);
    EXPECT_THAT(state.err, HasSubstr("--state does not hold what --topology says"));
    EXPECT_EQ(tessera({"sim", "--topology", "no/such.yaml"}).code, kExitEnvironment);
    EXPECT_EQ(tessera({"sim", "--suite", "transfer", "--topology", "x"}).code, kExitUse);
}

TEST(CommandLine, SimTakesKetisConfigMap) {
    const auto run = [](const std::string& data, const char* policy) {
        const TempFile file(
            "tessera_keti.yaml",
            "kind: ConfigMap\nmetadata: {name: gpu-scheduler-policy}\ndata: {" + data + "}\n");
        return tessera({"sim", "--nodes", "2x4g48c384Gi:V100", "--pods", "notebooks", "--count",
                        "50", "--policy", policy, "--keti-policy", file.path()});
    };
    EXPECT_EQ(run("node-gpu-score-weight: '0.5:0.5'", "keti").code, kExitFine);
    const Outcome second = run("avoid-high-score-node: 'true'", "keti");
    EXPECT_EQ(second.code, kExitFine) << second.err;
    EXPECT_EQ(second.err, "");
    EXPECT_THAT(run("pod-re-schedule-permit: 'false'", "keti").err,
                HasSubstr("pod-re-schedule-permit: false is about pods that were placed"));
    const Outcome refused = run("node-reservation-permit: 'true'", "keti");
    EXPECT_EQ(refused.code, kExitUse);
    EXPECT_THAT(refused.err, HasSubstr("node-reservation-permit: true is not accepted"));
    EXPECT_THAT(run("", "binpack").err, HasSubstr("--keti-policy is for --policy keti"));
}

TEST(CommandLine, TraceGeneratesAndShows) {
    const TestDirectory directory;
    const std::string file = directory.file("trace_test.csv");
    EXPECT_EQ(tessera({"trace", "generate", "sevenths", "--count", "50", "-o", file.c_str()}).code,
              kExitFine);
    EXPECT_THAT(tessera({"trace", "show", file.c_str()}).out, HasSubstr("50 pods"));
    EXPECT_THAT(tessera({"trace", "show", file.c_str(), "--json"}).out,
                HasSubstr(R"({"kind":"pods","format":"openb","pods":50,)"));
    EXPECT_EQ(tessera({"trace", "generate", "--nodes", "openb", "-o", file.c_str()}).code,
              kExitFine);
    EXPECT_THAT(tessera({"trace", "show", file.c_str()}).out,
                HasSubstr("1213 nodes with 6212 GPUs"));
    EXPECT_THAT(tessera({"trace", "show", file.c_str(), "--json"}).out,
                HasSubstr(R"("shapes":{"8g96c384Gi:G2":549,)"));
    EXPECT_EQ(tessera({"trace", "generate", "nothing"}).code, kExitUse);
    EXPECT_EQ(tessera({"trace", "show", "no/such.csv"}).code, kExitEnvironment);
    EXPECT_EQ(tessera({"trace"}).code, kExitUse);
}

TEST(CommandLine, CompletionNamesEveryCommand) {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const Outcome script = tessera({"completion", shell});
        EXPECT_EQ(script.code, kExitFine);
        for (const Command& command : commands()) {
            EXPECT_THAT(script.out, HasSubstr(std::string(command.name)));
        }
    }
    EXPECT_EQ(tessera({"completion", "tcsh"}).code, kExitUse);
}

TEST(Demo, WithoutATerminalItIsPlainLines) {
    const Outcome demo = tessera({"demo"});
    EXPECT_EQ(demo.code, kExitFine) << demo.err;
    EXPECT_EQ(demo.out.find('\033'), std::string::npos);
    EXPECT_THAT(demo.out, HasSubstr("24 simulated hours on 12 nodes with 96 GPUs"));
}

TEST(Demo, HoursAndNodesAreCountedInWords) {
    EXPECT_THAT(tessera({"demo", "--nodes", "1x8g96c768Gi"}).out,
                HasSubstr("24 simulated hours on 1 node with 8 GPUs"));
}

TEST(Demo, TheScreenIsLeftClean) {
    EXPECT_EQ(screen_frame("a\nb\n"), "\033[Ha\033[K\nb\033[K\n\033[J");
    EXPECT_THAT(opened_screen(), HasSubstr("\033[?25l")) << "no cursor";
    EXPECT_EQ(closed_screen(), "\r\033[J\033[?25h") << "no rest of a line, and a cursor";
}

// A terminal of our own, whatever the tests run on.
TEST(Terminal, EscapesAreForThoseThatObeyThem) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    const char* before = std::getenv("TERM");
    const std::string kept = before == nullptr ? "" : before;
    setenv("TERM", "xterm", 1);
    EXPECT_TRUE(moves_cursor(terminal));
    EXPECT_FALSE(moves_cursor(-1)) << "no terminal";
    setenv("TERM", "dumb", 1);
    EXPECT_FALSE(moves_cursor(terminal));
    unsetenv("TERM");
    EXPECT_FALSE(moves_cursor(terminal));
    setenv("TERM", "", 1);
    EXPECT_FALSE(moves_cursor(terminal));
    before == nullptr ? unsetenv("TERM") : setenv("TERM", kept.c_str(), 1);
    close(terminal);
}

TEST(Demo, TheViewFitsASmallTerminal) {
    for (const char* nodes : {"12x8g96c768Gi", "100x16g96c768Gi"}) {
        InputNames names;
        names.nodes = nodes;
        auto day =
            SimulatedDay::make(load_inputs(names)->inputs, *PolicySource::open("tessera"), {});
        ASSERT_TRUE(day.has_value());
        (*day)->advance(16);
        std::istringstream view(render_day(**day, {}, "tessera"));
        std::size_t lines = 0;
        for (std::string line; std::getline(view, line); ++lines) {
            EXPECT_LE(line.size(), kViewColumns) << line;
        }
        EXPECT_LT(lines, kViewRows);
    }
}

TEST(Demo, TilesShowWhatIsUsed) {
    EXPECT_EQ(gpu_tile(0, {}), ".....");
    EXPECT_EQ(gpu_tile(1000, {}), "#####");
    EXPECT_EQ(gpu_tile(470, {}), "##:..");
    EXPECT_EQ(gpu_tile(500, {.colour = false, .blocks = true}), "██▌··");
    EXPECT_THAT(gpu_tile(500, {.colour = true, .blocks = false}), HasSubstr("\033[32m"));
}

TEST(Progress, SaysHowLongItTakes) {
    EXPECT_EQ(progress_line(0, 1), "[------------------------------]   0 %");
    EXPECT_EQ(progress_line(0.5, 30), "[###############---------------]  50 %  30 s left");
    EXPECT_THAT(progress_line(0.1, 600), HasSubstr("1 h 30 min left"));
    EXPECT_EQ(progress_line(2, 1), "[##############################] 100 %");
}

TEST(Inputs, LenientReadersSayWhatTheySkipped) {
    const TestDirectory directory;
    const std::string file = directory.file("inputs_test.csv");
    std::FILE* out = std::fopen(file.c_str(), "wb");
    ASSERT_NE(out, nullptr);
    std::fputs("name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,1,500\nb,x,1,1,500\n", out);
    std::fclose(out);
    InputNames names;
    names.nodes = "2x8g96c768Gi";
    names.pods = file;
    EXPECT_THAT(load_inputs(names).error().message, HasSubstr(":3:3: cpu_milli"));
    names.lenient = true;
    const auto loaded = load_inputs(names);
    ASSERT_TRUE(loaded.has_value());
    ASSERT_EQ(loaded->notes.size(), 1U);
    EXPECT_THAT(loaded->notes[0], HasSubstr("1 broken row skipped"));
}

}  // namespace
}  // namespace tessera::cli
