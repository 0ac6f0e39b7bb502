#include "sim/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace tessera {

void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& job) {
    if (threads == 0) {
        threads = std::max(1U, std::thread::hardware_concurrency());
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
            job(i);
        }
    };
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) {
        helpers.emplace_back(work);
    }
    work();
}

}  // namespace tessera
