// The writing half of state_json.h. What has its usual value is left out.
#include "base/json_writer.h"
#include "codec/constraint_json.h"
#include "codec/device_words.h"
#include "codec/state_json.h"

namespace tessera {
namespace {

constexpr std::size_t kEventsPerLine = 40;

class Writer {
  public:
    Writer(const Vocabulary& names, const FilterTable& filters)
        : names_(names), filters_(filters) {}

    std::string node(const NodeSpec& node) {
        json_.begin_object();
        json_.member("name", node.name);
        json_.member("cpuMilli", node.cpu.value());
        json_.member("memoryMib", node.memory.value());
        json_.member("pods", node.pods);
        if (!node.schedulable) {
            json_.member("unschedulable", true);
        }
        if (!node.gpus.empty()) {
            json_.key("gpus");
            gpus(node.gpus);
        }
        if (!node.links.empty()) {
            json_.key("links");
            links(node.links);
        }
        write_traits(node.traits, names_, json_);
        json_.end_object();
        return json_.take();
    }

    std::string demand(const Demand& demand) {
        static constexpr std::string_view kServices[] = {"guaranteed", "opportunistic", "latency"};
        static constexpr std::string_view kIsolations[] = {"none", "hook", "mps", "mig",
                                                           "exclusive"};
        json_.begin_object();
        json_.member("cpuMilli", demand.cpu.value());
        json_.member("memoryMib", demand.memory.value());
        if (!demand.models.empty()) {
            json_.key("models");
            json_.begin_array();
            for (const ModelIndex model : demand.models) {
                json_.value(names_.models.name(model));
            }
            json_.end_array();
        }
        if (demand.service != ServiceClass::guaranteed) {
            json_.member("service", kServices[static_cast<std::size_t>(demand.service)]);
        }
        if (demand.isolation != Isolation::none) {
            json_.member("isolation", kIsolations[static_cast<std::size_t>(demand.isolation)]);
        }
        number("priority", demand.priority, 0);
        flag("toleratesNoNew", demand.tolerates == Health::no_new);
        flag("toleratesEvict", demand.tolerates == Health::evict);
        flag("adminAccess", demand.admin_access);
        if (demand.app.valid()) {
            json_.member("app", names_.apps.name(demand.app));
        }
        if (demand.gang) {
            json_.key("gang");
            json_.begin_object();
            json_.member("group", names_.groups.name(demand.gang->group));
            json_.member("size", demand.gang->size);
            json_.member("minimum", demand.gang->minimum);
            json_.end_object();
        }
        if (!demand.alternatives.empty()) {
            json_.key("alternatives");
            alternatives(demand.alternatives);
        }
        write_constraints(filters_[demand.filter], names_, json_);
        json_.end_object();
        return json_.take();
    }

    std::string pod(const PodState& pod) {
        json_.begin_object();
        json_.member("name", pod.name);
        json_.member("demand", pod.demand);
        if (pod.placement) {
            json_.key("placement");
            placement(*pod.placement);
        }
        json_.end_object();
        return json_.take();
    }

  private:
    void number(std::string_view key, std::int64_t value, std::int64_t usual) {
        if (value != usual) {
            json_.member(key, value);
        }
    }
    void flag(std::string_view key, bool value) {
        if (value) {
            json_.member(key, true);
        }
    }
    void spare(const SpareAmounts& amounts) {
        if (amounts == SpareAmounts{}) {
            return;
        }
        json_.key("spare");
        json_.begin_array();
        for (const std::int64_t amount : amounts) {
            json_.value(amount);
        }
        json_.end_array();
    }

    static bool same(const GpuSpec& a, const GpuSpec& b) {
        return a.uuid.empty() && b.uuid.empty() && a.model == b.model && a.memory == b.memory &&
               a.numa == b.numa && a.health == b.health && a.mode == b.mode && a.slots == b.slots &&
               a.spare == b.spare && a.cell == b.cell && a.parent == b.parent;
    }

    void gpus(const std::vector<GpuSpec>& gpus) {
        json_.begin_array();
        for (std::size_t first = 0; first < gpus.size();) {
            std::size_t next = first + 1;
            while (next < gpus.size() && same(gpus[first], gpus[next])) {
                ++next;
            }
            const GpuSpec& gpu = gpus[first];
            json_.begin_object();
            number("count", static_cast<std::int64_t>(next - first), 1);
            if (!gpu.uuid.empty()) {
                json_.member("uuid", gpu.uuid);
            }
            for (const auto& [key, text] :
                 {std::pair("cell", &gpu.cell), {"parent", &gpu.parent}}) {
                if (!text->empty()) {
                    json_.member(key, *text);
                }
            }
            if (gpu.model.valid()) {
                json_.member("model", names_.models.name(gpu.model));
            }
            json_.member("memoryMib", gpu.memory.value());
            number("numa", gpu.numa, 0);
            number("slots", gpu.slots, 0);
            if (gpu.health != Health::ok) {
                json_.member("health", kHealthWords[static_cast<std::size_t>(gpu.health)]);
            }
            if (gpu.mode != AllocatorMode::annotation) {
                json_.member("allocator", kAllocatorWords[static_cast<std::size_t>(gpu.mode)]);
            }
            spare(gpu.spare);
            json_.end_object();
            first = next;
        }
        json_.end_array();
    }

