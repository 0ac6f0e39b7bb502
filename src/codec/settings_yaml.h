// A file of settings: a YAML map whose keys are the flags of a command.
//
//   listen: 0.0.0.0:12345
//   leader-elect: true
//   policy:
//     elastic: elastic-spread          # as --policy elastic=elastic-spread
//
// A value is a word, a list of words, or a map of words, whose entries become KEY=VALUE. What the
// keys mean is the command's business. Errors begin with "line N: ".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace tessera {

struct Setting {
    std::string key;
    std::vector<std::string> values;
    int line = 1;
};

// In the order of the file, each key once.
Expected<std::vector<Setting>> read_settings_yaml(std::string_view text);

}  // namespace tessera
