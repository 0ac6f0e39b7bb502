// Engine decisions per second at 500, 5,000 and 50,000 nodes, against a full scan
//
// Nodes of 8 GPUs in six shapes, with GPU memory and NVLink pairs; demand drawn from the openb-like
// generator, with as many classes as the openb traces have. The cluster is filled to 85 %, turned
// over, then measured: each step is one arrival and as many departures of random pods as keep the
// load (about one). The rate is of whole steps, in CPU time: a decision pays for its departure and
// for everything the policy learns. The latencies are of a decision (choose, commit, index up to
// date) and of a departure, by the clock, so another program on the machine shows in p99. Building
// the whole index anew, which a policy's learning may ask for in slices, is measured apart.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "policy/registry.h"
#include "sim/generate.h"
#include "sim/workload.h"

namespace tessera {
namespace {

constexpr std::int64_t kGpuMemoryMib = 40'960;
constexpr int kGpusPerNode = 8;

struct Case {
    std::string_view name;
    std::size_t unnamed = 0;          // classes that take any model, at most
    std::size_t named = 0;            // classes that name the models they accept, at most
    double node_memory = 1;           // scales the nodes' memory
    std::int64_t mib_per_milli = 20;  // GPU memory that shares ask for
};

// The openb default trace has 151 classes, of which 91 differ in more than memory; its variant in
// which a third of the pods name their models has 447.
constexpr Case kCases[] = {
    {.name = "default", .unnamed = 151},
    {.name = "memory", .unnamed = 151, .node_memory = 0.45, .mib_per_milli = 40},
    {.name = "classes", .unnamed = 151, .named = 299},
};

struct Settings {
    std::vector<std::size_t> nodes = {500, 5'000, 50'000};
    std::vector<std::string> policies = {"fgd", "tessera"};
    std::string only_case;
    std::size_t decisions = 200'000;
    bool json = false;
};

struct Quantiles {
    double p50 = 0;
    double p99 = 0;
    double p999 = 0;
};

struct Result {
    std::string_view case_name;
    std::string policy;
    std::size_t nodes = 0;
    std::size_t classes = 0;
    double per_second = 0;
    Quantiles decision;        // us
    Quantiles departure;       // us
    double rebuild_ms = 0;     // of the whole index at once
    std::size_t rebuilds = 0;  // that learning made while measured
    double scan_per_second = 0;
    double longest_ms = 0;  // of all decisions
    std::size_t pods = 0;   // running when the memory was counted
    double bytes_per_gpu = 0;
    double bytes_per_pod = 0;
    std::size_t scan_differences = 0;
};

double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

LinkMatrix nvlink_pairs() {
    LinkMatrix links(kGpusPerNode);
    for (int a = 0; a < kGpusPerNode; ++a) {
        for (int b = a + 1; b < kGpusPerNode; ++b) {
            const bool pair = a / 2 == b / 2;
            const bool socket = a / 4 == b / 4;
            links.set(a, b,
                      {pair     ? LinkLevel::nvlink
                       : socket ? LinkLevel::pcie_switch
                                : LinkLevel::system,
                       static_cast<std::uint8_t>(pair ? 4 : 0)});
        }
    }
    return links;
}

std::vector<NodeSpec> make_nodes(std::size_t count, const Case& setting, Rng& rng,
                                 Interner<ModelIndex>& models) {
    // Half of the nodes have 96 cores, a fifth 256, the rest lies between: 17 cores per GPU.
    struct Shape {
        int percent, cores, gib;
        std::string_view model;
    };
    constexpr Shape kShapes[] = {{30, 96, 768, "V100"},   {20, 96, 512, "T4"},
                                 {20, 256, 1536, "A100"}, {10, 104, 768, "G2"},
                                 {10, 112, 768, "T4"},    {10, 128, 1024, "G3"}};
    std::vector<NodeSpec> nodes;
    nodes.reserve(count);
    for (std::size_t n = 0; n < count; ++n) {
        auto roll = static_cast<int>(rng.below(100));
        const Shape* shape = kShapes;
        while (roll >= shape->percent) {
            roll -= shape->percent;
            ++shape;
        }
        NodeSpec node;
        node.name = fmt::format("node-{:05}", n);
        node.cpu = MilliCpu(shape->cores * 1000);
        node.memory = MemoryMib(static_cast<std::int64_t>(shape->gib * 1024 * setting.node_memory));
        node.pods = 1000;
        node.links = nvlink_pairs();
        for (int g = 0; g < kGpusPerNode; ++g) {
            GpuSpec gpu;
            gpu.model = models.intern(shape->model);
            gpu.memory = MemoryMib(kGpuMemoryMib);
            gpu.numa = static_cast<std::uint8_t>(g / 4);
            node.gpus.push_back(std::move(gpu));
        }
        nodes.push_back(std::move(node));
    }
    return nodes;
}

std::vector<DemandClass> make_demand(const Case& setting, Rng& rng, Interner<ModelIndex>& models) {
    constexpr std::string_view kNamed[][2] = {{"V100", "V100"}, {"T4", "T4"}, {"A100", "A100"},
                                              {"V100", "A100"}, {"G2", "G3"}, {"T4", "G2"}};
    const auto below = [&](int count) {
        return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count)));
    };
    const auto trace = generate_pods({"openb", 8152, 7}, models);
    std::vector<DemandClass> demand;
    for (const TracePod& pod : trace->pods) {
        DemandClass c = class_of_pod(pod);
        // Pods of one kind differ a little.
        c.cpu += MilliCpu(500 * below(2));
        c.memory += MemoryMib(c.memory.value() / 4 * below(2));
        if (c.footprint == Footprint::share) {
            c.gpu_memory =
                MemoryMib(std::min(kGpuMemoryMib, c.milli.value() * setting.mib_per_milli));
            c.requests.front().memory = c.gpu_memory;
        }
        if (c.wants_gpu() && setting.named > 0 && below(3) == 0) {
            const auto& named = kNamed[below(std::size(kNamed))];
            c.models = {models.intern(named[0])};
            if (named[1] != named[0]) {
                c.models.push_back(models.intern(named[1]));
            }
        }
        demand.push_back(std::move(c));
    }
    return demand;
}

