// The HTTP server of the extender with a handler that returns the body as it came: the least that
// an answer on this stack can cost. Prints its port; ends when its standard input does.
#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "net/http_server.h"

int main() {
    using namespace tessera;
    auto server =
        HttpServer::start({.address = "127.0.0.1"}, [](HttpRequest& request, Responder respond) {
            respond({.status = 200, .body = std::move(request.body)});
        });
    if (!server) {
        fmt::print(stderr, "{}\n", server.error().message);
        return 3;
    }
    fmt::print("{}\n", (*server)->port());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    (*server)->stop(Nanoseconds(1'000'000'000));
    return 0;
}
