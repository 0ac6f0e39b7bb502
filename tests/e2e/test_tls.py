"""kube-scheduler and Tessera over TLS, with a certificate on each side; signed records."""

import hashlib
import hmac
import os
import ssl

import pytest

from conftest import pods_bound
from rig import objects
from rig.process import wait_until
from rig.scheduler_config import gpushare_extender
from rig.watcher import Watcher

FILTER = "/gpushare-scheduler/filter"


@pytest.fixture
def files(cluster):
    """Certificates of the server and of kube-scheduler, by the control plane's authority."""
    server, client = cluster.authority.server("tessera"), cluster.authority.client("kube-scheduler")
    return {"ca": cluster.authority.ca_file, "server": server, "client": client}


def context(files, with_certificate):
    tls = ssl.create_default_context(cafile=files["ca"])
    if with_certificate:
        tls.load_cert_chain(*files["client"])
    return tls


@pytest.fixture
def tessera(cluster, start_tessera, files):
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    certificate, key = files["server"]
    return start_tessera(tls=context(files, False), arguments=(
        "--tls-cert", certificate, "--tls-key", key, "--client-ca", files["ca"]))


def test_kube_scheduler_with_a_certificate_is_served(cluster, tessera, files):
    certificate, key = files["client"]
    cluster.start_scheduler([gpushare_extender(tessera.url, tls={
        "caFile": files["ca"], "certFile": certificate, "keyFile": key})])
    with Watcher(cluster) as watcher:
        cluster.api.create_all("pods", [objects.gpushare_pod(f"pod-{index}", 4) for index in range(8)])
        pods_bound(cluster, 8)
    assert watcher.bound == 8


def test_without_a_certificate_only_probes_are_answered(tessera):
    assert tessera.request("GET", "/healthz")[0] == 200
    assert tessera.request("GET", "/readyz")[0] == 200
    for method, path in (("POST", FILTER), ("GET", "/gpushare-scheduler/inspect"), ("GET", "/metrics")):
        answer = tessera.request(method, path, {} if method == "POST" else None)
        assert answer == (403, b"a client certificate is needed here\n"), path


def test_a_new_certificate_is_taken_without_a_restart(cluster, tessera, files):
    def served():
        host, port = tessera.address.split(":")
        return ssl.get_server_certificate((host, int(port))).strip()
    renewed, key = cluster.authority.server("renewed")
    with open(renewed, encoding="ascii") as file:
        expected = file.read().strip()
    assert served() != expected
    for new, old in zip((renewed, key), files["server"]):
        os.replace(new, old)
    wait_until(lambda: served() == expected, 60, "the new certificate is served", 0.5)
    assert tessera.is_ready()


def states(tessera):
    """{pod: how its share is counted}."""
    return {share["name"]: share["state"] for node in tessera.get_json("/tessera/inspect")["nodes"]
            for gpu in node["gpus"] for share in gpu["shares"]}


def test_records_are_signed_and_read_back(cluster, start_tessera, tmp_path):
    key = tmp_path / "key"
    key.write_text("5f" * 32)
    key.chmod(0o600)
    cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
    tessera = start_tessera(arguments=("--signing-key-file", str(key)), listen="127.0.0.1:0")
    cluster.start_scheduler([gpushare_extender(tessera.url)], back_off=(1, 1))
    with Watcher(cluster):
        cluster.api.create("pods", objects.gpushare_pod("first", 10))
        first, = pods_bound(cluster, 1)
        record = objects.annotation(first, "tessera.dev/placement")
        signed = hmac.new(b"5f" * 32, record.encode(), hashlib.sha256).hexdigest()
        assert objects.annotation(first, "tessera.dev/placement-signature") == f"v1:{signed}"
        tessera.kill()
        key.write_text("6f" * 32)
        tessera.start()
        assert states(tessera) == {"first": "foreign"}, "signed with another key"
        tessera.kill()
        key.write_text("5f" * 32)
        tessera.start()
        assert states(tessera) == {"first": "confirmed"}
        cluster.start_scheduler([gpushare_extender(tessera.url)], back_off=(1, 1))
        cluster.api.create_all("pods", [objects.gpushare_pod("six", 6), objects.gpushare_pod("all", 16)])
        pods_bound(cluster, 3)
