// Any bytes are requests or a refusal, and the same ones however they are cut into pieces. The
// first byte says how.
#include "net/request_reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"

namespace {

using namespace tessera;
using State = RequestReader::State;
constexpr RequestLimits kLimits{.head_bytes = 512, .body_bytes = 256};

std::string read_all(std::string_view bytes, std::size_t step) {
    std::string seen;
    std::string waiting;
    RequestReader reader(kLimits);
    for (std::size_t at = 0; at < bytes.size() && reader.state() != State::refused; at += step) {
        waiting += bytes.substr(at, step);
        for (std::size_t taken = 1; taken > 0 && reader.state() != State::refused;) {
            taken = reader.read(waiting);
            TESSERA_ASSERT(taken <= waiting.size(), "no more is taken than there is");
            waiting.erase(0, taken);
            const HttpRequest& request = reader.request();
            TESSERA_ASSERT(request.body.size() <= kLimits.body_bytes, "a body is bounded");
            if (reader.state() != State::complete) {
                continue;
            }
            TESSERA_ASSERT(request.body.capacity() >= request.body.size() + kBodyPadding,
                           "a body has room behind it");
            TESSERA_ASSERT(request.path.starts_with('/') || request.path == "*", "a path");
            seen += request.method + ' ' + request.path + '?' + request.query + '\n' +
                    request.body + '\n' + (reader.keep_alive() ? "+" : "-");
            reader.next();
        }
        TESSERA_ASSERT(reader.state() == State::refused || waiting.size() < kLimits.head_bytes,
                       "what waits is bounded");
    }
    return reader.state() == State::refused ? seen + "refused" : seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
        TESSERA_ASSERT(read_all(bytes, 1U + data[0] % 64U) == read_all(bytes, bytes.size() + 1),
                       "pieces make no difference");
    }
    return 0;
}
