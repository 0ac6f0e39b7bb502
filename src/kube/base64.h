// Reads base64, as kubeconfig files hold certificates.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// The bytes; spaces and line ends are passed over. Nothing when it is not base64.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace tessera
