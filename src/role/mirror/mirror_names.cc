// Letting go of what no pod and no node uses any more: names, filters and classes of demand, and
// the indices of nodes that are gone.
//
// Indices of names, filters and nodes that are in use stay what they are, so that nodes and shares
// are not touched. Classes are numbered anew: they have columns and counts in each policy.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "role/mirror/mirror_state.h"

namespace tessera {
namespace {

// Models are counted in 16 bits: their room is less.
constexpr std::size_t kSpareModels = 16'384;
// Places of nodes that are gone, beside an eighth of all.
constexpr std::size_t kSpareNodes = 64;

template <class Id>
class Marks {
  public:
    void add(Id id) {
        if (id.valid()) {
            bits_.resize(std::max(bits_.size(), id.slot() + 1));
            bits_[id.slot()] = true;
        }
    }
    bool has(std::size_t slot) const { return slot < bits_.size() && bits_[slot]; }
    const std::vector<bool>& bits() const { return bits_; }

  private:
    std::vector<bool> bits_;
};

}  // namespace

// Everything that is in use.
class Mirror::State::InUse {
  public:
    void add(const NodeSpec& node) {
        for (const GpuSpec& gpu : node.gpus) {
            models.add(gpu.model);
        }
        values.add(node.traits.name);
        for (const NodeLabel& label : node.traits.labels) {
            keys.add(label.key);
            values.add(label.value);
        }
        for (const LabelNumber& number : node.traits.numbers) {
            keys.add(number.key);
        }
        for (const NodeTaint& taint : node.traits.taints) {
            keys.add(taint.key);
            values.add(taint.value);
        }
    }
    void add(const NodeFilter& filter) {
        values.add(filter.node);
        for (const NodeLabel& label : filter.selector) {
            keys.add(label.key);
            values.add(label.value);
        }
        for (const NodeTerm& term : filter.terms) {
            for (const LabelRequirement& one : term) {
                add(one);
            }
        }
        for (const TaintToleration& one : filter.tolerations) {
            keys.add(one.key);
            values.add(one.value);
        }
    }
    void add(const LabelMatcher& matcher) {
        for (const LabelRequirement& one : matcher.all) {
            add(one);
        }
    }
    void add(const LabelRequirement& one) {
        keys.add(one.key);
        std::for_each(one.values.begin(), one.values.end(),
                      [this](LabelValue value) { values.add(value); });
    }
    void add(const PodProfile& profile) {
        for (const NodeLabel& label : profile.labels) {
            keys.add(label.key);
            values.add(label.value);
        }
        for (const auto* terms : {&profile.near, &profile.apart, &profile.preferred}) {
            for (const NeighbourTerm& term : *terms) {
                add(term.pods);
                add(term.spaces_by);
            }
        }
        for (const SpreadTerm& term : profile.spread) {
            add(term.pods);
        }
        for (const PreferredNodes& wish : profile.preferred_nodes) {
            for (const LabelRequirement& one : wish.term) {
                add(one);
            }
        }
        for (const PortUse& port : profile.ports) {
            values.add(port.address);
        }
    }
    void add(const Grants& grants) {
        for (const DeviceGrant& grant : grants) {
            requests.add(grant.request);
        }
    }
    void add(const PodDemand& asked) {
        const Demand& demand = asked.demand;
        filters.add(demand.filter);
        apps.add(demand.app);
        std::for_each(demand.models.begin(), demand.models.end(),
                      [this](ModelIndex model) { models.add(model); });
        if (demand.gang) {
            groups.add(demand.gang->group);
        }
        for (const Alternative& alternative : demand.alternatives) {
            for (const GpuRequest& request : alternative.requests) {
                requests.add(request.name);
            }
        }
        for (const ContainerUse& use : asked.uses) {
            requests.add(use.container);
            requests.add(use.request);
        }
    }
    void add(const DemandClass& one) {
        filters.add(one.filter);
        std::for_each(one.models.begin(), one.models.end(),
                      [this](ModelIndex model) { models.add(model); });
    }

