// The head of an answer, as it goes over the wire.
#pragma once

#include <string>

#include "net/http_server.h"

namespace tessera {

enum class Afterwards { keep_alive, say_keep_alive, close };  // the second: for HTTP/1.0

// Status line and fields with the empty line behind them; the body's length is in it.
std::string answer_head(const HttpResponse& response, Afterwards afterwards);

bool has_body(int status);

}  // namespace tessera
