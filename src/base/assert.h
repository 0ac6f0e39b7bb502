// Assertions for what cannot happen.
//
// Handle what the network, a file or a user may do (base/error.h); stop on what only a fault of
// ours can cause. There is no third way: a broken invariant must not reach the ledger.
//   TESSERA_ASSERT(free >= 0, "free memory of a GPU is never negative");
#pragma once

namespace tessera {

[[noreturn]] void assertion_failed(const char* expression, const char* reason, const char* file,
                                   int line);

}  // namespace tessera

#define TESSERA_ASSERT(expression, reason)                                        \
    do {                                                                          \
        if (!(expression)) [[unlikely]] {                                         \
            ::tessera::assertion_failed(#expression, reason, __FILE__, __LINE__); \
        }                                                                         \
    } while (false)

// For checks too dear for production: on in the dev, asan, tsan and fuzz builds.
#if defined(TESSERA_DEBUG)
#define TESSERA_DEBUG_ASSERT(expression, reason) TESSERA_ASSERT(expression, reason)
#else
#define TESSERA_DEBUG_ASSERT(expression, reason) \
    do {                                         \
    } while (false)
#endif
