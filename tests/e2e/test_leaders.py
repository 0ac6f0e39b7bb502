"""Two copies of the extender, one of which decides."""

import signal
import time

import pytest

from conftest import pods_bound
from rig import deployment, objects
from rig.extender import question
from rig.fault_proxy import FaultProxy
from rig.process import wait_until
from rig.scheduler_config import gpushare_extender
from rig.watcher import Watcher

ELECTION = ("--leader-elect", "--lease-namespace", deployment.NAMESPACE,
            "--lease-name", deployment.LEASE)
TAKE_OVER_SECONDS = 15


@pytest.fixture
def two(cluster, start_tessera):
    """(leader, follower), a Service in front of them, and the checker over all."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    leader = start_tessera(arguments=ELECTION)
    follower = start_tessera(arguments=ELECTION, wait=False)
    with FaultProxy(leader.url) as service, Watcher(cluster):
        cluster.start_scheduler([gpushare_extender(service.url)], back_off=(1, 1))
        yield leader, follower, service
    lease = cluster.api.find("leases", deployment.LEASE, deployment.NAMESPACE)
    if lease:
        cluster.api.delete("leases", deployment.LEASE, deployment.NAMESPACE)


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


def test_the_follower_takes_over_from_a_leader_that_was_killed(cluster, two):
    leader, follower, service = two
    cluster.api.create("pods", objects.gpushare_pod("first", 10))
    pods_bound(cluster, 1)
    leader.kill()
    begin = time.monotonic()
    wait_until(follower.is_ready, TAKE_OVER_SECONDS, "the follower leads")
    service.lead_to(follower.url)
    print(f"taken over after {time.monotonic() - begin:.1f} s")
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
    assert leader.request("POST", "/gpushare-scheduler/bind", bind)[0] != 200
    assert not leader.is_ready()
    pods_bound(cluster, 2)
