// The churn protocol: pods come and leave; what does not fit on arrival is lost.
//
// Measured over the last 60 % of the arrivals, near steady state (stream.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "sim/inflate.h"
#include "sim/stream.h"

namespace tessera {

struct SizeCount {
    std::int64_t offered = 0;
    std::int64_t refused = 0;
    double percent() const {
        return offered == 0 ? 0
                            : 100.0 * static_cast<double>(refused) / static_cast<double>(offered);
    }
};

struct ChurnRun {
    std::uint64_t seed = 0;
    std::int64_t arrivals = 0;
    std::int64_t standing = 0;
    std::int64_t standing_refused = 0;
    double alloc_percent = 0;        // mean over time, of GPU capacity
    double refused_gpu_percent = 0;  // of the GPU demand that came
    std::array<SizeCount, kSizeKeys> by_size{};
    double decisions_per_second = 0;
};

ChurnRun run_churn(const RunSetup& setup, const Stream& stream, std::unique_ptr<Policy> policy);

}  // namespace tessera