class Bench {
  public:
    Bench(const Case& setting, std::string policy, std::size_t nodes, std::size_t decisions)
        : setting_(setting), rng_(20), decisions_(decisions) {
        result_.case_name = setting.name;
        result_.policy = std::move(policy);
        result_.nodes = nodes;
        std::vector<NodeSpec> specs = make_nodes(nodes, setting, rng_, models_);
        engine_ = std::make_unique<Engine>(std::move(specs), *make_policy(result_.policy, {}));
        // Pods of the first so many classes, as often as they come.
        std::vector<DemandClass> unnamed;
        std::vector<DemandClass> named;
        for (const DemandClass& c : make_demand(setting, rng_, models_)) {
            std::vector<DemandClass>& known = c.models.empty() ? unnamed : named;
            const std::size_t most = c.models.empty() ? setting.unnamed : setting.named;
            if (std::find(known.begin(), known.end(), c) == known.end()) {
                if (known.size() == most) {
                    continue;
                }
                known.push_back(c);
            }
            demand_.push_back(engine_->intern(c));
        }
        result_.classes = unnamed.size() + named.size();
        target_ = engine_->cluster().gpu_count() * 850;
    }

    Result run() {
        warm_up();
        measure();
        compare_with_scan();
        time_rebuild();
        const double gpus = static_cast<double>(engine_->cluster().gpu_count());
        result_.pods = running_.size();
        const double ledger = static_cast<double>(engine_->ledger().memory_bytes());
        result_.bytes_per_gpu = (static_cast<double>(engine_->memory_bytes()) - ledger) / gpus;
        result_.bytes_per_pod = ledger / static_cast<double>(result_.pods);
        return result_;
    }

  private:
    ClassIndex draw() { return demand_[rng_.below(demand_.size())]; }

    // What one step took, by the clock.
    struct Times {
        std::vector<float> decisions;
        std::vector<float> departures;
    };

    template <class Act>
    static void timed(std::vector<float>& times, Act act) {
        const auto begin = std::chrono::steady_clock::now();
        act();
        const std::chrono::duration<float, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        times.push_back(took.count());
    }

