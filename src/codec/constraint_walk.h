// Reads what pods and nodes say about each other: tolerations, taints, required node affinity.
#pragma once

#include <vector>

#include "codec/json_walk.h"
#include "model/node_constraints.h"
#include "model/pod.h"

namespace tessera {

class ConstraintWalk : public JsonWalk {
  protected:
    bool tolerations(JsonItem value, std::vector<Toleration>& out);
    bool taints(JsonItem value, std::vector<Taint>& out);
    // spec.affinity: of it what is required. Of other pods only the names of the fields.
    bool affinity(JsonItem value, Pod& pod);

  private:
    friend class JsonWalk;
    template <class T>
    using ConstraintRule = Rule<ConstraintWalk, T>;
    using Terms = std::vector<NodeSelectorTerm>;

    bool node_affinity(JsonItem value, Pod& pod);
    bool pod_affinity(JsonItem value, Pod& pod);
    bool pod_anti_affinity(JsonItem value, Pod& pod);
    // Whether a list with anything in it is required there.
    bool required_of_pods(JsonItem value, bool& required);
    bool not_empty(JsonItem value, bool& found) {
        return list(value, [&](JsonItem) { return found = true; });
    }
    bool required(JsonItem value, Terms& out);
    bool selector_terms(JsonItem value, Terms& out);
    bool values(JsonItem value, RequirementDraft& draft);
    template <class T>
    bool keep(Expected<T> read, std::vector<T>& out);
    bool requirement(JsonItem value, RequirementDraft& draft);
    bool expressions(JsonItem value, NodeSelectorTerm& term);
    bool fields(JsonItem value, NodeSelectorTerm& term);
};

}  // namespace tessera
