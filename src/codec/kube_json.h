// Reads Kubernetes objects from JSON.
//
// Pod, Node, ConfigMap, lists of them, and controllers with a pod template (Job, CronJob,
// Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController); KubeShare's SharePod,
// whose spec is a pod's. Of the hundreds of fields only those that scheduling needs are looked at,
// the rest is skipped at the speed of memory. A field that is read must have its type: nothing is
// guessed.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/error.h"
#include "codec/json_walk.h"
#include "model/pod.h"

namespace tessera {

// The kinds that have pods, for messages: "Pod, SharePod, Job, ... and lists of them".
std::string kinds_with_pods();

// Any of the kinds above. Others are listed in KubeObjects::skipped.
Expected<KubeObjects> read_kube_json(std::string_view text);

// One object whose kind is known, so that it need not say it.
Expected<Pod> read_pod_json(std::string_view text);
Expected<Node> read_node_json(std::string_view text);
Expected<ConfigMap> read_config_map_json(std::string_view text);
// Of a pod, or of any object, only who it is and where: metadata and spec.nodeName. For what cannot
// be read as a whole, or has gone.
Expected<Pod> read_pod_outline_json(std::string_view text);

// The same with the place of an error apart, for readers of another encoding.
tl::expected<KubeObjects, JsonError> locate_kube_json(std::string_view text);

}  // namespace tessera
