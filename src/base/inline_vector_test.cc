#include "base/inline_vector.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.h"

namespace tessera {
namespace {

using Small = InlineVector<int, 2>;

TEST(InlineVector, KeepsTheFirstElementsInside) {
    Small v{1, 2};
    EXPECT_FALSE(v.on_heap());
    v.push_back(3);
    EXPECT_TRUE(v.on_heap());
    EXPECT_EQ(v, (Small{1, 2, 3}));
}

TEST(InlineVector, PushesItsOwnElement) {
    Small v{7, 8};
    v.push_back(v[0]);  // storage moves while the argument still points into it
    EXPECT_EQ(v, (Small{7, 8, 7}));
}

TEST(InlineVector, MovesLeaveTheSourceEmpty) {
    Small inside{1};
    Small outside{1, 2, 3};
    Small a = std::move(inside);
    Small b = std::move(outside);
    EXPECT_EQ(a, Small{1});
    EXPECT_EQ(b, (Small{1, 2, 3}));
    a = std::move(b);
    EXPECT_EQ(a, (Small{1, 2, 3}));
    EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move)
    b.push_back(4);
    EXPECT_EQ(b, Small{4});
}

TEST(InlineVector, AgreesWithStdVector) {
    Rng rng(1);
    Small small;
    std::vector<int> plain;
    for (int step = 0; step < 20'000; ++step) {
        const int value = static_cast<int>(rng.below(1000));
        switch (rng.below(8)) {
            case 0:
                small.clear();
                plain.clear();
                break;
            case 1:
                small.resize(rng.below(6), value);
                plain.resize(small.size(), value);
                break;
            case 2: {
                Small copy = small;
                small = copy;
                break;
            }
            case 3: {
                Small moved = std::move(small);
                small = std::move(moved);
                break;
            }
            case 4:
                if (!plain.empty()) {
                    small.pop_back();
                    plain.pop_back();
                }
                break;
            default:
                small.push_back(value);
                plain.push_back(value);
        }
        ASSERT_EQ(std::vector<int>(small.begin(), small.end()), plain);
    }
}

}  // namespace
}  // namespace tessera
