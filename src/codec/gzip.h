// Unpacks gzip data, and leaves plain data as it is: trace files come in both forms.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace tessera {

// A small file may unpack to a huge one; what is larger than this is refused.
inline constexpr std::size_t kGunzipLimitBytes = std::size_t{256} << 20;

// Plain data is returned unchanged. Several gzip members in a row are joined, as gzip does.
Expected<std::string> gunzip_if_packed(std::string bytes, std::size_t limit = kGunzipLimitBytes);

}  // namespace tessera
