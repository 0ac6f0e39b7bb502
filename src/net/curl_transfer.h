// One call on one libcurl handle, used again for the next: the part of http_client.cc that speaks
// libcurl's language. Options that all calls share are set once, so that a call costs little.
//
// All functions are for the client's thread.
#pragma once

#include <curl/curl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/http_client.h"

namespace tessera {

// What all calls of a client share. Transfers keep a pointer to it.
struct CurlTarget {
    HttpClientOptions options;
    std::string prefix;       // "https://host:port/path", without a slash at the end
    std::string connect_to;   // where to connect when `prefix` has the name to be verified
    std::string host_header;  // in that case, the host that was asked for

    static Expected<std::unique_ptr<CurlTarget>> make(HttpClientOptions options);
};

struct CurlFree {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

class CurlTransfer {
  public:
    // nullptr when libcurl has no memory for a handle or refuses the options.
    static std::unique_ptr<CurlTransfer> make(const CurlTarget& target);

    // Prepares the handle. The call and `on_line` (nullptr: the whole body) live until end(). An
    // error is a call that cannot be sent as it is.
    Expected<void> begin(const ClientCall& call, const HttpClient::OnLine* on_line);
    // How the call went, as libcurl told.
    Expected<ClientAnswer> end(CURLcode code);
    // No more lines are told; the next byte ends the transfer.
    void mute() { muted_ = true; }

    CURL* handle() const { return handle_.get(); }
    // When the last byte came, by the steady clock; 0: none has.
    std::int64_t last_byte_ns() const { return last_byte_ns_; }

  private:
    enum class Fault { none, body_too_large, line_too_long, headers_too_large };

    explicit CurlTransfer(const CurlTarget& target) : target_(target) {}

    bool set_up();
    bool set_up_tls();
    bool set_method(const ClientCall& call);
    bool set_headers(const ClientCall& call, const std::string& token);
    static std::size_t write(char* data, std::size_t size, std::size_t count, void* self);
    static std::size_t header(char* data, std::size_t size, std::size_t count, void* self);
    void headers_ended() const;
    bool take(std::string_view data);
    bool take_lines(std::string_view data);
    bool tell(std::string_view line);
    int status() const;
    Error error_of(CURLcode code) const;

    const CurlTarget& target_;
    std::unique_ptr<CURL, CurlFree> handle_;
    std::unique_ptr<curl_slist, CurlFree> headers_;
    std::unique_ptr<curl_slist, CurlFree> connect_to_;
    std::array<char, CURL_ERROR_SIZE> reason_{};

    const ClientCall* call_ = nullptr;
    const HttpClient::OnLine* on_line_ = nullptr;
    std::string body_;  // or the beginning of a line
    std::int64_t last_byte_ns_ = 0;
    std::size_t header_bytes_ = 0;
    Fault fault_ = Fault::none;
    bool ended_by_user_ = false;
    bool muted_ = false;
};

std::int64_t steady_now_ns();

// "GET https://host:6443/api/v1/pods", without the query: for messages.
std::string describe(const CurlTarget& target, const ClientCall& call);

}  // namespace tessera
