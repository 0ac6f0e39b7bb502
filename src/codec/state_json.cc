#include "codec/state_json.h"

#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/text.h"
#include "codec/constraint_json.h"
#include "codec/device_json.h"
#include "codec/json_value.h"
#include "codec/spare_json.h"
#include "model/model_name.h"

namespace tessera {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kAmountMax = std::int64_t{1} << 40;
constexpr std::int64_t kGpuMemoryMax = std::int64_t{1} << 30;
constexpr std::int64_t kMilliMax = 16'000;
constexpr std::size_t kGrantsMax = 1024;

using Items = std::vector<JsonValue>;

std::string at(std::string_view list, std::size_t i) { return fmt::format("{}[{}]", list, i); }

class Reader {
  public:
    explicit Reader(Vocabulary& names) : names_(names) {}

    Expected<ClusterState> read(const JsonValue& root) {
        TESSERA_TRY(JsonObject object, JsonObject::of(root, ""));
        TESSERA_CHECK(object.number("version", {kVersion, kVersion, 0}, true));
        ClusterState state;
        TESSERA_TRY(state.policy, object.text("policy", false));
        TESSERA_TRY(state.seed, seed(object));
        TESSERA_TRY(const Items* models, object.array("models"));
        TESSERA_TRY(const Items* nodes, object.array("nodes"));
        TESSERA_TRY(const Items* demands, object.array("demands"));
        TESSERA_TRY(const Items* pods, object.array("pods"));
        TESSERA_TRY(const Items* history, object.array("history"));
        TESSERA_TRY(const Items* census, object.array("census"));
        TESSERA_TRY(const Items* mix, object.array("mix"));
        TESSERA_TRY(const Items* draws, object.array("draws"));
        TESSERA_CHECK(object.done());
        if (nodes == nullptr) {
            return fail(ErrorKind::invalid, "nodes is missing: a list of nodes is needed");
        }
        for (std::size_t i = 0; models != nullptr && i < models->size(); ++i) {
            TESSERA_CHECK(read_model((*models)[i], at("models", i)));
        }
        TESSERA_CHECK(read_nodes(*nodes, state));
        filters_ = state.filters.get();
        TESSERA_CHECK(read_all(demands, "demands", state.demands, &Reader::read_demand));
        for (std::size_t i = 0; pods != nullptr && i < pods->size(); ++i) {
            TESSERA_TRY(PodState pod, read_pod((*pods)[i], at("pods", i), state));
            if (!pod_names_.insert(pod.name).second) {
                return fail(ErrorKind::invalid, "pods[{}].name: {} is there twice", i,
                            in_quotes(pod.name));
            }
            state.pods.push_back(std::move(pod));
        }
        TESSERA_CHECK(read_history(history, state));
        TESSERA_TRY(state.census, counts("census", census));
        TESSERA_TRY(state.mix, counts("mix", mix));
        if (!state.mix.empty() && state.mix.size() != state.demands.size()) {
            return fail(ErrorKind::invalid,
                        "mix: {} numbers are not accepted: one for each of the {} demands are",
                        state.mix.size(), state.demands.size());
        }
        TESSERA_CHECK(read_draws(draws, state));
        return state;
    }

  private:
    static Expected<std::uint64_t> seed(JsonObject& object) {
        TESSERA_TRY(const std::string text, object.text("seed", false));
        std::uint64_t seed = 42;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, seed);
        if (!text.empty() && (error != std::errc() || stop != end)) {
            return fail(ErrorKind::invalid, "seed: {} is not accepted: a whole number in quotes is",
                        in_quotes(text));
        }
        return seed;
    }

    // A demand leaves no more often than it has come.
    static Expected<void> read_history(const Items* events, ClusterState& state) {
        const auto most = static_cast<std::int64_t>(state.demands.size());
        std::vector<std::int64_t> here(state.demands.size(), 0);
        for (std::size_t i = 0; events != nullptr && i < events->size(); ++i) {
            if (most == 0) {
                return fail(ErrorKind::invalid, "{}: {} names a demand, and there are none",
                            at("history", i), describe((*events)[i]));
            }
            TESSERA_TRY(const std::int64_t event,
                        whole_number((*events)[i], at("history", i), -most, most - 1));
            std::int64_t& count = here[static_cast<std::size_t>(event >= 0 ? event : -1 - event)];
            count += event >= 0 ? 1 : -1;
            if (count < 0) {
                return fail(ErrorKind::invalid,
                            "{}: {} is not accepted: demand {} leaves more often than it has come",
                            at("history", i), event, -1 - event);
            }
            state.history.push_back(static_cast<std::int32_t>(event));
        }
        return {};
    }

