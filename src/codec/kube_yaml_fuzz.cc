// Any bytes are Kubernetes objects or one sentence with a line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "codec/kube_yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto all = read_kube_yaml(text);
    TESSERA_ASSERT(all || !all.error().message.empty(), "a refusal says why");
    return 0;
}
