// A decision's parts in words: for commands, events and conditions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/decision_json.h"
#include "model/decision.h"

namespace tessera {

// "12 345": thousands apart.
std::string grouped(std::int64_t number);
// "1 node", "12 nodes"
std::string plural(std::int64_t count, std::string_view what);

// The sentence of the code, with what stands in the way where that is the same on most nodes.
std::string reason_text(const RefusalCount& count, const DecisionNames& names);
// What can be done, over all nodes: "others hold what it asks for: ..."
std::string_view outlook(const Refusal& refusal);
// "with 2 048 MiB less GPU memory (6 144 instead of 8 192): on 31 GPUs of 12 nodes"
std::string fix_text(const Fix& fix, const DecisionNames& names);
// One line, as kube-scheduler begins it: "0/12 nodes are available: 8 too little GPU memory is
// free, 4 the node has no GPU. Would fit with 2 048 MiB less GPU memory ..."
std::string refusal_line(const Decision& decision, const DecisionNames& names);

}  // namespace tessera
