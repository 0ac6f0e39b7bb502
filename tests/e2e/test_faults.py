"""What goes wrong in a cluster: programs die at the worst moment, connections break, the API server
refuses. No share is lost, none is given twice, and pods are bound in the end."""

import random
import signal

import pytest

from conftest import check_books, pods_bound, unbound
from rig import objects
from rig.extender import question
from rig.fault_proxy import FaultProxy
from rig.process import free_port, wait_until
from rig.scheduler_config import gpushare_extender
from rig.watcher import Watcher

BINDING = r"/pods/[^/]+/binding$"
BIND = r"/gpushare-scheduler/bind$"


@pytest.fixture
def to_api(cluster):
    """Between Tessera and the API server."""
    with FaultProxy(cluster.server, cluster.authority) as proxy:
        yield proxy


@pytest.fixture
def to_tessera():
    """Between kube-scheduler and Tessera; led there by the test."""
    with FaultProxy("http://127.0.0.1:1") as proxy:
        yield proxy


@pytest.fixture
def watched(cluster):
    """Two GPUs of 16, and the checker over the whole test."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    with Watcher(cluster):
        yield


@pytest.fixture
def running(cluster, start_tessera, to_api, to_tessera, watched):
    """Tessera behind both proxies, called by a kube-scheduler that tries again every second."""
    tessera = start_tessera(server=to_api.url, listen=f"127.0.0.1:{free_port()}")
    to_tessera.lead_to(tessera.url)
    cluster.start_scheduler([gpushare_extender(to_tessera.url)], back_off=(1, 1))
    return tessera


def create(cluster, name, units):
    cluster.api.create("pods", objects.gpushare_pod(name, units))


def device_of(cluster, name):
    return objects.annotation(cluster.api.get("pods", name), "ALIYUN_COM_GPU_MEM_IDX")


def fill_what_is_left(cluster, seconds=60):
    """After pod `first` of 10 units: 16 and 6 must still fit, on the other GPU and beside it."""
    create(cluster, "sixteen", 16)
    create(cluster, "six", 6)
    pods_bound(cluster, 3, seconds)
    assert device_of(cluster, "six") == device_of(cluster, "first")
    assert device_of(cluster, "sixteen") != device_of(cluster, "first")


def test_killed_before_the_binding_is_sent(cluster, running, to_api):
    held = to_api.hold_request("POST", BINDING)
    create(cluster, "first", 10)
    held.wait()
    running.kill()
    held.drop()
    assert not objects.is_bound(cluster.api.get("pods", "first"))
    running.start()
    pods_bound(cluster, 1)
    fill_what_is_left(cluster)


def test_killed_when_the_binding_is_made_but_not_answered(cluster, running, to_api):
    held = to_api.hold_answer("POST", BINDING)
    create(cluster, "first", 10)
    held.wait()
    assert objects.is_bound(cluster.api.get("pods", "first"))
    running.kill()
    held.drop()
    running.start()
    fill_what_is_left(cluster)


def test_killed_when_kube_scheduler_is_not_told_yet(cluster, running, to_tessera):
    held = to_tessera.hold_answer("POST", BIND)
    create(cluster, "first", 10)
    held.wait()
    running.kill()
    held.drop()
    running.start()
    fill_what_is_left(cluster)


def test_killed_after_all_is_done(cluster, running):
    create(cluster, "first", 10)
    pods_bound(cluster, 1)
    running.kill()
    running.start()
    fill_what_is_left(cluster)


def test_killed_between_filter_and_bind(cluster, running, to_tessera):
    """The share that filter held is forgotten; bind finds one anew, or kube-scheduler asks again."""
    held = to_tessera.hold_request("POST", BIND)
    create(cluster, "first", 10)
    held.wait()
    running.kill()
    running.start()
    held.release()
    pods_bound(cluster, 1)
    fill_what_is_left(cluster)


def test_the_answer_to_a_binding_is_lost(cluster, running, to_api):
    """Tessera cannot know; it looks before it does anything again."""
    lost = to_api.drop_answer("POST", BINDING)
    create(cluster, "first", 10)
    pods_bound(cluster, 1)
    assert lost.hits == 1
    fill_what_is_left(cluster)


@pytest.mark.parametrize("status, headers", [
    (409, {}), (429, {"Retry-After": "1"}), (500, {}), (503, {})])
def test_the_api_server_refuses_a_binding(cluster, running, to_api, status, headers):
    refusal = to_api.answer("POST", BINDING, status, times=2, headers=headers)
    create(cluster, "first", 10)
    pods_bound(cluster, 1)
    assert refusal.hits == 2, "both were met, and the third was let through"
    fill_what_is_left(cluster)


def test_the_api_server_refuses_lists_at_the_start(cluster, start_tessera, to_api):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    rules = [to_api.answer("GET", r"/api/v1/pods$", 500, times=2),
             to_api.answer("GET", r"/api/v1/nodes$", 429, times=2, headers={"Retry-After": "1"}),
             to_api.drop_request("GET", r"/configmaps$", times=2)]
    tessera = start_tessera(server=to_api.url)
    assert all(rule.left == 0 for rule in rules)
    assert tessera.get_json("/gpushare-scheduler/inspect")["nodes"][0]["totalGPU"] == 32


def test_not_ready_before_everything_is_listed(cluster, start_tessera, to_api):
    """Deciding on half of the truth would over-commit: filter answers 503 until then."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    held = to_api.hold_request("GET", r"/api/v1/pods$")
    tessera = start_tessera(server=to_api.url, wait=False)
    held.wait()
    assert tessera.request("GET", "/healthz")[0] == 200
    assert tessera.request("GET", "/readyz")[0] == 503
    asked = question(objects.gpushare_pod("p", 1), ["gpu-a"])
    assert tessera.request("POST", "/tessera/filter", asked)[0] == 503
    status, body = tessera.request("POST", "/gpushare-scheduler/filter", asked)
    assert status == 200 and b"have not all been listed yet" in body, "as the original tells errors"
    held.release()
    wait_until(tessera.is_ready, 30, "ready once the pods are listed")


