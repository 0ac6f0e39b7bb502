"""The day of the change: pods that another extender placed go on running, and what an operator did
to the cluster counts."""

import json

import pytest

from conftest import pods_bound
from rig import objects
from rig.extender import question
from rig.process import wait_until
from rig.scheduler_config import elastic_extender, gpushare_extender
from rig.watcher import Watcher


def old_gpushare_pod(cluster, name, units, device, node="gpu-a", **more):
    """As gpushare-scheduler-extender leaves it: five annotations, then a plain Binding."""
    body = objects.gpushare_pod(name, units, annotations={
        "ALIYUN_COM_GPU_MEM_IDX": str(device), "ALIYUN_COM_GPU_MEM_POD": str(units),
        "ALIYUN_COM_GPU_MEM_DEV": "16", "ALIYUN_COM_GPU_MEM_ASSIGNED": "true",
        "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1700000000000000000"}, **more)
    return place(cluster, body, node)


def old_elastic_pod(cluster, name, cards, **asks):
    body = objects.elastic_pod(name, labels={"elasticgpu.io/assumed": "true"}, annotations={
        "elasticgpu.io/assumed": "true", "elasticgpu.io/container-main": cards}, **asks)
    return place(cluster, body, "gpu-e")


def place(cluster, body, node):
    pod = cluster.api.create("pods", body)
    cluster.api.bind(pod, node)
    wait_until(lambda: cluster.api.get("pods", pod["metadata"]["name"])["status"]["phase"] == "Running",
               30, "the old pod runs")
    return pod


def filter_says(tessera, pod, nodes, prefix="/gpushare-scheduler"):
    """(nodes that fit, reasons) as kube-scheduler is told; asks for a pod that does not exist.

    While a watch is being opened, as after a start, a "no" is an error, and is asked for again.
    """
    def ask():
        status, body = tessera.request("POST", f"{prefix}/filter", question(pod, nodes))
        assert status == 200, body
        answer = json.loads(body)
        return None if "is being read again" in answer["Error"] else answer
    answer = wait_until(ask, 30, "a decision on the state as it is")
    assert not answer["Error"], answer
    return answer["NodeNames"] or [], {**(answer["FailedNodes"] or {}),
                                       **(answer["FailedAndUnresolvableNodes"] or {})}


