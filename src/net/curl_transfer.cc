#include "net/curl_transfer.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

constexpr std::size_t kHeaderBytesMax = 256 << 10;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::int64_t kRetryAfterSecondsMax = 86'400;

// So that simdjson can read a body in place.
constexpr std::size_t kPadding = 64;

// What may stand in the first line of a request or in a header without ending it early.
bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}
bool one_line(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte != 0x7f;
    });
}

struct UrlFree {
    void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string url_part(CURLU* url, CURLUPart part, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK) {
        return {};
    }
    std::string copy = text;
    curl_free(text);
    return copy;
}

template <class Value>
bool set(CURL* handle, CURLoption option, Value value) {
    return curl_easy_setopt(handle, option, value) == CURLE_OK;
}

bool set_blob(CURL* handle, CURLoption option, const std::string& pem) {
    // The target outlives the handle: nothing needs to be copied.
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
    return set(handle, option, &blob);
}

std::optional<Nanoseconds> retry_after(CURL* handle) {
    curl_header* found = nullptr;
    if (curl_easy_header(handle, "Retry-After", 0, CURLH_HEADER, -1, &found) != CURLHE_OK) {
        return std::nullopt;
    }
    const std::string_view text = found->value;
    std::int64_t seconds = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || stop != text.data() + text.size() || seconds < 0) {
        return std::nullopt;  // a date, which would need the server's clock
    }
    return Nanoseconds(std::min(seconds, kRetryAfterSecondsMax) * kNanosecondsPerSecond);
}

// libcurl's sentence, and what to do where we know.
std::string hint(CURLcode code) {
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST:
            return "; check the host's name";
        case CURLE_COULDNT_CONNECT:
            return "; check that the server runs at this address";
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CACERT_BADFILE:
            return "; check the certificate authority and the server's name";
        case CURLE_SSL_CERTPROBLEM:
            return "; check the client's certificate and key";
        default:
            return "";
    }
}

}  // namespace

