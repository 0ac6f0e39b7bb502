#include "engine/statement.h"

#include "base/assert.h"

namespace tessera {

Statement::Statement(Ledger& ledger)
    : ledger_(ledger), begin_(ledger.journal_.size()), depth_(++ledger.statements_) {}

Statement::~Statement() {
    if (open_) {
        discard();
    }
}

void Statement::require_innermost() const {
    TESSERA_ASSERT(open_, "a statement that ended takes no more moves");
    TESSERA_ASSERT(ledger_.statements_ == depth_, "the innermost statement moves and ends first");
}

Expected<void> Statement::assume(OwnerId owner, const Placement& placement, const Terms& terms) {
    require_innermost();
    return ledger_.do_assume(owner, placement, terms);
}

Expected<void> Statement::release(OwnerId owner) {
    require_innermost();
    return ledger_.do_release(owner);
}

Expected<void> Statement::add_user(OwnerId claim, OwnerId pod) {
    require_innermost();
    return ledger_.do_add_user(claim, pod);
}

Expected<void> Statement::drop_user(OwnerId claim, OwnerId pod) {
    require_innermost();
    return ledger_.do_drop_user(claim, pod);
}

void Statement::roll_back(Checkpoint to) {
    require_innermost();
    TESSERA_ASSERT(to.at_ >= begin_ && to.at_ <= ledger_.journal_.size(),
                   "a checkpoint lies in its own statement's past");
    ledger_.roll_back(to.at_);
}

void Statement::commit() {
    require_innermost();
    if (depth_ == 1) {
        ledger_.finish_journal();
    }
    close();
}

void Statement::discard() {
    require_innermost();
    ledger_.roll_back(begin_);
    close();
}

void Statement::close() {
    open_ = false;
    --ledger_.statements_;
}

}  // namespace tessera
