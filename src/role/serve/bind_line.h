// The line to the API server on which pods are bound: a client of its own and the binder on it.
//
//   BindLine line(api, {});
//   TESSERA_CHECK(line.open());
//   line.bind(plan, done);
//   line.cut();                       // the Lease is lost: what is under way ends as unknown
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "kube/binder.h"
#include "net/http_client.h"
#include "role/extender/extender.h"
#include "telemetry/log.h"

namespace tessera {

class BindLine {
  public:
    BindLine(HttpClientOptions api, BinderOptions options, Log& log);
    ~BindLine();  // cuts
    BindLine(const BindLine&) = delete;
    BindLine& operator=(const BindLine&) = delete;

    // Nothing happens if it is open.
    Expected<void> open();
    // Refused when the line is not open; unknown, when an earlier bind of the pod may still be
    // made.
    void bind(BindPlan plan, std::function<void(WriteOutcome)> done);
    // Nothing is sent any more when it returns, and every bind has been told its end. Not from a
    // bind's own end, nor while holding what those wait for.
    void cut();
    // Takes no new binds and waits for those under way; false when some still run.
    bool drain(Nanoseconds patience);

    // Since the start, over all lines.
    BinderCounts counts() const;

  private:
    struct Side {
        std::unique_ptr<HttpClient> http;
        std::unique_ptr<Binder> binder;
    };

    std::shared_ptr<Side> side() const;

    const HttpClientOptions api_;
    const BinderOptions options_;
    Log& log_;
    RepeatedLine failures_;
    mutable std::mutex mutex_;
    std::shared_ptr<Side> side_;
    BinderCounts before_;  // of lines that were cut
};

}  // namespace tessera
