// One connection, from its first byte to its last.
#include "net/http_answer.h"
#include "net/http_server_core.h"

namespace tessera::serving {
namespace {

constexpr std::size_t kBodyBuffer = 256 << 10;  // what one read of a large body takes
constexpr Nanoseconds kLinger{1'000'000'000};   // for the client to read our last answer

// A larger answer is given when there is memory for it to wait in. Smaller ones always: a bind, for
// one, has been made by then.
constexpr std::size_t kSmallAnswer = 256 << 10;

// Assigning an empty string would keep the memory.
void release(std::string& text) { std::string().swap(text); }

class AnswerTarget : public Responder::Target {
  public:
    AnswerTarget(std::shared_ptr<Connection> connection, std::uint64_t request)
        : connection_(std::move(connection)), request_(request) {}
    void answer(HttpResponse response) override {
        connection_->answer(request_, std::move(response));
    }

  private:
    const std::shared_ptr<Connection> connection_;
    const std::uint64_t request_;
};

}  // namespace

void Connection::begin(SSL_CTX* tls) {
    if (tls == nullptr) {
        return read();
    }
    SSL_CTX_up_ref(tls);
    asio::ssl::context context(tls);  // owns what it is given
    tls_.emplace(socket_, context);
    phase_ = Phase::handshake;
    tls_->async_handshake(asio::ssl::stream_base::server,
                          [self = shared_from_this()](const ErrorCode& error) {
                              if (self->phase_ == Phase::closed) {
                                  return;
                              }
                              if (error) {
                                  self->server_->count_refusal();
                                  return self->close();
                              }
                              self->phase_ = Phase::idle;
                              self->peer_ = verified_peer(self->tls_->native_handle());
                              self->read();
                          });
}

void Connection::read() {
    const auto room = buffer_.room();
    const auto into = asio::buffer(room.data(), room.size());
    if (tls_) {
        tls_->async_read_some(into, bound(&Connection::on_read));
    } else {
        socket_.async_read_some(into, bound(&Connection::on_read));
    }
}

void Connection::on_read(const ErrorCode& error, std::size_t count) {
    if (phase_ == Phase::closed) {
        return;
    }
    if (timed_out_) {
        return refuse({408, "the request took too long to arrive"});
    }
    if (error) {
        // A client that has ended its half may still read why its half request is no good.
        return phase_ == Phase::idle ? close() : refuse({400, "the request ended half-way"});
    }
    buffer_.filled(count);
    process();
}

void Connection::process() {
    if (phase_ == Phase::idle && !buffer_.bytes().empty()) {
        if (request_id_ > 0) {  // for the first request the time runs since the connection
            expire_after(server_->options().header_timeout);
        }
        phase_ = Phase::head;
    }
    buffer_.consume(reader_.read(buffer_.bytes()));
    if (reader_.state() == RequestReader::State::body && phase_ == Phase::head) {
        phase_ = Phase::body;
        expire_after(server_->options().body_timeout);
        if (reader_.expects_continue() && buffer_.bytes().empty()) {
            head_ = "HTTP/1.1 100 Continue\r\n\r\n";
            out_ = {asio::buffer(head_), asio::const_buffer()};
            return write();
        }
        buffer_.consume(reader_.read(buffer_.bytes()));
    }
    if (!count_body()) {
        return refuse({503, "too much is being sent at once: try again in a moment"});
    }
    switch (reader_.state()) {
        case RequestReader::State::head:
            return read();
        case RequestReader::State::body:
            return read_body();
        case RequestReader::State::complete:
            return handle();
        case RequestReader::State::refused:
            return refuse(reader_.refusal());
    }
}

void Connection::read_body() {
    if (reader_.body_left() > buffer_.capacity()) {
        buffer_.resize(std::min(reader_.body_left(), kBodyBuffer));
    }
    read();
}

void Connection::handle() {
    phase_ = Phase::handling;
    deadline_ = kNever;  // the handler's own
    waiting_since_ = kNever;
    buffer_.resize(server_->options().max_header_bytes);
    server_->count_request();
    HttpRequest& request = reader_.request();
    request.peer = peer_;
    const std::uint64_t id = ++request_id_;
    in_handler_ = true;
    try {
        server_->handler()(request,
                           Responder(std::make_unique<AnswerTarget>(shared_from_this(), id)));
    } catch (...) {
        last_ = true;
        answered_ = {500, "{\"Error\":\"the request could not be handled\"}\n", "application/json"};
    }
    in_handler_ = false;
    drop_body();
    if (answered_) {
        send(*std::exchange(answered_, std::nullopt));
    }
}

void Connection::answer(std::uint64_t request, HttpResponse response) {
    if (strand().running_in_this_thread()) {
        return deliver(request, std::move(response));
    }
    server_->post(strand(),
                  [self = shared_from_this(), request, response = std::move(response)]() mutable {
                      self->deliver(request, std::move(response));
                  });
}

void Connection::deliver(std::uint64_t request, HttpResponse response) {
    if (phase_ != Phase::handling || request != request_id_) {
        return;
    }
    if (in_handler_) {
        answered_ = std::move(response);  // sent when the handler has returned
    } else {
        send(std::move(response));
    }
}

void Connection::refuse(const Refusal& refusal) {
    server_->count_refusal();
    last_ = true;
    drop_body();
    send({refusal.status, fmt::format("{{\"Error\":\"{}\"}}\n", refusal.reason),
          "application/json"});
}

void Connection::send(HttpResponse response) {
    if (!count_answer(response)) {
        server_->count_refusal();
        response = {503, "{\"Error\":\"too much is being read at once: try again in a moment\"}\n",
                    "application/json"};
    }
    last_ = last_ || !reader_.keep_alive() || server_->stopping();
    phase_ = Phase::writing;
    expire_after(server_->options().write_timeout);
    head_ = answer_head(response, last_                 ? Afterwards::close
                                  : reader_.is_http10() ? Afterwards::say_keep_alive
                                                        : Afterwards::keep_alive);
    if (has_body(response.status) && !reader_.is_head()) {
        body_ = std::move(response.body);
    }
    if (tls_) {  // a record is one piece anyway
        head_ += body_;
        release(body_);
    }
    out_ = {asio::buffer(head_), asio::buffer(body_)};
    write();
}

void Connection::write() {
    if (tls_) {
        tls_->async_write_some(out_[0], bound(&Connection::on_written));
    } else {
        socket_.async_write_some(out_, bound(&Connection::on_written));
    }
}

void Connection::on_written(const ErrorCode& error, std::size_t count) {
    if (phase_ == Phase::closed) {
        return;
    }
    if (error) {
        return close();
    }
    for (asio::const_buffer& part : out_) {
        const std::size_t done = std::min(count, part.size());
        part += done;
        count -= done;
    }
    if (out_[0].size() + out_[1].size() > 0) {
        write();
    } else if (phase_ == Phase::body) {  // that was "100 Continue"
        read_body();
    } else {
        after_answer();
    }
}

void Connection::after_answer() {
    drop_answer();
    if (last_ || server_->stopping()) {
        return linger();
    }
    reader_.next();
    phase_ = Phase::idle;
    expire_after(server_->options().idle_timeout);
    waiting_since_ = now_ns();
    process();
}

// A socket closed with bytes unread sends a reset, and that can overtake our answer. So the client
// is told that nothing follows, and what it still sends is thrown away for a moment.
void Connection::linger() {
    phase_ = Phase::lingering;
    expire_after(std::min(kLinger, server_->options().header_timeout));
    if (tls_) {
        tls_->async_shutdown(
            [self = shared_from_this()](const ErrorCode&) { self->end_sending(); });
    } else {
        end_sending();
    }
}

void Connection::end_sending() {
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    discard();
}

void Connection::discard() {
    if (phase_ == Phase::closed) {
        return;
    }
    buffer_.consume(buffer_.bytes().size());
    const auto room = buffer_.room();
    socket_.async_read_some(asio::buffer(room.data(), room.size()),
                            [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                                return error ? self->close() : self->discard();
                            });
}

void Connection::expire() {
    if (!is_due(now_ns())) {
        return;  // something happened meanwhile
    }
    switch (phase_) {
        case Phase::head:
        case Phase::body: {
            timed_out_ = true;
            deadline_ = kNever;
            ErrorCode ignored;
            socket_.cancel(ignored);  // on_read() answers
            return;
        }
        case Phase::handshake:
            server_->count_refusal();
            return close();
        case Phase::writing: {
            server_->count_refusal();
            ErrorCode ignored;  // what it does not read is not kept for it
            socket_.set_option(asio::socket_base::linger(true, 0), ignored);
            return close();
        }
        default:
            return close();
    }
}

void Connection::finish() {
    if (phase_ == Phase::idle || phase_ == Phase::handshake) {
        close();
    }
}

void Connection::cut() {
    if (phase_ == Phase::head || phase_ == Phase::body || phase_ == Phase::handling ||
        phase_ == Phase::writing) {
        server_->count_cut();
    }
    close();
}

// For somebody else to be accepted; unless its request has arrived meanwhile.
void Connection::give_way() {
    if (waiting_since_ != kNever && phase_ != Phase::closed) {
        server_->count_gave_way();
        close();
    }
}

bool Connection::count_body() {
    const std::size_t grown = reader_.request().body.size() - counted_;
    counted_ += grown;
    return grown == 0 || server_->take_body(grown);
}

void Connection::drop_body() {
    release(reader_.request().body);
    server_->give_body(std::exchange(counted_, 0));
}

// A client that takes its time keeps the whole of it.
bool Connection::count_answer(const HttpResponse& response) {
    const std::size_t bytes = response.body.capacity();
    if (bytes <= kSmallAnswer) {
        return true;
    }
    answer_counted_ = bytes;
    if (!server_->take_body(bytes)) {
        drop_answer();
        return false;
    }
    return true;
}

void Connection::drop_answer() {
    release(head_);
    release(body_);
    server_->give_body(std::exchange(answer_counted_, 0));
}

void Connection::close() {
    phase_ = Phase::closed;
    deadline_ = kNever;
    ErrorCode ignored;
    socket_.close(ignored);
    server_->leave(this);
}

}  // namespace tessera::serving
