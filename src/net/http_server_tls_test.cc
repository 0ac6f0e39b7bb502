// The server behind TLS: certificates, whose clients come in, and files that change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "net/client_test_certificates.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/server_test_client.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HttpServerTls : public testing::Test {
  protected:
    HttpServerTls() {
        TESSERA_ASSERT(::mkdtemp(directory_.data()) != nullptr, "a directory for the test's files");
        write_identity(authority_);
        write("ca.pem", authority_.pem());
    }
    ~HttpServerTls() override {
        server_.reset();
        std::filesystem::remove_all(directory_);
    }

    std::string file(const std::string& name) const { return directory_ + "/" + name; }
    // As a mounted Secret changes: the name leads to another file from one moment to the next.
    void write(const std::string& name, const std::string& text) {
        std::ofstream(file(name + ".new")) << text;
        std::filesystem::rename(file(name + ".new"), file(name));
    }
    void write_identity(const TestAuthority& authority) {
        const auto identity = authority.issue({.name = "server", .address = "127.0.0.1"});
        write("tls.crt", identity.certificate_pem);
        write("tls.key", identity.key_pem);
    }
    HttpServerOptions options(const std::string& client_ca = "") const {
        HttpServerOptions made;
        made.tls = {.certificate_file = file("tls.crt"),
                    .key_file = file("tls.key"),
                    .client_ca_file = client_ca.empty() ? "" : file(client_ca)};
        return made;
    }
    void start(HttpServerOptions made) {
        auto started =
            HttpServer::start(std::move(made), [](HttpRequest& request, Responder respond) {
                respond({.status = 200, .body = request.peer + ":" + request.body});
            });
        ASSERT_TRUE(started) << started.error().message;
        server_ = std::move(*started);
    }
    Expected<ClientAnswer> ask(const TestAuthority& trusted, const TestIdentity& shown = {},
                               std::string body = "hello") {
        TESSERA_TRY(auto client, HttpClient::open({.base_url = "https://127.0.0.1:" +
                                                               std::to_string(server_->port()),
                                                   .tls = {.ca_pem = trusted.pem(),
                                                           .certificate_pem = shown.certificate_pem,
                                                           .key_pem = shown.key_pem}}));
        return client->call({.method = "POST", .path = "/", .body = std::move(body)});
    }

    const TestAuthority authority_{"authority"};
    std::string directory_ = (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
    std::unique_ptr<HttpServer> server_;
};

// One connection of OpenSSL's own client.
class TlsClient {
  public:
    TlsClient(std::uint16_t port, SSL_CTX* context, const std::string& protocols = "")
        : socket_(port), ssl_(SSL_new(context)) {
        sigset_t pipe;  // for OpenSSL, which knows no MSG_NOSIGNAL; the server's threads stay as is
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        SSL_set_fd(ssl_, socket_.descriptor());
        if (!protocols.empty()) {
            SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(protocols.data()),
                                static_cast<unsigned int>(protocols.size()));
        }
        connected_ = SSL_connect(ssl_) == 1;
    }
    ~TlsClient() { SSL_free(ssl_); }
    TlsClient(const TlsClient&) = delete;
    TlsClient& operator=(const TlsClient&) = delete;

    bool connected() const { return connected_; }
    void send(const std::string& bytes) {
        SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    }
    std::string rest() {  // until the server ends it
        std::string all;
        char bytes[4096];
        for (int got = 0; (got = SSL_read(ssl_, bytes, sizeof bytes)) > 0;) {
            all.append(bytes, static_cast<std::size_t>(got));
        }
        ended_in_order_ = SSL_get_error(ssl_, 0) == SSL_ERROR_ZERO_RETURN;
        return all;
    }
    bool ended_in_order() const { return ended_in_order_; }
    std::string protocol() const {
        const unsigned char* name = nullptr;
        unsigned int size = 0;
        SSL_get0_alpn_selected(ssl_, &name, &size);
        return {reinterpret_cast<const char*>(name), size};
    }

  private:
    RawClient socket_;
    SSL* ssl_;
    bool connected_ = false;
    bool ended_in_order_ = false;
};

