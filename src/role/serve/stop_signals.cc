#include "role/serve/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <future>
#include <thread>

#include "base/assert.h"

namespace tessera {

struct StopSignals::Inner {
    sigset_t signals{};
    sigset_t before{};
    int told = -1;
    int ended = -1;
    std::promise<int> first;
    std::thread thread;

    void watch() {
        bool again = false;
        std::array<pollfd, 2> waits{{{told, POLLIN, 0}, {ended, POLLIN, 0}}};
        for (;;) {
            if (::poll(waits.data(), waits.size(), -1) < 0) {
                continue;
            }
            if ((waits[1].revents & POLLIN) != 0) {
                return;
            }
            signalfd_siginfo info{};
            if (::read(told, &info, sizeof info) != sizeof info) {
                continue;
            }
            const int number = static_cast<int>(info.ssi_signo);
            if (again) {
                _exit(128 + number);
            }
            again = true;
            first.set_value(number);
        }
    }
};

StopSignals::StopSignals() : inner_(std::make_unique<Inner>()) {
    sigemptyset(&inner_->signals);
    sigaddset(&inner_->signals, SIGTERM);
    sigaddset(&inner_->signals, SIGINT);
    // Threads that are started later inherit this, so that no other one is interrupted.
    pthread_sigmask(SIG_BLOCK, &inner_->signals, &inner_->before);
    inner_->told = ::signalfd(-1, &inner_->signals, SFD_CLOEXEC);
    inner_->ended = ::eventfd(0, EFD_CLOEXEC);
    TESSERA_ASSERT(inner_->told >= 0 && inner_->ended >= 0, "two descriptors are to be had");
    inner_->thread = std::thread([inner = inner_.get()] { inner->watch(); });
}

StopSignals::~StopSignals() {
    const std::uint64_t one = 1;
    const bool written = ::write(inner_->ended, &one, sizeof one) == sizeof one;
    TESSERA_ASSERT(written, "an event can be written");
    inner_->thread.join();
    ::close(inner_->told);
    ::close(inner_->ended);
    pthread_sigmask(SIG_SETMASK, &inner_->before, nullptr);
}

int StopSignals::wait() { return inner_->first.get_future().get(); }

}  // namespace tessera
