// Errors as values: Expected<T> is a T or an Error that a user can act on.
//
//   Expected<Quantity> parse(std::string_view text);
//   TESSERA_TRY(auto quantity, parse(text));          // returns the error to the caller
//   return fail(ErrorKind::invalid, "gpu_mem: \"{}\" is not a whole number of bytes", text);
//
// The message is a sentence that names the field, the value and what is accepted. We throw no
// exceptions; those of libraries are caught where the library is called.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace tessera {

enum class ErrorKind {
    invalid,      // the input is wrong: exit code 2
    not_found,    // what was named does not exist
    conflict,     // the state does not allow it now
    environment,  // a file, a socket, another program: exit code 3
    internal,     // ours
};

struct Error {
    ErrorKind kind = ErrorKind::internal;
    std::string message;

    // Puts "where" in front: the outer context reads first.
    Error within(std::string_view where) && {
        message.insert(0, fmt::format("{}: ", where));
        return std::move(*this);
    }
};

template <class T>
using Expected = tl::expected<T, Error>;

template <class... Args>
tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected<Error>(Error{kind, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace tessera

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

// Declares or assigns `target` from an Expected, or returns its error.
#define TESSERA_TRY(target, expression) \
    TESSERA_TRY_INNER(target, expression, TESSERA_CONCAT(tessera_try_, __LINE__))
#define TESSERA_TRY_INNER(target, expression, temporary)                       \
    auto temporary = (expression);                                             \
    if (!temporary) {                                                          \
        return tl::unexpected<::tessera::Error>(std::move(temporary.error())); \
    }                                                                          \
    target = std::move(*temporary)

// The same for Expected<void>.
#define TESSERA_CHECK(expression)                                                      \
    do {                                                                               \
        auto tessera_check = (expression);                                             \
        if (!tessera_check) {                                                          \
            return tl::unexpected<::tessera::Error>(std::move(tessera_check.error())); \
        }                                                                              \
    } while (false)
