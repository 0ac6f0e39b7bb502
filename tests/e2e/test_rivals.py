"""Faults that were seen in other extenders, each with the run that showed it: ours has none of them."""

import collections
import json

from conftest import pods_bound
from rig import objects
from rig.extender import question
from rig.fault_proxy import FaultProxy
from rig.scheduler_config import elastic_extender, gpushare_extender
from rig.watcher import Watcher
from test_migration import filter_says


def elastic_with_sidecars(name, core, memory):
    """One container that asks, two that do not."""
    limits = {objects.ELASTIC_CORE: core, objects.ELASTIC_MEMORY: memory}
    return objects.pod(name, containers=[objects.container("log"),
                                         objects.container("main", limits=limits),
                                         objects.container("proxy")])


def test_sidecars_make_no_room(cluster, start_tessera):
    """Elsewhere each container that asks for nothing counted as minus one."""
    cluster.api.create_all("nodes", [objects.elastic_node(f"gpu-{name}", 5, 32000) for name in "ab"])
    tessera = start_tessera()
    cluster.start_scheduler([elastic_extender(tessera.url)])
    with Watcher(cluster):
        cluster.api.create_all("pods", [elastic_with_sidecars(f"pod-{index}", 20, 4000)
                                        for index in range(50)])
        pods = pods_bound(cluster, 50)  # exactly what fits: five on each of ten cards
    used = collections.Counter()
    for pod in pods:
        keys = {key for key in pod["metadata"]["annotations"] if "/container-" in key}
        assert keys == {"elasticgpu.io/container-main"}, "a side-car has no card"
        used[pod["spec"]["nodeName"], objects.annotation(pod, "elasticgpu.io/container-main")] += 1
    assert set(used.values()) == {5}


def test_pods_of_one_shape_do_not_lose_each_others_place(cluster, start_tessera):
    """Elsewhere the answer of filter was kept by shape, and the first bind took it from the others."""
    cluster.api.create_all("nodes", [objects.elastic_node(f"gpu-{index}", 4, 16384)
                                     for index in range(20)])
    tessera = start_tessera()
    with FaultProxy(tessera.url) as between, Watcher(cluster):
        cluster.start_scheduler([elastic_extender(between.url)])
        shapes = [(50, 4000), (25, 2000), (100, 0), (30, 8000)]
        cluster.api.create_all("pods", [
            objects.elastic_pod(f"pod-{index}", *shapes[index % 4]) for index in range(120)])
        pods_bound(cluster, 120)
        assert between.statuses("/bind$") == {200: 120}, "no bind failed"


