// The service against an API server on loopback: start, binds, faults, stop, standby, take-over.
#include "role/serve/service.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <thread>

#include "codec/test_directory.h"
#include "kube/fake_http_client.h"
#include "role/serve/fake_api.h"
#include "sim/file.h"

namespace tessera {
namespace {

using namespace tessera::testing;
using ::testing::HasSubstr;
using ::testing::Not;

// Whether it comes true; a minute is for a machine that has much else to do.
template <class Condition>
bool eventually(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

// One copy of the service, and a client of it.
class Copy {
  public:
    explicit Copy(const FakeApi& api, std::optional<LeaseOptions> election = std::nullopt,
                  HttpServerOptions server = {}, BinderOptions binder = {},
                  std::shared_ptr<LivePolicies> policies = nullptr, MirrorOptions mirror = {}) {
        ServiceOptions options{.api = {.base_url = api.url()}, .server = std::move(server)};
        options.policies = std::move(policies);
        options.policy_look = milliseconds(1);
        options.election = std::move(election);
        options.binder = std::move(binder);
        options.mirror = std::move(mirror);
        options.reflector.backoff = {milliseconds(10), milliseconds(50)};
        options.version = "1.2.3";
        auto started = Service::start(std::move(options), log_);
        EXPECT_TRUE(started) << started.error().message;
        service_ = std::move(*started);
        http_ = HttpClient::open({.base_url = url()}).value();
    }

    std::string url() const { return fmt::format("http://127.0.0.1:{}", service_->port()); }
    Service& service() { return *service_; }
    bool ready() const { return service_->why_not_ready().empty(); }
    // The status, and the body.
    std::pair<int, std::string> call(std::string method, std::string path, std::string body = "") {
        auto answer = http_->call({.method = std::move(method),
                                   .path = std::move(path),
                                   .body = std::move(body),
                                   .timeout = seconds(60)});
        return answer ? std::pair(answer->status, answer->body)
                      : std::pair(0, answer.error().message);
    }
    std::string get(std::string path) { return call("GET", std::move(path)).second; }
    std::pair<int, std::string> filter(const std::string& pod, int units, const char* node) {
        return call("POST", "/tessera/filter", names_body(gpushare_pod(pod, units), {node}));
    }
    std::pair<int, std::string> bind(const std::string& pod, const char* node) {
        return call("POST", "/gpushare-scheduler/bind", bind_body(pod, node));
    }
    std::string log() const {
        const std::lock_guard lock(mutex_);
        return lines_;
    }

  private:
    mutable std::mutex mutex_;
    std::string lines_;
    Log log_{{.level = LogLevel::debug, .sink = [this](std::string_view line) {
                  const std::lock_guard lock(mutex_);
                  lines_ += std::string(line) + '\n';
              }}};
    std::unique_ptr<Service> service_;
    std::unique_ptr<HttpClient> http_;
};

// For the Lease time stands still: it changes hands when it is given back or taken, and is not lost
// by a machine that is slow.
LeaseOptions quick_lease(const std::string& who) {
    return {.space = "kube-system",
            .name = "l",
            .identity = who,
            .duration = seconds(3),
            .renew_deadline = seconds(2),
            .retry = milliseconds(200),
            .clock = [] { return seconds(1000); }};
}

class ServiceTest : public ::testing::Test {
  protected:
    ServiceTest() {
        api_.put_node("gpu-a", gpushare_node("gpu-a", 16, 1));
        api_.put_pod("p", 8);
        api_.put_pod("q", 16);
    }
    FakeApi api_;
};

TEST_F(ServiceTest, FollowsDecidesAndBinds) {
    Copy copy(api_);
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    EXPECT_EQ(copy.call("GET", "/readyz").first, 200);
    EXPECT_EQ(copy.get("/version"), "1.2.3\n");
    EXPECT_THAT(copy.filter("p", 8, "gpu-a").second, HasSubstr(R"("NodeNames":["gpu-a"])"));
    EXPECT_EQ(copy.bind("p", "gpu-a"), std::pair(200, std::string(R"({"Error":""})")));
    EXPECT_EQ(api_.node_of("p"), "gpu-a");
    EXPECT_THAT(api_.annotations_of("p"), HasSubstr("tessera.dev/placement"));
    EXPECT_THAT(api_.annotations_of("p"), HasSubstr("ALIYUN_COM_GPU_MEM_IDX"));
    // The fake API answers a watch with its first event, so that until then the view counts as old.
    EXPECT_THAT(copy.filter("q", 16, "gpu-a").second, HasSubstr("is being read again"));

    const std::string metrics = copy.get("/metrics");
    for (const char* line :
         {"tessera_nodes 1", "tessera_gpus 1", R"(tessera_gpu_memory_mib{part="total"} 16384)",
          R"(tessera_gpu_memory_mib{part="allocated"} 8192)",
          R"(tessera_binds_total{end="bound"} 1)", R"(tessera_pods{kind="placed"} 1)",
          "tessera_ready 1", "tessera_gpus_over_committed 0"}) {
        EXPECT_THAT(metrics, HasSubstr(std::string(line) + "\n"));
    }
    EXPECT_THAT(metrics,
                HasSubstr(R"(tessera_http_requests_total{route="/gpushare-scheduler/bind",)"
                          R"(code="200"} 1)"));
    EXPECT_THAT(
        metrics,
        HasSubstr(R"(tessera_http_request_seconds_count{route="/gpushare-scheduler/bind"} 1)"));
    EXPECT_THAT(metrics, Not(HasSubstr("/scheduler/priorities")));
    EXPECT_THAT(metrics,
                HasSubstr(R"(tessera_reflector_events_total{resource="pods",event="list"} 1)"));
    EXPECT_THAT(copy.log(), HasSubstr("pod bound"));
}

TEST_F(ServiceTest, WaitsForAnApiServerThatIsAway) {
    api_.fail_with(503);
    Copy copy(api_);
    EXPECT_TRUE(eventually([&] { return copy.log().find("cannot be followed") < SIZE_MAX; }));
    EXPECT_EQ(copy.call("GET", "/healthz").first, 200);
    const auto [status, text] = copy.call("GET", "/readyz");
    EXPECT_EQ(status, 503);
    EXPECT_THAT(text, HasSubstr("no cluster: "));
    EXPECT_EQ(copy.filter("p", 8, "gpu-a").first, 503);
    api_.fail_with(0);
    EXPECT_TRUE(eventually([&] { return copy.ready(); }));
}

TEST_F(ServiceTest, ObjectsThatCannotBeReadStopNothing) {
    api_.put(std::string(kPodsPath), "bad", R"({"metadata":{"name":"bad","uid":7},"spec":[]})");
    api_.put_node("worse", R"({"metadata":{"name":"worse"},"status":{"capacity":{"cpu":"x"}}})");
    api_.put(std::string(kConfigMapsPath), "unhealthy-gpu-gpu-a",
             R"({"metadata":{"name":"unhealthy-gpu-gpu-a","namespace":"kube-system"},"data":3})");
    Copy copy(api_);
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    api_.put(std::string(kPodsPath), "late",
             R"({"metadata":{"name":"late"},"spec":{"containers":"x"}})");
    api_.put_pod("good", 1);
    ASSERT_TRUE(eventually([&] { return copy.log().find("name=late") < SIZE_MAX; }));
    EXPECT_THAT(copy.filter("p", 8, "gpu-a").second, HasSubstr(R"("NodeNames":["gpu-a"])"));
    const std::string metrics = copy.get("/metrics");
    EXPECT_THAT(metrics, HasSubstr(R"(tessera_unreadable_objects_total{resource="pods"} 2)"));
    EXPECT_THAT(metrics, HasSubstr(R"(tessera_unreadable_objects_total{resource="nodes"} 1)"));
    EXPECT_THAT(metrics, HasSubstr(R"(tessera_unreadable_objects_total{resource="configmaps"} 1)"));
}

TEST_F(ServiceTest, AStopLetsBindsEnd) {
    Copy copy(api_);
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    copy.filter("p", 8, "gpu-a");
    api_.hold_binds(true);
    auto bound = std::async(std::launch::async, [&] { return copy.bind("p", "gpu-a"); });
    ASSERT_TRUE(eventually([&] { return api_.binds_waiting() == 1; }));
    auto stopped = std::async(std::launch::async, [&] { return copy.service().stop(seconds(60)); });
    ASSERT_TRUE(eventually([&] { return !copy.ready(); }));
    EXPECT_THAT(copy.service().why_not_ready(), HasSubstr("about to stop"));
    api_.hold_binds(false);
    EXPECT_EQ(bound.get().first, 200);
    EXPECT_TRUE(stopped.get());
    EXPECT_EQ(api_.node_of("p"), "gpu-a");
    EXPECT_EQ(copy.call("GET", "/healthz").first, 0);
}

TEST_F(ServiceTest, AStopHasAnEnd) {
    Copy copy(api_);
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    copy.filter("p", 8, "gpu-a");
    api_.hold_binds(true);
    auto bound = std::async(std::launch::async, [&] { return copy.bind("p", "gpu-a"); });
    ASSERT_TRUE(eventually([&] { return api_.binds_waiting() == 1; }));
    EXPECT_FALSE(copy.service().stop(milliseconds(50)));
    EXPECT_NE(bound.get().first, 200);
    api_.hold_binds(false);
}

TEST_F(ServiceTest, APortThatIsTakenIsSaid) {
    Copy copy(api_);
    Log quiet({.level = LogLevel::off});
    const auto second = Service::start(
        {.api = {.base_url = api_.url()}, .server = {.port = copy.service().port()}}, quiet);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::environment);
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(copy.service().port())));
}

