#include "net/server_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/file_error.h"

namespace tessera {
namespace {

using Context = std::shared_ptr<SSL_CTX>;

// What OpenSSL complains of last, in its words; the queue is empty afterwards.
std::string openssl_reason() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    const char* reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
    return reason != nullptr ? reason : "unknown reason";
}

tl::unexpected<Error> bad_file(const std::string& file, std::string reason) {
    return tl::unexpected(Error{ErrorKind::environment, in_file(file, std::move(reason))});
}

Expected<void> check_readable(const std::string& file) {
    errno = 0;
    std::ifstream stream(file);
    if (!stream || stream.peek() == std::ifstream::traits_type::eof()) {
        return bad_file(file, fmt::format("cannot be read: {}",
                                          errno != 0 ? std::strerror(errno) : "it is empty"));
    }
    return {};
}

// No question on a terminal for the password of a key.
int no_password(char*, int, int, void*) { return -1; }

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    constexpr std::string_view kOurs = "http/1.1";
    for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
        const unsigned char* name = offered + at + 1;
        if (offered[at] == kOurs.size() && std::memcmp(name, kOurs.data(), kOurs.size()) == 0) {
            *chosen = name;
            *chosen_size = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

Expected<void> load_identity(SSL_CTX* context, const ServerTls& files) {
    TESSERA_CHECK(check_readable(files.certificate_file));
    TESSERA_CHECK(check_readable(files.key_file));
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate_file.c_str()) != 1) {
        return bad_file(files.certificate_file,
                        fmt::format("holds no PEM certificate: {}", openssl_reason()));
    }
    SSL_CTX_set_default_passwd_cb(context, no_password);
    if (SSL_CTX_use_PrivateKey_file(context, files.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        const unsigned long code = ERR_peek_last_error();
        if (ERR_GET_REASON(code) == X509_R_KEY_VALUES_MISMATCH ||
            ERR_GET_REASON(code) == X509_R_KEY_TYPE_MISMATCH) {
            ERR_clear_error();
            return bad_file(files.key_file, fmt::format("is not the key of the certificate in {}",
                                                        files.certificate_file));
        }
        return bad_file(files.key_file,
                        fmt::format("holds no PEM key without a password: {}", openssl_reason()));
    }
    return {};
}

Expected<void> load_client_authority(SSL_CTX* context, const ServerTls& files) {
    if (files.client_ca_file.empty()) {
        return {};
    }
    TESSERA_CHECK(check_readable(files.client_ca_file));
    STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(files.client_ca_file.c_str());
    if (names == nullptr || SSL_CTX_load_verify_file(context, files.client_ca_file.c_str()) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return bad_file(files.client_ca_file,
                        fmt::format("holds no PEM certificate: {}", openssl_reason()));
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(
        context,
        SSL_VERIFY_PEER | (files.client_certificate_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        nullptr);
    return {};
}

Expected<Context> load(const ServerTls& files) {
    ERR_clear_error();
    const Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    if (context == nullptr) {
        return fail(ErrorKind::environment, "TLS cannot be set up: {}", openssl_reason());
    }
    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);  // idle connections stay small
    // Sessions are resumed by tickets, which the clients keep; a cache here would only grow.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_id_context(context.get(), reinterpret_cast<const unsigned char*>("tessera"),
                                   7);
    SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    TESSERA_CHECK(load_identity(context.get(), files));
    TESSERA_CHECK(load_client_authority(context.get(), files));
    return context;
}

}  // namespace

Expected<std::unique_ptr<ServerTlsFiles>> ServerTlsFiles::open(ServerTls files, Warn warn) {
    std::unique_ptr<ServerTlsFiles> made(new ServerTlsFiles(std::move(files), std::move(warn)));
    TESSERA_TRY(made->context_, load(made->files_));
    return made;
}

std::shared_ptr<ssl_ctx_st> ServerTlsFiles::current() {
    const Stamp now = stamp_of_files();
    if (now == stamp_) {
        return context_;
    }
    stamp_ = now;  // before reading: what changes meanwhile is read the next time
    auto fresh = load(files_);
    if (fresh) {
        context_ = std::move(*fresh);
    } else if (warn_) {
        warn_(fmt::format("the certificates changed and are no good, the old ones stay in use: {}",
                          fresh.error().message));
    }
    return context_;
}

ServerTlsFiles::Stamp ServerTlsFiles::stamp_of_files() const {
    Stamp stamp;
    std::size_t at = 0;
    for (const std::string* file :
         {&files_.certificate_file, &files_.key_file, &files_.client_ca_file}) {
        struct stat found{};
        if (!file->empty() && ::stat(file->c_str(), &found) == 0) {
            stamp.values[at] = static_cast<std::int64_t>(found.st_ino);
            stamp.values[at + 1] = found.st_size;
            stamp.values[at + 2] = found.st_mtim.tv_sec;
            stamp.values[at + 3] = found.st_mtim.tv_nsec;
        }
        at += 4;
    }
    return stamp;
}

namespace {

// Certificates of services often have no common name. Never empty: the peer was verified.
std::string alternative_name(const X509* certificate) {
    std::string found = "a certificate without a name";
    auto* const names = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
        const GENERAL_NAME* one = sk_GENERAL_NAME_value(names, i);
        if (one->type == GEN_DNS || one->type == GEN_URI || one->type == GEN_EMAIL) {
            const ASN1_STRING* text = one->d.ia5;
            found.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                         static_cast<std::size_t>(ASN1_STRING_length(text)));
            break;
        }
    }
    GENERAL_NAMES_free(names);
    return found;
}

}  // namespace

std::string verified_peer(const ssl_st* connection) {
    const X509* certificate = SSL_get0_peer_certificate(connection);
    if (certificate == nullptr || SSL_get_verify_result(connection) != X509_V_OK) {
        return {};
    }
    X509_NAME* name = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at < 0) {
        return alternative_name(certificate);
    }
    unsigned char* text = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    std::string peer =
        size > 0 ? std::string(reinterpret_cast<char*>(text), static_cast<std::size_t>(size)) : "";
    OPENSSL_free(text);
    return peer;
}

}  // namespace tessera
