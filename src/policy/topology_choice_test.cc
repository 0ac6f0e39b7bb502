#include "policy/topology_choice.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

LinkMatrix all_pairs(int gpus, Link link) {
    LinkMatrix links(gpus);
    for (int a = 0; a < gpus; ++a) {
        for (int b = a + 1; b < gpus; ++b) {
            links.set(a, b, link);
        }
    }
    return links;
}

// Two sockets of four GPUs; within a socket two switches of two; NVLink bridges 0-1, 2-3, 6-7.
LinkMatrix two_sockets() {
    LinkMatrix links = all_pairs(8, {LinkLevel::system, 0});
    for (int socket : {0, 4}) {
        for (int a = socket; a < socket + 4; ++a) {
            for (int b = a + 1; b < socket + 4; ++b) {
                links.set(a, b, {LinkLevel::pcie_host, 0});
            }
        }
        links.set(socket, socket + 1, {LinkLevel::pcie_switch, 0});
        links.set(socket + 2, socket + 3, {LinkLevel::pcie_switch, 0});
    }
    links.set(0, 1, {LinkLevel::nvlink, 2});
    links.set(2, 3, {LinkLevel::nvlink, 4});
    links.set(6, 7, {LinkLevel::nvlink, 4});
    return links;
}

// The first NVLink machine of eight: a cube of four and four, each corner with a partner, single
// and double lanes.
LinkMatrix cube_mesh() {
    LinkMatrix links = all_pairs(8, {LinkLevel::system, 0});
    const int pairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {1, 2, 2}, {1, 3, 1}, {2, 3, 2},
                            {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
                            {0, 4, 2}, {1, 5, 2}, {2, 6, 1}, {3, 7, 1}};
    for (const auto& [a, b, lanes] : pairs) {
        links.set(a, b, {LinkLevel::nvlink, static_cast<std::uint8_t>(lanes)});
    }
    return links;
}

TEST(TopologyChoice, WithoutLinksTheLowestIndices) {
    EXPECT_EQ(best_connected({}, {.candidates = 0b10110100, .count = 3}), 0b00110100U);
    EXPECT_EQ(best_connected(all_pairs(8, {LinkLevel::nvlink, 12}),
                             {.candidates = 0b11110100, .count = 3}),
              0b00110100U)
        << "all alike";
}

TEST(TopologyChoice, ImpossibleQueriesGiveNothing) {
    EXPECT_EQ(best_connected({}, {.candidates = 0b11, .count = 3}), 0U);
    EXPECT_EQ(best_connected({}, {.candidates = 0b11, .count = 0}), 0U);
    EXPECT_EQ(best_connected(two_sockets(), {.candidates = 0, .count = 1}), 0U);
}

TEST(TopologyChoice, PairsWithTheWidestLink) {
    EXPECT_EQ(best_connected(two_sockets(), {.candidates = 0xff, .count = 2}), 0b1100U);
    EXPECT_EQ(best_connected(two_sockets(), {.candidates = 0b11110111, .count = 2}), 0b11000000U);
    EXPECT_EQ(best_connected(two_sockets(), {.candidates = 0b01110100, .count = 2}), 0b110000U)
        << "without NVLink the switch";
    EXPECT_EQ(best_connected(two_sockets(), {.candidates = 0b01010101, .count = 2}), 0b101U)
        << "then the host bridge";
}

TEST(TopologyChoice, TheWorstLinkDecidesBeforeTheSum) {
    // {0,1,2} has one superb and two poor links, {3,4,5} three fair ones.
    LinkMatrix links = all_pairs(6, {LinkLevel::system, 0});
    links.set(0, 1, {LinkLevel::nvlink, 18});
    links.set(1, 2, {LinkLevel::nvlink, 18});
    for (auto [a, b] : {std::pair(3, 4), {3, 5}, {4, 5}}) {
        links.set(a, b, {LinkLevel::numa, 0});
    }
    EXPECT_EQ(best_connected(links, {.candidates = 0b111111, .count = 3}), 0b111000U);
}

TEST(TopologyChoice, FourOfACubeMesh) {
    const LinkMatrix links = cube_mesh();
    EXPECT_EQ(best_connected(links, {.candidates = 0xff, .count = 4}), 0b1111U);
    EXPECT_EQ(best_connected(links, {.candidates = 0b11111110, .count = 4}), 0b11110000U);
    EXPECT_EQ(best_connected(links, {.candidates = 0xff, .count = 2}), 0b1001U)
        << "two lanes, not one";
}

TEST(TopologyChoice, LeastHarmKeepsTheBestSetTogether) {
    const LinkMatrix links = two_sockets();
    EXPECT_EQ(best_connected(links, {.candidates = 0xff, .count = 1}), 0b1U);
    EXPECT_EQ(best_connected(links, {.candidates = 0xff, .count = 1, .tie = SubsetTie::least_harm}),
              0b10000U)
        << "4 and 5 have no NVLink";
    // Two pairs of equal width: 6-7 stands alone, 2-3 is half of a group of four.
    EXPECT_EQ(
        best_connected(links, {.candidates = 0b11001111, .count = 2, .tie = SubsetTie::least_harm}),
        0b11000000U);
}

TEST(TopologyChoice, SameGroupBeatsBetterLinks) {
    GpuGroups numa;
    numa.fill(kNoGroup);
    numa[0] = numa[1] = numa[4] = 0;
    numa[2] = numa[5] = numa[6] = 1;
    const LinkMatrix links = two_sockets();
    EXPECT_EQ(
        best_connected(links,
                       {.candidates = 0xff, .count = 2, .rule = GroupRule::same, .groups = &numa}),
        0b11U);
    EXPECT_EQ(best_connected(
                  links,
                  {.candidates = 0b11111110, .count = 2, .rule = GroupRule::same, .groups = &numa}),
              0b1100000U);
    EXPECT_EQ(
        best_connected(links,
                       {.candidates = 0xff, .count = 4, .rule = GroupRule::same, .groups = &numa}),
        0U);
    EXPECT_EQ(best_connected(
                  links,
                  {.candidates = 0b10001000, .count = 1, .rule = GroupRule::same, .groups = &numa}),
              0U)
        << "3 and 7 have no group";
}

TEST(TopologyChoice, DistinctGroupsSpread) {
    GpuGroups numa;
    numa.fill(kNoGroup);
    for (std::size_t gpu = 0; gpu < 8; ++gpu) {
        numa[gpu] = static_cast<GroupId>(gpu / 4);
    }
    const SubsetQuery two{
        .candidates = 0xff, .count = 2, .rule = GroupRule::distinct, .groups = &numa};
    EXPECT_EQ(best_connected(two_sockets(), two), 0b10001U);
    EXPECT_EQ(best_connected({}, two), 0b10001U);
    const SubsetQuery three{
        .candidates = 0xff, .count = 3, .rule = GroupRule::distinct, .groups = &numa};
    EXPECT_EQ(best_connected(two_sockets(), three), 0U);
}

TEST(TopologyChoice, ASmallMatrixSaysNothingOfFurtherGpus) {
    LinkMatrix links(2);
    links.set(0, 1, {LinkLevel::nvlink, 1});
    EXPECT_EQ(best_connected(links, {.candidates = 0b1111, .count = 2}), 0b11U);
    EXPECT_EQ(best_connected(links, {.candidates = 0b1101, .count = 2}), 0b101U);
}

}  // namespace
}  // namespace tessera