    bool step(Times& times) {
        const PodIndex pod(free_.empty() ? next_++ : free_.back());
        const ClassIndex demand_class = draw();
        bool placed = false;
        timed(times.decisions, [&] { placed = engine_->arrive(pod, demand_class); });
        if (placed) {
            if (!free_.empty()) {
                free_.pop_back();
            }
            running_.push_back(pod.value());
        }
        while (engine_->cluster().gpu_milli_used() > target_) {
            const std::size_t at = rng_.below(running_.size());
            timed(times.departures, [&] { engine_->depart(PodIndex(running_[at])); });
            free_.push_back(running_[at]);
            running_[at] = running_.back();
            running_.pop_back();
        }
        return placed;
    }

    // Fills to the load, then replaces every pod about once. Where memory binds, the load is what
    // the cluster takes.
    void warm_up() {
        Times unused;
        std::size_t refused = 0;
        const std::size_t patience = 2000;
        while (engine_->cluster().gpu_milli_used() < target_ - 4000 && refused < patience) {
            refused = step(unused) ? 0 : refused + 1;
        }
        target_ = std::min(target_, engine_->cluster().gpu_milli_used());
        const std::size_t turnover = running_.size();
        for (std::size_t i = 0; i < turnover; ++i) {
            step(unused);
        }
    }

    void measure() {
        Times times;
        times.decisions.reserve(decisions_);
        times.departures.reserve(2 * decisions_);
        const Placer::Counters before = engine_->placer().counters();
        const double cpu = cpu_seconds();
        for (std::size_t i = 0; i < decisions_; ++i) {
            step(times);
        }
        result_.per_second = static_cast<double>(decisions_) / (cpu_seconds() - cpu);
        result_.rebuilds = engine_->placer().counters().rebuilds - before.rebuilds;
        result_.decision = quantiles(times.decisions);
        result_.departure = quantiles(times.departures);
        result_.longest_ms = times.decisions.back() / 1000;
    }

    // Sorts them.
    static Quantiles quantiles(std::vector<float>& times) {
        std::sort(times.begin(), times.end());
        const auto at = [&](double q) {
            return static_cast<double>(
                times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]);
        };
        return {at(0.50), at(0.99), at(0.999)};
    }

    void time_rebuild() {
        const double cpu = cpu_seconds();
        engine_->placer_for_tests().rebuild();
        result_.rebuild_ms = 1000 * (cpu_seconds() - cpu);
    }

    // The same decisions by a scan, on the same state; the answers must agree.
    void compare_with_scan() {
        Placer& placer = engine_->placer_for_tests();
        const std::size_t scans = std::clamp<std::size_t>(4'000'000 / result_.nodes, 50, 2000);
        double spent = 0;
        Times unused;
        for (std::size_t i = 0; i < scans; ++i) {
            const ClassIndex wanted = draw();
            const double cpu = cpu_seconds();
            const auto scanned = placer.choose_by_scan(wanted);
            spent += cpu_seconds() - cpu;
            const auto chosen = placer.choose(wanted);
            result_.scan_differences += scanned == chosen ? 0 : 1;
            step(unused);
        }
        result_.scan_per_second = static_cast<double>(scans) / spent;
    }

    Case setting_;
    Rng rng_;
    std::size_t decisions_;
    Interner<ModelIndex> models_;
    std::vector<ClassIndex> demand_;
    std::unique_ptr<Engine> engine_;
    std::vector<std::uint32_t> running_;
    std::vector<std::uint32_t> free_;
    std::uint32_t next_ = 0;
    std::int64_t target_ = 0;
    Result result_;
};

