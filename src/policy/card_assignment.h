// Which card serves which container of one pod.
//
// The containers of a pod may sit on different cards of a node. Trying all combinations costs
// cards^containers; here whole-card containers first take the empty cards whose loss hurts least,
// the rest go by demand, largest first, to cards in order of preference, cards in equal state count
// as one choice, and what cannot fit any more is cut. If that runs long, a table over sets of
// containers decides. Up to 12 shares the answer is exact: an assignment is found if there is one.
//
//   auto cards = assign_cards(needs, node_cards, {.order = CardOrder::fullest_first});
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/devices.h"

namespace tessera {

struct CardView {
    std::int32_t milli_free = 0;
    std::int64_t memory_free_mib = 0;
    bool empty = true;   // no share at all: a whole-card container may have it
    bool usable = true;  // healthy, of an allowed model
    std::int32_t milli_total = 1000;
    std::int64_t memory_total_mib = 0;
    int slots_free = kSlotsUnlimited;  // shares that it can still serve
};

struct ContainerNeed {
    int cards = 1;                // 0 = needs none, and gets none
    bool whole = false;           // each card alone
    std::int32_t milli = 0;       // per card
    std::int64_t memory_mib = 0;  // per card
};

enum class CardOrder : std::uint8_t { fullest_first, emptiest_first, by_lot };

struct AssignOptions {
    CardOrder order = CardOrder::fullest_first;
    std::uint64_t draw = 0;  // for by_lot
};

// Per container the cards it gets, in the order of `needs`.
using CardAssignment = std::vector<DeviceMask>;

// nullopt when the containers do not fit together. At most kMaxGpusPerNode cards.
std::optional<CardAssignment> assign_cards(std::span<const ContainerNeed> needs,
                                           std::span<const CardView> cards,
                                           const AssignOptions& options = {});

// The cards as they would be afterwards.
std::vector<CardView> cards_after(std::span<const CardView> cards,
                                  std::span<const ContainerNeed> needs,
                                  const CardAssignment& assignment);

}  // namespace tessera
