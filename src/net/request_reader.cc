#include "net/request_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "net/chunked_body.h"

namespace tessera {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// A client that promises much and sends little must not hold much.
constexpr std::size_t kFirstReserve = std::size_t{1} << 20;
constexpr std::size_t kLengthDigits = 18;  // of a Content-Length; more would overflow somewhere

std::string_view plain(beast::string_view text) { return {text.data(), text.size()}; }

bool is_digits(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

class RequestReader::Parser final : public http::basic_parser<true> {
  public:
    explicit Parser(const RequestLimits& limits)
        : limits_(limits), chunks_({limits.body_bytes, limits.head_bytes}) {
        header_limit(static_cast<std::uint32_t>(limits.head_bytes));
        skip(true);  // the body is read here
    }

    std::size_t read(std::string_view bytes) {
        return state == State::head ? read_head(bytes) : read_body(bytes);
    }

    State state = State::head;
    Refusal refusal;
    HttpRequest request;
    bool keeps_alive = false;
    bool http10 = false;
    bool expects_continue = false;

    std::size_t body_left() const {
        return state != State::body ? 0 : codings_ > 0 ? 1 : length_ - request.body.size();
    }

  private:
    // The raw lines first: behind the parser a folded line or a stray line end is not to be seen.
    std::size_t read_head(std::string_view bytes) {
        if (scanned_ == 0 && bytes == "\r") {
            return 0;
        }
        if (scanned_ == 0 && bytes.starts_with("\r\n")) {
            // An empty line before a request, as old clients send it.
            skipped_ = scanned_ = line_start_ = 2;
        }
        for (; scanned_ < bytes.size() && scanned_ < limits_.head_bytes; ++scanned_) {
            const char c = bytes[scanned_];
            const char before = scanned_ > skipped_ ? bytes[scanned_ - 1] : '\n';
            if (const char* wrong = line_fault(c, before)) {
                return refuse(400, wrong);
            }
            if (c != '\n') {
                continue;
            }
            if (scanned_ == line_start_ + 1) {
                return parse_head(bytes.substr(0, scanned_ + 1));
            }
            line_start_ = scanned_ + 1;
        }
        return scanned_ < limits_.head_bytes ? 0 : refuse(431, "the request's head is too large");
    }
    std::size_t parse_head(std::string_view head) {
        const std::string_view text = head.substr(skipped_);
        beast::error_code error;
        put(boost::asio::buffer(text.data(), text.size()), error);
        if (error == http::error::bad_version && refusal.reason.empty() && is_other_version(text)) {
            return refuse(505, "HTTP/1.1 is spoken here");
        }
        if (error || !is_header_done()) {
            return refuse(400, "a malformed request");
        }
        if (hosts_ != 1 && !(http10 && hosts_ == 0)) {
            return refuse(400, "a request needs one Host");
        }
        if (lengths_ > 0 && codings_ > 0) {
            return refuse(400, "Content-Length beside Transfer-Encoding");
        }
        if (length_ > limits_.body_bytes) {
            return refuse(413, "the request's body is too large");
        }
        keeps_alive = keep_alive();
        state = State::body;
        if (codings_ == 0 && length_ == 0) {
            complete();
        }
        return head.size();
    }

    // "HTTP/2.0", as against a line that is no request line.
    static bool is_other_version(std::string_view head) {
        const std::string_view line = head.substr(0, head.find('\r'));
        return std::count(line.begin(), line.end(), ' ') == 2 &&
               line.substr(line.rfind(' ') + 1).starts_with("HTTP/");
    }

    std::size_t read_body(std::string_view bytes) {
        if (codings_ > 0) {
            return read_chunks(bytes);
        }
        const std::string_view part = bytes.substr(0, length_ - request.body.size());
        append(part);
        if (request.body.size() == length_) {
            complete();
        }
        return part.size();
    }
    std::size_t read_chunks(std::string_view bytes) {
        std::size_t taken = 0;
        while (taken < bytes.size() && chunks_.state() == ChunkedBody::State::more) {
            const auto piece = chunks_.next(bytes.substr(taken));
            taken += piece.taken;
            append(piece.data);
        }
        switch (chunks_.state()) {
            case ChunkedBody::State::more:
                break;
            case ChunkedBody::State::complete:
                complete();
                break;
            case ChunkedBody::State::malformed:
                return refuse(400, "a malformed chunked body");
            case ChunkedBody::State::too_large:
                return refuse(413, "the request's body is too large");
        }
        return taken;
    }
    void append(std::string_view part) {
        std::string& body = request.body;
        const std::size_t needed = body.size() + part.size();
        if (body.capacity() < needed + kBodyPadding) {
            const std::size_t wish = std::max(kFirstReserve, 4 * needed);
            body.reserve(std::max(needed, length_ > 0 ? std::min(length_, wish) : 2 * needed) +
                         kBodyPadding);
        }
        body += part;
    }
    void complete() {
        append({});  // room behind it, also where nothing came
        state = State::complete;
    }

    std::size_t refuse(int status, std::string_view reason) {
        state = State::refused;
        if (refusal.reason.empty()) {  // the first is the cause
            refusal = {status, reason};
        }
        return 0;
    }
    void refuse(beast::error_code& error, int status, std::string_view reason) {
        refuse(status, reason);
        error = http::error::bad_value;
    }

    // What Beast calls.
    void on_request_impl(http::verb, beast::string_view method, beast::string_view target,
                         int version, beast::error_code& error) override {
        request.method = plain(method);
        http10 = version == 10;
        std::string_view path = plain(target);
        for (const std::string_view scheme : {"http://", "https://"}) {
            if (path.starts_with(scheme)) {  // the absolute form: its path counts
                const std::size_t end = path.find_first_of("/?", scheme.size());
                path = end == std::string_view::npos ? "/" : path.substr(end);
                break;
            }
        }
        const bool is_star = path == "*" && request.method == "OPTIONS";
        if ((!path.starts_with('/') && !is_star) || path.find('#') != std::string_view::npos) {
            return refuse(error, 400, "a target that is no path");
        }
        const std::size_t mark = path.find('?');
        request.path = path.substr(0, mark);
        request.query = mark == std::string_view::npos ? "" : path.substr(mark + 1);
    }
    void on_field_impl(http::field name, beast::string_view, beast::string_view value,
                       beast::error_code& error) override {
        if (name == http::field::host) {
            ++hosts_;
            if (plain(value).find_first_of(" \t,/?#@\\\"<>") != std::string_view::npos) {
                refuse(error, 400, "a Host that is none");
            }
        } else if (name == http::field::content_length) {
            if (++lengths_ > 1 || !is_digits(plain(value)) || value.size() > kLengthDigits) {
                return refuse(error, 400, "a bad Content-Length");
            }
            std::from_chars(value.begin(), value.end(), length_);
        } else if (name == http::field::transfer_encoding) {
            if (http10 || ++codings_ > 1 || !beast::iequals(value, "chunked")) {
                refuse(error, 400, "a bad Transfer-Encoding");
            }
        } else if (name == http::field::expect) {
            expects_continue = !http10;
            if (!beast::iequals(value, "100-continue")) {
                refuse(error, 417, "only \"100-continue\" can be expected");
            }
        }
    }
    void on_header_impl(beast::error_code&) override {}
    void on_finish_impl(beast::error_code&) override {}
    // Not called, as the body is skipped and this is no answer.
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
    std::size_t on_body_impl(beast::string_view, beast::error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, beast::error_code&) override {
        return 0;
    }
    void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}

    const RequestLimits limits_;
    ChunkedBody chunks_;
    std::size_t skipped_ = 0;     // before the request's first byte
    std::size_t scanned_ = 0;     // of the head, so far without fault
    std::size_t line_start_ = 0;  // of the line that is being scanned
    std::size_t length_ = 0;      // of the body, as promised
    int hosts_ = 0;
    int lengths_ = 0;
    int codings_ = 0;
};

RequestReader::RequestReader(RequestLimits limits)
    : limits_(limits), parser_(std::make_unique<Parser>(limits_)) {}
RequestReader::~RequestReader() = default;

std::size_t RequestReader::read(std::string_view bytes) {
    const State now = state();
    return now == State::head || now == State::body ? parser_->read(bytes) : 0;
}
void RequestReader::next() { parser_ = std::make_unique<Parser>(limits_); }
RequestReader::State RequestReader::state() const { return parser_->state; }
Refusal RequestReader::refusal() const { return parser_->refusal; }
bool RequestReader::keep_alive() const { return parser_->keeps_alive; }
bool RequestReader::is_head() const { return parser_->request.method == "HEAD"; }
bool RequestReader::is_http10() const { return parser_->http10; }
bool RequestReader::expects_continue() const { return parser_->expects_continue; }
std::size_t RequestReader::body_left() const { return parser_->body_left(); }
HttpRequest& RequestReader::request() { return parser_->request; }

}  // namespace tessera
