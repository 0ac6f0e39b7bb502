// How to reach the API server: from a kubeconfig file, or from within a pod.
//
//   TESSERA_TRY(KubeAccess access, find_kube_access({.file = flag, .context = flag}));
//   TESSERA_TRY(auto client, HttpClient::open(access.http));
//
// Errors are "FILE: what is wrong, and what to do".
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "net/http_client.h"

namespace tessera {

struct KubeAccess {
    HttpClientOptions http;
    std::string space = "default";  // the namespace where none is named
    std::string source;             // for people: the file, or "the pod's service account"
};

// `context` empty: the file's current one.
Expected<KubeAccess> access_by_kubeconfig(const std::string& file, const std::string& context);

// Reads a variable of the environment; empty when it is not set.
using Variables = std::function<std::string(const char*)>;
std::string process_variable(const char* name);

// In a pod: the files of its service account, and KUBERNETES_SERVICE_HOST and _PORT.
struct PodPlace {
    std::string directory = "/var/run/secrets/kubernetes.io/serviceaccount";
    Variables variable = process_variable;
};
Expected<KubeAccess> access_in_pod(const PodPlace& place = {});

// As kubectl looks: the file that was named; the first that exists of those in KUBECONFIG (which
// kubectl would join); ~/.kube/config; the pod's service account.
struct KubeSearch {
    std::string file{};  // --kubeconfig
    std::string context{};
    PodPlace pod{};
};
Expected<KubeAccess> find_kube_access(const KubeSearch& search);

// For this layer: a whole file of at most 4 MiB, and text without white space around it.
Expected<std::string> read_small_file(const std::string& file);
std::string trimmed(std::string text);

}  // namespace tessera