TEST_F(ServiceTest, AStandbyIsWarmAndDoesNotDecide) {
    Copy leader(api_, quick_lease("first"));
    ASSERT_TRUE(eventually([&] { return leader.ready(); }));
    Copy standby(api_, quick_lease("second"));
    ASSERT_TRUE(eventually(
        [&] { return standby.service().why_not_ready().find("the leader is first") < SIZE_MAX; }));
    EXPECT_EQ(standby.filter("p", 8, "gpu-a").first, 503);
    EXPECT_EQ(standby.call("GET", "/readyz").first, 503);
    EXPECT_EQ(standby.call("GET", "/healthz").first, 200);
    EXPECT_THAT(standby.get("/tessera/inspect"), HasSubstr("gpu-a"));  // reading is no deciding
    EXPECT_THAT(standby.get("/metrics"), HasSubstr("tessera_leader 0\n"));
    EXPECT_THAT(leader.get("/metrics"), HasSubstr("tessera_leader 1\n"));
    EXPECT_EQ(leader.filter("p", 8, "gpu-a").first, 200);
}

// The old leader's last bind is one that the watch of the new one has not told.
TEST_F(ServiceTest, ANewLeaderListsPodsBeforeItDecides) {
    Copy first(api_, quick_lease("first"));
    ASSERT_TRUE(eventually([&] { return first.ready(); }));
    Copy second(api_, quick_lease("second"));
    ASSERT_TRUE(eventually(
        [&] { return second.service().why_not_ready().find("the leader is first") < SIZE_MAX; }));
    api_.freeze_watches(true);
    first.filter("p", 8, "gpu-a");
    ASSERT_EQ(first.bind("p", "gpu-a").first, 200);
    api_.hold_pod_lists(true);
    const int lists = api_.pod_lists();
    ASSERT_TRUE(first.service().stop(seconds(60)));  // gives the Lease back
    EXPECT_NE(api_.lease_holder(), "first");
    ASSERT_TRUE(eventually([&] { return api_.pod_lists() == lists + 1; }));
    EXPECT_THAT(second.service().why_not_ready(), HasSubstr("lists all pods first"));
    EXPECT_EQ(second.filter("q", 16, "gpu-a").first, 503);
    api_.hold_pod_lists(false);
    ASSERT_TRUE(eventually([&] { return second.ready(); }));
    EXPECT_THAT(second.filter("q", 16, "gpu-a").second, HasSubstr("is being read again"))
        << "it does not fit, and the watch is frozen";
}

