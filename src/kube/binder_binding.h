// The write that binds a pod: POST of a Binding, and a look at the pod whenever the answer leaves a
// doubt. For kube/binder.cc; users call Binder.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/rng.h"
#include "kube/api_client.h"
#include "kube/binder.h"

namespace tessera {

// What all binds of a binder share.
struct BindingTools {
    BindingTools(HttpClient& client, const BinderOptions& options)
        : http(client),
          api(client, options.clock, options.seed),
          clock(options.clock),
          call_timeout(options.call_timeout),
          backoff(options.backoff),
          may_write(options.may_write),
          rng(options.seed) {}

    HttpClient& http;
    ApiClient api;
    const Clock clock;
    const Nanoseconds call_timeout;
    const BackoffRange backoff;
    const std::function<bool()> may_write;  // empty: always
    Rng rng;                                // used on the client's thread
    std::atomic<std::uint64_t> looked = 0;
};

// The Binding, with the uid as precondition.
std::string binding_json(const BindRequest& request);

// Has no undo: a pod cannot be unbound. `touched`: an earlier bind of the pod ended unknown, and
// may still be carried out.
Write binding_write(std::shared_ptr<BindingTools> tools, std::shared_ptr<const BindRequest> request,
                    bool touched);

}  // namespace tessera
