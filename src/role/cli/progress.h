// A progress bar with the time left, on standard error, when that is a terminal that can; else
// silence.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::cli {

class ProgressBar {
  public:
    // `done` says how much is done, from 0 to 1; it is asked from another thread.
    ProgressBar(std::string what, std::function<double()> done);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

  private:
    void show_until_stopped();

    std::string what_;
    std::function<double()> done_;
    std::chrono::steady_clock::time_point start_;
    std::mutex mutex_;
    std::condition_variable stop_condition_;
    bool stopped_ = false;
    std::thread thread_;
};

// "[#####---------------]  25 %  1 min 12 s left"
std::string progress_line(double done, double elapsed_s);

}  // namespace tessera::cli
