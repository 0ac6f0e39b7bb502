#include "engine/max_forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/aligned_vector.h"
#include "base/assert.h"
#include "base/bit_words.h"

namespace tessera {
namespace {

constexpr std::size_t kBlock = MaxForest::kBlock;
constexpr std::size_t kRun = MaxForest::kRun;
constexpr std::size_t kRunsPerWord = kWordBits / kRun;

std::size_t blocks_of(std::size_t entries) {
    return (std::max<std::size_t>(entries, 1) + kBlock - 1) / kBlock;
}

// Calls visit(run) for each run with a touched column.
template <class Visit>
void each_run(const std::uint64_t* touched, std::size_t runs, Visit visit) {
    for (std::size_t first = 0; first < runs; first += kRunsPerWord) {
        for (std::uint64_t bits = touched[first / kRunsPerWord]; bits != 0;) {
            const auto run = static_cast<std::size_t>(std::countr_zero(bits)) / kRun;
            bits &= ~(std::uint64_t{0xff} << run * kRun);
            visit(first + run);
        }
    }
}

// Stored: what a key is kept in.
template <class Stored>
class TiledForest final : public MaxForest {
  public:
    explicit TiledForest(const Size& size);

    Key at(std::size_t column, std::size_t node) const override {
        return key_of(levels_[0][tile(node, column / kRun)][node % kBlock][column % kRun]);
    }
    void gather(std::size_t column, std::span<const NodeIndex> nodes,
                std::span<Key> keys) const override {
        // All that at() would look up again for each of thousands of nodes.
        const Tile* const tiles = levels_[0].data() + column / kRun;
        const std::size_t runs = runs_;
        const std::size_t in_run = column % kRun;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::size_t node = nodes[i].slot();
            keys[i] =
                nodes[i].valid() ? key_of(tiles[node / kBlock * runs][node % kBlock][in_run]) : 0;
        }
    }
    std::span<const Tie> ties() const override { return ties_; }

    void write(const NodeKeys& written) override;
    void prefetch(std::size_t node, const std::uint64_t* touched) const override;
    void set(std::size_t column, std::size_t node, Key key) override;
    std::size_t best(std::size_t column) const override;

    std::size_t nodes() const override { return nodes_; }
    std::size_t columns() const override { return columns_; }
    bool consistent() const override;
    std::size_t memory_bytes() const override;

  private:
    using Row = std::array<Stored, kRun>;
    using Tile = std::array<Row, kBlock>;
    // Baseline processors compare signed numbers of 16 bits: there a key is kept less 2^15.
    static constexpr Stored kNothing = std::numeric_limits<Stored>::min();
    static Stored stored(Key key) {
        TESSERA_DEBUG_ASSERT(key <= std::numeric_limits<std::make_unsigned_t<Stored>>::max(),
                             "no key is larger than the scorer said");
        return static_cast<Stored>(key + static_cast<Key>(kNothing));
    }
    static Key key_of(Stored stored) {
        return static_cast<Key>(stored) - static_cast<Key>(kNothing);
    }
    static constexpr Row nothing() {
        Row row{};
        row.fill(kNothing);
        return row;
    }
    static constexpr Tile nothing_at_all() {
        Tile tile{};
        tile.fill(nothing());
        return tile;
    }

    // A row, worked on all at once.
    typedef Stored Lanes __attribute__((vector_size(sizeof(Row))));
    // By node of a block: its place by tie, then order (15 is the best), and which node it is.
    using Worths = std::array<Stored, kBlock>;

    static void load(Lanes& lanes, const Row& row) { std::memcpy(&lanes, &row, sizeof lanes); }
    static void keep_larger(Lanes& most, const Lanes& other) { most = most > other ? most : other; }
    static Row row_of(const Lanes& lanes) {
        Row row;
        std::memcpy(&row, &lanes, sizeof row);
        return row;
    }
    static Row largest(const Tile& tile) {
        Lanes most;
        load(most, tile[0]);
        for (std::size_t i = 1; i < kBlock; ++i) {
            Lanes here;
            load(here, tile[i]);
            keep_larger(most, here);
        }
        return row_of(most);
    }
    // Which of the nodes that have the largest key is the best; 0 where nothing fits.
    static Row winner(const Tile& tile, const Row& largest, const Worths& worths) {
        Lanes most;
        load(most, largest);
        Lanes best{};
        for (std::size_t i = 0; i < kBlock; ++i) {
            Lanes here;
            load(here, tile[i]);
            keep_larger(best, here == most ? Lanes{} + worths[i] : Lanes{});
        }
        const Lanes which = best & (Lanes{} + static_cast<Stored>(kBlock - 1));
        return row_of(most != Lanes{} + kNothing ? which : Lanes{});
    }

