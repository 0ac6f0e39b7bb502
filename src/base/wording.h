// Words that messages and tables share, so that no sentence says "1 nodes" or "from 1 to 1".
//
//   fail(ErrorKind::invalid, "none of {} has a GPU", the_counted(nodes, "node"));
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// "1 node", "2 nodes"; the ending of many may be another: counted(2, "class", "es").
std::string counted(std::int64_t count, std::string_view what, std::string_view many = "s");
// "the one node", "the 2 nodes".
std::string the_counted(std::int64_t count, std::string_view what);

// "from 1 to 16", or only "1" where nothing else is within.
std::string range_text(std::int64_t low, std::int64_t high);

// Three digits that count and no exponent: "1340", "53.1", "0.00123".
std::string three_digits(double value);

// The name that was probably meant; empty when none is near. Near is a slip or two, by the length,
// or the beginning of one name only: what is further away would be a guess, and a guess misleads.
std::string_view nearest_name(std::string_view given, std::span<const std::string_view> names);
// The same as a part of a sentence: " did you mean fgd?", or nothing.
std::string did_you_mean(std::string_view given, std::span<const std::string_view> names);

}  // namespace tessera
