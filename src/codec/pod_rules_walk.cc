#include "codec/pod_rules_walk.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
constexpr std::array<std::string_view, 3> kProtocols{"TCP", "UDP", "SCTP"};
constexpr std::int32_t kMaxPort = 65'535;

}  // namespace

bool PodRulesWalk::affinity(JsonItem value, AffinityDraft draft) {
    static constexpr std::array<PodRule<AffinityDraft>, 3> kRules{
        {{"nodeAffinity", &PodRulesWalk::node_affinity},
         {"podAffinity", &PodRulesWalk::pod_affinity},
         {"podAntiAffinity", &PodRulesWalk::pod_anti_affinity}}};
    return object<PodRulesWalk, AffinityDraft>(value, draft, kRules);
}

bool PodRulesWalk::node_affinity(JsonItem value, AffinityDraft& draft) {
    static constexpr std::array<PodRule<AffinityDraft>, 2> kRules{
        {{kRequired, &PodRulesWalk::required_nodes}, {kPreferred, &PodRulesWalk::preferred_nodes}}};
    return object<PodRulesWalk, AffinityDraft>(value, draft, kRules);
}

bool PodRulesWalk::pod_affinity(JsonItem value, AffinityDraft& draft) {
    static constexpr std::array<PodRule<PodRules>, 2> kRules{
        {{kRequired, &PodRulesWalk::required_near}, {kPreferred, &PodRulesWalk::preferred_near}}};
    return object<PodRulesWalk, PodRules>(value, draft.rules, kRules);
}

bool PodRulesWalk::pod_anti_affinity(JsonItem value, AffinityDraft& draft) {
    static constexpr std::array<PodRule<PodRules>, 2> kRules{
        {{kRequired, &PodRulesWalk::required_apart}, {kPreferred, &PodRulesWalk::preferred_apart}}};
    return object<PodRulesWalk, PodRules>(value, draft.rules, kRules);
}

bool PodRulesWalk::required_nodes(JsonItem value, AffinityDraft& draft) {
    return node_selector(value, draft.node_terms);
}

bool PodRulesWalk::weighted_node(JsonItem value, WeightedNodeTerm& term) {
    return selector_term(value, term.term);
}

bool PodRulesWalk::preferred_nodes(JsonItem value, AffinityDraft& draft) {
    static constexpr std::array<PodRule<WeightedNodeTerm>, 2> kRules{
        {{"weight", &PodRulesWalk::number_of<&WeightedNodeTerm::weight>},
         {"preference", &PodRulesWalk::weighted_node}}};
    return list(value, [&](JsonItem item) {
        WeightedNodeTerm& term = draft.rules.preferred_nodes.emplace_back();
        return object<PodRulesWalk, WeightedNodeTerm>(item, term, kRules) &&
               keep(check_weight(term.weight));
    });
}

bool PodRulesWalk::weighted_pod(JsonItem value, WeightedPodTerm& term) {
    return pod_term(value, term.term);
}

bool PodRulesWalk::preferred_pods(JsonItem value, PodRules& rules, int sign) {
    static constexpr std::array<PodRule<WeightedPodTerm>, 2> kRules{
        {{"weight", &PodRulesWalk::number_of<&WeightedPodTerm::weight>},
         {"podAffinityTerm", &PodRulesWalk::weighted_pod}}};
    return list(value, [&](JsonItem item) {
        WeightedPodTerm& one = rules.preferred.emplace_back();
        if (!object<PodRulesWalk, WeightedPodTerm>(item, one, kRules) ||
            !keep(check_weight(one.weight))) {
            return false;
        }
        one.weight *= sign;
        return !one.term.topology_key.empty() || fail_here("podAffinityTerm is missing");
    });
}

bool PodRulesWalk::pod_terms(JsonItem value, std::vector<PodTerm>& out) {
    return list(value, [&](JsonItem item) { return pod_term(item, out.emplace_back()); });
}

bool PodRulesWalk::pod_term(JsonItem value, PodTerm& out) {
    static constexpr std::array<PodRule<PodTerm>, 6> kRules{
        {{"labelSelector", &PodRulesWalk::label_selector_of<&PodTerm::pods>},
         {"namespaces", &PodRulesWalk::texts_of<&PodTerm::spaces>},
         {"namespaceSelector", &PodRulesWalk::label_selector_of<&PodTerm::spaces_by>},
         {"topologyKey", &PodRulesWalk::text_of<&PodTerm::topology_key>},
         {"matchLabelKeys", &PodRulesWalk::texts_of<&PodTerm::match_keys>},
         {"mismatchLabelKeys", &PodRulesWalk::texts_of<&PodTerm::mismatch_keys>}}};
    return object<PodRulesWalk, PodTerm>(value, out, kRules) && keep(check_term(out));
}

bool PodRulesWalk::min_domains(JsonItem value, SpreadDraft& draft) {
    draft.has_min_domains = true;
    return number(value, draft.rule.min_domains);
}