    // Tiles lie by block, then by run.
    std::size_t tile(std::size_t entry, std::size_t run) const {
        return entry / kBlock * runs_ + run;
    }
    void set_tie(std::size_t node, Tie tie);
    Worths worths_of(std::size_t block) const;
    void find_winners();
    void write_run(std::size_t node, std::size_t run, const Row& keys);

    // The node that a decision would take so far.
    struct Found {
        std::size_t node;
        Tie tie = 0;
    };
    // All nodes of one column that have one key.
    struct Wanted {
        std::size_t column;
        Stored key;
    };
    void look(std::size_t level, std::size_t block, const Wanted& wanted, Found& found) const;

    std::vector<AlignedVector<Tile>> levels_;  // keys by node, then maxima by block
    std::vector<Row> winners_;  // [block][run], which node of the block; kept where there are ties
    std::vector<Worths> worths_;  // by block
    std::vector<Tie> ties_;       // by node, padded to whole blocks
    std::vector<Row> row_;        // of the node being written
    std::size_t nodes_ = 0;
    std::size_t columns_ = 0;
    std::size_t runs_ = 0;
    bool tied_ = false;  // some tie was not 0: many policies have none
};

template <class Stored>
TiledForest<Stored>::TiledForest(const Size& size)
    : nodes_(size.nodes), columns_(size.columns), runs_((size.columns + kRun - 1) / kRun) {
    const std::size_t blocks = blocks_of(nodes_);
    ties_.assign(blocks * kBlock, 0);
    Worths in_order{};  // equal ties: the first node is the best
    for (std::size_t i = 0; i < kBlock; ++i) {
        in_order[i] = static_cast<Stored>((kBlock - 1 - i) * kBlock + i);
    }
    worths_.assign(blocks, in_order);
    winners_.resize(blocks * runs_);
    row_.assign(runs_, nothing());
    levels_.emplace_back(blocks * runs_, nothing_at_all());
    std::size_t entries = blocks;
    levels_.emplace_back(blocks_of(entries) * runs_, nothing_at_all());
    while (entries > size.most_roots) {
        entries = blocks_of(entries);
        levels_.emplace_back(blocks_of(entries) * runs_, nothing_at_all());
    }
}

template <class Stored>
void TiledForest<Stored>::write(const NodeKeys& written) {
    set_tie(written.node, written.tie);
    for (std::size_t i = 0; i < written.keys.size(); ++i) {
        const std::size_t column = written.columns[i];
        row_[column / kRun][column % kRun] = stored(written.keys[i]);
    }
    each_run(written.touched, runs_, [&](std::size_t run) {
        write_run(written.node, run, row_[run]);
        row_[run] = nothing();
    });
}

template <class Stored>
void TiledForest<Stored>::prefetch(std::size_t node, const std::uint64_t* touched) const {
    const Tile* tiles = levels_[0].data() + tile(node, 0);
    each_run(touched, runs_, [&](std::size_t run) {
        const auto* bytes = reinterpret_cast<const char*>(tiles + run);
        for (std::size_t line = 0; line < sizeof(Tile); line += kCacheLine) {
            __builtin_prefetch(bytes + line, 1);
        }
    });
}

template <class Stored>
void TiledForest<Stored>::set(std::size_t column, std::size_t node, Key key) {
    Row row = levels_[0][tile(node, column / kRun)][node % kBlock];
    row[column % kRun] = stored(key);
    write_run(node, column / kRun, row);
}

// Ties change one at a time: every other node of the block moves by one place at most.
template <class Stored>
void TiledForest<Stored>::set_tie(std::size_t node, Tie tie) {
    const Tie before = std::exchange(ties_[node], tie);
    if (tie == before) {
        return;
    }
    if (!std::exchange(tied_, true)) {
        find_winners();
    }
    const std::size_t self = node % kBlock;
    const Tie* ties = ties_.data() + (node - self);
    Worths& worths = worths_[node / kBlock];
    int place = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const bool later = i > self;  // loses when ties are equal
        const int beaten = static_cast<int>(later ? ties[i] <= tie : ties[i] < tie);
        const int beaten_before = static_cast<int>(later ? ties[i] <= before : ties[i] < before);
        place += beaten;
        worths[i] =
            static_cast<Stored>(worths[i] + (beaten_before - beaten) * static_cast<int>(kBlock));
    }
    worths[self] = static_cast<Stored>(static_cast<std::size_t>(place) * kBlock + self);
}