TEST_F(ServiceTest, APolicyFileThatBreaksIsToldOfAndCounted) {
    const TestDirectory directory;
    const std::string path = directory.file("mine.yaml");
    ASSERT_TRUE(write_file(path, "name: mine\nscores:\n- {name: binpack}\n"));
    auto policies = std::make_shared<LivePolicies>();
    ASSERT_TRUE(policies->add(path));
    Copy copy(api_, {}, {}, {}, policies);
    ASSERT_TRUE(write_file(path, "name: mine\nscores:\n- {name: spraed}\n# a word\n"));
    EXPECT_TRUE(eventually(
        [&] { return copy.get("/metrics").find("tessera_policy_files_refused 1\n") < SIZE_MAX; }));
    EXPECT_TRUE(eventually([&] { return copy.log().find("mine.yaml:3: score") < SIZE_MAX; }));
    ASSERT_TRUE(write_file(path, "name: mine\nscores:\n- {name: spread}\n"));
    EXPECT_TRUE(eventually([&] {
        return copy.log().find("another policy is in force") < SIZE_MAX &&
               copy.get("/metrics").find("tessera_policy_files_refused 0\n") < SIZE_MAX;
    }));
}

BinderOptions impatient() {
    BinderOptions options;
    options.deadline = milliseconds(300);
    options.call_timeout = milliseconds(100);
    return options;
}

