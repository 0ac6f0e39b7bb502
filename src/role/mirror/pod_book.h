// The pods that a mirror knows, by uid, each with a dense index that the ledger's owners go by.
//
// An index is given out again when its pod has gone: memory follows the number of pods that are
// there, not of those that ever were. A record stays where it is until it is closed.
#pragma once

#include <tsl/robin_set.h>

#include <cstdint>
#include <deque>
#include <functional>
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

// What was decided for a pod while the API does not tell it yet.
struct Decided {
    PodDemand asked;
    Choice choice;
};

struct PodRecord {
    std::string space;
    std::string name;
    std::string uid;
    std::string awaited;               // the node it is bound to, while that is not known
    std::string packed;                // a bound pod with devices, as last seen (pod_pack.h)
    std::unique_ptr<Pod> pod;          // as last seen, while it is not bound
    std::unique_ptr<Decided> decided;  // while it is held or being bound
    NodeIndex node;                    // where it holds
    ClassIndex learnt;                 // by which a policy was told of its arrival
    GroupIndex group;                  // whose members are kept together
    std::uint32_t list = 0;            // the last list of all pods that had it
    std::int32_t priority = 0;
    PolicySlot policy = kFirstPolicy;  // that was told
    PodStage stage = PodStage::pending;
    bool seen = false;          // by the API's word, not only by a request's
    bool guessed = false;       // bound, and nothing tells which devices it has
    bool in_doubt = false;      // held, and perhaps bound: the API server did not answer
    Nanoseconds doubt_until{};  // it would have been told by then

    bool holds() const { return stage != PodStage::pending; }
    bool ours() const { return holds() && stage != PodStage::foreign; }
    bool bound() const {
        return stage == PodStage::bound || stage == PodStage::foreign || !awaited.empty();
    }
    std::string owner() const { return space + '/' + name + '/' + uid; }
};

// By which the ledger knows a pod that holds something.
inline OwnerId owner_of(PodIndex index, const PodRecord& record) {
    return record.stage == PodStage::foreign ? OwnerId::foreign(index.value())
                                             : OwnerId::pod(index.value());
}

class PodBook {
  public:
    PodBook() = default;
    PodBook(const PodBook&) = delete;  // the tables look into the records
    PodBook& operator=(const PodBook&) = delete;

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

  private:
    using Records = std::deque<PodRecord>;
    using Name = std::pair<std::string_view, std::string_view>;  // namespace, name

    // Tables of indices alone: the strings are in the records.
    struct UidOf {
        const Records* records;
        std::string_view operator()(PodIndex index) const { return (*records)[index.slot()].uid; }
        std::string_view operator()(std::string_view uid) const { return uid; }
    };
    struct NameOf {
        const Records* records;
        Name operator()(PodIndex index) const {
            const PodRecord& record = (*records)[index.slot()];
            return {record.space, record.name};
        }
        Name operator()(const Name& name) const { return name; }
    };
    template <class KeyOf>
    struct Hash {
        KeyOf key;
        template <class T>
        std::size_t operator()(const T& of) const {
            return mix(key(of));
        }
        static std::size_t mix(std::string_view text) {
            return std::hash<std::string_view>{}(text);
        }
        static std::size_t mix(const Name& name) { return mix(name.first) * 31 + mix(name.second); }
    };
    template <class KeyOf>
    struct Equal {
        using is_transparent = void;
        KeyOf key;
        template <class A, class B>
        bool operator()(const A& a, const B& b) const {
            return key(a) == key(b);
        }
    };
    // With the hash beside the index: most look-ups touch no record but the one that is meant.
    template <class KeyOf>
    using Table =
        tsl::robin_set<PodIndex, Hash<KeyOf>, Equal<KeyOf>, std::allocator<PodIndex>, true>;
    template <class KeyOf>
    Table<KeyOf> table() {
        const KeyOf key{&records_};
        return Table<KeyOf>(0, Hash<KeyOf>{key}, Equal<KeyOf>{key});
    }

    Records records_;
    std::vector<PodIndex> free_;
    Table<UidOf> by_uid_ = table<UidOf>();
    Table<NameOf> by_name_ = table<NameOf>();
};

}  // namespace tessera
