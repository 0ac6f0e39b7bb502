#include "model/pod_profile.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/hash.h"
#include "model/node_constraints.h"
#include "model/pod_rules.h"
#include "model/resource_math.h"

namespace tessera {
namespace {

constexpr std::string_view kStorage = "ephemeral-storage";

LabelValue value_of(LabelSet labels, LabelKey key) {
    const auto found = std::lower_bound(
        labels.begin(), labels.end(), key,
        [](const NodeLabel& label, LabelKey wanted) { return label.key < wanted; });
    return found != labels.end() && found->key == key ? found->value : LabelValue::none();
}

bool matches_one(const LabelRequirement& one, LabelSet labels) {
    const LabelValue value = value_of(labels, one.key);
    const bool listed = std::binary_search(one.values.begin(), one.values.end(), value);
    switch (one.op) {
        case LabelOperator::in:
            return value.valid() && listed;
        case LabelOperator::not_in:
            return !value.valid() || !listed;
        case LabelOperator::exists:
            return value.valid();
        default:
            return !value.valid();
    }
}

NodeTerm node_term(NodeSelectorTerm words, Vocabulary& names) {
    NodeConstraints constraints;
    constraints.terms.push_back(std::move(words));
    return std::move(node_filter(constraints, names).terms.front());
}

LabelMatcher matcher_of(LabelSelector selector, Vocabulary& names) {
    return {.all = node_term({.labels = std::move(selector)}, names)};
}

class TermMaker {
  public:
    TermMaker(const Pod& pod, Vocabulary& names) : pod_(pod), names_(names) {}

    NeighbourTerm neighbour(const PodTerm& words, std::int32_t weight = 0) const {
        NeighbourTerm term{.topology = names_.label_keys.intern(words.topology_key),
                           .weight = weight};
        term.pods = words.pods ? matcher_of(with_keys(words, pod_.labels), names_)
                               : LabelMatcher{.nothing = true};
        for (const std::string& space : words.spaces) {
            term.spaces.push_back(names_.spaces.intern(space));
        }
        if (words.spaces_by) {
            term.spaces_by = matcher_of(*words.spaces_by, names_);
        } else if (words.spaces.empty()) {
            term.spaces.push_back(names_.spaces.intern(pod_.space));
        }
        std::sort(term.spaces.begin(), term.spaces.end());
        return term;
    }

    SpreadTerm spread(const SpreadRule& words) const {
        SpreadTerm term{.topology = names_.label_keys.intern(words.topology_key),
                        .max_skew = words.max_skew,
                        .min_domains = words.min_domains,
                        .required = words.required,
                        .only_admitting = words.only_admitting,
                        .only_tolerated = words.only_tolerated};
        term.pods = words.pods ? matcher_of(with_keys(words, pod_.labels), names_)
                               : LabelMatcher{.nothing = true};
        return term;
    }

