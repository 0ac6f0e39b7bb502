// Which path and method calls which verb.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "role/extender/desk.h"

namespace tessera {

enum class Needs : std::uint8_t {
    nothing,
    listed,  // everything has been listed once: there is something to tell
    lead,    // this copy is ready and the one that decides
};

struct Route {
    std::string_view method;
    std::string_view path;  // one that ends in "/" is followed by the name of a node
    Needs needs = Needs::nothing;
    void (*run)(Desk&, Call&, Responder) = nullptr;
    Refuse refuse = error_answer;
};

std::span<const Route> extender_routes();

struct Match {
    const Route* route = nullptr;  // null: there is no such path, or not with this method
    std::string allowed{};         // the methods of the path, where it exists
    std::string_view node{};
};
Match match_route(std::string_view method, std::string_view path);

}  // namespace tessera
