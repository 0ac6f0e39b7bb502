#include "kube/kubeconfig.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/base64.h"

namespace tessera {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{4} << 20;

int line_of(const YAML::Node& node) { return std::max(1, node.Mark().line + 1); }

std::string kind_of(const YAML::Node& value) {
    if (value.IsScalar()) {
        return in_quotes(value.Scalar());
    }
    return value.IsMap() ? "a map" : value.IsSequence() ? "a list" : "nothing";
}

class Reader {
  public:
    explicit Reader(std::string source) : source_(std::move(source)) {}

    Expected<Kubeconfig> read(const YAML::Node& root, std::string_view context) {
        if (!root.IsMap()) {
            return wrong(root, "this is no kubeconfig; a map with clusters, contexts and users is");
        }
        Kubeconfig config;
        TESSERA_TRY(const std::string current, text(root, "current-context"));
        config.context = context.empty() ? current : context;
        if (config.context.empty()) {
            return wrong(root,
                         "there is no current-context; name one of the contexts ({}) with "
                         "--context, or set one with \"kubectl config use-context\"",
                         names(find(root, "contexts")));
        }
        TESSERA_TRY(const YAML::Node chosen, named(root, {"contexts", "context"}, config.context));
        TESSERA_TRY(config.space, text(chosen, "namespace"));
        TESSERA_TRY(const std::string cluster_name, text(chosen, "cluster"));
        TESSERA_TRY(const std::string user_name, text(chosen, "user"));
        if (cluster_name.empty()) {
            return wrong(chosen, "context {} names no cluster", in_quotes(config.context));
        }
        TESSERA_TRY(const YAML::Node cluster, named(root, {"clusters", "cluster"}, cluster_name));
        TESSERA_CHECK(read_cluster(cluster, cluster_name, config));
        if (!user_name.empty()) {
            TESSERA_TRY(const YAML::Node user, named(root, {"users", "user"}, user_name));
            TESSERA_CHECK(read_user(user, user_name, config));
        }
        return config;
    }

  private:
    struct Kind {
        const char* list;   // "clusters"
        const char* inner;  // "cluster"
    };

    template <class... Args>
    tl::unexpected<Error> wrong(const YAML::Node& at, fmt::format_string<Args...> format,
                                Args&&... args) const {
        return fail(ErrorKind::invalid, "{}:{}: {}", source_, line_of(at),
                    fmt::format(format, std::forward<Args>(args)...));
    }

    // Undefined where it is absent. (A map's own look-up would also find "1" for 1.)
    static YAML::Node find(const YAML::Node& map, std::string_view key) {
        if (map.IsMap()) {
            for (const auto& entry : map) {
                if (entry.first.IsScalar() && entry.first.Scalar() == key) {
                    return entry.second;
                }
            }
        }
        return YAML::Node(YAML::NodeType::Undefined);
    }

    // Empty where it is absent or null.
    Expected<std::string> text(const YAML::Node& map, std::string_view key) const {
        const YAML::Node value = find(map, key);
        if (!value.IsDefined() || value.IsNull()) {
            return std::string();
        }
        if (!value.IsScalar()) {
            return wrong(value, "{}: {} is not accepted; text is", key, kind_of(value));
        }
        if (!valid_utf8(value.Scalar()) || value.Scalar().find('\0') != std::string::npos) {
            return wrong(value, "{}: {} is no text", key, kind_of(value));
        }
        return value.Scalar();
    }

    static std::string names(const YAML::Node& list) {
        std::string all;
        std::size_t count = 0;
        if (list.IsSequence()) {
            for (const YAML::Node& item : list) {
                const YAML::Node name = find(item, "name");
                if (name.IsDefined() && name.IsScalar() && ++count <= 10) {
                    all += (all.empty() ? "" : ", ") + in_quotes(name.Scalar());
                }
            }
        }
        return count == 0 ? "there are none" : all + (count > 10 ? ", ..." : "");
    }

    // The entry of that name in one of the file's three lists.
    Expected<YAML::Node> named(const YAML::Node& root, const Kind& kind,
                               const std::string& name) const {
        const YAML::Node list = find(root, kind.list);
        if (list.IsDefined() && !list.IsNull() && !list.IsSequence()) {
            return wrong(list, "{}: {} is not accepted; a list is", kind.list, kind_of(list));
        }
        YAML::Node found(YAML::NodeType::Undefined);
        if (list.IsDefined() && list.IsSequence()) {
            for (const YAML::Node& item : list) {
                TESSERA_TRY(const std::string its_name, text(item, "name"));
                if (its_name != name) {
                    continue;
                }
                if (found.IsDefined()) {
                    return wrong(item, "there are two {} named {}; remove one", kind.list,
                                 in_quotes(name));
                }
                found.reset(item);
            }
        }
        if (!found.IsDefined()) {
            return wrong(root, "there is no {} named {}; those of the file: {}", kind.inner,
                         in_quotes(name), names(list));
        }
        const YAML::Node inner = find(found, kind.inner);
        if (inner.IsDefined() && !inner.IsNull() && !inner.IsMap()) {
            return wrong(inner, "{}: {} is not accepted; a map is", kind.inner, kind_of(inner));
        }
        // kubectl writes "user: {}", people leave it out.
        return inner.IsDefined() && inner.IsMap() ? inner : YAML::Node(YAML::NodeType::Map);
    }

