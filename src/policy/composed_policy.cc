#include "policy/composed_policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/wording.h"
#include "policy/rule_scorer.h"
#include "policy/rules.h"
#include "policy/tessera/tessera_policy.h"

namespace tessera {
namespace {

constexpr std::int64_t kWeightMost = 1000;
constexpr std::int64_t kStepMost = 1'000'000;
constexpr std::size_t kScoresMost = 16;
constexpr std::int64_t kScoreMost = std::int64_t{1} << 31;  // see RuleScore

struct Parameter {
    ParameterInfo info;
    double TesseraParameters::* member;
};

constexpr TesseraParameters kStandard{};

constexpr auto kParameters = std::to_array<Parameter>({
    {{"useless-weight", 0, 4, kStandard.useless_weight,
      "cost of a gap that much of the demand does not fit into"},
     &TesseraParameters::useless_weight},
    {{"scarce-share", 0, 1, kStandard.scarce_share,
      "classes confined to a smaller part of the GPUs than this are scarce"},
     &TesseraParameters::scarce_share},
    {{"scarcity-most", 0, 10, kStandard.scarcity_most, "the most that a scarce GPU costs extra"},
     &TesseraParameters::scarcity_most},
    {{"safety", 0, 20, kStandard.safety,
      "standard deviations of a whole-node class's population that are kept as hosts"},
     &TesseraParameters::safety},
    {{"host-power", 1, 10, kStandard.host_power, "how steeply the price of a host grows"},
     &TesseraParameters::host_power},
    {{"host-least", 0, 1, kStandard.host_least, "smaller prices of hosts count as none"},
     &TesseraParameters::host_least},
    {{"drain-weight", 0, 1000, kStandard.drain_weight,
      "keeps nearly empty nodes emptying: milli per device, times departures per arrival"},
     &TesseraParameters::drain_weight},
    {{"drain-by-whole", 0, 100, kStandard.drain_by_whole,
      "and times the share of the demand that needs whole nodes, when that makes it more"},
     &TesseraParameters::drain_by_whole},
    {{"drain-most", 0, 100, kStandard.drain_most, "but by no more than this factor"},
     &TesseraParameters::drain_most},
    {{"admission-weight", 0, 4, kStandard.admission_weight,
      "cost of idle GPUs whose free cores admit little of the demand"},
     &TesseraParameters::admission_weight},
    {{"admission-filling", 0, 4, kStandard.admission_filling,
      "the same, added while nothing departs"},
     &TesseraParameters::admission_filling},
    {{"admission-by-whole", 0, 8, kStandard.admission_by_whole,
      "the same, added while pods depart, times the share of the demand for whole devices"},
     &TesseraParameters::admission_by_whole},
    {{"memory-filling", 0, 4, kStandard.memory_filling,
      "the same for node memory, while nothing departs"},
     &TesseraParameters::memory_filling},
    {{"admission-from", 0, 4, kStandard.admission_from,
      "asked against what is there, where these costs begin"},
     &TesseraParameters::admission_from},
    {{"admission-width", 0.001, 4, kStandard.admission_width, "and how wide their beginning is"},
     &TesseraParameters::admission_width},
    {{"even-filling", 0, 300000, kStandard.even_filling,
      "cost of unevenly free cores or memory where they are very short, while nothing departs"},
     &TesseraParameters::even_filling},
    {{"even-from", 0, 16, kStandard.even_from,
      "asked against what is there, where this cost begins"},
     &TesseraParameters::even_from},
    {{"even-width", 0.001, 16, kStandard.even_width, "and how wide its beginning is"},
     &TesseraParameters::even_width},
});

constexpr auto kParameterInfos = [] {
    std::array<ParameterInfo, kParameters.size()> infos{};
    for (std::size_t i = 0; i < kParameters.size(); ++i) {
        infos[i] = kParameters[i].info;
    }
    return infos;
}();

template <class... Args>
tl::unexpected<Error> wrong(const PolicySpec& spec, int line, fmt::format_string<Args...> format,
                            Args&&... args) {
    std::string where = spec.source;
    if (line > 0) {
        where += fmt::format("{}{}", where.empty() ? "line " : ":", line);
    }
    std::string reason = fmt::format(format, std::forward<Args>(args)...);
    return fail(ErrorKind::invalid, "{}{}{}", where, where.empty() ? "" : ": ", reason);
}

template <class Value>
struct Word {
    std::string_view name;
    Value value;
};

constexpr auto kDevices =
    std::to_array<Word<DeviceRule>>({{"tightest", DeviceRule::tightest},
                                     {"emptiest", DeviceRule::emptiest},
                                     {"least-memory", DeviceRule::least_memory},
                                     {"random", DeviceRule::by_lot}});
constexpr auto kSelections =
    std::to_array<Word<Selection>>({{"best", Selection::best}, {"any", Selection::uniform}});
constexpr auto kTies = std::to_array<Word<TieRule>>({{"least-idle", TieRule::least_idle},
                                                     {"most-idle", TieRule::most_idle},
                                                     {"oldest", TieRule::oldest},
                                                     {"newest", TieRule::newest},
                                                     {"order", TieRule::order}});

template <class Range>
std::string names_of(const Range& range) {
    std::string names;
    for (const auto& entry : range) {
        names += names.empty() ? "" : ", ";
        names += entry.name;
    }
    return names;
}

// "\"binpak\" is not known; did you mean binpack? the scores are binpack, spread"
template <class Range>
std::string not_known(std::string_view given, std::string_view are, const Range& range) {
    std::vector<std::string_view> names;
    for (const auto& entry : range) {
        names.push_back(entry.name);
    }
    return fmt::format("{} is not known;{} {} {}", in_quotes(given), did_you_mean(given, names),
                       are, names_of(range));
}

template <class Value, std::size_t N>
Expected<Value> word(const PolicySpec& spec, std::string_view key,
                     const Located<std::string>& given, const std::array<Word<Value>, N>& words) {
    for (const Word<Value>& known : words) {
        if (known.name == given.value) {
            return known.value;
        }
    }
    return wrong(spec, given.line, "{}: {}", key, not_known(given.value, "accepted are", words));
}

template <class Value, std::size_t N>
std::string_view name_of(Value value, const std::array<Word<Value>, N>& words) {
    return std::find_if(words.begin(), words.end(),
                        [&](const Word<Value>& known) { return known.value == value; })
        ->name;
}

Expected<void> check_name(const PolicySpec& spec) {
    const std::string& name = spec.name.value;
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    };
    if (name.empty() || name.size() > 63 || !std::all_of(name.begin(), name.end(), plain) ||
        name.front() == '-' || name.back() == '-') {
        return wrong(spec, spec.name.line,
                     "name: {} is not accepted; 1 to 63 of a-z, 0-9 and -, not beginning or ending "
                     "with -, are",
                     in_quotes(name));
    }
    return {};
}

Expected<void> check_amount(const PolicySpec& spec, std::string_view key,
                            const std::optional<Located<std::int64_t>>& amount, std::int64_t most) {
    if (amount && (amount->value < 1 || amount->value > most)) {
        return wrong(spec, amount->line, "{}: {} is not accepted; 1 to {} is", key, amount->value,
                     most);
    }
    return {};
}

Expected<TieRule> tie_of(const PolicySpec& spec, std::size_t at) {
    const Located<std::string>& given = spec.ties[at];
    if (given.value == "random") {
        return wrong(spec, given.line,
                     "ties: \"random\" is not accepted: a node's rank depends on the node alone; "
                     "select: any places at random; accepted are {}",
                     names_of(kTies));
    }
    return word(spec, "ties", given, kTies);
}

Expected<std::vector<TieRule>> ties_of(const PolicySpec& spec) {
    std::vector<TieRule> ties;
    for (std::size_t i = 0; i < spec.ties.size(); ++i) {
        TESSERA_TRY(const TieRule tie, tie_of(spec, i));
        const auto subject = [](TieRule rule) {
            const bool idle = rule == TieRule::least_idle || rule == TieRule::most_idle;
            return rule == TieRule::order ? 2 : idle ? 1 : 0;
        };
        for (const TieRule before : ties) {
            if (subject(before) == subject(tie)) {
                return wrong(spec, spec.ties[i].line, "ties: {} and {} decide by the same",
                             name_of(before, kTies), name_of(tie, kTies));
            }
            if (before == TieRule::order) {
                return wrong(spec, spec.ties[i].line,
                             "ties: after order there are no ties left for {}",
                             name_of(tie, kTies));
            }
        }
        ties.push_back(tie);
    }
    return ties;
}

Expected<std::vector<WeightedRule>> rules_of(const PolicySpec& spec) {
    if (spec.scores.size() > kScoresMost) {
        return wrong(spec, spec.scores[kScoresMost].name.line,
                     "scores: {} are not accepted; up to {} are", spec.scores.size(), kScoresMost);
    }
    std::vector<WeightedRule> result;
    std::int64_t most = 0;
    for (const PolicySpec::Score& score : spec.scores) {
        const auto table = rules::table();
        const auto found = std::find_if(table.begin(), table.end(), [&](const RuleInfo& known) {
            return known.name == score.name.value;
        });
        if (found == table.end()) {
            return wrong(spec, score.name.line, "score {}",
                         not_known(score.name.value, "the scores are", table));
        }
        if (std::any_of(result.begin(), result.end(),
                        [&](const WeightedRule& rule) { return rule.name == found->name; })) {
            return wrong(spec, score.name.line, "score {} is there twice", found->name);
        }
        const std::int64_t weight = score.weight.value;
        if (weight == 0 || weight < -kWeightMost || weight > kWeightMost) {
            return wrong(spec, score.weight.line,
                         "weight of {}: {} is not accepted; a whole number from -{} to {} other "
                         "than 0 is",
                         found->name, weight, kWeightMost, kWeightMost);
        }
        most += std::abs(weight) * std::max(std::abs(found->low), std::abs(found->high));
        result.push_back({found->name, found->score, weight});
    }
    const std::int64_t step = spec.step ? spec.step->value : 1;
    if (most / step >= kScoreMost) {
        return wrong(spec, spec.scores.front().name.line,
                     "scores: their sum may reach {}, which steps of {} do not tell apart; a step "
                     "of {} or smaller weights do",
                     most, step, most / kScoreMost + 1);
    }
    return result;
}

Expected<RuleSet> rule_set_of(const PolicySpec& spec) {
    RuleSet set;
    set.name = spec.name.value;
    if (spec.select) {
        TESSERA_TRY(set.selection, word(spec, "select", *spec.select, kSelections));
    }
    if (spec.devices) {
        TESSERA_TRY(set.devices, word(spec, "devices", *spec.devices, kDevices));
    }
    TESSERA_CHECK(check_amount(spec, "step", spec.step, kStepMost));
    set.step = spec.step ? spec.step->value : 1;
    const bool any = set.selection == Selection::uniform;
    if (any && !spec.scores.empty()) {
        return wrong(spec, spec.scores.front().name.line,
                     "scores: select: any takes any node that fits and has no use for them");
    }
    if (!any && spec.scores.empty()) {
        return wrong(spec, spec.name.line,
                     "the policy has neither base nor scores; one of them is needed, or "
                     "select: any");
    }
    TESSERA_TRY(set.rules, rules_of(spec));
    TESSERA_TRY(set.ties, ties_of(spec));
    return set;
}

Expected<TesseraParameters> parameters_of(const PolicySpec& spec) {
    TesseraParameters parameters;
    std::vector<std::string_view> seen;
    for (const PolicySpec::Parameter& given : spec.parameters) {
        const auto found = std::find_if(
            kParameters.begin(), kParameters.end(),
            [&](const Parameter& known) { return known.info.name == given.name.value; });
        if (found == kParameters.end()) {
            return wrong(spec, given.name.line, "parameter {}",
                         not_known(given.name.value, "the parameters are", kParameterInfos));
        }
        if (std::find(seen.begin(), seen.end(), found->info.name) != seen.end()) {
            return wrong(spec, given.name.line, "parameter {} is there twice", found->info.name);
        }
        if (!(given.value >= found->info.low && given.value <= found->info.high)) {
            return wrong(spec, given.name.line, "{}: {} is not accepted; {} to {} is",
                         found->info.name, given.value, found->info.low, found->info.high);
        }
        seen.push_back(found->info.name);
        parameters.*(found->member) = given.value;
    }
    return parameters;
}

// The keys that belong to a sum of scores, where a base is named.
Expected<void> check_no_rules(const PolicySpec& spec) {
    const auto refuse = [&](std::string_view key, int line) {
        return wrong(spec, line,
                     "{}: a policy with base: {} has its own; scores, select, devices, "
                     "ties and step go without base",
                     key, spec.base->value);
    };
    if (!spec.scores.empty()) {
        return refuse("scores", spec.scores.front().name.line);
    }
    if (spec.select) {
        return refuse("select", spec.select->line);
    }
    if (spec.devices) {
        return refuse("devices", spec.devices->line);
    }
    if (!spec.ties.empty()) {
        return refuse("ties", spec.ties.front().line);
    }
    if (spec.step) {
        return refuse("step", spec.step->line);
    }
    return {};
}

Expected<void> check_base(const PolicySpec& spec) {
    TESSERA_CHECK(check_no_rules(spec));
    if (const auto known = find_policy(spec.base->value); !known) {
        return wrong(spec, spec.base->line, "base: {}", known.error().message);
    }
    if (!spec.parameters.empty() && spec.base->value != "tessera") {
        return wrong(spec, spec.parameters.front().name.line,
                     "parameters: {} has none; only base: tessera has", spec.base->value);
    }
    return parameters_of(spec).map([](const TesseraParameters&) {});
}

// Another name, and what the file asks of demands before they are placed.
class ComposedPolicy final : public Policy {
  public:
    ComposedPolicy(std::unique_ptr<Policy> inner, const PolicySpec& spec)
        : inner_(std::move(inner)),
          name_(spec.name.value),
          whole_devices_(spec.whole_devices),
          smallest_share_(MilliGpu(
              static_cast<std::int32_t>(spec.smallest_share ? spec.smallest_share->value : 0))) {}

