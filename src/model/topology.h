// How the GPUs of one node are connected.
//
// A link level is coarse on purpose: a set's bandwidth is that of its slowest pair, and which
// level that is decides collective speed. Finer data (lane counts) breaks ties.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/gpu.h"

namespace tessera {

enum class LinkLevel : std::uint8_t {
    unknown,      // nothing told: no preference
    system,       // across sockets
    numa,         // same NUMA node
    pcie_host,    // same host bridge
    pcie_switch,  // same PCIe switch
    nvlink,       // direct NVLink or NVSwitch
};

struct Link {
    LinkLevel level = LinkLevel::unknown;
    std::uint8_t lanes = 0;  // NVLink lanes, where known

    friend auto operator<=>(const Link&, const Link&) = default;
};

// Symmetric, empty when nothing is known.
class LinkMatrix {
  public:
    LinkMatrix() = default;
    explicit LinkMatrix(int gpus) : gpus_(gpus), links_(static_cast<std::size_t>(gpus * gpus)) {}

    bool empty() const { return links_.empty(); }
    int gpus() const { return gpus_; }
    Link at(int a, int b) const {
        return links_.empty() ? Link{} : links_[static_cast<std::size_t>(a * gpus_ + b)];
    }
    void set(int a, int b, Link link) {
        links_[static_cast<std::size_t>(a * gpus_ + b)] = link;
        links_[static_cast<std::size_t>(b * gpus_ + a)] = link;
    }
    friend bool operator==(const LinkMatrix&, const LinkMatrix&) = default;

  private:
    int gpus_ = 0;
    std::vector<Link> links_;
};

// The links with what the NUMA nodes tell of pairs that nothing else is known of: one NUMA node, or
// across sockets. GPUs that all name the same tell nothing (0 is also what is said when nobody
// knows), so the links stay as they are.
LinkMatrix with_numa(const LinkMatrix& links, std::span<const GpuSpec> gpus);

}  // namespace tessera
