// A policy as its author wrote it: names and numbers, with the lines they stand on.
//
// codec/policy_yaml.h reads and writes it; policy/composed_policy.h checks what it means and makes
// a policy of it. Either a shipped policy (`base`), perhaps with other parameters, or a weighted
// sum of scores; docs/policies.md has the schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// Equal when the values are: the same policy may be written on other lines.
template <class T>
struct Located {
    T value{};
    int line = 0;  // 0: not from a file

    friend bool operator==(const Located& a, const Located& b) { return a.value == b.value; }
};

struct PolicySpec {
    struct Parameter {
        Located<std::string> name;
        double value = 0;

        friend bool operator==(const Parameter&, const Parameter&) = default;
    };
    struct Score {
        Located<std::string> name;
        Located<std::int64_t> weight{1};

        friend bool operator==(const Score&, const Score&) = default;
    };

    std::string source;  // the file's name, for messages; empty: none
    Located<std::string> name;
    std::string summary;
    std::optional<Located<std::string>> base;
    std::vector<Parameter> parameters;  // of the base
    std::vector<Score> scores;
    std::optional<Located<std::string>> select;   // best, any
    std::optional<Located<std::string>> devices;  // tightest, emptiest, random
    std::vector<Located<std::string>> ties;
    std::optional<Located<std::int64_t>> step;            // scores closer than this are equal
    bool whole_devices = false;                           // shares become whole devices
    std::optional<Located<std::int64_t>> smallest_share;  // milli; smaller shares are raised to it

    // But for where it came from.
    friend bool operator==(const PolicySpec& a, const PolicySpec& b) {
        return a.name == b.name && a.summary == b.summary && a.base == b.base &&
               a.parameters == b.parameters && a.scores == b.scores && a.select == b.select &&
               a.devices == b.devices && a.ties == b.ties && a.step == b.step &&
               a.whole_devices == b.whole_devices && a.smallest_share == b.smallest_share;
    }
};

}  // namespace tessera
