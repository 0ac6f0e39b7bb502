// Mirror::victims_needed against all sets of pods that could go.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/test_random.h"
#include "role/mirror/mirror.h"

namespace tessera {
namespace {

using testing::any_of;
using testing::one_in;

// Small nodes with all kinds of pods on them: no smaller set of others would do, and the mirror
// says so exactly when some set does. Tried by all sets, each on a mirror without those pods.
class Victims {
  public:
    explicit Victims(std::uint64_t seed) : rng_(seed) {}

    void run() {
        std::vector<Pod> pods;
        for (std::uint64_t i = 3 + rng_.below(6); i > 0; --i) {
            pods.push_back(placed("v" + std::to_string(i)));
        }
        Pod asking = gpushare_pod("asking", any_of(rng_, {8, 12, 16}));
        asking.priority = any_of(rng_, {5, 50});
        std::vector<std::string> chosen;
        for (const Pod& pod : pods) {
            if (one_in(rng_, 5)) {
                chosen.push_back(pod.uid);
            }
        }
        const auto mirror = mirror_of(pods);
        const NodeIndex node = mirror->find_node("n");
        const Ask ask = mirror->ask(asking, {"", Nanoseconds(1)}).value();
        const VictimsFound found = mirror->victims_needed(asking, ask, {node, chosen});
        const VictimsFound any = mirror->victims_needed(asking, ask, {node, chosen, 0});
        std::optional<std::size_t> fewest;
        for (std::uint32_t set = 0; set < 1U << pods.size(); ++set) {
            if (const auto others = others_of(set, pods, chosen, *asking.priority)) {
                if ((!fewest || *others < *fewest) && fits_without(set, pods, asking)) {
                    fewest = others;
                }
            }
        }
        ASSERT_EQ(found.room, fewest.has_value());
        ASSERT_EQ(any.room, fewest.has_value());
        if (!fewest) {
            ++refused;
            return;
        }
        EXPECT_EQ(found.uids.size(), chosen.size() + *fewest);
        more += *fewest > 1 ? 1 : 0;
        for (const VictimsFound* one : {&found, &any}) {
            std::uint32_t set = 0;
            for (std::size_t i = 0; i < pods.size(); ++i) {
                const bool goes = std::count(one->uids.begin(), one->uids.end(), pods[i].uid) == 1;
                set |= goes ? 1U << i : 0;
            }
            EXPECT_TRUE(fits_without(set, pods, asking));
            EXPECT_TRUE(others_of(set, pods, chosen, *asking.priority));
        }
        EXPECT_EQ(any.steps, 0U);
    }
    int refused = 0;
    int more = 0;

  private:
    static Pod gpushare_pod(const std::string& name, int units) {
        Pod pod;
        pod.name = name;
        pod.uid = "uid-" + name;
        pod.containers.resize(1);
        pod.containers[0].name = "main";
        pod.containers[0].limits["aliyun.com/gpu-mem"] = Quantity::of(units);
        return pod;
    }

    Pod placed(const std::string& name) {
        const int units = any_of(rng_, {2, 4, 6, 8});
        Pod pod = gpushare_pod(name, units);
        pod.node_name = "n";
        pod.priority = any_of(rng_, {0, 3, 10});
        pod.annotations["ALIYUN_COM_GPU_MEM_IDX"] = std::to_string(rng_.below(2));
        pod.annotations["ALIYUN_COM_GPU_MEM_POD"] = std::to_string(units);
        return pod;
    }

    static std::unique_ptr<Mirror> mirror_of(std::vector<Pod> pods) {
        auto mirror = std::make_unique<Mirror>(MirrorOptions());
        Node node;
        node.name = "n";
        node.capacity = {{"cpu", Quantity::of(64)},
                         {"memory", Quantity::of(std::int64_t{1} << 40)},
                         {"pods", Quantity::of(100)},
                         {"aliyun.com/gpu-mem", Quantity::of(32)},
                         {"aliyun.com/gpu-count", Quantity::of(2)}};
        mirror->replace_nodes({node});
        mirror->replace_pods(std::move(pods));
        mirror->replace_config_maps({});
        return mirror;
    }

    // How many of the set are not the chosen ones; nothing when the set is not allowed.
    static std::optional<std::size_t> others_of(std::uint32_t set, const std::vector<Pod>& pods,
                                                const std::vector<std::string>& chosen,
                                                std::int32_t priority) {
        std::size_t others = 0;
        for (std::size_t i = 0; i < pods.size(); ++i) {
            const bool goes = (set >> i & 1U) != 0;
            const bool was = std::count(chosen.begin(), chosen.end(), pods[i].uid) == 1;
            if ((was && !goes) || (goes && !was && *pods[i].priority >= priority)) {
                return std::nullopt;
            }
            others += goes && !was ? 1 : 0;
        }
        return others;
    }

    static bool fits_without(std::uint32_t set, std::vector<Pod> pods, const Pod& asking) {
        std::vector<Pod> stay;
        for (std::size_t i = 0; i < pods.size(); ++i) {
            if ((set >> i & 1U) == 0) {
                stay.push_back(std::move(pods[i]));
            }
        }
        const auto mirror = mirror_of(std::move(stay));
        const NodeIndex node = mirror->find_node("n");
        return mirror->filter(asking, std::span(&node, 1), {"", Nanoseconds(1)})->fitting == 1;
    }

    Rng rng_;
};

TEST(MirrorProperty, VictimsAreAsFewAsCanBe) {
    int refused = 0;
    int more = 0;
    for (std::uint64_t seed = 1; seed <= 200 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Victims tried(seed);
        tried.run();
        refused += tried.refused;
        more += tried.more;
    }
    EXPECT_GT(refused, 3);
    EXPECT_GT(more, 3);
}

}  // namespace
}  // namespace tessera
