// The lanes start exactly the pods, in exactly the order, that a plain scan of the line would.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sim/waiting_line.h"

namespace tessera {
namespace {

// The rule itself, over one list: look from the front, start the first that may, look again.
std::vector<std::uint32_t> plain_serve(std::vector<WaitingPod>& line, Discipline discipline,
                                       std::vector<int> room) {
    std::vector<std::uint32_t> started;
    while (true) {
        auto best = line.end();
        for (auto it = line.begin(); it != line.end(); ++it) {
            if (discipline == Discipline::strict && it != line.begin()) {
                break;
            }
            const bool better = best == line.end() || (discipline == Discipline::priority &&
                                                       it->priority > best->priority);
            if (room[it->class_number] > 0 && better) {
                best = it;
            }
        }
        if (best == line.end()) {
            return started;
        }
        --room[best->class_number];
        started.push_back(best->pod);
        line.erase(best);
    }
}

RC_GTEST_PROP(WaitingLineProperty, ServesAsAPlainScan, ()) {
    const auto discipline =
        *rc::gen::element(Discipline::strict, Discipline::backfill, Discipline::priority);
    WaitingLine line(discipline);
    std::vector<WaitingPod> plain;
    std::uint32_t next = 0;
    const auto rounds = *rc::gen::inRange(1, 12);
    for (int round = 0; round < rounds; ++round) {
        const auto comers = *rc::gen::inRange(0, 12);
        for (int i = 0; i < comers; ++i) {
            const WaitingPod pod{next++, *rc::gen::inRange<std::uint32_t>(0, 5),
                                 *rc::gen::inRange(0, 3)};
            line.add(pod);
            plain.push_back(pod);
        }
        const auto room = *rc::gen::container<std::vector<int>>(5, rc::gen::inRange(0, 4));
        std::vector<int> left = room;
        std::vector<std::uint32_t> started;
        std::vector<std::uint32_t> class_of(next, 0);
        for (const WaitingPod& pod : plain) {
            class_of[pod.pod] = pod.class_number;
        }
        line.serve([&](std::uint32_t class_number) { return left[class_number] > 0; },
                   [&](std::uint32_t pod) {
                       --left[class_of[pod]];
                       started.push_back(pod);
                   });
        RC_ASSERT(started == plain_serve(plain, discipline, room));
        RC_ASSERT(line.size() == plain.size());
    }
}

}  // namespace
}  // namespace tessera
