"""The pages docs/move-from-*.md: their commands as a user would run them, on a real API server, and
the way back, by what the old extenders read of a pod.

There is no kubelet: whether a new copy starts, and traffic follows the Service, is not seen here.
"""

import os
import re
import shutil
import subprocess

import pytest

from conftest import check_books, pods_bound
from rig import deployment, objects, programs
from rig.process import wait_until
from rig.scheduler_config import elastic_extender, gpushare_extender
from rig.watcher import Watcher
from test_migration import old_elastic_pod, old_gpushare_pod

SYSTEM = "kube-system"
# page: the old Deployment and Service, the port of its container, and of the Service on every node
OLD = {"move-from-gpushare.md": ("gpushare-schd-extender", 12345, 32766),
       "move-from-co-scheml.md": ("gpushare-schd-extender", 12345, 32766),
       "move-from-elastic-gpu.md": ("elastic-gpu-scheduler", 39999, None)}


def section(page, heading):
    with open(os.path.join(programs.ROOT, "docs", page), encoding="utf-8") as file:
        found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", file.read(), re.M | re.S)
    assert found, f"{page} has no {heading}"
    return found.group(1)


def commands(page, heading):
    """The one block of commands of a section."""
    block, = re.findall(r"^ *```\n(.*?)^ *```", section(page, heading), re.MULTILINE | re.DOTALL)
    return block


@pytest.fixture
def user(cluster, tmp_path):
    """A function that runs a text in a shell with kubectl, its plugin and a kubeconfig."""
    path = f"{programs.control_plane()}:{os.path.dirname(programs.tessera())}:{os.environ['PATH']}"

    def run(text):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=tmp_path, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=dict(
                                  os.environ, PATH=path, KUBECONFIG=cluster.admin_kubeconfig))
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        return done.stdout
    return run


@pytest.fixture
def installed(user, tmp_path):
    """Tessera's manifests, applied as docs/extender.md says."""
    copy = tmp_path / "deploy" / "extender"
    shutil.copytree(os.path.join(programs.ROOT, "deploy", "extender"), copy)
    (copy / "signing.key").write_text("5f" * 32 + "\n")
    user("kubectl apply -k deploy/extender")
    yield
    user("kubectl delete -k deploy/extender")


def install_old(cluster, name, port, node_port):
    """What the old project's manifests make: a Deployment, and a Service that selects its pods."""
    labels = {"app": name.split("-")[0], "component": name}
    meta = {"name": name, "namespace": SYSTEM, "labels": labels}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [objects.container(name)]}}
    cluster.api.create("deployments", {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}})
    listening = {"name": "http", "port": port, "targetPort": port}
    if node_port:
        listening["nodePort"] = node_port
    kind = "NodePort" if node_port else "ClusterIP"
    cluster.api.create("services", {
        "apiVersion": "v1", "kind": "Service", "metadata": meta,
        "spec": {"type": kind, "selector": labels, "ports": [listening]}})


def replicas(cluster, name):
    return cluster.api.get("deployments", name, SYSTEM)["spec"]["replicas"]


@pytest.mark.parametrize("page", OLD)
def test_the_steps_lead_there_and_back(cluster, user, installed, page):
    name, port, node_port = OLD[page]
    install_old(cluster, name, port, node_port)
    before = cluster.api.get("services", name, SYSTEM)["spec"]
    try:
        user(commands(page, "Steps"))
        assert replicas(cluster, name) == 0
        service = cluster.api.get("services", name, SYSTEM)["spec"]
        template = cluster.api.get("deployments", "tessera-extender", SYSTEM)["spec"]["template"]
        selected, container = template["metadata"]["labels"], template["spec"]["containers"][0]
        assert service["selector"].items() <= selected.items(), "the Service finds Tessera's pods"
        changed = {**service["ports"][0], "targetPort": port}
        assert service["ports"][0]["targetPort"] == container["ports"][0]["containerPort"]
        assert [changed] == before["ports"], "the ports that kube-scheduler knows stay"
        assert service["clusterIP"] == before["clusterIP"]

        user(commands(page, "Back"))
        assert replicas(cluster, name) == 1
        assert cluster.api.get("services", name, SYSTEM)["spec"] == before
    finally:
        cluster.api.delete("services", name, SYSTEM)


@pytest.mark.parametrize("page", OLD)
def test_kube_scheduler_finds_the_services(cluster, installed, page):
    """The ports of the pages' and of deploy/'s configurations are those of the Services."""
    name, port, node_port = OLD[page]
    address, = re.findall(r"urlPrefix: http://[\d.]+:(\d+)/",
                          section(page, "kube-scheduler's configuration"))
    assert int(address) == (node_port or port)
    service = cluster.api.get("services", "tessera-extender", SYSTEM)["spec"]["ports"][0]
    deployed, = deployment.manifests("scheduler-config.yaml")
    assert f":{service['nodePort']}/" in deployed["extenders"][0]["urlPrefix"]


