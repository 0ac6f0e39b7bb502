#include "codec/node_spec.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "codec/trace_csv.h"

namespace tessera {

namespace {

constexpr std::int64_t kCoresMax = 1'000'000;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 40;
constexpr std::string_view kForm =
    "an item is [COUNTx]GPUSgCOREScMEMORYGi[:MODEL], for example 64x8g96c768Gi:A100";

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

// Mebibytes per unit; 0 when the text does not start with one.
std::int64_t take_memory_unit(std::string_view& text) {
    if (take(text, "Mi")) {
        return 1;
    }
    if (take(text, "Gi")) {
        return 1024;
    }
    return take(text, "Ti") ? 1024 * 1024 : 0;
}

struct Item {
    std::int64_t count = 1;
    std::int64_t gpus = 0;
    std::int64_t cores = 0;
    std::int64_t memory_mib = 0;
    std::string_view model;
};

Expected<Item> parse_item(std::string_view text) {
    const std::string_view whole = text;
    const auto wrong = [&](std::string_view what) {
        return fail(ErrorKind::invalid, "nodes: {}: {}; {}", in_quotes(whole), what, kForm);
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
    number = take_number(text);
    const std::int64_t unit = number ? take_memory_unit(text) : 0;
    if (unit == 0 || *number > kMemoryMibMax / unit) {
        return wrong("expected the memory as a whole number of Mi, Gi or Ti");
    }
    item.memory_mib = *number * unit;
    if (take(text, ":")) {
        item.model = text;
        if (text.empty()) {
            return wrong("the model after the colon is empty");
        }
    } else if (!text.empty()) {
        return wrong(fmt::format("{} is left over", in_quotes(text)));
    }
    return item;
}

Expected<void> check_item(const Item& item, std::size_t nodes_so_far) {
    const auto room = static_cast<std::int64_t>(kNodeSpecNodesMax - nodes_so_far);
    if (item.count < 1 || item.count > room) {
        return fail(ErrorKind::invalid, "nodes: a count of {} is not from 1 to {}, {} in all",
                    item.count, room, kNodeSpecNodesMax);
    }
    if (item.gpus > kMaxGpusPerNode) {
        return fail(ErrorKind::invalid, "nodes: {} GPUs on a node; 0 to {} are possible", item.gpus,
                    kMaxGpusPerNode);
    }
    if (item.cores < 1 || item.cores > kCoresMax) {
        return fail(ErrorKind::invalid, "nodes: {} cores on a node; 1 to {} are possible",
                    item.cores, kCoresMax);
    }
    return {};
}

Item item_of(const NodeSpec& node, const Interner<ModelIndex>& models) {
    Item item;
    item.gpus = static_cast<std::int64_t>(node.gpus.size());
    item.cores = node.cpu.value() / 1000;
    item.memory_mib = node.memory.value();
    if (!node.gpus.empty() && node.gpus.front().model.valid()) {
        item.model = models.name(node.gpus.front().model);
    }
    return item;
}

std::string format_item(const Item& item) {
    std::string text = item.count == 1 ? "" : fmt::format("{}x", item.count);
    text += fmt::format("{}g{}c", item.gpus, item.cores);
    if (item.memory_mib % 1024 == 0) {
        text += fmt::format("{}Gi", item.memory_mib / 1024);
    } else {
        text += fmt::format("{}Mi", item.memory_mib);
    }
    return item.model.empty() ? text : fmt::format("{}:{}", text, item.model);
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
        if (!item.model.empty()) {
            TESSERA_TRY(gpu.model, intern_model(models, item.model));
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
        if (run.count > 0 && item.gpus == run.gpus && item.cores == run.cores &&
            item.memory_mib == run.memory_mib && item.model == run.model) {
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
