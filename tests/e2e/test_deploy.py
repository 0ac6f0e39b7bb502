"""The manifests of deploy/extender/, and the configurations on the pages about moving, are what a real API
server and kube-scheduler accept."""

import os
import re
import shutil
import subprocess

import pytest
import yaml

from conftest import pods_bound, started_cluster
from rig import deployment, objects, programs
from rig.fault_proxy import FaultProxy
from rig.process import wait_until
from rig.scheduler_config import gpushare_extender

DOCS = os.path.join(programs.ROOT, "docs")
PAGES = ("move-from-gpushare.md", "move-from-co-scheml.md", "move-from-elastic-gpu.md")
ELECTION = ("--leader-elect", "--lease-namespace", deployment.NAMESPACE,
            "--lease-name", deployment.LEASE)


@pytest.fixture(scope="module")
def shared_cluster():
    """With an API server that notes who calls what."""
    with started_cluster(audit=True) as cluster:
        yield cluster


def page(name):
    with open(os.path.join(DOCS, name), encoding="utf-8") as file:
        return file.read()


def test_the_documented_commands_install_it(cluster, tmp_path):
    """From a fresh clone: the key is made as docs/extender.md says, then kubectl apply -k."""
    copy = tmp_path / "deploy" / "extender"
    shutil.copytree(os.path.join(programs.ROOT, "deploy", "extender"), copy,
                    ignore=shutil.ignore_patterns("signing.key"))
    apply = [os.path.join(programs.control_plane(), "kubectl"), "--kubeconfig",
             cluster.admin_kubeconfig, "apply", "--server-side", "--dry-run=server", "-o", "yaml",
             "-k", "deploy/extender"]
    without = subprocess.run(apply, cwd=tmp_path, text=True, capture_output=True)
    assert without.returncode != 0 and "signing.key" in without.stderr, without.stderr

    make_key, = re.findall(r"^(\(umask .*\)) *#", page("extender.md"), re.MULTILINE)
    subprocess.run(["bash", "-ec", make_key], cwd=tmp_path, check=True)
    done = subprocess.run(apply, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    made = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load(done.stdout)["items"]}
    assert {kind for kind, _ in made} == {"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role",
                                          "RoleBinding", "Deployment", "Service", "Secret"}
    spec = made["Deployment", "tessera-extender"]["spec"]["template"]["spec"]
    volume, = spec["volumes"]
    secret = made["Secret", volume["secret"]["secretName"]]
    assert [item["key"] for item in volume["secret"]["items"]] == list(secret["data"])


def configurations():
    """(where from, document): of deploy/, and each YAML block of the pages."""
    yield "scheduler-config.yaml", deployment.manifests("scheduler-config.yaml")[0]
    for name in PAGES:
        blocks = re.findall(r"^```yaml\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)
        assert blocks, f"{name} has no configuration"
        for block in blocks:
            yield name, yaml.safe_load(block)


CONFIGURATIONS = list(configurations())


def test_every_page_has_the_lines_that_matter():
    for name, config in CONFIGURATIONS:
        assert config["apiVersion"] == "kubescheduler.config.k8s.io/v1", name
        assert config["percentageOfNodesToScore"] == 100, name
        assert all(one["nodeCacheCapable"] and not one["ignorable"] for one in config["extenders"]), name


@pytest.mark.parametrize("name, config", CONFIGURATIONS, ids=[name for name, _ in CONFIGURATIONS])
def test_kube_scheduler_accepts_the_configuration(cluster, start_tessera, name, config):
    """Only the addresses are others: a pod with a GPU is bound by Tessera, one without by itself."""
    tessera = start_tessera()
    cluster.start_scheduler(document=deployment.scheduler_config(tessera.url, config))
    cluster.api.create_all("nodes", [objects.gpushare_node("share-a"),
                                     objects.elastic_node("elastic-a")])
    asking = config["extenders"][0]["managedResources"][0]["name"]
    cluster.api.create_all("pods", [objects.pod("plain"), objects.pod("gpu", {asking: 8})])
    pods_bound(cluster, 2)
    prefix = config["extenders"][0]["urlPrefix"].rsplit("/", 1)[1]
    assert tessera.answered(f"/{prefix}/bind") == 1, "the one with a GPU"
    assert objects.annotation(cluster.api.get("pods", "gpu"), "tessera.dev/placement")
    assert not objects.annotation(cluster.api.get("pods", "plain"), "tessera.dev/placement")


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


def granted():
    """{(group, resource, verb)} of rbac.yaml."""
    return {(group, resource, verb)
            for document in deployment.manifests("rbac.yaml") for rule in document.get("rules", ())
            for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def used(cluster):
    """{(group, resource, verb)} that the API server noted of the extender; none of them refused."""
    calls = cluster.audited(f"system:serviceaccount:{deployment.NAMESPACE}:{deployment.ACCOUNT}")
    refused = [call["requestURI"] for call in calls if call["responseStatus"]["code"] == 403]
    assert not refused, refused
    seen = set()
    for call in calls:
        what = call["objectRef"]
        resource = "/".join(filter(None, (what["resource"], what.get("subresource"))))
        seen.add((what.get("apiGroup", ""), resource, call["verb"]))
    return seen


def renewed(cluster):
    spec = cluster.api.get("leases", deployment.LEASE, deployment.NAMESPACE)["spec"]
    return spec["renewTime"] > spec["acquireTime"]


def test_the_roles_grant_what_is_used_and_no_more(cluster, start_tessera):
    """By the API server's own notes of an election, a bind, and one whose answer was lost."""
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    with FaultProxy(cluster.server, cluster.authority) as to_api:
        tessera = start_tessera(server=to_api.url, arguments=ELECTION)
        cluster.start_scheduler([gpushare_extender(tessera.url)], back_off=(1, 1))
        cluster.api.create("pods", objects.gpushare_pod("first", 10))
        pods_bound(cluster, 1)
        to_api.drop_answer("POST", r"/pods/[^/]+/binding$")
        cluster.api.create("pods", objects.gpushare_pod("second", 10))
        pods_bound(cluster, 2)
        # Without a renewal a role that cannot renew would look as good as one that can.
        wait_until(lambda: renewed(cluster), 30, "the leader renews its Lease", 0.5)
        wait_until(lambda: used(cluster) == granted(), 30, lambda:
                   f"granted and not used: {sorted(granted() - used(cluster))}; "
                   f"used and not granted: {sorted(used(cluster) - granted())}", 0.5)
