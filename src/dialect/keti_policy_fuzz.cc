// Any lines "key=value" are KETI's settings, or one readable sentence.
#include "dialect/keti_policy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "policy/keti_policy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    StringMap map;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t equals = std::min(line.size(), line.find('='));
        map.insert_or_assign(std::string(line.substr(0, equals)),
                             std::string(line.substr(std::min(line.size(), equals + 1))));
    }
    const auto policy = parse_keti_policy(map);
    if (!policy) {
        TESSERA_ASSERT(!policy.error().message.empty() && valid_utf8(policy.error().message),
                       "a refusal is readable");
        return 0;
    }
    for (const std::string& note : keti_notes(*policy)) {
        TESSERA_ASSERT(valid_utf8(note), "a note is readable");
    }
    return 0;
}