// The first tie: until now nobody asked.
template <class Stored>
void TiledForest<Stored>::find_winners() {
    for (std::size_t at = 0; at < winners_.size(); ++at) {
        const Tile& keys = levels_[0][at];
        winners_[at] = winner(keys, largest(keys), worths_[at / runs_]);
    }
}

// The keys of a run on one node, and all that is known of them above.
template <class Stored>
void TiledForest<Stored>::write_run(std::size_t node, std::size_t run, const Row& keys) {
    Tile& tile_of_node = levels_[0][tile(node, run)];
    tile_of_node[node % kBlock] = keys;
    Row most = largest(tile_of_node);
    std::size_t entry = node / kBlock;
    if (tied_) {
        winners_[entry * runs_ + run] = winner(tile_of_node, most, worths_[entry]);
    }
    for (std::size_t l = 1; l < levels_.size(); ++l) {
        Tile& above = levels_[l][tile(entry, run)];
        if (above[entry % kBlock] == most) {
            return;
        }
        above[entry % kBlock] = most;
        if (l + 1 < levels_.size()) {
            most = largest(above);
            entry /= kBlock;
        }
    }
}

template <class Stored>
std::size_t TiledForest<Stored>::best(std::size_t column) const {
    const AlignedVector<Tile>& top = levels_.back();
    Stored most = kNothing;
    for (std::size_t at = column / kRun; at < top.size(); at += runs_) {
        for (const Row& row : top[at]) {
            most = std::max(most, row[column % kRun]);
        }
    }
    Found found{nodes_};
    for (std::size_t block = 0; most != kNothing && block < top.size() / runs_; ++block) {
        look(levels_.size() - 1, block, {column, most}, found);
        if (found.node != nodes_ && !tied_) {
            break;
        }
    }
    return found.node;
}

// Without ties the first node with the key is the best, else each block's winner may be.
template <class Stored>
void TiledForest<Stored>::look(std::size_t level, std::size_t block, const Wanted& wanted,
                               Found& found) const {
    const std::size_t lane = wanted.column % kRun;
    const std::size_t run = wanted.column / kRun;
    const Tile& here = levels_[level][block * runs_ + run];
    for (std::size_t i = 0; i < kBlock; ++i) {
        if (here[i][lane] != wanted.key) {
            continue;
        }
        const std::size_t entry = block * kBlock + i;
        if (!tied_) {
            if (level > 0) {
                look(level - 1, entry, wanted, found);
            } else {
                found.node = entry;
            }
            return;
        }
        if (level > 1) {
            look(level - 1, entry, wanted, found);
            continue;
        }
        const auto which = static_cast<std::size_t>(winners_[entry * runs_ + run][lane]);
        const std::size_t node = entry * kBlock + which;
        if (found.node == nodes_ || ties_[node] > found.tie) {
            found = {node, ties_[node]};
        }
    }
}

// As set_tie() keeps them, but by looking at every pair of nodes.
template <class Stored>
typename TiledForest<Stored>::Worths TiledForest<Stored>::worths_of(std::size_t block) const {
    const Tie* ties = ties_.data() + block * kBlock;
    Worths worths{};
    for (std::size_t i = 0; i < kBlock; ++i) {
        std::size_t place = 0;
        for (std::size_t j = 0; j < kBlock; ++j) {
            place += ties[j] < ties[i] || (ties[j] == ties[i] && j > i) ? 1 : 0;
        }
        worths[i] = static_cast<Stored>(place * kBlock + i);
    }
    return worths;
}

template <class Stored>
bool TiledForest<Stored>::consistent() const {
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
        for (std::size_t at = 0; at < levels_[l].size(); ++at) {
            const std::size_t entry = at / runs_;
            const Row most = largest(levels_[l][at]);
            if (levels_[l + 1][tile(entry, at % runs_)][entry % kBlock] != most ||
                (l == 0 && tied_ &&
                 winners_[at] != winner(levels_[0][at], most, worths_of(entry)))) {
                return false;
            }
        }
    }
    return true;
}

template <class Stored>
std::size_t TiledForest<Stored>::memory_bytes() const {
    std::size_t bytes = ties_.capacity() * sizeof(Tie) + worths_.capacity() * sizeof(Worths) +
                        (winners_.capacity() + row_.capacity()) * sizeof(Row);
    for (const AlignedVector<Tile>& level : levels_) {
        bytes += level.capacity() * sizeof(Tile);
    }
    return bytes;
}

}  // namespace

std::unique_ptr<MaxForest> MaxForest::make(const Size& size) {
    if (size.largest <= kMostNarrow) {
        return std::make_unique<TiledForest<std::int16_t>>(size);
    }
    return std::make_unique<TiledForest<Key>>(size);
}

}  // namespace tessera
