"""etcd, kube-apiserver, kube-scheduler, kube-controller-manager and KWOK on loopback.

    with ControlPlane(directory_of_programs, controller_manager=True) as cluster:
        cluster.start_kwok()
        cluster.start_scheduler(extenders=[gpushare_extender("http://127.0.0.1:39999")])
        cluster.restart("kube-apiserver", kill=True)

Everything is in a temporary directory. It goes with the control plane, unless keep() is called, as
the tests do when one fails.
"""

import json
import os
import secrets
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request

import yaml

from . import pki
from .api import Api
from .process import Program, ProgramFailed, free_port, wait_until
from .scheduler_config import QPS, scheduler_config

HERE = os.path.dirname(os.path.abspath(__file__))
STARTS = 3
# Ended in this order: who calls before who is called.
ORDER = ("kwok", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd")
USERS = {"admin": "system:masters", "system:kube-scheduler": "",
         "system:kube-controller-manager": ""}


def answers(url):
    """Does the URL answer with success?"""
    try:
        context = ssl._create_unverified_context()  # health of a program we started, nothing secret
        with urllib.request.urlopen(url, timeout=2, context=context) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


class ControlPlane:
    alive = []  # for the report of a failure: whose logs to keep

    def __init__(self, programs, controller_manager=False, audit=False):
        """With `audit` the API server notes every call: see audited()."""
        self.directory = tempfile.mkdtemp(prefix="tessera-e2e-")
        self.logs = os.path.join(self.directory, "log")
        os.mkdir(self.logs)
        self._binaries = programs
        self._with_controller_manager = controller_manager
        self._audit = audit
        self._keep = False
        self.programs = {}
        self._ready = {}
        self.authority = pki.Authority(os.path.join(self.directory, "pki"))
        self._tokens = {user: secrets.token_hex(16) for user in USERS}
        self.server = None
        self.api = None

    def __enter__(self):
        ControlPlane.alive.append(self)
        try:
            self._start_with_free_ports()
        except BaseException:
            self.keep()
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def keep(self):
        """Leaves the directory with its logs in place when the control plane ends."""
        self._keep = True

    def stop(self):
        if self in ControlPlane.alive:
            ControlPlane.alive.remove(self)
        for name in ORDER:
            if name in self.programs:
                self.programs[name].stop()
        if not self._keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    # --- starting

    def _start_with_free_ports(self):
        """A port that was free may be taken by the time it is used: then all again with others."""
        for attempt in range(1, STARTS + 1):
            try:
                self._start_etcd()
                self._start_api_server()
                break
            except ProgramFailed as failure:
                for name in ORDER:
                    if name in self.programs:
                        self.programs[name].kill()
                shutil.rmtree(os.path.join(self.directory, "etcd"), ignore_errors=True)
                if "address already in use" not in str(failure) or attempt == STARTS:
                    raise
        if self._with_controller_manager:
            self._start_controller_manager()

    def _launch(self, name, arguments, is_ready, seconds=60):
        path = os.path.join(self._binaries, name)
        self.programs[name] = Program(name, [path, *arguments], self.logs)
        self._ready[name] = is_ready, seconds
        self.programs[name].start().wait_ready(is_ready, seconds)

    def _start_etcd(self):
        client, peer = free_port(), free_port()
        self._etcd_url = f"http://127.0.0.1:{client}"
        peer_url = f"http://127.0.0.1:{peer}"
        self._launch("etcd", [
            "--name=e2e", f"--data-dir={self.directory}/etcd",
            f"--listen-client-urls={self._etcd_url}", f"--advertise-client-urls={self._etcd_url}",
            f"--listen-peer-urls={peer_url}", f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=e2e={peer_url}", "--log-level=warn",
            # The data need to outlive the process, not the machine.
            "--unsafe-no-fsync", f"--quota-backend-bytes={4 << 30}",
        ], lambda: answers(f"{self._etcd_url}/health"))

    def _start_api_server(self):
        port = free_port()
        self.server = f"https://127.0.0.1:{port}"
        public_key, private_key = self.authority.service_account_key()
        certificate, key = self.authority.server("kube-apiserver")
        tokens = os.path.join(self.directory, "tokens.csv")
        with open(tokens, "w", encoding="ascii") as file:
            for user, group in USERS.items():
                file.write(f'{self._tokens[user]},{user},{user},"{group}"\n')
        self.api = Api(self.server, self._tokens["admin"], self.authority.ca_file)
        # What only the controller-manager would put right stays off: it makes the default service
        # accounts, and its node controller takes the not-ready taint off new nodes.
        off = ["TaintNodesByCondition"] + ([] if self._with_controller_manager else ["ServiceAccount"])
        self._launch("kube-apiserver", [
            f"--etcd-servers={self._etcd_url}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--secure-port={port}",
            "--endpoint-reconciler-type=none", f"--cert-dir={self.directory}/pki",
            f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority.ca_file}", f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC", f"--service-account-issuer={self.server}",
            f"--service-account-key-file={public_key}",
            f"--service-account-signing-key-file={private_key}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--disable-admission-plugins={','.join(off)}", "--max-requests-inflight=2000",
            "--max-mutating-requests-inflight=1000", "--profiling=false",
            "--shutdown-delay-duration=0s", *self._audit_flags(),
        ], self.api.ready, 120)

    def _audit_flags(self):
        if not self._audit:
            return []
        policy = os.path.join(self.directory, "audit-policy.yaml")
        with open(policy, "w", encoding="utf-8") as file:
            yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [
                {"level": "Metadata", "omitStages": ["RequestReceived"]}]}, file)
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self._audit_log}",
                "--audit-log-mode=blocking-strict"]

    @property
    def _audit_log(self):
        return os.path.join(self.directory, "audit.log")

    def audited(self, user):
        """What the API server noted of a user's calls."""
        with open(self._audit_log, encoding="utf-8") as log:
            entries = map(json.loads, log)
            return [entry for entry in entries if entry["user"]["username"] == user]

    def _start_controller_manager(self):
        port = free_port()
        kubeconfig = self.user_kubeconfig("system:kube-controller-manager")
        self._launch("kube-controller-manager", [
            f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}", "--bind-address=127.0.0.1",
            f"--secure-port={port}", f"--cert-dir={self.directory}/pki", "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.authority.directory}/sa.key",
            f"--root-ca-file={self.authority.ca_file}",
            # Fake nodes have no kubelet that would answer to these two.
            "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller",
            f"--kube-api-qps={QPS}", f"--kube-api-burst={2 * QPS}",
        ], lambda: answers(f"https://127.0.0.1:{port}/healthz")
            and self.api.find("serviceaccounts", "default") is not None)

    def start_scheduler(self, extenders=(), document=None, **more):
        """Starts kube-scheduler, or starts it anew with another configuration: one for these
        extenders, or a whole `document`, of which only the ways to the API server are replaced."""
        if "kube-scheduler" in self.programs:
            self.programs["kube-scheduler"].stop()
        kubeconfig = self.user_kubeconfig("system:kube-scheduler")
        config = os.path.join(self.directory, "scheduler.yaml")
        with open(config, "w", encoding="utf-8") as file:
            if document is None:
                file.write(scheduler_config(kubeconfig, extenders, **more))
            else:
                yaml.safe_dump({**document, "leaderElection": {"leaderElect": False},
                                "clientConnection": {"kubeconfig": kubeconfig}}, file)
        port = free_port()
        self._launch("kube-scheduler", [
            f"--config={config}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--cert-dir={self.directory}/pki", f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}", "-v=2",
        ], lambda: answers(f"https://127.0.0.1:{port}/healthz"))

    def start_kwok(self, lease_seconds=0):
        """Fake nodes with heartbeats; with a lease of each when lease_seconds is not 0."""
        port = free_port()
        self._launch("kwok", [
            f"--kubeconfig={self.admin_kubeconfig}", f"--config={HERE}/kwok_stages.yaml",
            "--manage-all-nodes=true", f"--node-lease-duration-seconds={lease_seconds}",
            f"--server-address=127.0.0.1:{port}",
        ], lambda: answers(f"http://127.0.0.1:{port}/healthz"))

    def clear(self):
        """Takes away all pods, nodes and unhealthy lists, for the next test of the same cluster."""
        for namespace in self.api.list("namespaces"):
            name = namespace["metadata"]["name"]
            for owners in ("deployments", "jobs"):
                self.api.delete_all(owners, name)
            self.api.delete_all("pods", name)
            self.api.delete_all("events", name)
        for config in self.api.list("configmaps", "kube-system"):
            if config["metadata"]["name"].startswith("unhealthy-gpu-"):
                self.api.delete("configmaps", config["metadata"]["name"], "kube-system")
        wait_until(lambda: not self.api.list("pods"), 60, "all pods are gone")
        self.api.delete_all("nodes")

    def restart(self, name, kill=False):
        """Ends a program, by SIGKILL or politely, and starts it with the data it had."""
        program = self.programs[name]
        if kill:
            program.kill()
        else:
            program.stop()
        program.start().wait_ready(*self._ready[name])

    # --- ways in

    def _write_kubeconfig(self, name, user, server):
        path = os.path.join(self.directory, f"{name.replace(':', '-')}.kubeconfig")
        document = {
            "apiVersion": "v1", "kind": "Config", "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": server or self.server, "certificate-authority": self.authority.ca_file}}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": name}}]}
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w",
                  encoding="utf-8") as file:
            yaml.safe_dump(document, file)
        return path

    def user_kubeconfig(self, user):
        return self._write_kubeconfig(user, {"token": self._tokens[user]}, None)

    @property
    def admin_kubeconfig(self):
        return self.user_kubeconfig("admin")

    @property
    def admin_token(self):
        return self._tokens["admin"]

    def service_account_kubeconfig(self, name, namespace, server=None):
        """For an account that exists; a fresh token of one hour. `server` may be a proxy's URL."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                   "spec": {"expirationSeconds": 3600}}
        token = self.api.call("POST", path, request)["status"]["token"]
        suffix = "" if server is None else "-" + server.rsplit(":", 1)[1]
        return self._write_kubeconfig(f"{namespace}-{name}{suffix}", {"token": token}, server)
