"""The manifests of deploy/extender/, and Tessera under the very roles they grant."""

import copy
import os
import re

import yaml

from . import programs
from .api import path_of

ACCOUNT, NAMESPACE = "tessera-extender", "kube-system"
LEASE = "tessera-extender"
RESOURCES = {"ServiceAccount": "serviceaccounts", "ClusterRole": "clusterroles",
             "ClusterRoleBinding": "clusterrolebindings", "Role": "roles",
             "RoleBinding": "rolebindings", "Deployment": "deployments", "Service": "services"}


def manifests(name):
    """The documents of a file of deploy/extender/."""
    with open(os.path.join(programs.ROOT, "deploy", "extender", name), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


def arguments(key_file):
    """The program's, as deployment.yaml has them; the address and the key's place are a test's own."""
    deployed, = (document for document in manifests("deployment.yaml")
                 if document["kind"] == "Deployment")
    container, = deployed["spec"]["template"]["spec"]["containers"]
    given = dict(word.partition("=")[::2] for word in container["args"])
    assert list(given)[:2] == ["serve", "--extender"] and "--listen" in given
    given["--signing-key-file"] = str(key_file)
    return tuple(f"{name}={value}" if value else name for name, value in given.items()
                 if name not in ("serve", "--extender", "--listen"))


def scheduler_config(url, document=None):
    """scheduler-config.yaml, or another operator's, with the extender at another address."""
    document = copy.deepcopy(document or manifests("scheduler-config.yaml")[0])
    for one in document["extenders"]:
        one["urlPrefix"] = url + re.sub(r"^https?://[^/]+", "", one["urlPrefix"])
    return document


def apply(cluster, document, dry_run=False):
    meta = document["metadata"]
    path = path_of(RESOURCES[document["kind"]], meta["name"], meta.get("namespace"))
    return cluster.api.apply(document, path, dry_run)


def kubeconfig(cluster, server=None):
    """For the extender's own account, with its roles; `server` may be a fault proxy's URL."""
    for document in manifests("rbac.yaml"):
        apply(cluster, document)
    return cluster.service_account_kubeconfig(ACCOUNT, NAMESPACE, server)
