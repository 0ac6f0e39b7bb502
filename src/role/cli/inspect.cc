// tessera inspect: what is on the GPUs of a cluster, asked of the API server itself.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/text.h"
#include "base/wording.h"
#include "codec/kube_json.h"
#include "dialect/asking.h"
#include "dialect/gpushare.h"
#include "dialect/own_keys.h"
#include "kube/access.h"
#include "kube/api_client.h"
#include "role/cli/arguments.h"
#include "role/cli/command.h"
#include "role/cli/inspect_text.h"
#include "role/extender/inspect_json.h"
#include "role/feed/feed.h"
#include "role/feed/list_once.h"

namespace tessera::cli {
namespace {

constexpr std::string_view kGpushareMemory = "aliyun.com/gpu-mem";
constexpr std::string_view kGpushareIndex = "ALIYUN_COM_GPU_MEM_IDX";

struct Flags {
    std::vector<std::string> nodes;
    std::string kubeconfig;
    std::string context;
    std::string space;
    bool details = false;
    bool json = false;
    bool gpushare = false;
};

// Passes pods on and remembers those that run somewhere, ask for gpushare's memory and say nothing
// of the GPU that they got.
class PendingPods final : public ObjectSink {
  public:
    explicit PendingPods(ObjectSink& next) : next_(next) {}

    void list_begins() override {
        pending.clear();
        next_.list_begins();
    }
    void listed(std::string_view json) override {
        next_.listed(json);
        const auto pod = read_pod_json(json);
        if (!pod || pod->node_name.empty() || pod->ended() || says_its_gpu(*pod)) {
            return;
        }
        std::int64_t units = 0;
        for (const Container& container : pod->containers) {
            const auto asked = asked_amount(container, kGpushareMemory, {0, kMaxAmount, "units"});
            units += asked ? *asked : 0;
        }
        if (units > 0) {
            pending[pod->node_name].push_back({pod->space, pod->name, pod->uid, units});
        }
    }
    void list_ends() override { next_.list_ends(); }
    void changed(std::string_view json) override { next_.changed(json); }
    void deleted(std::string_view json) override { next_.deleted(json); }

    PendingByNode pending;

  private:
    static bool says_its_gpu(const Pod& pod) {
        return pod.annotations.contains(kGpushareIndex) ||
               pod.annotations.contains(kGpushareAllocation) ||
               pod.annotations.contains(kOwnPlacement);
    }