OpenSslPtr<SSL_CTX> client_context(int newest = TLS1_3_VERSION) {
    OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), newest);
    SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0");
    return context;
}

TEST_F(HttpServerTls, AnswersWithItsCertificate) {
    start(options());
    const auto good = ask(authority_);
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(good->body, ":hello");
    const std::string large(3'000'000, 'l');
    const auto answer = ask(authority_, {}, large);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, ":" + large);
    EXPECT_FALSE(ask(TestAuthority("stranger")));
}

TEST_F(HttpServerTls, ClientCertificatesAreVerified) {
    start(options("ca.pem"));
    const auto good = ask(authority_, authority_.issue({.name = "kube-scheduler"}));
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(good->body, "kube-scheduler:hello");
    EXPECT_EQ(ask(authority_, authority_.issue({.name = "", .dns = "scheduler.example"}))->body,
              "scheduler.example:hello");
    EXPECT_EQ(ask(authority_, authority_.issue({.name = "", .address = "127.0.0.1"}))->body,
              "a certificate without a name:hello");
    EXPECT_FALSE(ask(authority_)) << "none shown";
    EXPECT_FALSE(ask(authority_, TestAuthority("stranger").issue({.name = "kube-scheduler"})));
    EXPECT_EQ(server_->counts().requests, 3U);
    EXPECT_EQ(server_->counts().refused, 2U);
}

TEST_F(HttpServerTls, ClientCertificatesMayBeLeftOut) {
    auto made = options("ca.pem");
    made.tls.client_certificate_required = false;
    start(std::move(made));
    const auto named = ask(authority_, authority_.issue({.name = "kube-scheduler"}));
    ASSERT_TRUE(named) << named.error().message;
    EXPECT_EQ(named->body, "kube-scheduler:hello");
    const auto nameless = ask(authority_);
    ASSERT_TRUE(nameless) << nameless.error().message;
    EXPECT_EQ(nameless->body, ":hello");
    EXPECT_FALSE(ask(authority_, TestAuthority("stranger").issue({.name = "kube-scheduler"})));
}

TEST_F(HttpServerTls, OnlyHttp11AndNewVersions) {
    start(options());
    const auto modern = client_context();
    EXPECT_EQ(TlsClient(server_->port(), modern.get(), "\x02h2\x08http/1.1").protocol(),
              "http/1.1");
    EXPECT_FALSE(TlsClient(server_->port(), modern.get(), "\x02h2").connected());
    EXPECT_TRUE(TlsClient(server_->port(), client_context(TLS1_2_VERSION).get()).connected());
    EXPECT_FALSE(TlsClient(server_->port(), client_context(TLS1_1_VERSION).get()).connected());
}

