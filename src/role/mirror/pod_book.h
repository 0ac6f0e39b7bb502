// The pods that a mirror knows, by uid, each with a dense index that the ledger's owners go by.
//
// An index is given out again when its pod has gone: memory follows the number of pods that are
// there, not of those that ever were.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/dialect.h"
#include "engine/engine.h"
#include "model/pod.h"

namespace tessera {

enum class PodStage : std::uint8_t {
    pending,  // holds nothing
    held,     // a share is assumed for it, until a deadline
    binding,  // the same, without one: the API server has been asked
    bound,    // by us
    foreign,  // by others: its share counts, and that is all
};

struct PodRecord {
    std::string space;
    std::string name;
    std::string uid;
    std::string node;                  // where it holds, or is bound to
    std::unique_ptr<Pod> pod;          // as last seen: of those that ask for GPUs, or are not bound
    std::unique_ptr<PodDemand> asked;  // what it asks for, while it is held or being bound
    Choice choice{};                   // while it holds something as ours
    PodStage stage = PodStage::pending;
    std::int32_t priority = 0;
    bool seen = false;         // by the API's word, not only by a request's
    bool learnt = false;       // a policy has been told of its arrival
    bool awaits_node = false;  // bound to a node that is not known yet

    bool holds() const { return stage != PodStage::pending; }
    bool ours() const { return holds() && stage != PodStage::foreign; }
    std::string owner() const { return space + '/' + name + '/' + uid; }
};

class PodBook {
  public:
    // The pod's record, a new one where it is not known.
    PodIndex open(const Pod& pod);
    PodIndex find(std::string_view uid) const;                           // none() if not known
    PodIndex find(std::string_view space, std::string_view name) const;  // the newest of the name
    PodRecord& operator[](PodIndex index) { return records_[index.slot()]; }
    const PodRecord& operator[](PodIndex index) const { return records_[index.slot()]; }
    void close(PodIndex index);

    std::size_t size() const { return by_uid_.size(); }
    // Calls visit(PodIndex, PodRecord&) for each; records may be closed meanwhile.
    template <class Visit>
    void each(Visit visit) {
        for (std::uint32_t i = 0; i < records_.size(); ++i) {
            if (!records_[i].uid.empty()) {
                visit(PodIndex(i), records_[i]);
            }
        }
    }

    template <class Visit>
    void each(Visit visit) const {
        for (std::uint32_t i = 0; i < records_.size(); ++i) {
            if (!records_[i].uid.empty()) {
                visit(PodIndex(i), records_[i]);
            }
        }
    }

  private:
    // A look-up must not make a string of a view.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    using Map = tsl::robin_map<std::string, PodIndex, Hash, std::equal_to<>>;

    static std::string full_name(std::string_view space, std::string_view name) {
        return std::string(space) + '/' + std::string(name);
    }

    std::vector<PodRecord> records_;
    std::vector<PodIndex> free_;
    Map by_uid_;
    Map by_name_;
};

}  // namespace tessera
