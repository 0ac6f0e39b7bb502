// The rules once more, as Kubernetes' documentation puts them: in words, one pod and node at a
// time.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/test_neighbours.h"

namespace tessera::testing_cluster {

class NeighbourReference {
  public:
    using Resident = NeighbourWorld::Resident;

    // Those without whom it is asked count as gone.
    NeighbourReference(const NeighbourWorld& world, const Pod& pod, std::set<std::size_t> gone = {})
        : world_(world), pod_(pod) {
        for (std::size_t i = 0; i < world.pods.size(); ++i) {
            if (world.pods[i].node >= 0 && !gone.contains(i)) {
                there_.push_back(&world.pods[i]);
            }
        }
    }

    std::set<std::string> reasons(int node) const {
        std::set<std::string> found;
        spread(node, found);
        near(node, found);
        apart(node, found);
        ports(node, found);
        amounts(node, found);
        return found;
    }

    std::vector<std::int64_t> preferences(const std::vector<int>& nodes) const {
        std::vector<std::int64_t> sum(nodes.size(), 0);
        const auto add = [&](const std::vector<std::int64_t>& part, std::int64_t weight) {
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += weight * part[i];
            }
        };
        add(node_points(nodes), 2);
        add(pod_points(nodes), 2);
        add(spread_points(nodes), 2);
        add(taint_points(nodes), 3);
        return sum;
    }

  private:
    static bool holds(const NodeRequirement& one, const StringMap& labels) {
        const std::string* value = find(labels, one.key);
        const bool listed =
            value != nullptr && std::count(one.values.begin(), one.values.end(), *value) > 0;
        switch (one.op) {
            case LabelOperator::in:
                return listed;
            case LabelOperator::not_in:
                return !listed;
            case LabelOperator::exists:
                return value != nullptr;
            case LabelOperator::does_not_exist:
                return value == nullptr;
            default:
                return value != nullptr && label_number(*value) &&
                       (one.op == LabelOperator::gt
                            ? *label_number(*value) > *label_number(one.values[0])
                            : *label_number(*value) < *label_number(one.values[0]));
        }
    }
    static bool selects(const std::optional<LabelSelector>& selector, const StringMap& labels) {
        return selector && std::all_of(selector->begin(), selector->end(),
                                       [&](const auto& one) { return holds(one, labels); });
    }
    // With the pod's own values of the keys that it names.
    static std::optional<LabelSelector> widened(std::optional<LabelSelector> selector,
                                                const std::vector<std::string>& keys,
                                                LabelOperator op, const StringMap& own) {
        for (const std::string& key : keys) {
            if (selector && own.contains(key)) {
                selector->push_back({.key = key, .op = op, .values = {own.find(key)->second}});
            }
        }
        return selector;
    }
    bool means(const PodTerm& term, const Pod& owner, const Pod& other) const {
        auto selector = widened(term.pods, term.match_keys, LabelOperator::in, owner.labels);
        selector = widened(selector, term.mismatch_keys, LabelOperator::not_in, owner.labels);
        const auto labels = world_.spaces.find(other.space);
        const StringMap space = labels == world_.spaces.end() ? StringMap() : labels->second;
        const bool named = std::count(term.spaces.begin(), term.spaces.end(), other.space) > 0;
        const bool own = term.spaces.empty() && !term.spaces_by && owner.space == other.space;
        return (named || own || selects(term.spaces_by, space)) && selects(selector, other.labels);
    }
    const Node& node_of(int node) const { return world_.nodes[static_cast<std::size_t>(node)]; }
    const std::string* domain(int node, const std::string& key) const {
        return find(node_of(node).labels, key);
    }
    bool together(int a, int b, const std::string& key) const {
        return domain(a, key) != nullptr && domain(b, key) != nullptr &&
               *domain(a, key) == *domain(b, key);
    }
    static const PodRules& rules(const Pod& pod) { return rules_of(pod); }

    // --- near and apart

    bool means_all(const Pod& other) const {
        const auto& terms = rules(pod_).near;
        return std::all_of(terms.begin(), terms.end(),
                           [&](const PodTerm& term) { return means(term, pod_, other); });
    }
    void near(int node, std::set<std::string>& found) const {
        const auto& terms = rules(pod_).near;
        bool good = true;
        bool anyone = false;
        for (const PodTerm& term : terms) {
            if (domain(node, term.topology_key) == nullptr) {
                found.insert("TopologyKeyMissing");
                return;
            }
            bool one = false;
            for (const Resident* other : there_) {
                if (means_all(other->pod)) {
                    one = one || together(other->node, node, term.topology_key);
                    anyone = anyone || domain(other->node, term.topology_key) != nullptr;
                }
            }
            good = good && one;
        }
        if (!good && (anyone || !means_all(pod_))) {
            found.insert("PodAffinity");
        }
    }
    void apart(int node, std::set<std::string>& found) const {
        for (const Resident* other : there_) {
            for (const PodTerm& term : rules(pod_).apart) {
                if (means(term, pod_, other->pod) &&
                    together(other->node, node, term.topology_key)) {
                    found.insert("PodAntiAffinity");
                }
            }
            for (const PodTerm& term : rules(other->pod).apart) {
                if (means(term, other->pod, pod_) &&
                    together(other->node, node, term.topology_key)) {
                    found.insert("ExistingAntiAffinity");
                }
            }
        }
    }

