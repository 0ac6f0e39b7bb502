// tessera serve and tessera inspect as people run them.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "codec/test_directory.h"
#include "net/http_client.h"
#include "role/cli/inspect_text.h"
#include "role/cli/serve_flags.h"
#include "role/cli/test_command.h"
#include "role/serve/fake_api.h"

namespace tessera::cli {
namespace {

using namespace tessera::testing;
using ::testing::HasSubstr;
using ::testing::Not;

std::string write_text(const TestDirectory& directory, const std::string& name,
                       const std::string& text) {
    std::ofstream(directory.file(name)) << text;
    return directory.file(name);
}

std::string kubeconfig(const TestDirectory& directory, const std::string& server) {
    return write_text(directory, "kubeconfig",
                      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                      "clusters: [{name: c, cluster: {server: '" +
                          server +
                          "'}}]\nusers: [{name: u, user: {token: t}}]\n"
                          "contexts: [{name: c, context: {cluster: c, user: u}}]\n");
}

TEST(ServeCommand, WrongUseSaysTheNextStep) {
    const TestDirectory files;
    const std::string config = kubeconfig(files, "http://127.0.0.1:1");
    const std::string empty = write_text(files, "empty", "");
    const std::string brief = write_text(files, "short", "secret\n");
    struct Case {
        std::vector<std::string> flags;
        int code;
        std::string said;
    };
    const Case cases[] = {
        {{}, kExitUse, "which door? --extender"},
        {{"--extendr"}, kExitUse, "did you mean --extender?"},
        {{"--extender", "--kubeconfig", "no/such"}, kExitEnvironment, "no/such: cannot be read"},
        {{"--extender", "--kubeconfig", empty}, kExitUse, empty},
        {{"--extender", "--kubeconfig", config, "--context", "x"}, kExitUse, "\"x\""},
        {{"--extender", "--listen", "here"}, kExitUse, "--listen: \"here\" is not accepted; 127."},
        {{"--extender", "--listen", "::1:80"}, kExitUse, "[::1]:39999"},
        {{"--extender", "--listen", "127.0.0.1:70000"}, kExitUse, "--listen"},
        {{"--extender", "--tls-cert", "x"}, kExitUse, "--tls-key"},
        {{"--extender", "--client-ca", "x"}, kExitUse, "--tls-cert"},
        {{"--extender", "--signing-key-file", "no/such"}, kExitEnvironment, "no/such"},
        {{"--extender", "--signing-key-file", empty}, kExitUse, empty},
        {{"--extender", "--signing-key-file", brief}, kExitUse, "16"},
        {{"--extender", "--policy", "gpushare"}, kExitUse, "DIALECT=POLICY"},
        {{"--extender", "--policy", "gpusare=binpack"}, kExitUse, "did you mean gpushare?"},
        {{"--extender", "--policy", "gpushare=binpak"}, kExitUse, "did you mean binpack?"},
        {{"--extender", "--policy", "gpushare=no/such.yaml"}, kExitEnvironment, "no/such.yaml"},
        {{"--extender", "--policy", "gpushare=binpack", "--policy", "gpushare=spread"},
         kExitUse,
         "gpushare is there more than once"},
        {{"--extender", "--gpushare-unit", "MB"}, kExitUse, "MiB"},
        {{"--extender", "--hold-for", "20"}, kExitUse, "--hold-for: \"20\" is not accepted"},
        {{"--extender", "--hold-for", "-1s"}, kExitUse, "a time such as 500ms"},
        {{"--extender", "--hold-for", "99999h"}, kExitUse, "up to 24h"},
        {{"--extender", "--max-body", "10"}, kExitUse, "--max-body"},
        {{"--extender", "--max-body", "many"}, kExitUse, "--max-body"},
        {{"--extender", "--max-connections", "0"}, kExitUse, "from 1 to 65536"},
        {{"--extender", "--lease-name", "x"}, kExitUse, "--leader-elect"},
        {{"--extender", "--kubeconfig", config, "--leader-elect", "--lease-duration", "1500ms"},
         kExitUse,
         "whole seconds"},
        {{"--extender", "--kubeconfig", config, "--leader-elect", "--lease-renew-deadline", "10s"},
         kExitUse,
         "has to be longer"},
        {{"--extender", "--log-level", "loud"}, kExitUse, "debug, info"},
        {{"--config", "no/such.yaml"}, kExitEnvironment, "no/such.yaml"},
        {{"--extender", "--scheduler-name", "x"}, kExitUse, "--scheduler"},
        {{"--scheduler", "--scheduler-name", "a b"}, kExitUse, "\"a b\" is not accepted"},
        {{"--scheduler", "--scheduler-name", "=binpack"}, kExitUse, "NAME=POLICY"},
        {{"--scheduler", "--scheduler-name", "x=binpak"}, kExitUse, "did you mean binpack?"},
        {{"--scheduler", "--scheduler-name", "x", "--scheduler-name", "x=spread"},
         kExitUse,
         "\"x\" is there more than once"},
    };
    for (const Case& one : cases) {
        std::vector<std::string> command{"serve"};
        command.insert(command.end(), one.flags.begin(), one.flags.end());
        const Outcome outcome = tessera(command);
        EXPECT_EQ(outcome.code, one.code) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(one.said));
        EXPECT_EQ(outcome.out, "");
    }
}

TEST(ServeCommand, AFileHasTheSameKeysAndFlagsWin) {
    const TestDirectory files;
    const std::string good = write_text(files, "good.yaml",
                                        "extender: true\nlisten: 0.0.0.0:12345\n"
                                        "leader-elect: true\nlease-name: mine\n"
                                        "policy: {gpushare: binpack, elastic: elastic-spread}\n");
    const auto parsed = parse_serve_flags({"--config", good, "--listen", "127.0.0.1:0"});
    ASSERT_TRUE(std::holds_alternative<ServeFlags>(parsed));
    const ServeFlags& flags = std::get<ServeFlags>(parsed);
    EXPECT_TRUE(flags.extender);
    EXPECT_EQ(flags.listen, "127.0.0.1:0");
    EXPECT_EQ(flags.lease_name, "mine");
    EXPECT_EQ(flags.policies,
              (std::vector<std::string>{"gpushare=binpack", "elastic=elastic-spread"}));

    struct Case {
        std::string text;
        std::string said;
    };
    const Case cases[] = {
        {"listn: x\n", "bad.yaml:1: \"listn\": no such setting; did you mean listen?"},
        {"config: x\n", "no such setting"},
        {"max-connections: many\n", "bad.yaml: --max-connections: \"many\" is not accepted"},
        {"extender: true\ntls-cert: x\n", "bad.yaml: "},
        {"- a\n", "bad.yaml:1: settings are a map"},
    };
    for (const Case& one : cases) {
        const Outcome outcome =
            tessera({"serve", "--config", write_text(files, "bad.yaml", one.text)});
        EXPECT_EQ(outcome.code, kExitUse) << one.text;
        EXPECT_THAT(outcome.err, HasSubstr(one.said));
    }
}

TEST(ServeCommand, TimesAndAddresses) {
    EXPECT_EQ(parse_duration("--x", "500ms").value(), Nanoseconds(500'000'000));
    EXPECT_EQ(parse_duration("--x", "20s").value(), Nanoseconds(20'000'000'000));
    EXPECT_EQ(parse_duration("--x", "5m").value(), Nanoseconds(300'000'000'000));
    for (const char* bad : {"", "s", "1", "1d", "0s", "1.5s", " 1s", "1s "}) {
        EXPECT_FALSE(parse_duration("--x", bad)) << bad;
    }
    EXPECT_EQ(parse_listen("[::1]:0")->address, "::1");
    EXPECT_EQ(parse_listen(":12345")->address, "0.0.0.0");
    EXPECT_EQ(parse_listen(":12345")->port, 12345);
}

// The program in a process of its own. It is made before there is any thread.
class ServeProcess {
  public:
    ServeProcess() {
        int in[2];
        int out[2];
        TESSERA_ASSERT(::pipe(in) == 0 && ::pipe(out) == 0, "pipes are to be had");
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(out[1], STDOUT_FILENO);
            ::close(in[1]);
            char file[4096];
            const auto got = ::read(in[0], file, sizeof file - 1);
            const std::string config(file, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            const char* argv[] = {"tessera",      "serve",        "--extender",
                                  "--kubeconfig", config.c_str(), "--listen",
                                  "127.0.0.1:0",  "--log-level",  "error"};
            ::_exit(run_command_line(9, argv));
        }
        ::close(in[0]);
        ::close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }
    ~ServeProcess() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            ::waitpid(process_, nullptr, 0);
        }
        ::close(from_);
        ::close(to_);
    }
    // The line that it prints when it listens.
    std::string start(const std::string& config) {
        TESSERA_ASSERT(::write(to_, config.data(), config.size()) > 0, "it reads its file's name");
        std::string line;
        char c = 0;
        while (line.find('\n') == std::string::npos && ::read(from_, &c, 1) == 1) {
            line += c;
        }
        return line;
    }
    void signal(int number) { ::kill(process_, number); }
    // Its exit code, or minus the signal that ended it.
    int wait() {
        int status = 0;
        ::waitpid(std::exchange(process_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

  private:
    pid_t process_ = -1;
    int to_ = -1;
    int from_ = -1;
};

std::string url_in(const std::string& line) {
    const std::size_t begin = line.find("http://");
    return begin == std::string::npos ? "" : line.substr(begin, line.find('\n') - begin);
}

TEST(ServeCommand, ASignalLetsBindsEndAndASecondOneDoesNot) {
    for (const bool twice : {false, true}) {
        ServeProcess process;
        const TestDirectory files;
        FakeApi api;
        api.put_node("gpu-a", gpushare_node("gpu-a", 16, 1));
        api.put_pod("p", 8);
        const std::string url = url_in(process.start(kubeconfig(files, api.url())));
        ASSERT_NE(url, "");
        const auto http = HttpClient::open({.base_url = url}).value();
        const auto post = [&](const char* path, std::string body) {
            return http->call({.method = "POST", .path = path, .body = std::move(body)});
        };
        int status = 0;
        for (int tries = 0; status != 200 && tries < 6000; ++tries) {
            const auto ready = http->call({.path = "/readyz"});
            status = ready ? ready->status : 0;
            ::usleep(status == 200 ? 0 : 5000);
        }
        ASSERT_EQ(status, 200);
        post("/tessera/filter", names_body(gpushare_pod("p", 8), {"gpu-a"}));
        api.hold_binds(true);
        std::atomic<int> bound = -1;
        http->send({.method = "POST", .path = "/tessera/bind", .body = bind_body("p", "gpu-a")},
                   [&](Expected<ClientAnswer> got) { bound = got ? got->status : 0; });
        while (api.binds_waiting() == 0) {
            ::usleep(1000);
        }
        process.signal(SIGTERM);
        if (twice) {
            // Only when the first has been taken: two of one kind that wait are one.
            while (HttpClient::open({.base_url = url}).value()->call({.path = "/healthz"})) {
                ::usleep(1000);
            }
            process.signal(SIGINT);
            EXPECT_EQ(process.wait(), 128 + SIGINT);
            api.hold_binds(false);
        } else {
            api.hold_binds(false);
            EXPECT_EQ(process.wait(), kExitFine);
            while (bound == -1) {
                ::usleep(1000);
            }
            EXPECT_EQ(bound, 200);
            EXPECT_EQ(api.node_of("p"), "gpu-a");
        }
        http->close();
    }
}

class InspectCommand : public ::testing::Test {
  protected:
    InspectCommand() {
        api_.put_node("gpu-a", gpushare_node("gpu-a", 32, 2));
        api_.put_node("gpu-b", gpushare_node("gpu-b", 16, 1));
        api_.put_node("plain", node_json("plain", R"("ephemeral-storage":"1Gi")"));
        put("one", "gpu-a", 1, 4);
        put("two", "gpu-a", 1, 8);
        put("big", "gpu-b", -1, 20);  // nothing tells its GPU, and none has room for it
    }
    void put(const std::string& name, const std::string& node, int gpu, int units) {
        const std::string marks =
            gpu < 0
                ? std::string()
                : fmt::format(R"(,"annotations":{{"ALIYUN_COM_GPU_MEM_IDX":"{}",)"
                              R"("ALIYUN_COM_GPU_MEM_POD":"{}","ALIYUN_COM_GPU_MEM_DEV":"16"}})",
                              gpu, units);
        api_.put(
            std::string(kPodsPath), name,
            pod_json(name,
                     fmt::format(R"("nodeName":"{}","containers":[{}])", node,
                                 container_json(
                                     "main", fmt::format(R"("aliyun.com/gpu-mem":"{}")", units))),
                     marks));
    }
    Outcome inspect(std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"inspect", "--kubeconfig", kubeconfig(files_, api_.url())});
        return tessera(flags);
    }
    TestDirectory files_;
    FakeApi api_;
};

TEST_F(InspectCommand, ShowsEachGpu) {
    const Outcome outcome = inspect({});
    EXPECT_EQ(outcome.code, kExitFine);
    EXPECT_EQ(outcome.out,
              "NODE   ADDRESS   GPU0    GPU1   MEMORY(GiB)  COMPUTE(GPUs)\n"
              "gpu-a  10.0.0.1  0/16    12/16  12/32        0/2\n"
              "gpu-b  10.0.0.1  20/16*  -      20/16        0/1\n"
              "\n"
              "2 nodes, 3 GPUs: memory 32/48 GiB (66 %), compute 0/3 GPUs (0 %)\n"
              "* holds more than it has\n"
              "1 node without GPUs not shown\n");
    EXPECT_THAT(outcome.err, HasSubstr("nothing tells its GPUs"));
}

TEST_F(InspectCommand, ShowsWhoHasWhat) {
    EXPECT_EQ(inspect({"-d", "gpu-a"}).out,
              "gpu-a (10.0.0.1)\n"
              "GPU  MODEL  TAKEN  NAMESPACE  POD  CONTAINER  GiB  COMPUTE  STATE\n"
              "0    -      0/16\n"
              "1    -      12/16  default    one  *          4    0%       foreign\n"
              "                   default    two  *          8    0%       foreign\n"
              "\n"
              "1 node, 2 GPUs: memory 12/32 GiB (37 %), compute 0/2 GPUs (0 %)\n");
    EXPECT_THAT(inspect({"-d", "gpu-a", "-n", "other"}).out, Not(HasSubstr("one")));
    EXPECT_THAT(inspect({"gpu-a", "--json"}).out, HasSubstr(R"({"nodes":[{"name":"gpu-a",)"));
}

TEST_F(InspectCommand, SpeaksGpushare) {
    EXPECT_EQ(inspect({"--gpushare"}).out,
              "NAME   IPADDRESS  GPU0(Allocated/Total)  GPU1(Allocated/Total)  "
              "PENDING(Allocated)  GPU Memory(GiB)\n"
              "gpu-a  10.0.0.1   0/16                   12/16                                      "
              "12/32\n"
              "gpu-b  10.0.0.1   0/16                   0/0                    20                  "
              "20/16\n" +
                  std::string(53, '-') + "\nAllocated/Total GPU Memory In Cluster:\n32/48 (66%)\n");
    const std::string details = inspect({"--gpushare", "-d"}).out;
    EXPECT_THAT(details, HasSubstr("\nNAME:       gpu-a\nIPADDRESS:  10.0.0.1\n\n"
                                   "NAME  NAMESPACE  GPU0(Allocated)  GPU1(Allocated)\n"
                                   "one   default    0                4\n"
                                   "two   default    0                8\n"
                                   "Allocated :  12 (37%)\n"
                                   "Total :      32\n-----"));
    EXPECT_THAT(details, HasSubstr("NAME  NAMESPACE  GPU0(Allocated)  Pending(Allocated)\n"
                                   "big   default    0                20\n"));
    EXPECT_THAT(details, HasSubstr("Allocated/Total GPU Memory In Cluster:  32/48 (66%)\n"));
}

TEST_F(InspectCommand, ErrorsSayTheNextStep) {
    const Outcome unknown = inspect({"gpu-c"});
    EXPECT_EQ(unknown.code, kExitNo);
    EXPECT_THAT(unknown.err, HasSubstr("\"gpu-c\": the cluster has no such node; did you mean"));
    EXPECT_EQ(inspect({"--json", "--gpushare"}).code, kExitUse);
    api_.fail_with(403);
    const Outcome refused = inspect({});
    EXPECT_EQ(refused.code, kExitEnvironment);
    EXPECT_THAT(refused.err, HasSubstr("grant the role"));
    EXPECT_EQ(tessera({"inspect", "--kubeconfig", "no/such"}).code, kExitEnvironment);
}

}  // namespace
}  // namespace tessera::cli
