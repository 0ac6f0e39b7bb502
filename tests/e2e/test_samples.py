"""What users of gpushare, Co-scheML and Elastic GPU have works unchanged: their manifests, their
scheduler configuration, the annotations their device plugins read, and the views they look at."""

import json
import os
import re
import subprocess
import time

import pytest

from conftest import pods_bound, started_cluster
from rig import objects, programs
from rig.process import wait_until
from rig.scheduler_config import elastic_extender, gpushare_extender
from rig.watcher import Watcher

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture(scope="module")
def shared_cluster():
    """With the controller-manager, which makes pods of Deployments."""
    with started_cluster(controller_manager=True) as cluster:
        yield cluster


def kubectl(cluster, *words):
    command = [os.path.join(programs.control_plane(), "kubectl"), "--kubeconfig",
               cluster.admin_kubeconfig, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def apply_sample(cluster, name, namespace):
    if not cluster.api.find("namespaces", namespace):
        cluster.api.create("namespaces", objects.namespace(namespace))
    wait_until(lambda: cluster.api.find("serviceaccounts", "default", namespace), 30,
               "the namespace has its service account")
    kubectl(cluster, "apply", "-n", namespace, "-f", os.path.join(HERE, "samples", name))


def pod_of(cluster, namespace):
    pods = wait_until(lambda: [pod for pod in cluster.api.list("pods", namespace)
                               if objects.is_bound(pod)], 30, f"a pod of {namespace} is bound")
    return pods[0]


def check_gpushare_annotations(pod, units, device_units):
    """The five keys of the contract; the device plugin finds its pod by them."""
    keys = {key: value for key, value in pod["metadata"]["annotations"].items()
            if key.startswith("ALIYUN_COM_GPU_MEM_")}
    assumed = int(keys.pop("ALIYUN_COM_GPU_MEM_ASSUME_TIME"))
    assert abs(assumed / 1e9 - time.time()) < 300, "nanoseconds since 1970"
    device = keys.pop("ALIYUN_COM_GPU_MEM_IDX")
    assert device in ("0", "1")
    assert keys == {"ALIYUN_COM_GPU_MEM_POD": str(units), "ALIYUN_COM_GPU_MEM_DEV": str(device_units),
                    "ALIYUN_COM_GPU_MEM_ASSIGNED": "false"}
    return int(device)


def check_record(pod):
    record = json.loads(objects.annotation(pod, "tessera.dev/placement"))
    assert record["node"] == pod["spec"]["nodeName"]
    assert record["owner"].endswith("/" + pod["metadata"]["uid"])
    return record


@pytest.mark.parametrize("sample, memory, units", [
    ("gpushare-pod.yaml", 16, 8),
    ("co-scheml-pod.yaml", 16276, 300),
])
def test_a_pod_of_gpushare_gets_a_device(cluster, start_tessera, sample, memory, units):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=memory))
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url)])
    with Watcher(cluster):
        apply_sample(cluster, sample, "lab")
        pod = pod_of(cluster, "lab")
    device = check_gpushare_annotations(pod, units, memory)
    assert check_record(pod)["grants"][0]["gpu"] == device

    shown = tessera.get_json("/gpushare-scheduler/inspect")
    assert shown == tessera.get_json("/gpushare-scheduler/inspect/gpu-a")
    node, = shown["nodes"]
    assert (node["name"], node["totalGPU"], node["usedGPU"]) == ("gpu-a", 2 * memory, units)
    assert [entry["id"] for entry in node["devs"]] == [0, 1]
    used = node["devs"][device]
    assert (used["totalGPU"], used["usedGPU"]) == (memory, units)
    assert used["pods"] == [{"name": pod["metadata"]["name"], "namespace": "lab", "usedGPU": units}]


def test_deployments_of_elastic_gpu_get_their_cards(cluster, start_tessera):
    """Both samples have one name, so each is in a namespace of its own."""
    cluster.api.create("nodes", objects.elastic_node("gpu-e", gpus=4, memory_mib=16384))
    tessera = start_tessera()
    cluster.start_scheduler([elastic_extender(tessera.url)])
    with Watcher(cluster):
        apply_sample(cluster, "elastic-gpu-memory.yaml", "shares")
        apply_sample(cluster, "elastic-gpu-core.yaml", "whole-cards")
        shares, whole = pod_of(cluster, "shares"), pod_of(cluster, "whole-cards")
    for pod in (shares, whole):
        assert objects.annotation(pod, "elasticgpu.io/assumed") == "true"
        assert pod["metadata"]["labels"]["elasticgpu.io/assumed"] == "true"
        check_record(pod)
    card = int(objects.annotation(shares, "elasticgpu.io/container-cuda"))
    cards = [int(word) for word in objects.annotation(whole, "elasticgpu.io/container-cuda").split(",")]
    assert len(set(cards)) == 2 and card not in cards

    status = tessera.get_json("/scheduler/status")
    listed = json.loads(status["elasticgpu.io/gpu-memory"])["gpu-e"]
    assert [entry["CoreTotal"] for entry in listed] == [100] * 4
    assert [entry["MemoryTotal"] for entry in listed] == [16384] * 4
    for index, entry in enumerate(listed):
        core = 0 if index in cards else 100
        memory = 0 if index in cards else 16384 - (256 if index == card else 0)
        assert (entry["CoreAvailable"], entry["MemoryAvailable"]) == (core, memory), index


def test_kubectl_sees_why_a_pod_waits(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url)])
    cluster.api.create("pods", objects.gpushare_pod("too-large", 20))  # 32 on the node, 16 on a GPU
    def message():
        pod = cluster.api.get("pods", "too-large")
        return objects.condition(pod, "PodScheduled").get("message")
    text = wait_until(message, 30, "kube-scheduler says why")
    assert text.startswith("0/1 nodes are available: 1 the whole GPU has less memory than the pod "
                           "asks for"), text


def test_the_inspect_command_shows_pods_and_devices(cluster, start_tessera):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    tessera = start_tessera()
    cluster.start_scheduler([gpushare_extender(tessera.url)])
    cluster.api.create("pods", objects.gpushare_pod("one", 8))
    pods_bound(cluster, 1)
    def shown(*words):
        done = subprocess.run([programs.tessera(), "inspect", "--kubeconfig", cluster.admin_kubeconfig,
                               *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout
        return done.stdout
    assert "8/32 (25%)" in shown("--gpushare")
    for words, line in ((["--gpushare"], r"gpu-a +127\.0\.0\.1 +8/16 +0/16 +8/32 *"),
                        (["--gpushare", "-d"], r"one +default +8 +0 *"),
                        ([], r"gpu-a +127\.0\.0\.1 +8/16 +0/16 +8/32 +0/2"),
                        (["-d"], r"0 +- +8/16 +default +one +\* +8 +0% +confirmed")):
        assert re.search(rf"^{line}$", shown(*words), re.MULTILINE), shown(*words)
    seen = json.loads(shown("--json"))
    assert seen["nodes"] == tessera.get_json("/tessera/inspect")["nodes"]
