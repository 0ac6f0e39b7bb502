"""Fixtures of the end-to-end tests, and what happens when one fails or is interrupted."""

import contextlib
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from rig import objects, programs  # noqa: E402
from rig.control_plane import ControlPlane  # noqa: E402
from rig.process import die_with_parent, wait_until  # noqa: E402

TEST_SECONDS = 240


def pytest_addoption(parser):
    parser.addoption("--scale", action="store_true", help="the tests of 5,000 nodes and long faults")


def pytest_configure(config):
    config.addinivalue_line("markers", "scale: 5,000 nodes or long: only with --scale")
    if hasattr(config, "workerinput"):
        die_with_parent(os.getppid())
    # A polite end takes the same way as Ctrl-C: fixtures end what they started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    wanted = config.getoption("--scale")
    chosen = [item for item in items if bool(item.get_closest_marker("scale")) == wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for cluster in ControlPlane.alive:
            cluster.keep()
            report.sections.append(("logs", f"logs of this run are kept in {cluster.logs}"))


@pytest.fixture(autouse=True)
def time_limit(request):
    """No test hangs: after its time it fails, and its fixtures are cleaned up."""
    seconds = TEST_SECONDS * (8 if request.node.get_closest_marker("scale") else 1)

    def too_long(*_):
        raise TimeoutError(f"the test took more than {seconds} s")
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


@contextlib.contextmanager
def started_cluster(controller_manager=False, kwok=True):
    with ControlPlane(programs.control_plane(), controller_manager) as cluster:
        if kwok:
            cluster.start_kwok()
        yield cluster


@pytest.fixture(scope="module")
def shared_cluster():
    """One control plane with KWOK for the tests of a file."""
    with started_cluster() as cluster:
        yield cluster


@pytest.fixture
def cluster(shared_cluster):
    """The shared control plane, empty."""
    yield shared_cluster
    if "kube-scheduler" in shared_cluster.programs:
        shared_cluster.programs["kube-scheduler"].stop()
    shared_cluster.clear()


def unbound(cluster):
    return cluster.api.list("pods", query="fieldSelector=spec.nodeName%3D&resourceVersion=0")


def pods_bound(cluster, count, seconds=60, waiting=0):
    """All pods, when only `waiting` are not bound; a failure says why the others are not."""
    def why():
        left = unbound(cluster)
        reasons = {objects.condition(pod, "PodScheduled").get("message", "no condition")
                   for pod in left}
        return f"{count} pods bound; {len(left)} wait: {sorted(reasons)[:3]}; logs: {cluster.logs}"
    wait_until(lambda: len(unbound(cluster)) <= waiting, seconds, why, 0.1 if count < 200 else 1)
    pods = cluster.api.list("pods")
    assert sum(map(objects.is_bound, pods)) == count, why()
    return pods
