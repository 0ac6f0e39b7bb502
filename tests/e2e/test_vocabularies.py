"""NVIDIA's whole GPUs, HAMi's parts and KETI's slots by a stock kube-scheduler, which is given
deploy/extender/scheduler-config.yaml as it is."""

import json

import pytest

from conftest import check_books, pods_bound
from rig import deployment, objects, shares
from rig.process import wait_until
from rig.watcher import Watcher
from test_migration import filter_says

MEMORY = 40960   # MiB of each NVIDIA GPU


@pytest.fixture
def tessera(cluster, start_tessera):
    program = start_tessera()
    cluster.start_scheduler(document=deployment.scheduler_config(program.url))
    return program


def nvidia_node(name, gpus, offered=None):
    """As the device plugin and feature discovery show it; HAMi offers each device several times."""
    return objects.node(name, {shares.NVIDIA_GPU: offered or gpus}, labels={
        "nvidia.com/gpu.count": str(gpus), "nvidia.com/gpu.memory": str(MEMORY),
        "nvidia.com/gpu.product": "NVIDIA-A100-PCIE-40GB"})


def nvidia_pod(name, gpus, **parts):
    amounts = {"gpu": gpus, **parts}
    return objects.pod(name, {f"nvidia.com/{key}": amount for key, amount in amounts.items()})


def keti_pod(name, gpus, memory):
    return objects.pod(name, {shares.KETI_GPU: gpus},
                       annotations={"GPUrequest": memory, "GPUlimits": memory})


def granted(pod):
    return json.loads(objects.annotation(pod, "tessera.dev/placement"))["grants"]


def waits_because(cluster, name):
    """What kube-scheduler says of a pod that is not bound."""
    def message():
        return objects.condition(cluster.api.get("pods", name), "PodScheduled").get("message")
    return wait_until(message, 30, f"kube-scheduler has tried {name}")


def test_whole_gpus_are_each_given_once(cluster, tessera):
    cluster.api.create_all("nodes", [nvidia_node("gpu-a", 2), nvidia_node("gpu-b", 4)])
    with Watcher(cluster) as watcher:
        cluster.api.create("pods", nvidia_pod("four", 4))
        pods_bound(cluster, 1)
        cluster.api.create_all("pods", [nvidia_pod("one", 1), nvidia_pod("another", 1)])
        pods = {pod["metadata"]["name"]: pod for pod in pods_bound(cluster, 3)}
        cluster.api.create("pods", nvidia_pod("too-much", 1))
        assert "Insufficient nvidia.com/gpu" in waits_because(cluster, "too-much")
    assert watcher.bound == 3 and len(watcher.held) == 3
    assert pods["four"]["spec"]["nodeName"] == "gpu-b"
    assert sorted(grant["gpu"] for grant in granted(pods["four"])) == [0, 1, 2, 3]
    for name in ("one", "another"):
        assert pods[name]["spec"]["nodeName"] == "gpu-a"
    assert sorted(granted(pods[name])[0]["gpu"] for name in ("one", "another")) == [0, 1]
    for pod in pods.values():
        assert all((grant["milli"], grant["memoryMib"]) == (1000, MEMORY) for grant in granted(pod))
    assert tessera.answered("/tessera/bind") == 3, "kube-scheduler left the binds to Tessera"
    check_books(cluster, tessera)


def test_hamis_parts_share_gpus_and_leave_a_whole_one(cluster, tessera):
    """By gpumem and gpucores: kube-scheduler does not count them, and sees 20 GPUs for two."""
    cluster.api.create("nodes", nvidia_node("gpu-a", 2, offered=20))
    part = dict(gpumem=10000, gpucores=25)
    with Watcher(cluster) as watcher:
        cluster.api.create_all("pods", [nvidia_pod(f"part-{index}", 1, **part) for index in range(4)])
        pods = pods_bound(cluster, 4)
        cluster.api.create("pods", nvidia_pod("whole", 1))
        pods_bound(cluster, 5)
        cluster.api.create("pods", nvidia_pod("fifth", 1, **part))
        assert "0/1 nodes are available" in waits_because(cluster, "fifth")
        for name in ("fifth", "part-0"):
            cluster.api.delete("pods", name)
        check_books(cluster, tessera)  # it has heard that there is room
        cluster.api.create("pods", nvidia_pod("fifth", 1, **part))
        pods_bound(cluster, 5)
    assert watcher.bound == 6
    grants = [granted(pod)[0] for pod in pods]
    assert len({grant["gpu"] for grant in grants}) == 1, "together, so that a whole GPU is left"
    assert {(grant["milli"], grant["limitMilli"], grant["memoryMib"]) for grant in grants} == {
        (250, 250, 10000)}
    check_books(cluster, tessera)


