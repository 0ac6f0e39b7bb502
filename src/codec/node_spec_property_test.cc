#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "codec/node_spec.h"
#include "codec/trace_csv.h"

namespace tessera {
namespace {

NodeSpec any_node(Interner<ModelIndex>& models) {
    NodeSpec node;
    node.cpu = MilliCpu(*rc::gen::inRange<std::int64_t>(1, 1000) * 1000);
    node.memory = MemoryMib(*rc::gen::inRange<std::int64_t>(1, 1 << 22));
    node.pods = kTracePodsPerNode;
    GpuSpec gpu;
    const auto model = *rc::gen::inRange(0, 4);
    gpu.model = model == 0   ? ModelIndex::none()
                : model == 1 ? models.intern("T4")
                             : models.intern(fmt::format("M{}", model));
    gpu.memory = MemoryMib(*rc::gen::element<std::int64_t>(0, 1, 15109, 81920));
    node.gpus.assign(*rc::gen::inRange<std::size_t>(1, kMaxGpusPerNode + 1), gpu);
    return node;
}

bool alike(const NodeSpec& a, const NodeSpec& b) {
    return a.cpu == b.cpu && a.memory == b.memory && a.gpus.size() == b.gpus.size() &&
           (a.gpus.empty() ||
            (a.gpus[0].model == b.gpus[0].model && a.gpus[0].memory == b.gpus[0].memory));
}

RC_GTEST_PROP(NodeSpecProperty, FormatThenParseGivesTheNodesBack, ()) {
    Interner<ModelIndex> models;
    std::vector<NodeSpec> nodes;
    const auto runs = *rc::gen::inRange(1, 6);
    for (int i = 0; i < runs; ++i) {
        nodes.insert(nodes.end(), *rc::gen::inRange<std::size_t>(1, 20), any_node(models));
    }
    const auto back = parse_node_spec(format_node_spec(nodes, models), models);
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->size() == nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        RC_ASSERT(alike(nodes[i], (*back)[i]));
    }
}

RC_GTEST_PROP(NodeSpecProperty, AnyTextIsNodesOrASentence, (const std::string& text)) {
    Interner<ModelIndex> models;
    const auto nodes = parse_node_spec(text, models);
    const bool answered = nodes ? !nodes->empty() : !nodes.error().message.empty();
    RC_ASSERT(answered);
}

}  // namespace
}  // namespace tessera
