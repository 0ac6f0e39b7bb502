// Decisions in words: aligned text for a terminal, in colour only where that is one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codec/decision_json.h"
#include "engine/diagnosis.h"
#include "engine/explain.h"
#include "model/decision.h"

namespace tessera::cli {

struct TextStyle {
    bool colour = false;
    bool one_of_many = false;  // the pod is one of a group or of replicas: fixes are about it alone
};

// Why here, or why nowhere and what would help.
std::string decision_text(const Decision& decision, const DecisionNames& names,
                          const TextStyle& style);
// Where a pod is, and how that node scores for it now.
std::string running_text(std::string_view pod, const RunningReport& report,
                         const DecisionNames& names, const TextStyle& style);
std::string gang_text(const GangVerdict& verdict, std::int64_t size);
// "120 of its 300 replicas would start now, 200 on the empty cluster"
std::string replicas_text(const GangVerdict& verdict, std::int64_t size);

}  // namespace tessera::cli
