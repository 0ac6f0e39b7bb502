// A token in a file that somebody else renews: a service account's, every hour.
//
//   const auto token = token_from_file("/var/run/secrets/.../token", "");
//   token();   // what the file holds now
#pragma once

#include <functional>
#include <string>

namespace tessera {

// Each call looks whether the file has changed and reads it anew if so. While it cannot be read,
// or is empty, the last good token is told; `first` until there is one. Threads may share it.
std::function<std::string()> token_from_file(std::string file, std::string first);

}  // namespace tessera
