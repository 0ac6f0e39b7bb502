#include "codec/node_spec.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "codec/trace_csv.h"
#include "model/gpu_models.h"
#include "model/model_name.h"

namespace tessera {

namespace {

constexpr std::int64_t kCoresMax = 1'000'000;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 40;
constexpr std::int64_t kGpuMemoryMibMax = std::int64_t{1} << 30;
constexpr std::string_view kForm =
    "an item is [COUNTx]GPUSgCOREScMEMORYGi[:MODEL][@GPUMEMORYGi], for example "
    "64x8g96c768Gi:A100@40Gi";

// Takes digits off the front; nothing when there are none or too many.
std::optional<std::int64_t> take_number(std::string_view& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc{} || text.empty() || text.front() == '-') {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return value;
}

bool take(std::string_view& text, std::string_view word) {
    if (!text.starts_with(word)) {
        return false;
    }
    text.remove_prefix(word.size());
    return true;
}

// "768Gi" in mebibytes; nothing when there is none, or too much.
std::optional<std::int64_t> take_memory(std::string_view& text, std::int64_t most) {
    const auto number = take_number(text);
    const std::int64_t unit = take(text, "Mi")   ? 1
                              : take(text, "Gi") ? 1024
                              : take(text, "Ti") ? 1024 * 1024
                                                 : 0;
    if (!number || unit == 0 || *number > most / unit) {
        return std::nullopt;
    }
    return *number * unit;
}

struct Item {
    std::int64_t count = 1;
    std::int64_t gpus = 0;
    std::int64_t cores = 0;
    std::int64_t memory_mib = 0;
    std::string_view model;
    std::int64_t gpu_memory_mib = 0;  // 0: unknown

