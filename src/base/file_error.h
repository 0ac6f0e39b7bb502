// Errors about files all look alike: "FILE:LINE: reason", or "FILE: reason" without a line.
//
//   return tl::unexpected(in_file("cells.yaml", std::move(tree.error())));
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

// The text about a file. Readers that know no file begin theirs with "line N: ".
std::string in_file(std::string_view file, std::string message);
Error in_file(std::string_view file, Error error);

}  // namespace tessera
