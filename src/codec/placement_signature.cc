#include "codec/placement_signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/assert.h"

namespace tessera {
namespace {

constexpr std::size_t kShortestKey = 16;
constexpr std::string_view kVersion = "v1:";

}  // namespace

Expected<std::string> read_signing_key(std::string_view text) {
    constexpr std::string_view kWhite = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kWhite);
    const std::size_t end = text.find_last_not_of(kWhite);
    const std::string_view key =
        begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
    if (key.size() < kShortestKey) {
        return fail(ErrorKind::invalid,
                    "a signing key of {} bytes is not accepted: {} or more are; "
                    "\"openssl rand -hex 32\" makes one",
                    key.size(), kShortestKey);
    }
    return std::string(key);
}

std::string sign_placement(std::string_view key, std::string_view record) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    const auto* text = reinterpret_cast<const unsigned char*>(record.data());
    const unsigned char* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text,
                                     record.size(), digest.data(), &size);
    TESSERA_ASSERT(made != nullptr, "HMAC-SHA256 of any text exists");
    std::string signature(kVersion);
    for (unsigned int i = 0; i < size; ++i) {
        signature += fmt::format("{:02x}", digest[i]);
    }
    return signature;
}

bool signature_matches(std::string_view key, std::string_view record, std::string_view signature) {
    const std::string expected = sign_placement(key, record);
    return signature.size() == expected.size() &&
           CRYPTO_memcmp(signature.data(), expected.data(), expected.size()) == 0;
}

}  // namespace tessera
