// Whether the program may be sent work: named conditions that must all hold.
//
//   Readiness ready;
//   auto& rebuilt = ready.add("ledger", "the pods have not been read yet");
//   ready.watch("leader", [&] { return elector.leading() ? "" : "held by " + elector.holder(); });
//   rebuilt.holds();
//   const auto answer = ready.answer();        // readyz: answer.ready ? 200 : 503, answer.text
//
// The text has a line per condition, in the order they were added:
//   ok ledger
//   no leader: held by tessera-1
// Without any condition it is not ready: somebody forgot them. All functions are for any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

class Readiness {
  public:
    class Condition {
      public:
        // For Readiness alone; users call add().
        Condition(std::string name, std::function<std::string()> check, std::string why_not)
            : name_(std::move(name)), check_(std::move(check)), why_not_(std::move(why_not)) {}

        void holds() { set({}); }
        void fails(std::string why_not) {
            set(why_not.empty() ? std::string("it does not hold") : std::move(why_not));
        }

      private:
        friend class Readiness;
        void set(std::string why_not) {
            const std::lock_guard lock(mutex_);
            why_not_ = std::move(why_not);
        }
        std::string why_not() const;

        const std::string name_;
        const std::function<std::string()> check_;  // empty: what was set last
        mutable std::mutex mutex_;
        std::string why_not_;  // empty: it holds
    };

    struct Answer {
        bool ready = false;
        std::string text;
    };

    // Does not hold yet, and why. Lives as long as this.
    Condition& add(std::string name, std::string why_not);
    // Asked each time: why it does not hold, or nothing. Must not block.
    void watch(std::string name, std::function<std::string()> why_not);

    bool ready() const;
    // Of the first condition that does not hold, in the order they were added; empty: ready.
    std::string why_not() const;
    Answer answer() const;

  private:
    Condition& append(std::unique_ptr<Condition> condition);
    std::vector<const Condition*> all() const;

    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Condition>> conditions_;
};

}  // namespace tessera
