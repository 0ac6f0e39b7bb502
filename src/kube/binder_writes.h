// A list of writes to the API that belong together: run in order, undone in reverse when one fails.
//
//   run_writes({reserve_claim(...), post_binding(...)}, options, [](WriteOutcome outcome) { ... });
//
// A step is told to the journal after each write and each undo, before the next one begins. When a
// write is refused, the ones before it are undone. When nobody knows how it ended, it is undone
// too; one that cannot be undone leaves everything as it is and the whole list unknown, since to
// take back the others could break what may have been done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/clock.h"
#include "model/pod.h"

namespace tessera {

enum class WriteEnd : std::uint8_t { done, refused, unknown };

struct WriteOutcome {
    WriteEnd end = WriteEnd::unknown;
    std::string message{};  // why not; empty when done
    // As it was last looked at, where that says more than how the write ended: the pod is bound
    // elsewhere, or otherwise.
    std::shared_ptr<const Pod> seen{};
};

using WriteDone = std::function<void(WriteOutcome)>;

struct Write {
    std::string name;  // for the journal and for messages
    // Begins the write, which ends by `until` (of the clock) in one call of `done`. Refused means
    // that nothing was done and that nothing will be.
    std::function<void(Nanoseconds until, WriteDone done)> run;
    // Takes it back; finding nothing to take back is success. Empty: it cannot be taken back, so it
    // stands last, or leaves nothing behind that matters.
    std::function<void(Nanoseconds until, WriteDone done)> undo{};
};

enum class JournalStep : std::uint8_t { done, refused, unknown, undone, not_undone };
std::string_view step_name(JournalStep step);

struct JournalEntry {
    std::size_t position = 0;  // of the write in its list
    std::string_view write;    // its name
    JournalStep step = JournalStep::done;
    std::string_view message;
};

using Journal = std::function<void(const JournalEntry&)>;

struct WriteListOptions {
    Clock clock;
    Nanoseconds until{};                       // of all writes, by the clock
    Nanoseconds undo_patience{3'000'000'000};  // of all undos, from the failure on
    Journal journal{};
};

// Done: all were. Refused: none is left. Unknown: some may be, the message says which. A write that
// would begin after `until` is refused unbegun.
void run_writes(std::vector<Write> writes, WriteListOptions options, WriteDone done);

}  // namespace tessera
