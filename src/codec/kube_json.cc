#include "codec/kube_json.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string>

#include "base/text.h"
#include "codec/pod_rules_walk.h"
#include "codec/timestamp.h"

namespace tessera {
namespace {

// A pod while it is read: its status may come before its spec.
struct PodDraft : Pod {
    std::vector<std::pair<std::string, ContainerState>> states;
    std::string generate_name;  // a prefix, where the API server makes the name
    PodRules asked;
    std::vector<VolumeDraft> volumes;
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

struct AddressDraft {
    std::string type;
    std::string address;
};

constexpr std::array<std::string_view, 7> kControllers{
    "Job",         "CronJob",   "Deployment",           "ReplicaSet",
    "StatefulSet", "DaemonSet", "ReplicationController"};

class KubeReader : public PodRulesWalk {
  public:
    bool read(std::string_view text, KubeObjects& out) {
        return document(text, [&](JsonItem object) { return any(object, "", 0, out); });
    }
    bool read(std::string_view text, Pod& out) {
        return document(text, [&](JsonItem object) { return whole_pod(object, out); });
    }
    bool read(std::string_view text, Node& out) {
        return document(text, [&](JsonItem object) { return whole_node(object, out); });
    }
    bool read(std::string_view text, ConfigMap& out) {
        return document(text, [&](JsonItem object) { return config_map(object, out); });
    }
    bool read_outline(std::string_view text, Pod& out) {
        return document(text, [&](JsonItem object) { return outline(object, out); });
    }

  private:
    friend class JsonWalk;
    template <class T>
    using KubeRule = Rule<KubeReader, T>;
    static constexpr int kListDepthMax = 4;

    // --- pods

    bool pod_deletion(JsonItem value, PodDraft& draft) {
        std::string when;
        draft.deleting = true;
        return text(value, when);
    }
    bool pod_creation(JsonItem value, PodDraft& draft) {
        std::string when;
        if (!text(value, when)) {
            return false;
        }
        const auto seconds = parse_timestamp(when);
        draft.created_s = seconds.value_or(0);
        return seconds || fail_here("{} is not accepted: a time like 2026-01-31T23:59:59Z is",
                                    in_quotes(when));
    }
    bool pod_metadata(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<PodDraft>, 8> kRules{
            {{"name", &KubeReader::text_of<&PodDraft::name>},
             {"generateName", &KubeReader::text_of<&PodDraft::generate_name>},
             {"namespace", &KubeReader::text_of<&PodDraft::space>},
             {"uid", &KubeReader::text_of<&PodDraft::uid>},
             {"labels", &KubeReader::strings_of<&PodDraft::labels>},
             {"annotations", &KubeReader::strings_of<&PodDraft::annotations>},
             {"creationTimestamp", &KubeReader::pod_creation},
             {"deletionTimestamp", &KubeReader::pod_deletion}}};
        return object<KubeReader, PodDraft>(value, draft, kRules);
    }

