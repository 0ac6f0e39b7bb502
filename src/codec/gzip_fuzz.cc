// Any bytes unpack, pass through or are an error, within the limit.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "codec/gzip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kLimit = 1 << 20;
    std::string bytes(reinterpret_cast<const char*>(data), size);
    const auto text = tessera::gunzip_if_packed(bytes, kLimit);
    TESSERA_ASSERT(!text || text->size() <= std::max(kLimit, size), "the limit holds");
    return 0;
}
