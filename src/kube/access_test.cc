#include "kube/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "codec/test_directory.h"
#include "kube/token_file.h"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kCertificate = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";
const std::string kKey = "-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----\n";

void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
}

std::string config(const std::string& cluster, const std::string& user,
                   const std::string& name = "a") {
    return "current-context: " + name + "\ncontexts: [{name: " + name +
           ", context: {cluster: c, user: u, namespace: team}}]\nclusters: [{name: c, cluster: "
           "{server: 'https://10.0.0.1:6443'" +
           (cluster.empty() ? "" : ", ") + cluster + "}}]\nusers: [{name: u, user: {" + user +
           "}}]\n";
}

Variables variables(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const char* name) {
        const auto found = values.find(name);
        return found == values.end() ? "" : found->second;
    };
}

TEST(KubeAccess, FilesAreRelativeToTheKubeconfig) {
    const TestDirectory directory;
    write(
        directory.file("config"),
        config("certificate-authority: pki/ca.pem, tls-server-name: kube, proxy-url: 'http://p:1'",
               "client-certificate: pki/c.pem, client-key: " + directory.file("pki/k.pem")));
    write(directory.file("pki/ca.pem"), kCertificate + "the authority");
    write(directory.file("pki/c.pem"), kCertificate + "mine");
    write(directory.file("pki/k.pem"), kKey);
    const auto access = access_by_kubeconfig(directory.file("config"), "");
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->http.base_url, "https://10.0.0.1:6443");
    EXPECT_EQ(access->http.tls.ca_pem, kCertificate + "the authority");
    EXPECT_EQ(access->http.tls.certificate_pem, kCertificate + "mine");
    EXPECT_EQ(access->http.tls.key_pem, kKey);
    EXPECT_EQ(access->http.tls.server_name, "kube");
    EXPECT_EQ(access->http.proxy, "http://p:1");
    EXPECT_TRUE(access->http.tls.verify);
    EXPECT_EQ(access->http.bearer_token, nullptr);
    EXPECT_EQ(access->space, "team");
    EXPECT_EQ(access->source, directory.file("config"));
}

TEST(KubeAccess, WhatIsWrongWithAFileNamesBoth) {
    const TestDirectory directory;
    const std::string file = directory.file("config");
    const auto refusal = [&](const std::string& text) {
        write(file, text);
        const auto access = access_by_kubeconfig(file, "");
        EXPECT_FALSE(access);
        return access ? "" : access.error().message;
    };
    EXPECT_EQ(refusal(config("certificate-authority: none.pem", "")),
              file + ": certificate-authority: " + directory.file("none.pem") +
                  ": cannot be read: No such file or directory");
    write(directory.file("x.pem"), "no certificate");
    EXPECT_THAT(refusal(config("certificate-authority: x.pem", "")),
                testing::AllOf(StartsWith(file + ": certificate-authority: "),
                               HasSubstr("PEM text is needed")));
    EXPECT_THAT(refusal(config("certificate-authority-data: Zm9v", "")), HasSubstr("its data"));
    EXPECT_THAT(refusal(config("", "tokenFile: none")), HasSubstr("tokenFile: "));
    EXPECT_THAT(refusal("{"), StartsWith(file + ":"));
    EXPECT_THAT(access_by_kubeconfig(directory.file("none"), "").error().message,
                StartsWith(directory.file("none") + ": cannot be read: No such file"));
    EXPECT_THAT(access_by_kubeconfig(directory.path(), "").error().message,
                HasSubstr("this is a directory"));
}

TEST(KubeAccess, TokensComeFromTheConfigOrItsFile) {
    const TestDirectory directory;
    const std::string file = directory.file("config");
    write(file, config("insecure-skip-tls-verify: true", "token: abc"));
    auto access = access_by_kubeconfig(file, "");
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->http.bearer_token(), "abc");
    EXPECT_FALSE(access->http.tls.verify);

    write(file, config("", "token: abc, tokenFile: token"));
    access = access_by_kubeconfig(file, "");
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->http.bearer_token(), "abc") << "until the file is there";
    write(directory.file("token"), "from the file\n");
    EXPECT_EQ(access->http.bearer_token(), "from the file");
}

