#include "kube/paths.h"

#include <fmt/format.h>

#include <iterator>

namespace tessera {

std::string percent_encoded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (plain) {
            out += c;
        } else {
            fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return out;
}

std::string ObjectPath::text() const {
    std::string path = group == "v1" ? "/api/v1" : "/apis/" + std::string(group);
    if (!space.empty()) {
        path += "/namespaces/" + percent_encoded(space);
    }
    path += '/';
    path += resource;
    if (!name.empty()) {
        path += '/' + percent_encoded(name);
    }
    if (!sub.empty()) {
        path += '/';
        path += sub;
    }
    return path;
}

std::string with_query(
    std::string_view path,
    std::initializer_list<std::pair<std::string_view, std::string_view>> parameters) {
    std::string out(path);
    char separator = path.find('?') == std::string_view::npos ? '?' : '&';
    for (const auto& [name, value] : parameters) {
        if (value.empty()) {
            continue;
        }
        out += separator;
        out += name;
        out += '=';
        out += percent_encoded(value);
        separator = '&';
    }
    return out;
}

}  // namespace tessera
