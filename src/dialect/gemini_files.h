// The two files that tell Gemini's arbiter of one GPU who its clients are.
//
// Config: a line with the number of clients, then "NAME REQUEST LIMIT MEMORY" each, shares as
// fractions of the GPU, memory in bytes. The request comes first: KubeShare 2.0 writes the limit
// there, so that a pod of 0.5 to 1.0 runs with a minimum of 1.0 and a maximum of 0.5. Ports: a
// line with the number, then "NAME PORT" each.
// NAME is namespace/name. Gemini's clients have room for 47 bytes; longer names are hashed, and
// the pod's POD_NAME must be the same gemini_name().
// The agent writes them; the scheduler only says what they hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"

namespace tessera {

inline constexpr std::size_t kGeminiNameMax = 47;

struct GeminiClient {
    std::string name;  // gemini_name()
    MilliGpu request;
    MilliGpu limit;
    Bytes memory;
    std::uint16_t port = 0;
};

std::string gemini_name(std::string_view space, std::string_view pod);
std::string gemini_config_file(std::span<const GeminiClient> clients);
std::string gemini_port_file(std::span<const GeminiClient> clients);

}  // namespace tessera
