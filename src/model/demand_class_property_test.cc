// The bytes that were asked for reach the class: a kind of device may round them as it likes.
#include "model/demand_class.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

Demand asking(Bytes bytes) {
    GpuRequest request;
    request.milli = MilliGpu(100);
    request.memory_bytes = bytes;
    request.memory = asked_mib(bytes);
    Demand demand;
    demand.alternatives = {{{request}}};
    return demand;
}

Bytes any_bytes() {
    const std::int64_t mib = *rc::gen::inRange<std::int64_t>(1, 100'000);
    return Bytes(mib * kBytesPerMib - *rc::gen::element<std::int64_t>(0, 0, 1, 4'096, 1'000'000));
}

RC_GTEST_PROP(DemandClassProperty, BytesAreRoundedToTheStepBeforeMib, ()) {
    const Bytes asked = any_bytes();
    const GpuRequest request = demand_class(asking(asked)).requests.front();
    const Bytes step(*rc::gen::element<std::int64_t>(1, 1'000, 65'536, kBytesPerMib, 1'000'000,
                                                     64 * kBytesPerMib, 1'000'000'007));
    const std::int64_t rounded = (asked.value() + step.value() - 1) / step.value() * step.value();
    RC_ASSERT(request.memory_in_steps(step) == asked_mib(Bytes(rounded)));
    RC_ASSERT(request.memory_in_steps(Bytes(1)) == request.memory);
}

RC_GTEST_PROP(DemandClassProperty, EqualDemandsShareAClass, ()) {
    const Bytes first = any_bytes();
    const Bytes second = *rc::gen::element<int>(0, 1) == 0 ? first : any_bytes();
    ClassTable classes;
    const ClassIndex one = classes.intern(demand_class(asking(first)));
    RC_ASSERT((classes.intern(demand_class(asking(second))) == one) == (first == second));
    // Whole MiB are the same demand whether or not the bytes are told.
    Demand untold = asking(first);
    untold.alternatives[0].requests[0].memory_bytes = Bytes(0);
    RC_ASSERT((classes.intern(demand_class(untold)) == one) == (first.value() % kBytesPerMib == 0));
}

}  // namespace
}  // namespace tessera
