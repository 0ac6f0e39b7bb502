// A node's devices and a class's requests as the assignment of containers to cards reads them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "policy/card_assignment.h"
#include "policy/catalog.h"

namespace tessera {

struct NodeCards {
    std::array<CardView, kMaxGpusPerNode> cards;
    std::size_t count = 0;
    MemoryMib largest;  // memory of the largest device: parts are judged by it, never by less

    std::span<const CardView> view() const { return std::span(cards).first(count); }
};

NodeCards cards_of(const NodeState& node, const DemandClass& demand_class, const Catalog& catalog);
std::vector<ContainerNeed> needs_of(const DemandClass& demand_class, MemoryMib largest);

// The devices of each request, request by request.
void list_cards(const CardAssignment& assignment, DeviceList& devices);

}  // namespace tessera
