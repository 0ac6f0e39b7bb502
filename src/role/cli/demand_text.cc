#include "role/cli/demand_text.h"

#include <fmt/format.h>

#include <vector>

#include "role/cli/explain_text.h"
#include "role/wording/decision_words.h"

namespace tessera::cli {
namespace {

std::string gpus_text(const GpuRequest& request) {
    if (request.whole()) {
        return request.gpus == 1 ? "one whole GPU" : fmt::format("{} whole GPUs", request.gpus);
    }
    return request.gpus == 1 ? "one GPU" : fmt::format("each of {} GPUs", request.gpus);
}

std::string request_text(const GpuRequest& request) {
    std::vector<std::string> parts;
    if (!request.whole() && request.milli.value() > 0) {
        parts.push_back(fmt::format("{} milli", request.milli.value()));
    }
    if (request.memory.value() > 0) {
        parts.push_back(grouped(request.memory.value()) + " MiB");
    }
    if (request.memory_ppm > 0) {
        parts.push_back(fmt::format("{:g} % of the memory", request.memory_ppm / 1e4));
    }
    const std::string amounts = fmt::format("{}", fmt::join(parts, " and "));
    if (request.whole()) {
        return gpus_text(request) + (parts.empty() ? "" : fmt::format(" with {}", amounts));
    }
    return fmt::format("{}{}{}", parts.empty() ? "" : amounts + " of ", gpus_text(request),
                       request.milli.value() == 0 ? ", compute shared" : "");
}

std::string alternative_text(const Alternative& alternative) {
    std::vector<std::string> parts;
    for (const GpuRequest& request : alternative.requests) {
        parts.push_back(request_text(request));
    }
    return fmt::format("{}", fmt::join(parts, " + "));
}

}  // namespace

std::string demand_text(const Demand& demand, const Vocabulary& names) {
    std::string text = "no GPU";
    if (demand.wants_gpu()) {
        text = alternative_text(demand.alternatives.front());
        if (demand.alternatives.size() > 1) {
            text += fmt::format(" (the first of {} alternatives)", demand.alternatives.size());
        }
    }
    if (!demand.models.empty()) {
        std::vector<std::string_view> models;
        for (const ModelIndex model : demand.models) {
            models.push_back(names.models.name(model));
        }
        text += fmt::format(" of model {}", fmt::join(models, " or "));
    }
    text += fmt::format(
        "; {:g} {}, {} MiB of node memory", static_cast<double>(demand.cpu.value()) / 1000,
        demand.cpu.value() == 1000 ? "core" : "cores", grouped(demand.memory.value()));
    if (demand.gang) {
        text += fmt::format("; one of a group of {}", demand.gang->size);
    }
    return text;
}

}  // namespace tessera::cli
