#include "telemetry/readiness.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace tessera {
namespace {

constexpr std::string_view kNoCondition = "no condition was set up";

}  // namespace

std::string Readiness::Condition::why_not() const {
    if (check_) {
        return check_();
    }
    const std::lock_guard lock(mutex_);
    return why_not_;
}

Readiness::Condition& Readiness::add(std::string name, std::string why_not) {
    return append(std::make_unique<Condition>(std::move(name), nullptr, std::move(why_not)));
}

void Readiness::watch(std::string name, std::function<std::string()> why_not) {
    append(std::make_unique<Condition>(std::move(name), std::move(why_not), std::string()));
}

Readiness::Condition& Readiness::append(std::unique_ptr<Condition> condition) {
    const std::lock_guard lock(mutex_);
    return *conditions_.emplace_back(std::move(condition));
}

// Checks are asked without our lock: they may take locks of their own.
std::vector<const Readiness::Condition*> Readiness::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<const Condition*> list;
    for (const auto& condition : conditions_) {
        list.push_back(condition.get());
    }
    return list;
}

bool Readiness::ready() const { return why_not().empty(); }

std::string Readiness::why_not() const {
    const auto list = all();
    for (const Condition* condition : list) {
        if (std::string why = condition->why_not(); !why.empty()) {
            return why;
        }
    }
    return list.empty() ? std::string(kNoCondition) : "";
}

Readiness::Answer Readiness::answer() const {
    const auto list = all();
    Answer answer{!list.empty(), list.empty() ? fmt::format("{}\n", kNoCondition) : ""};
    for (const Condition* condition : list) {
        const std::string why_not = condition->why_not();
        answer.ready = answer.ready && why_not.empty();
        answer.text +=
            why_not.empty() ? "ok " + condition->name_ : "no " + condition->name_ + ": " + why_not;
        answer.text += '\n';
    }
    return answer;
}

}  // namespace tessera
