#include "model/alternatives.h"

#include "base/assert.h"

namespace tessera {

void name_grants(const Demand& demand, Placement& placement) {
    std::size_t next = 0;
    if (demand.wants_gpu()) {
        for (const GpuRequest& request : demand.alternatives.at(placement.alternative).requests) {
            for (int i = 0; i < request.gpus && next < placement.grants.size(); ++i, ++next) {
                placement.grants[next].request = request.name;
            }
        }
    }
    TESSERA_ASSERT(next == placement.grants.size(), "a grant is of a request of its demand");
}

}  // namespace tessera
