// Interner: strings to dense indices, once, at the edge of the core.
//
//   Interner<ModelIndex> models;
//   ModelIndex a100 = models.intern("A100");
//   models.name(a100) == "A100"
#pragma once

#include <tsl/robin_map.h>

#include <deque>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace tessera {

template <class Id>
class Interner {
  public:
    Id intern(std::string_view name) {
        if (auto found = ids_.find(name); found != ids_.end()) {
            return found->second;
        }
        TESSERA_ASSERT(names_.size() < Id::none().slot(), "an interner's indices suffice");
        const Id id(static_cast<typename Id::rep>(names_.size()));
        names_.emplace_back(name);  // deque: the view below stays valid
        ids_.emplace(std::string_view(names_.back()), id);
        return id;
    }

    // none() when the name was never interned.
    Id find(std::string_view name) const {
        auto found = ids_.find(name);
        return found == ids_.end() ? Id::none() : found->second;
    }

    std::string_view name(Id id) const { return names_.at(id.slot()); }
    std::size_t size() const { return names_.size(); }

  private:
    std::deque<std::string> names_;
    tsl::robin_map<std::string_view, Id> ids_;
};

}  // namespace tessera