// What the watch tells first after a gap may be followed by news of the very pod.
TEST_F(ServiceTest, AShareInDoubtStaysUntilAllHasBeenTold) {
    const TestDirectory directory;
    const std::string path = directory.file("mine.yaml");
    ASSERT_TRUE(write_file(path, "name: mine\nscores:\n- {name: binpack}\n"));
    auto policies = std::make_shared<LivePolicies>();
    ASSERT_TRUE(policies->add(path));
    MirrorOptions mirror;
    mirror.doubt_for = Nanoseconds(0);
    Copy copy(api_, {}, {}, impatient(), policies, std::move(mirror));
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    copy.filter("p", 8, "gpu-a");
    api_.hold_binds(true);
    EXPECT_EQ(copy.bind("p", "gpu-a").first, 500);
    api_.put_pod("r", 1);
    const auto metrics_have = [&](const char* line) {
        return copy.get("/metrics").find(line) < SIZE_MAX;
    };
    ASSERT_TRUE(eventually([&] {
        return metrics_have(R"(tessera_reflector_events_total{resource="pods",event="event"} 1)");
    }));
    // Ends of shares are looked for before changed files: after the second one at least once.
    for (const char* score : {"spread", "binpack"}) {
        const std::size_t seen = copy.log().size();
        ASSERT_TRUE(write_file(path, fmt::format("name: mine\nscores:\n- {{name: {}}}\n", score)));
        ASSERT_TRUE(eventually(
            [&] { return copy.log().find("another policy is in force", seen) < SIZE_MAX; }));
    }
    EXPECT_TRUE(metrics_have("tessera_holds_expired_total 0\n"));
    EXPECT_TRUE(eventually([&] {
        api_.bookmark();
        return metrics_have("tessera_holds_expired_total 1\n");
    }));
}

// Its write may still arrive: the next leader must not decide before it can have.
TEST_F(ServiceTest, ALeaderThatDoesNotKnowABindsEndKeepsTheLease) {
    Copy copy(api_, quick_lease("first"), {}, impatient());
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    copy.filter("p", 8, "gpu-a");
    api_.hold_binds(true);
    EXPECT_EQ(copy.bind("p", "gpu-a").first, 500);
    EXPECT_THAT(copy.get("/metrics"),
                HasSubstr(R"(tessera_bind_steps_total{write="binding",step="unknown"} 1)"));
    EXPECT_TRUE(copy.service().stop(seconds(60)));
    EXPECT_EQ(api_.lease_holder(), "first");
    api_.hold_binds(false);
}

TEST_F(ServiceTest, WhoLosesTheLeaseStopsAtOnce) {
    Copy copy(api_, quick_lease("first"));
    ASSERT_TRUE(eventually([&] { return copy.ready(); }));
    api_.put_pod("r", 8);
    copy.filter("p", 8, "gpu-a");
    copy.filter("r", 8, "gpu-a");
    api_.hold_binds(true);
    auto bound = std::async(std::launch::async, [&] { return copy.bind("p", "gpu-a"); });
    ASSERT_TRUE(eventually([&] { return api_.binds_waiting() == 1; }));
    api_.take_lease("other");
    ASSERT_TRUE(eventually([&] { return !copy.ready(); }));
    const auto [status, text] = bound.get();  // cut off: nobody knows whether it was made
    EXPECT_EQ(status, 500);
    EXPECT_THAT(text, Not(HasSubstr(R"("Error":"")")));
    EXPECT_EQ(copy.filter("q", 16, "gpu-a").first, 503);
    // Nothing is held for decisions that are another's now, but for the bind that may yet be made.
    EXPECT_TRUE(eventually(
        [&] { return copy.get("/metrics").find("tessera_pods{kind=\"held\"} 1\n") < SIZE_MAX; }));
    api_.hold_binds(false);
}

}  // namespace
}  // namespace tessera
