// Start to verified state: lists of nodes and pods as the API server sends them, read and applied
//
// Pages of 500 objects, as a reflector gets them. Pods run already, placed by gpushare, and hold
// memory of one GPU each. "read" is the time of parsing, "apply" of building the state from it;
// "again" is a second list of the same objects, as after a lost watch. CPU time of the one thread.
#include <fmt/format.h>
#include <time.h>

#include <charconv>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/json_writer.h"
#include "kube/object_json.h"
#include "role/feed/feed.h"

namespace tessera {
namespace {

constexpr std::size_t kPage = 500;
constexpr std::size_t kGpus = 8;
constexpr std::size_t kGib = 80;

struct Settings {
    std::size_t nodes = 5'000;
    std::size_t pods = 50'000;
    bool json = false;
};

double now_ms() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

// What we do not read is most of an object; it is here in a typical size.
std::string managed_fields(std::string_view manager) {
    return fmt::format(
        R"("managedFields":[{{"manager":"{}","operation":"Update","apiVersion":"v1",)"
        R"("time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":)"
        R"({{"f:labels":{{".":{{}},"f:app":{{}}}}}},"f:spec":{{"f:containers":{{"k:main":)"
        R"({{".":{{}},"f:image":{{}},"f:name":{{}},"f:resources":{{}}}}}}}}}}}}])",
        manager);
}

std::string node_json(std::size_t n) {
    const std::size_t memory = kGpus * kGib;
    const std::string amounts =
        fmt::format(R"({{"cpu":"96","memory":"768Gi","pods":"110","ephemeral-storage":"900Gi",)"
                    R"("aliyun.com/gpu-mem":"{}","aliyun.com/gpu-count":"{}"}})",
                    memory, kGpus);
    return fmt::format(
        R"({{"metadata":{{"name":"node-{0}","uid":"n-{0}","resourceVersion":"{0}",)"
        R"("labels":{{"kubernetes.io/hostname":"node-{0}","kubernetes.io/os":"linux",)"
        R"("topology.kubernetes.io/zone":"z{1}","gpushare":"true"}},{2}}},"spec":)"
        R"({{"podCIDR":"10.0.0.0/24"}},"status":{{"capacity":{3},"allocatable":{3},"conditions":)"
        R"([{{"type":"Ready","status":"True","reason":"KubeletReady"}}],"addresses":)"
        R"([{{"type":"InternalIP","address":"10.{4}.{5}.1"}}],"nodeInfo":{{"kernelVersion":"6.1",)"
        R"("osImage":"Debian","kubeletVersion":"v1.36.3"}}}}}})",
        n, n % 8, managed_fields("kubelet"), amounts, n / 250, n % 250);
}

std::string pod_json(std::size_t n, std::size_t nodes) {
    const std::size_t node = n % nodes;
    const std::size_t gpu = n / nodes % kGpus;
    return fmt::format(
        R"({{"metadata":{{"name":"pod-{0}","namespace":"team-{1}","uid":)"
        R"("00000000-0000-4000-8000-{0:012}","resourceVersion":"{0}","labels":{{"app":"a{1}",)"
        R"("pod-template-hash":"7c9d"}},"annotations":{{"ALIYUN_COM_GPU_MEM_IDX":"{2}",)"
        R"("ALIYUN_COM_GPU_MEM_POD":"8","ALIYUN_COM_GPU_MEM_DEV":"80",)"
        R"("ALIYUN_COM_GPU_MEM_ASSIGNED":"true","ALIYUN_COM_GPU_MEM_ASSUME_TIME":"1"}},)"
        R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a-7c9d",)"
        R"("uid":"o","controller":true}}],{3}}},"spec":{{"volumes":[{{"name":"token",)"
        R"("projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,)"
        R"("path":"token"}}}}]}}}}],"containers":[{{"name":"main","image":"registry/cuda:1",)"
        R"("resources":{{"limits":{{"aliyun.com/gpu-mem":"8"}},"requests":)"
        R"({{"aliyun.com/gpu-mem":"8","cpu":"2","memory":"8Gi"}}}},"volumeMounts":)"
        R"([{{"name":"token","mountPath":"/var/run/secrets"}}]}}],"restartPolicy":"Always",)"
        R"("nodeName":"node-{4}","schedulerName":"default-scheduler","priority":0,"tolerations":)"
        R"([{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",)"
        R"("tolerationSeconds":300}}]}},"status":{{"phase":"Running","conditions":)"
        R"([{{"type":"Ready","status":"True"}}],"containerStatuses":[{{"name":"main","state":)"
        R"({{"running":{{"startedAt":"2026-01-01T00:00:00Z"}}}},"ready":true}}]}}}})",
        n, n % 40, gpu, managed_fields("kube-controller-manager"), node);
}

