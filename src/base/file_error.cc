#include "base/file_error.h"

#include <utility>

namespace tessera {

std::string in_file(std::string_view file, std::string message) {
    constexpr std::string_view kLine = "line ";
    if (message.starts_with(kLine)) {
        const std::size_t end = message.find_first_not_of("0123456789", kLine.size());
        if (end != std::string::npos && end > kLine.size() && message[end] == ':') {
            return fmt::format("{}:{}", file, std::string_view(message).substr(kLine.size()));
        }
    }
    return fmt::format("{}: {}", file, message);
}

Error in_file(std::string_view file, Error error) {
    return {error.kind, in_file(file, std::move(error.message))};
}

}  // namespace tessera
