// The distance to many cells is the mean of the distances to each.
#include "model/cell_distance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera {
namespace {

rc::Gen<std::string> any_id() {
    const auto segment = rc::gen::element<std::string>("1", "2", "7", "40", "007", "lemon",
                                                       "orange", "", "-3", "1234567890");
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(segment),
                        [](const std::vector<std::string>& segments) {
                            std::string id;
                            for (std::size_t i = 0; i < std::min<std::size_t>(5, segments.size());
                                 ++i) {
                                id += (i == 0 ? "" : "/") + segments[i];
                            }
                            return id;
                        });
}

RC_GTEST_PROP(CellDistanceProperty, ToManyIsTheMeanOfEach, ()) {
    const auto cells = *rc::gen::container<std::vector<std::string>>(any_id());
    const std::string from = *any_id();
    std::int64_t sum = 0;
    for (const std::string& cell : cells) {
        RC_ASSERT(cell_distance(from, cell) == cell_distance(cell, from));
        sum += cell_distance(from, cell);
    }
    const std::int64_t mean =
        cells.empty() ? 0 : 1000 * sum / static_cast<std::int64_t>(cells.size());
    RC_ASSERT(DistanceToCells(cells).mean_milli(from) == mean);
}

}  // namespace
}  // namespace tessera
