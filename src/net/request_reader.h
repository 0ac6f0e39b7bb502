// Reads HTTP/1.1 requests out of bytes as they arrive; knows nothing of sockets.
//
//   RequestReader reader({.head_bytes = 16 << 10, .body_bytes = 64 << 20});
//   const std::size_t taken = reader.read(bytes);   // hand in the rest again, with more behind it
//   if (reader.state() == RequestReader::State::complete) { handle(reader.request()); }
//   reader.next();
//
// The head's grammar is Boost.Beast's. What Beast lets pass and another program on the way may read
// otherwise (request smuggling) is refused here: folded lines, bare line ends, control characters,
// a length given twice, any transfer coding but "chunked", a missing or second Host. After a
// refusal nothing more is read: what follows has no known beginning.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "net/http_server.h"

namespace tessera {

struct RequestLimits {
    std::size_t head_bytes = 16 << 10;
    std::size_t body_bytes = std::size_t{64} << 20;
};

struct Refusal {
    int status = 400;
    std::string_view reason;
};

class RequestReader {
  public:
    enum class State { head, body, complete, refused };

    explicit RequestReader(RequestLimits limits);
    ~RequestReader();

    // How many bytes from the front were taken: none of a head that is not whole yet, and never
    // more than belong to this request. Fewer than limits.head_bytes are left when it asks for
    // more.
    std::size_t read(std::string_view bytes);
    void next();  // forgets the request, for the one that follows

    State state() const;
    Refusal refusal() const;  // in State::refused

    // Known once the head was read.
    bool keep_alive() const;
    bool is_head() const;           // HEAD: the answer has no body
    bool is_http10() const;         // keep_alive() must be said aloud
    bool expects_continue() const;  // the client waits for a word before it sends the body
    std::size_t body_left() const;  // bytes still to come; of a chunked body at least one
    HttpRequest& request();

  private:
    class Parser;
    const RequestLimits limits_;
    std::unique_ptr<Parser> parser_;
};

}  // namespace tessera
