#include "role/wording/decision_words.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(DecisionWords, ARefusalIsOneLineWithCountsAndTheNearestFix) {
    Decision decision;
    decision.nodes = 12;
    decision.refusal.counts = {{.code = RefusalCode::gpu_memory_insufficient, .nodes = 8},
                               {.code = RefusalCode::node_has_no_gpu, .nodes = 4},
                               {.code = RefusalCode::node_tainted, .nodes = 0, .nodes_any = 3}};
    decision.refusal.fixes = {
        {.kind = FixKind::less_gpu_memory, .asked = 8192, .to = 6144, .nodes = 3, .gpus = 5}};
    const Vocabulary names;
    const DecisionNames of{[](NodeIndex) { return std::string_view(); }, names};
    EXPECT_EQ(refusal_line(decision, of),
              "0/12 nodes are available: 8 too little GPU memory is free, 4 the node has no GPU. "
              "Would fit with 2 048 MiB less GPU memory (6 144 instead of 8 192): on 5 GPUs of 3 "
              "nodes.");
}

TEST(DecisionWords, WithoutNodesThereIsNoReason) {
    const Vocabulary names;
    const DecisionNames of{[](NodeIndex) { return std::string_view(); }, names};
    EXPECT_EQ(refusal_line(Decision{}, of), "0/0 nodes are available.");
}

}  // namespace
}  // namespace tessera