    bool container_resources(JsonItem value, Container& container) {
        static constexpr std::array<KubeRule<Container>, 2> kRules{
            {{"requests", &KubeReader::amounts_of<&Container::requests>},
             {"limits", &KubeReader::amounts_of<&Container::limits>}}};
        return object<KubeReader, Container>(value, container, kRules);
    }
    bool container_ports(JsonItem value, Container& container) {
        return host_ports(value, container.host_ports);
    }
    bool container_restart(JsonItem value, Container& container) {
        std::string policy;
        if (!text(value, policy)) {
            return false;
        }
        container.restartable = policy == "Always";
        return true;
    }
    // Kubernetes' rule. Names become parts of annotation keys, and "*" is a request of ours.
    static bool container_name(std::string_view name) {
        constexpr std::size_t kNameMax = 63;
        const auto good = [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        };
        return name.size() <= kNameMax && name.front() != '-' && name.back() != '-' &&
               std::all_of(name.begin(), name.end(), good);
    }
    bool container(JsonItem value, std::vector<Container>& out) {
        static constexpr std::array<KubeRule<Container>, 4> kRules{
            {{"name", &KubeReader::text_of<&Container::name>},
             {"resources", &KubeReader::container_resources},
             {"ports", &KubeReader::container_ports},
             {"restartPolicy", &KubeReader::container_restart}}};
        Container found;
        if (!object<KubeReader, Container>(value, found, kRules)) {
            return false;
        }
        if (found.name.empty()) {
            return fail_here("name is missing");
        }
        if (!container_name(found.name)) {
            return fail_here(
                "name: {} is not accepted: up to 63 of a-z, 0-9 and -, with no - at the ends, are",
                in_quotes(found.name));
        }
        const auto same = [&](const Container& other) { return other.name == found.name; };
        if (std::any_of(out.begin(), out.end(), same)) {
            return fail_here("two containers are called {}", in_quotes(found.name));
        }
        out.push_back(std::move(found));
        return true;
    }
    bool pod_containers(JsonItem value, PodDraft& draft) {
        return list(value, [&](JsonItem item) { return container(item, draft.containers); });
    }
    bool pod_init_containers(JsonItem value, PodDraft& draft) {
        return list(value, [&](JsonItem item) { return container(item, draft.init_containers); });
    }
    bool pod_priority(JsonItem value, PodDraft& draft) {
        return number(value, draft.priority.emplace());
    }
    bool pod_tolerations(JsonItem value, PodDraft& draft) {
        return tolerations(value, draft.tolerations);
    }
    bool pod_affinity(JsonItem value, PodDraft& draft) {
        return affinity(value, {draft.node_terms, draft.asked});
    }
    bool pod_spread(JsonItem value, PodDraft& draft) { return spread(value, draft.asked.spread); }
    bool pod_gates(JsonItem value, PodDraft& draft) {
        return scheduling_gates(value, draft.asked.gates);
    }
    bool pod_group(JsonItem value, PodDraft& draft) {
        return scheduling_group(value, draft.asked.group);
    }
    bool pod_volumes(JsonItem value, PodDraft& draft) { return volumes(value, draft.volumes); }
    bool pod_preemption(JsonItem value, PodDraft& draft) {
        std::string policy;
        if (!text(value, policy)) {
            return false;
        }
        draft.preempts = policy != "Never";
        return !draft.preempts || policy == "PreemptLowerPriority" ||
               fail_here("{} is not accepted: PreemptLowerPriority or Never is", in_quotes(policy));
    }
    bool claim_name(JsonItem value, std::string& name) { return text(value, name); }
    bool pod_claims(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<std::string>, 1> kRules{
            {{"name", &KubeReader::claim_name}}};
        return list(value, [&](JsonItem item) {
            return object<KubeReader, std::string>(item, draft.resource_claims.emplace_back(),
                                                   kRules);
        });
    }
    bool pod_resources(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<PodDraft>, 2> kRules{
            {{"requests", &KubeReader::amounts_of<&PodDraft::requests>},
             {"limits", &KubeReader::amounts_of<&PodDraft::limits>}}};
        return object<KubeReader, PodDraft>(value, draft, kRules);
    }
    bool pod_spec(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<PodDraft>, 17> kRules{
            {{"containers", &KubeReader::pod_containers},
             {"initContainers", &KubeReader::pod_init_containers},
             {"schedulerName", &KubeReader::text_of<&PodDraft::scheduler_name>},
             {"nodeName", &KubeReader::text_of<&PodDraft::node_name>},
             {"priority", &KubeReader::pod_priority},
             {"priorityClassName", &KubeReader::text_of<&PodDraft::priority_class>},
             {"nodeSelector", &KubeReader::strings_of<&PodDraft::node_selector>},
             {"affinity", &KubeReader::pod_affinity},
             {"topologySpreadConstraints", &KubeReader::pod_spread},
             {"schedulingGates", &KubeReader::pod_gates},
             {"schedulingGroup", &KubeReader::pod_group},
             {"volumes", &KubeReader::pod_volumes},
             {"preemptionPolicy", &KubeReader::pod_preemption},
             {"tolerations", &KubeReader::pod_tolerations},
             {"resourceClaims", &KubeReader::pod_claims},
             {"overhead", &KubeReader::amounts_of<&PodDraft::overhead>},
             {"resources", &KubeReader::pod_resources}}};
        return object<KubeReader, PodDraft>(value, draft, kRules);
    }

