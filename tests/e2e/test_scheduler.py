"""Tessera as a scheduler of its own: pods that name it, or one of the schedulers it replaces, get a
place and are bound, their owners' objects untouched."""

import json
import os
import subprocess

import pytest

from conftest import pods_bound, started_cluster
from rig import objects, programs
from rig.extender import Tessera
from rig.process import wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
CARD = 16384
GTX = "NVIDIA-GeForce-GTX-1080"


@pytest.fixture(scope="module")
def shared_cluster():
    """With the controller-manager, which makes pods of Jobs."""
    with started_cluster(controller_manager=True) as cluster:
        yield cluster


@pytest.fixture
def start_scheduler(cluster):
    """A function that starts `tessera serve --scheduler`; ends it, too."""
    started = []

    def start(**more):
        program = Tessera(cluster, cluster.admin_kubeconfig, doors=("--scheduler",), **more)
        started.append(program)
        return program.start()
    yield start
    for program in started:
        program.kill()


def listed_node(name, gpus=2, model=None, **more):
    """A node whose devices its annotation lists."""
    node = objects.tessera_node(name, [CARD] * gpus, **more)
    listed = json.loads(node["metadata"]["annotations"]["tessera.dev/gpus"])
    for gpu in listed["gpus"]:
        if model:
            gpu["model"] = model
    node["metadata"]["annotations"]["tessera.dev/gpus"] = json.dumps(listed)
    return node