def test_pods_placed_by_gpushare_keep_their_devices(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    with Watcher(cluster) as watcher:
        old_gpushare_pod(cluster, "old-0", 10, device=0)
        old_gpushare_pod(cluster, "old-1", 12, device=1)
        tessera = start_tessera()
        cluster.start_scheduler([gpushare_extender(tessera.url)])
        # 10 units are free, but no GPU has more than 6.
        cluster.api.create_all("pods", [objects.gpushare_pod("six", 6), objects.gpushare_pod("four", 4)])
        pods_bound(cluster, 4)
        cluster.api.create("pods", objects.gpushare_pod("one-more", 1))
        wait_until(lambda: objects.condition(cluster.api.get("pods", "one-more"), "PodScheduled"), 30,
                   "kube-scheduler says no")
        pods_bound(cluster, 4, waiting=1)
    assert watcher.bound == 4
    assert objects.annotation(cluster.api.get("pods", "six"), "ALIYUN_COM_GPU_MEM_IDX") == "0"
    assert objects.annotation(cluster.api.get("pods", "four"), "ALIYUN_COM_GPU_MEM_IDX") == "1"
    # What the other extender wrote is left as it was.
    assert objects.annotation(cluster.api.get("pods", "old-0"), "tessera.dev/placement") is None


def test_a_gpu_with_room_only_in_sum_is_not_used(cluster, start_tessera):
    """kube-scheduler alone would say yes: the node has 14 units left."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    old_gpushare_pod(cluster, "old-0", 9, device=0)
    old_gpushare_pod(cluster, "old-1", 9, device=1)
    tessera = start_tessera()
    fits, reasons = filter_says(tessera, objects.gpushare_pod("p", 8), ["gpu-a"])
    assert (fits, reasons) == (
        [], {"gpu-a": "GPU memory: 8192 MiB asked, at most 7168 free on one GPU"})
    assert filter_says(tessera, objects.gpushare_pod("p", 7), ["gpu-a"])[0] == ["gpu-a"]


def test_pods_placed_by_elastic_gpu_keep_their_cards(cluster, start_tessera):
    cluster.api.create("nodes", objects.elastic_node("gpu-e", gpus=3, memory_mib=1000))
    with Watcher(cluster) as watcher:
        old_elastic_pod(cluster, "old-whole", "1", core=100)
        old_elastic_pod(cluster, "old-part", "0", core=60, memory=500)
        tessera = start_tessera()
        cluster.start_scheduler([elastic_extender(tessera.url)])
        cluster.api.create("pods", objects.elastic_pod("whole", core=100))
        pods_bound(cluster, 3)
        cluster.api.create("pods", objects.elastic_pod("part", core=40, memory=500))
        pods_bound(cluster, 4)
    assert watcher.bound == 4
    assert objects.annotation(cluster.api.get("pods", "whole"), "elasticgpu.io/container-main") == "2"
    assert objects.annotation(cluster.api.get("pods", "part"), "elasticgpu.io/container-main") == "0"


@pytest.mark.parametrize("listed", ["0", " 0 ,", "0, x, -1, 99999999999"])
def test_unhealthy_devices_take_no_pods(cluster, start_tessera, listed):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"gpus": listed},
              "metadata": {"name": "unhealthy-gpu-gpu-a", "namespace": "kube-system"}}
    cluster.api.create("configmaps", config)
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url)], back_off=(1, 1))
    with Watcher(cluster):
        cluster.api.create("pods", objects.gpushare_pod("first", 10))
        pods_bound(cluster, 1)
        assert objects.annotation(cluster.api.get("pods", "first"), "ALIYUN_COM_GPU_MEM_IDX") == "1"
        fits, reasons = filter_says(tessera, objects.gpushare_pod("second", 10), ["gpu-a"])
        assert (fits, reasons) == (
            [], {"gpu-a": "GPU memory: 10240 MiB asked, at most 6144 free on one GPU"})
        # The operator has changed the card and takes it off the list.
        cluster.api.delete("configmaps", "unhealthy-gpu-gpu-a", "kube-system")
        cluster.api.create("pods", objects.gpushare_pod("second", 10))
        pods_bound(cluster, 2)
        assert objects.annotation(cluster.api.get("pods", "second"), "ALIYUN_COM_GPU_MEM_IDX") == "0"


def test_a_terminating_pod_keeps_its_share_until_its_containers_end(cluster, start_tessera):
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{name}", gpus=1, memory=16)
                                     for name in "ab"])
    old_gpushare_pod(cluster, "leaving", 16, device=0, labels={objects.SLOW_END: "true"})
    tessera = start_tessera()
    newcomer = objects.gpushare_pod("newcomer", 16)

    def fits():
        return filter_says(tessera, newcomer, ["gpu-a", "gpu-b"])[0]
    assert fits() == ["gpu-b"]
    cluster.api.delete("pods", "leaving", grace=None)
    leaving = cluster.api.get("pods", "leaving")
    assert leaving["metadata"]["deletionTimestamp"]
    # Pods are told in order: who knows this one knows of the deletion.
    old_gpushare_pod(cluster, "later", 1, device=0, node="gpu-b")
    wait_until(lambda: "gpu-b" not in fits(), 30, "the later pod is known")
    assert fits() == [], "its containers still run"

    for status in leaving["status"]["containerStatuses"]:
        status["state"] = {"terminated": {"exitCode": 0}}
        status["ready"] = status["started"] = False
    cluster.api.patch("pods", "leaving", {"status": {
        "phase": "Succeeded", "containerStatuses": leaving["status"]["containerStatuses"]}}, sub="status")
    wait_until(lambda: fits() == ["gpu-a"], 30, "the share is free")


def test_a_new_device_and_a_removed_node_are_followed(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=1, memory=16))
    tessera = start_tessera()
    large = objects.gpushare_pod("large", 20)
    assert filter_says(tessera, large, ["gpu-a"])[0] == []
    amounts = {objects.GPU_MEM: "32", objects.GPU_COUNT: "1"}
    cluster.api.patch("nodes", "gpu-a", {"status": {"capacity": amounts, "allocatable": amounts}},
                      sub="status")
    wait_until(lambda: filter_says(tessera, large, ["gpu-a"])[0] == ["gpu-a"], 30, "the larger GPU")
    cluster.api.delete("nodes", "gpu-a")
    wait_until(lambda: filter_says(tessera, large, ["gpu-a"])[0] == [], 30, "the node is gone")
