// tessera demo: a simulated day in about ten seconds, live on a terminal, in plain lines elsewhere.
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/wording.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/demo_view.h"
#include "role/cli/inputs.h"
#include "role/cli/live_screen.h"
#include "role/cli/terminal.h"
#include "sim/day.h"

namespace tessera::cli {

namespace {

constexpr int kFramesPerSecond = 10;
constexpr int kPlainLines = 8;  // every three hours

constexpr const char* kFooter =
    R"(One line is a node, one tile a GPU (the first eight), filled by what is allocated of it. Without a terminal that
can move its cursor (TERM=dumb) there are plain lines instead.

Examples:
  tessera demo
  tessera demo --policy fgd --nodes 8x8g96c768Gi,4x4g48c384Gi --seed 3 --seconds 20
  tessera demo --policy mine.yaml --nodes nodes.csv --pods pods.csv
)";

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) { interrupted = 1; }

// Shows the cursor again whatever happens.
class LiveScreen {
  public:
    LiveScreen() { put(opened_screen()); }
    ~LiveScreen() { put(closed_screen()); }
    LiveScreen(const LiveScreen&) = delete;
    LiveScreen& operator=(const LiveScreen&) = delete;

    static void show(const std::string& picture) { put(screen_frame(picture)); }

  private:
    static void put(const std::string& text) {
        fmt::print("{}", text);
        std::fflush(stdout);
    }
};

void run_live(SimulatedDay& day, const std::string& policy, double seconds) {
    ViewStyle style;
    style.colour = colours_wanted();
    style.blocks = shows_utf8();
    std::signal(SIGINT, note_interrupt);
    std::signal(SIGTERM, note_interrupt);
    const LiveScreen screen;
    const int frames = std::max(1, static_cast<int>(seconds * kFramesPerSecond));
    auto next = std::chrono::steady_clock::now();
    for (int frame = 1; frame <= frames && interrupted == 0; ++frame) {
        day.advance(kDayHours * frame / frames);
        LiveScreen::show(render_day(day, style, policy));
        next += std::chrono::milliseconds(1000 / kFramesPerSecond);
        std::this_thread::sleep_until(next);
    }
}

void run_plain(SimulatedDay& day) {
    for (int line = 1; line <= kPlainLines; ++line) {
        day.advance(kDayHours * line / kPlainLines);
        fmt::print("{:02}:00  allocated {:5.1f} %  running {:4}  waiting {:4}\n",
                   static_cast<int>(day.hour()), day.allocated_percent(), day.running(),
                   day.waiting());
    }
}

void print_summary(const SimulatedDay& day, const std::string& policy) {
    const DayCounts counts = day.counts();
    const double waits =
        counts.started == 0 ? 0 : 60 * counts.wait_hours / static_cast<double>(counts.started);
    fmt::print(
        "\n{} on {} with {}, policy {}\n"
        "  {} came, {} started ({} had to wait), {} finished, {} still waiting\n"
        "  GPUs allocated: {:.1f} % on average, {:.1f} % at most\n"
        "  mean wait {:.1f} min, longest {:.1f} min\n"
        "Compare policies: tessera sim --policy tessera,fgd,bestfit --seeds 1-3\n",
        counted(std::llround(day.hour()), "simulated hour"),
        counted(static_cast<std::int64_t>(day.cluster().size()), "node"),
        counted(static_cast<std::int64_t>(day.cluster().gpu_count()), "GPU"), policy,
        counted(static_cast<std::int64_t>(counts.arrived), "pod"), counts.started, counts.waited,
        counts.finished, day.waiting(), counts.allocated_percent_mean, counts.allocated_percent_max,
        waits, 60 * counts.wait_hours_max);
}

Expected<std::unique_ptr<SimulatedDay>> open_day(const InputNames& names,
                                                 const PolicySource& policy,
                                                 const DayOptions& options) {
    TESSERA_TRY(LoadedInputs loaded, load_inputs(names));
    return SimulatedDay::make(std::move(loaded.inputs), policy, options);
}

}  // namespace

int run_demo(const Arguments& arguments) {
    InputNames inputs;
    inputs.nodes = "12x8g128c1Ti";
    std::string policy = "tessera";
    DayOptions options;
    double seconds = 10;
    CLI::App app("A short simulated day on a small cluster.", "tessera demo");
    app.footer(kFooter);
    app.add_option("--policy", policy, "NAME or FILE.yaml (tessera)")->type_name("POLICY");
    app.add_option("--nodes", inputs.nodes, "FILE, list in one line, or name (12x8g128c1Ti)")
        ->type_name("NODES");
    app.add_option("--pods", inputs.pods, "FILE or generated workload (openb)")->type_name("PODS");
    whole_number(app.add_option("--seed", options.seed, "seed of the draws (1)"), 0, UINT64_MAX);
    real_number(app.add_option("--seconds", seconds, "how long it takes on a terminal (10)"), 0.1,
                3600);
    if (const auto done = parse(app, arguments)) {
        return *done;
    }
    inputs.generator_seed = options.seed;
    const auto source = PolicySource::open(policy);
    if (!source) {
        return report_error(source.error());
    }
    auto day = open_day(inputs, *source, options);
    if (!day) {
        return report_error(day.error());
    }
    if (moves_cursor(STDOUT_FILENO)) {
        run_live(**day, source->name(), seconds);
    } else {
        run_plain(**day);
    }
    print_summary(**day, source->name());
    return kExitFine;
}

}  // namespace tessera::cli
