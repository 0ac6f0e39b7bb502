// Reads Kubernetes objects from YAML: the same kinds as kube_json.h, any number of documents.
//
// Errors name the line. A comment that begins with // instead of # is told as such.
#pragma once

#include <string_view>

#include "base/error.h"
#include "model/pod.h"

namespace tessera {

Expected<KubeObjects> read_kube_yaml(std::string_view text);

}  // namespace tessera
