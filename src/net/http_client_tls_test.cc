// What the client accepts of a server's certificate, and shows of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "net/client_test_certificates.h"
#include "net/client_test_server.h"
#include "net/http_client.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

bool answer_ok(ServedConnection& peer, const std::string& request) {
    const std::size_t host = request.find("\r\nHost: ") + 8;
    const std::string body = request.substr(host, request.find('\r', host) - host);
    return peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) +
                      "\r\n\r\n" + body);
}

Expected<ClientAnswer> ask(HttpClientOptions options) {
    auto client = HttpClient::open(std::move(options));
    return client ? (*client)->call({.path = "/"})
                  : Expected<ClientAnswer>(tl::unexpected(client.error()));
}

TEST(HttpClientTls, TheServersCertificateIsVerified) {
    const TestAuthority authority("authority");
    const TestAuthority stranger("stranger");
    const auto context =
        server_context(authority.issue({.name = "server", .address = "127.0.0.1"}));
    ScriptedServer server(answer_ok, context.get());

    const auto good = ask({.base_url = server.url(), .tls = {.ca_pem = authority.pem()}});
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(good->status, 200);
    for (const std::string& ca : {stranger.pem(), std::string()}) {
        const auto bad = ask({.base_url = server.url(), .tls = {.ca_pem = ca}});
        ASSERT_FALSE(bad);
        EXPECT_EQ(bad.error().kind, ErrorKind::environment);
        EXPECT_THAT(bad.error().message, HasSubstr("check the certificate authority"));
    }
    const auto nonsense = ask({.base_url = server.url(), .tls = {.ca_pem = "no certificate"}});
    ASSERT_FALSE(nonsense);
    EXPECT_THAT(nonsense.error().message, HasSubstr("check the certificate authority"));
    EXPECT_TRUE(
        ask({.base_url = server.url(), .tls = {.ca_pem = stranger.pem(), .verify = false}}));
}

TEST(HttpClientTls, AnotherNameCanBeVerified) {
    const TestAuthority authority("authority");
    const auto context = server_context(authority.issue({.name = "server", .dns = "kubernetes"}));
    ScriptedServer server(answer_ok, context.get());

    const auto wrong = ask({.base_url = server.url(), .tls = {.ca_pem = authority.pem()}});
    ASSERT_FALSE(wrong) << "the address is not in the certificate";
    const auto right = ask({.base_url = server.url(),
                            .tls = {.ca_pem = authority.pem(), .server_name = "kubernetes"}});
    ASSERT_TRUE(right) << right.error().message;
    EXPECT_EQ(right->body, "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_FALSE(ask({.base_url = server.url(),
                      .tls = {.ca_pem = authority.pem(), .server_name = "elsewhere"}}));
}

TEST(HttpClientTls, AClientCertificateIsShown) {
    const TestAuthority authority("authority");
    const auto context = server_context(authority.issue({.name = "server", .address = "127.0.0.1"}),
                                        authority.pem());
    ScriptedServer server(answer_ok, context.get());
    const TestIdentity client = authority.issue({.name = "client"});

    const auto good = ask({.base_url = server.url(),
                           .tls = {.ca_pem = authority.pem(),
                                   .certificate_pem = client.certificate_pem,
                                   .key_pem = client.key_pem}});
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_FALSE(ask({.base_url = server.url(), .tls = {.ca_pem = authority.pem()}}));
    const auto mixed = ask({.base_url = server.url(),
                            .tls = {.ca_pem = authority.pem(),
                                    .certificate_pem = client.certificate_pem,
                                    .key_pem = authority.issue({.name = "x"}).key_pem}});
    ASSERT_FALSE(mixed);
    EXPECT_THAT(mixed.error().message, HasSubstr("check the client's certificate and key"));
}

TEST(HttpClientTls, OldVersionsAreNotSpoken) {
    const TestAuthority authority("authority");
    const auto context =
        server_context(authority.issue({.name = "server", .address = "127.0.0.1"}));
    SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), TLS1_1_VERSION);
    SSL_CTX_set_cipher_list(context.get(), "ALL:@SECLEVEL=0");
    ScriptedServer server(answer_ok, context.get());
    EXPECT_FALSE(ask({.base_url = server.url(), .tls = {.ca_pem = authority.pem()}}));
}

}  // namespace
}  // namespace tessera