bool PodRulesWalk::spread(JsonItem value, std::vector<SpreadRule>& out) {
    static constexpr std::array<PodRule<SpreadDraft>, 8> kRules{
        {{"maxSkew", &PodRulesWalk::max_skew},
         {"minDomains", &PodRulesWalk::min_domains},
         {"topologyKey", &PodRulesWalk::spread_text<&SpreadRule::topology_key>},
         {"whenUnsatisfiable", &PodRulesWalk::text_of<&SpreadDraft::when>},
         {"labelSelector", &PodRulesWalk::spread_pods},
         {"nodeAffinityPolicy", &PodRulesWalk::text_of<&SpreadDraft::affinity_policy>},
         {"nodeTaintsPolicy", &PodRulesWalk::text_of<&SpreadDraft::taints_policy>},
         {"matchLabelKeys", &PodRulesWalk::spread_keys}}};
    return list(value, [&](JsonItem item) {
        SpreadDraft draft{.rule = {.max_skew = 0}};  // there is no usual value
        return object<PodRulesWalk, SpreadDraft>(item, draft, kRules) &&
               keep(spread_rule(std::move(draft)), out);
    });
}

bool PodRulesWalk::port_protocol(JsonItem value, HostPort& port) {
    std::string word;
    if (!text(value, word)) {
        return false;
    }
    const auto found = std::find(kProtocols.begin(), kProtocols.end(), word);
    port.protocol = static_cast<Protocol>(found - kProtocols.begin());
    return found != kProtocols.end() ||
           fail_here("{} is not accepted: TCP, UDP or SCTP is", in_quotes(word));
}

bool PodRulesWalk::port_number(JsonItem value, HostPort& port) {
    return number(value, port.port) &&
           ((port.port >= 0 && port.port <= kMaxPort) ||
            fail_here("{} is not accepted: 0 to {} is", port.port, kMaxPort));
}

bool PodRulesWalk::host_ports(JsonItem value, std::vector<HostPort>& out) {
    static constexpr std::array<PodRule<HostPort>, 3> kRules{
        {{"hostIP", &PodRulesWalk::text_of<&HostPort::address>},
         {"protocol", &PodRulesWalk::port_protocol},
         {"hostPort", &PodRulesWalk::port_number}}};
    return list(value, [&](JsonItem item) {
        HostPort port;
        if (!object<PodRulesWalk, HostPort>(item, port, kRules)) {
            return false;
        }
        if (port.port > 0) {
            port.address = port.address == "0.0.0.0" ? "" : std::move(port.address);
            out.push_back(std::move(port));
        }
        return true;
    });
}

bool PodRulesWalk::scheduling_gates(JsonItem value, std::vector<std::string>& out) {
    static constexpr std::array<PodRule<std::string>, 1> kRules{
        {{"name", &PodRulesWalk::only_text}}};
    return list(value, [&](JsonItem item) {
        return object<PodRulesWalk, std::string>(item, out.emplace_back(), kRules);
    });
}

bool PodRulesWalk::scheduling_group(JsonItem value, std::string& out) {
    static constexpr std::array<PodRule<std::string>, 1> kRules{
        {{"podGroupName", &PodRulesWalk::only_text}}};
    return object<PodRulesWalk, std::string>(value, out, kRules);
}

bool PodRulesWalk::claim_source(JsonItem value, VolumeDraft& volume) {
    static constexpr std::array<PodRule<std::string>, 1> kRules{
        {{"claimName", &PodRulesWalk::only_text}}};
    return object<PodRulesWalk, std::string>(value, volume.claim, kRules) &&
           (!volume.claim.empty() || fail_here("claimName is missing"));
}

bool PodRulesWalk::ephemeral_source(JsonItem, VolumeDraft& volume) {
    return volume.ephemeral = true;
}

bool PodRulesWalk::volumes(JsonItem value, std::vector<VolumeDraft>& out) {
    static constexpr std::array<PodRule<VolumeDraft>, 3> kRules{
        {{"name", &PodRulesWalk::text_of<&VolumeDraft::name>},
         {"persistentVolumeClaim", &PodRulesWalk::claim_source},
         {"ephemeral", &PodRulesWalk::ephemeral_source}}};
    return list(value, [&](JsonItem item) {
        VolumeDraft volume;
        if (!object<PodRulesWalk, VolumeDraft>(item, volume, kRules)) {
            return false;
        }
        if (volume.ephemeral || !volume.claim.empty()) {
            out.push_back(std::move(volume));
        }
        return true;
    });
}

bool PodRulesWalk::pod_conditions(JsonItem value, PodRules& out) {
    static constexpr std::array<PodRule<ConditionOfType>, 4> kRules{
        {{"type", &PodRulesWalk::text_of<&ConditionOfType::type>},
         {"status", &PodRulesWalk::text_of<&ConditionOfType::status>},
         {"reason", &PodRulesWalk::text_of<&ConditionOfType::reason>},
         {"message", &PodRulesWalk::text_of<&ConditionOfType::message>}}};
    return list(value, [&](JsonItem item) {
        ConditionOfType condition;
        if (!object<PodRulesWalk, ConditionOfType>(item, condition, kRules)) {
            return false;
        }
        if (condition.type == "PodScheduled" && condition.status != "True") {
            out.unscheduled = static_cast<PodCondition&&>(condition);
        }
        return true;
    });
}

}  // namespace tessera
