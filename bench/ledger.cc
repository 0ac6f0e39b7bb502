// Ledger moves in nanoseconds: assume, release, confirm, roll back, rebuild; bytes per pod
//
// Nodes of 8 GPUs at half load. "Near" keeps to 16 nodes, so that all is in the cache; "far" takes
// any node of the cluster. Times are of CPU time, per move or per pair of moves.
#include <fmt/format.h>
#include <time.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json_writer.h"
#include "base/rng.h"
#include "engine/ledger.h"
#include "engine/rebuild.h"
#include "engine/statement.h"

namespace tessera {
namespace {

constexpr std::uint32_t kNodes = 5'000;
constexpr std::uint32_t kNear = 16;
constexpr std::uint8_t kGpus = 8;

struct Settings {
    std::uint32_t moves = 500'000;
    bool json = false;
};

struct Result {
    std::string name;
    double ns = 0;
};

double cpu_nanoseconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <class Move>
double per_move(std::uint32_t moves, Move move) {
    const double begin = cpu_nanoseconds();
    for (std::uint32_t at = 0; at < moves; ++at) {
        move(at);
    }
    return (cpu_nanoseconds() - begin) / moves;
}

void require(bool done) { TESSERA_ASSERT(done, "every move of the benchmark is granted"); }

Cluster make_cluster() {
    Cluster cluster;
    NodeSpec spec;
    spec.name = "node";
    spec.cpu = MilliCpu(96'000);
    spec.memory = MemoryMib(786'432);
    spec.gpus.resize(kGpus);
    for (GpuSpec& gpu : spec.gpus) {
        gpu.model = ModelIndex(0);
        gpu.memory = MemoryMib(40'960);
    }
    for (std::uint32_t node = 0; node < kNodes; ++node) {
        cluster.add_node(spec);
    }
    return cluster;
}

Placement place(std::uint32_t node, std::uint8_t first, std::uint8_t gpus) {
    Placement placement;
    placement.node = NodeIndex(node);
    placement.cpu = MilliCpu(1'000);
    placement.memory = MemoryMib(4'096);
    for (std::uint8_t gpu = 0; gpu < gpus; ++gpu) {
        DeviceGrant grant;
        grant.request = RequestIndex(0);
        grant.gpu = GpuIndex(static_cast<std::uint8_t>((first + gpu) % kGpus));
        grant.milli = MilliGpu(250);
        grant.memory = MemoryMib(8'192);
        placement.grants.push_back(grant);
    }
    return placement;
}

// Two shares on each GPU: half of its compute.
std::uint32_t fill(Ledger& ledger) {
    std::uint32_t pods = 0;
    for (std::uint32_t node = 0; node < kNodes; ++node) {
        for (std::uint8_t share = 0; share < 2 * kGpus; ++share) {
            require(ledger.assume(OwnerId::pod(pods++), place(node, share, 1)).has_value());
        }
    }
    return pods;
}

void measure_pairs(Ledger& ledger, std::uint32_t pods, const Settings& settings,
                   std::vector<Result>& results) {
    for (const std::uint8_t gpus : {std::uint8_t{1}, kGpus}) {
        for (const std::uint32_t span : {kNear, kNodes}) {
            Rng rng(span);
            const double ns = per_move(settings.moves, [&](std::uint32_t) {
                const auto node = static_cast<std::uint32_t>(rng.below(span));
                const OwnerId pod = OwnerId::pod(pods);
                require(ledger.assume(pod, place(node, 0, gpus)).has_value());
                require(ledger.release(pod).has_value());
            });
            results.push_back(
                {fmt::format("assume_release_{}_gpu_{}", gpus, span == kNear ? "near" : "far"),
                 ns});
        }
    }
}

void measure_turnover(Ledger& ledger, std::uint32_t pods, const Settings& settings,
                      std::vector<Result>& results) {
    Rng rng(3);
    const double turnover = per_move(settings.moves, [&](std::uint32_t) {
        const OwnerId pod = OwnerId::pod(static_cast<std::uint32_t>(rng.below(pods)));
        const Placement placement = *ledger.placement(pod);
        require(ledger.release(pod).has_value());
        require(ledger.assume(pod, placement).has_value());
    });
    results.push_back({"release_assume_any_pod", turnover});
    const double rolled_back = per_move(settings.moves / 8, [&](std::uint32_t) {
        Statement statement(ledger);
        const auto node = static_cast<std::uint32_t>(rng.below(kNodes));
        for (std::uint32_t member = 0; member < 8; ++member) {
            const auto gpu = static_cast<std::uint8_t>(member);
            require(statement.assume(OwnerId::pod(pods + member), place(node, gpu, 1)).has_value());
        }
    });
    results.push_back({"gang_of_8_rolled_back", rolled_back});
    const double confirmed = per_move(pods, [&](std::uint32_t at) {
        const OwnerId pod = OwnerId::pod(at);
        require(ledger.confirm(pod, *ledger.placement(pod)).has_value());
    });
    results.push_back({"confirm", confirmed});
}

void measure_rebuild(const Ledger& ledger, std::uint32_t pods, std::vector<Result>& results) {
    Rebuild rebuild(make_cluster());
    const double begin = cpu_nanoseconds();
    for (std::uint32_t at = 0; at < pods; ++at) {
        Rebuild::Holding holding;
        holding.placement = *ledger.placement(OwnerId::pod(at));
        holding.started = Nanoseconds(at);
        require(rebuild.add_pod(OwnerId::pod(at), std::move(holding)).has_value());
    }
    rebuild.pods_complete();
    rebuild.claims_complete();
    require(rebuild.finish().has_value());
    results.push_back({"rebuild_per_pod", (cpu_nanoseconds() - begin) / pods});
    const double verify = cpu_nanoseconds();
    require(ledger.verify().empty());
    results.push_back({"verify_per_pod", (cpu_nanoseconds() - verify) / pods});
}

void print(const Settings& settings, const std::vector<Result>& results, double bytes_per_pod) {
    if (!settings.json) {
        for (const Result& result : results) {
            fmt::print("{:<28} {:>9.1f} ns\n", result.name, result.ns);
        }
        fmt::print("{:<28} {:>9.1f}\n", "bytes_per_pod", bytes_per_pod);
        return;
    }
    JsonWriter json;
    json.begin_object();
    json.key("results");
    json.begin_array();
    for (const Result& result : results) {
        json.begin_object();
        json.member("case", result.name);
        json.member("ns", result.ns);
        json.end_object();
    }
    json.end_array();
    json.member("bytes_per_pod", bytes_per_pod);
    json.end_object();
    fmt::print("{}\n", json.take());
}

void run(const Settings& settings) {
    Ledger ledger(make_cluster());
    const std::uint32_t pods = fill(ledger);
    const double bytes = static_cast<double>(ledger.memory_bytes()) / pods;
    std::vector<Result> results;
    measure_pairs(ledger, pods, settings, results);
    measure_turnover(ledger, pods, settings, results);
    measure_rebuild(ledger, pods, results);
    print(settings, results, bytes);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    tessera::Settings settings;
    for (int at = 1; at < argc; ++at) {
        const std::string_view flag = argv[at];
        const std::string_view value = at + 1 < argc ? argv[at + 1] : "";
        if (flag == "--json") {
            settings.json = true;
        } else if (flag == "--moves" &&
                   std::from_chars(value.data(), value.data() + value.size(), settings.moves).ec ==
                       std::errc() &&
                   settings.moves >= 8) {
            ++at;
        } else {
            const bool help = flag == "--help";
            fmt::print(help ? stdout : stderr,
                       "usage: bench/run ledger [--json] [--moves N]   N: at least 8\n");
            return help ? 0 : 2;
        }
    }
    tessera::run(settings);
    return 0;
}
