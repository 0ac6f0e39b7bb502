"""Two copies of the extender, one of which decides."""

import concurrent.futures
import contextlib
import hashlib
import hmac
import json
import secrets
import signal
import time

import pytest

from conftest import check_books, pods_bound
from rig import deployment, objects
from rig.extender import question
from rig.fault_proxy import FaultProxy
from rig.process import wait_until
from rig.scheduler_config import gpushare_extender
from rig.watcher import Watcher

ELECTION = ("--leader-elect", "--lease-namespace", deployment.NAMESPACE,
            "--lease-name", deployment.LEASE)
TAKE_OVER_SECONDS = 15


@contextlib.contextmanager
def two_copies(cluster, start_tessera, arguments):
    """(leader, follower), a Service in front of them, and the checker over all."""
    leader = start_tessera(arguments=arguments)
    follower = start_tessera(arguments=arguments, wait=False)
    with FaultProxy(leader.url) as service, Watcher(cluster):
        cluster.start_scheduler([gpushare_extender(service.url)], back_off=(1, 1))
        yield leader, follower, service
    lease = cluster.api.find("leases", deployment.LEASE, deployment.NAMESPACE)
    if lease:
        cluster.api.delete("leases", deployment.LEASE, deployment.NAMESPACE)


@pytest.fixture
def two(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    with two_copies(cluster, start_tessera, ELECTION) as copies:
        yield copies


def filter_status(tessera, units=1):
    asked = question(objects.gpushare_pod("asked", units), ["gpu-a"])
    return tessera.request("POST", "/tessera/filter", asked)[0]


def test_only_the_leader_is_ready(cluster, two):
    leader, follower, _ = two
    wait_until(lambda: follower.request("GET", "/healthz")[0] == 200, 30, "the follower is alive")
    assert leader.is_ready() and not follower.is_ready()
    assert filter_status(follower) == 503, "a follower decides nothing"
    status, body = follower.request("GET", "/readyz")
    assert status == 503 and b"lead" in body, body


def test_the_follower_takes_over_from_a_leader_that_was_killed(cluster, two, measured):
    leader, follower, service = two
    cluster.api.create("pods", objects.gpushare_pod("first", 10))
    pods_bound(cluster, 1)
    leader.kill()
    begin = time.monotonic()
    wait_until(follower.is_ready, TAKE_OVER_SECONDS, "the follower leads")
    service.lead_to(follower.url)
    measured(f"taken over after {time.monotonic() - begin:.1f} s")
    cluster.api.create_all("pods", [objects.gpushare_pod(name, units)
                                    for name, units in (("sixteen", 16), ("six", 6))])
    pods_bound(cluster, 3)


def test_a_leader_killed_in_the_middle_of_a_bind(cluster, two):
    """What it bound last is counted before the new leader decides anything."""
    leader, follower, service = two
    held = service.hold_answer("POST", "/bind$")
    cluster.api.create("pods", objects.gpushare_pod("first", 10))
    held.wait()
    leader.kill()
    held.drop()
    wait_until(follower.is_ready, TAKE_OVER_SECONDS, "the follower leads")
    service.lead_to(follower.url)
    cluster.api.create_all("pods", [objects.gpushare_pod(name, units)
                                    for name, units in (("sixteen", 16), ("six", 6))])
    pods_bound(cluster, 3)


def test_a_leader_that_stops_hands_over_at_once(cluster, two):
    leader, follower, service = two
    assert leader.stop(15) == 0
    wait_until(follower.is_ready, TAKE_OVER_SECONDS, "the follower leads")
    service.lead_to(follower.url)
    cluster.api.create("pods", objects.gpushare_pod("first", 10))
    pods_bound(cluster, 1)


def test_a_leader_that_slept_decides_nothing_any_more(cluster, two):
    """Stopped for longer than its lease: it wakes up as a follower, whatever it still holds."""
    leader, follower, service = two
    assert filter_status(leader, 16) == 200
    leader.signal(signal.SIGSTOP)
    try:
        wait_until(follower.is_ready, TAKE_OVER_SECONDS + 5, "the follower leads")
        service.lead_to(follower.url)
        cluster.api.create("pods", objects.gpushare_pod("first", 16))
        pods_bound(cluster, 1)
    finally:
        leader.signal(signal.SIGCONT)
    waiting = cluster.api.create("pods", objects.gpushare_pod("second", 16))
    bind = {"PodName": "second", "PodNamespace": "default", "PodUID": waiting["metadata"]["uid"],
            "Node": "gpu-a"}
    status, body = leader.request("POST", "/gpushare-scheduler/bind", bind)
    assert status == 500 and json.loads(body)["Error"], body
    assert not leader.is_ready()
    wait_until(lambda: b"this copy stands by" in leader.request("GET", "/readyz")[1], 30, "it follows")
    status, body = leader.request("POST", "/gpushare-scheduler/bind", bind)
    assert status == 500 and json.loads(body)["Error"].startswith("this copy stands by"), body
    pods_bound(cluster, 2)


def test_the_leader_is_killed_while_pods_arrive(cluster, start_tessera, tmp_path, measured):
    """Two copies as deploy/ starts them, and pods for every GiB of fifty nodes: some are bound, some on
    their way when the leader dies, and some come while nobody leads."""
    key = secrets.token_hex(32)
    (tmp_path / "key").write_text(key + "\n")
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", gpus=2, memory=16)
                                     for index in range(50)])
    pods = [objects.gpushare_pod(f"pod-{index}", 8) for index in range(200)]

    def bound():
        return sum(map(objects.is_bound, cluster.api.list("pods")))
    with (two_copies(cluster, start_tessera, deployment.arguments(tmp_path / "key")) as copies,
          concurrent.futures.ThreadPoolExecutor(1) as beside):
        leader, follower, service = copies
        arriving = beside.submit(cluster.api.create_all, "pods", pods[:150])
        wait_until(lambda: bound() >= 20, 30, "the leader has bound some", 0.01)
        leader.kill()
        measured(f"{bound()} of 200 pods were bound when the leader died")
        arriving.result()
        cluster.api.create_all("pods", pods[150:])
        wait_until(follower.is_ready, TAKE_OVER_SECONDS, "the follower leads")
        service.lead_to(follower.url)
        placed = pods_bound(cluster, 200)
        check_books(cluster, follower)
    for pod in placed:
        record = objects.annotation(pod, "tessera.dev/placement")
        made = hmac.new(key.encode(), record.encode(), hashlib.sha256).hexdigest()
        assert objects.annotation(pod, "tessera.dev/placement-signature") == f"v1:{made}"
