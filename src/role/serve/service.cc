#include "role/serve/service.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "role/extender/extender.h"
#include "role/serve/bind_line.h"
#include "role/serve/cluster_metrics.h"
#include "role/serve/follower.h"
#include "role/serve/leadership.h"
#include "role/serve/request_meter.h"
#include "role/serve/scheduling.h"
#include "telemetry/metrics.h"
#include "telemetry/readiness.h"

namespace tessera {
namespace {

// Three watches and their lists.
constexpr std::size_t kFollowConnections = 8;
// A page of a list; a larger one is asked for in parts. Three at a time, and what is made of them,
// are to fit the memory that deploy/ allows.
constexpr std::size_t kPageBytesMost = std::size_t{64} << 20;
constexpr std::size_t kLeaseConnections = 2;
// A thread that follows and has not been heard of for so long hangs: better to be started again.
constexpr Nanoseconds kStalled{120'000'000'000};
constexpr Nanoseconds kReleasePatience{2'000'000'000};

Expected<std::unique_ptr<HttpClient>> open_client(HttpClientOptions api, std::size_t connections) {
    api.max_connections = connections;
    return HttpClient::open(std::move(api));
}

// Probes come from the kubelet, which shows no certificate.
bool is_probe(std::string_view path) {
    return path == "/healthz" || path == "/readyz" || path == "/tessera/healthz" ||
           path == "/tessera/readyz";
}

HttpResponse plain(int status, std::string text) {
    return {.status = status, .body = std::move(text), .content_type = "text/plain; charset=utf-8"};
}

class RunningService final : public Service {
  public:
    RunningService(ServiceOptions options, Log& log)
        : options_(std::move(options)),
          log_(log),
          mirror_(mirror_options()),
          meter_(metrics_, options_.clock,
                 [&log](const Answered& one) {
                     log.debug("answered", {{"route", one.route},
                                            {"status", one.status},
                                            {"us", one.took.value() / 1000}});
                 }),
          figures_(metrics_),
          binds_(options_.api, binder_options(), log),
          extender_(mirror_, mutex_, ports()) {}
    ~RunningService() override { stop(Nanoseconds(0)); }

    Expected<void> open() {
        HttpClientOptions follow_api = options_.api;
        follow_api.max_body_bytes = std::min(follow_api.max_body_bytes, kPageBytesMost);
        TESSERA_TRY(auto follow, open_client(std::move(follow_api), kFollowConnections));
        options_.reflector.seed = options_.seed;
        options_.reflector.clock = options_.clock;
        follower_ = std::make_unique<Follower>(std::move(follow), FeedTarget{mirror_, mutex_},
                                               options_.reflector, log_);
        if (options_.election) {
            TESSERA_TRY(lease_http_, open_client(options_.api, kLeaseConnections));
            leadership_ = std::make_unique<Leadership>(*lease_http_, *options_.election,
                                                       leadership_ports(), log_);
        } else {
            TESSERA_CHECK(binds_.open());
        }
        if (options_.scheduler) {
            TESSERA_CHECK(open_scheduler());
        }
        add_conditions();
        add_metrics();
        // Before the server, whose threads answer at once and ask how it is.
        follower_->start([this] { tick(); });
        HttpServerOptions server = options_.server;
        server.on_warning = [this](const std::string& text) { log_.warning(text); };
        // Asked for, and demanded by handle(): the kubelet's probes have none.
        server.tls.client_certificate_required = false;
        TESSERA_TRY(server_, HttpServer::start(
                                 std::move(server),
                                 meter_.around([this](HttpRequest& request, Responder respond) {
                                     handle(request, std::move(respond));
                                 })));
        add_server_metrics();
        if (leadership_ != nullptr) {
            leadership_->start();
        }
        return {};
    }

    std::uint16_t port() const override { return server_->port(); }

    std::string why_not_ready() const override { return ready_.why_not(); }

    bool stop(Nanoseconds patience) override {
        if (std::exchange(stopped_, true)) {
            return true;
        }
        stopping_ = true;
        if (scheduling_ != nullptr) {
            scheduling_->stop();
        }
        const Nanoseconds end = options_.clock() + patience;
        const auto left = [&] { return std::max(Nanoseconds(0), end - options_.clock()); };
        bool whole = server_ == nullptr || server_->stop(left());
        const bool drained = binds_.drain(left());
        whole = whole && drained;
        if (leadership_ != nullptr && drained && patience > Nanoseconds(0) && !any_in_doubt()) {
            // Others wait until the Lease runs out otherwise, which is safe: a write of ours whose
            // answer was lost may still arrive, and must not meet another's decision.
            whole = leadership_->release(std::max(left(), kReleasePatience)) && whole;
        }
        if (lease_http_ != nullptr) {
            lease_http_->close();
        }
        binds_.cut();
        if (follower_ != nullptr) {
            follower_->stop();
        }
        return whole;
    }

  private:
    Expected<void> open_scheduler() {
        SchedulerOptions options = *options_.scheduler;
        options.clock = options_.clock;
        options.wall = options_.wall;
        scheduling_ = std::make_unique<Scheduling>(
            FeedTarget{mirror_, mutex_}, std::move(options),
            SchedulingPorts{.bind = ports().bind,
                            .why_not_ready = [this] { return why_not_ready(); },
                            .busy = [this] { return binds_.counts().in_flight > 0; }},
            log_);
        TESSERA_CHECK(scheduling_->open(options_.api));
        scheduling_->tell(metrics_);
        scheduling_->start();
        return {};
    }
    MirrorOptions mirror_options() {
        options_.mirror.wall = options_.wall;
        options_.mirror.neighbours = options_.scheduler.has_value();
        if (options_.policies != nullptr) {
            options_.mirror.make_policy = [policies = options_.policies](std::string_view name) {
                return policies->make(name);
            };
        }
        return std::move(options_.mirror);
    }
    BinderOptions binder_options() {
        BinderOptions binder = options_.binder;
        binder.may_write = [this] { return leadership_ == nullptr || leadership_->deciding(); };
        binder.journal = [this](const BindRequest& request, const JournalEntry& entry) {
            metrics_
                .counter({"tessera_bind_steps_total", "Writes of binds by how they ended."},
                         {{"write", std::string(entry.write)},
                          {"step", std::string(step_name(entry.step))}})
                .add();
            log_.debug("step of a bind", {{"pod", request.space + '/' + request.name},
                                          {"uid", request.uid},
                                          {"node", request.node},
                                          {"write", entry.write},
                                          {"step", step_name(entry.step)},
                                          {"message", entry.message}});
        };
        return binder;
    }
    ExtenderPorts ports() {
        return {.now = options_.clock,
                .bind =
                    [this](BindPlan plan, std::function<void(WriteOutcome)> done) {
                        binds_.bind(std::move(plan), std::move(done));
                    },
                .why_not_ready = [this] { return why_not_ready(); },
                .metrics = [this] { return metrics_text(); },
                .version = options_.version,
                .current = [this] { return follower_->current(); }};
    }
    LeadershipPorts leadership_ports() {
        return {
            .catch_up =
                [this](std::function<void()> done) { follower_->list_pods_anew(std::move(done)); },
            .gained =
                [this] {
                    if (const auto open = binds_.open(); !open) {
                        log_.error("pods cannot be bound", {{"error", open.error().message}});
                    }
                },
            .lost =
                [this] {
                    binds_.cut();
                    drop_holds();
                }};
    }

    void add_conditions() {
        ready_.watch("running",
                     [this] { return std::string(stopping_ ? "this copy is about to stop" : ""); });
        ready_.watch("cluster", [this] {
            return std::string(follower_->synced() ? ""
                                                   : "nodes and pods have not all been listed yet");
        });
        ready_.watch("api", [this] { return follower_->why_stale(); });
        if (leadership_ != nullptr) {
            ready_.watch("leader", [this] { return leadership_->why_not(); });
        }
    }

    void add_metrics() {
        follower_->tell(metrics_);
        if (leadership_ != nullptr) {
            leadership_->tell(metrics_);
        }
        metrics_.pull({"tessera_binds_total", "Binds by their end."}, MetricKind::counter,
                      [this](const Metrics::Tell& tell) {
                          const BinderCounts counts = binds_.counts();
                          tell({{"end", "bound"}}, static_cast<double>(counts.bound));
                          tell({{"end", "refused"}}, static_cast<double>(counts.refused));
                          tell({{"end", "unknown"}}, static_cast<double>(counts.unknown));
                      });
        metrics_.pull({"tessera_binds_in_flight", "Binds under way, and waiting for their turn."},
                      MetricKind::gauge, [this](const Metrics::Tell& tell) {
                          const BinderCounts counts = binds_.counts();
                          tell({{"part", "running"}}, static_cast<double>(counts.in_flight));
                          tell({{"part", "waiting"}}, static_cast<double>(counts.waiting));
                      });
        metrics_.pull({"tessera_policy_files_refused",
                       "Policy files whose last change is not in force, for an error in them."},
                      MetricKind::gauge, [this](const Metrics::Tell& tell) {
                          tell({}, options_.policies == nullptr
                                       ? 0
                                       : static_cast<double>(options_.policies->refused()));
                      });
        metrics_.pull({"tessera_ready", "1 while this copy decides."}, MetricKind::gauge,
                      [this](const Metrics::Tell& tell) { tell({}, ready_.ready() ? 1 : 0); });
    }
    void add_server_metrics() {
        metrics_.pull({"tessera_http_connections", "Open connections."}, MetricKind::gauge,
                      [this](const Metrics::Tell& tell) {
                          tell({}, static_cast<double>(server_->counts().open));
                      });
        metrics_.pull({"tessera_http_refused_total", "Requests malformed, too large or too slow."},
                      MetricKind::counter, [this](const Metrics::Tell& tell) {
                          tell({}, static_cast<double>(server_->counts().refused));
                      });
    }

    std::string metrics_text() {
        {
            const std::lock_guard lock(mutex_);
            figures_.read(mirror_);
        }
        return metrics_.text();
    }

    void handle(HttpRequest& request, Responder respond) {
        const bool certificates = !options_.server.tls.client_ca_file.empty();
        if (certificates && request.peer.empty() && !is_probe(request.path)) {
            respond(plain(403, "a client certificate is needed here\n"));
        } else if (request.path == "/healthz" && stalled()) {
            respond(plain(500, "the thread that follows the cluster hangs\n"));
        } else if (request.path == "/readyz") {
            Readiness::Answer answer = ready_.answer();
            respond(plain(answer.ready ? 200 : 503, std::move(answer.text)));
        } else if (!options_.extender && Extender::decides(request.path)) {
            respond(plain(404, "this copy runs without --extender\n"));
        } else {
            extender_.handle(request, std::move(respond));
        }
    }
    bool stalled() const { return options_.clock() - follower_->last_tick() > kStalled; }

    // On the follower's thread, about every second.
    void tick() {
        std::vector<std::string> notes;
        std::uint64_t ended = 0;
        {
            const std::lock_guard lock(mutex_);
            mirror_.expire(options_.clock(), follower_->pods_heard());
            ended = mirror_.expired_count();  // a request may have been first to see it
            ended -= std::exchange(expired_, ended);
            notes = mirror_.take_notes();
        }
        if (ended > 0) {
            log_.info("shares that were held have not been bound and are free again",
                      {{"pods", ended}});
        }
        for (const std::string& note : notes) {
            log_.warning(note);
        }
        look_at_policies();
        tell_ready();
        if (scheduling_ != nullptr) {
            scheduling_->wake();  // it may lead now, or somebody has waited for too long
        }
    }
    void look_at_policies() {
        if (options_.policies == nullptr || options_.clock() < look_at_policies_at_) {
            return;
        }
        look_at_policies_at_ = options_.clock() + options_.policy_look;
        for (const LivePolicies::Change& change : options_.policies->look()) {
            if (change.refused) {
                log_.error("a policy file was changed and is not good; the last good one stays",
                           {{"file", change.file}, {"error", change.refused->message}});
                continue;
            }
            {
                const std::lock_guard lock(mutex_);
                mirror_.policy_changed(change.file);
            }
            log_.info("another policy is in force", {{"file", change.file}});
        }
    }
    void tell_ready() {
        const std::string why = why_not_ready();
        if (why == last_why_) {
            return;
        }
        if (!why.empty()) {
            log_.info("not ready", {{"reason", why}});
        } else {
            const std::lock_guard lock(mutex_);
            log_.info("ready", {{"nodes", mirror_.node_count()}, {"pods", mirror_.pod_count()}});
        }
        last_why_ = why;
    }

    bool any_in_doubt() {
        const std::lock_guard lock(mutex_);
        return mirror_.in_doubt_count() > 0;
    }

    // What nobody may bind any more. A write of ours may still arrive, after the next term's list,
    // too: shares in doubt stay.
    void drop_holds() {
        const std::lock_guard lock(mutex_);
        mirror_.drop_holds();
    }

    ServiceOptions options_;
    Log& log_;
    std::mutex mutex_;  // of the mirror
    Mirror mirror_;
    Metrics metrics_;
    RequestMeter meter_;
    ClusterMetrics figures_;
    Readiness ready_;
    std::atomic<bool> stopping_ = false;
    bool stopped_ = false;
    std::string last_why_;               // of the follower's thread
    std::uint64_t expired_ = 0;          // the same: holds by the last tick
    Nanoseconds look_at_policies_at_{};  // the same
    BindLine binds_;
    Extender extender_;
    std::unique_ptr<Scheduling> scheduling_;
    std::unique_ptr<Follower> follower_;
    std::unique_ptr<HttpClient> lease_http_;
    std::unique_ptr<Leadership> leadership_;
    std::unique_ptr<HttpServer> server_;
};

}  // namespace

Expected<std::unique_ptr<Service>> Service::start(ServiceOptions options, Log& log) {
    auto service = std::make_unique<RunningService>(std::move(options), log);
    TESSERA_CHECK(service->open());
    return service;
}

}  // namespace tessera
