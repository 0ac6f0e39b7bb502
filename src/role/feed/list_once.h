// Lists all objects of one kind once, page by page, for commands that look and go.
//
//   ApiClient api(*http, boot_time_now, seed);
//   const auto call = [&](ApiCall one) { return api.call(std::move(one)); };
//   TESSERA_CHECK(list_once(call, kPodsPath, feed.pods()));
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/function_ref.h"
#include "kube/api_client.h"
#include "kube/object_sink.h"

namespace tessera {

// Makes a call and waits for its answer.
using CallApi = FunctionRef<ApiResult<std::string>(ApiCall)>;

// A list that grew too old on the way (410) is begun once more.
Expected<void> list_once(const CallApi& call, std::string_view path, ObjectSink& sink);

}  // namespace tessera
