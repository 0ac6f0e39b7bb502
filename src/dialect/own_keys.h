// Our own keys, tessera.dev/..., as annotations or labels of a pod.
//
// The native dialect asks with some of them (native.cc). The others say more about a demand in any
// vocabulary: which models, what class, which gang, which application profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dialect/dialect.h"

namespace tessera {

inline constexpr std::string_view kOwnPrefix = "tessera.dev/";
inline constexpr std::string_view kOwnGpus = "tessera.dev/gpu";  // the resource
inline constexpr std::string_view kOwnMilli = "tessera.dev/gpu-milli";
inline constexpr std::string_view kOwnLimitMilli = "tessera.dev/gpu-limit-milli";
inline constexpr std::string_view kOwnMemoryMib = "tessera.dev/gpu-memory-mib";
inline constexpr std::string_view kOwnPlacement = "tessera.dev/placement";
inline constexpr std::string_view kOwnSignature = "tessera.dev/placement-signature";
inline constexpr std::string_view kOwnGpuList = "tessera.dev/gpus";

// The value of a key, from the annotations or the labels. An error when they differ.
Expected<std::optional<std::string_view>> own_value(const Pod& pod, std::string_view key);

// Refuses keys and resources of ours that do not exist, and per-container keys ("KEY.NAME") of
// containers that do not exist: a misspelt wish is not a wish for nothing.
Expected<void> check_own_keys(const Pod& pod);

// Adds what gpu-model, class, priority, group, app and isolation say.
Expected<void> apply_own_keys(const Pod& pod, DialectContext& context, PodDemand& asked);

}  // namespace tessera
