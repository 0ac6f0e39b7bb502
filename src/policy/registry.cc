#include "policy/registry.h"

#include <array>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/wording.h"
#include "policy/elastic_policy.h"
#include "policy/fgd.h"
#include "policy/fgd_published.h"
#include "policy/keti_policy.h"
#include "policy/kubeshare_policy.h"
#include "policy/rules.h"
#include "policy/tessera/tessera_policy.h"

namespace tessera {
namespace {

using Make = Expected<std::unique_ptr<Policy>> (*)(const PolicyContext&);

RuleSet rule_set(std::string_view name, RuleScore score,
                 DeviceRule devices = DeviceRule::tightest) {
    return {.name = std::string(name), .rules = {{name, score, 1}}, .devices = devices};
}

std::unique_ptr<Policy> rule(RuleSet rules) {
    return std::make_unique<RulePolicy>(std::move(rules));
}

struct Entry {
    PolicyInfo info;
    Make make;
};

constexpr auto kEntries = std::to_array<Entry>({
    {{"tessera", "least cost to what is left: gaps, cores, scarce and whole nodes; learns the mix"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return std::make_unique<TesseraPolicy>();
     }},
    {{"fgd", "least growth of fragmentation (Weng et al., ATC 2023), in integers"},
     [](const PolicyContext& context) -> Expected<std::unique_ptr<Policy>> {
         if (context.mix.empty()) {
             return std::make_unique<FgdPolicy>();
         }
         return std::make_unique<FgdPolicy>(typical_mix(context.mix));
     }},
    {{"fgd-published",
      "simulator only: fgd in the authors' floating-point arithmetic, the mix known beforehand"},
     [](const PolicyContext& context) -> Expected<std::unique_ptr<Policy>> {
         if (context.mix.empty()) {
             return fail(ErrorKind::invalid,
                         "policy fgd-published needs the whole pod list beforehand, so it exists "
                         "in the simulator only; use fgd");
         }
         return std::make_unique<FgdPublishedPolicy>(typical_mix(context.mix));
     }},
    {{"binpack", "the node with the least idle GPU"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("binpack", rules::binpack));
     }},
    {{"spread", "the node with the most idle GPU, its emptiest device"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("spread", rules::spread, DeviceRule::emptiest));
     }},
    {{"random", "any node that fits, any device, by a seeded draw"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule({.name = "random",
                      .rules = {},
                      .devices = DeviceRule::by_lot,
                      .selection = Selection::uniform});
     }},
    {{"bestfit", "least cores and GPU left over"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("bestfit", rules::best_fit));
     }},
    {{"bestfit-memory", "least cores, node memory and GPU left"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("bestfit-memory", rules::best_fit_memory));
     }},
    {{"dotprod", "least alignment of demand and free resources"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("dotprod", rules::dot_product));
     }},
    {{"clustering", "pods of one size together"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("clustering", rules::clustering));
     }},
    {{"packing", "devices in use first, then used nodes, then empty ones"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("packing", rules::packing));
     }},
    {{"least-loaded",
      "kube-scheduler's usual choice for pods without a GPU: most cores and memory free, evenly"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         RuleSet rules = rule_set("least-loaded", rules::least_allocated);
         rules.rules.front().name = "least-allocated";
         rules.rules.push_back({"balanced-allocation", rules::balanced_allocation, 1});
         return rule(std::move(rules));
     }},
    {{"gpushare",
      "kube-scheduler's least allocated node, the GPU with least free memory (gpushare)"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return rule(rule_set("gpushare", rules::least_allocated, DeviceRule::least_memory));
     }},
    {{"kubeshare",
      "opportunistic pods pack, guaranteed ones take idle GPUs near their group (KubeShare)"},
     [](const PolicyContext& context) -> Expected<std::unique_ptr<Policy>> {
         return std::make_unique<KubesharePolicy>(std::vector<std::int32_t>(
             context.model_priority.begin(), context.model_priority.end()));
     }},
    {{"elastic-binpack", "containers of a pod on the fullest cards (Elastic GPU)"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return std::make_unique<ElasticPolicy>("elastic-binpack", ElasticRater::binpack);
     }},
    {{"elastic-spread", "containers of a pod on the emptiest cards (Elastic GPU)"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return std::make_unique<ElasticPolicy>("elastic-spread", ElasticRater::spread);
     }},
    {{"elastic-random", "containers of a pod on any cards, by a seeded draw (Elastic GPU)"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         return std::make_unique<ElasticPolicy>("elastic-random", ElasticRater::random);
     }},
    {{"keti", "free cores and memory of nodes, pods and shares of GPUs, weighted (KETI)"},
     [](const PolicyContext& context) -> Expected<std::unique_ptr<Policy>> {
         TESSERA_CHECK(check_keti(context.keti));
         return std::make_unique<KetiStaticPolicy>(context.keti);
     }},
    {{"exclusive", "whole devices only, as the plain NVIDIA device plugin"},
     [](const PolicyContext&) -> Expected<std::unique_ptr<Policy>> {
         RuleSet rules = rule_set("exclusive", rules::least_allocated);
         rules.whole_devices = true;
         return rule(std::move(rules));
     }},
});

constexpr auto kInfos = [] {
    std::array<PolicyInfo, kEntries.size()> infos{};
    for (std::size_t i = 0; i < kEntries.size(); ++i) {
        infos[i] = kEntries[i].info;
    }
    return infos;
}();

}  // namespace

std::span<const PolicyInfo> known_policies() { return kInfos; }

Expected<std::unique_ptr<Policy>> make_policy(std::string_view name, const PolicyContext& context) {
    for (const Entry& entry : kEntries) {
        if (entry.info.name == name) {
            return entry.make(context);
        }
    }
    return tl::unexpected<Error>(std::move(find_policy(name).error()));
}

Expected<PolicyInfo> find_policy(std::string_view name) {
    for (const Entry& entry : kEntries) {
        if (entry.info.name == name) {
            return entry.info;
        }
    }
    for (std::string_view later : {"cbp", "pp", "coscheml"}) {
        if (name == later) {
            return fail(ErrorKind::invalid,
                        "policy {} places by measured use or predicted interference and comes "
                        "with insight and prediction; it is not in this version",
                        name);
        }
    }
    std::vector<std::string_view> names;
    for (const Entry& entry : kEntries) {
        names.push_back(entry.info.name);
    }
    return fail(ErrorKind::invalid, "policy {} is not known;{} the policies are {}",
                in_quotes(name), did_you_mean(name, names), fmt::join(names, ", "));
}

}  // namespace tessera
