// A thread that runs one task whenever it is asked for, never twice at once.
//
//   Runner runner([&] { scheduler.run(); });
//   runner.start();
//   runner.wake(Nanoseconds(0));       // soon; asked for several times, the earliest counts
//   runner.stop();
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/units.h"
#include "kube/clock.h"

namespace tessera {

class Runner {
  public:
    Runner(std::function<void()> task, Clock clock);
    ~Runner();  // stops
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    void start();
    // The task does not run any more when it returns. Not from the task.
    void stop();
    // From any thread, also before the start.
    void wake(Nanoseconds delay);

  private:
    void loop();

    const std::function<void()> task_;
    const Clock clock_;
    std::mutex mutex_;
    std::condition_variable asked_;
    std::optional<Nanoseconds> due_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace tessera