    std::string_view name() const override { return name_; }
    std::shared_ptr<const Scorer> scorer(const Catalog& catalog) override {
        return inner_->scorer(catalog);
    }
    DemandClass adapt(DemandClass demand_class) const override {
        for (GpuRequest& request : demand_class.requests) {
            request.milli = std::max(request.milli, whole_devices_ ? kWholeGpu : smallest_share_);
        }
        return inner_->adapt(demand_class.wants_gpu() ? with_requests(std::move(demand_class))
                                                      : std::move(demand_class));
    }
    void arrived(ClassIndex demand_class) override { inner_->arrived(demand_class); }
    void departed(ClassIndex demand_class) override { inner_->departed(demand_class); }
    PolicyUpdate update(const Catalog& catalog, const Census& census) override {
        return inner_->update(catalog, census);
    }

  private:
    std::unique_ptr<Policy> inner_;
    std::string name_;
    bool whole_devices_;
    MilliGpu smallest_share_;
};

// The table's name of a rule; empty when it has none.
std::string_view rule_name(const WeightedRule& rule) {
    for (const RuleInfo& known : rules::table()) {
        if (known.score == rule.score) {
            return known.name;
        }
    }
    return {};
}

bool composable(const RuleSet& set) {
    return std::none_of(set.rules.begin(), set.rules.end(),
                        [](const WeightedRule& rule) { return rule_name(rule).empty(); });
}

PolicySpec spec_of(const RuleSet& set) {
    PolicySpec spec;
    for (const WeightedRule& rule : set.rules) {
        spec.scores.push_back({{std::string(rule_name(rule))}, {rule.weight}});
    }
    if (set.selection == Selection::uniform) {
        spec.select = {std::string(name_of(set.selection, kSelections))};
    }
    spec.devices = {std::string(name_of(set.devices, kDevices))};
    for (const TieRule tie : set.ties) {
        spec.ties.push_back({std::string(name_of(tie, kTies))});
    }
    if (set.step != 1) {
        spec.step = {set.step};
    }
    spec.whole_devices = set.whole_devices;
    return spec;
}

}  // namespace

