#include "codec/kube_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>

#include "base/text.h"
#include "codec/kube_json_walk.h"

namespace tessera {
namespace {

// A pod while it is read: its status may come before its spec.
struct PodDraft : Pod {
    std::vector<std::pair<std::string, ContainerState>> states;
};

// A controller: a template and how many pods it makes.
struct ControllerDraft {
    PodDraft meta;  // of the controller itself
    PodDraft inner;
    std::int32_t replicas = 1;
    std::int32_t completions = std::numeric_limits<std::int32_t>::max();
};

struct StatusDraft {
    std::string name;
    ContainerState state = ContainerState::waiting;
};

struct ConditionDraft {
    std::string type;
    std::string status;
};

class KubeReader : public JsonWalk<KubeReader> {
  public:
    bool read(std::string_view text, KubeObjects& out) {
        return document(text, [&](Object object) { return any(object, "", 0, out); });
    }
    bool read(std::string_view text, Pod& out) {
        return document(text, [&](Object object) { return whole_pod(object, out); });
    }
    bool read(std::string_view text, Node& out) {
        return document(text, [&](Object object) { return whole_node(object, out); });
    }

  private:
    friend class JsonWalk<KubeReader>;
    static constexpr int kListDepthMax = 4;

    // --- pods

    bool pod_deletion(Value value, PodDraft& draft) {
        std::string when;
        draft.deleting = true;
        return text(value, when);
    }
    bool pod_metadata(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<PodDraft>, 6> kRules{
            {{"name", &KubeReader::text_of<&PodDraft::name>},
             {"namespace", &KubeReader::text_of<&PodDraft::space>},
             {"uid", &KubeReader::text_of<&PodDraft::uid>},
             {"labels", &KubeReader::strings_of<&PodDraft::labels>},
             {"annotations", &KubeReader::strings_of<&PodDraft::annotations>},
             {"deletionTimestamp", &KubeReader::pod_deletion}}};
        return object<PodDraft>(value, draft, kRules);
    }

    bool container_resources(Value value, Container& container) {
        static constexpr std::array<Rule<Container>, 2> kRules{
            {{"requests", &KubeReader::amounts_of<&Container::requests>},
             {"limits", &KubeReader::amounts_of<&Container::limits>}}};
        return object<Container>(value, container, kRules);
    }
    bool host_port(Value value, std::int32_t& port) { return count(value, port); }
    bool container_ports(Value value, Container& container) {
        static constexpr std::array<Rule<std::int32_t>, 1> kRules{
            {{"hostPort", &KubeReader::host_port}}};
        return list(value, [&](Value item) {
            std::int32_t port = 0;
            if (!object<std::int32_t>(item, port, kRules)) {
                return false;
            }
            if (port > 0) {
                container.host_ports.push_back(port);
            }
            return true;
        });
    }
    bool container_restart(Value value, Container& container) {
        std::string policy;
        if (!text(value, policy)) {
            return false;
        }
        container.restartable = policy == "Always";
        return true;
    }
    bool container(Value value, std::vector<Container>& out) {
        static constexpr std::array<Rule<Container>, 4> kRules{
            {{"name", &KubeReader::text_of<&Container::name>},
             {"resources", &KubeReader::container_resources},
             {"ports", &KubeReader::container_ports},
             {"restartPolicy", &KubeReader::container_restart}}};
        Container found;
        if (!object<Container>(value, found, kRules)) {
            return false;
        }
        if (found.name.empty()) {
            return fail_here("name is missing");
        }
        const auto same = [&](const Container& other) { return other.name == found.name; };
        if (std::any_of(out.begin(), out.end(), same)) {
            return fail_here("two containers are called {}", in_quotes(found.name));
        }
        out.push_back(std::move(found));
        return true;
    }
    bool pod_containers(Value value, PodDraft& draft) {
        return list(value, [&](Value item) { return container(item, draft.containers); });
    }
    bool pod_init_containers(Value value, PodDraft& draft) {
        return list(value, [&](Value item) { return container(item, draft.init_containers); });
    }
    bool pod_priority(Value value, PodDraft& draft) {
        return number(value, draft.priority.emplace());
    }
    bool toleration_operator(Value value, Toleration& toleration) {
        std::string word;
        if (!text(value, word)) {
            return false;
        }
        if (word != "Exists" && word != "Equal" && !word.empty()) {
            return fail_here("{} is not accepted: Exists or Equal is", in_quotes(word));
        }
        toleration.exists = word == "Exists";
        return true;
    }
    bool pod_tolerations(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<Toleration>, 4> kRules{
            {{"key", &KubeReader::text_of<&Toleration::key>},
             {"value", &KubeReader::text_of<&Toleration::value>},
             {"effect", &KubeReader::text_of<&Toleration::effect>},
             {"operator", &KubeReader::toleration_operator}}};
        return list(value, [&](Value item) {
            return object<Toleration>(item, draft.tolerations.emplace_back(), kRules);
        });
    }
    bool claim_name(Value value, std::string& name) { return text(value, name); }
    bool pod_claims(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<std::string>, 1> kRules{
            {{"name", &KubeReader::claim_name}}};
        return list(value, [&](Value item) {
            return object<std::string>(item, draft.resource_claims.emplace_back(), kRules);
        });
    }
    bool pod_resources(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<PodDraft>, 2> kRules{
            {{"requests", &KubeReader::amounts_of<&PodDraft::requests>},
             {"limits", &KubeReader::amounts_of<&PodDraft::limits>}}};
        return object<PodDraft>(value, draft, kRules);
    }
    bool pod_spec(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<PodDraft>, 11> kRules{
            {{"containers", &KubeReader::pod_containers},
             {"initContainers", &KubeReader::pod_init_containers},
             {"schedulerName", &KubeReader::text_of<&PodDraft::scheduler_name>},
             {"nodeName", &KubeReader::text_of<&PodDraft::node_name>},
             {"priority", &KubeReader::pod_priority},
             {"priorityClassName", &KubeReader::text_of<&PodDraft::priority_class>},
             {"nodeSelector", &KubeReader::strings_of<&PodDraft::node_selector>},
             {"tolerations", &KubeReader::pod_tolerations},
             {"resourceClaims", &KubeReader::pod_claims},
             {"overhead", &KubeReader::amounts_of<&PodDraft::overhead>},
             {"resources", &KubeReader::pod_resources}}};
        return object<PodDraft>(value, draft, kRules);
    }

