#include "net/http_answer.h"

#include <fmt/format.h>

#include <ctime>
#include <iterator>
#include <string_view>

namespace tessera {
namespace {

std::string_view reason_phrase(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 201:
            return "Created";
        case 202:
            return "Accepted";
        case 204:
            return "No Content";
        case 304:
            return "Not Modified";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 408:
            return "Request Timeout";
        case 409:
            return "Conflict";
        case 413:
            return "Payload Too Large";
        case 415:
            return "Unsupported Media Type";
        case 417:
            return "Expectation Failed";
        case 422:
            return "Unprocessable Entity";
        case 429:
            return "Too Many Requests";
        case 431:
            return "Request Header Fields Too Large";
        case 500:
            return "Internal Server Error";
        case 503:
            return "Service Unavailable";
        case 504:
            return "Gateway Timeout";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "";
    }
}

// Formatted once a second: it would cost as much as the rest of the head.
std::string_view date_of_now() {
    struct Stamp {
        std::time_t second = -1;
        char text[40] = {};
        std::size_t size = 0;
    };
    thread_local Stamp stamp;
    const std::time_t now = std::time(nullptr);
    if (now != stamp.second) {
        std::tm parts{};
        gmtime_r(&now, &parts);
        stamp.size =
            std::strftime(stamp.text, sizeof stamp.text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
        stamp.second = now;
    }
    return {stamp.text, stamp.size};
}

}  // namespace

bool has_body(int status) { return status != 204 && status != 304; }

std::string answer_head(const HttpResponse& response, Afterwards afterwards) {
    std::string head;
    head.reserve(256);
    const auto out = std::back_inserter(head);
    fmt::format_to(out, "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                   reason_phrase(response.status), date_of_now());
    if (has_body(response.status)) {
        fmt::format_to(out, "Content-Type: {}\r\nContent-Length: {}\r\n", response.content_type,
                       response.body.size());
    }
    if (!response.allow.empty()) {
        fmt::format_to(out, "Allow: {}\r\n", response.allow);
    }
    if (afterwards != Afterwards::keep_alive) {
        fmt::format_to(out, "Connection: {}\r\n",
                       afterwards == Afterwards::close ? "close" : "keep-alive");
    }
    head += "\r\n";
    return head;
}

}  // namespace tessera