  private:
    const Pod& pod_;
    Vocabulary& names_;
};

void add_ports(const std::vector<Container>& containers, bool only_side_cars, Vocabulary& names,
               std::vector<PortUse>& out) {
    for (const Container& container : containers) {
        if (only_side_cars && !container.restartable) {
            continue;
        }
        for (const HostPort& port : container.host_ports) {
            out.push_back({port.address.empty() ? LabelValue::none()
                                                : names.label_values.intern(port.address),
                           port.protocol, port.port});
        }
    }
}

// Those that Kubernetes counts besides its own four: extended ones, huge pages, attached volumes.
bool counts(std::string_view name, CountedElsewhere elsewhere) {
    const bool of_ours = name.find('/') != std::string_view::npos ||
                         name.starts_with("hugepages-") || name.starts_with("attachable-volumes-");
    return of_ours && !elsewhere(name);
}

std::set<std::string, std::less<>> asked_names(const Pod& pod) {
    std::set<std::string, std::less<>> names;
    const auto add = [&](const ResourceList& list) {
        for (const auto& [name, amount] : list) {
            names.insert(name);
        }
    };
    for (const auto* containers : {&pod.init_containers, &pod.containers}) {
        for (const Container& container : *containers) {
            add(container.requests);
            add(container.limits);
        }
    }
    for (const ResourceList* list : {&pod.requests, &pod.limits, &pod.overhead}) {
        add(*list);
    }
    return names;
}

Expected<std::int64_t> within(std::string_view name, Expected<std::int64_t> amount) {
    if (!amount) {
        return tl::unexpected(std::move(amount.error()).within(fmt::format("resources {}", name)));
    }
    return amount;
}

void sort_amounts(OtherResources& resources) {
    std::sort(resources.extended.begin(), resources.extended.end(),
              [](const auto& a, const auto& b) { return a.resource < b.resource; });
}

Expected<OtherResources> asked_resources(const Pod& pod, Vocabulary& names,
                                         CountedElsewhere elsewhere) {
    OtherResources asked;
    for (const std::string& name : asked_names(pod)) {
        if (name != kStorage && !counts(name, elsewhere)) {
            continue;
        }
        TESSERA_TRY(const std::int64_t amount,
                    within(name, effective_request(pod, name).value_up()));
        if (name == kStorage) {
            asked.storage = amount;
        } else if (amount > 0) {
            asked.extended.push_back({names.resources.intern(name), amount});
        }
    }
    sort_amounts(asked);
    return asked;
}

void add_matcher(Hash& hash, const LabelMatcher& matcher) {
    hash.add(matcher.nothing ? 1 : 0);
    for (const LabelRequirement& one : matcher.all) {
        hash.add(std::uint64_t{one.key.value()} << 8 | static_cast<std::uint64_t>(one.op));
        for (const LabelValue value : one.values) {
            hash.add(value.value());
        }
    }
}

}  // namespace

bool matches(const LabelMatcher& matcher, LabelSet labels) {
    return !matcher.nothing &&
           std::all_of(matcher.all.begin(), matcher.all.end(),
                       [&](const LabelRequirement& one) { return matches_one(one, labels); });
}

bool collide(const PortUse& a, const PortUse& b) {
    return a.port == b.port && a.protocol == b.protocol &&
           (!a.address.valid() || !b.address.valid() || a.address == b.address);
}

std::int64_t OtherResources::of(ResourceIndex resource) const {
    const auto found = std::find_if(extended.begin(), extended.end(),
                                    [&](const auto& one) { return one.resource == resource; });
    return found == extended.end() ? 0 : found->amount;
}

void add(OtherResources& sum, const OtherResources& one, std::int64_t sign) {
    sum.storage += sign * one.storage;
    for (const ResourceAmount& part : one.extended) {
        const auto at = std::lower_bound(
            sum.extended.begin(), sum.extended.end(), part.resource,
            [](const ResourceAmount& a, ResourceIndex wanted) { return a.resource < wanted; });
        if (at == sum.extended.end() || at->resource != part.resource) {
            sum.extended.insert(at, {part.resource, sign * part.amount});
        } else if ((at->amount += sign * part.amount) == 0) {
            sum.extended.erase(at);
        }
    }
}

std::uint64_t PodProfile::hash() const {
    Hash result;
    result.add(std::uint64_t{space.value()} << 1 | (ending ? 1U : 0U));
    for (const NodeLabel& label : labels) {
        result.add(std::uint64_t{label.key.value()} << 32 | label.value.value());
    }
    for (const auto* terms : {&near, &apart, &preferred}) {
        result.add(terms->size());
        for (const NeighbourTerm& term : *terms) {
            result.add(term.topology.value());
            add_matcher(result, term.pods);
        }
    }
    for (const SpreadTerm& term : spread) {
        result.add(term.topology.value());
        add_matcher(result, term.pods);
    }
    result.add(ports.size() << 32 | resources.extended.size());
    result.add(static_cast<std::uint64_t>(resources.storage));
    return result.value();
}

bool matches(const NeighbourTerm& term, const LabelledPod& pod) {
    return (std::binary_search(term.spaces.begin(), term.spaces.end(), pod.space) ||
            matches(term.spaces_by, pod.space_labels)) &&
           matches(term.pods, pod.labels);
}

std::vector<NodeLabel> label_set(const StringMap& labels, Vocabulary& names) {
    std::vector<NodeLabel> result;
    for (const auto& [key, value] : labels) {
        result.push_back({names.label_keys.intern(key), names.label_values.intern(value)});
    }
    std::sort(result.begin(), result.end());
    return result;
}

Expected<PodProfile> pod_profile(const Pod& pod, Vocabulary& names, CountedElsewhere elsewhere) {
    PodProfile profile{.space = names.spaces.intern(pod.space),
                       .labels = label_set(pod.labels, names),
                       .ending = pod.deleting};
    const PodRules& rules = rules_of(pod);
    const TermMaker make(pod, names);
    for (const PodTerm& term : rules.near) {
        profile.near.push_back(make.neighbour(term));
    }
    for (const PodTerm& term : rules.apart) {
        profile.apart.push_back(make.neighbour(term));
    }
    for (const WeightedPodTerm& one : rules.preferred) {
        profile.preferred.push_back(make.neighbour(one.term, one.weight));
    }
    for (const SpreadRule& rule : rules.spread) {
        profile.spread.push_back(make.spread(rule));
    }
    for (const WeightedNodeTerm& one : rules.preferred_nodes) {
        profile.preferred_nodes.push_back({node_term(one.term, names), one.weight});
    }
    add_ports(pod.init_containers, true, names, profile.ports);
    add_ports(pod.containers, false, names, profile.ports);
    TESSERA_TRY(profile.resources, asked_resources(pod, names, elsewhere));
    return profile;
}

Expected<OtherResources> node_offer(const Node& node, Vocabulary& names,
                                    CountedElsewhere elsewhere) {
    OtherResources offer;
    for (const auto& [name, unused] : node.allocatable.empty() ? node.capacity : node.allocatable) {
        if (name != kStorage && !counts(name, elsewhere)) {
            continue;
        }
        TESSERA_TRY(const std::int64_t amount, within(name, node.offered(name)->value_down()));
        if (name == kStorage) {
            offer.storage = amount;
        } else if (amount > 0) {
            offer.extended.push_back({names.resources.intern(name), amount});
        }
    }
    sort_amounts(offer);
    return offer;
}

}  // namespace tessera
