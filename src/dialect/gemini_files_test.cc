#include "dialect/gemini_files.h"

#include <gtest/gtest.h>

#include <vector>

namespace tessera {
namespace {

TEST(GeminiFiles, RequestStandsBeforeLimit) {
    const std::vector<GeminiClient> clients = {
        {"default/train", MilliGpu(500), MilliGpu(1000), Bytes(4'256'989'184), 50051},
        {"ml/infer", MilliGpu(5), MilliGpu(250), Bytes(0), 50052}};
    EXPECT_EQ(gemini_config_file(clients),
              "2\ndefault/train 0.500 1.000 4256989184\nml/infer 0.005 0.250 0\n");
    EXPECT_EQ(gemini_port_file(clients), "2\ndefault/train 50051\nml/infer 50052\n");
}

TEST(GeminiFiles, AGpuWithoutClientsSaysSo) {
    EXPECT_EQ(gemini_config_file({}), "0\n");
    EXPECT_EQ(gemini_port_file({}), "0\n");
}

TEST(GeminiFiles, LongNamesAreHashedToFit) {
    const std::string fits(kGeminiNameMax - 3, 'a');
    EXPECT_EQ(gemini_name("ns", fits), "ns/" + fits);
    const std::string name = gemini_name("ns", fits + "b");
    EXPECT_EQ(name.size(), kGeminiNameMax);
    EXPECT_EQ(name.substr(0, 15), "ns/aaaaaaaaaaa~");
    EXPECT_EQ(name, gemini_name("ns", fits + "b"));
    EXPECT_NE(name, gemini_name("ns", fits + "c"));
}

TEST(GeminiFiles, AForgedNameWritesNoLine) {
    const std::string name = gemini_name("ns", "a 1.0 1.0 0\nns/b 1.0");
    EXPECT_EQ(name.find_first_of(" \n"), std::string::npos);
    EXPECT_LE(name.size(), kGeminiNameMax);
}

}  // namespace
}  // namespace tessera
