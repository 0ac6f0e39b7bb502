#include "role/serve/runner.h"

#include <chrono>
#include <utility>

namespace tessera {

Runner::Runner(std::function<void()> task, Clock clock)
    : task_(std::move(task)), clock_(std::move(clock)) {}

Runner::~Runner() { stop(); }

void Runner::start() {
    thread_ = std::thread([this] { loop(); });
}

void Runner::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    asked_.notify_all();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Runner::wake(Nanoseconds delay) {
    const Nanoseconds due = clock_() + delay;
    {
        const std::lock_guard lock(mutex_);
        if (due_ && *due_ <= due) {
            return;
        }
        due_ = due;
    }
    asked_.notify_one();
}

void Runner::loop() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        if (!due_) {
            asked_.wait(lock);
            continue;
        }
        const Nanoseconds left = *due_ - clock_();
        if (left > Nanoseconds(0)) {
            asked_.wait_for(lock, std::chrono::nanoseconds(left.value()));
            continue;
        }
        due_.reset();
        lock.unlock();
        task_();
        lock.lock();
    }
}

}  // namespace tessera