template <class Make>
std::vector<std::string> pages(std::size_t count, Make make) {
    std::vector<std::string> result;
    for (std::size_t at = 0; at < count; at += kPage) {
        std::string page = R"({"kind":"List","metadata":{"resourceVersion":"1"},"items":[)";
        for (std::size_t n = at; n < std::min(count, at + kPage); ++n) {
            page += (n == at ? "" : ",") + make(n);
        }
        result.push_back(page + "]}");
    }
    return result;
}

struct Times {
    double read_ms = 0;
    double apply_ms = 0;
};

Times tell(std::vector<std::string> list, ObjectSink& sink) {
    ObjectReader reader;
    Times times;
    const double begin = now_ms();
    sink.list_begins();
    for (std::string& page : list) {
        const auto told = reader.page(page, [&](std::string_view object) { sink.listed(object); });
        TESSERA_ASSERT(told.has_value(), "a page of ours can be read");
    }
    const double read = now_ms();
    sink.list_ends();
    return {read - begin, now_ms() - read};
}

void print(const Settings& settings, const std::vector<std::pair<std::string, Times>>& rows) {
    if (!settings.json) {
        for (const auto& [name, times] : rows) {
            fmt::print("{:<12} read {:>8.1f} ms   apply {:>8.1f} ms   sum {:>8.1f} ms\n", name,
                       times.read_ms, times.apply_ms, times.read_ms + times.apply_ms);
        }
        return;
    }
    JsonWriter json;
    json.begin_object();
    json.key("results");
    json.begin_array();
    for (const auto& [name, times] : rows) {
        json.begin_object();
        json.member("case", name);
        json.member("read_ms", times.read_ms);
        json.member("apply_ms", times.apply_ms);
        json.end_object();
    }
    json.end_array();
    json.end_object();
    fmt::print("{}\n", json.take());
}

void run(const Settings& settings) {
    const auto nodes = pages(settings.nodes, node_json);
    const auto pods =
        pages(settings.pods, [&](std::size_t n) { return pod_json(n, settings.nodes); });
    Mirror mirror({});
    std::mutex mutex;
    Feed feed({mirror, mutex}, {});
    feed.config_maps().list_begins();
    feed.config_maps().list_ends();
    std::vector<std::pair<std::string, Times>> rows;
    rows.emplace_back("nodes", tell(nodes, feed.nodes()));
    rows.emplace_back("pods", tell(pods, feed.pods()));
    TESSERA_ASSERT(mirror.pod_count() == settings.pods, "every pod is counted");
    TESSERA_ASSERT(mirror.cluster().over_committed_gpus() == 0, "and none too much");
    rows.emplace_back("start", Times{rows[0].second.read_ms + rows[1].second.read_ms,
                                     rows[0].second.apply_ms + rows[1].second.apply_ms});
    rows.emplace_back("pods again", tell(pods, feed.pods()));
    rows.emplace_back("nodes again", tell(nodes, feed.nodes()));
    print(settings, rows);
}

bool number(std::string_view text, std::size_t& out) {
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc() &&
           out > 0 && out <= 1'000'000;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
    tessera::Settings settings;
    for (int at = 1; at < argc; ++at) {
        const std::string_view flag = argv[at];
        const std::string_view value = at + 1 < argc ? argv[at + 1] : "";
        if (flag == "--json") {
            settings.json = true;
        } else if ((flag == "--nodes" && tessera::number(value, settings.nodes)) ||
                   (flag == "--pods" && tessera::number(value, settings.pods))) {
            ++at;
        } else {
            const bool help = flag == "--help";
            fmt::print(help ? stdout : stderr,
                       "usage: bench/run start [--json] [--nodes N] [--pods N]\n");
            return help ? 0 : 2;
        }
    }
    tessera::run(settings);
    return 0;
}