    // --- spreading

    bool tolerated(const Taint& taint) const {
        return std::any_of(pod_.tolerations.begin(), pod_.tolerations.end(),
                           [&](const Toleration& one) {
                               return (one.key.empty() || one.key == taint.key) &&
                                      (one.exists || one.value == taint.value) &&
                                      (!one.effect || *one.effect == taint.effect);
                           });
    }
    bool counts_node(const SpreadRule& rule, int node) const {
        for (const SpreadRule& other : rules(pod_).spread) {
            if (other.required == rule.required && domain(node, other.topology_key) == nullptr) {
                return false;
            }
        }
        const Node& words = node_of(node);
        if (rule.only_admitting) {
            for (const auto& [key, value] : pod_.node_selector) {
                if (find(words.labels, key) == nullptr || *find(words.labels, key) != value) {
                    return false;
                }
            }
        }
        return !rule.only_tolerated ||
               std::all_of(words.taints.begin(), words.taints.end(), [&](const Taint& taint) {
                   return taint.effect == TaintEffect::prefer_no_schedule || tolerated(taint);
               });
    }
    std::optional<LabelSelector> selector_of(const SpreadRule& rule) const {
        return widened(rule.pods, rule.match_keys, LabelOperator::in, pod_.labels);
    }
    std::map<std::string, std::int64_t> counts(const SpreadRule& rule) const {
        std::map<std::string, std::int64_t> result;
        const auto selector = selector_of(rule);
        for (int node = 0; node < static_cast<int>(world_.nodes.size()); ++node) {
            if (!counts_node(rule, node)) {
                continue;
            }
            std::int64_t& count = result[*domain(node, rule.topology_key)];
            for (const Resident* other : there_) {
                count += other->node == node && other->pod.space == pod_.space &&
                                 !other->pod.deleting && selector && !selector->empty() &&
                                 selects(selector, other->pod.labels)
                             ? 1
                             : 0;
            }
        }
        return result;
    }
    void spread(int node, std::set<std::string>& found) const {
        for (const SpreadRule& rule : rules(pod_).spread) {
            if (!rule.required) {
                continue;
            }
            const std::string* here = domain(node, rule.topology_key);
            if (here == nullptr) {
                found.insert("TopologyKeyMissing");
                continue;
            }
            auto all = counts(rule);
            std::int64_t least = 0;
            if (all.size() >= static_cast<std::size_t>(rule.min_domains)) {
                least = std::min_element(all.begin(), all.end(), [](auto& a, auto& b) {
                            return a.second < b.second;
                        })->second;
            }
            const std::int64_t itself = selects(selector_of(rule), pod_.labels) ? 1 : 0;
            if (all[*here] + itself - least > rule.max_skew) {
                found.insert("TopologySpread");
            }
        }
    }

    // --- ports and amounts

    static std::vector<HostPort> ports_of(const Pod& pod) {
        std::vector<HostPort> all;
        for (const Container& container : pod.containers) {
            all.insert(all.end(), container.host_ports.begin(), container.host_ports.end());
        }
        return all;
    }
    void ports(int node, std::set<std::string>& found) const {
        for (const Resident* other : there_) {
            for (const HostPort& a : ports_of(other->pod)) {
                for (const HostPort& b : ports_of(pod_)) {
                    const bool same =
                        a.port == b.port && a.protocol == b.protocol &&
                        (a.address.empty() || b.address.empty() || a.address == b.address);
                    if (same && other->node == node) {
                        found.insert("HostPortInUse");
                    }
                }
            }
        }
    }
    static std::int64_t asked(const Pod& pod, const std::string& name) {
        std::int64_t sum = 0;
        for (const Container& container : pod.containers) {
            const Quantity* amount = container.asked(name);
            sum += amount == nullptr ? 0 : *amount->value_up();
        }
        return sum;
    }
    void amounts(int node, std::set<std::string>& found) const {
        for (const std::string name : {"ephemeral-storage", "example.com/fpga"}) {
            const Quantity* offered = node_of(node).offered(name);
            const std::int64_t whole = offered == nullptr ? 0 : *offered->value_down();
            std::int64_t used = 0;
            for (const Resident* other : there_) {
                used += other->node == node ? asked(other->pod, name) : 0;
            }
            const std::int64_t wanted = asked(pod_, name);
            const std::string what =
                name == "ephemeral-storage" ? "EphemeralStorage" : "ExtendedResource";
            if (wanted > 0 && wanted > whole) {
                found.insert(what + "TooSmall");
            } else if (wanted > 0 && wanted > whole - used) {
                found.insert(what + "Insufficient");
            }
        }
    }

