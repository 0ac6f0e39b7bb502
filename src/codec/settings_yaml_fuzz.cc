// Any text is settings or one sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "codec/settings_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const auto settings =
        read_settings_yaml(std::string_view(reinterpret_cast<const char*>(data), size));
    TESSERA_ASSERT(settings || settings.error().message.starts_with("line ") ||
                       settings.error().message.starts_with("the file "),
                   "an error says where");
    return 0;
}
