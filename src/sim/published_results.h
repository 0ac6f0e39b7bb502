// What the authors of FGD published: allocation % at 100 % and 130 % arrived demand.
//
// Source: the result files that come with the experiments of "Beware of Fragmentation" (Weng et
// al., USENIX ATC 2023), 17 workloads x 6 policies, each the mean of their seeds 42 to 51.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

struct PublishedRate {
    double at_100 = 0;
    double at_130 = 0;
    double error_100 = 0;  // standard errors of these means
    double error_130 = 0;
};

// Our names of the six policies, in the order of the published table.
inline constexpr std::array<std::string_view, 6> kPublishedPolicies{
    "random", "dotprod", "clustering", "packing", "bestfit", "fgd-published"};

// Nothing for other workloads and policies. `fgd` is compared with the published FGD too.
std::optional<PublishedRate> published_rate(std::string_view workload, std::string_view policy);

}  // namespace tessera