    // --- points

    static std::vector<std::int64_t> scaled(std::vector<std::int64_t> points, bool reversed) {
        const std::int64_t most =
            points.empty() ? 0 : *std::max_element(points.begin(), points.end());
        for (std::int64_t& one : points) {
            one = most == 0 ? (reversed ? 100 : 0)
                            : (reversed ? 100 - one * 100 / most : one * 100 / most);
        }
        return points;
    }
    std::vector<std::int64_t> node_points(const std::vector<int>& nodes) const {
        std::vector<std::int64_t> points;
        for (const int node : nodes) {
            std::int64_t sum = 0;
            for (const WeightedNodeTerm& one : rules(pod_).preferred_nodes) {
                const auto& all = one.term.labels;
                sum +=
                    !all.empty() && std::all_of(all.begin(), all.end(),
                                                [&](const auto& condition) {
                                                    return holds(condition, node_of(node).labels);
                                                })
                        ? one.weight
                        : 0;
            }
            points.push_back(sum);
        }
        return scaled(std::move(points), false);
    }
    std::int64_t pull(const Resident& other, int node) const {
        std::int64_t sum = 0;
        const auto add = [&](const PodTerm& term, std::int64_t weight, const Pod& owner,
                             const Pod& target) {
            sum += means(term, owner, target) && together(other.node, node, term.topology_key)
                       ? weight
                       : 0;
        };
        for (const WeightedPodTerm& one : rules(pod_).preferred) {
            add(one.term, one.weight, pod_, other.pod);
        }
        for (const WeightedPodTerm& one : rules(other.pod).preferred) {
            add(one.term, one.weight, other.pod, pod_);
        }
        for (const PodTerm& term : rules(other.pod).near) {
            add(term, 1, other.pod, pod_);
        }
        return sum;
    }
    std::vector<std::int64_t> pod_points(const std::vector<int>& nodes) const {
        std::vector<std::int64_t> points;
        for (const int node : nodes) {
            std::int64_t sum = 0;
            for (const Resident* other : there_) {
                sum += pull(*other, node);
            }
            points.push_back(sum);
        }
        if (points.empty()) {
            return points;
        }
        const std::int64_t least = *std::min_element(points.begin(), points.end());
        const std::int64_t most = *std::max_element(points.begin(), points.end());
        for (std::int64_t& one : points) {
            one = most == least ? 0 : (one - least) * 100 / (most - least);
        }
        return points;
    }
    std::vector<std::int64_t> spread_points(const std::vector<int>& nodes) const {
        std::vector<std::int64_t> points(nodes.size(), 0);
        std::vector<SpreadRule> soft;
        for (const SpreadRule& rule : rules(pod_).spread) {
            if (!rule.required) {
                soft.push_back(rule);
            }
        }
        if (soft.empty()) {
            return points;
        }
        const auto heeded = [&](int node) {
            return std::all_of(soft.begin(), soft.end(), [&](const SpreadRule& rule) {
                return domain(node, rule.topology_key) != nullptr;
            });
        };
        std::vector<double> sums(nodes.size(), 0);
        for (const SpreadRule& rule : soft) {
            std::set<std::string> domains;
            for (const int node : nodes) {
                if (heeded(node)) {
                    domains.insert(*domain(node, rule.topology_key));
                }
            }
            auto all = counts(rule);
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                if (heeded(nodes[i])) {
                    sums[i] += static_cast<double>(all[*domain(nodes[i], rule.topology_key)]) *
                                   std::log(static_cast<double>(domains.size() + 2)) +
                               (rule.max_skew - 1);
                }
            }
        }
        std::int64_t least = INT64_MAX;
        std::int64_t most = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            points[i] = std::llround(sums[i]);
            least = heeded(nodes[i]) ? std::min(least, points[i]) : least;
            most = heeded(nodes[i]) ? std::max(most, points[i]) : most;
        }
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            points[i] = !heeded(nodes[i]) ? 0
                        : most == 0       ? 100
                                          : 100 * (most + least - points[i]) / most;
        }
        return points;
    }
    std::vector<std::int64_t> taint_points(const std::vector<int>& nodes) const {
        std::vector<std::int64_t> points;
        for (const int node : nodes) {
            const auto& taints = node_of(node).taints;
            points.push_back(std::count_if(taints.begin(), taints.end(), [&](const Taint& taint) {
                return taint.effect == TaintEffect::prefer_no_schedule && !tolerated(taint);
            }));
        }
        return scaled(std::move(points), true);
    }

    const NeighbourWorld& world_;
    const Pod& pod_;
    std::vector<const Resident*> there_;
};

}  // namespace tessera::testing_cluster
