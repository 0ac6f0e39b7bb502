// Any bytes: a quantity that survives printing and reading, or one sentence.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "base/quantity.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto quantity = Quantity::parse(text);
    if (!quantity) {
        TESSERA_ASSERT(!quantity.error().message.empty() && valid_utf8(quantity.error().message),
                       "a refusal says why");
        return 0;
    }
    const auto again = Quantity::parse(quantity->to_string());
    TESSERA_ASSERT(again && *again == *quantity, "a printed quantity reads back equal");
    return 0;
}
