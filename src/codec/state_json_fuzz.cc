// Any text is a state or an error; a state reads back as it was written.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "codec/state_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    Vocabulary names;
    const auto state = read_state_json(text, names);
    if (!state) {
        TESSERA_ASSERT(!state.error().message.empty(), "an error says something");
        return 0;
    }
    const std::string written = write_state_json(*state, names);
    const auto again = read_state_json(written, names);
    TESSERA_ASSERT(again.has_value(), "what is written can be read");
    TESSERA_ASSERT(write_state_json(*again, names) == written, "and is written the same again");
    return 0;
}
