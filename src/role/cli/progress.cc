#include "role/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "role/cli/terminal.h"

namespace tessera::cli {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(200);
constexpr int kWidth = 30;

std::string duration_text(double seconds) {
    const auto whole = static_cast<long>(std::ceil(seconds));
    if (whole < 60) {
        return fmt::format("{} s", whole);
    }
    if (whole < 3600) {
        return fmt::format("{} min {} s", whole / 60, whole % 60);
    }
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_line(double done, double elapsed_s) {
    done = std::clamp(done, 0.0, 1.0);
    const auto filled = static_cast<std::size_t>(done * kWidth);
    std::string line = fmt::format("[{}{}] {:3.0f} %", std::string(filled, '#'),
                                   std::string(kWidth - filled, '-'), done * 100);
    if (done > 0.01 && done < 1) {
        line += fmt::format("  {} left", duration_text(elapsed_s * (1 - done) / done));
    }
    return line;
}

ProgressBar::ProgressBar(std::string what, std::function<double()> done)
    : what_(std::move(what)), done_(std::move(done)), start_(std::chrono::steady_clock::now()) {
    if (moves_cursor(STDERR_FILENO)) {
        thread_ = std::thread([this] { show_until_stopped(); });
    }
}

ProgressBar::~ProgressBar() {
    if (!thread_.joinable()) {
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    stop_condition_.notify_all();
    thread_.join();
    fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show_until_stopped() {
    std::unique_lock lock(mutex_);
    while (!stop_condition_.wait_for(lock, kInterval, [this] { return stopped_; })) {
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
        fmt::print(stderr, "\r{}  {}\033[K", what_, progress_line(done_(), elapsed.count()));
        std::fflush(stderr);
    }
}

}  // namespace tessera::cli
