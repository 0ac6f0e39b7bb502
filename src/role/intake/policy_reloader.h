// A policy file that may change while its policy is in force.
//
//   TESSERA_TRY(PolicyReloader file, PolicyReloader::open("mine.yaml"));
//   engine.set_policy(*file.make(context));
//   ...
//   if (auto changed = file.look(); !changed) { log(changed.error().message); }  // the old one
//   stays else if (*changed) { engine.set_policy(*file.make(context)); }
//
// look() is cheap where the file was not touched, and reads it where it was. A file that is gone,
// broken or no policy changes nothing: the last good one stays in force, and the sentence, with
// the file's name and the line, is told once for each change of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "policy/composed_policy.h"
#include "policy/policy.h"

namespace tessera {

class PolicyReloader {
  public:
    // The file must be good at the start: there is no last good one yet.
    static Expected<PolicyReloader> open(std::string path);

    // True: another policy is in force now. False: the same one, or the file was not touched.
    Expected<bool> look();
    // The same, whether the file was touched or not: for a signal, or an API.
    Expected<bool> reload();

    const PolicySpec& in_force() const { return holder_.in_force(); }
    std::uint64_t generation() const { return holder_.generation(); }
    // Why the file as it is now is not in force; nothing when it is.
    const std::optional<Error>& refused() const { return holder_.refused(); }

    // A new policy object of the one in force: policies learn.
    Expected<std::unique_ptr<Policy>> make(const PolicyContext& context) const {
        return build_policy(holder_.in_force(), context);
    }

  private:
    // What tells a touched file from an untouched one, as far as the system knows.
    struct Stamp {
        std::int64_t seconds = -1;
        std::int64_t nanoseconds = 0;
        std::int64_t size = 0;
        std::uint64_t inode = 0;

        friend bool operator==(const Stamp&, const Stamp&) = default;
    };
    static Stamp stamp_of(const std::string& path);

    PolicyReloader(std::string path, PolicyHolder holder, const Stamp& stamp)
        : path_(std::move(path)), holder_(std::move(holder)), stamp_(stamp) {}

    std::string path_;
    PolicyHolder holder_;
    Stamp stamp_;
};

}  // namespace tessera
