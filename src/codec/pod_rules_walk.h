// Reads what a pod asks of its neighbourhood (model/pod_rules.h): affinity, spreading, ports,
// claims.
#pragma once

#include <string>
#include <vector>

#include "codec/constraint_walk.h"
#include "model/pod_rules.h"

namespace tessera {

// A volume of a pod, of which only a claim matters.
struct VolumeDraft {
    std::string name;
    std::string claim;
    bool ephemeral = false;
};

class PodRulesWalk : public ConstraintWalk {
  protected:
    struct AffinityDraft {
        Terms& node_terms;
        PodRules& rules;
    };
    bool affinity(JsonItem value, AffinityDraft draft);
    bool spread(JsonItem value, std::vector<SpreadRule>& out);
    bool host_ports(JsonItem value, std::vector<HostPort>& out);
    bool scheduling_gates(JsonItem value, std::vector<std::string>& out);
    bool scheduling_group(JsonItem value, std::string& out);
    // In the order of the volumes.
    bool volumes(JsonItem value, std::vector<VolumeDraft>& out);
    // status.conditions: of them PodScheduled.
    bool pod_conditions(JsonItem value, PodRules& out);

  private:
    friend class JsonWalk;
    template <class T>
    using PodRule = Rule<PodRulesWalk, T>;
    struct ConditionOfType : PodCondition {
        std::string type;
    };

    bool node_affinity(JsonItem value, AffinityDraft& draft);
    bool pod_affinity(JsonItem value, AffinityDraft& draft);
    bool pod_anti_affinity(JsonItem value, AffinityDraft& draft);
    bool required_nodes(JsonItem value, AffinityDraft& draft);
    bool preferred_nodes(JsonItem value, AffinityDraft& draft);
    bool weighted_node(JsonItem value, WeightedNodeTerm& term);
    bool required_near(JsonItem value, PodRules& rules) { return pod_terms(value, rules.near); }
    bool required_apart(JsonItem value, PodRules& rules) { return pod_terms(value, rules.apart); }
    bool preferred_near(JsonItem value, PodRules& rules) { return preferred_pods(value, rules, 1); }
    bool preferred_apart(JsonItem value, PodRules& rules) {
        return preferred_pods(value, rules, -1);
    }
    bool preferred_pods(JsonItem value, PodRules& rules, int sign);
    bool weighted_pod(JsonItem value, WeightedPodTerm& term);
    bool pod_terms(JsonItem value, std::vector<PodTerm>& out);
    bool pod_term(JsonItem value, PodTerm& out);
    bool min_domains(JsonItem value, SpreadDraft& draft);
    template <auto Member>
    bool spread_text(JsonItem value, SpreadDraft& draft) {
        return text(value, draft.rule.*Member);
    }
    bool spread_pods(JsonItem value, SpreadDraft& draft) {
        return label_selector(value, draft.rule.pods);
    }
    bool spread_keys(JsonItem value, SpreadDraft& draft) {
        return texts(value, draft.rule.match_keys);
    }
    bool max_skew(JsonItem value, SpreadDraft& draft) { return number(value, draft.rule.max_skew); }
    bool port_protocol(JsonItem value, HostPort& port);
    bool port_number(JsonItem value, HostPort& port);
    bool only_text(JsonItem value, std::string& out) { return text(value, out); }
    bool claim_source(JsonItem value, VolumeDraft& volume);
    bool ephemeral_source(JsonItem value, VolumeDraft& volume);
};

}  // namespace tessera
