#include "kube/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kFile = R"(apiVersion: v1
kind: Config
current-context: one
preferences: {}
clusters:
- name: c1
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Zm9v
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
- name: c2
  cluster: {server: "https://10.0.0.2", insecure-skip-tls-verify: true}
contexts:
- name: one
  context: {cluster: c1, user: u1, namespace: team}
- name: two
  context:
    cluster: c2
    user: u2
- name: nobody
  context: {cluster: c2}
users:
- name: u1
  user:
    client-certificate-data: Zm9v
    client-key-data: YmFy
- name: u2
  user: {token: abc, tokenFile: token.txt, client-certificate: c.pem, client-key: k.pem}
)";

// The file with one piece replaced.
std::string with(const std::string& piece, const std::string& other) {
    std::string text = kFile;
    const std::size_t at = text.find(piece);
    EXPECT_NE(at, std::string::npos) << piece;
    return text.replace(at, piece.size(), other);
}

std::string refusal(const std::string& text, std::string_view context = "") {
    const auto config = parse_kubeconfig(text, "f.conf", context);
    EXPECT_FALSE(config) << text;
    EXPECT_TRUE(config || config.error().kind == ErrorKind::invalid);
    return config ? "" : config.error().message;
}

TEST(Kubeconfig, TheCurrentContextIsRead) {
    const auto config = parse_kubeconfig(kFile, "f", "");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->context, "one");
    EXPECT_EQ(config->server, "https://10.0.0.1:6443");
    EXPECT_EQ(config->space, "team");
    EXPECT_EQ(config->tls_server_name, "kubernetes");
    EXPECT_EQ(config->proxy_url, "http://proxy:3128");
    EXPECT_EQ(config->authority.data, "foo");
    EXPECT_EQ(config->certificate.data, "foo");
    EXPECT_EQ(config->key.data, "bar");
    EXPECT_FALSE(config->skip_verify);
    EXPECT_EQ(config->token, "");
}

TEST(Kubeconfig, AnotherContextCanBeNamed) {
    const auto config = parse_kubeconfig(kFile, "f", "two");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->server, "https://10.0.0.2");
    EXPECT_EQ(config->space, "");
    EXPECT_TRUE(config->skip_verify);
    EXPECT_EQ(config->token, "abc");
    EXPECT_EQ(config->token_file, "token.txt");
    EXPECT_EQ(config->certificate.file, "c.pem");
    EXPECT_EQ(config->key.file, "k.pem");
    const auto nobody = parse_kubeconfig(kFile, "f", "nobody");
    ASSERT_TRUE(nobody) << nobody.error().message;
    EXPECT_EQ(nobody->token, "");
}

TEST(Kubeconfig, JsonIsYaml) {
    const auto config = parse_kubeconfig(
        R"({"current-context":"a","contexts":[{"name":"a","context":{"cluster":"b","user":"c"}}],)"
        R"("clusters":[{"name":"b","cluster":{"server":"http://localhost:8001"}}],)"
        R"("users":[{"name":"c"}]})",
        "f", "");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->server, "http://localhost:8001");
}

TEST(Kubeconfig, WhatIsMissingIsNamed) {
    EXPECT_EQ(refusal(kFile, "three"),
              "f.conf:1: there is no context named \"three\"; those of the file: \"one\", "
              "\"two\", \"nobody\"");
    EXPECT_THAT(refusal(with("current-context: one", "other: x")),
                testing::AllOf(HasSubstr("no current-context"), HasSubstr("--context"),
                               HasSubstr("\"one\", \"two\"")));
    EXPECT_THAT(refusal(with("cluster: c1, ", "")), HasSubstr("context \"one\" names no cluster"));
    EXPECT_THAT(refusal(with("cluster: c1, ", "cluster: c9, ")),
                HasSubstr("there is no cluster named \"c9\"; those of the file: \"c1\", \"c2\""));
    EXPECT_THAT(refusal(with("user: u1", "user: u9")), HasSubstr("there is no user named \"u9\""));
    EXPECT_THAT(refusal(with("    server: https://10.0.0.1:6443\n", "")),
                HasSubstr("cluster \"c1\" has no server"));
    EXPECT_THAT(refusal("current-context: x\n"), HasSubstr("those of the file: there are none"));
}

TEST(Kubeconfig, WaysToSignInThatAreNotOursAreRefusedWithAnother) {
    const std::string user = "    client-certificate-data: Zm9v\n    client-key-data: YmFy\n";
    for (const std::string plugin : {"exec: {command: aws}", "auth-provider: {name: oidc}"}) {
        EXPECT_THAT(refusal(with(user, "    " + plugin + "\n")),
                    testing::AllOf(StartsWith("f.conf:26: "), HasSubstr("no plugins are run"),
                                   HasSubstr("kubectl create token")));
    }
    EXPECT_THAT(refusal(with(user, "    username: admin\n    password: secret\n")),
                testing::AllOf(HasSubstr("has a username"), HasSubstr("kubectl create token"),
                               testing::Not(HasSubstr("secret"))));
    EXPECT_THAT(refusal(with(user, "    token: a\n    as: boss\n")),
                HasSubstr("acts as somebody else"));
    EXPECT_THAT(refusal(with("    client-key-data: YmFy\n", "")),
                HasSubstr("has a client certificate without its key"));
    EXPECT_THAT(
        refusal(with("    client-certificate-data: Zm9v\n    client-key", "    client-key")),
        HasSubstr("has a client key without its certificate"));
}

TEST(Kubeconfig, WrongValuesHaveTheirLine) {
    EXPECT_EQ(refusal(with("https://10.0.0.1:6443", "[a]")),
              "f.conf:8: server: a list is not accepted; text is");
    EXPECT_THAT(refusal(with("Zm9v", "Zm9v!")),
                HasSubstr("certificate-authority-data is not base64"));
    EXPECT_THAT(
        refusal(with("insecure-skip-tls-verify: true", "insecure-skip-tls-verify: yes"), "two"),
        HasSubstr("\"yes\" is not accepted; true or false is"));
    EXPECT_THAT(refusal(with("insecure-skip-tls-verify: true",
                             "insecure-skip-tls-verify: true, certificate-authority: ca.pem"),
                        "two"),
                HasSubstr("remove one"));
    EXPECT_THAT(refusal(with("- name: c2", "- name: c1")), HasSubstr("two clusters named \"c1\""));
    EXPECT_THAT(refusal(with("clusters:\n", "clusters: 7\nothers:\n")),
                HasSubstr("clusters: \"7\" is not accepted; a list is"));
    EXPECT_THAT(
        refusal(with("\n  user:\n    client-certificate-data: Zm9v\n    client-key-data: YmFy",
                     "\n  user: [x]")),
        HasSubstr("user: a list is not accepted; a map is"));
    EXPECT_THAT(refusal("a: [\n"), HasSubstr("this is not valid YAML"));
    EXPECT_THAT(refusal("just words"), HasSubstr("this is no kubeconfig"));
    EXPECT_THAT(refusal(""), HasSubstr("this is no kubeconfig"));
    EXPECT_EQ(refusal(std::string("a: b\n\0", 6)),
              "f.conf:2: a NUL byte is no text; save the file as UTF-8");
    EXPECT_THAT(refusal(std::string(20'000, '[')), HasSubstr("f.conf:1: this is not valid YAML"));
    EXPECT_THAT(refusal(std::string(5 << 20, 'x')), HasSubstr("bytes"));
}

}  // namespace
}  // namespace tessera
