"""The manifests of deploy/extender/ are what a real API server and kube-scheduler accept."""

import os
import re
import subprocess

import yaml

from rig import deployment, objects, programs
from rig.extender import Tessera
from rig.process import Program, free_port, wait_until


def test_the_api_server_accepts_the_manifests(cluster):
    for name in ("rbac.yaml", "deployment.yaml", "service.yaml"):
        for document in deployment.manifests(name):
            applied = deployment.apply(cluster, document, dry_run=True)
            assert applied["metadata"]["name"] == document["metadata"]["name"]


def test_kube_scheduler_accepts_the_configuration(cluster):
    config = deployment.manifests("scheduler-config.yaml")[0]
    config["clientConnection"]["kubeconfig"] = cluster.user_kubeconfig("system:kube-scheduler")
    config["leaderElection"] = {"leaderElect": False}
    path = os.path.join(cluster.directory, "from-deploy.yaml")
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(config, file)
    scheduler = Program("scheduler-from-deploy", [
        os.path.join(programs.control_plane(), "kube-scheduler"), f"--config={path}",
        f"--secure-port={free_port()}", "--bind-address=127.0.0.1",
        f"--cert-dir={cluster.directory}/pki"], cluster.logs)
    scheduler.start()
    try:
        cluster.api.create("nodes", objects.node("cpu-a"))
        cluster.api.create("pods", objects.pod("plain"))
        wait_until(lambda: objects.is_bound(cluster.api.get("pods", "plain")), 60,
                   lambda: "it schedules a pod without GPUs\n" + scheduler.log_end())
    finally:
        scheduler.stop()


def test_the_image_holds_what_the_program_loads():
    """deploy/Containerfile installs group "run": the owners of the libraries that are linked."""
    with open(os.path.join(programs.ROOT, "packaging", "debian-packages.txt"),
              encoding="utf-8") as file:
        installed = {line.split()[1] for line in file if line.startswith("run ")}
    head = subprocess.run(["readelf", "-d", programs.tessera()], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    libraries = re.findall(r"NEEDED.*\[(.*)\]", head)
    assert "libcurl.so.4" in libraries
    for library in libraries:
        owners = subprocess.run(["dpkg", "-S", f"*/{library}"], text=True, check=False,
                                stdout=subprocess.PIPE).stdout
        packages = {line.split(":")[0] for line in owners.splitlines()}
        assert packages & installed, f"{library} is of {sorted(packages)}, none of which is in the image"


def test_the_roles_are_enough_and_no_more(cluster, start_tessera):
    """Every other test runs under them; this one looks at what they do not allow."""
    kubeconfig = deployment.kubeconfig(cluster)
    with open(kubeconfig, encoding="utf-8") as file:
        token = yaml.safe_load(file)["users"][0]["user"]["token"]
    cluster.api.create("nodes", objects.gpushare_node("gpu-a"))
    api = type(cluster.api)(cluster.server, token, cluster.authority.ca_file)
    for method, path in (("GET", "/api/v1/secrets"), ("DELETE", "/api/v1/nodes/gpu-a"),
                         ("GET", "/api/v1/configmaps"), ("POST", "/api/v1/namespaces/default/pods")):
        body = b"{}" if method == "POST" else None
        assert api.raw(method, path, body)[0] == 403, (method, path)
    assert api.raw("GET", "/api/v1/nodes")[0] == 200
    assert isinstance(start_tessera(), Tessera)