def test_watches_are_cut_again_and_again(cluster, running, to_api):
    """What happened while nothing was heard is learnt: a pod that went makes room."""
    create(cluster, "first", 16)
    create(cluster, "second", 16)
    pods_bound(cluster, 2)
    for turn in range(5):
        wait_until(lambda: to_api.cut_watches() >= 1, 30, "a watch is open")
        cluster.api.delete("pods", "first")
        wait_until(lambda: used_units(running) == 16, 30, "Tessera knows that the pod is gone")
        create(cluster, "first", 16)
        pods_bound(cluster, 2)


def used_units(tessera):
    return tessera.get_json("/gpushare-scheduler/inspect")["nodes"][0]["usedGPU"]


def test_a_watch_that_is_too_old_starts_anew(cluster, running, to_api):
    """410 Gone: what was missed is not told any more, so everything is listed again."""
    create(cluster, "first", 16)
    pods_bound(cluster, 1)
    lists = to_api.count("GET", r"/api/v1/pods\?(?!.*watch=)")
    gone = to_api.answer("GET", r"/api/v1/pods$", 410)
    wait_until(lambda: to_api.cut_watches() >= 1, 30, "a watch is open")
    cluster.api.delete("pods", "first")
    wait_until(lambda: used_units(running) == 0, 30, "Tessera knows that the pod is gone")
    assert gone.hits == 1
    assert to_api.count("GET", r"/api/v1/pods\?(?!.*watch=)") > lists


def test_an_old_view_parks_no_pod(cluster, running, to_api, to_tessera):
    """kube-scheduler learns that a GPU is free, asks, and Tessera has not heard of it yet."""
    create(cluster, "first", 16)
    create(cluster, "second", 16)
    pods_bound(cluster, 2)
    held = to_api.hold_request("GET", r"/api/v1/pods$", times=100)
    wait_until(lambda: to_api.cut_watches() >= 1, 30, "a watch is open")
    held.wait()
    cluster.api.delete("pods", "first")
    asked = to_tessera.count("POST", "/filter$")
    create(cluster, "third", 16)
    wait_until(lambda: to_tessera.count("POST", "/filter$") > asked, 30, "kube-scheduler has asked")
    held.release()
    pods_bound(cluster, 2, 20)


@pytest.mark.parametrize("kill", [False, True], ids=["in order", "by kill -9"])
def test_the_api_server_restarts(cluster, start_tessera, watched, kill):
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url)], back_off=(1, 1))
    create(cluster, "first", 10)
    pods_bound(cluster, 1)
    cluster.restart("kube-apiserver", kill)
    fill_what_is_left(cluster, 120)
    assert tessera.running