    void links(const LinkMatrix& links) {
        json_.begin_array();
        for (int a = 0; a < links.gpus(); ++a) {
            for (int b = a + 1; b < links.gpus(); ++b) {
                const Link link = links.at(a, b);
                if (link == Link{}) {
                    continue;
                }
                json_.begin_object();
                json_.member("a", a);
                json_.member("b", b);
                json_.member("level", kLinkWords[static_cast<std::size_t>(link.level)]);
                number("lanes", link.lanes, 0);
                json_.end_object();
            }
        }
        json_.end_array();
    }

    void alternatives(const std::vector<Alternative>& alternatives) {
        json_.begin_array();
        for (const Alternative& alternative : alternatives) {
            json_.begin_array();
            for (const GpuRequest& request : alternative.requests) {
                this->request(request);
            }
            json_.end_array();
        }
        json_.end_array();
    }

    void request(const GpuRequest& request) {
        json_.begin_object();
        if (request.name.valid()) {
            json_.member("name", names_.requests.name(request.name));
        }
        json_.member("gpus", request.gpus);
        json_.member("milli", request.milli.value());
        number("limitMilli", request.limit.value(), 1000);
        number("memoryMib", request.memory.value(), 0);
        number("memoryBytes", request.memory_bytes.value(), 0);
        number("memoryPpm", request.memory_ppm, 0);
        if (request.rule != GroupRule::none) {
            json_.member("rule", request.rule == GroupRule::same ? "same" : "distinct");
            json_.member("ruleAttribute", kAttributeWords.at(request.rule_attribute.slot()));
        }
        spare(request.spare);
        json_.end_object();
    }

    void placement(const Placement& placement) {
        json_.begin_object();
        json_.member("node", placement.node.value());
        json_.member("cpuMilli", placement.cpu.value());
        json_.member("memoryMib", placement.memory.value());
        number("pods", placement.pods, 1);
        number("alternative", placement.alternative, 0);
        flag("adminAccess", placement.admin_access);
        if (!placement.grants.empty()) {
            json_.key("grants");
            json_.begin_array();
            for (const DeviceGrant& grant : placement.grants) {
                json_.begin_object();
                if (grant.request.valid()) {
                    json_.member("request", names_.requests.name(grant.request));
                }
                json_.member("gpu", grant.gpu.value());
                json_.member("milli", grant.milli.value());
                number("memoryMib", grant.memory.value(), 0);
                spare(grant.spare);
                json_.end_object();
            }
            json_.end_array();
        }
        json_.end_object();
    }

    const Vocabulary& names_;
    const FilterTable& filters_;
    JsonWriter json_;
};

// A list with an entry per line.
template <class T, class Write>
void append_list(std::string& out, std::string_view key, const std::vector<T>& items, Write write) {
    out += fmt::format(",\n\"{}\":[", key);
    for (std::size_t i = 0; i < items.size(); ++i) {
        out += i == 0 ? "\n" : ",\n";
        out += write(items[i]);
    }
    out += items.empty() ? "]" : "\n]";
}

// Many to a line.
template <class T>
void append_numbers(std::string& out, std::string_view key, const std::vector<T>& numbers) {
    out += fmt::format(",\n\"{}\":[", key);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        out += i == 0 ? "" : i % kEventsPerLine == 0 ? ",\n" : ",";
        out += fmt::format("{}", numbers[i]);
    }
    out += ']';
}

}  // namespace

std::string write_demand_json(const Demand& demand, const Vocabulary& names,
                              const FilterTable& filters) {
    return Writer(names, filters).demand(demand);
}

std::string write_state_json(const ClusterState& state, const Vocabulary& names) {
    Writer writer(names, *state.filters);
    JsonWriter policy;
    policy.value(state.policy);
    std::string out =
        fmt::format("{{\"version\":1,\"policy\":{},\"seed\":\"{}\"", policy.take(), state.seed);
    if (names.models.size() > 0) {
        std::vector<std::string> models;
        for (std::size_t i = 0; i < names.models.size(); ++i) {
            JsonWriter model;
            model.value(names.models.name(ModelIndex(static_cast<ModelIndex::rep>(i))));
            models.push_back(model.take());
        }
        out += fmt::format(",\n\"models\":[{}]", fmt::join(models, ","));
    }
    append_list(out, "nodes", state.nodes, [&](const NodeSpec& node) { return writer.node(node); });
    append_list(out, "demands", state.demands,
                [&](const Demand& demand) { return writer.demand(demand); });
    append_list(out, "pods", state.pods, [&](const PodState& pod) { return writer.pod(pod); });
    append_numbers(out, "history", state.history);
    if (!state.census.empty()) {
        append_numbers(out, "census", state.census);
    }
    if (!state.mix.empty()) {
        append_numbers(out, "mix", state.mix);
    }
    if (state.draws) {
        out += fmt::format(",\n\"draws\":[\"{}\"]", fmt::join(*state.draws, "\",\""));
    }
    out += "}\n";
    return out;
}

}  // namespace tessera
