// A journal of tentative moves over the ledger: gangs and preemption try, and take back exactly.
//
//   Statement statement(ledger);
//   auto before = statement.checkpoint();
//   for (victim : victims) { statement.release(victim); }
//   if (!statement.assume(pod, placement)) { statement.roll_back(before); }
//   statement.commit();              // else the destructor discards
//
// Moves take effect at once, so that the next decision sees them. Rolled back, cluster and ledger
// are equal to before in every respect: shares keep their ids, owners their places. Statements
// nest (the inner one's commit is the outer one's to keep or discard); while one is open, the
// ledger takes no other changes: events are served between decisions.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "engine/ledger.h"

namespace tessera {

class Statement {
  public:
    class Checkpoint {
        friend class Statement;
        explicit Checkpoint(std::size_t at) : at_(at) {}
        std::size_t at_;
    };

    explicit Statement(Ledger& ledger);
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Expected<void> assume(OwnerId owner, const Placement& placement, const Terms& terms = {});
    Expected<void> release(OwnerId owner);
    Expected<void> add_user(OwnerId claim, OwnerId pod);
    Expected<void> drop_user(OwnerId claim, OwnerId pod);

    Checkpoint checkpoint() const { return Checkpoint(ledger_.journal_.size()); }
    void roll_back(Checkpoint to);
    std::size_t moves() const { return ledger_.journal_.size() - begin_; }

    // Either ends the statement; afterwards it takes no more moves.
    void commit();
    void discard();

  private:
    void require_innermost() const;
    void close();

    Ledger& ledger_;
    std::size_t begin_;
    std::uint32_t depth_;
    bool open_ = true;
};

}  // namespace tessera