Expected<std::unique_ptr<CurlTarget>> CurlTarget::make(HttpClientOptions options) {
    auto target = std::make_unique<CurlTarget>();
    const std::unique_ptr<CURLU, UrlFree> url(curl_url());
    const auto wrong = [&](std::string_view why) {
        return fail(ErrorKind::invalid, "{}: {}; an address like https://10.0.0.1:6443 is accepted",
                    in_quotes(options.base_url), why);
    };
    if (url == nullptr) {
        return fail(ErrorKind::environment, "libcurl has no memory");
    }
    if (!is_printable(options.base_url) ||
        curl_url_set(url.get(), CURLUPART_URL, options.base_url.c_str(), 0) != CURLUE_OK) {
        return wrong("this is no address of a server");
    }
    const std::string scheme = url_part(url.get(), CURLUPART_SCHEME);
    if (scheme != "https" && scheme != "http") {
        return wrong("neither http nor https");
    }
    for (const CURLUPart part :
         {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
        if (!url_part(url.get(), part).empty()) {
            return wrong("user names, queries and fragments have no meaning here");
        }
    }
    const std::string host = url_part(url.get(), CURLUPART_HOST);
    const std::string port = url_part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
    const std::string& name = options.tls.server_name;
    if (!name.empty() && name != host) {
        if (!is_printable(name) || curl_url_set(url.get(), CURLUPART_HOST, name.c_str(), 0) != 0) {
            return fail(ErrorKind::invalid, "server name {} is no name of a host", in_quotes(name));
        }
        target->connect_to = fmt::format("::{}:{}", host, port);
        target->host_header = fmt::format("Host: {}:{}", host, port);
    }
    target->prefix = url_part(url.get(), CURLUPART_URL);
    while (target->prefix.ends_with('/')) {
        target->prefix.pop_back();
    }
    if (!one_line(options.user_agent)) {
        return fail(ErrorKind::invalid, "user agent {} is not one line of text",
                    in_quotes(options.user_agent));
    }
    target->options = std::move(options);
    return target;
}

std::int64_t steady_now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string describe(const CurlTarget& target, const ClientCall& call) {
    return fmt::format("{} {}{}", call.method, target.options.base_url,
                       call.path.substr(0, call.path.find('?')));
}

std::unique_ptr<CurlTransfer> CurlTransfer::make(const CurlTarget& target) {
    std::unique_ptr<CurlTransfer> made(new CurlTransfer(target));
    made->handle_.reset(curl_easy_init());
    return made->handle_ != nullptr && made->set_up() ? std::move(made) : nullptr;
}

bool CurlTransfer::set_up() {
    CURL* handle = handle_.get();
    const HttpClientOptions& options = target_.options;
    bool good =
        set(handle, CURLOPT_NOSIGNAL, 1L) && set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    // HTTP/2 brought nothing on the API server and would put all calls behind one lost packet.
    good = good && set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    good = good && set(handle, CURLOPT_FOLLOWLOCATION, 0L) && set(handle, CURLOPT_PATH_AS_IS, 1L);
    good = good && set(handle, CURLOPT_TCP_NODELAY, 1L) && set(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    // An empty text also keeps libcurl from looking at http_proxy, HTTPS_PROXY and ALL_PROXY.
    good = good && set(handle, CURLOPT_PROXY, options.proxy.c_str());
    good = good && set(handle, CURLOPT_NOPROXY, "");
    good = good && set(handle, CURLOPT_CONNECTTIMEOUT_MS,
                       static_cast<long>(options.connect_timeout.value() / 1'000'000));
    good = good && set(handle, CURLOPT_USERAGENT, options.user_agent.c_str());
    good = good && set(handle, CURLOPT_BUFFERSIZE, 64L << 10);
    good = good && set(handle, CURLOPT_ERRORBUFFER, reason_.data());
    good = good && set(handle, CURLOPT_WRITEFUNCTION, &CurlTransfer::write);
    good = good && set(handle, CURLOPT_WRITEDATA, this);
    good = good && set(handle, CURLOPT_HEADERFUNCTION, &CurlTransfer::header);
    good = good && set(handle, CURLOPT_HEADERDATA, this);
    if (!target_.connect_to.empty()) {
        connect_to_.reset(curl_slist_append(nullptr, target_.connect_to.c_str()));
        good = good && connect_to_ && set(handle, CURLOPT_CONNECT_TO, connect_to_.get());
    }
    return good && set_up_tls();
}

bool CurlTransfer::set_up_tls() {
    CURL* handle = handle_.get();
    const ClientTls& tls = target_.options.tls;
    bool good = set(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    good = good && set(handle, CURLOPT_SSL_VERIFYPEER, tls.verify ? 1L : 0L);
    good = good && set(handle, CURLOPT_SSL_VERIFYHOST, tls.verify ? 2L : 0L);
    if (!tls.ca_pem.empty()) {
        // The blob replaces the system's file but not its directory: only the given one counts.
        good = good && set_blob(handle, CURLOPT_CAINFO_BLOB, tls.ca_pem);
        good = good && set(handle, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (!tls.certificate_pem.empty()) {
        good = good && set_blob(handle, CURLOPT_SSLCERT_BLOB, tls.certificate_pem);
        good = good && set_blob(handle, CURLOPT_SSLKEY_BLOB, tls.key_pem);
    }
    return good;
}

Expected<void> CurlTransfer::begin(const ClientCall& call, const HttpClient::OnLine* on_line) {
    call_ = &call;
    on_line_ = on_line;
    body_.clear();
    last_byte_ns_ = 0;
    header_bytes_ = 0;
    fault_ = Fault::none;
    ended_by_user_ = false;
    muted_ = false;
    reason_[0] = '\0';
    if (call.method.empty() || !is_printable(call.method) || !call.path.starts_with('/') ||
        !is_printable(call.path)) {
        return fail(ErrorKind::invalid, "{} {} cannot be sent: a path begins with / and is encoded",
                    in_quotes(call.method), in_quotes(call.path));
    }
    const auto& ask = target_.options.bearer_token;
    const std::string token = ask ? ask() : std::string();
    if (!is_printable(token) || !one_line(call.content_type)) {
        return fail(ErrorKind::invalid, "{}: the token or content type is not one line of text",
                    describe(target_, call));
    }
    const std::string url = target_.prefix + call.path;
    if (!set(handle_.get(), CURLOPT_URL, url.c_str()) || !set_method(call) ||
        !set_headers(call, token)) {
        return fail(ErrorKind::environment, "{}: libcurl has no memory", describe(target_, call));
    }
    return {};
}

bool CurlTransfer::set_method(const ClientCall& call) {
    CURL* handle = handle_.get();
    const bool with_body = !call.body.empty() || call.method == "POST" || call.method == "PUT" ||
                           call.method == "PATCH";
    if (call.method == "HEAD") {
        return set(handle, CURLOPT_CUSTOMREQUEST, static_cast<const char*>(nullptr)) &&
               set(handle, CURLOPT_NOBODY, 1L);
    }
    const bool kind = with_body ? set(handle, CURLOPT_POST, 1L) &&
                                      set(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                                          static_cast<curl_off_t>(call.body.size())) &&
                                      set(handle, CURLOPT_POSTFIELDS, call.body.c_str())
                                : set(handle, CURLOPT_HTTPGET, 1L);
    return kind && set(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
}

bool CurlTransfer::set_headers(const ClientCall& call, const std::string& token) {
    curl_slist* list = nullptr;
    bool good = true;
    const auto add = [&](const std::string& line) {
        curl_slist* longer = good ? curl_slist_append(list, line.c_str()) : nullptr;
        good = longer != nullptr;
        list = good ? longer : list;
    };
    add("Expect:");  // no round trip before a large body
    add("Accept: application/json");
    add(call.content_type.empty() ? "Content-Type:" : "Content-Type: " + call.content_type);
    if (!token.empty()) {
        add("Authorization: Bearer " + token);
    }
    if (!target_.host_header.empty()) {
        add(target_.host_header);
    }
    headers_.reset(list);
    return good && set(handle_.get(), CURLOPT_HTTPHEADER, list);
}

std::size_t CurlTransfer::header(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<CurlTransfer*>(self);
    transfer.last_byte_ns_ = steady_now_ns();
    transfer.header_bytes_ += size * count;
    if (transfer.header_bytes_ > kHeaderBytesMax) {
        transfer.fault_ = Fault::headers_too_large;
        return 0;
    }
    if (std::string_view(data, size * count) == "\r\n") {
        transfer.headers_ended();
    }
    return size * count;
}

void CurlTransfer::headers_ended() const {
    const int code = status();
    if (on_line_ != nullptr && !muted_ && code >= 200 && code < 300 && call_->on_open) {
        call_->on_open();
    }
}

std::size_t CurlTransfer::write(char* data, std::size_t size, std::size_t count, void* self) {
    auto& transfer = *static_cast<CurlTransfer*>(self);
    const std::size_t bytes = size * count;
    transfer.last_byte_ns_ = steady_now_ns();
    return transfer.take({data, bytes}) ? bytes : bytes + 1;  // another number ends the transfer
}

bool CurlTransfer::take(std::string_view data) {
    if (muted_) {
        return false;
    }
    const int code = status();
    if (on_line_ != nullptr && code >= 200 && code < 300) {
        return take_lines(data);
    }
    const std::size_t limit = target_.options.max_body_bytes;
    if (data.size() > limit - body_.size()) {
        fault_ = Fault::body_too_large;
        return false;
    }
    if (body_.empty()) {
        curl_off_t length = -1;
        curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
        const auto told = static_cast<std::size_t>(std::max<curl_off_t>(length, 0));
        // What is told is not yet there: a small lie must not cost a large buffer.
        body_.reserve(std::min({told, limit, std::size_t{16} << 20}) + kPadding);
    }
    body_.append(data);
    return true;
}

bool CurlTransfer::take_lines(std::string_view data) {
    while (!data.empty()) {
        const std::size_t end = data.find('\n');
        const std::string_view piece = data.substr(0, end);
        if (piece.size() > target_.options.max_body_bytes - body_.size()) {
            fault_ = Fault::line_too_long;
            return false;
        }
        if (end == std::string_view::npos) {
            body_.append(piece);
            return true;
        }
        data.remove_prefix(end + 1);
        if (body_.empty()) {
            if (!tell(piece)) {
                return false;
            }
            continue;
        }
        body_.append(piece);
        const bool go_on = tell(body_);
        body_.clear();
        if (!go_on) {
            return false;
        }
    }
    return true;
}

bool CurlTransfer::tell(std::string_view line) {
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    ended_by_user_ = !(*on_line_)(line);
    return !ended_by_user_ && !muted_;
}

int CurlTransfer::status() const {
    long code = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &code);
    return static_cast<int>(code);
}

Expected<ClientAnswer> CurlTransfer::end(CURLcode code) {
    if (fault_ == Fault::none && (code == CURLE_OK || ended_by_user_)) {
        ClientAnswer answer{status(), std::move(body_), retry_after(handle_.get())};
        if (ended_by_user_) {
            answer.body.clear();
        }
        body_ = std::string();
        return answer;
    }
    Error error = error_of(code);
    body_ = std::string();
    return tl::unexpected(std::move(error));
}

Error CurlTransfer::error_of(CURLcode code) const {
    const std::string where = describe(target_, *call_);
    const std::size_t limit = target_.options.max_body_bytes;
    switch (fault_) {
        case Fault::body_too_large:
            return {ErrorKind::invalid,
                    fmt::format("{}: the answer has more than {} bytes", where, limit)};
        case Fault::line_too_long:
            return {ErrorKind::invalid,
                    fmt::format("{}: a line of the answer has more than {} bytes", where, limit)};
        case Fault::headers_too_large:
            return {ErrorKind::invalid,
                    fmt::format("{}: the answer's headers have more than {} bytes", where,
                                kHeaderBytesMax)};
        case Fault::none:
            break;
    }
    if (muted_) {
        return {ErrorKind::conflict, fmt::format("{}: the call was cancelled", where)};
    }
    const std::string_view told = reason_.data();
    return {
        ErrorKind::environment,
        fmt::format("{}: {}{}", where, told.empty() ? curl_easy_strerror(code) : told, hint(code))};
}

}  // namespace tessera