void print_json(const std::vector<Result>& results) {
    JsonWriter json;
    json.begin_object();
    json.key("results");
    json.begin_array();
    for (const Result& r : results) {
        json.begin_object();
        json.member("case", r.case_name);
        json.member("policy", r.policy);
        json.member("nodes", r.nodes);
        json.member("classes", r.classes);
        json.member("decisions_per_second", r.per_second);
        json.member("p50_us", r.decision.p50);
        json.member("p99_us", r.decision.p99);
        json.member("p999_us", r.decision.p999);
        json.member("longest_ms", r.longest_ms);
        json.member("departure_p50_us", r.departure.p50);
        json.member("departure_p99_us", r.departure.p99);
        json.member("rebuilds", r.rebuilds);
        json.member("rebuild_ms", r.rebuild_ms);
        json.member("full_scan_decisions_per_second", r.scan_per_second);
        json.member("full_scan_differences", r.scan_differences);
        json.member("pods", r.pods);
        json.member("bytes_per_gpu", r.bytes_per_gpu);
        json.member("bytes_per_pod", r.bytes_per_pod);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    std::puts(json.take().c_str());
}

void print_heading() {
    fmt::print(
        "{:<8} {:<8} {:>6} {:>7} {:>11} {:>7} {:>7} {:>8} {:>7} {:>8} {:>7} {:>10} {:>9} {:>6} "
        "{:>6} {:>6} {:>5}\n",
        "case", "policy", "nodes", "classes", "decisions/s", "p50 us", "p99 us", "p99.9 us",
        "max ms", "leave us", "p99 us", "rebuild ms", "scan/s", "ratio", "B/GPU", "B/pod", "diff");
}

void print_row(const Result& r) {
    fmt::print(
        "{:<8} {:<8} {:>6} {:>7} {:>11.0f} {:>7.2f} {:>7.2f} {:>8.2f} {:>7.2f} {:>8.2f} {:>7.2f} "
        "{:>10.1f} {:>9.0f} {:>5.0f}x {:>6.0f} {:>6.0f} {:>5}\n",
        r.case_name, r.policy, r.nodes, r.classes, r.per_second, r.decision.p50, r.decision.p99,
        r.decision.p999, r.longest_ms, r.departure.p50, r.departure.p99, r.rebuild_ms,
        r.scan_per_second, r.per_second / r.scan_per_second, r.bytes_per_gpu, r.bytes_per_pod,
        r.scan_differences);
    std::fflush(stdout);
}

std::vector<std::string> list_of(std::string_view text) {
    std::vector<std::string> items;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        items.emplace_back(text.substr(at, comma - at));
        at = comma + 1;
    }
    return items;
}

int usage(int code) {
    std::fputs(
        "usage: bench/run engine [--json] [--nodes 500,5000,50000] [--policy fgd,tessera]\n"
        "                        [--case default|memory|classes] [--decisions 200000]\n",
        code == 0 ? stdout : stderr);
    return code;
}

// 0 for what is no number from 1 to 99,999,999.
std::size_t positive(const std::string& text) {
    const bool digits = !text.empty() && text.size() < 9 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    return digits ? std::stoul(text) : 0;
}

int run(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        const bool more = i + 1 < argc;
        if (flag == "--help" || flag == "-h") {
            return usage(0);
        }
        if (flag == "--json") {
            settings.json = true;
        } else if (flag == "--nodes" && more) {
            settings.nodes.clear();
            for (const std::string& n : list_of(argv[++i])) {
                settings.nodes.push_back(positive(n));
            }
        } else if (flag == "--policy" && more) {
            settings.policies = list_of(argv[++i]);
        } else if (flag == "--case" && more) {
            settings.only_case = argv[++i];
        } else if (flag == "--decisions" && more) {
            settings.decisions = positive(argv[++i]);
        } else {
            return usage(2);
        }
    }
    if (settings.decisions == 0 || std::ranges::count(settings.nodes, std::size_t{0}) > 0) {
        fmt::print(stderr, "bench engine: --nodes and --decisions take numbers from 1 on\n");
        return 2;
    }
    if (!settings.json) {
        print_heading();
    }
    std::vector<Result> results;
    for (const Case& setting : kCases) {
        if (!settings.only_case.empty() && settings.only_case != setting.name) {
            continue;
        }
        for (const std::string& policy : settings.policies) {
            if (auto known = make_policy(policy, {}); !known) {
                fmt::print(stderr, "bench engine: {}\n", known.error().message);
                return 2;
            }
            for (std::size_t nodes : settings.nodes) {
                results.push_back(Bench(setting, policy, nodes, settings.decisions).run());
                if (!settings.json) {
                    print_row(results.back());
                }
            }
        }
    }
    if (results.empty()) {
        return usage(2);
    }
    if (settings.json) {
        print_json(results);
    }
    const bool agree = std::all_of(results.begin(), results.end(),
                                   [](const Result& r) { return r.scan_differences == 0; });
    if (!agree) {
        fmt::print(stderr, "bench engine: the index and the scan disagree\n");
    }
    return agree ? 0 : 1;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::run(argc, argv); }