std::span<const ParameterInfo> tessera_parameters() { return kParameterInfos; }

Expected<void> check_policy(const PolicySpec& spec) {
    TESSERA_CHECK(check_name(spec));
    TESSERA_CHECK(check_amount(spec, "smallest-share", spec.smallest_share, kWholeGpu.value()));
    if (spec.base) {
        return check_base(spec);
    }
    if (!spec.parameters.empty()) {
        return wrong(spec, spec.parameters.front().name.line,
                     "parameters: they are those of a base, and none is named");
    }
    return rule_set_of(spec).map([](const RuleSet&) {});
}

Expected<std::unique_ptr<Policy>> build_policy(const PolicySpec& spec,
                                               const PolicyContext& context) {
    TESSERA_CHECK(check_policy(spec));
    std::unique_ptr<Policy> inner;
    if (!spec.base) {
        TESSERA_TRY(RuleSet set, rule_set_of(spec));
        inner = std::make_unique<RulePolicy>(std::move(set));
    } else if (spec.base->value == "tessera") {
        TESSERA_TRY(const TesseraParameters parameters, parameters_of(spec));
        inner = std::make_unique<TesseraPolicy>(parameters);
    } else {
        TESSERA_TRY(inner, make_policy(spec.base->value, context));
    }
    return std::make_unique<ComposedPolicy>(std::move(inner), spec);
}

