#include "kube/access.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/kubeconfig.h"
#include "kube/token_file.h"

namespace tessera {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;

bool exists(const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
}

std::string resolved(const std::string& kubeconfig, const std::string& file) {
    const std::filesystem::path path(file);
    if (file.empty() || path.is_absolute()) {
        return file;
    }
    return (std::filesystem::path(kubeconfig).parent_path() / path).string();
}

// The PEM text, from the kubeconfig or from a file, which must hold one of `what`.
struct PemKind {
    std::string_view key;     // of the kubeconfig, for messages
    std::string_view marker;  // how such a text begins
};
Expected<std::string> pem_of(const DataOrFile& value, const std::string& kubeconfig,
                             const PemKind& kind) {
    if (!value.given()) {
        return std::string();
    }
    const bool in_place = !value.data.empty();
    const std::string file = resolved(kubeconfig, value.file);
    std::string pem = value.data;
    if (!in_place) {
        auto text = read_small_file(file);
        if (!text) {
            return fail(text.error().kind, "{}: {}: {}", kubeconfig, kind.key,
                        text.error().message);
        }
        pem = std::move(*text);
    }
    if (pem.find(kind.marker) == std::string::npos) {
        return fail(ErrorKind::invalid, "{}: {}: there is no \"{}\" in {}; PEM text is needed",
                    kubeconfig, kind.key, kind.marker, in_place ? "its data" : file);
    }
    return pem;
}

std::vector<std::string> split_list(const std::string& list) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin <= list.size()) {
        const std::size_t end = std::min(list.find(':', begin), list.size());
        if (end > begin) {
            parts.push_back(list.substr(begin, end - begin));
        }
        begin = end + 1;
    }
    return parts;
}

// The first of KUBECONFIG's files that exists.
Expected<KubeAccess> access_by_list(const std::string& list, const std::string& context) {
    std::vector<std::string> there;
    for (const std::string& file : split_list(list)) {
        if (exists(file)) {
            there.push_back(file);
        }
    }
    if (there.empty()) {
        return fail(ErrorKind::environment,
                    "KUBECONFIG: none of the files in {} exists; name one that does",
                    in_quotes(list));
    }
    auto access = access_by_kubeconfig(there.front(), context);
    if (!access && there.size() > 1) {
        access.error().message += fmt::format(
            " (KUBECONFIG names {} files and only the first is read; join them with \"kubectl "
            "config view --flatten\")",
            there.size());
    }
    return access;
}

}  // namespace

std::string process_variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string trimmed(std::string text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t last = text.find_last_not_of(kSpace);
    text.erase(last == std::string::npos ? 0 : last + 1);
    text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
    return text;
}

Expected<std::string> read_small_file(const std::string& file) {
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) {
        return fail(ErrorKind::environment, "{}: this is a directory; a file is needed", file);
    }
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string text(kFileBytesMax + 1, '\0');
    if (!in || (in.read(text.data(), static_cast<std::streamsize>(text.size())), in.bad())) {
        return fail(ErrorKind::environment, "{}: cannot be read: {}", file,
                    std::strerror(errno == 0 ? EIO : errno));
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > kFileBytesMax) {
        return fail(ErrorKind::invalid, "{}: the file has more than {} bytes", file, kFileBytesMax);
    }
    return text;
}

Expected<KubeAccess> access_by_kubeconfig(const std::string& file, const std::string& context) {
    TESSERA_TRY(const std::string text, read_small_file(file));
    TESSERA_TRY(Kubeconfig config, parse_kubeconfig(text, file, context));
    KubeAccess access;
    access.source = file;
    access.space = config.space.empty() ? access.space : config.space;
    access.http.base_url = std::move(config.server);
    access.http.proxy = std::move(config.proxy_url);
    ClientTls& tls = access.http.tls;
    tls.verify = !config.skip_verify;
    tls.server_name = std::move(config.tls_server_name);
    constexpr std::string_view kCertificate = "-----BEGIN CERTIFICATE-----";
    TESSERA_TRY(tls.ca_pem,
                pem_of(config.authority, file, {"certificate-authority", kCertificate}));
    TESSERA_TRY(tls.certificate_pem,
                pem_of(config.certificate, file, {"client-certificate", kCertificate}));
    TESSERA_TRY(tls.key_pem, pem_of(config.key, file, {"client-key", "PRIVATE KEY-----"}));
    if (!config.token_file.empty()) {
        const std::string token_file = resolved(file, config.token_file);
        const auto readable = read_small_file(token_file);
        if (!readable && config.token.empty()) {
            return fail(readable.error().kind, "{}: tokenFile: {}", file, readable.error().message);
        }
        access.http.bearer_token = token_from_file(token_file, trimmed(config.token));
    } else if (!config.token.empty()) {
        access.http.bearer_token = [token = trimmed(config.token)] { return token; };
    }
    return access;
}

Expected<KubeAccess> access_in_pod(const PodPlace& place) {
    const std::string host = place.variable("KUBERNETES_SERVICE_HOST");
    const std::string port = place.variable("KUBERNETES_SERVICE_PORT");
    if (host.empty() || port.empty()) {
        return fail(ErrorKind::environment,
                    "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no "
                    "pod; name a kubeconfig file with --kubeconfig");
    }
    KubeAccess access;
    access.source = "the pod's service account";
    const bool six = host.find(':') != std::string::npos;
    access.http.base_url =
        fmt::format("https://{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
    const std::string token_file = place.directory + "/token";
    TESSERA_TRY(std::string token, read_small_file(token_file));
    token = trimmed(std::move(token));
    if (token.empty()) {
        return fail(ErrorKind::environment,
                    "{}: the file is empty; check that the pod's service account has a token "
                    "(automountServiceAccountToken)",
                    token_file);
    }
    TESSERA_TRY(access.http.tls.ca_pem, pem_of({{}, place.directory + "/ca.crt"}, access.source,
                                               {"ca.crt", "-----BEGIN CERTIFICATE-----"}));
    access.http.bearer_token = token_from_file(token_file, std::move(token));
    if (auto space = read_small_file(place.directory + "/namespace")) {
        *space = trimmed(std::move(*space));
        access.space = space->empty() ? access.space : *space;
    }
    return access;
}

Expected<KubeAccess> find_kube_access(const KubeSearch& search) {
    if (!search.file.empty()) {
        return access_by_kubeconfig(search.file, search.context);
    }
    if (const std::string list = search.pod.variable("KUBECONFIG"); !list.empty()) {
        return access_by_list(list, search.context);
    }
    const std::string home = search.pod.variable("HOME");
    const std::string usual = home + "/.kube/config";
    if (!home.empty() && exists(usual)) {
        return access_by_kubeconfig(usual, search.context);
    }
    if (search.pod.variable("KUBERNETES_SERVICE_HOST").empty()) {
        return fail(ErrorKind::environment,
                    "no API server is known: there is no {}, KUBECONFIG is not set, and this is "
                    "no pod; name a kubeconfig file with --kubeconfig",
                    home.empty() ? "~/.kube/config" : usual);
    }
    if (!search.context.empty()) {
        return fail(ErrorKind::invalid,
                    "context {}: a pod's service account has no contexts; name a kubeconfig file "
                    "with --kubeconfig",
                    in_quotes(search.context));
    }
    return access_in_pod(search.pod);
}

}  // namespace tessera
