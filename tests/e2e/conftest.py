"""Fixtures of the end-to-end tests, and what happens when one fails or is interrupted."""

import contextlib
import os
import signal
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from rig import deployment, objects, programs, shares  # noqa: E402
from rig.control_plane import ControlPlane  # noqa: E402
from rig.extender import Tessera  # noqa: E402
from rig.process import die_with_parent, wait_until  # noqa: E402

TEST_SECONDS = 240
SCALE_SECONDS = 1500


def in_main_thread():
    """Only there are signals handled. A worker of xdist now and then runs its tests elsewhere."""
    return threading.current_thread() is threading.main_thread()


def pytest_addoption(parser):
    parser.addoption("--scale", action="store_true", help="the tests of 5,000 nodes and long faults")


def pytest_configure(config):
    config.addinivalue_line("markers", "scale: 5,000 nodes or long: only with --scale")
    if hasattr(config, "workerinput"):
        die_with_parent(os.getppid())
    # A polite end takes the same way as Ctrl-C: fixtures end what they started.
    if in_main_thread():
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


def pytest_terminal_summary(terminalreporter):
    """What tests measured, of those that passed, too: build/log/e2e.log has it at its end."""
    lines = [f"{report.nodeid}: {value}" for report in terminalreporter.getreports("")
             if getattr(report, "when", "") == "teardown"
             for name, value in report.user_properties if name == "measured"]
    if lines:
        terminalreporter.section("measured")
    for line in lines:
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def time_limit(request):
    """No test hangs: after its time it fails, and its fixtures are cleaned up."""
    if not in_main_thread():
        yield
        return
    seconds = SCALE_SECONDS if request.node.get_closest_marker("scale") else TEST_SECONDS

    def too_long(*_):
        raise TimeoutError(f"the test took more than {seconds} s")
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


@pytest.fixture
def measured(request):
    """A function that puts a line into the summary of the run."""
    return lambda line: request.node.user_properties.append(("measured", line))


@contextlib.contextmanager
def started_cluster(controller_manager=False, kwok=True, audit=False):
    with ControlPlane(programs.control_plane(), controller_manager, audit) as cluster:
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
    """The shared control plane, empty: what the test before left is taken away now."""
    if "kube-scheduler" in shared_cluster.programs:
        shared_cluster.programs["kube-scheduler"].stop()
    shared_cluster.clear()
    yield shared_cluster


@pytest.fixture
def start_tessera(cluster):
    """A function that starts `tessera serve --extender` under the roles of deploy/; ends it, too."""
    started = []

    def start(server=None, wait=True, **more):
        name = "tessera" if not started else f"tessera-{len(started) + 1}"
        program = Tessera(cluster, deployment.kubeconfig(cluster, server), name=name, **more)
        started.append(program)
        return program.start(wait)
    yield start
    for program in started:
        program.kill()


def check_books(cluster, tessera, seconds=60):
    """Tessera's own view is what the API says: no share is lost, none is still held."""
    def difference():
        left = shares.free(cluster.api.list("nodes"), cluster.api.list("pods"))
        shown = {(node["name"], gpu["index"]): [gpu["milli"]["free"], gpu["memoryMib"]["free"]]
                 for node in tessera.get_json("/tessera/inspect")["nodes"] for gpu in node["gpus"]}
        return {key: (shown.get(key), left.get(key)) for key in shown.keys() | left.keys()
                if shown.get(key) != left.get(key)}
    wait_until(lambda: not difference(), seconds,
               lambda: f"Tessera and the API agree; (Tessera's, API's): {difference()}", 0.5)


def unbound(cluster, most=0):
    """Pods without a node; `most` of them, where that is enough to know."""
    return cluster.api.list("pods", query=f"fieldSelector=spec.nodeName%3D&limit={most}")


def pods_bound(cluster, count, seconds=60, waiting=0):
    """All pods, when only `waiting` are not bound; a failure says why the others are not."""
    def why():
        left = unbound(cluster)
        reasons = {objects.condition(pod, "PodScheduled").get("message", "no condition")
                   for pod in left}
        return f"{count} pods bound; {len(left)} wait: {sorted(reasons)[:3]}; logs: {cluster.logs}"
    wait_until(lambda: len(unbound(cluster, waiting + 1)) <= waiting, seconds, why,
               0.1 if count < 200 else 1)
    pods = cluster.api.list("pods")
    assert sum(map(objects.is_bound, pods)) == count, why()
    return pods