    bool pod_phase(JsonItem value, PodDraft& draft) {
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
    bool in_state(JsonItem, StatusDraft& draft) {
        draft.state = State;
        return true;
    }
    bool status_state(JsonItem value, StatusDraft& draft) {
        static constexpr std::array<KubeRule<StatusDraft>, 3> kRules{
            {{"running", &KubeReader::in_state<ContainerState::running>},
             {"terminated", &KubeReader::in_state<ContainerState::ended>},
             {"waiting", &KubeReader::in_state<ContainerState::waiting>}}};
        return object<KubeReader, StatusDraft>(value, draft, kRules);
    }
    bool container_statuses(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<StatusDraft>, 2> kRules{
            {{"name", &KubeReader::text_of<&StatusDraft::name>},
             {"state", &KubeReader::status_state}}};
        return list(value, [&](JsonItem item) {
            StatusDraft status;
            if (!object<KubeReader, StatusDraft>(item, status, kRules)) {
                return false;
            }
            draft.states.emplace_back(std::move(status.name), status.state);
            return true;
        });
    }
    bool conditions(JsonItem value, PodDraft& draft) { return pod_conditions(value, draft.asked); }
    bool nominated(JsonItem value, PodDraft& draft) {
        return text(value, draft.asked.nominated_node);
    }
    bool pod_status(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<PodDraft>, 5> kRules{
            {{"phase", &KubeReader::pod_phase},
             {"conditions", &KubeReader::conditions},
             {"nominatedNodeName", &KubeReader::nominated},
             {"containerStatuses", &KubeReader::container_statuses},
             {"initContainerStatuses", &KubeReader::container_statuses}}};
        return object<KubeReader, PodDraft>(value, draft, kRules);
    }

    // What can be judged only when all of a pod was read.
    bool check_names(const PodDraft& draft) {
        for (const Container& container : draft.containers) {
            const auto same = [&](const Container& init) { return init.name == container.name; };
            if (std::any_of(draft.init_containers.begin(), draft.init_containers.end(), same)) {
                return fail_here("spec: a container and an init container are called {}",
                                 in_quotes(container.name));
            }
        }
        return true;
    }

    static Pod finish(PodDraft draft) {
        draft.name = draft.name.empty() ? draft.generate_name : draft.name;
        for (const auto& [name, state] : draft.states) {
            for (auto* containers : {&draft.init_containers, &draft.containers}) {
                for (Container& container : *containers) {
                    container.state = container.name == name ? state : container.state;
                }
            }
        }
        for (VolumeDraft& volume : draft.volumes) {
            draft.asked.claims.push_back(
                {volume.ephemeral ? draft.name + '-' + volume.name : std::move(volume.claim),
                 volume.ephemeral});
        }
        if (draft.asked != PodRules()) {
            draft.rules = std::make_shared<const PodRules>(std::move(draft.asked));
        }
        return std::move(static_cast<Pod&>(draft));
    }

    static constexpr std::array<KubeRule<PodDraft>, 4> pod_rules() {
        return {{{"kind", nullptr},
                 {"metadata", &KubeReader::pod_metadata},
                 {"spec", &KubeReader::pod_spec},
                 {"status", &KubeReader::pod_status}}};
    }
    bool whole_pod(JsonItem found, Pod& out) {
        static constexpr auto kRules = pod_rules();
        PodDraft draft;
        if (!object<KubeReader, PodDraft>(found, draft, kRules) || !check_names(draft)) {
            return false;
        }
        out = finish(std::move(draft));
        if (out.name.empty()) {
            return fail_here("metadata.name is missing");
        }
        return !out.containers.empty() || fail_here("spec.containers: a pod has at least one");
    }

    bool outline_spec(JsonItem value, PodDraft& draft) {
        static constexpr std::array<KubeRule<PodDraft>, 1> kRules{
            {{"nodeName", &KubeReader::text_of<&PodDraft::node_name>}}};
        return object<KubeReader, PodDraft>(value, draft, kRules);
    }
    bool outline(JsonItem found, Pod& out) {
        static constexpr std::array<KubeRule<PodDraft>, 2> kRules{
            {{"metadata", &KubeReader::pod_metadata}, {"spec", &KubeReader::outline_spec}}};
        PodDraft draft;
        if (!object<KubeReader, PodDraft>(found, draft, kRules)) {
            return false;
        }
        out = finish(std::move(draft));
        return !out.name.empty() || fail_here("metadata.name is missing");
    }

    // --- controllers

    bool template_of(JsonItem value, ControllerDraft& draft) {
        static constexpr auto kRules = pod_rules();
        return object<KubeReader, PodDraft>(value, draft.inner, kRules);
    }
    bool controller_metadata(JsonItem value, ControllerDraft& draft) {
        return pod_metadata(value, draft.meta);
    }
    bool controller_replicas(JsonItem value, ControllerDraft& draft) {
        return count(value, draft.replicas);
    }
    bool controller_completions(JsonItem value, ControllerDraft& draft) {
        return count(value, draft.completions);
    }
    bool controller_spec(JsonItem value, ControllerDraft& draft) {
        static constexpr std::array<KubeRule<ControllerDraft>, 4> kRules{
            {{"replicas", &KubeReader::controller_replicas},
             {"parallelism", &KubeReader::controller_replicas},
             {"completions", &KubeReader::controller_completions},
             {"template", &KubeReader::template_of}}};
        return object<KubeReader, ControllerDraft>(value, draft, kRules);
    }
    // A CronJob makes Jobs.
    bool job_template(JsonItem value, ControllerDraft& draft) {
        static constexpr std::array<KubeRule<ControllerDraft>, 1> kRules{
            {{"spec", &KubeReader::controller_spec}}};
        return object<KubeReader, ControllerDraft>(value, draft, kRules);
    }
    bool cron_spec(JsonItem value, ControllerDraft& draft) {
        static constexpr std::array<KubeRule<ControllerDraft>, 1> kRules{
            {{"jobTemplate", &KubeReader::job_template}}};
        return object<KubeReader, ControllerDraft>(value, draft, kRules);
    }
    bool read_controller(JsonItem found, bool cron, ControllerDraft& draft) {
        const std::array<KubeRule<ControllerDraft>, 3> rules{
            {{"kind", nullptr},
             {"metadata", &KubeReader::controller_metadata},
             {"spec", cron ? &KubeReader::cron_spec : &KubeReader::controller_spec}}};
        return object<KubeReader, ControllerDraft>(found, draft, rules) && check_names(draft.inner);
    }
    bool controller(JsonItem found, std::string kind, KubeObjects& out) {
        ControllerDraft draft;
        const bool cron = kind == "CronJob";
        if (!read_controller(found, cron, draft)) {
            return false;
        }
        PodSet set;
        set.pod = finish(std::move(draft.inner));
        set.pod.name = draft.meta.name.empty() ? draft.meta.generate_name : draft.meta.name;
        set.pod.space = draft.meta.space;
        set.count = std::min(draft.replicas, draft.completions);
        set.kind = std::move(kind);
        if (set.pod.name.empty()) {
            return fail_here("metadata.name is missing");
        }
        if (set.pod.containers.empty()) {
            return fail_here("spec.{}template.spec.containers: a pod has at least one",
                             cron ? "jobTemplate.spec." : "");
        }
        out.pods.push_back(std::move(set));
        return true;
    }

    // --- nodes

    bool node_metadata(JsonItem value, Node& node) {
        static constexpr std::array<KubeRule<Node>, 3> kRules{
            {{"name", &KubeReader::text_of<&Node::name>},
             {"labels", &KubeReader::strings_of<&Node::labels>},
             {"annotations", &KubeReader::strings_of<&Node::annotations>}}};
        return object<KubeReader, Node>(value, node, kRules);
    }
    bool node_unschedulable(JsonItem value, Node& node) { return truth(value, node.unschedulable); }
    bool node_taints(JsonItem value, Node& node) { return taints(value, node.taints); }
    bool node_spec(JsonItem value, Node& node) {
        static constexpr std::array<KubeRule<Node>, 2> kRules{
            {{"unschedulable", &KubeReader::node_unschedulable},
             {"taints", &KubeReader::node_taints}}};
        return object<KubeReader, Node>(value, node, kRules);
    }
    bool node_conditions(JsonItem value, Node& node) {
        static constexpr std::array<KubeRule<ConditionDraft>, 2> kRules{
            {{"type", &KubeReader::text_of<&ConditionDraft::type>},
             {"status", &KubeReader::text_of<&ConditionDraft::status>}}};
        return list(value, [&](JsonItem item) {
            ConditionDraft condition;
            if (!object<KubeReader, ConditionDraft>(item, condition, kRules)) {
                return false;
            }
            if (condition.type == "Ready") {
                node.ready = condition.status == "True";
            }
            return true;
        });
    }
    bool node_addresses(JsonItem value, Node& node) {
        static constexpr std::array<KubeRule<AddressDraft>, 2> kRules{
            {{"type", &KubeReader::text_of<&AddressDraft::type>},
             {"address", &KubeReader::text_of<&AddressDraft::address>}}};
        return list(value, [&](JsonItem item) {
            AddressDraft draft;
            if (!object<KubeReader, AddressDraft>(item, draft, kRules)) {
                return false;
            }
            if (draft.type == "InternalIP" && node.address.empty()) {
                node.address = std::move(draft.address);
            }
            return true;
        });
    }
    bool node_status(JsonItem value, Node& node) {
        static constexpr std::array<KubeRule<Node>, 4> kRules{
            {{"addresses", &KubeReader::node_addresses},
             {"capacity", &KubeReader::amounts_of<&Node::capacity>},
             {"allocatable", &KubeReader::amounts_of<&Node::allocatable>},
             {"conditions", &KubeReader::node_conditions}}};
        return object<KubeReader, Node>(value, node, kRules);
    }
    bool whole_node(JsonItem found, Node& out) {
        static constexpr std::array<KubeRule<Node>, 4> kRules{
            {{"kind", nullptr},
             {"metadata", &KubeReader::node_metadata},
             {"spec", &KubeReader::node_spec},
             {"status", &KubeReader::node_status}}};
        return object<KubeReader, Node>(found, out, kRules) &&
               (!out.name.empty() || fail_here("metadata.name is missing"));
    }

    // --- config maps, lists, and what kind it is

    bool config_metadata(JsonItem value, ConfigMap& map) {
        PodDraft meta;
        if (!pod_metadata(value, meta)) {
            return false;
        }
        map.name = meta.name;
        map.space = meta.space;
        return true;
    }
    bool config_map(JsonItem found, ConfigMap& out) {
        static constexpr std::array<KubeRule<ConfigMap>, 3> kRules{
            {{"kind", nullptr},
             {"metadata", &KubeReader::config_metadata},
             {"data", &KubeReader::strings_of<&ConfigMap::data>}}};
        return object<KubeReader, ConfigMap>(found, out, kRules);
    }

    bool items(JsonItem found, std::string_view kind, int depth, KubeObjects& out) {
        if (depth >= kListDepthMax) {
            return fail_here("lists within lists are accepted up to a depth of {}", kListDepthMax);
        }
        const std::string inner(kind.substr(0, kind.size() - std::string_view("List").size()));
        bool seen = false;
        return members(found, [&](std::string_view key, JsonItem value) {
            if (key != "items") {
                return true;
            }
            if (seen) {
                return fail_here("the key is there twice");
            }
            seen = true;
            return list(value, [&](JsonItem item) { return any(item, inner, depth + 1, out); });
        });
    }

    // Items of a PodList do not say that they are pods: `implied` does.
    bool kind_of(JsonItem& found, std::string_view implied, std::string& kind) {
        if (!peek_text(found, "kind", kind)) {
            return false;
        }
        kind = kind.empty() ? std::string(implied) : kind;
        return !kind.empty() ||
               fail_here("kind is missing: {}, and Node and ConfigMap, are accepted",
                         kinds_with_pods());
    }

    bool any(JsonItem found, std::string_view implied, int depth, KubeObjects& out) {
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
            return config_map(found, out.config_maps.emplace_back());
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
        return members(found, [](std::string_view, JsonItem) { return true; });
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

}  // namespace

std::string kinds_with_pods() {
    return fmt::format("Pod, SharePod, {} and lists of them", fmt::join(kControllers, ", "));
}

Expected<KubeObjects> read_kube_json(std::string_view text) { return read_one<KubeObjects>(text); }
Expected<Pod> read_pod_json(std::string_view text) { return read_one<Pod>(text); }
Expected<Node> read_node_json(std::string_view text) { return read_one<Node>(text); }
Expected<ConfigMap> read_config_map_json(std::string_view text) {
    return read_one<ConfigMap>(text);
}
Expected<Pod> read_pod_outline_json(std::string_view text) {
    KubeReader reader;
    Pod result;
    if (!reader.read_outline(text, result)) {
        return fail(ErrorKind::invalid, "{}", reader.take_error().to_string());
    }
    return result;
}

tl::expected<KubeObjects, JsonError> locate_kube_json(std::string_view text) {
    KubeReader reader;
    KubeObjects result;
    if (!reader.read(text, result)) {
        return tl::unexpected(reader.take_error());
    }
    return result;
}

}  // namespace tessera
