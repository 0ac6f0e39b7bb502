#include "engine/decision_scores.h"

namespace tessera {

void DecisionScores::keep_near(std::span<const std::string> cells) {
    const GroupTerm* term = scorer_.group_term();
    if (term != nullptr && !cells.empty() && term->concerns(class_)) {
        group_.emplace(cells);
    }
}

GroupDistances DecisionScores::distances(NodeIndex node) const {
    GroupDistances distances{};
    const NodeSpec& spec = cluster_.spec(node);
    for (std::size_t gpu = 0; gpu < spec.gpus.size(); ++gpu) {
        distances[gpu] =
            group_->mean_milli(cell_of(spec, GpuIndex(static_cast<std::uint8_t>(gpu))));
    }
    return distances;
}

Key DecisionScores::key(NodeIndex node) const {
    if (group_) {
        return scorer_.group_term()->score(cluster_.node(node), class_, distances(node));
    }
    Key key = 0;
    const ClassIndex only[] = {class_};
    scorer_.score(cluster_.node(node), only, std::span(&key, 1));
    return key;
}

void DecisionScores::choose(NodeIndex node, std::uint64_t draw, DeviceList& devices) const {
    const NodeState& state = cluster_.node(node);
    if (group_) {
        scorer_.group_term()->choose(state, class_, cluster_.links(node), distances(node), devices);
        return;
    }
    scorer_.choose(state, class_, cluster_.links(node), draw, devices);
}

std::vector<TermValue> DecisionScores::explain(NodeIndex node) const {
    const NodeState& state = cluster_.node(node);
    return group_ ? scorer_.group_term()->explain(state, class_, distances(node))
                  : scorer_.explain(state, class_);
}

}  // namespace tessera
