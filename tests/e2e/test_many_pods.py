"""Thousands of pods: nothing over-committed at any time, and every pod placed that can be."""

import datetime
import random
import time

import pytest

from conftest import check_books, unbound
from rig import objects, shares
from rig.process import wait_until
from rig.scheduler_config import tessera_extender
from rig.watcher import Watcher

UNITS = 32   # GiB of each GPU
FILTER = "/tessera/filter"
PATIENT = "patient"


def start_scheduler(cluster, tessera, back_off=(1, 10), **more):
    cluster.start_scheduler([tessera_extender(tessera.url, **more)], percentage_of_nodes=100,
                            back_off=back_off)


def settle(cluster, seconds=120, pause=2):
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
    wait_until(settled, seconds, "kube-scheduler has tried every pod", pause)
    return unbound(cluster)


def free_units(cluster):
    """The largest free share of any GPU, by the checker's own reading of the API."""
    left = shares.free(cluster.api.list("nodes"), cluster.api.list("pods"))
    return max(memory for _, memory in left.values()) // 1024


def wanted_units(pod):
    return shares.limit(pod["spec"]["containers"][0], objects.GPU_MEM)


def placeable(cluster):
    """Pods of gpushare and Elastic GPU that wait though a node has room, as the checker reads it."""
    left = shares.free(cluster.api.list("nodes"), cluster.api.list("pods"))

    def has_room(pod, node):
        free = [amounts for (name, _), amounts in left.items() if name == node]
        container = pod["spec"]["containers"][0]
        if units := wanted_units(pod):
            return node.startswith("share-") and any(memory >= units * 1024 for _, memory in free)
        core = shares.limit(container, objects.ELASTIC_CORE)
        memory = shares.limit(container, objects.ELASTIC_MEMORY)
        if core >= 100:
            whole = [one for one in free if one == [shares.WHOLE, 16384]]
            return node.startswith("elastic-") and len(whole) >= core // 100
        return node.startswith("elastic-") and any(
            milli >= core * 10 and mib >= memory for milli, mib in free)
    nodes = {name for name, _ in left}
    return [pod["metadata"]["name"] for pod in unbound(cluster)
            if any(has_room(pod, node) for node in nodes)]


def seconds_to_bind(pods):
    """By the API server's clock: from the first pod that was created to the last that was bound."""
    first = min(pod["metadata"]["creationTimestamp"] for pod in pods)
    last = max(objects.condition(pod, "PodScheduled")["lastTransitionTime"] for pod in pods)
    took = datetime.datetime.fromisoformat(last) - datetime.datetime.fromisoformat(first)
    return max(took.total_seconds(), 1)


def fill_to_the_brim(cluster, tessera, measured, nodes, pods, seconds):
    """One GPU of 16 on each node, and pods of 4 to 14: an eighth more than there is. kube-scheduler
    is told not to count the resource, so that nothing but Tessera keeps pods from an occupied GPU.

    Who does not fit looks for no victims (all have one priority, and kube-scheduler would try every
    node), and after a few times is not tried again within a minute.
    """
    draw = random.Random(nodes)
    if not cluster.api.find("priorityclasses", PATIENT):
        cluster.api.create("priorityclasses", objects.patient_class(PATIENT))
    start_scheduler(cluster, tessera, (1, 60), ignored_by_scheduler=True)
    sizes = [draw.randint(4, 14) for _ in range(pods)]
    assert sum(sizes) > nodes * 16
    with Watcher(cluster, expect_violations=True) as watcher:  # to report first, then fail
        begin = time.monotonic()
        cluster.api.create_all("pods", [
            objects.gpushare_pod(f"pod-{index}", units, priorityClassName=PATIENT)
            for index, units in enumerate(sizes)])
        waiting = settle(cluster, seconds, 2 if pods < 5000 else 10)
        settled = time.monotonic() - begin
    bound = list(filter(objects.is_bound, cluster.api.list("pods")))
    binding = seconds_to_bind(bound)
    measured(f"{pods} pods on {nodes} nodes: {len(bound)} bound in {binding:.0f} s, "
             f"{len(bound) / binding:.0f} pods/s; {len(waiting)} pending, all tried after "
             f"{settled:.0f} s and {tessera.answered(FILTER)} filters; "
             f"{sum(map(wanted_units, bound))} of {nodes * 16} GiB given out, "
             f"{len(watcher.violations)} over-commits in {watcher.events} events")
    assert not watcher.violations, watcher.describe()
    assert watcher.bound == len(bound) == pods - len(waiting)
    assert waiting, "more is asked than there is"
    room = free_units(cluster)
    assert [pod["metadata"]["name"] for pod in waiting if wanted_units(pod) <= room] == []
    check_books(cluster, tessera)


def gpu_on_every_node(cluster, nodes):
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", gpus=1, memory=16)
                                     for index in range(nodes)])


def test_two_thousand_pods_fill_a_thousand_nodes(cluster, start_tessera, measured):
    gpu_on_every_node(cluster, 1000)
    fill_to_the_brim(cluster, start_tessera(), measured, 1000, 2000, 120)


@pytest.mark.scale
def test_ten_thousand_pods_fill_five_thousand_nodes(cluster, start_tessera, measured):
    gpu_on_every_node(cluster, 5000)
    fill_to_the_brim(cluster, start_tessera(), measured, 5000, 10000, 1200)


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
    assert min(map(wanted_units, waiting)) > free_units(cluster)


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
        settle(cluster)
    assert watcher.bound > 100
    check_books(cluster, tessera)
    # One that ends now makes room, and kube-scheduler needs a moment.
    wait_until(lambda: not placeable(cluster), 30, lambda: f"{placeable(cluster)} could be placed", 1)
