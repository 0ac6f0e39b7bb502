// Paths of the Kubernetes API.
//
//   ObjectPath{.resource = "pods", .space = "default", .name = "a", .sub = "binding"}.text();
//   // /api/v1/namespaces/default/pods/a/binding
//   with_query("/api/v1/pods", {{"limit", "500"}, {"continue", token}});
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace tessera {

struct ObjectPath {
    std::string_view group = "v1";  // "v1", or "coordination.k8s.io/v1"
    std::string_view resource;
    std::string_view space{};  // empty: the cluster, or all namespaces
    std::string_view name{};   // empty: all of them
    std::string_view sub{};

    std::string text() const;
};

// Parameters with an empty value are left out.
std::string with_query(
    std::string_view path,
    std::initializer_list<std::pair<std::string_view, std::string_view>> parameters);

// Everything but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace tessera
