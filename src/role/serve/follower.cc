#include "role/serve/follower.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

constexpr Nanoseconds kTick{1'000'000'000};
constexpr std::size_t kPods = 1;

FeedOptions feed_options(Log& log, std::function<void()> on_applied) {
    return {.on_unreadable =
                [&log](const Unreadable& one) {
                    log.warning("an object cannot be read",
                                {{"kind", one.kind}, {"name", one.name}, {"reason", one.reason}});
                },
            .on_applied = std::move(on_applied)};
}

}  // namespace

Follower::Follower(std::unique_ptr<HttpClient> http, FeedTarget target, ReflectorOptions reflector,
                   Log& log)
    : http_(std::move(http)),
      clock_(reflector.clock),
      feed_(target, feed_options(log, [this] { applied(); })) {
    struct Source {
        std::string_view name;
        std::string_view path;
        ObjectSink& sink;
    };
    const std::array<Source, 3> sources{{{"nodes", kNodesPath, feed_.nodes()},
                                         {"pods", kPodsPath, feed_.pods()},
                                         {"configmaps", kConfigMapsPath, feed_.config_maps()}}};
    for (std::size_t i = 0; i < sources.size(); ++i) {
        ReflectorOptions options = reflector;
        options.path = sources[i].path;
        options.seed = reflector.seed + i;
        kinds_[i] = {sources[i].name,
                     std::make_unique<Reflector>(*http_, sources[i].sink, std::move(options)),
                     std::make_unique<RepeatedLine>(log, LogLevel::warning,
                                                    "the API server cannot be followed")};
    }
}

Follower::~Follower() { stop(); }

void Follower::start(std::function<void()> tick) {
    on_tick_ = std::move(tick);
    last_tick_ = clock_().value();
    for (Kind& kind : kinds_) {
        kind.reflector->start();
    }
    http_->later(kTick, [this] { this->tick(); });
}

void Follower::stop() {
    for (Kind& kind : kinds_) {
        kind.reflector->stop();
    }
    http_->close();
}

void Follower::tick() {
    last_tick_ = clock_().value();
    for (Kind& kind : kinds_) {
        if (const std::string error = kind.reflector->last_error(); !error.empty()) {
            kind.trouble->tell({{"resource", kind.name}, {"error", error}});
        }
    }
    on_tick_();
    http_->later(kTick, [this] { this->tick(); });
}

void Follower::list_pods_anew(std::function<void()> done) {
    http_->later(Nanoseconds(0), [this, done = std::move(done)]() mutable {
        Reflector& pods = *kinds_[kPods].reflector;
        pods.stop();
        lists_wanted_ = feed_.counts().pods.lists + 1;
        on_list_ = std::move(done);
        pods.start();
    });
}

void Follower::applied() {
    if (on_list_ != nullptr && feed_.synced() && feed_.counts().pods.lists >= lists_wanted_) {
        std::exchange(on_list_, nullptr)();
    }
}

std::string Follower::why_stale() const {
    for (const Kind& kind : kinds_) {
        if (!kind.reflector->healthy()) {
            const std::string error = kind.reflector->last_error();
            return error.empty() ? fmt::format("{} have not all been listed yet", kind.name)
                                 : fmt::format("{} cannot be followed: {}", kind.name, error);
        }
    }
    return {};
}

Nanoseconds Follower::pods_heard() const { return kinds_[kPods].reflector->told_until(); }

bool Follower::current() const {
    return std::ranges::all_of(kinds_, [](const Kind& kind) { return kind.reflector->current(); });
}

void Follower::tell(Metrics& metrics) const {
    struct Figure {
        std::string_view event;
        std::uint64_t ReflectorCounts::* count;
    };
    static constexpr std::array<Figure, 13> kFigures{{{"list", &ReflectorCounts::lists},
                                                      {"page", &ReflectorCounts::pages},
                                                      {"listed", &ReflectorCounts::listed},
                                                      {"watch", &ReflectorCounts::watches},
                                                      {"event", &ReflectorCounts::events},
                                                      {"bookmark", &ReflectorCounts::bookmarks},
                                                      {"expired", &ReflectorCounts::expired},
                                                      {"throttled", &ReflectorCounts::throttled},
                                                      {"failed", &ReflectorCounts::failed},
                                                      {"refused", &ReflectorCounts::refused},
                                                      {"lost", &ReflectorCounts::lost},
                                                      {"silent", &ReflectorCounts::silent},
                                                      {"malformed", &ReflectorCounts::malformed}}};
    metrics.pull({"tessera_reflector_events_total", "What following the API server met."},
                 MetricKind::counter, [this](const Metrics::Tell& tell) {
                     for (const Kind& kind : kinds_) {
                         const ReflectorCounts counts = kind.reflector->counts();
                         for (const Figure& figure : kFigures) {
                             tell({{"resource", std::string(kind.name)},
                                   {"event", std::string(figure.event)}},
                                  static_cast<double>(counts.*figure.count));
                         }
                     }
                 });
    metrics.pull({"tessera_reflector_silence_seconds", "Time since the API server was heard of."},
                 MetricKind::gauge, [this](const Metrics::Tell& tell) {
                     for (const Kind& kind : kinds_) {
                         const Nanoseconds last = kind.reflector->last_contact();
                         if (last != Nanoseconds(0)) {
                             tell({{"resource", std::string(kind.name)}},
                                  static_cast<double>((clock_() - last).value()) / 1e9);
                         }
                     }
                 });
    metrics.pull({"tessera_unreadable_objects_total", "Objects that could not be read."},
                 MetricKind::counter, [this](const Metrics::Tell& tell) {
                     const FeedCounts counts = feed_.counts();
                     tell({{"resource", "nodes"}}, static_cast<double>(counts.nodes.unreadable));
                     tell({{"resource", "pods"}}, static_cast<double>(counts.pods.unreadable));
                     tell({{"resource", "configmaps"}},
                          static_cast<double>(counts.config_maps.unreadable));
                 });
}

}  // namespace tessera
