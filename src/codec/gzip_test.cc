#include "codec/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace tessera {
namespace {

std::string pack(std::string text) {
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    packed.resize(packed.size() - stream.avail_out);
    deflateEnd(&stream);
    return packed;
}

TEST(Gzip, PlainTextPassesThrough) { EXPECT_EQ(*gunzip_if_packed("a,b\n1,2\n"), "a,b\n1,2\n"); }

TEST(Gzip, UnpacksOneAndSeveralMembers) {
    const std::string large(200'000, 'x');
    EXPECT_EQ(*gunzip_if_packed(pack(large)), large);
    EXPECT_EQ(*gunzip_if_packed(pack("one ") + pack("two")), "one two");
    EXPECT_EQ(*gunzip_if_packed(pack("")), "");
}

TEST(Gzip, RefusesDamageAndBombs) {
    std::string packed = pack(std::string(1000, 'y') + "tail");
    EXPECT_FALSE(gunzip_if_packed(packed.substr(0, packed.size() / 2)).has_value());
    std::string damaged = packed;
    damaged[packed.size() - 6] ^= 0x55;  // the checksum
    EXPECT_FALSE(gunzip_if_packed(damaged).has_value());
    const auto bomb = gunzip_if_packed(pack(std::string(5000, 'z')), 4999);
    ASSERT_FALSE(bomb.has_value());
    EXPECT_EQ(bomb.error().message, "gzip: unpacks to more than 4999 bytes");
    EXPECT_TRUE(gunzip_if_packed(pack(std::string(5000, 'z')), 5000).has_value());
}

}  // namespace
}  // namespace tessera
