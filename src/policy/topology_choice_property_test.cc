// The search against plain enumeration of all sets.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <tuple>

#include "policy/topology_choice.h"

namespace tessera {
namespace {

struct Case {
    LinkMatrix links;
    GpuGroups groups{};
    SubsetQuery query;
};

bool allowed(const Case& c, DeviceMask set) {
    if (c.query.rule == GroupRule::none) {
        return true;
    }
    for (int a = 0; a < kMaxGpusPerNode; ++a) {
        const GroupId left = c.groups[static_cast<std::size_t>(a)];
        if ((set >> a & 1) == 0) {
            continue;
        }
        if (left == kNoGroup) {
            return false;
        }
        for (int b = a + 1; b < kMaxGpusPerNode; ++b) {
            const bool equal = left == c.groups[static_cast<std::size_t>(b)];
            if ((set >> b & 1) != 0 && equal != (c.query.rule == GroupRule::same)) {
                return false;
            }
        }
    }
    return true;
}

// Links between the set and the other candidates that could have been chosen.
std::int64_t harm(const Case& c, DeviceMask set) {
    if (c.query.tie == SubsetTie::lowest_index) {
        return 0;
    }
    DeviceMask pool = 0;
    for (int gpu = 0; gpu < kMaxGpusPerNode; ++gpu) {
        const bool usable =
            c.query.rule == GroupRule::none || c.groups[static_cast<std::size_t>(gpu)] != kNoGroup;
        pool |= usable ? c.query.candidates & (DeviceMask{1} << gpu) : 0;
    }
    return set_quality(c.links, pool).inner - set_quality(c.links, set).inner -
           set_quality(c.links, pool & ~set).inner;
}

DeviceMask by_enumeration(const Case& c) {
    DeviceMask best = 0;
    for (DeviceMask set = 1; set < (DeviceMask{1} << kMaxGpusPerNode); ++set) {
        if ((set & ~c.query.candidates) != 0 || std::popcount(set) != c.query.count ||
            !allowed(c, set)) {
            continue;
        }
        if (best == 0) {
            best = set;
            continue;
        }
        const auto now = std::tuple(set_quality(c.links, set), -harm(c, set));
        const auto then = std::tuple(set_quality(c.links, best), -harm(c, best));
        const DeviceMask differ = set ^ best;
        const bool lower = (differ & (~differ + 1) & set) != 0;
        if (now > then || (now == then && lower)) {
            best = set;
        }
    }
    return best;
}

// From wild to structured: the fewer levels and lanes, the more twins.
Case arbitrary_case() {
    Case c;
    const int gpus = *rc::gen::inRange(1, kMaxGpusPerNode + 1);
    const int levels = *rc::gen::element(1, 2, 6);
    const int lanes = *rc::gen::element(1, 3, 200);
    c.links = LinkMatrix(gpus);
    for (int a = 0; a < gpus; ++a) {
        for (int b = a + 1; b < gpus; ++b) {
            const auto level = static_cast<LinkLevel>(5 - *rc::gen::inRange(0, levels));
            c.links.set(a, b, {level, static_cast<std::uint8_t>(*rc::gen::inRange(0, lanes))});
        }
    }
    for (GroupId& group : c.groups) {
        group = *rc::gen::element<GroupId>(0, 1, 2, 3, kNoGroup);
    }
    c.query.candidates = *rc::gen::inRange<DeviceMask>(0, DeviceMask{1} << gpus);
    c.query.count = *rc::gen::inRange(1, gpus + 1);
    c.query.tie = *rc::gen::element(SubsetTie::lowest_index, SubsetTie::least_harm);
    c.query.rule = *rc::gen::element(GroupRule::none, GroupRule::same, GroupRule::distinct);
    return c;
}

RC_GTEST_PROP(TopologyChoiceProperty, AgreesWithEnumeration, ()) {
    Case c = arbitrary_case();
    c.query.groups = &c.groups;
    RC_ASSERT(best_connected(c.links, c.query) == by_enumeration(c));
}

RC_GTEST_PROP(TopologyChoiceProperty, AgreesOnTreesOfSwitches, ()) {
    Case c;
    const int per_switch = *rc::gen::element(1, 2, 4);
    const int per_socket = *rc::gen::element(4, 8);
    c.links = LinkMatrix(kMaxGpusPerNode);
    for (int a = 0; a < kMaxGpusPerNode; ++a) {
        for (int b = a + 1; b < kMaxGpusPerNode; ++b) {
            const LinkLevel level = a / per_switch == b / per_switch   ? LinkLevel::pcie_switch
                                    : a / per_socket == b / per_socket ? LinkLevel::numa
                                                                       : LinkLevel::system;
            c.links.set(a, b, {level, 0});
        }
    }
    c.query.candidates = *rc::gen::inRange<DeviceMask>(0, DeviceMask{1} << kMaxGpusPerNode);
    c.query.count = *rc::gen::inRange(1, kMaxGpusPerNode + 1);
    c.query.tie = *rc::gen::element(SubsetTie::lowest_index, SubsetTie::least_harm);
    RC_ASSERT(best_connected(c.links, c.query) == by_enumeration(c));
}

}  // namespace
}  // namespace tessera