def test_what_the_old_one_placed_is_seen_before_the_change(cluster, user):
    """Steps 2 and 3: what runs is shown, as gpushare's plugin shows it and as foreign."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    old_gpushare_pod(cluster, "old-0", 10, device=0)
    old_gpushare_pod(cluster, "old-1", 12, device=1)
    shown = user("kubectl tessera inspect --gpushare")
    assert re.search(r"^gpu-a +127\.0\.0\.1 +10/16 +12/16 +22/32 *$", shown, re.MULTILINE), shown
    shown = user("kubectl tessera inspect -d")
    for name in ("old-0", "old-1"):
        row, = (line for line in shown.splitlines() if name in line)
        assert "foreign" in row, shown


def gpushare_reads(pods):
    """{(node, device): units} as gpushare and Co-scheML count them: by POD on the device of IDX, of
    pods that ask for units and have neither ended nor been deleted."""
    used = {}
    for pod in pods:
        ended = (pod["status"].get("phase") in ("Succeeded", "Failed")
                 or pod["metadata"].get("deletionTimestamp"))
        asks = any(objects.GPU_MEM in container.get("resources", {}).get("limits", {})
                   for container in pod["spec"]["containers"])
        if objects.is_bound(pod) and asks and not ended:
            device = int(objects.annotation(pod, "ALIYUN_COM_GPU_MEM_IDX"))
            key = pod["spec"]["nodeName"], device
            used[key] = used.get(key, 0) + int(objects.annotation(pod, "ALIYUN_COM_GPU_MEM_POD"))
    return used


@pytest.mark.parametrize("memory, sizes", [
    (16, [8, 6, 10, 5, 3, 9]), (16276, [8138, 300, 12207, 4069, 7000, 4000])], ids=["GiB", "MiB"])
def test_back_at_gpushare_nothing_is_over_committed(cluster, start_tessera, memory, sizes):
    """Tessera's pods count by their annotations alone, and the old way goes on with what is left."""
    cluster.api.create_all("nodes", [objects.gpushare_node(f"gpu-{name}", 2, memory) for name in "ab"])
    with Watcher(cluster) as watcher:
        tessera = start_tessera()
        cluster.start_scheduler([gpushare_extender(tessera.url)])
        cluster.api.create_all("pods", [objects.gpushare_pod(f"pod-{index}", units)
                                        for index, units in enumerate(sizes)])
        pods = pods_bound(cluster, len(sizes))
        # Its device plugin marks the pod that it has given a device, and changes its time.
        for pod in pods:
            assert objects.annotation(pod, "ALIYUN_COM_GPU_MEM_ASSIGNED") == "false"
            assert objects.annotation(pod, "ALIYUN_COM_GPU_MEM_ASSUME_TIME").isdecimal()
            cluster.api.patch("pods", pod["metadata"]["name"], {"metadata": {"annotations": {
                "ALIYUN_COM_GPU_MEM_ASSIGNED": "true",
                "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1700000000000000000"}}})
        check_books(cluster, tessera)
        tessera.stop()
        used = gpushare_reads(cluster.api.list("pods"))
        assert sum(used.values()) == sum(sizes)
        for node in ("gpu-a", "gpu-b"):
            for device in (0, 1):
                left = memory - used.get((node, device), 0)
                if left:
                    old_gpushare_pod(cluster, f"rest-{node}-{device}", left, device, node)
    assert watcher.bound == len(watcher.held)
    assert set(gpushare_reads(cluster.api.list("pods")).values()) == {memory}


def elastic_reads(pods):
    """{(node, card): number of containers} as Elastic GPU Scheduler finds them: by its label, then by
    the annotation of each container."""
    used = {}
    for pod in pods:
        if pod["metadata"].get("labels", {}).get("elasticgpu.io/assumed") != "true":
            continue
        assert objects.annotation(pod, "elasticgpu.io/assumed") == "true", "its agent asks for that"
        for container in pod["spec"]["containers"]:
            cards = objects.annotation(pod, f"elasticgpu.io/container-{container['name']}")
            for card in cards.split(","):
                key = pod["spec"]["nodeName"], int(card)
                used[key] = used.get(key, 0) + 1
    return used


def test_back_at_elastic_gpu_its_cards_are_known(cluster, start_tessera):
    cluster.api.create("nodes", objects.elastic_node("gpu-e", gpus=4, memory_mib=16384))
    with Watcher(cluster):
        tessera = start_tessera()
        cluster.start_scheduler([elastic_extender(tessera.url)])
        cluster.api.create("pods", objects.elastic_pod("pair", core=200))
        pods_bound(cluster, 1)
        cluster.api.create_all("pods", [objects.elastic_pod(f"part-{index}", core=50, memory=8192)
                                        for index in range(2)])
        pods_bound(cluster, 3)
        tessera.stop()
        used = elastic_reads(cluster.api.list("pods"))
        assert sorted(used.values()) == [1, 1, 2], "two whole cards, and one that two share"
        free, = (card for card in range(4) if ("gpu-e", card) not in used)
        old_elastic_pod(cluster, "rest", str(free), core=100)


def test_on_a_page_nothing_else_is_told_to_run():
    """Each command of a page is run above, or is known here."""
    known = ("kubectl inspect gpushare", "kubectl tessera inspect",
             "kubectl -n kube-system get pods -l app.kubernetes.io/component=extender",
             # Not here: there is no kubelet that would start a copy.
             "kubectl -n kube-system rollout status deployment/tessera-extender",
             # One line for each pod.
             "kubectl -n NAMESPACE label pod NAME elasticgpu.io/assumed=true")
    for page in OLD:
        for heading in ("Steps", "Back"):
            for told in re.findall(r"`(kubectl [^`]*)`", section(page, heading)):
                assert told.startswith(known), f"{page}: {told}"