def test_binds_to_one_node_do_not_wait_for_each_other(cluster, start_tessera):
    """Elsewhere a lock on the node refused the second pod for minutes."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=8, memory=32))
    tessera = start_tessera()
    with FaultProxy(tessera.url) as between, Watcher(cluster):
        cluster.start_scheduler([gpushare_extender(between.url)])
        cluster.api.create_all("pods", [objects.gpushare_pod(f"pod-{index}", 4) for index in range(64)])
        pods_bound(cluster, 64)
        assert between.statuses("/bind$") == {200: 64}


def test_a_slow_bind_does_not_hold_up_another(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    with FaultProxy(cluster.server, cluster.authority) as to_api, Watcher(cluster):
        tessera = start_tessera(server=to_api.url)
        cluster.start_scheduler([gpushare_extender(tessera.url, http_timeout="60s")])
        held = to_api.hold_request("POST", r"/pods/slow/binding$")
        cluster.api.create("pods", objects.gpushare_pod("slow", 8))
        held.wait()
        cluster.api.create("pods", objects.gpushare_pod("quick", 8))
        pods_bound(cluster, 1, waiting=1)
        assert objects.is_bound(cluster.api.get("pods", "quick"))
        held.release()
        pods_bound(cluster, 2)


def test_a_bind_to_a_node_without_room_is_refused(cluster, start_tessera):
    """Elsewhere bind took any node, and the pod kept the GPUs of another."""
    cluster.api.create_all("nodes", [objects.gpushare_node("small", gpus=1, memory=4),
                                     objects.gpushare_node("large", gpus=1, memory=16)])
    tessera = start_tessera()
    pod = cluster.api.create("pods", objects.gpushare_pod("p", 8))
    asked = question(pod, ["small", "large"])
    status, body = tessera.request("POST", "/gpushare-scheduler/filter", asked)
    assert status == 200 and json.loads(body)["NodeNames"] == ["large"]
    for node, fits in (("small", False), ("nowhere", False), ("large", True)):
        args = {"PodName": "p", "PodNamespace": "default", "PodUID": pod["metadata"]["uid"],
                "Node": node}
        status, body = tessera.request("POST", "/gpushare-scheduler/bind", args)
        assert (status, bool(json.loads(body)["Error"])) == ((200, False) if fits else (500, True)), node
    bound = cluster.api.get("pods", "p")
    assert bound["spec"]["nodeName"] == "large"
    assert objects.annotation(bound, "ALIYUN_COM_GPU_MEM_IDX") == "0"


def test_a_repeated_bind_is_answered_like_the_first(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=1, memory=16))
    tessera = start_tessera()
    pod = cluster.api.create("pods", objects.gpushare_pod("p", 8))
    args = {"PodName": "p", "PodNamespace": "default", "PodUID": pod["metadata"]["uid"], "Node": "gpu-a"}
    with Watcher(cluster) as watcher:
        for _ in range(3):
            status, body = tessera.request("POST", "/gpushare-scheduler/bind", args)
            assert (status, json.loads(body)["Error"]) == (200, ""), body
    assert watcher.bound == 1


def test_an_answer_in_names_mode_holds_names_only(cluster, start_tessera):
    """Elsewhere every node came back whole, 640 KB a pod."""
    names = [f"gpu-{index}" for index in range(100)]
    cluster.api.create_all("nodes", [objects.gpushare_node(name) for name in names])
    tessera = start_tessera()
    asked = question(objects.gpushare_pod("p", 8), names)
    status, body = tessera.request("POST", "/gpushare-scheduler/filter", asked)
    assert status == 200 and sorted(json.loads(body)["NodeNames"]) == sorted(names)
    assert len(body) < 100 * 20 + 200


def test_whole_nodes_in_whole_nodes_out(cluster, start_tessera):
    """nodeCacheCapable: false; kube-scheduler takes only nodes then, and only what it sent."""
    cluster.api.create_all("nodes", [objects.gpushare_node("large", gpus=1, memory=16),
                                     objects.gpushare_node("small", gpus=1, memory=4)])
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url, node_cache_capable=False)])
    with Watcher(cluster):
        cluster.api.create("pods", objects.gpushare_pod("p", 8))
        pod, = pods_bound(cluster, 1)
    assert pod["spec"]["nodeName"] == "large"


def test_a_pod_of_five_containers_is_placed_at_once(cluster, start_tessera):
    """Elsewhere the search was eight to the power of the containers: minutes."""
    cluster.api.create_all("nodes", [objects.elastic_node(f"gpu-{index}", 8, 16384)
                                     for index in range(100)])
    tessera = start_tessera()
    cluster.start_scheduler([elastic_extender(tessera.url)])
    limits = {objects.ELASTIC_CORE: 30, objects.ELASTIC_MEMORY: 1000}
    with Watcher(cluster):
        for count in (5, 8):
            cluster.api.create("pods", objects.pod(f"of-{count}", containers=[
                objects.container(f"c{index}", limits=limits) for index in range(count)]))
        pods_bound(cluster, 2, 20)


def test_both_domains_of_elastic_gpu_are_served(cluster, start_tessera):
    """Elsewhere README and code had different ones, and the README's crashed it."""
    cluster.api.create("nodes", objects.node("gpu-c", {"elasticgpu.com/gpu-core": 200,
                                                       "elasticgpu.com/gpu-memory": 2000}))
    tessera = start_tessera()
    pod = objects.pod("p", {"elasticgpu.com/gpu-core": 50, "elasticgpu.com/gpu-memory": 500})
    assert filter_says(tessera, pod, ["gpu-c"], "/scheduler")[0] == ["gpu-c"]


def test_a_forged_record_on_a_pod_that_waits_means_nothing(cluster, start_tessera):
    """Users may annotate their pods; what counts is what bind writes."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url)])
    with Watcher(cluster):
        cluster.api.create("pods", objects.gpushare_pod("first", 16))
        first, = pods_bound(cluster, 1)
        taken = objects.annotation(first, "ALIYUN_COM_GPU_MEM_IDX")
        cluster.api.create("pods", objects.gpushare_pod("second", 16, annotations={
            "ALIYUN_COM_GPU_MEM_IDX": taken, "ALIYUN_COM_GPU_MEM_POD": "1",
            "tessera.dev/placement": objects.annotation(first, "tessera.dev/placement")}))
        pods_bound(cluster, 2)
    second = cluster.api.get("pods", "second")
    assert objects.annotation(second, "ALIYUN_COM_GPU_MEM_IDX") != taken
    assert objects.annotation(second, "ALIYUN_COM_GPU_MEM_POD") == "16"
