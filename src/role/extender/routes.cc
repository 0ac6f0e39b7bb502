#include "role/extender/routes.h"

#include <array>
#include <utility>

#include "role/extender/verbs.h"

namespace tessera {
namespace {

template <HttpResponse (*Verb)(Desk&, Call&)>
void answering(Desk& desk, Call& call, Responder respond) {
    respond(Verb(desk, call));
}

// kube-scheduler tells the text of an answer with status 200 only. The originals answer every
// filter so, and a bind that fails for whatever reason with 500; whoever watches them for that
// finds it here.
HttpResponse original_filter_error(int, std::string_view message) {
    return filter_error(200, message);
}
HttpResponse original_bind_error(int, std::string_view message) {
    return error_answer(500, message);
}

constexpr std::array kRoutes = std::to_array<Route>({
    {"POST", "/tessera/filter", Needs::lead, answering<filter>, filter_error},
    {"POST", "/tessera/prioritize", Needs::lead, answering<prioritize>},
    {"POST", "/tessera/bind", Needs::lead, bind},
    {"POST", "/tessera/preempt", Needs::lead, answering<preempt>},
    {"POST", "/tessera/explain", Needs::listed, answering<explain_pod>},
    {"GET", "/tessera/inspect", Needs::listed, answering<inspect>},
    {"GET", "/tessera/inspect/", Needs::listed, answering<inspect>},
    {"GET", "/tessera/version", Needs::nothing, answering<version>},

    // gpushare-scheduler-extender, and Co-scheML
    {"POST", "/gpushare-scheduler/filter", Needs::lead, answering<filter>, original_filter_error},
    {"POST", "/gpushare-scheduler/bind", Needs::lead, bind, original_bind_error},
    {"GET", "/gpushare-scheduler/inspect", Needs::listed, answering<inspect_gpushare>},
    {"GET", "/gpushare-scheduler/inspect/", Needs::listed, answering<inspect_gpushare>},

    // elastic-gpu-scheduler
    {"POST", "/scheduler/filter", Needs::lead, answering<filter>, original_filter_error},
    {"POST", "/scheduler/priorities", Needs::lead, answering<prioritize>},
    {"POST", "/scheduler/bind", Needs::lead, bind, original_bind_error},
    {"GET", "/scheduler/status", Needs::listed, answering<status_elastic>},

    // both of them, and whoever looks after the process
    {"GET", "/version", Needs::nothing, answering<version>},
    {"GET", "/healthz", Needs::nothing, answering<healthz>},
    {"GET", "/readyz", Needs::nothing, answering<readyz>},
    {"GET", "/metrics", Needs::nothing, answering<metrics>},
    {"GET", "/tessera/healthz", Needs::nothing, answering<healthz>},
    {"GET", "/tessera/readyz", Needs::nothing, answering<readyz>},
    {"GET", "/tessera/metrics", Needs::nothing, answering<metrics>},
});

bool matches(const Route& route, std::string_view path, std::string_view& node) {
    if (!route.path.ends_with('/')) {
        return path == route.path;
    }
    if (path.size() <= route.path.size() || !path.starts_with(route.path)) {
        return false;
    }
    node = path.substr(route.path.size());
    return node.find('/') == std::string_view::npos;
}

}  // namespace

std::span<const Route> extender_routes() { return kRoutes; }

Match match_route(std::string_view method, std::string_view path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.remove_suffix(1);
    }
    Match match;
    for (const Route& route : kRoutes) {
        std::string_view node;
        if (!matches(route, path, node)) {
            continue;
        }
        match.node = node;
        if (route.method == method) {
            match.route = &route;
        }
        match.allowed += (match.allowed.empty() ? "" : ", ") + std::string(route.method);
    }
    return match;
}

}  // namespace tessera
