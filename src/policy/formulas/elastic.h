// Elastic GPU's raters and its choice of cards for the containers of a pod.
//
// binpack: with the cards as they would be afterwards,
//   R = (max free memory + max free core - min free memory - min free core) / 2   over all cards,
//   rate = R / (k + 1) * 100,  k = distinct cards of the single-card containers
// in whole numbers, memory in MiB, core in hundredths of a card. spread there always rates 0, so
// that the last card wins; here it rates evenness: 1000 per card less the sum of squared use in
// thousandths. random was announced and never written; here it draws with a seed. Of equal rates
// the last combination wins, as there.
// Not kept: containers without a GPU being given a card; cards^containers combinations; cards of
// unlike size taken as equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "policy/card_assignment.h"

namespace tessera {

enum class ElasticRater : std::uint8_t { binpack, spread, random };

struct ElasticChoice {
    CardAssignment cards;
    std::int64_t rate = 0;  // of the node; larger is better
};

// nullopt when the pod does not fit. The best rate is found exactly while there are at most
// kElasticCombinations; beyond, containers go by demand to the fullest (emptiest) card that fits.
inline constexpr std::int64_t kElasticCombinations = 512;
std::optional<ElasticChoice> elastic_choice(std::span<const ContainerNeed> needs,
                                            std::span<const CardView> cards, ElasticRater rater,
                                            std::uint64_t draw = 0);

// `after` are the cards as they would be, `used` the cards of single-card containers.
std::int64_t elastic_binpack_rate(std::span<const CardView> after, DeviceMask used);
std::int64_t elastic_spread_rate(std::span<const CardView> after);

}  // namespace tessera
