// A directory of a test's own, gone when the test is: two runs of the tests on one machine must not
// write to the same file.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/assert.h"

namespace tessera {

class TestDirectory {
  public:
    TestDirectory() {
        path_ = (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
        TESSERA_ASSERT(::mkdtemp(path_.data()) != nullptr, "a directory for the test's files");
    }
    ~TestDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TestDirectory(const TestDirectory&) = delete;
    TestDirectory& operator=(const TestDirectory&) = delete;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + '/' + name; }

  private:
    std::string path_;
};

}  // namespace tessera
