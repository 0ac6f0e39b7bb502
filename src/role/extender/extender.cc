#include "role/extender/extender.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "role/extender/desk.h"
#include "role/extender/routes.h"

namespace tessera {
namespace {

HttpResponse no_such_path(std::string_view path) {
    std::string known;
    for (const Route& route : extender_routes()) {
        known += (known.empty() ? "" : " ") + std::string(route.path) +
                 (route.path.ends_with('/') ? "NODE" : "");
    }
    return error_answer(404, fmt::format("there is no {}; there are {}", in_quotes(path), known));
}

HttpResponse wrong_method(const HttpRequest& request, std::string allowed) {
    HttpResponse response = error_answer(
        405, fmt::format("{} takes {}, not {}", request.path, allowed, in_quotes(request.method)));
    response.allow = std::move(allowed);
    return response;
}

}  // namespace

std::string Desk::why_not_ready() {
    if (ports_.why_not_ready) {
        if (std::string why = ports_.why_not_ready(); !why.empty()) {
            return why;
        }
    }
    return hold()->synced() ? ""
                            : "nodes and pods have not all been listed yet: try again in a moment";
}

bool LongHold::let_others() {
    if (desk_.now() < until_) {
        return false;
    }
    hold_.reset();
    // Whoever waits is woken only now: taken again at once, the mutex would be ours mostly.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    hold_.emplace(desk_);
    until_ = desk_.now() + kTurn;
    return true;
}

Scratch& Scratch::of_thread() {
    thread_local Scratch scratch;
    return scratch;
}

HttpResponse error_answer(int status, std::string_view message) {
    return {.status = status, .body = write_binding_result(message)};
}

Extender::Extender(Mirror& mirror, std::mutex& mutex, ExtenderPorts ports)
    : desk_(std::make_unique<Desk>(mirror, mutex, std::move(ports))) {}
Extender::~Extender() = default;

void Extender::handle(HttpRequest& request, Responder respond) {
    Match match = match_route(request.method, request.path);
    if (match.route == nullptr) {
        respond(match.allowed.empty() ? no_such_path(request.path)
                                      : wrong_method(request, std::move(match.allowed)));
        return;
    }
    const Route& route = *match.route;
    if (route.needs == Needs::lead) {
        if (const std::string why = desk_->why_not_ready(); !why.empty()) {
            respond(route.refuse(503, why));
            return;
        }
    } else if (route.needs == Needs::listed && !desk_->hold()->synced()) {
        respond(error_answer(503, "nodes and pods have not all been listed yet"));
        return;
    }
    Call call{request, match.node, route.refuse};
    route.run(*desk_, call, std::move(respond));
}

bool Extender::decides(std::string_view path) {
    const Match match = match_route("POST", path);
    return match.route != nullptr && match.route->needs == Needs::lead;
}

std::size_t Extender::binds_in_flight() const {
    const auto held = desk_->hold();
    return desk_->binds.size();
}

}  // namespace tessera
