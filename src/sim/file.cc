#include "sim/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "codec/gzip.h"

namespace tessera {

namespace {

// Some files never end.
constexpr std::size_t kFileLimitBytes = kGunzipLimitBytes;

struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

tl::unexpected<Error> cannot_write(const std::string& path) {
    return fail(ErrorKind::environment, "{}: cannot be written: {}", path, std::strerror(errno));
}

}  // namespace

bool file_exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
}

bool path_exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

Expected<std::string> read_file(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        return fail(ErrorKind::environment, "{}: is a directory, a file was expected", path);
    }
    const File file(std::fopen(path.c_str(), "rb"));
    if (file == nullptr) {
        return fail(ErrorKind::environment, "{}: cannot be opened: {}", path, std::strerror(errno));
    }
    std::string bytes;
    std::string block(1 << 16, '\0');
    while (const std::size_t got = std::fread(block.data(), 1, block.size(), file.get())) {
        bytes.append(block, 0, got);
        if (bytes.size() > kFileLimitBytes) {
            return fail(ErrorKind::invalid, "{}: has more than {} bytes, which are accepted", path,
                        kFileLimitBytes);
        }
    }
    if (std::ferror(file.get()) != 0) {
        return fail(ErrorKind::environment, "{}: cannot be read: {}", path, std::strerror(errno));
    }
    auto text = gunzip_if_packed(std::move(bytes));
    if (!text) {
        return tl::unexpected<Error>(std::move(text.error()).within(path));
    }
    return text;
}

Expected<std::string> read_file_or_packed(const std::string& path) {
    const std::string packed = path + ".gz";
    return read_file(!file_exists(path) && file_exists(packed) ? packed : path);
}

Expected<void> write_file(const std::string& path, std::string_view text) {
    if (path == "-") {
        const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
        return written ? Expected<void>() : cannot_write("standard output");
    }
    File file(std::fopen(path.c_str(), "wb"));
    if (file == nullptr) {
        return cannot_write(path);
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    const bool closed = std::fclose(file.release()) == 0;
    return written && closed ? Expected<void>() : cannot_write(path);
}

Expected<void> check_writable(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        errno = EISDIR;
        return cannot_write(path);
    }
    std::string must_be_writable = path;
    if (!std::filesystem::exists(path, error)) {
        const std::filesystem::path folder = std::filesystem::path(path).parent_path();
        must_be_writable = folder.empty() ? "." : folder.string();
    }
    return access(must_be_writable.c_str(), W_OK) == 0 ? Expected<void>() : cannot_write(path);
}

}  // namespace tessera
