#include "engine/domains.h"

#include <tsl/robin_map.h>

namespace tessera {

std::shared_ptr<const Domains> DomainTables::by(LabelKey key) {
    if (seen_ != cluster_.trait_changes()) {
        seen_ = cluster_.trait_changes();
        tables_.clear();
    }
    std::shared_ptr<const Domains>& table = tables_[key];
    if (table != nullptr) {
        return table;
    }
    auto made = std::make_shared<Domains>();
    tsl::robin_map<LabelValue, std::uint32_t, std::hash<LabelValue>> numbers;
    made->of_node.assign(cluster_.size(), Domains::kNone);
    for (std::uint32_t n = 0; n < cluster_.size(); ++n) {
        const LabelValue value = cluster_.traits(NodeIndex(n)).value_of(key);
        if (value.valid()) {
            const auto next = static_cast<std::uint32_t>(numbers.size());
            made->of_node[n] = numbers.emplace(value, next).first->second;
        }
    }
    made->count = numbers.size();
    table = std::move(made);
    return table;
}

}  // namespace tessera