TEST_F(HttpServerTls, RequestsAreReadAsWithoutIt) {
    start(options());
    const auto context = client_context();
    TlsClient client(server_->port(), context.get());
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\n");
    client.send("Content-Length: 4\r\nConnection: close\r\n\r\nbody");
    EXPECT_THAT(
        client.rest(),
        testing::MatchesRegex("HTTP/1.1 200 OK(\r|\n|[^\r\n])*:HTTP/1.1 200 OK(.|\r|\n)*:body"));
    EXPECT_TRUE(client.ended_in_order()) << "with a close_notify";
    TlsClient bad(server_->port(), context.get());
    bad.send("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = bad.rest();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_EQ(answer.find("HTTP/1.1", 1), std::string::npos);
}

TEST_F(HttpServerTls, WhoDoesNotSpeakTlsIsCut) {
    auto made = options();
    made.header_timeout = Nanoseconds(300'000'000);
    start(std::move(made));
    RawClient plain(server_->port());
    plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    plain.rest();
    RawClient silent(server_->port());
    EXPECT_EQ(silent.rest(), "");
    RawClient stalled(server_->port());
    stalled.send(std::string("\x16\x03\x01\x02\x00", 5));  // a greeting that does not go on
    EXPECT_EQ(stalled.rest(), "");
    const auto context = client_context();
    TlsClient slow(server_->port(), context.get());
    slow.send("GET / HT");
    EXPECT_THAT(slow.rest(), StartsWith("HTTP/1.1 408 "));
    EXPECT_EQ(server_->counts().requests, 0U);
    EXPECT_EQ(server_->counts().refused, 4U);
}

TEST_F(HttpServerTls, StopEndsConnectionsInOrder) {
    start(options());
    const auto context = client_context();
    TlsClient idle(server_->port(), context.get());
    EXPECT_TRUE(idle.connected());
    EXPECT_TRUE(server_->stop(Nanoseconds(60'000'000'000)));
    EXPECT_EQ(idle.rest(), "");
}

TEST_F(HttpServerTls, NewCertificatesAreUsedAndBadOnesAreNot) {
    std::mutex mutex;
    std::vector<std::string> warnings;
    auto made = options();
    made.on_warning = [&](const std::string& text) {
        const std::lock_guard lock(mutex);
        warnings.push_back(text);
    };
    start(std::move(made));
    EXPECT_TRUE(ask(authority_));
    const TestAuthority next("next");
    write_identity(next);
    EXPECT_TRUE(ask(next));
    EXPECT_FALSE(ask(authority_));
    EXPECT_TRUE(warnings.empty());

    write("tls.crt", "nonsense");
    EXPECT_TRUE(ask(next));
    EXPECT_TRUE(ask(next));
    std::filesystem::remove(file("tls.crt"));
    EXPECT_TRUE(ask(next));
    {
        const std::lock_guard lock(mutex);
        ASSERT_EQ(warnings.size(), 2U) << "once for each change";
        EXPECT_THAT(warnings[0], HasSubstr(file("tls.crt") + ": holds no PEM certificate"));
        EXPECT_THAT(warnings[1], HasSubstr("No such file"));
    }
    write_identity(authority_);
    EXPECT_TRUE(ask(authority_));
}

TEST_F(HttpServerTls, BadFilesAreNamed) {
    write("nonsense", "no PEM");
    write("empty", "");
    write("other.key", authority_.issue({.name = "other"}).key_pem);
    const struct {
        std::string certificate;
        std::string key;
        std::string client_ca;
        std::string wrong;
        std::string reason;
    } cases[] = {
        {"none", "tls.key", "ca.pem", "none", "cannot be read: No such file or directory"},
        {"nonsense", "tls.key", "ca.pem", "nonsense", "holds no PEM certificate"},
        {"empty", "tls.key", "ca.pem", "empty", "cannot be read: it is empty"},
        {"tls.crt", "none", "ca.pem", "none", "cannot be read: No such file or directory"},
        {"tls.crt", "nonsense", "ca.pem", "nonsense", "holds no PEM key"},
        {"tls.crt", "tls.crt", "ca.pem", "tls.crt", "holds no PEM key"},
        {"tls.crt", "other.key", "ca.pem", "other.key", "is not the key of the certificate in"},
        {"tls.crt", "tls.key", "none", "none", "cannot be read: No such file or directory"},
        {"tls.crt", "tls.key", "nonsense", "nonsense", "holds no PEM certificate"},
        {"tls.crt", "tls.key", "tls.key", "tls.key", "holds no PEM certificate"},
    };
    for (const auto& c : cases) {
        HttpServerOptions made;
        made.tls = {.certificate_file = file(c.certificate),
                    .key_file = file(c.key),
                    .client_ca_file = file(c.client_ca)};
        const auto started = HttpServer::start(std::move(made), [](HttpRequest&, Responder) {});
        ASSERT_FALSE(started) << c.wrong << " " << c.reason;
        EXPECT_THAT(started.error().message, StartsWith(file(c.wrong) + ": " + c.reason));
        EXPECT_EQ(started.error().kind, ErrorKind::environment);
    }
}

}  // namespace
}  // namespace tessera
