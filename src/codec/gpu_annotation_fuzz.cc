// Any bytes are an inventory that survives writing and reading, or one sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "codec/gpu_annotation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Vocabulary names;
    const auto found = read_gpu_annotation(text, names);
    if (!found) {
        TESSERA_ASSERT(valid_utf8(found.error().message), "a refusal is readable");
        return 0;
    }
    const std::string written = write_gpu_annotation(*found, names);
    const auto again = read_gpu_annotation(written, names);
    TESSERA_ASSERT(again && write_gpu_annotation(*again, names) == written,
                   "what is written reads back equal");
    return 0;
}
