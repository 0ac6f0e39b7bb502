#include "codec/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace tessera {

namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

bool packed(const std::string& bytes) { return bytes.starts_with("\x1f\x8b"); }

// zlib's stream with its end.
class Inflater {
  public:
    Inflater() : ready_(inflateInit2(&stream_, kGzipOnly) == Z_OK) {}
    ~Inflater() {
        if (ready_) {
            inflateEnd(&stream_);
        }
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    bool ready() const { return ready_; }
    z_stream& stream() { return stream_; }

  private:
    z_stream stream_{};
    bool ready_;
};

}  // namespace

Expected<std::string> gunzip_if_packed(std::string bytes, std::size_t limit) {
    if (!packed(bytes)) {
        return bytes;
    }
    if (bytes.size() > std::numeric_limits<uInt>::max()) {
        return fail(ErrorKind::invalid, "gzip: {} bytes are more than can be unpacked",
                    bytes.size());
    }
    Inflater inflater;
    if (!inflater.ready()) {
        return fail(ErrorKind::internal, "gzip: no memory to unpack");
    }
    z_stream& stream = inflater.stream();
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string text;
    std::array<char, 1 << 16> block{};
    while (true) {
        stream.next_out = reinterpret_cast<Bytef*>(block.data());
        stream.avail_out = static_cast<uInt>(block.size());
        const int code = inflate(&stream, Z_NO_FLUSH);
        const std::size_t got = block.size() - stream.avail_out;
        if (got > limit - text.size()) {
            return fail(ErrorKind::invalid, "gzip: unpacks to more than {} bytes", limit);
        }
        text.append(block.data(), got);
        if (code == Z_STREAM_END) {
            if (stream.avail_in == 0) {
                return text;
            }
            if (inflateReset(&stream) != Z_OK) {
                return fail(ErrorKind::internal, "gzip: cannot start the next member");
            }
        } else if (code != Z_OK) {
            return fail(ErrorKind::invalid, "gzip: damaged or cut short after {} bytes unpacked",
                        text.size());
        }
    }
}

}  // namespace tessera