    bool alike(const Item& other) const {
        return gpus == other.gpus && cores == other.cores && memory_mib == other.memory_mib &&
               model == other.model && gpu_memory_mib == other.gpu_memory_mib;
    }
};

std::int64_t usual_mib(std::string_view model) {
    return usual_memory(model).value_or(MemoryMib(0)).value();
}

Expected<Item> parse_item(std::string_view text) {
    const std::string_view whole = text;
    const auto wrong = [&](std::string_view what) {
        return fail(ErrorKind::invalid, "--nodes: {}: {}; {}", in_quotes(whole), what, kForm);
    };
    Item item;
    auto number = take_number(text);
    if (number && take(text, "x")) {
        item.count = *number;
        number = take_number(text);
    }
    if (!number || !take(text, "g")) {
        return wrong("expected the number of GPUs and g");
    }
    item.gpus = *number;
    number = take_number(text);
    if (!number || !take(text, "c")) {
        return wrong("expected the number of cores and c");
    }
    item.cores = *number;
    const auto memory = take_memory(text, kMemoryMibMax);
    if (!memory) {
        return wrong("expected the memory as a whole number of Mi, Gi or Ti");
    }
    item.memory_mib = *memory;
    if (take(text, ":")) {
        item.model = text.substr(0, text.find('@'));
        if (item.model.empty()) {
            return wrong("the model after the colon is empty");
        }
        text.remove_prefix(item.model.size());
    }
    item.gpu_memory_mib = usual_mib(item.model);
    if (take(text, "@")) {
        const auto gpu_memory = take_memory(text, kGpuMemoryMibMax);
        if (!gpu_memory) {
            return wrong("expected a GPU's memory after @ as a whole number of Mi, Gi or Ti");
        }
        item.gpu_memory_mib = *gpu_memory;
    }
    if (!text.empty()) {
        return wrong(fmt::format("{} is left over", in_quotes(text)));
    }
    return item;
}

Expected<void> check_item(const Item& item, std::size_t nodes_so_far) {
    const auto room = static_cast<std::int64_t>(kNodeSpecNodesMax - nodes_so_far);
    if (item.count < 1) {
        return fail(ErrorKind::invalid, "--nodes: a count of {} is not accepted; 1 or more is",
                    item.count);
    }
    if (item.count > room) {
        return fail(ErrorKind::invalid,
                    "--nodes: a count of {} makes more nodes than the {} in all that are accepted",
                    item.count, kNodeSpecNodesMax);
    }
    if (item.gpus > kMaxGpusPerNode) {
        return fail(ErrorKind::invalid, "--nodes: {} GPUs on a node; 0 to {} are possible",
                    item.gpus, kMaxGpusPerNode);
    }
    if (item.cores < 1 || item.cores > kCoresMax) {
        return fail(ErrorKind::invalid, "--nodes: {} cores on a node; 1 to {} are possible",
                    item.cores, kCoresMax);
    }
    return {};
}

Item item_of(const NodeSpec& node, const Interner<ModelIndex>& models) {
    Item item;
    item.gpus = static_cast<std::int64_t>(node.gpus.size());
    item.cores = node.cpu.value() / 1000;
    item.memory_mib = node.memory.value();
    if (!node.gpus.empty()) {
        const GpuSpec& gpu = node.gpus.front();
        item.model = gpu.model.valid() ? models.name(gpu.model) : "";
        item.gpu_memory_mib = gpu.memory.value();
    }
    return item;
}

std::string memory_text(std::int64_t mib) {
    return mib % 1024 == 0 ? fmt::format("{}Gi", mib / 1024) : fmt::format("{}Mi", mib);
}

std::string format_item(const Item& item) {
    std::string text = item.count == 1 ? "" : fmt::format("{}x", item.count);
    text += fmt::format("{}g{}c{}", item.gpus, item.cores, memory_text(item.memory_mib));
    if (!item.model.empty()) {
        text += fmt::format(":{}", item.model);
    }
    if (item.gpus > 0 && item.gpu_memory_mib != usual_mib(item.model)) {
        text += fmt::format("@{}", memory_text(item.gpu_memory_mib));
    }
    return text;
}

}  // namespace

Expected<std::vector<NodeSpec>> parse_node_spec(std::string_view text,
                                                Interner<ModelIndex>& models) {
    std::vector<NodeSpec> nodes;
    while (true) {
        const std::size_t comma = text.find(',');
        TESSERA_TRY(const Item item, parse_item(text.substr(0, comma)));
        TESSERA_CHECK(check_item(item, nodes.size()));
        NodeSpec node;
        node.cpu = MilliCpu(item.cores * 1000);
        node.memory = MemoryMib(item.memory_mib);
        node.pods = kTracePodsPerNode;
        GpuSpec gpu;
        gpu.memory = MemoryMib(item.gpu_memory_mib);
        if (!item.model.empty()) {
            TESSERA_TRY(gpu.model, intern_model(item.model, models, kTraceModelsMax));
        }
        node.gpus.assign(static_cast<std::size_t>(item.gpus), gpu);
        for (std::int64_t i = 0; i < item.count; ++i) {
            node.name = fmt::format("node-{:05}", nodes.size());
            nodes.push_back(node);
        }
        if (comma == std::string_view::npos) {
            return nodes;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string format_node_spec(const std::vector<NodeSpec>& nodes,
                             const Interner<ModelIndex>& models) {
    std::string text;
    Item run;
    run.count = 0;
    const auto flush = [&] {
        if (run.count > 0) {
            text += text.empty() ? "" : ",";
            text += format_item(run);
        }
    };
    for (const NodeSpec& node : nodes) {
        const Item item = item_of(node, models);
        if (run.count > 0 && item.alike(run)) {
            ++run.count;
            continue;
        }
        flush();
        run = item;
    }
    flush();
    return text;
}

bool looks_like_node_spec(std::string_view text) {
    if (text.empty() || text.front() < '0' || text.front() > '9') {
        return false;
    }
    return text.find('/') == std::string_view::npos && !text.ends_with(".csv") &&
           !text.ends_with(".gz");
}

}  // namespace tessera
