#include "role/serve/scheduling.h"

#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kReportConnections = 8;
// In seconds: decisions take microseconds.
constexpr double kDecisionBounds[] = {0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001,
                                      0.0002,   0.0005,   0.001,   0.01,    0.1};

}  // namespace

Scheduling::Scheduling(FeedTarget cluster, SchedulerOptions options, SchedulingPorts ports,
                       Log& log)
    : cluster_(cluster),
      options_(std::move(options)),
      ports_(std::move(ports)),
      trouble_(log, LogLevel::warning, "an event or a condition of a pod was not written"),
      runner_([this] { scheduler_->run(); }, options_.clock) {}

Scheduling::~Scheduling() { stop(); }

Expected<void> Scheduling::open(HttpClientOptions api) {
    api.max_connections = kReportConnections;
    TESSERA_TRY(http_, HttpClient::open(std::move(api)));
    writer_ = std::make_unique<BackgroundWriter>(
        *http_, BackgroundWriterOptions{.max_in_flight = kReportConnections,
                                        .busy = ports_.busy,
                                        .on_failed =
                                            [this](const ApiError& error) {
                                                if (error.reason != "AlreadyExists") {
                                                    trouble_.tell({{"error", error.error.message}});
                                                }
                                            },
                                        .clock = options_.clock});
    reports_ = std::make_unique<PodReports>(
        *writer_, PodReportsOptions{.clock = options_.clock, .wall = options_.wall});
    scheduler_ = std::make_unique<Scheduler>(
        cluster_, *reports_, options_,
        SchedulerPorts{.bind = ports_.bind,
                       .wake = [this](Nanoseconds delay) { runner_.wake(delay); },
                       .why_not_ready = ports_.why_not_ready});
    cluster_.mirror.tell(*scheduler_);
    return {};
}

void Scheduling::stop() {
    runner_.stop();
    if (http_ != nullptr) {
        writer_->stop();
        http_->close();
    }
}

void Scheduling::tell(Metrics& metrics) {
    metrics.pull({"tessera_queue_pods", "Pods that wait for a place, by what for."},
                 MetricKind::gauge, [this](const Metrics::Tell& tell) {
                     const SchedulerCounts counts = scheduler_->counts();
                     const auto one = [&](const char* state, std::size_t count) {
                         tell({{"state", state}}, static_cast<double>(count));
                     };
                     one("ready", counts.queue.ready);
                     one("resting", counts.queue.resting);
                     one("parked", counts.queue.parked);
                     one("binding", counts.binding);
                 });
    metrics.pull({"tessera_decisions_total", "Decisions of the scheduler by what they found."},
                 MetricKind::counter, [this](const Metrics::Tell& tell) {
                     const SchedulerCounts counts = scheduler_->counts();
                     tell({{"found", "place"}}, static_cast<double>(counts.decided));
                     tell({{"found", "none"}}, static_cast<double>(counts.parked));
                 });
    metrics.pull({"tessera_reports_total", "Events and conditions by how their writing ended."},
                 MetricKind::counter, [this](const Metrics::Tell& tell) {
                     const BackgroundWriterCounts counts = writer_->counts();
                     tell({{"end", "written"}}, static_cast<double>(counts.written));
                     tell({{"end", "failed"}}, static_cast<double>(counts.failed));
                     tell({{"end", "dropped"}}, static_cast<double>(counts.dropped));
                 });
    metrics.pull({"tessera_reports_waiting", "Events and conditions that wait to be written."},
                 MetricKind::gauge, [this](const Metrics::Tell& tell) {
                     tell({}, static_cast<double>(writer_->counts().waiting));
                 });
    metrics.pull({"tessera_reports_last_seconds", "When the last of them was written, since 1970."},
                 MetricKind::gauge, [this](const Metrics::Tell& tell) {
                     const Nanoseconds last = writer_->counts().last_written;
                     if (last != Nanoseconds(0)) {
                         const Nanoseconds ago = options_.clock() - last;
                         tell({}, static_cast<double>((options_.wall() - ago).value()) / 1e9);
                     }
                 });
    Histogram& took = metrics.histogram(
        {"tessera_decision_seconds", "Time of one decision of the scheduler."}, kDecisionBounds);
    scheduler_->on_decision = [&took](Nanoseconds time) {
        took.observe(static_cast<double>(time.value()) / 1e9);
    };
}

}  // namespace tessera