    ObjectSink& next_;
};

struct Seen {
    Mirror mirror{MirrorOptions{}};
    std::vector<NodeIndex> nodes;
    PendingByNode pending;
    std::size_t without_gpus = 0;
    std::vector<std::string> notes;
};

Expected<void> list_all(const Flags& flags, Feed& feed, ObjectSink& pods) {
    TESSERA_TRY(KubeAccess access, find_kube_access({flags.kubeconfig, flags.context, {}}));
    TESSERA_TRY(const auto http, HttpClient::open(std::move(access.http)));
    ApiClient api(*http, boot_time_now, 1);
    const auto call = [&api](ApiCall one) { return api.call(std::move(one)); };
    TESSERA_CHECK(list_once(call, kNodesPath, feed.nodes()));
    TESSERA_CHECK(list_once(call, kPodsPath, pods));
    return list_once(call, kConfigMapsPath, feed.config_maps());
}

// Those that were named, or all that have GPUs.
Expected<void> choose_nodes(const Flags& flags, Seen& seen) {
    for (const std::string& name : std::set<std::string>(flags.nodes.begin(), flags.nodes.end())) {
        const NodeIndex node = seen.mirror.find_node(name);
        if (!node.valid()) {
            std::vector<std::string_view> names;
            for (const NodeIndex known : seen.mirror.nodes_by_name()) {
                names.push_back(seen.mirror.node_name(known));
            }
            return fail(ErrorKind::not_found,
                        "{}: the cluster has no such node;{} tessera inspect "
                        "without a name lists those with GPUs",
                        in_quotes(name), did_you_mean(name, names));
        }
        seen.nodes.push_back(node);
    }
    if (flags.nodes.empty()) {
        for (const NodeIndex node : seen.mirror.nodes_by_name()) {
            const bool gpus = !seen.mirror.cluster().spec(node).gpus.empty();
            seen.without_gpus += gpus ? 0 : 1;
            if (gpus) {
                seen.nodes.push_back(node);
            }
        }
    }
    return {};
}

Expected<void> look(const Flags& flags, Seen& seen) {
    std::mutex mutex;
    Feed feed({seen.mirror, mutex}, {.on_unreadable = [&seen](const Unreadable& one) {
                  seen.notes.push_back(fmt::format("{} {} cannot be read: {}", one.kind,
                                                   in_quotes(one.name), one.reason));
              }});
    PendingPods pending(feed.pods());
    ObjectSink& pods = flags.gpushare ? static_cast<ObjectSink&>(pending) : feed.pods();
    TESSERA_CHECK(list_all(flags, feed, pods));
    seen.pending = std::move(pending.pending);
    for (std::string& note : seen.mirror.take_notes()) {
        seen.notes.push_back(std::move(note));
    }
    return choose_nodes(flags, seen);
}

std::string answer(const Flags& flags, const Seen& seen) {
    if (flags.json) {
        return inspect_json(seen.mirror, seen.nodes) + "\n";
    }
    if (flags.gpushare) {
        return flags.details ? gpushare_details(seen.mirror, seen.nodes, seen.pending)
                             : gpushare_summary(seen.mirror, seen.nodes, seen.pending);
    }
    if (seen.nodes.empty()) {
        return fmt::format(
            "{}, and no GPU; nodes show theirs as aliyun.com/gpu-mem, "
            "elasticgpu.io/gpu-memory,\nnvidia.com/gpu or in the annotation "
            "tessera.dev/gpus\n",
            counted(static_cast<std::int64_t>(seen.without_gpus), "node"));
    }
    std::string text = flags.details ? inspect_details(seen.mirror, seen.nodes, flags.space)
                                     : inspect_summary(seen.mirror, seen.nodes);
    if (seen.without_gpus > 0) {
        text += fmt::format("{} without GPUs not shown\n",
                            counted(static_cast<std::int64_t>(seen.without_gpus), "node"));
    }
    return text;
}

}  // namespace

int run_inspect(const Arguments& arguments) {
    CLI::App app(
        "What is on the GPUs of a cluster: what is taken of each, and by which pods. Asks the API "
        "server; no extender has to run.",
        "tessera inspect");
    app.footer(
        "examples:\n"
        "  tessera inspect                            each GPU: memory taken/total in GiB, "
        "compute\n"
        "  tessera inspect gpu-a gpu-b -d             and who has it\n"
        "  kubectl tessera inspect --context lab      the same as a plugin of kubectl\n"
        "  tessera inspect --gpushare -d              as kubectl inspect gpushare prints it\n\n"
        "Needs to list nodes, pods and the ConfigMaps of kube-system. Signatures are not checked\n"
        "here: what a running extender calls foreign for want of one may be called confirmed.\n"
        "Exit codes: 0 fine, 1 no such node, 2 wrong use or a file that is not good, 3 the API\n"
        "server cannot be reached or refuses.");
    Flags flags;
    app.add_option("NODE", flags.nodes, "only these nodes");
    app.add_flag("-d,--details", flags.details, "a row per pod and GPU");
    CLI::Option* json =
        app.add_flag("--json", flags.json, "as JSON, in the shape of /tessera/inspect");
    app.add_flag("--gpushare", flags.gpushare, "as kubectl inspect gpushare prints it")
        ->excludes(json);
    app.add_option("-n,--namespace", flags.space, "with -d: only pods of this namespace")
        ->type_name("NAMESPACE");
    app.add_option("--kubeconfig", flags.kubeconfig,
                   "how to reach the API server (KUBECONFIG, ~/.kube/config, the pod's account)")
        ->type_name("FILE");
    app.add_option("--context", flags.context, "a context of that file (its current one)")
        ->type_name("NAME");
    if (const auto code = parse(app, arguments)) {
        return *code;
    }
    Seen seen;
    if (const auto done = look(flags, seen); !done) {
        return report_error(done.error());
    }
    for (const std::string& note : seen.notes) {
        fmt::print(stderr, "tessera: note: {}\n", note);
    }
    fmt::print("{}", answer(flags, seen));
    return kExitFine;
}

}  // namespace tessera::cli