    bool pod_phase(Value value, PodDraft& draft) {
        std::string word;
        if (!text(value, word)) {
            return false;
        }
        static constexpr std::array<std::string_view, 4> kPhases{"Pending", "Running", "Succeeded",
                                                                 "Failed"};
        const auto found = std::find(kPhases.begin(), kPhases.end(), word);
        draft.phase = static_cast<PodPhase>(found - kPhases.begin());
        return true;
    }
    template <ContainerState State>
    bool in_state(Value, StatusDraft& draft) {
        draft.state = State;
        return true;
    }
    bool status_state(Value value, StatusDraft& draft) {
        static constexpr std::array<Rule<StatusDraft>, 3> kRules{
            {{"running", &KubeReader::in_state<ContainerState::running>},
             {"terminated", &KubeReader::in_state<ContainerState::ended>},
             {"waiting", &KubeReader::in_state<ContainerState::waiting>}}};
        return object<StatusDraft>(value, draft, kRules);
    }
    bool container_statuses(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<StatusDraft>, 2> kRules{
            {{"name", &KubeReader::text_of<&StatusDraft::name>},
             {"state", &KubeReader::status_state}}};
        return list(value, [&](Value item) {
            StatusDraft status;
            if (!object<StatusDraft>(item, status, kRules)) {
                return false;
            }
            draft.states.emplace_back(std::move(status.name), status.state);
            return true;
        });
    }
    bool pod_status(Value value, PodDraft& draft) {
        static constexpr std::array<Rule<PodDraft>, 3> kRules{
            {{"phase", &KubeReader::pod_phase},
             {"containerStatuses", &KubeReader::container_statuses},
             {"initContainerStatuses", &KubeReader::container_statuses}}};
        return object<PodDraft>(value, draft, kRules);
    }

    static Pod finish(PodDraft draft) {
        for (const auto& [name, state] : draft.states) {
            for (auto* containers : {&draft.init_containers, &draft.containers}) {
                for (Container& container : *containers) {
                    container.state = container.name == name ? state : container.state;
                }
            }
        }
        return std::move(static_cast<Pod&>(draft));
    }

    static constexpr std::array<Rule<PodDraft>, 4> pod_rules() {
        return {{{"kind", nullptr},
                 {"metadata", &KubeReader::pod_metadata},
                 {"spec", &KubeReader::pod_spec},
                 {"status", &KubeReader::pod_status}}};
    }
    bool whole_pod(Object found, Pod& out) {
        static constexpr auto kRules = pod_rules();
        PodDraft draft;
        if (!fields<PodDraft>(found, draft, kRules)) {
            return false;
        }
        out = finish(std::move(draft));
        if (out.name.empty()) {
            return fail_here("metadata.name is missing");
        }
        return !out.containers.empty() || fail_here("spec.containers: a pod has at least one");
    }

    // --- controllers

