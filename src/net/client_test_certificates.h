// Certificates for tests of TLS, made afresh: an authority, and leaves that it signs.
//
//   const TestAuthority authority("test-ca");
//   const TestIdentity server = authority.issue({.name = "server", .address = "127.0.0.1"});
//   const auto context = server_context(server);             // for ScriptedServer
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/assert.h"

namespace tessera {

struct OpenSslFree {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(BIO* bio) const { BIO_free(bio); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
template <class T>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree>;

struct TestIdentity {
    std::string certificate_pem;
    std::string key_pem;
};

struct TestLeaf {
    std::string name;   // common name; may be empty
    std::string dns{};  // subject alternative names; either may be empty
    std::string address{};
};

class TestAuthority {
  public:
    explicit TestAuthority(const std::string& name)
        : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
        fill(certificate_.get(), key_.get(), name);
        extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
        X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
        X509_sign(certificate_.get(), key_.get(), EVP_sha256());
    }

    std::string pem() const { return pem_of(certificate_.get()); }

    TestIdentity issue(const TestLeaf& leaf) const {
        const OpenSslPtr<EVP_PKEY> key(EVP_EC_gen("P-256"));
        const OpenSslPtr<X509> made(X509_new());
        fill(made.get(), key.get(), leaf.name);
        std::string names = leaf.dns.empty() ? "" : "DNS:" + leaf.dns;
        if (!leaf.address.empty()) {
            names += (names.empty() ? "IP:" : ",IP:") + leaf.address;
        }
        if (!names.empty()) {
            extend(made.get(), NID_subject_alt_name, names);
        }
        X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
        X509_sign(made.get(), key_.get(), EVP_sha256());
        return {pem_of(made.get()), pem_of(key.get())};
    }

  private:
    static void fill(X509* certificate, EVP_PKEY* key, const std::string& name) {
        X509_set_version(certificate, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1 + (next_serial()++));
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
        X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
        X509_set_pubkey(certificate, key);
        if (name.empty()) {
            return;
        }
        X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    }
    static void extend(X509* certificate, int kind, const std::string& value) {
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
        TESSERA_ASSERT(extension != nullptr, "an extension that OpenSSL understands");
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
    static std::string text_of(BIO* bio) {
        char* data = nullptr;
        const long size = BIO_get_mem_data(bio, &data);
        return {data, static_cast<std::size_t>(size)};
    }
    static std::string pem_of(X509* certificate) {
        const OpenSslPtr<BIO> bio(BIO_new(BIO_s_mem()));
        PEM_write_bio_X509(bio.get(), certificate);
        return text_of(bio.get());
    }
    static std::string pem_of(EVP_PKEY* key) {
        const OpenSslPtr<BIO> bio(BIO_new(BIO_s_mem()));
        PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
        return text_of(bio.get());
    }
    static long& next_serial() {
        static long serial = 0;
        return serial;
    }

    OpenSslPtr<EVP_PKEY> key_;
    OpenSslPtr<X509> certificate_;
};

// For a server with this identity; with an authority it demands a client certificate of it.
inline OpenSslPtr<SSL_CTX> server_context(const TestIdentity& identity,
                                          const std::string& client_ca_pem = {}) {
    OpenSslPtr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
    const auto reader = [](const std::string& pem) {
        return OpenSslPtr<BIO>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    };
    const auto read_certificate = [&](const std::string& pem) {
        return OpenSslPtr<X509>(PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr));
    };
    const OpenSslPtr<EVP_PKEY> key(
        PEM_read_bio_PrivateKey(reader(identity.key_pem).get(), nullptr, nullptr, nullptr));
    SSL_CTX_use_certificate(context.get(), read_certificate(identity.certificate_pem).get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
    if (!client_ca_pem.empty()) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()),
                            read_certificate(client_ca_pem).get());
        SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           nullptr);
    }
    return context;
}

}  // namespace tessera
