#include "role/serve/request_meter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "role/extender/routes.h"

namespace tessera {
namespace {

// Statuses that we answer with; of others only the class is told.
constexpr std::array<int, 10> kStatuses{200, 400, 403, 404, 405, 413, 422, 500, 503, 0};

// The last one is for everything else.
std::size_t route_count() { return extender_routes().size() + 1; }
std::size_t route_index(const HttpRequest& request) {
    const Route* route = match_route(request.method, request.path).route;
    return route == nullptr ? extender_routes().size()
                            : static_cast<std::size_t>(route - extender_routes().data());
}
std::string_view route_label(std::size_t index) {
    return index < extender_routes().size() ? extender_routes()[index].path : "other";
}

std::size_t status_index(int status) {
    const auto found = std::find(kStatuses.begin(), kStatuses.end() - 1, status);
    return static_cast<std::size_t>(found - kStatuses.begin());
}

}  // namespace

// Series are made when they are first needed: most routes of a program are never called.
struct RequestMeter::Shared {
    struct OfRoute {
        std::array<std::atomic<Counter*>, kStatuses.size()> counts{};
        std::atomic<Histogram*> seconds = nullptr;
    };

    Shared(Metrics& into, Clock time, OnAnswer told)
        : metrics(into),
          clock(std::move(time)),
          on_answer(std::move(told)),
          routes(route_count()) {}

    Counter& counter(std::size_t route, std::size_t status) {
        std::atomic<Counter*>& made = routes[route].counts[status];
        if (made == nullptr) {
            const int code = kStatuses[status];
            made =
                &metrics.counter({"tessera_http_requests_total", "Requests by route and status."},
                                 {{"route", std::string(route_label(route))},
                                  {"code", code == 0 ? "other" : std::to_string(code)}});
        }
        return *made;
    }
    Histogram& seconds(std::size_t route) {
        std::atomic<Histogram*>& made = routes[route].seconds;
        if (made == nullptr) {
            made =
                &metrics.histogram({"tessera_http_request_seconds", "Time from request to answer."},
                                   kSecondsBounds, {{"route", std::string(route_label(route))}});
        }
        return *made;
    }
    void answered(std::size_t route, int status, Nanoseconds begun) {
        const Nanoseconds took = clock() - begun;
        counter(route, status_index(status)).add();
        seconds(route).observe(static_cast<double>(took.value()) / 1e9);
        if (on_answer) {
            on_answer({route_label(route), status, took});
        }
    }

    Metrics& metrics;
    const Clock clock;
    const OnAnswer on_answer;
    std::vector<OfRoute> routes;
};

namespace {

// Stands between the handler and the server's own target.
template <class Shared>
class Metered final : public Responder::Target {
  public:
    Metered(std::shared_ptr<Shared> shared, std::size_t route, Responder inner)
        : shared_(std::move(shared)),
          route_(route),
          begun_(shared_->clock()),
          inner_(std::move(inner)) {}

    void answer(HttpResponse response) override {
        shared_->answered(route_, response.status, begun_);
        inner_(std::move(response));
    }

  private:
    const std::shared_ptr<Shared> shared_;
    const std::size_t route_;
    const Nanoseconds begun_;
    Responder inner_;
};

}  // namespace

RequestMeter::RequestMeter(Metrics& metrics, Clock clock, OnAnswer on_answer)
    : shared_(std::make_shared<Shared>(metrics, std::move(clock), std::move(on_answer))) {}
RequestMeter::~RequestMeter() = default;

HttpHandler RequestMeter::around(HttpHandler inner) {
    return [shared = shared_, inner = std::move(inner)](HttpRequest& request, Responder respond) {
        auto metered =
            std::make_unique<Metered<Shared>>(shared, route_index(request), std::move(respond));
        inner(request, Responder(std::move(metered)));
    };
}

}  // namespace tessera