def test_hamis_percentage_is_of_the_device(cluster, tessera):
    cluster.api.create("nodes", nvidia_node("gpu-a", 1, offered=10))
    cluster.api.create("pods", objects.pod("quarter", {"nvidia.com/gpumem-percentage": 25}))
    pod, = pods_bound(cluster, 1)
    grant, = granted(pod)
    assert (grant["gpu"], grant["memoryMib"]) == (0, MEMORY // 4)


def test_a_whole_gpu_that_another_binds_counts_once_it_is_seen(cluster, start_tessera):
    """With the nvidia.com/ lines left out of kube-scheduler's configuration, or by hand."""
    cluster.api.create("nodes", nvidia_node("gpu-a", 2))
    tessera = start_tessera()

    def free():
        node, = tessera.get_json("/tessera/inspect")["nodes"]
        return [gpu["index"] for gpu in node["gpus"] if gpu["milli"]["free"] == 1000]
    assert free() == [0, 1]
    for name, left in (("first", 1), ("second", 0)):
        cluster.api.bind(cluster.api.create("pods", nvidia_pod(name, 1)), "gpu-a")
        wait_until(lambda: len(free()) == left, 30, f"{name} counts, and the other GPUs do not")
    fits, reasons = filter_says(tessera, nvidia_pod("asked", 1), ["gpu-a"], "/tessera")
    assert fits == [] and reasons.keys() == {"gpu-a"}
    cluster.api.delete("pods", "first")
    wait_until(lambda: len(free()) == 1, 30, "it is given back")
    assert filter_says(tessera, nvidia_pod("asked", 2), ["gpu-a"], "/tessera")[0] == []
    assert filter_says(tessera, nvidia_pod("asked", 1), ["gpu-a"], "/tessera")[0] == ["gpu-a"]


def keti_node(name, gpus, memory_mib):
    listed = [{"uuid": f"GPU-{name}-{index}", "memoryMib": memory_mib} for index in range(gpus)]
    return objects.node(name, {shares.KETI_GPU: gpus * 10}, annotations={
        "tessera.dev/gpus": json.dumps({"version": 1, "gpus": listed})})


def test_ketis_pods_get_uuids_and_memory(cluster, tessera):
    """Two of 8 GiB on each GPU of 16; kube-scheduler still sees slots when the memory is given out."""
    cluster.api.create("nodes", keti_node("gpu-k", 2, 16384))
    with Watcher(cluster) as watcher:
        cluster.api.create("pods", keti_pod("pair", 2, "8Gi"))
        pods_bound(cluster, 1)
        cluster.api.create_all("pods", [keti_pod(f"one-{index}", 1, "8Gi") for index in range(2)])
        pods = {pod["metadata"]["name"]: pod for pod in pods_bound(cluster, 3)}
        cluster.api.create("pods", keti_pod("too-much", 1, "1Gi"))
        assert "0/1 nodes are available" in waits_because(cluster, "too-much")
    assert watcher.bound == 3
    uuids = {name: objects.annotation(pod, "UUID").split(",") for name, pod in pods.items()}
    assert sorted(uuids["pair"]) == ["GPU-gpu-k-0", "GPU-gpu-k-1"]
    assert sorted(uuids["one-0"] + uuids["one-1"]) == sorted(uuids["pair"])
    assert tessera.answered("/tessera/bind") == 3
    check_books(cluster, tessera)