    Marks<ModelIndex> models;
    Marks<RequestIndex> requests;
    Marks<GroupIndex> groups;
    Marks<AppIndex> apps;
    Marks<FilterIndex> filters;
    Marks<LabelKey> keys;
    Marks<LabelValue> values;
};

std::size_t Mirror::State::names_known() const {
    std::size_t count = names_.requests.used() + names_.groups.used() + names_.apps.used() +
                        names_.label_keys.used() + names_.label_values.used() + filters_->used();
    for (const auto& [name, slot] : policies_) {
        count += engine_->placer(slot).classes().size();
    }
    return count;
}

// To be called where nothing but what is recorded here holds an index of theirs.
void Mirror::State::make_room_for_names() {
    if (!synced() || (names_known() <= 2 * names_in_use_ + options_.spare_names &&
                      names_.models.used() <=
                          2 * models_in_use_ + std::min(options_.spare_names, kSpareModels))) {
        return;
    }
    keep_classes_in_use();
    keep_names_in_use();
    names_in_use_ = names_known();
    models_in_use_ = names_.models.used();
}

void Mirror::State::keep_classes_in_use() {
    asks_changed();
    for (const auto& [name, slot] : policies_) {
        Marks<ClassIndex> used;
        pods_.each([&, in = slot](PodIndex, const PodRecord& record) {
            if (record.policy == in) {
                used.add(record.learnt);
            }
        });
        auto policy = policy_named(name);
        TESSERA_ASSERT(policy.has_value(), "a policy that was made can be made again");
        const std::vector<ClassIndex> now =
            engine_->keep_only(slot, used.bits(), std::move(*policy));
        pods_.each([&, in = slot](PodIndex, PodRecord& record) {
            if (record.policy != in || !record.learnt.valid()) {
                return;
            }
            record.learnt = now[record.learnt.slot()];
            if (record.decided != nullptr) {
                record.decided->choice.demand_class = record.learnt;
            }
        });
    }
}

void Mirror::State::keep_names_in_use() {
    InUse used;
    for (std::uint32_t n = 0; n < cluster().size(); ++n) {
        used.add(cluster().spec(NodeIndex(n)));
    }
    for (std::size_t kind = 0; kind < cluster().kind_count(); ++kind) {
        used.models.add(cluster().kind(KindIndex(static_cast<KindIndex::rep>(kind))).model);
    }
    for (const auto& [name, slot] : policies_) {
        const ClassTable& classes = engine_->placer(slot).classes();
        for (std::uint32_t c = 0; c < classes.size(); ++c) {
            used.add(classes[ClassIndex(c)]);
        }
    }
    for (const OwnerId owner : ledger().owners()) {
        used.add(ledger().placement(owner)->grants);
    }
    pods_.each([&](PodIndex, const PodRecord& record) {
        if (record.decided != nullptr) {
            used.add(record.decided->asked);
            used.add(record.decided->choice.placement.grants);
            used.groups.add(record.decided->choice.group);
        }
        used.groups.add(record.group);
    });
    if (neighbours_ != nullptr) {
        neighbours_->each_profile([&](const PodProfile& profile) { used.add(profile); });
    }
    for (std::uint32_t f = 0; f < filters_->size(); ++f) {
        if (used.filters.has(f)) {
            used.add((*filters_)[FilterIndex(f)]);
        }
    }
    names_.models.keep_only(used.models.bits());
    names_.requests.keep_only(used.requests.bits());
    names_.groups.keep_only(used.groups.bits());
    names_.apps.keep_only(used.apps.bits());
    if (neighbours_ == nullptr) {  // which keeps tables by the keys of topologies; they are few
        names_.label_keys.keep_only(used.keys.bits());
    }
    names_.label_values.keep_only(used.values.bits());
    filters_->keep_only(used.filters.bits());
}

// The index of a node that is gone, and of which nobody holds anything, is free for another.
void Mirror::State::make_room_for_nodes() {
    if (names_.nodes.next().slot() < nodes_.size() || nodes_.size() < look_for_places_at_) {
        return;
    }
    std::vector<bool> kept(nodes_.size());
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
        kept[n] = nodes_[n].present || !ledger().owners_on(NodeIndex(n)).empty();
    }
    names_.nodes.keep_only(kept);
    successor_.clear();  // it has names that may be no more
    look_for_places_at_ =
        names_.nodes.used() + names_.nodes.used() / 8 + std::min(options_.spare_names, kSpareNodes);
}

}  // namespace tessera
