// Reads what pods and nodes say about each other: tolerations, taints, selectors of labels.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/json_walk.h"
#include "model/node_constraints.h"
#include "model/pod.h"
#include "model/pod_rules.h"

namespace tessera {

class ConstraintWalk : public JsonWalk {
  protected:
    using Terms = std::vector<NodeSelectorTerm>;

    bool tolerations(JsonItem value, std::vector<Toleration>& out);
    bool taints(JsonItem value, std::vector<Taint>& out);
    // A node selector: a list of terms, one at least.
    bool node_selector(JsonItem value, Terms& out);
    bool selector_term(JsonItem value, NodeSelectorTerm& out);
    // A label selector, of pods or namespaces.
    bool label_selector(JsonItem value, std::optional<LabelSelector>& out);
    bool texts(JsonItem value, std::vector<std::string>& out);

    bool keep(Expected<void> checked) {
        return checked || fail_with(std::move(checked.error().message));
    }
    template <class T>
    bool keep(Expected<T> read, std::vector<T>& out) {
        if (!read) {
            return fail_with(std::move(read.error().message));
        }
        out.push_back(std::move(*read));
        return true;
    }
    template <auto Member, class T>
    bool texts_of(JsonItem value, T& target) {
        return texts(value, target.*Member);
    }
    template <auto Member, class T>
    bool label_selector_of(JsonItem value, T& target) {
        return label_selector(value, target.*Member);
    }
    template <auto Member, class T>
    bool number_of(JsonItem value, T& target) {
        return number(value, target.*Member);
    }
    template <auto Member, class T>
    bool truth_of(JsonItem value, T& target) {
        return truth(value, target.*Member);
    }

  private:
    friend class JsonWalk;
    template <class T>
    using ConstraintRule = Rule<ConstraintWalk, T>;

    bool selector_terms(JsonItem value, Terms& out);
    bool requirement(JsonItem value, RequirementDraft& draft);
    bool expressions(JsonItem value, NodeSelectorTerm& term);
    bool fields(JsonItem value, NodeSelectorTerm& term);
    bool match_labels(JsonItem value, LabelSelector& selector);
    bool match_expressions(JsonItem value, LabelSelector& selector);
};

}  // namespace tessera
