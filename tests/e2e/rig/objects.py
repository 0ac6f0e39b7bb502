"""Nodes and pods for the tests, as the clusters of the three projects would show them."""

import json

GPU_MEM = "aliyun.com/gpu-mem"
GPU_COUNT = "aliyun.com/gpu-count"
ELASTIC_CORE = "elasticgpu.io/gpu-core"
ELASTIC_MEMORY = "elasticgpu.io/gpu-memory"
TESSERA_GPU = "tessera.dev/gpu"
IMAGE = "registry.example/cuda:1"
# Pods with this label stay when they are deleted, as on a node whose kubelet takes its time.
SLOW_END = "e2e.tessera.dev/slow-end"
# Pods with this label run to their end as soon as they have started.
ENDS = "e2e.tessera.dev/ends"


def node(name, resources=None, labels=None, annotations=None, pods=110):
    amounts = {"cpu": "64", "memory": "256Gi", "pods": str(pods), "ephemeral-storage": "100Gi"}
    amounts.update({key: str(value) for key, value in (resources or {}).items()})
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": annotations or {},
                     "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {
            "capacity": amounts, "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"},
                          {"type": "Hostname", "address": name}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}


def gpushare_node(name, gpus=2, memory=16, **more):
    """`memory` units on each of `gpus` devices."""
    return node(name, {GPU_MEM: gpus * memory, GPU_COUNT: gpus}, **more)


def elastic_node(name, gpus=2, memory_mib=16384, **more):
    return node(name, {ELASTIC_CORE: gpus * 100, ELASTIC_MEMORY: gpus * memory_mib}, **more)


def tessera_node(name, memories_mib, **more):
    """A node whose devices are listed one by one, and may differ."""
    listed = {"version": 1, "gpus": [{"uuid": f"GPU-{name}-{index}", "memoryMib": memory}
                                     for index, memory in enumerate(memories_mib)]}
    return node(name, {TESSERA_GPU: len(memories_mib)},
                annotations={"tessera.dev/gpus": json.dumps(listed)}, **more)


def container(name="main", **limits):
    resources = {key: str(value) for key, value in limits.pop("limits", {}).items()}
    return {"name": name, "image": IMAGE, **({"resources": {"limits": resources}} if resources else {})}


def pod(name, limits=None, namespace="default", labels=None, annotations=None, containers=None, **spec):
    """A pod of one container with these limits, or of the given containers."""
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels or {},
                         "annotations": annotations or {}},
            "spec": {"containers": containers or [container(limits=limits or {})],
                     "terminationGracePeriodSeconds": 1, **spec}}


def gpushare_pod(name, units, **more):
    return pod(name, {GPU_MEM: units}, **more)


def elastic_pod(name, core=0, memory=0, **more):
    limits = {}
    if core:
        limits[ELASTIC_CORE] = core
    if memory:
        limits[ELASTIC_MEMORY] = memory
    return pod(name, limits, **more)


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def patient_class(name):
    """For pods that wait and never make another go."""
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": 0, "preemptionPolicy": "Never"}


def is_bound(a_pod):
    return bool(a_pod["spec"].get("nodeName"))


def annotation(a_pod, key):
    return a_pod["metadata"].get("annotations", {}).get(key)


def condition(a_pod, kind):
    """The condition of a pod, or {}."""
    for entry in a_pod.get("status", {}).get("conditions", []):
        if entry["type"] == kind:
            return entry
    return {}