Expected<PolicySpec> shipped_policy(std::string_view name) {
    TESSERA_TRY(const PolicyInfo info, find_policy(name));
    PolicySpec spec;
    const auto made = make_policy(name, {});
    const auto* rules = made ? dynamic_cast<const RulePolicy*>(made->get()) : nullptr;
    if (rules != nullptr && composable(rules->rules())) {
        spec = spec_of(rules->rules());
    } else {
        spec.base = {std::string(name)};
    }
    if (name == "tessera") {
        for (const ParameterInfo& parameter : kParameterInfos) {
            spec.parameters.push_back({{std::string(parameter.name)}, parameter.standard});
        }
    }
    spec.name = {std::string(name)};
    spec.summary = info.summary;
    return spec;
}

Expected<PolicyHolder> PolicyHolder::start(PolicySpec first) {
    TESSERA_CHECK(check_policy(first));
    return PolicyHolder(std::move(first));
}

Expected<bool> PolicyHolder::offer(Expected<PolicySpec> read) {
    if (read) {
        if (auto checked = check_policy(*read); !checked) {
            read = tl::unexpected<Error>(std::move(checked.error()));
        }
    }
    if (!read) {
        refused_ = std::move(read.error());
        return tl::unexpected<Error>(*refused_);
    }
    refused_.reset();
    if (*read == spec_) {
        return false;
    }
    spec_ = std::move(*read);
    ++generation_;
    return true;
}

}  // namespace tessera