def test_kube_scheduler_restarts_in_the_middle_of_a_bind(cluster, running, to_api):
    held = to_api.hold_request("POST", BINDING)
    create(cluster, "first", 10)
    held.wait()
    cluster.restart("kube-scheduler", kill=True)
    held.release()
    pods_bound(cluster, 1)
    fill_what_is_left(cluster)


def test_kube_scheduler_gives_up_waiting(cluster, running, to_api):
    """The bind takes longer than httpTimeout, however often it is tried; the pod is bound once."""
    held = to_api.hold_request("POST", BINDING, times=100)
    create(cluster, "first", 10)
    held.wait()
    wait_until(lambda: failure_reported(cluster), 60, "kube-scheduler reports the time-out")
    held.release()
    pods_bound(cluster, 1)
    fill_what_is_left(cluster)


def failure_reported(cluster):
    return any(event["reason"] == "FailedScheduling" for event in cluster.api.list("events"))


def test_a_pod_made_again_under_the_same_name_is_another_pod(cluster, running, to_tessera):
    held = to_tessera.hold_request("POST", BIND)
    create(cluster, "first", 10)
    held.wait()
    cluster.api.delete("pods", "first")
    create(cluster, "first", 12)
    held.release()
    pods_bound(cluster, 1)
    assert objects.annotation(cluster.api.get("pods", "first"), "ALIYUN_COM_GPU_MEM_POD") == "12"
    check_books(cluster, running)


def test_sigterm_lets_a_bind_end(cluster, running, to_api, to_tessera):
    """The rival's fault: it goes on serving from a frozen cache. Ours ends the bind, then itself."""
    held = to_api.hold_answer("POST", BINDING)
    create(cluster, "first", 10)
    held.wait()
    running.signal(signal.SIGTERM)
    wait_until(lambda: not running.is_ready(), 10, "it says that it ends")
    held.release()
    wait_until(lambda: not running.running, 15, "it has ended")
    assert running.process.returncode == 0
    assert to_tessera.statuses(BIND)[200] == 1, "kube-scheduler heard that the pod is bound"
    running.start()
    fill_what_is_left(cluster)


def test_sigterm_ends_it_at_once_when_nothing_is_under_way(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a"))
    tessera = start_tessera()
    assert tessera.stop(10) == 0, tessera.log_end()


def a_fault(draw, cluster, tessera, to_api):
    """One of the faults above, in the middle of what happens to be under way; its name."""
    def kill_tessera():
        tessera.kill()
        tessera.start()
    faults = {
        "kill -9 of Tessera": kill_tessera,
        "watches cut": to_api.cut_watches,
        "kill -9 of the API server": lambda: cluster.restart("kube-apiserver", kill=True),
        "kill -9 of kube-scheduler": lambda: cluster.restart("kube-scheduler", kill=True),
        "bindings refused": lambda: to_api.answer("POST", BINDING, draw.choice([409, 429, 500]), 5),
        "bindings lost": lambda: to_api.drop_request("POST", BINDING, times=3),
        "answers lost": lambda: to_api.drop_answer("POST", BINDING, times=3),
        "slow bindings": lambda: to_api.delay("POST", BINDING, 3, times=3),
    }
    name = draw.choice(sorted(faults))
    faults[name]()
    return name


@pytest.mark.scale
def test_a_long_run_of_faults(cluster, start_tessera, to_api, to_tessera):
    """Pods come and go for forty rounds, with a fault in each."""
    draw = random.Random(11)
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{index}", gpus=4, memory=16)
                                     for index in range(10)])
    tessera = start_tessera(server=to_api.url, listen=f"127.0.0.1:{free_port()}")
    to_tessera.lead_to(tessera.url)
    cluster.start_scheduler([gpushare_extender(to_tessera.url)], back_off=(1, 1))
    with Watcher(cluster) as watcher:
        for turn in range(40):
            cluster.api.create_all("pods", [
                objects.gpushare_pod(f"pod-{turn}-{index}", draw.choice([2, 4, 8, 16]))
                for index in range(20)])
            print(turn, a_fault(draw, cluster, tessera, to_api))
            bound = [pod for pod in cluster.api.list("pods") if objects.is_bound(pod)]
            for pod in draw.sample(bound, min(len(bound), 18)):
                cluster.api.delete("pods", pod["metadata"]["name"])
        to_api.clear()
        for pod in unbound(cluster):
            cluster.api.delete("pods", pod["metadata"]["name"])
        check_books(cluster, tessera)
    assert watcher.bound > 400
