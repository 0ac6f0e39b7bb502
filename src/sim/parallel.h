// Independent jobs on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tessera {

// Runs job(0) ... job(count - 1), each once, on at most `threads` threads (0: one per core).
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& job);

}  // namespace tessera
