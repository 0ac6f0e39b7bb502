#include "kube/binder_writes.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/assert.h"

namespace tessera {
namespace {

JournalStep step_of(WriteEnd end) {
    switch (end) {
        case WriteEnd::done:
            return JournalStep::done;
        case WriteEnd::refused:
            return JournalStep::refused;
        case WriteEnd::unknown:
            break;
    }
    return JournalStep::unknown;
}

class WriteList : public std::enable_shared_from_this<WriteList> {
  public:
    WriteList(std::vector<Write> writes, WriteListOptions options, WriteDone done)
        : writes_(std::move(writes)), options_(std::move(options)), done_(std::move(done)) {}
    WriteList(const WriteList&) = delete;
    WriteList& operator=(const WriteList&) = delete;
    // A write whose callback was dropped will not end any more.
    ~WriteList() {
        if (done_ != nullptr) {
            finish({WriteEnd::unknown, "the end of a write was never told"});
        }
    }

    void next() {
        if (at_ == writes_.size()) {
            finish({WriteEnd::done, {}});
            return;
        }
        if (options_.clock() >= options_.until) {
            why_ = fmt::format("there was no time left for the {}", writes_[at_].name);
            undo_those_before(at_);
            return;
        }
        call(writes_[at_].run, options_.until,
             [this](WriteOutcome outcome) { ended(std::move(outcome)); });
    }

  private:
    using Begin = std::function<void(Nanoseconds, WriteDone)>;

    template <class Then>
    void call(const Begin& begin, Nanoseconds until, Then then) {
        running_ = true;
        begin(until, [self = shared_from_this(), then](WriteOutcome outcome) {
            TESSERA_ASSERT(std::exchange(self->running_, false), "a write ends once");
            then(std::move(outcome));
        });
    }
    void ended(WriteOutcome outcome) {
        note(at_, step_of(outcome.end), outcome.message);
        if (outcome.end == WriteEnd::done) {
            ++at_;
            next();
            return;
        }
        if (outcome.end == WriteEnd::unknown && writes_[at_].undo == nullptr) {
            finish(std::move(outcome));
            return;
        }
        why_ = std::move(outcome.message);
        seen_ = std::move(outcome.seen);
        undo_those_before(outcome.end == WriteEnd::unknown ? at_ + 1 : at_);
    }
    void undo_those_before(std::size_t end) {
        at_ = end;
        undo_until_ = options_.clock() + options_.undo_patience;
        undo_next();
    }
    void undo_next() {
        while (at_ > 0 && writes_[at_ - 1].undo == nullptr) {
            --at_;
        }
        if (at_ == 0) {
            finish({left_.empty() ? WriteEnd::refused : WriteEnd::unknown, why_ + left_,
                    std::move(seen_)});
            return;
        }
        --at_;
        call(writes_[at_].undo, undo_until_,
             [this](const WriteOutcome& outcome) { undone(outcome); });
    }
    void undone(const WriteOutcome& outcome) {
        const bool done = outcome.end == WriteEnd::done;
        note(at_, done ? JournalStep::undone : JournalStep::not_undone, outcome.message);
        if (!done) {
            left_ +=
                fmt::format("; the {} could not be undone: {}", writes_[at_].name, outcome.message);
        }
        undo_next();
    }
    void note(std::size_t position, JournalStep step, std::string_view message) const {
        if (options_.journal) {
            options_.journal({position, writes_[position].name, step, message});
        }
    }
    void finish(WriteOutcome outcome) { std::exchange(done_, nullptr)(std::move(outcome)); }

    const std::vector<Write> writes_;
    const WriteListOptions options_;
    WriteDone done_;
    std::size_t at_ = 0;  // the write that runs; while undoing, the one that is undone
    bool running_ = false;
    Nanoseconds undo_until_{};
    std::string why_;  // the first failure
    std::shared_ptr<const Pod> seen_;
    std::string left_;  // what could not be undone
};

}  // namespace

std::string_view step_name(JournalStep step) {
    switch (step) {
        case JournalStep::done:
            return "done";
        case JournalStep::refused:
            return "refused";
        case JournalStep::unknown:
            return "unknown";
        case JournalStep::undone:
            return "undone";
        case JournalStep::not_undone:
            break;
    }
    return "not undone";
}

void run_writes(std::vector<Write> writes, WriteListOptions options, WriteDone done) {
    std::make_shared<WriteList>(std::move(writes), std::move(options), std::move(done))->next();
}

}  // namespace tessera
