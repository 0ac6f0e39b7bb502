// Files in and out, with errors that name them.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

// The whole file, unpacked when it is gzip.
Expected<std::string> read_file(const std::string& path);
// `path`, or `path`.gz when only that exists.
Expected<std::string> read_file_or_packed(const std::string& path);
// "-" writes to standard output.
Expected<void> write_file(const std::string& path, std::string_view text);
// Whether write_file() can be expected to succeed; nothing is touched.
Expected<void> check_writable(const std::string& path);
bool file_exists(const std::string& path);
// Whatever it is: a directory, a pipe.
bool path_exists(const std::string& path);

}  // namespace tessera