TEST(TokenFile, IsReadAgainWhenItChanges) {
    const TestDirectory directory;
    const std::string file = directory.file("token");
    write(file, " one \n");
    const auto token = token_from_file(file, "first");
    EXPECT_EQ(token(), "one");
    write(file, "longer");
    EXPECT_EQ(token(), "longer");
    // As a Secret's file is replaced: another file of the same length under the same name.
    write(directory.file("new"), "newest");
    std::filesystem::rename(directory.file("new"), file);
    EXPECT_EQ(token(), "newest");
    std::filesystem::remove(file);
    EXPECT_EQ(token(), "newest") << "what was good is kept";
    write(file, "\n");
    EXPECT_EQ(token(), "newest");
    write(file, "again");
    EXPECT_EQ(token(), "again");
}

TEST(KubeAccess, InAPod) {
    const TestDirectory directory;
    write(directory.file("token"), "t1\n");
    write(directory.file("ca.crt"), kCertificate);
    write(directory.file("namespace"), "gpu-system");
    PodPlace place{directory.path(), variables({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                                                {"KUBERNETES_SERVICE_PORT", "443"}})};
    auto access = access_in_pod(place);
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->http.base_url, "https://10.96.0.1:443");
    EXPECT_EQ(access->http.tls.ca_pem, kCertificate);
    EXPECT_EQ(access->http.bearer_token(), "t1");
    EXPECT_EQ(access->space, "gpu-system");
    write(directory.file("token"), "t2 is new\n");
    EXPECT_EQ(access->http.bearer_token(), "t2 is new");

    place.variable =
        variables({{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}});
    access = access_in_pod(place);
    ASSERT_TRUE(access);
    EXPECT_EQ(access->http.base_url, "https://[fd00::1]:443");

    std::filesystem::remove(directory.file("namespace"));
    EXPECT_EQ(access_in_pod(place)->space, "default");
    std::filesystem::remove(directory.file("ca.crt"));
    EXPECT_THAT(access_in_pod(place).error().message, HasSubstr("ca.crt"));
    write(directory.file("token"), "");
    EXPECT_THAT(access_in_pod(place).error().message, HasSubstr("automountServiceAccountToken"));
    std::filesystem::remove(directory.file("token"));
    EXPECT_THAT(access_in_pod(place).error().message, HasSubstr("token: cannot be read"));
    place.variable = variables({});
    EXPECT_THAT(access_in_pod(place).error().message, HasSubstr("--kubeconfig"));
}

TEST(KubeAccess, IsLookedForWhereKubectlLooks) {
    const TestDirectory directory;
    const std::string home = directory.file("home");
    write(home + "/.kube/config", config("", "token: home"));
    write(directory.file("one"), config("", "token: one"));
    write(directory.file("two"), config("", "token: two", "other"));
    const auto token = [](const Expected<KubeAccess>& access) {
        EXPECT_TRUE(access) << access.error().message;
        return access ? access->http.bearer_token() : "";
    };
    const std::string list =
        directory.file("none") + "::" + directory.file("one") + ":" + directory.file("two");
    KubeSearch search;
    search.pod.variable = variables({{"HOME", home}, {"KUBECONFIG", list}});
    search.file = directory.file("two");
    EXPECT_EQ(token(find_kube_access(search)), "two");
    search.file.clear();
    EXPECT_EQ(token(find_kube_access(search)), "one");
    search.context = "other";
    EXPECT_THAT(find_kube_access(search).error().message,
                HasSubstr("KUBECONFIG names 2 files and only the first is read"));
    search.context.clear();
    search.pod.variable = variables({{"HOME", home}});
    EXPECT_EQ(token(find_kube_access(search)), "home");
    search.pod.variable = variables({{"KUBECONFIG", directory.file("none")}});
    EXPECT_THAT(find_kube_access(search).error().message,
                StartsWith("KUBECONFIG: none of the files"));
    search.pod.variable = variables({{"HOME", directory.path()}});
    EXPECT_THAT(find_kube_access(search).error().message, HasSubstr("name a kubeconfig file"));
    search.pod.variable =
        variables({{"KUBERNETES_SERVICE_HOST", "h"}, {"KUBERNETES_SERVICE_PORT", "1"}});
    search.pod.directory = directory.file("pod");
    write(directory.file("pod/token"), "pod");
    write(directory.file("pod/ca.crt"), kCertificate);
    EXPECT_EQ(token(find_kube_access(search)), "pod");
    search.context = "x";
    EXPECT_THAT(find_kube_access(search).error().message, HasSubstr("has no contexts"));
}

}  // namespace
}  // namespace tessera