def native_pod(name, milli=None, **more):
    pod = objects.pod(name, {objects.TESSERA_GPU: 1}, schedulerName="tessera", **more)
    if milli:
        pod["metadata"]["annotations"].update({"tessera.dev/gpu-milli": str(milli),
                                               "tessera.dev/gpu-memory-mib": str(CARD * milli // 1000)})
    return pod


def apply(cluster, sample):
    wait_until(lambda: cluster.api.find("serviceaccounts", "default", "default"), 30,
               "the namespace has its service account")
    done = subprocess.run([os.path.join(programs.control_plane(), "kubectl"), "--kubeconfig",
                           cluster.admin_kubeconfig, "apply", "-f", os.path.join(HERE, "samples", sample)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def bound_pods(cluster, count):
    return wait_until(lambda: (lambda pods: len(pods) == count and all(map(objects.is_bound, pods)) and pods)(
        cluster.api.list("pods", "default")), 60, f"{count} pods are bound")


def record(pod):
    """Our record on a bound pod; it is about this very pod, on its node."""
    found = json.loads(objects.annotation(pod, "tessera.dev/placement"))
    assert found["node"] == pod["spec"]["nodeName"]
    assert found["owner"] == f"default/{pod['metadata']['name']}/{pod['metadata']['uid']}"
    return found


def events_of(cluster, pod, reason):
    return [event for event in cluster.api.list("events", "default")
            if event["involvedObject"].get("uid") == pod["metadata"]["uid"] and event["reason"] == reason]


def test_shares_and_whole_gpus_are_bound_and_told(cluster, start_scheduler):
    cluster.api.create("nodes", listed_node("gpu-a", gpus=2))
    start_scheduler()
    made = cluster.api.create_all("pods", [native_pod("half-1", 500), native_pod("half-2", 500),
                                           native_pod("whole")])
    pods = {pod["metadata"]["name"]: pod for pod in bound_pods(cluster, 3)}
    assert {pod["metadata"]["uid"] for pod in pods.values()} == {pod["metadata"]["uid"] for pod in made}
    grants = {name: record(pod)["grants"][0] for name, pod in pods.items()}
    assert grants["half-1"]["gpu"] == grants["half-2"]["gpu"] != grants["whole"]["gpu"]
    for name, pod in pods.items():
        event, = wait_until(lambda: events_of(cluster, pod, "Scheduled"), 30, "the event is written")
        assert event["message"] == f"Successfully assigned default/{name} to gpu-a"
        assert event["metadata"]["name"].startswith(name) and event["type"] == "Normal"


def test_who_does_not_fit_is_told_once_and_goes_when_there_is_room(cluster, start_scheduler):
    cluster.api.create("nodes", listed_node("gpu-a", gpus=1))
    start_scheduler()
    cluster.api.create("pods", native_pod("first"))
    pods_bound(cluster, 1)
    second = cluster.api.create("pods", native_pod("second", 250))
    condition = wait_until(lambda: objects.condition(cluster.api.get("pods", "second"), "PodScheduled"),
                           30, "it has the condition")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"].startswith("0/1 nodes are available: 1 "), condition["message"]
    event, = wait_until(lambda: events_of(cluster, second, "FailedScheduling"), 30, "it has an event")
    assert event["message"] == condition["message"] and event["type"] == "Warning"
    cluster.api.delete("pods", "first")
    wait_until(lambda: objects.is_bound(cluster.api.get("pods", "second")), 30, "it has its place")
    assert len(events_of(cluster, second, "FailedScheduling")) == 1


def test_the_more_important_pod_goes_first_and_others_are_left_alone(cluster, start_scheduler):
    cluster.api.create("nodes", listed_node("gpu-a", gpus=1))
    wait_until(lambda: cluster.api.find("serviceaccounts", "default"), 30, "pods can be made")
    cluster.api.create("pods", native_pod("low"))
    cluster.api.create("pods", native_pod("high", priorityClassName="system-cluster-critical",
                                          namespace="kube-system"))
    cluster.api.create("pods", objects.pod("other", {objects.TESSERA_GPU: 1}))
    start_scheduler()
    wait_until(lambda: objects.is_bound(cluster.api.get("pods", "high", "kube-system")), 30, "high is bound")
    wait_until(lambda: objects.condition(cluster.api.get("pods", "low"), "PodScheduled"), 30, "low waits")
    other = cluster.api.get("pods", "other")
    assert not objects.is_bound(other) and not objects.condition(other, "PodScheduled")


def test_kubeshares_pod_gets_half_of_a_gpu_of_its_model(cluster, start_scheduler):
    labels = {"SharedGPU": "true"}
    cluster.api.create("nodes", listed_node("other-model", model="NVIDIA-A100", labels=labels))
    cluster.api.create("nodes", listed_node("right-model", model=GTX, labels=labels))
    start_scheduler()
    apply(cluster, "kubeshare-pod.yaml")
    pod, = bound_pods(cluster, 1)
    grant, = record(pod)["grants"]
    assert pod["spec"]["nodeName"] == "right-model"
    assert (grant["milli"], grant["memoryMib"]) == (500, CARD // 2)
    notes = pod["metadata"]["annotations"]
    assert notes["sharedgpu/gpu_uuid"] == f"GPU-right-model-{grant['gpu']}"
    assert notes["sharedgpu/gpu_model"] == GTX
    assert notes["sharedgpu/gpu_mem"] == str(CARD // 2 << 20)
    assert 50051 <= int(notes["sharedgpu/gpu_manager_port"]) <= 50561


def test_kubeshares_job_runs_all_of_its_group(cluster, start_scheduler):
    cluster.api.create_all("nodes", [listed_node(f"gpu-{letter}", model=GTX, labels={"SharedGPU": "true"})
                                     for letter in "abc"])
    start_scheduler()
    apply(cluster, "kubeshare-job.yaml")
    pods = bound_pods(cluster, 5)
    assert all(record(pod)["grants"][0]["milli"] == 500 for pod in pods)
    assert all(pod["metadata"]["ownerReferences"][0]["kind"] == "Job" for pod in pods)
    ports = [(pod["spec"]["nodeName"], objects.annotation(pod, "sharedgpu/gpu_manager_port")) for pod in pods]
    assert len(set(ports)) == 5, "a port is one pod's on a node"


def test_ketis_job_gets_a_device_by_its_uuid(cluster, start_scheduler):
    node = listed_node("gpu-k", labels={"gpu": "on"})
    for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
        amounts["keti.com/mpsgpu"] = "20"
    cluster.api.create("nodes", node)
    start_scheduler()
    apply(cluster, "keti-job.yaml")
    pod, = bound_pods(cluster, 1)
    grant, = record(pod)["grants"]
    assert objects.annotation(pod, "UUID") == f"GPU-gpu-k-{grant['gpu']}"


def test_a_job_of_the_resource_aware_scheduler_gets_its_memory(cluster, start_scheduler):
    cluster.api.create("nodes", listed_node("gpu-a"))
    start_scheduler()
    apply(cluster, "kube-knots-job.yaml")
    pod, = bound_pods(cluster, 1)
    grant, = record(pod)["grants"]
    assert grant["memoryMib"] == 4000


def test_the_ordinary_rules_between_pods_hold(cluster, start_scheduler):
    """Anti-affinity, spreading over zones, host ports: as with kube-scheduler, by the API server's own
    pods."""
    for name, zone in (("a", "east"), ("b", "east"), ("c", "west")):
        cluster.api.create("nodes", listed_node(name, labels={"zone": zone}))
    start_scheduler()
    one_a_node = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}]}}
    spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": {"app": "even"}}}]
    for index in range(4):
        cluster.api.create("pods", native_pod(f"web-{index}", 100, labels={"app": "web"}, affinity=one_a_node))
        cluster.api.create("pods", native_pod(f"even-{index}", 100, labels={"app": "even"},
                                              topologySpreadConstraints=spread))
        port = objects.container(limits={"cpu": "100m"})
        port["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        cluster.api.create("pods", objects.pod(f"port-{index}", containers=[port], schedulerName="tessera"))

    def nodes_of(prefix):
        return sorted(pod["spec"].get("nodeName", "") for pod in cluster.api.list("pods", "default")
                      if pod["metadata"]["name"].startswith(prefix))
    wait_until(lambda: nodes_of("web") == ["", "a", "b", "c"], 30, lambda: f"one a node: {nodes_of('web')}")
    wait_until(lambda: nodes_of("port") == ["", "a", "b", "c"], 30, lambda: f"one a node: {nodes_of('port')}")
    wait_until(lambda: "" not in nodes_of("even"), 30, "all that are spread are bound")
    assert sum(node == "c" for node in nodes_of("even")) == 2, "two in each zone"
    waiting, = [pod for pod in cluster.api.list("pods", "default")
                if pod["metadata"]["name"].startswith("web") and not objects.is_bound(pod)]
    message = wait_until(lambda: objects.condition(cluster.api.get("pods", waiting["metadata"]["name"]),
                                                   "PodScheduled").get("message"), 30, "it is told why")
    assert message.startswith("0/3 nodes are available: 3 "), message


def test_extender_and_scheduler_share_one_ledger(cluster, start_scheduler):
    """What the one has given out the other does not give again."""
    cluster.api.create("nodes", listed_node("gpu-a", gpus=1))
    program = start_scheduler(arguments=("--extender",))
    cluster.api.create("pods", native_pod("mine", 600))
    bound_pods(cluster, 1)
    asked = objects.pod("theirs", {objects.TESSERA_GPU: 1})
    asked["metadata"].update({"uid": "theirs", "annotations": {"tessera.dev/gpu-milli": "500",
                                                               "tessera.dev/gpu-memory-mib": "1024"}})
    status, body = program.request("POST", "/tessera/filter",
                                   {"Pod": asked, "Nodes": None, "NodeNames": ["gpu-a"]})
    answer = json.loads(body)
    assert status == 200 and answer["NodeNames"] == [] and "gpu-a" in answer["FailedNodes"]


def test_without_the_extender_its_routes_are_not_there(cluster, start_scheduler):
    program = start_scheduler()
    status, body = program.request("POST", "/tessera/filter", {})
    assert status == 404 and b"--extender" in body
    assert program.request("GET", "/tessera/inspect")[0] == 200
