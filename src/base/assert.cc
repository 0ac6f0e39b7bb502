#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace tessera {

void assertion_failed(const char* expression, const char* reason, const char* file, int line) {
    std::fprintf(stderr, "tessera: internal error at %s:%d: %s (%s)\n", file, line, reason,
                 expression);
    std::abort();
}

}  // namespace tessera