    // "KEY-data" in base64, or the file that "KEY" names.
    Expected<DataOrFile> data_or_file(const YAML::Node& map, const std::string& key) const {
        DataOrFile value;
        TESSERA_TRY(value.file, text(map, key));
        TESSERA_TRY(const std::string encoded, text(map, key + "-data"));
        if (!encoded.empty()) {
            auto decoded = decode_base64(encoded);
            if (!decoded || decoded->empty()) {
                return wrong(map,
                             "{}-data is not base64; take it anew from the cluster's "
                             "administrator, or name a file with {}",
                             key, key);
            }
            value.data = std::move(*decoded);
        }
        return value;
    }

    Expected<void> read_cluster(const YAML::Node& cluster, const std::string& name,
                                Kubeconfig& config) const {
        TESSERA_TRY(config.server, text(cluster, "server"));
        if (config.server.empty()) {
            return wrong(cluster,
                         "cluster {} has no server; an address like https://10.0.0.1:6443 "
                         "is needed",
                         in_quotes(name));
        }
        TESSERA_TRY(config.tls_server_name, text(cluster, "tls-server-name"));
        TESSERA_TRY(config.proxy_url, text(cluster, "proxy-url"));
        TESSERA_TRY(config.authority, data_or_file(cluster, "certificate-authority"));
        TESSERA_TRY(const std::string skip, text(cluster, "insecure-skip-tls-verify"));
        if (!skip.empty() && skip != "true" && skip != "false") {
            return wrong(cluster, "insecure-skip-tls-verify: {} is not accepted; true or false is",
                         in_quotes(skip));
        }
        config.skip_verify = skip == "true";
        if (config.skip_verify && config.authority.given()) {
            return wrong(cluster,
                         "cluster {} has a certificate-authority and "
                         "insecure-skip-tls-verify, which would ignore it; remove one",
                         in_quotes(name));
        }
        return {};
    }

    Expected<void> read_user(const YAML::Node& user, const std::string& name,
                             Kubeconfig& config) const {
        TESSERA_CHECK(refuse_what_we_do_not_do(user, name));
        TESSERA_TRY(config.token, text(user, "token"));
        TESSERA_TRY(config.token_file, text(user, "tokenFile"));
        TESSERA_TRY(config.certificate, data_or_file(user, "client-certificate"));
        TESSERA_TRY(config.key, data_or_file(user, "client-key"));
        if (config.certificate.given() != config.key.given()) {
            return wrong(user, "user {} has a client {} without its {}; give both", in_quotes(name),
                         config.key.given() ? "key" : "certificate",
                         config.key.given() ? "certificate" : "key");
        }
        return {};
    }

    Expected<void> refuse_what_we_do_not_do(const YAML::Node& user, const std::string& name) const {
        constexpr std::string_view kInstead =
            "give the user a token (\"kubectl create token SERVICEACCOUNT\"), a tokenFile or a "
            "client certificate";
        for (const char* key : {"exec", "auth-provider"}) {
            const YAML::Node plugin = find(user, key);
            if (plugin.IsDefined() && !plugin.IsNull()) {
                return wrong(plugin,
                             "user {} signs in by a plugin ({}), and no plugins are run; {}",
                             in_quotes(name), key, kInstead);
            }
        }
        for (const char* key : {"username", "password"}) {
            const YAML::Node word = find(user, key);
            if (word.IsDefined() && !word.IsNull()) {
                return wrong(word,
                             "user {} has a {}, which no API server since Kubernetes 1.19 "
                             "accepts; {}",
                             in_quotes(name), key, kInstead);
            }
        }
        for (const char* key : {"as", "as-uid", "as-groups", "as-user-extra"}) {
            const YAML::Node other = find(user, key);
            if (other.IsDefined() && !other.IsNull()) {
                return wrong(other,
                             "user {} acts as somebody else ({}), which is not supported; {}",
                             in_quotes(name), key, kInstead);
            }
        }
        return {};
    }

    std::string source_;
};

std::string printable(const YAML::Exception& error) {
    if (dynamic_cast<const YAML::DeepRecursion*>(&error) != nullptr) {
        return "it is nested too deeply";  // the library says "bad file"
    }
    const bool plain = std::all_of(error.msg.begin(), error.msg.end(),
                                   [](char c) { return c >= 0x20 && c < 0x7f; });
    return plain ? error.msg : in_quotes(error.msg);
}

}  // namespace

Expected<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& source,
                                      std::string_view context) {
    if (text.size() > kFileBytesMax) {
        return fail(ErrorKind::invalid, "{}: the file has {} bytes; a kubeconfig has at most {}",
                    source, text.size(), kFileBytesMax);
    }
    if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
        return fail(ErrorKind::invalid, "{}:{}: a NUL byte is no text; save the file as UTF-8",
                    source, line);
    }
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        return Reader(source).read(root, context);
    } catch (const YAML::Exception& error) {
        return fail(ErrorKind::invalid, "{}:{}: this is not valid YAML: {}", source,
                    error.mark.is_null() ? 1 : error.mark.line + 1, printable(error));
    }
}

}  // namespace tessera
