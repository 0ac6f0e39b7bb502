#include "base/file_error.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(FileError, TheLineStandsBehindTheFile) {
    EXPECT_EQ(in_file("a.yaml", "line 12: not YAML"), "a.yaml:12: not YAML");
    EXPECT_EQ(in_file("a.yaml", "nodes is missing"), "a.yaml: nodes is missing");
    EXPECT_EQ(in_file("a.yaml", "line : x"), "a.yaml: line : x");
    EXPECT_EQ(in_file("a.yaml", "line 7"), "a.yaml: line 7");
    EXPECT_EQ(in_file("a.yaml", "line 7 is odd: x"), "a.yaml: line 7 is odd: x");
    EXPECT_EQ(in_file("a.yaml", "line "), "a.yaml: line ");
    const Error error = in_file("a.yaml", Error{ErrorKind::environment, "line 3: x"});
    EXPECT_EQ(error.message, "a.yaml:3: x");
    EXPECT_EQ(error.kind, ErrorKind::environment);
}

}  // namespace
}  // namespace tessera
