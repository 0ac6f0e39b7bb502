// What looks after the process asks: version, healthz, readyz, metrics.
#include "role/extender/verbs.h"

namespace tessera {
namespace {

constexpr std::string_view kPlain = "text/plain; charset=utf-8";
constexpr std::string_view kPrometheus = "text/plain; version=0.0.4; charset=utf-8";

HttpResponse text(int status, std::string body, std::string_view type = kPlain) {
    return {.status = status, .body = std::move(body), .content_type = std::string(type)};
}

}  // namespace

HttpResponse version(Desk& desk, Call&) { return text(200, desk.ports().version + "\n"); }

HttpResponse healthz(Desk&, Call&) { return text(200, "ok\n"); }

HttpResponse readyz(Desk& desk, Call&) {
    const std::string why = desk.why_not_ready();
    return why.empty() ? text(200, "ok\n") : text(503, why + "\n");
}

HttpResponse metrics(Desk& desk, Call&) {
    return text(200, desk.ports().metrics ? desk.ports().metrics() : "", kPrometheus);
}

}  // namespace tessera
