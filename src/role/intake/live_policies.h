// The policies that a service's configuration names; files among them may change while it runs.
//
//   LivePolicies policies;
//   TESSERA_CHECK(policies.add("mine.yaml"));
//   ...policies.make("mine.yaml")...                        // what is in force, a new object
//   for (const auto& change : policies.look()) { ... }      // now and then
//
// From any thread, but look() from one alone. Files are read without a lock held, so that nobody
// who makes a policy waits for a disk.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/policy.h"
#include "role/intake/policy_reloader.h"

namespace tessera {

class LivePolicies {
  public:
    // The name of a shipped policy, or a file's; a file must be good now.
    Expected<void> add(const std::string& given);
    // The file's policy as it is in force, or a shipped one.
    Expected<std::unique_ptr<Policy>> make(std::string_view given) const;

    struct Change {
        std::string file;
        std::optional<Error> refused{};  // the last good one stays; none: it is in force
    };
    // What has changed since the last look; each change of a file is told once.
    std::vector<Change> look();
    // Files that are not in force as they are now.
    std::size_t refused() const;

  private:
    mutable std::mutex mutex_;
    std::map<std::string, PolicyReloader, std::less<>> files_;
};

}  // namespace tessera
