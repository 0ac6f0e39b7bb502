// Tables made from any mix of demands stay within their arithmetic; and clang, which builds this,
// finds the digests that g++ finds (test_digest.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/test_digest.h"

namespace tessera {
namespace {

using testing::DigestWorld;

// Two bytes a number, 0 when the input has ended.
class Numbers {
  public:
    explicit Numbers(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    std::uint32_t next() {
        std::uint32_t value = 0;
        for (int i = 0; i < 2 && !bytes_.empty(); ++i) {
            value = value << 8 | bytes_.front();
            bytes_ = bytes_.subspan(1);
        }
        return value;
    }
    bool ended() const { return bytes_.empty(); }

  private:
    std::span<const std::uint8_t> bytes_;
};

void check(Numbers numbers) {
    Rng rng(numbers.next());
    DigestWorld known(rng);
    while (!numbers.ended() && known.classes.size() < 64) {
        const int gpus = static_cast<int>(numbers.next() % (kMaxGpusPerNode + 1));
        const int milli = 1 + static_cast<int>(numbers.next() % 1000);
        Demand demand =
            testing::demand_of(std::int64_t{numbers.next()} << numbers.next() % 24,
                               {testing::gpu_request(std::max(gpus, 1), gpus > 1 ? 1000 : milli)});
        demand.memory = MemoryMib(std::int64_t{numbers.next()} << numbers.next() % 20);
        known.classes.push_back(known.world.intern(demand));
        known.mix.push_back({known.world[known.classes.back()], 1 + std::int64_t{numbers.next()}});
    }
    for (const char* name : {"tessera", "fgd", "fgd-published"}) {
        const auto policy = make_policy(name, {.mix = known.mix});
        TESSERA_ASSERT(policy.has_value(), "a shipped policy");
        for (int round = 0; round < 4; ++round) {
            for (const ClassIndex wanted : known.classes) {
                (*policy)->arrived(wanted);
            }
        }
        Hash digest;
        testing::add_scores(*(*policy)->scorer(known.world.catalog()), known, digest);
    }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    using namespace tessera;
    TESSERA_ASSERT(testing::gap_digest() == testing::kGapDigest, "gap values of this compiler");
    for (const testing::KnownDigest& known : testing::kScoreDigests) {
        TESSERA_ASSERT(testing::score_digest(known.policy) == known.digest,
                       "scores of this compiler");
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tessera::check(tessera::Numbers(std::span(data, size)));
    return 0;
}
