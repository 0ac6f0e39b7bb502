// Who hears what changes in a mirror, while it changes: with the mirror's mutex held, so that what
// is heard is only marked here and served later.
#pragma once

#include "engine/engine.h"
#include "model/pod.h"

namespace tessera {

class MirrorObserver {
  public:
    virtual ~MirrorObserver() = default;

    // The API tells of a pod that is bound to no node: a new one, or a change of it.
    virtual void pod_waits(PodIndex index, const Pod& pod) = 0;
    // It is bound, by whomever, or gone, or has ended. The index may be another pod's after this.
    virtual void pod_settled(PodIndex index) = 0;
    // Classes were numbered anew, or a policy has changed: what was asked (Mirror::ask) says
    // nothing any more.
    virtual void asks_changed() = 0;
    // A pod came, went or changed where others' rules may look at it.
    virtual void neighbours_changed() = 0;
    // Something may be free that was not: a share has ended, a node was added, changed or healed.
    virtual void room_appeared() = 0;
};

}  // namespace tessera
