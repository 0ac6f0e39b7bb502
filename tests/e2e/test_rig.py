"""The rig proves itself, without Tessera: what it starts works, what it checks can fail."""

import os
import shutil
import signal
import subprocess
import sys

from conftest import pods_bound
from rig import objects, programs
from rig.extender import Stub
from rig.fault_proxy import FaultProxy
from rig.process import die_with_parent, wait_until
from rig.scheduler_config import Extender
from rig.watcher import Watcher

HERE = os.path.dirname(os.path.abspath(__file__))


def stub_wiring(url):
    return Extender(f"{url}/stub", prioritize_verb="prioritize")


def test_the_second_build_builds_nothing():
    first = programs.control_plane()
    log = os.path.join(os.path.dirname(first), "control-plane.log")
    before = os.stat(log).st_mtime_ns
    again = subprocess.run([os.path.join(HERE, "controlplane", "build")], check=True,
                           stdout=subprocess.PIPE, text=True).stdout.strip()
    assert again == first
    assert os.stat(log).st_mtime_ns == before, "it built again"
    assert {"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl", "kubelet",
            "kwok"} <= set(os.listdir(first))


def test_kubectl_sees_version_and_ready_nodes(cluster):
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}") for index in range(3)])
    kubectl = [os.path.join(programs.control_plane(), "kubectl"), "--kubeconfig",
               cluster.admin_kubeconfig]
    nodes = subprocess.run([*kubectl, "get", "nodes", "--no-headers"], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    assert nodes.count(" Ready ") == 3, nodes
    version = cluster.api.call("GET", "/version")
    assert version["gitVersion"] == "v1.36.3"


def test_the_stock_scheduler_binds_a_pod_and_kwok_runs_it(cluster):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a"))
    cluster.start_scheduler()
    cluster.api.create("pods", objects.pod("plain"))
    wait_until(lambda: cluster.api.get("pods", "plain")["status"]["phase"] == "Running", 30,
               "the pod runs")


def test_kwok_ends_and_removes_pods_as_labelled(cluster):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a"))
    cluster.start_scheduler()
    cluster.api.create("pods", objects.pod("job", labels={objects.ENDS: "true"}))
    cluster.api.create("pods", objects.pod("quick"))
    cluster.api.create("pods", objects.pod("slow", labels={objects.SLOW_END: "true"}))
    pods_bound(cluster, 3)
    wait_until(lambda: cluster.api.get("pods", "job")["status"]["phase"] == "Succeeded", 30,
               "the job ended")
    for name in ("quick", "slow"):
        cluster.api.delete("pods", name, grace=None)
    wait_until(lambda: cluster.api.find("pods", "quick") is None, 30, "the deleted pod is gone")
    assert cluster.api.get("pods", "slow")["metadata"]["deletionTimestamp"]


def test_the_stub_extender_binds_fifty_pods(cluster):
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", gpus=4, memory=64)
                                     for index in range(3)])
    stub = Stub(cluster).start()
    try:
        with FaultProxy(stub.url) as between:
            cluster.start_scheduler([stub_wiring(between.url)])
            cluster.api.create_all("pods", [objects.gpushare_pod(f"pod-{index}", 2)
                                            for index in range(50)])
            pods_bound(cluster, 50)
            assert between.count("POST", "/stub/filter$") >= 50
            assert between.statuses("/stub/bind$")[200] == 50
    finally:
        stub.stop()


