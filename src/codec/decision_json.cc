#include "codec/decision_json.h"

#include "codec/device_words.h"

namespace tessera {
namespace {

void write_fix(const Fix& fix, const DecisionNames& names, JsonWriter& json) {
    json.begin_object();
    json.member("fix", to_string(fix.kind));
    if (fix.asked > 0) {
        json.member("asked", fix.asked);
        json.member("to", fix.to);
        json.member("unit", fix.relative                           ? "ppm"
                            : fix.kind == FixKind::less_gpu_memory ? "MiB"
                            : fix.kind == FixKind::less_memory     ? "MiB"
                            : fix.kind == FixKind::fewer_gpus      ? "GPUs"
                                                                   : "milli");
    }
    if (fix.kind == FixKind::other_model) {
        json.member("model",
                    fix.model.valid() ? names.vocabulary.models.name(fix.model) : "unknown");
    }
    if (fix.kind == FixKind::tolerate_taint) {
        json.member("taint", pair_text(fix.key, fix.value, names.vocabulary));
    } else if (fix.kind == FixKind::without_selector) {
        json.member("label", pair_text(fix.key, fix.value, names.vocabulary));
    } else if (fix.kind == FixKind::without_pin) {
        json.member("node", names.vocabulary.label_values.name(fix.value));
    }
    json.member("nodes", fix.nodes);
    json.member("gpus", fix.gpus);
    json.end_object();
}

void write_refusal(const Decision& decision, const DecisionNames& names, JsonWriter& json) {
    json.key("refusals");
    json.begin_array();
    for (const RefusalCount& count : decision.refusal.counts) {
        json.begin_object();
        const RefusalInfo& info = refusal_info(count.code);
        json.member("code", info.name);
        json.member("kind", to_string(info.kind));
        json.member("reason", info.sentence);
        json.member("nodes", count.nodes);
        json.member("nodesAny", count.nodes_any);
        json.member("gpus", count.gpus);
        if (count.obstacle) {
            json.member("obstacle", obstacle_text(count.code, *count.obstacle, names.vocabulary));
            json.member("obstacleNodes", count.obstacle_nodes);
        }
        json.end_object();
    }
    json.end_array();
    json.member("gpusThatWouldServe", decision.refusal.gpus_fitting);
    if (decision.placed()) {
        return;
    }
    json.member("kind", to_string(decision.refusal.kind));
    json.key("wouldFitIf");
    json.begin_array();
    for (const Fix& fix : decision.refusal.fixes) {
        write_fix(fix, names, json);
    }
    json.end_array();
}

}  // namespace

std::string pair_text(LabelKey key, LabelValue value, const Vocabulary& names) {
    const std::string_view word = value.valid() ? names.label_values.name(value) : "";
    return fmt::format("{}{}{}", names.label_keys.name(key), word.empty() ? "" : "=", word);
}

std::string obstacle_text(RefusalCode code, const Obstacle& obstacle, const Vocabulary& names) {
    if (!obstacle.key.valid()) {
        return std::string(names.label_values.name(obstacle.value));
    }
    const std::string pair = pair_text(obstacle.key, obstacle.value, names);
    return code == RefusalCode::node_tainted
               ? fmt::format("{}:{}", pair, to_string(obstacle.effect))
               : pair;
}

std::string_view to_string(LinkLevel level) { return kLinkWords[static_cast<std::size_t>(level)]; }

void write_placement(const Placement& placement, const DecisionNames& names, JsonWriter& json) {
    json.member("node", names.node(placement.node));
    if (placement.alternative != 0) {
        json.member("alternative", placement.alternative);
    }
    json.key("grants");
    json.begin_array();
    for (const DeviceGrant& grant : placement.grants) {
        json.begin_object();
        if (grant.request.valid()) {
            json.member("request", names.vocabulary.requests.name(grant.request));
        }
        json.member("gpu", grant.gpu.value());
        json.member("milli", grant.milli.value());
        json.member("memoryMib", grant.memory.value());
        json.end_object();
    }
    json.end_array();
}

void write_candidate(const Candidate& candidate, const DecisionNames& names, JsonWriter& json) {
    json.begin_object();
    json.member("node", names.node(candidate.node));
    json.member("score", candidate.score);
    json.key("terms");
    json.begin_object();
    for (const ScoreTerm& term : candidate.terms) {
        json.member(term.name, term.value);
    }
    json.end_object();
    json.member("key", candidate.key);
    json.member("tie", candidate.tie);
    json.end_object();
}

void write_devices(const DeviceChoice& devices, JsonWriter& json) {
    json.begin_object();
    json.key("taken");
    json.begin_array();
    for (const DeviceReason& reason : devices.taken) {
        json.begin_object();
        json.member("gpu", reason.gpu.value());
        json.member("idleMilli", reason.idle.value());
        if (reason.memory_known) {
            json.member("freeMemoryMib", reason.free_memory.value());
        }
        json.member("shares", reason.shares);
        json.end_object();
    }
    json.end_array();
    json.member("fitting", devices.fitting);
    json.member("tightest", devices.tightest);
    json.member("emptiest", devices.emptiest);
    if (devices.slowest_link) {
        json.member("slowestLink", to_string(*devices.slowest_link));
    }
    json.end_object();
}

void write_decision(const Decision& decision, const DecisionNames& names, JsonWriter& json) {
    json.begin_object();
    json.member("outcome", decision.placed() ? "placed" : "refused");
    json.member("policy", decision.policy);
    json.member("policyEpoch", decision.policy_epoch);
    json.member("sequence", decision.sequence);
    json.member("class", decision.demand_class.value());
    // As text, so that no tool rounds them.
    json.member("seed", std::to_string(decision.seed));
    json.member("draw", std::to_string(decision.draw));
    json.key("nodes");
    json.begin_object();
    json.member("all", decision.nodes);
    json.member("fitting", decision.nodes_fitting);
    json.end_object();
    if (decision.placed()) {
        write_placement(*decision.placement, names, json);
        json.key("devices");
        write_devices(decision.devices, json);
        if (!decision.order.empty()) {
            json.member("order", decision.order);
        }
        json.key("candidates");
        json.begin_array();
        for (const Candidate& candidate : decision.candidates) {
            write_candidate(candidate, names, json);
        }
        json.end_array();
    }
    write_refusal(decision, names, json);
    json.end_object();
}

}  // namespace tessera
