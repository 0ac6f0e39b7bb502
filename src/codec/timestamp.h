// Points in time as Kubernetes writes them: "2026-01-31T23:59:59Z" (RFC 3339).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

// Seconds since 1970; fractions are cut off. Nothing when the text is no such time.
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace tessera
