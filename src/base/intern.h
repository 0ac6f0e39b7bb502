// Interner: strings to dense indices, once, at the edge of the core.
//
//   Interner<ModelIndex> models;
//   ModelIndex a100 = models.intern("A100");
//   models.name(a100) == "A100"
//
// Where names come from outside for as long as a program runs, those that nobody uses any more can
// be let go; the others keep their indices:
//   models.keep_only(in_use);   // std::vector<bool>, by index
#pragma once

#include <tsl/robin_map.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"

namespace tessera {

template <class Id>
class Interner {
  public:
    Id intern(std::string_view name) {
        if (auto found = ids_.find(name); found != ids_.end()) {
            return found->second;
        }
        const Id id = next();
        TESSERA_ASSERT(id.valid(), "an interner's indices suffice");
        if (free_.empty()) {
            names_.emplace_back(name);  // deque: the view below stays valid
        } else {
            free_.pop_back();
            names_[id.slot()] = name;
        }
        ids_.emplace(std::string_view(names_[id.slot()]), id);
        return id;
    }

    // The index that the next new name gets.
    Id next() const {
        return free_.empty() ? Id(static_cast<typename Id::rep>(names_.size())) : free_.back();
    }

    // Lets go of every other name; their indices are given out again. What is not in the list of
    // bits is not kept either.
    void keep_only(const std::vector<bool>& kept) {
        ids_ = {};
        free_.clear();
        for (std::size_t slot = names_.size(); slot-- > 0;) {
            const Id id(static_cast<typename Id::rep>(slot));
            if (slot < kept.size() && kept[slot]) {
                ids_.emplace(std::string_view(names_[slot]), id);
            } else {
                names_[slot] = std::string();
                free_.push_back(id);
            }
        }
    }

    // none() when the name is not known.
    Id find(std::string_view name) const {
        auto found = ids_.find(name);
        return found == ids_.end() ? Id::none() : found->second;
    }

    std::string_view name(Id id) const { return names_.at(id.slot()); }
    // No index is larger; `used` are names, the others were let go.
    std::size_t size() const { return names_.size(); }
    std::size_t used() const { return ids_.size(); }

  private:
    std::deque<std::string> names_;
    tsl::robin_map<std::string_view, Id> ids_;
    std::vector<Id> free_;  // the smallest last
};

}  // namespace tessera