def test_the_proxy_holds_answers_and_drops(cluster):
    """A Binding at each of its steps, as the tests of kill -9 need it."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a"))
    with FaultProxy(cluster.server, cluster.authority) as proxy:
        stub = Stub(cluster)
        stub.command[stub.command.index("-server") + 1] = proxy.url
        stub.start()
        try:
            cluster.start_scheduler([stub_wiring(stub.url)])
            before = proxy.hold_request("POST", "/binding$")
            cluster.api.create("pods", objects.gpushare_pod("one", 2))
            before.wait()
            assert not objects.is_bound(cluster.api.get("pods", "one"))
            before.release()
            pods_bound(cluster, 1)

            after = proxy.hold_answer("POST", "/binding$")
            cluster.api.create("pods", objects.gpushare_pod("two", 2))
            after.wait()
            assert objects.is_bound(cluster.api.get("pods", "two"))
            after.drop()

            refused = proxy.answer("POST", "/binding$", 500)
            cluster.api.create("pods", objects.gpushare_pod("three", 2))
            pods_bound(cluster, 3)
            assert refused.hits == 1
        finally:
            stub.stop()


def test_a_restarted_api_server_keeps_its_objects(cluster):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a"))
    with Watcher(cluster) as watcher:
        cluster.restart("kube-apiserver", kill=True)
        pod = cluster.api.create("pods", objects.gpushare_pod("one", 2))
        cluster.api.bind(pod, "gpu-a", gpushare_annotations(0, 2))
    assert watcher.bound == 1
    assert cluster.api.get("nodes", "gpu-a")


def gpushare_annotations(device, units):
    return {"ALIYUN_COM_GPU_MEM_IDX": str(device), "ALIYUN_COM_GPU_MEM_POD": str(units)}


def seen_by_watcher(cluster, bindings):
    """Binds pods as (body, node, annotations) by hand; the violations the watcher reports."""
    with Watcher(cluster, expect_violations=True) as watcher:
        for body, node, annotations in bindings:
            cluster.api.bind(cluster.api.create("pods", body), node, annotations)
    return [entry["what"] for entry in watcher.violations]


def test_the_watcher_flags_two_pods_too_many_on_one_gpu(cluster):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    fits = [(objects.gpushare_pod("a", 10), "gpu-a", gpushare_annotations(0, 10)),
            (objects.gpushare_pod("b", 10), "gpu-a", gpushare_annotations(1, 10)),
            (objects.gpushare_pod("c", 6), "gpu-a", gpushare_annotations(0, 6))]
    assert seen_by_watcher(cluster, fits) == []
    too_many = [(objects.gpushare_pod("d", 7), "gpu-a", gpushare_annotations(1, 7))]
    found = seen_by_watcher(cluster, too_many)
    assert len(found) == 1 and "GPU 1 of gpu-a is over-committed" in found[0], found


def test_the_watcher_flags_wrong_records(cluster):
    cluster.api.create("nodes", objects.elastic_node("gpu-e", gpus=2, memory_mib=1000))
    key = "elasticgpu.io/container-main"
    cases = [
        (objects.elastic_pod("no-device", core=50), {}, "bound without"),
        (objects.elastic_pod("one-of-two", core=200), {key: "0"}, "2 different cards"),
        (objects.elastic_pod("twice", core=200), {key: "1,1"}, "2 different cards"),
        (objects.elastic_pod("beyond", core=10), {key: "2"}, "has no GPU 2"),
        (objects.elastic_pod("half", core=60), {key: "0"}, None),
        (objects.elastic_pod("other-half", core=60), {key: "0"}, "over-committed"),
        (objects.elastic_pod("memory", memory=1001), {key: "1"}, "over-committed"),
    ]
    for body, annotations, expected in cases:
        found = seen_by_watcher(cluster, [(body, "gpu-e", annotations)])
        new = [text for text in found if f"default/{body['metadata']['name']}:" in text]
        assert bool(new) == bool(expected), (body["metadata"]["name"], found)
        assert not expected or expected in new[0], found


def test_ended_pods_free_their_share_for_the_watcher(cluster):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=1, memory=16))
    ends = objects.gpushare_pod("first", 16, labels={objects.ENDS: "true"})
    with Watcher(cluster) as watcher:
        cluster.api.bind(cluster.api.create("pods", ends), "gpu-a", gpushare_annotations(0, 16))
        wait_until(lambda: cluster.api.get("pods", "first")["status"]["phase"] == "Succeeded", 30,
                   "the first pod ended")
        second = cluster.api.create("pods", objects.gpushare_pod("second", 16))
        cluster.api.bind(second, "gpu-a", gpushare_annotations(0, 16))
    assert watcher.bound == 2


def processes_below(directory):
    """Process ids whose command line names the directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if directory.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def test_an_interrupted_run_leaves_no_process():
    """For each way a run may end: Ctrl-C, kill and kill -9."""
    script = ("import sys; sys.path.insert(0, sys.argv[1])\n"
              "import signal, conftest\n"
              "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
              "with conftest.started_cluster() as cluster:\n"
              "    print(cluster.directory, flush=True)\n"
              "    signal.pause()\n")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        parent = os.getpid()
        run = subprocess.Popen([sys.executable, "-c", script, HERE], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True,
                               preexec_fn=lambda: die_with_parent(parent))
        try:
            directory = run.stdout.readline().strip()
            assert len(processes_below(directory)) >= 3, "etcd, kube-apiserver and kwok run"
            run.send_signal(number)
            run.wait(30)
        finally:
            run.kill()
            run.wait()
        wait_until(lambda: not processes_below(directory), 10, "no process is left")
        left = os.path.exists(directory)
        shutil.rmtree(directory, ignore_errors=True)
        assert not left or number == signal.SIGKILL, "the directory stays only where nothing can act"
