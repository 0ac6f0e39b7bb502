// Policy files: YAML into a PolicySpec and back.
//
//   name: pack-by-size
//   scores:
//   - {name: binpack, weight: 2}
//   - name: clustering
//   devices: tightest
//   ties: [least-idle, oldest]
//
// Errors are "FILE:LINE: reason" and say what is accepted. Here only keys and types are judged;
// what the names mean is policy/composed_policy.h's. docs/policies.md has the schema.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/policy_spec.h"

namespace tessera {

// `source` is the file's name, for messages.
Expected<PolicySpec> parse_policy_yaml(std::string_view text, std::string source);
// What parse_policy_yaml() reads back equal.
std::string write_policy_yaml(const PolicySpec& spec);

}  // namespace tessera
