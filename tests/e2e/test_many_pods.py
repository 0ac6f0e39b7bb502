"""Thousands of pods: nothing over-committed at any time, and every pod placed that can be."""

import random

import pytest

from conftest import check_books, pods_bound, unbound
from rig import objects, shares
from rig.process import wait_until
from rig.scheduler_config import tessera_extender
from rig.watcher import Watcher

UNITS = 32   # GiB of each GPU
GPUS = 8


def start_scheduler(cluster, tessera):
    cluster.start_scheduler([tessera_extender(tessera.url)], percentage_of_nodes=100)


def settle(cluster, seconds=120):
    """The pods that wait, when kube-scheduler has tried every one and none moves any more."""
    last = []

    def settled():
        left = unbound(cluster)
        tried = all(objects.condition(pod, "PodScheduled").get("reason") == "Unschedulable"
                    for pod in left)
        names = sorted(pod["metadata"]["name"] for pod in left)
        same = tried and bool(last) and last[-1] == names
        last.append(names)
        return same
    wait_until(settled, seconds, "kube-scheduler has tried every pod", 2)
    return unbound(cluster)


def free_units(cluster):
    """The largest free share of any GPU, by the checker's own reading of the API."""
    left = shares.free(cluster.api.list("nodes"), cluster.api.list("pods"))
    return max(memory for _, memory in left.values()) // 1024


def fill_exactly(cluster, tessera, nodes, pods):
    """Pods of half a GPU's memory; as many as there is room for."""
    start_scheduler(cluster, tessera)
    half = UNITS // 2
    assert nodes * GPUS * 2 >= pods
    with Watcher(cluster) as watcher:
        cluster.api.create_all("pods", [objects.gpushare_pod(f"pod-{index}", half)
                                        for index in range(pods)])
        pods_bound(cluster, pods, 1200)
    assert watcher.bound == pods
    check_books(cluster, tessera)


def test_two_thousand_pods_on_a_thousand_nodes(cluster, start_tessera):
    """A quarter of the nodes have GPUs, and these are filled to the last GiB."""
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", GPUS, UNITS)
                                     for index in range(125)])
    cluster.api.create_all("nodes", [objects.node(f"cpu-{index}") for index in range(875)])
    tessera = start_tessera()
    fill_exactly(cluster, tessera, 125, 2000)
    assert free_units(cluster) == 0


@pytest.mark.scale
def test_ten_thousand_pods_on_five_thousand_nodes(cluster, start_tessera):
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", GPUS, UNITS)
                                     for index in range(5000)])
    tessera = start_tessera()
    fill_exactly(cluster, tessera, 5000, 10000)


def test_every_pod_is_placed_that_can_be(cluster, start_tessera):
    """More is asked than there is, in many sizes: who waits fits on no GPU at all."""
    draw = random.Random(4)
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", 4, UNITS)
                                     for index in range(20)])
    tessera = start_tessera()
    start_scheduler(cluster, tessera)
    sizes = [draw.randint(1, UNITS) for _ in range(250)]
    assert sum(sizes) > 20 * 4 * UNITS
    with Watcher(cluster):
        cluster.api.create_all("pods", [objects.gpushare_pod(f"pod-{index}", units)
                                        for index, units in enumerate(sizes)])
        waiting = settle(cluster)
    assert waiting, "some pods do not fit"
    smallest = min(shares.limit(pod["spec"]["containers"][0], objects.GPU_MEM) for pod in waiting)
    assert smallest > free_units(cluster)


def test_pods_that_come_and_go_over_commit_nothing(cluster, start_tessera):
    """Shares are given back and given out again, in all dialects at once, on a hundred nodes."""
    draw = random.Random(7)
    cluster.api.create_all("nodes", [
        *[objects.gpushare_node(f"share-{index}", 2, UNITS) for index in range(40)],
        *[objects.elastic_node(f"elastic-{index}", 2, 16384) for index in range(40)],
        *[objects.node(f"cpu-{index}") for index in range(20)]])
    tessera = start_tessera()
    start_scheduler(cluster, tessera)

    def a_pod(name):
        labels = {objects.ENDS: "true"} if draw.random() < 0.3 else {}
        if draw.random() < 0.5:
            return objects.gpushare_pod(name, draw.choice([4, 8, 16, 32]), labels=labels)
        core = draw.choice([20, 50, 100, 200])
        return objects.elastic_pod(name, core, 4096 if core < 100 else 0, labels=labels)
    with Watcher(cluster) as watcher:
        for wave in range(4):
            cluster.api.create_all("pods", [a_pod(f"wave-{wave}-{index}") for index in range(100)])
            running = [pod for pod in cluster.api.list("pods") if objects.is_bound(pod)]
            leaving = draw.sample(running, len(running) // 3)
            cluster.api.parallel(lambda pod: cluster.api.delete("pods", pod["metadata"]["name"]),
                                 leaving)
        waiting = settle(cluster)
    assert watcher.bound > 100
    check_books(cluster, tessera)
    # Whole cards may be scattered; the smallest shares always have room here.
    assert all(objects.ELASTIC_CORE in pod["spec"]["containers"][0]["resources"]["limits"] or
               shares.limit(pod["spec"]["containers"][0], objects.GPU_MEM) > 4 for pod in waiting)
