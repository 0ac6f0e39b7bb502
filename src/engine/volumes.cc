#include "engine/volumes.h"

#include <algorithm>
#include <utility>

#include "model/node_constraints.h"
#include "model/pod_rules.h"

namespace tessera {
namespace {

std::string key_of(std::string_view space, std::string_view name) {
    return fmt::format("{}/{}", space, name);
}

bool reaches(const std::vector<NodeTerm>& reach, const NodeTraits& node) {
    NodeFilter filter;
    filter.terms = reach;
    return matches_terms(filter, node);
}

bool selects(const LabelSelector& selector, const StringMap& labels) {
    return std::all_of(selector.begin(), selector.end(), [&](const NodeRequirement& one) {
        const std::string* value = find(labels, one.key);
        const bool listed = value != nullptr && std::find(one.values.begin(), one.values.end(),
                                                          *value) != one.values.end();
        switch (one.op) {
            case LabelOperator::in:
                return listed;
            case LabelOperator::not_in:
                return !listed;
            case LabelOperator::exists:
                return value != nullptr;
            default:
                return value == nullptr;
        }
    });
}

// Kept for this claim, by its name at least.
bool kept_for(const Volume& volume, const VolumeClaim& claim) {
    return volume.claim_space == claim.meta.space && volume.claim_name == claim.meta.name &&
           (volume.claim_uid.empty() || volume.claim_uid == claim.meta.uid);
}

bool serves(const Volume& volume, const VolumeClaim& claim) {
    const bool alike = !volume.meta.deleting && volume.block == claim.block &&
                       volume.storage_class == claim.storage_class.value_or("") &&
                       volume.attributes_class == claim.attributes_class &&
                       volume.capacity >= claim.asked;
    if (!alike || kept_for(volume, claim)) {
        return alike;
    }
    return volume.claim_name.empty() && volume.phase == "Available" &&
           (claim.modes & ~volume.modes) == 0 &&
           (!claim.selector || selects(*claim.selector, volume.meta.labels));
}

}  // namespace

std::optional<RefusalCode> VolumeQuestion::refusal(const NodeTraits& node) const {
    if (everywhere_) {
        return everywhere_;
    }
    return steps(node) ? std::nullopt : std::optional(RefusalCode::volume_node_affinity);
}

std::optional<std::vector<VolumeStep>> VolumeQuestion::steps(const NodeTraits& node) const {
    const auto reached = [&](const Reach& reach) { return reaches(reach, node); };
    if (everywhere_ || !std::all_of(bound_.begin(), bound_.end(), reached)) {
        return std::nullopt;
    }
    std::vector<VolumeStep> steps;
    for (const Waiting& claim : waiting_) {
        const auto free = [&](const Candidate& one) {
            return reaches(one.reach, node) &&
                   std::none_of(steps.begin(), steps.end(),
                                [&](const VolumeStep& step) { return step.volume == one.volume; });
        };
        const auto found = std::find_if(claim.candidates.begin(), claim.candidates.end(), free);
        if (found != claim.candidates.end()) {
            steps.push_back({claim.claim, found->volume});
        } else if (claim.provisioned && reaches(claim.allowed, node)) {
            steps.push_back({claim.claim, ""});
        } else {
            return std::nullopt;
        }
    }
    return steps;
}

template <class Id, class T>
void VolumeBook::Shelf<Id, T>::set(std::string_view name, T item) {
    const Id id = names.intern(name);
    if (id.slot() >= items.size()) {
        items.resize(id.slot() + 1);
    }
    items[id.slot()] = std::move(item);
}

template <class Id, class T>
void VolumeBook::Shelf<Id, T>::remove(std::string_view name) {
    if (const Id id = names.find(name); id.valid()) {
        items[id.slot()].reset();
    }
}

template <class Id, class T>
const T* VolumeBook::Shelf<Id, T>::find(std::string_view name) const {
    const Id id = names.find(name);
    return id.valid() && items[id.slot()] ? &*items[id.slot()] : nullptr;
}

void VolumeBook::set(VolumeClaim claim) {
    const std::string key = key_of(claim.meta.space, claim.meta.name);
    claims_.set(key, std::move(claim));
}
void VolumeBook::set(Volume volume) {
    const std::string key = volume.meta.name;
    volumes_.set(key, std::move(volume));
}
void VolumeBook::set(StorageClass made) {
    const std::string key = made.meta.name;
    classes_.set(key, std::move(made));
}
void VolumeBook::remove_claim(std::string_view space, std::string_view name) {
    claims_.remove(key_of(space, name));
}
void VolumeBook::remove_volume(std::string_view name) { volumes_.remove(name); }
void VolumeBook::remove_class(std::string_view name) { classes_.remove(name); }

void VolumeBook::count_user(const Pod& pod, std::int32_t sign) {
    for (const VolumeClaimUse& use : rules_of(pod).claims) {
        const ClaimIndex claim = used_.intern(key_of(pod.space, use.claim));
        users_.resize(std::max(users_.size(), claim.slot() + 1));
        users_[claim.slot()] += sign;
    }
}

std::int32_t VolumeBook::users(const std::string& claim) const {
    const ClaimIndex index = used_.find(claim);
    return index.valid() ? users_[index.slot()] : 0;
}

VolumeQuestion::Reach VolumeBook::reach(const std::vector<NodeSelectorTerm>& terms) const {
    NodeConstraints constraints;
    constraints.terms = terms;
    return node_filter(constraints, names_).terms;
}

VolumeQuestion::Waiting VolumeBook::waiting(const VolumeClaim& claim,
                                            const StorageClass& made) const {
    std::vector<const Volume*> serving;
    for (const auto& volume : volumes_.items) {
        if (volume && serves(*volume, claim)) {
            serving.push_back(&*volume);
        }
    }
    std::stable_sort(serving.begin(), serving.end(), [&](const Volume* a, const Volume* b) {
        return std::pair(!kept_for(*a, claim), a->capacity) <
               std::pair(!kept_for(*b, claim), b->capacity);
    });
    if (!serving.empty() && kept_for(*serving.front(), claim)) {
        serving.resize(1);  // no other will do
    }
    VolumeQuestion::Waiting result{.claim = claim.meta.name,
                                   .asked = claim.asked,
                                   .candidates = {},
                                   .provisioned = !made.provisioner.empty() &&
                                                  made.provisioner != StorageClass::kNoProvisioner,
                                   .allowed = reach(made.allowed)};
    for (const Volume* volume : serving) {
        result.candidates.push_back({volume->meta.name, reach(volume->node_terms)});
    }
    return result;
}

// False when the claim is not ready, wherever the pod goes.
bool VolumeBook::add_claim(const Pod& pod, const VolumeClaimUse& use,
                           VolumeQuestion& question) const {
    const VolumeClaim* claim = claims_.find(key_of(pod.space, use.claim));
    if (claim == nullptr || claim->meta.deleting || claim->phase == "Lost" ||
        (use.ephemeral && claim->meta.controller != pod.uid)) {
        return false;
    }
    if (claim->bound()) {
        const Volume* volume = volumes_.find(claim->volume);
        if (volume != nullptr && !volume->node_terms.empty()) {
            question.bound_.push_back(reach(volume->node_terms));
        }
        return volume != nullptr;
    }
    const StorageClass* made = classes_.find(claim->storage_class.value_or(""));
    if (!claim->volume.empty() || made == nullptr || !made->waits) {
        return false;  // others bind it
    }
    question.waiting_.push_back(waiting(*claim, *made));
    return true;
}

VolumeQuestion VolumeBook::ask(const Pod& pod) const {
    VolumeQuestion question;
    for (const VolumeClaimUse& use : rules_of(pod).claims) {
        if (!add_claim(pod, use, question)) {
            question.everywhere_ = RefusalCode::volume_not_ready;
            return question;
        }
        const std::string key = key_of(pod.space, use.claim);
        if ((claims_.find(key)->modes & bit(AccessMode::once_pod)) != 0 && users(key) > 0) {
            question.everywhere_ = RefusalCode::volume_in_use;
        }
    }
    std::stable_sort(question.waiting_.begin(), question.waiting_.end(),
                     [](const auto& a, const auto& b) { return a.asked < b.asked; });
    return question;
}

}  // namespace tessera
