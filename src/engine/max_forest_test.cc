// Random writes against a plain table of keys.
#include "engine/max_forest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <vector>

#include "base/rng.h"

namespace tessera {
namespace {

class PlainForest {
  public:
    PlainForest(std::size_t nodes, std::size_t columns)
        : keys_(columns, std::vector<Key>(nodes, 0)), ties_(nodes, 0) {}

    void write(std::size_t node, Tie tie, const std::vector<Key>& keys) {
        ties_[node] = tie;
        for (std::size_t column = 0; column < keys.size(); ++column) {
            keys_[column][node] = keys[column];
        }
    }
    void clear_column(std::size_t column) {
        std::fill(keys_[column].begin(), keys_[column].end(), 0);
    }
    Key at(std::size_t column, std::size_t node) const { return keys_[column][node]; }
    std::size_t best(std::size_t column) const {
        std::size_t best = ties_.size();
        for (std::size_t node = 0; node < ties_.size(); ++node) {
            const Key key = keys_[column][node];
            if (key != 0 &&
                (best == ties_.size() ||
                 std::tuple(key, ties_[node]) > std::tuple(keys_[column][best], ties_[best]))) {
                best = node;
            }
        }
        return best;
    }

  private:
    std::vector<std::vector<Key>> keys_;
    std::vector<Tie> ties_;
};

// A node's keys as the index writes them: those that are not 0, before or after.
void write(MaxForest& forest, std::size_t node, Tie tie, const std::vector<Key>& keys) {
    std::vector<std::uint16_t> columns;
    std::vector<Key> given;
    std::vector<std::uint64_t> touched((forest.columns() + 63) / 64, 0);
    for (std::size_t column = 0; column < keys.size(); ++column) {
        if (keys[column] != 0) {
            columns.push_back(static_cast<std::uint16_t>(column));
            given.push_back(keys[column]);
        }
        if (forest.at(column, node) != 0 || keys[column] != 0) {
            touched[column / 64] |= std::uint64_t{1} << (column % 64);
        }
    }
    forest.prefetch(node, touched.data());
    forest.write({node, tie, columns, given, touched.data()});
}

void clear_column(MaxForest& forest, std::size_t column) {
    for (std::size_t node = 0; node < forest.nodes(); ++node) {
        forest.set(column, node, 0);
    }
}

// What keys are kept in: half as much where they are small.
struct Width {
    Key largest;
    Key keys;  // drawn below
};
constexpr Width kNarrow{MaxForest::kMostNarrow, MaxForest::kMostNarrow};
constexpr Width kWide{std::numeric_limits<Key>::max(), std::numeric_limits<Key>::max() - 1};

void random_writes(const MaxForest::Size& size, Key keys, Tie ties) {
    const std::size_t nodes = size.nodes;
    Rng rng(nodes * 1000 + keys);
    const std::unique_ptr<MaxForest> made = MaxForest::make(size);
    MaxForest& forest = *made;
    PlainForest plain(nodes, size.columns);
    for (int step = 0; step < 400; ++step) {
        // Often the node that is best now: its fall must be noticed.
        std::size_t node = rng.below(nodes);
        if (rng.below(2) == 0 && forest.best(0) < nodes) {
            node = forest.best(0);
        }
        std::vector<Key> fresh(size.columns);
        for (Key& key : fresh) {
            key = static_cast<Key>(rng.below(std::uint64_t{keys} + 1));
        }
        const Tie tie = rng.below(ties);
        write(forest, node, tie, fresh);
        plain.write(node, tie, fresh);
        if (step % 150 == 149) {
            clear_column(forest, 1);
            plain.clear_column(1);
        }
        for (const std::size_t column : {0UL, 1UL, 7UL, 8UL, 63UL, 64UL, 70UL}) {
            ASSERT_EQ(forest.at(column, node), plain.at(column, node));
            ASSERT_EQ(forest.best(column), plain.best(column)) << nodes << " nodes, step " << step;
        }
        if (step % 50 == 0) {
            ASSERT_TRUE(forest.consistent());
        }
    }
    EXPECT_TRUE(forest.consistent());
}

TEST(MaxForest, AgreesWithAPlainTable) {
    for (const Width& width : {kNarrow, kWide}) {
        for (const std::size_t nodes : {1, 2, 15, 16, 17, 255, 256, 257, 4097}) {
            for (const std::size_t most_roots : {1, 3, 512}) {  // four levels, three, one
                // Nine runs in two words, the last one not full.
                const MaxForest::Size size{nodes, 71, width.largest, most_roots};
                random_writes(size, 3, 2);  // ties everywhere
                random_writes(size, 2, 1);  // no ties: the first wins
                random_writes(size, 2, std::uint64_t{1} << 40);
                random_writes(size, width.keys, 2);
            }
        }
    }
}

TEST(MaxForest, EmptyHasNoBest) {
    const auto forest = MaxForest::make({.nodes = 70, .columns = 2});
    EXPECT_EQ(forest->best(0), 70U);
    EXPECT_EQ(forest->nodes(), 70U);
    EXPECT_EQ(forest->columns(), 2U);
    EXPECT_TRUE(forest->consistent());
    EXPECT_EQ(MaxForest::make({.nodes = 0, .columns = 2})->best(1), 0U);
}

TEST(MaxForest, FirstNodeWinsAmongEquals) {
    const auto made = MaxForest::make({.nodes = 100, .columns = 1, .largest = kWide.largest});
    MaxForest& forest = *made;
    for (std::size_t node = 100; node-- > 20;) {
        write(forest, node, 5, {7});
    }
    EXPECT_EQ(forest.best(0), 20U);
    write(forest, 20, 5, {0});
    EXPECT_EQ(forest.best(0), 21U);
}

TEST(MaxForest, KeyBeforeTieBeforeOrder) {
    const auto made = MaxForest::make({.nodes = 40, .columns = 1, .largest = kWide.largest});
    MaxForest& forest = *made;
    constexpr Tie kMost = std::numeric_limits<Tie>::max();
    write(forest, 3, kMost, {7});
    write(forest, 35, 0, {8});
    EXPECT_EQ(forest.best(0), 35U);
    write(forest, 36, 1, {8});
    EXPECT_EQ(forest.best(0), 36U);
    EXPECT_EQ(forest.ties()[36], 1U);
    // The largest key and tie there are.
    write(forest, 39, kMost, {std::numeric_limits<Key>::max()});
    EXPECT_EQ(forest.best(0), 39U);
}

// A tie alone changes: the key stays, the order does not.
TEST(MaxForest, TieAloneMovesTheBest) {
    const auto made = MaxForest::make({.nodes = 40, .columns = 1, .largest = kWide.largest});
    MaxForest& forest = *made;
    write(forest, 0, 9, {8});
    write(forest, 33, 5, {8});
    EXPECT_EQ(forest.best(0), 0U);
    write(forest, 0, 4, {8});
    EXPECT_EQ(forest.best(0), 33U);
    write(forest, 0, 6, {8});
    EXPECT_EQ(forest.best(0), 0U);
    EXPECT_TRUE(forest.consistent());
}

}  // namespace
}  // namespace tessera