    bool template_of(Value value, ControllerDraft& draft) {
        static constexpr auto kRules = pod_rules();
        return object<PodDraft>(value, draft.inner, kRules);
    }
    bool controller_metadata(Value value, ControllerDraft& draft) {
        return pod_metadata(value, draft.meta);
    }
    bool controller_replicas(Value value, ControllerDraft& draft) {
        return count(value, draft.replicas);
    }
    bool controller_completions(Value value, ControllerDraft& draft) {
        return count(value, draft.completions);
    }
    bool controller_spec(Value value, ControllerDraft& draft) {
        static constexpr std::array<Rule<ControllerDraft>, 4> kRules{
            {{"replicas", &KubeReader::controller_replicas},
             {"parallelism", &KubeReader::controller_replicas},
             {"completions", &KubeReader::controller_completions},
             {"template", &KubeReader::template_of}}};
        return object<ControllerDraft>(value, draft, kRules);
    }
    bool controller(Object found, std::string kind, KubeObjects& out) {
        static constexpr std::array<Rule<ControllerDraft>, 3> kRules{
            {{"kind", nullptr},
             {"metadata", &KubeReader::controller_metadata},
             {"spec", &KubeReader::controller_spec}}};
        ControllerDraft draft;
        if (!fields<ControllerDraft>(found, draft, kRules)) {
            return false;
        }
        PodSet set;
        set.pod = finish(std::move(draft.inner));
        set.pod.name = draft.meta.name;
        set.pod.space = draft.meta.space;
        set.count = std::min(draft.replicas, draft.completions);
        set.kind = std::move(kind);
        if (set.pod.name.empty()) {
            return fail_here("metadata.name is missing");
        }
        if (set.pod.containers.empty()) {
            return fail_here("spec.template.spec.containers: a pod has at least one");
        }
        out.pods.push_back(std::move(set));
        return true;
    }

    // --- nodes

    bool node_metadata(Value value, Node& node) {
        static constexpr std::array<Rule<Node>, 3> kRules{
            {{"name", &KubeReader::text_of<&Node::name>},
             {"labels", &KubeReader::strings_of<&Node::labels>},
             {"annotations", &KubeReader::strings_of<&Node::annotations>}}};
        return object<Node>(value, node, kRules);
    }
    bool node_unschedulable(Value value, Node& node) { return truth(value, node.unschedulable); }
    bool node_taints(Value value, Node& node) {
        static constexpr std::array<Rule<Taint>, 3> kRules{
            {{"key", &KubeReader::text_of<&Taint::key>},
             {"value", &KubeReader::text_of<&Taint::value>},
             {"effect", &KubeReader::text_of<&Taint::effect>}}};
        return list(value, [&](Value item) {
            return object<Taint>(item, node.taints.emplace_back(), kRules);
        });
    }
    bool node_spec(Value value, Node& node) {
        static constexpr std::array<Rule<Node>, 2> kRules{
            {{"unschedulable", &KubeReader::node_unschedulable},
             {"taints", &KubeReader::node_taints}}};
        return object<Node>(value, node, kRules);
    }
    bool node_conditions(Value value, Node& node) {
        static constexpr std::array<Rule<ConditionDraft>, 2> kRules{
            {{"type", &KubeReader::text_of<&ConditionDraft::type>},
             {"status", &KubeReader::text_of<&ConditionDraft::status>}}};
        return list(value, [&](Value item) {
            ConditionDraft condition;
            if (!object<ConditionDraft>(item, condition, kRules)) {
                return false;
            }
            if (condition.type == "Ready") {
                node.ready = condition.status == "True";
            }
            return true;
        });
    }
    bool node_status(Value value, Node& node) {
        static constexpr std::array<Rule<Node>, 3> kRules{
            {{"capacity", &KubeReader::amounts_of<&Node::capacity>},
             {"allocatable", &KubeReader::amounts_of<&Node::allocatable>},
             {"conditions", &KubeReader::node_conditions}}};
        return object<Node>(value, node, kRules);
    }
    bool whole_node(Object found, Node& out) {
        static constexpr std::array<Rule<Node>, 4> kRules{{{"kind", nullptr},
                                                           {"metadata", &KubeReader::node_metadata},
                                                           {"spec", &KubeReader::node_spec},
                                                           {"status", &KubeReader::node_status}}};
        return fields<Node>(found, out, kRules) &&
               (!out.name.empty() || fail_here("metadata.name is missing"));
    }

    // --- config maps, lists, and what kind it is

