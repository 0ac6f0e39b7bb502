// A policy as a user names it: one of the shipped ones, or a file of his own.
//
//   TESSERA_TRY(const PolicySource source, PolicySource::open("policies/mine.yaml"));
//   TESSERA_TRY(std::unique_ptr<Policy> policy, source.make(context));
//
// A name with a slash, or that ends in .yaml or .yml, is a file; it is read once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/policy_spec.h"
#include "policy/policy.h"
#include "policy/registry.h"

namespace tessera {

class PolicySource {
  public:
    static Expected<PolicySource> open(const std::string& name);
    static bool is_file(std::string_view name);

    // A new one each time: policies learn.
    Expected<std::unique_ptr<Policy>> make(const PolicyContext& context) const;
    // As the user named it.
    const std::string& given() const { return given_; }
    // What results call it: the shipped policy's name, or the one in the file.
    const std::string& name() const { return name_; }
    // The shipped policy that it is or starts from; empty for a sum of scores.
    std::string_view shipped() const;

  private:
    std::string given_;
    std::string name_;
    std::optional<PolicySpec> spec_;  // of a file
};

// Results go by name, so the policies of one run must differ in theirs.
Expected<void> check_names_differ(std::span<const PolicySource> policies);

// The file's policy, checked; it may not have a shipped policy's name, or nobody could tell whose
// results they are. Errors begin with the file's name, and the line where there is one.
Expected<PolicySpec> read_policy_file(const std::string& path);

}  // namespace tessera
