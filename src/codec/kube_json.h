// Reads Kubernetes objects from JSON.
//
// Pod, Node, ConfigMap, lists of them, and controllers with a pod template (Job, Deployment,
// ReplicaSet, StatefulSet, ReplicationController); KubeShare's SharePod, whose spec is a pod's. Of
// the hundreds of fields only those that scheduling needs are looked at, the rest is skipped at
// the speed of memory. A field that is read must have its type: nothing is guessed.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/error.h"
#include "model/pod.h"

namespace tessera {

// Any of the kinds above. Others are listed in KubeObjects::skipped.
Expected<KubeObjects> read_kube_json(std::string_view text);

// One object whose kind is known, so that it need not say it.
Expected<Pod> read_pod_json(std::string_view text);
Expected<Node> read_node_json(std::string_view text);

// Where in the document an error is: keys and indices from the top, so that a reader of another
// encoding can find the line.
struct KubeError {
    std::vector<std::string> path;  // an index is written as a number
    std::string message;            // without the path

    // "spec.containers[0].name: ..."
    std::string to_string() const;
};
tl::expected<KubeObjects, KubeError> locate_kube_json(std::string_view text);

}  // namespace tessera