    bool config_metadata(Value value, ConfigMap& map) {
        PodDraft meta;
        if (!pod_metadata(value, meta)) {
            return false;
        }
        map.name = meta.name;
        map.space = meta.space;
        return true;
    }
    bool config_map(Object found, KubeObjects& out) {
        static constexpr std::array<Rule<ConfigMap>, 3> kRules{
            {{"kind", nullptr},
             {"metadata", &KubeReader::config_metadata},
             {"data", &KubeReader::strings_of<&ConfigMap::data>}}};
        return fields<ConfigMap>(found, out.config_maps.emplace_back(), kRules);
    }

    bool items(Object found, std::string_view kind, int depth, KubeObjects& out) {
        if (depth >= kListDepthMax) {
            return fail_here("lists within lists are accepted up to a depth of {}", kListDepthMax);
        }
        const std::string inner(kind.substr(0, kind.size() - std::string_view("List").size()));
        bool seen = false;
        return members(found, [&](std::string_view key, Value value) {
            if (key != "items") {
                return true;
            }
            if (seen) {
                return fail_here("the key is there twice");
            }
            seen = true;
            return list(value, [&](Value item) {
                Object object;
                if (auto error = item.get_object().get(object)) {
                    return error == simdjson::INCORRECT_TYPE ? wrong_type(item, "an object")
                                                             : broken(error);
                }
                return any(object, inner, depth + 1, out);
            });
        });
    }

    // Items of a PodList do not say that they are pods: `implied` does.
    bool kind_of(Object& found, std::string_view implied, std::string& kind) {
        Value value;
        const auto error = found.find_field_unordered("kind").get(value);
        if (error != simdjson::SUCCESS && error != simdjson::NO_SUCH_FIELD) {
            return broken(error);
        }
        if (error == simdjson::SUCCESS) {
            path_.push_back({"kind", -1});
            if (!text(value, kind)) {
                return false;
            }
            path_.pop_back();
        } else {
            kind = implied;
        }
        if (kind.empty()) {
            return fail_here(
                "kind is missing: Pod, Node, List, Job, Deployment and their like are "
                "accepted");
        }
        bool more = false;
        const auto reset = found.reset().get(more);
        return reset == simdjson::SUCCESS || broken(reset);
    }

    bool any(Object found, std::string_view implied, int depth, KubeObjects& out) {
        static constexpr std::array<std::string_view, 5> kControllers{
            "Job", "Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"};
        std::string kind;
        if (!kind_of(found, implied, kind)) {
            return false;
        }
        if (kind == "Pod" || kind == "SharePod") {
            PodSet set;
            set.kind = kind;
            const bool read = whole_pod(found, set.pod);
            out.pods.push_back(std::move(set));
            return read;
        }
        if (kind == "Node") {
            return whole_node(found, out.nodes.emplace_back());
        }
        if (kind == "ConfigMap") {
            return config_map(found, out);
        }
        if (std::find(kControllers.begin(), kControllers.end(), kind) != kControllers.end()) {
            return controller(found, kind, out);
        }
        if (kind.ends_with("List")) {
            return items(found, kind, depth, out);
        }
        if (std::find(out.skipped.begin(), out.skipped.end(), kind) == out.skipped.end()) {
            out.skipped.push_back(kind);
        }
        return members(found, [](std::string_view, Value) { return true; });
    }
};

template <class T>
Expected<T> read_one(std::string_view text) {
    KubeReader reader;
    T result;
    if (!reader.read(text, result)) {
        return fail(ErrorKind::invalid, "{}", reader.take_error().to_string());
    }
    return result;
}

bool is_index(std::string_view step) {
    return !step.empty() && std::all_of(step.begin(), step.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A plain word is written as it is, anything else (a label's name) in quotes and brackets.
bool is_word(std::string_view step) {
    return !step.empty() && step.size() <= 64 &&
           std::all_of(step.begin(), step.end(),
                       [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

}  // namespace

std::string KubeError::to_string() const {
    std::string where;
    for (const std::string& step : path) {
        if (is_index(step)) {
            where += fmt::format("[{}]", step);
        } else if (is_word(step)) {
            where += (where.empty() ? "" : ".") + step;
        } else {
            where += fmt::format("[{}]", in_quotes(step));
        }
    }
    return where.empty() ? message : fmt::format("{}: {}", where, message);
}

Expected<KubeObjects> read_kube_json(std::string_view text) { return read_one<KubeObjects>(text); }
Expected<Pod> read_pod_json(std::string_view text) { return read_one<Pod>(text); }
Expected<Node> read_node_json(std::string_view text) { return read_one<Node>(text); }

tl::expected<KubeObjects, KubeError> locate_kube_json(std::string_view text) {
    KubeReader reader;
    KubeObjects result;
    if (!reader.read(text, result)) {
        return tl::unexpected(reader.take_error());
    }
    return result;
}

}  // namespace tessera
