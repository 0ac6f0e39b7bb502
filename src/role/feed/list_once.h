// Lists all objects of one kind once, page by page, for commands that look and go.
//
//   ApiClient api(*http, boot_time_now, seed);
//   TESSERA_CHECK(list_once(api, kPodsPath, feed.pods()));
#pragma once

#include <string_view>

#include "base/error.h"
#include "kube/api_client.h"
#include "kube/object_sink.h"

namespace tessera {

// Waits. A list that grew too old on the way (410) is begun once more.
Expected<void> list_once(ApiClient& api, std::string_view path, ObjectSink& sink);

}  // namespace tessera