    static Expected<std::vector<std::int64_t>> counts(std::string_view list, const Items* items) {
        std::vector<std::int64_t> numbers;
        for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
            TESSERA_TRY(const std::int64_t number,
                        whole_number((*items)[i], at(list, i), 0, kAmountMax));
            numbers.push_back(number);
        }
        return numbers;
    }

    // Four words of 64 bits, as text. All 0 is where no generator stands.
    static Expected<void> read_draws(const Items* items, ClusterState& state) {
        if (items == nullptr) {
            return {};
        }
        std::array<std::uint64_t, 4> words{};
        bool good = items->size() == words.size();
        for (std::size_t i = 0; good && i < words.size(); ++i) {
            const JsonValue& item = (*items)[i];
            const char* end = item.text.data() + item.text.size();
            const auto [stop, error] = std::from_chars(item.text.data(), end, words[i]);
            good = item.kind == JsonValue::Kind::string && error == std::errc() && stop == end;
        }
        if (!good || words == std::array<std::uint64_t, 4>{}) {
            return fail(ErrorKind::invalid,
                        "draws: this list is not accepted: four whole numbers of 64 bits in "
                        "quotes, not all of them 0, are");
        }
        state.draws = words;
        return {};
    }

    template <class T>
    Expected<void> read_all(const Items* items, std::string_view list, std::vector<T>& out,
                            Expected<T> (Reader::*item)(const JsonValue&, std::string)) {
        for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
            TESSERA_TRY(T value, (this->*item)((*items)[i], at(list, i)));
            out.push_back(std::move(value));
        }
        return {};
    }

    Expected<void> read_nodes(const Items& items, ClusterState& state) {
        std::set<std::string> seen;
        for (std::size_t i = 0; i < items.size(); ++i) {
            TESSERA_TRY(NodeSpec node, read_node(items[i], at("nodes", i)));
            if (!seen.insert(node.name).second) {
                return fail(ErrorKind::invalid, "nodes[{}].name: {} is there twice", i,
                            in_quotes(node.name));
            }
            state.nodes.push_back(std::move(node));
        }
        return {};
    }

    Expected<NodeSpec> read_node(const JsonValue& value, std::string where) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        NodeSpec node;
        TESSERA_TRY(node.name, object.text("name", true));
        TESSERA_TRY(const std::int64_t cpu, object.number("cpuMilli", {0, kAmountMax, 0}, true));
        TESSERA_TRY(const std::int64_t memory,
                    object.number("memoryMib", {0, kAmountMax, 0}, true));
        TESSERA_TRY(const std::int64_t pods, object.number("pods", {0, 1'000'000, 110}));
        TESSERA_TRY(const bool closed, object.boolean("unschedulable"));
        TESSERA_TRY(const Items* gpus, object.array("gpus"));
        TESSERA_TRY(const Items* links, object.array("links"));
        Node described;
        TESSERA_CHECK(read_traits(object, described));
        TESSERA_CHECK(object.done());
        described.name = node.name;
        node.traits = node_traits(described, names_);
        node.cpu = MilliCpu(cpu);
        node.memory = MemoryMib(memory);
        node.pods = static_cast<std::int32_t>(pods);
        node.schedulable = !closed;
        for (std::size_t i = 0; gpus != nullptr && i < gpus->size(); ++i) {
            TESSERA_CHECK(read_gpus((*gpus)[i], at(object.where() + ".gpus", i), node));
        }
        if (links != nullptr) {
            TESSERA_TRY(node.links,
                        read_links(*links, object.where() + ".links", node.gpus.size()));
        }
        return node;
    }

    // `count` equal devices.
    Expected<void> read_gpus(const JsonValue& value, std::string where, NodeSpec& node) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        TESSERA_TRY(const std::int64_t count, object.number("count", {1, kMaxGpusPerNode, 1}));
        TESSERA_TRY(GpuSpec gpu, read_device(object, DeviceMemory::may_be_unknown, names_));
        TESSERA_TRY(gpu.cell, object.text("cell", false));
        TESSERA_TRY(gpu.parent, object.text("parent", false));
        TESSERA_CHECK(object.done());
        if (!gpu.uuid.empty() && (count > 1 || !uuids_.insert(gpu.uuid).second)) {
            return fail(ErrorKind::invalid, "{}.uuid: {} is there twice: a GPU has one of its own",
                        object.where(), in_quotes(gpu.uuid));
        }
        if (node.gpus.size() + static_cast<std::size_t>(count) > kMaxGpusPerNode) {
            return fail(ErrorKind::invalid, "{}: more than {} GPUs are not accepted",
                        object.where(), kMaxGpusPerNode);
        }
        node.gpus.insert(node.gpus.end(), static_cast<std::size_t>(count), gpu);
        return {};
    }

    Expected<Demand> read_demand(const JsonValue& value, std::string where) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        Demand demand;
        TESSERA_TRY(const std::int64_t cpu, object.number("cpuMilli", {0, kAmountMax, 0}));
        TESSERA_TRY(const std::int64_t memory, object.number("memoryMib", {0, kAmountMax, 0}));
        TESSERA_TRY(const Items* models, object.array("models"));
        TESSERA_TRY(const std::size_t service,
                    object.word("service", {"guaranteed", "opportunistic", "latency"}));
        TESSERA_TRY(const std::size_t isolation,
                    object.word("isolation", {"none", "hook", "mps", "mig", "exclusive"}));
        TESSERA_TRY(const std::int64_t priority,
                    object.number("priority", {INT32_MIN, INT32_MAX, 0}));
        TESSERA_TRY(const bool no_new, object.boolean("toleratesNoNew"));
        TESSERA_TRY(const bool evict, object.boolean("toleratesEvict"));
        demand.tolerates = evict ? Health::evict : no_new ? Health::no_new : Health::ok;
        TESSERA_TRY(demand.admin_access, object.boolean("adminAccess"));
        TESSERA_TRY(const std::string app, object.text("app", false));
        TESSERA_TRY(demand.gang, read_gang(object));
        TESSERA_TRY(const Items* alternatives, object.array("alternatives"));
        TESSERA_TRY(const NodeConstraints constraints, read_constraints(object));
        TESSERA_CHECK(object.done());
        demand.filter = filters_->intern(node_filter(constraints, names_));
        demand.cpu = MilliCpu(cpu);
        demand.memory = MemoryMib(memory);
        demand.service = static_cast<ServiceClass>(service);
        demand.isolation = static_cast<Isolation>(isolation);
        demand.priority = static_cast<std::int32_t>(priority);
        demand.app = app.empty() ? AppIndex::none() : names_.apps.intern(app);
        for (std::size_t i = 0; models != nullptr && i < models->size(); ++i) {
            TESSERA_TRY(const ModelIndex model,
                        read_model((*models)[i], at(object.where() + ".models", i)));
            demand.models.push_back(model);
        }
        if (alternatives != nullptr && alternatives->size() > kMaxAlternatives) {
            return fail(ErrorKind::invalid, "{}.alternatives: {} are not accepted: up to {} are",
                        object.where(), alternatives->size(), kMaxAlternatives);
        }
        for (std::size_t i = 0; alternatives != nullptr && i < alternatives->size(); ++i) {
            TESSERA_TRY(
                Alternative alternative,
                read_alternative((*alternatives)[i], at(object.where() + ".alternatives", i)));
            demand.alternatives.push_back(std::move(alternative));
        }
        return demand;
    }

    Expected<ModelIndex> read_model(const JsonValue& model, const std::string& where) {
        if (model.kind != JsonValue::Kind::string || model.text.empty()) {
            return fail(ErrorKind::invalid, "{}: {} is not accepted: the name of a model is", where,
                        describe(model));
        }
        auto index = intern_model(model.text, names_.models);
        if (!index) {
            return tl::unexpected(std::move(index.error()).within(where));
        }
        return *index;
    }

    Expected<std::optional<Gang>> read_gang(JsonObject& object) {
        const JsonValue* value = object.find("gang");
        if (value == nullptr) {
            return std::nullopt;
        }
        TESSERA_TRY(JsonObject inner, JsonObject::of(*value, object.where() + ".gang"));
        TESSERA_TRY(const std::string group, inner.text("group", true));
        TESSERA_TRY(const std::int64_t size, inner.number("size", {1, INT32_MAX, 1}, true));
        TESSERA_TRY(const std::int64_t minimum, inner.number("minimum", {1, size, size}));
        TESSERA_CHECK(inner.done());
        return Gang{names_.groups.intern(group), static_cast<std::int32_t>(size),
                    static_cast<std::int32_t>(minimum)};
    }

    Expected<Alternative> read_alternative(const JsonValue& value, std::string where) {
        if (value.kind != JsonValue::Kind::array || value.items.empty() ||
            value.items.size() > kGrantsMax) {
            return fail(ErrorKind::invalid, "{}: {} is not accepted: a list of 1 to {} requests is",
                        where, describe(value), kGrantsMax);
        }
        Alternative alternative;
        TESSERA_CHECK(read_all(&value.items, where, alternative.requests, &Reader::read_request));
        return alternative;
    }

    Expected<GpuRequest> read_request(const JsonValue& value, std::string where) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        GpuRequest request;
        TESSERA_TRY(const std::string name, object.text("name", false));
        TESSERA_TRY(const std::int64_t gpus, object.number("gpus", {1, kMaxGpusPerNode, 1}));
        TESSERA_TRY(const std::int64_t milli, object.number("milli", {0, 1000, 1000}));
        TESSERA_TRY(const std::int64_t limit, object.number("limitMilli", {0, kMilliMax, 1000}));
        TESSERA_TRY(const std::int64_t memory, object.number("memoryMib", {0, kGpuMemoryMax, 0}));
        TESSERA_TRY(const std::int64_t bytes,
                    object.number("memoryBytes", {0, kGpuMemoryMax * kBytesPerMib, 0}));
        TESSERA_TRY(const std::int64_t ppm, object.number("memoryPpm", {0, kWholeMemoryPpm, 0}));
        TESSERA_TRY(const std::size_t rule, object.word("rule", {"none", "same", "distinct"}));
        TESSERA_TRY(const std::size_t attribute,
                    object.word("ruleAttribute", {"numa", "link", "parent"}));
        TESSERA_TRY(request.spare, read_spare(object));
        TESSERA_CHECK(object.done());
        request.name = name.empty() ? RequestIndex::none() : names_.requests.intern(name);
        request.gpus = static_cast<std::uint16_t>(gpus);
        request.milli = MilliGpu(static_cast<std::int32_t>(milli));
        request.limit = MilliGpu(static_cast<std::int32_t>(limit));
        request.memory = MemoryMib(memory);
        request.memory_bytes = Bytes(bytes);
        request.memory_ppm = static_cast<std::int32_t>(ppm);
        request.rule = static_cast<GroupRule>(rule);
        if (request.rule != GroupRule::none) {
            request.rule_attribute = AttributeIndex(static_cast<std::uint8_t>(attribute));
        }
        return request;
    }

    // The place of one of `count` demands or nodes.
    static Expected<std::int64_t> place_in(JsonObject& object, std::string_view key,
                                           std::int64_t count) {
        if (count == 0) {
            return fail(ErrorKind::invalid, "{}.{}: it names one of {}s, which is an empty list",
                        object.where(), key, key);
        }
        return object.number(key, {0, count - 1, 0}, true);
    }

    Expected<PodState> read_pod(const JsonValue& value, std::string where,
                                const ClusterState& state) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        PodState pod;
        TESSERA_TRY(pod.name, object.text("name", true));
        TESSERA_TRY(const std::int64_t demand,
                    place_in(object, "demand", std::ssize(state.demands)));
        const JsonValue* placement = object.find("placement");
        TESSERA_CHECK(object.done());
        pod.demand = static_cast<std::uint32_t>(demand);
        if (placement != nullptr) {
            TESSERA_TRY(pod.placement,
                        read_placement(*placement, object.where() + ".placement", state));
        }
        return pod;
    }

    Expected<Placement> read_placement(const JsonValue& value, std::string where,
                                       const ClusterState& state) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        Placement placement;
        TESSERA_TRY(const std::int64_t node, place_in(object, "node", std::ssize(state.nodes)));
        TESSERA_TRY(const std::int64_t cpu, object.number("cpuMilli", {0, kAmountMax, 0}));
        TESSERA_TRY(const std::int64_t memory, object.number("memoryMib", {0, kAmountMax, 0}));
        TESSERA_TRY(const std::int64_t pods, object.number("pods", {0, 255, 1}));
        TESSERA_TRY(const std::int64_t alternative, object.number("alternative", {0, 255, 0}));
        TESSERA_TRY(placement.admin_access, object.boolean("adminAccess"));
        TESSERA_TRY(const Items* grants, object.array("grants"));
        TESSERA_CHECK(object.done());
        placement.node = NodeIndex(static_cast<std::uint32_t>(node));
        placement.cpu = MilliCpu(cpu);
        placement.memory = MemoryMib(memory);
        placement.pods = static_cast<std::uint8_t>(pods);
        placement.alternative = static_cast<std::uint8_t>(alternative);
        if (grants != nullptr && grants->size() > kGrantsMax) {
            return fail(ErrorKind::invalid, "{}.grants: {} are not accepted: up to {} are",
                        object.where(), grants->size(), kGrantsMax);
        }
        for (std::size_t i = 0; grants != nullptr && i < grants->size(); ++i) {
            TESSERA_TRY(const DeviceGrant grant,
                        read_grant((*grants)[i], at(object.where() + ".grants", i)));
            const NodeSpec& on = state.nodes[static_cast<std::size_t>(node)];
            if (grant.gpu.slot() >= on.gpus.size()) {
                return fail(ErrorKind::invalid,
                            "{}.grants[{}].gpu: {} is not accepted: node {} has {} GPUs",
                            object.where(), i, grant.gpu.value(), in_quotes(on.name),
                            on.gpus.size());
            }
            placement.grants.push_back(grant);
        }
        return placement;
    }

    Expected<DeviceGrant> read_grant(const JsonValue& value, std::string where) {
        TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
        DeviceGrant grant;
        TESSERA_TRY(const std::string request, object.text("request", false));
        TESSERA_TRY(const std::int64_t gpu,
                    object.number("gpu", {0, kMaxGpusPerNode - 1, 0}, true));
        TESSERA_TRY(const std::int64_t milli, object.number("milli", {0, kMilliMax, 0}));
        TESSERA_TRY(const std::int64_t memory, object.number("memoryMib", {0, kGpuMemoryMax, 0}));
        TESSERA_TRY(grant.spare, read_spare(object));
        TESSERA_CHECK(object.done());
        grant.request = request.empty() ? RequestIndex::none() : names_.requests.intern(request);
        grant.gpu = GpuIndex(static_cast<std::uint8_t>(gpu));
        grant.milli = MilliGpu(static_cast<std::int32_t>(milli));
        grant.memory = MemoryMib(memory);
        return grant;
    }

    Vocabulary& names_;
    FilterTable* filters_ = nullptr;  // of the state that is read
    std::set<std::string> pod_names_;
    std::set<std::string> uuids_;
};

}  // namespace

Expected<ClusterState> read_state_json(std::string_view text, Vocabulary& names) {
    const std::string_view begin = without_byte_order_mark(text);
    const std::size_t first = begin.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || begin[first] != '{') {
        return fail(ErrorKind::invalid,
                    "{}: a state is a JSON object, as tessera sim --state writes it",
                    first == std::string_view::npos ? "the file is empty" : "this is not a state");
    }
    auto root = parse_json(text);
    if (!root) {
        const auto fault = json_fault(text);
        return fault ? tl::unexpected(std::move(root.error())
                                          .within(fmt::format("line {}: column {}", fault->line,
                                                              fault->column)))
                     : tl::unexpected(std::move(root.error()));
    }
    return Reader(names).read(*root);
}

}  // namespace tessera
