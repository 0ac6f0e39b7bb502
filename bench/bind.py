# The scheduler on a real API server: pods bound per second, against raw Bindings and kube-scheduler.
"""For each size of cluster, on etcd, kube-apiserver and KWOK started for it (tests/e2e/rig), three rates of
one run, each from the first pod bound to the last as a watch sees them:

raw            a client that does nothing but create Bindings, over --connections at once
tessera        tessera serve --scheduler on pods that ask for a quarter of a GPU, its events on
kube-scheduler the stock one on pods without GPU

The pods exist before each of them starts. Rounds go there and back, so that a machine that gets slower or
faster favours nobody; rates are means over the rounds.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from rig import objects, programs  # noqa: E402
from rig.control_plane import ControlPlane  # noqa: E402
from rig.extender import Tessera  # noqa: E402
from rig.process import wait_until  # noqa: E402

CLIENT = os.path.join(ROOT, "build", "release", "bin", "bench_bind_client")
GPUS = 8
SHARES = 4  # on each GPU


def say(text):
    print(text, file=sys.stderr, flush=True)


def gpu_node(index):
    node = objects.tessera_node(f"gpu-node-{index:05d}", [32768] * GPUS, pods=250)
    return node


def share_pod(index):
    pod = objects.pod(f"share-{index:05d}", {objects.TESSERA_GPU: 1}, schedulerName="tessera")
    pod["metadata"]["annotations"].update({"tessera.dev/gpu-milli": str(1000 // SHARES),
                                           "tessera.dev/gpu-memory-mib": "8192"})
    return pod


def plain_pod(index, scheduler):
    return objects.pod(f"plain-{index:05d}", {"cpu": "100m", "memory": "64Mi"}, schedulerName=scheduler)


class Usage:
    """CPU time of a process between two moments, and its memory at the second."""

    def __init__(self, pid):
        self.pid = pid
        self._begin = self._cpu()

    def _cpu(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read(self, pods):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            resident = int(re.search(r"VmRSS:\s*(\d+) kB", status.read()).group(1))
        return {"cpu_ms_per_pod": round(1000 * (self._cpu() - self._begin) / pods, 3),
                "memory_mib": round(resident / 1024, 1)}


class Watch:
    """Counts pods that get a node; see bench/bind/client.cc."""

    def __init__(self, cluster, expected):
        self._process = subprocess.Popen(
            [CLIENT, "watch", cluster.admin_kubeconfig, str(expected)], text=True,
            stdout=subprocess.PIPE)
        assert self._process.stdout.readline().strip() == "watching"
        self._expected = expected

    def rate(self, seconds):
        output, _ = self._process.communicate(timeout=seconds)
        result = json.loads(output)
        assert result["bound"] == self._expected, f"{result['bound']} of {self._expected} bound"
        return self._expected / result["seconds"]


def fresh_pods(cluster, pods):
    cluster.api.delete_all("pods", "default")
    wait_until(lambda: not cluster.api.list("pods", query="limit=1"), 300, "all pods are gone", 0.5)
    cluster.api.delete_all("events", "default")
    return cluster.api.create_all("pods", pods)


def measure_raw(cluster, options, nodes):
    made = fresh_pods(cluster, [plain_pod(index, "nobody") for index in range(options.pods)])
    lines = "".join(f"default {pod['metadata']['name']} {pod['metadata']['uid']} "
                    f"gpu-node-{index % nodes:05d}\n" for index, pod in enumerate(made))
    watch = Watch(cluster, len(made))
    subprocess.run([CLIENT, "raw", cluster.admin_kubeconfig, str(options.connections)], check=True,
                   text=True, input=lines, stdout=subprocess.DEVNULL)
    return {"pods_per_second": round(watch.rate(60), 1)}


def measure_tessera(cluster, options, _nodes):
    made = fresh_pods(cluster, [share_pod(index) for index in range(options.pods)])
    watch = Watch(cluster, len(made))
    api = Usage(cluster.programs["kube-apiserver"].pid)
    program = Tessera(cluster, cluster.admin_kubeconfig, doors=("--scheduler",))
    program.start(wait=False)
    try:
        usage = Usage(program.pid)
        begin = time.monotonic()
        result = {"pods_per_second": round(watch.rate(600), 1), **usage.read(len(made)),
                  "api_server": api.read(len(made))}
        bound = time.monotonic()
        wait_until(lambda: reports_waiting(program) == 0, 300, "all events are written", 0.2)
        result["seconds_to_last_bound"] = round(bound - begin, 2)
        result["seconds_to_last_event"] = round(time.monotonic() - begin, 2)
        events = cluster.api.list("events", "default")
        result["events"] = sum(event["reason"] == "Scheduled" for event in events)
        return result
    finally:
        program.stop()


def reports_waiting(program):
    text = program.request("GET", "/metrics")[1].decode()
    return float(re.search(r"^tessera_reports_waiting (\S+)$", text, re.M).group(1))


def measure_stock(cluster, options, _nodes):
    count = min(options.pods, options.stock_pods)
    fresh_pods(cluster, [plain_pod(index, "default-scheduler") for index in range(count)])
    watch = Watch(cluster, count)
    cluster.start_scheduler()
    program = cluster.programs["kube-scheduler"]
    usage = Usage(program.pid)
    try:
        return {"pods_per_second": round(watch.rate(600), 1), **usage.read(count), "pods": count}
    finally:
        program.stop()


MEASURES = {"raw": measure_raw, "tessera": measure_tessera, "kube-scheduler": measure_stock}


def mean(runs):
    return round(sum(run["pods_per_second"] for run in runs) / len(runs), 1)


def measure_size(options, nodes):
    runs = {name: [] for name in MEASURES}
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(programs.control_plane()))
        say(f"{nodes:,} nodes")
        cluster.api.create_all("nodes", [gpu_node(index) for index in range(nodes)])
        cluster.start_kwok()
        for turn in range(options.rounds):
            names = list(MEASURES) if turn % 2 == 0 else list(reversed(MEASURES))
            for name in names:
                runs[name].append(MEASURES[name](cluster, options, nodes))
                say(f"{nodes:,} nodes: {name} {runs[name][-1]}")
    rates = {name: mean(of) for name, of in runs.items()}
    return {"nodes": nodes, "pods": options.pods, "pods_per_second": rates["tessera"],
            "raw_binds_per_second": rates["raw"],
            "kube_scheduler_pods_per_second": rates["kube-scheduler"],
            "ratio_to_raw": round(rates["tessera"] / rates["raw"], 3),
            "ratio_to_kube_scheduler": round(rates["tessera"] / rates["kube-scheduler"], 2),
            "runs": runs}


def show(by_nodes):
    head = ("nodes", "tessera pods/s", "raw", "kube-scheduler", "of raw", "of kube-scheduler",
            "CPU ms/pod", "MiB", "last event s")
    print("  ".join(head))
    for size in by_nodes:
        run = size["runs"]["tessera"][-1]
        cells = (size["nodes"], size["pods_per_second"], size["raw_binds_per_second"],
                 size["kube_scheduler_pods_per_second"], size["ratio_to_raw"],
                 size["ratio_to_kube_scheduler"], run["cpu_ms_per_pod"], run["memory_mib"],
                 run["seconds_to_last_event"])
        print("  ".join(str(cell).rjust(len(name)) for name, cell in zip(head, cells)))


def read_options():
    parser = argparse.ArgumentParser(prog="bench/run bind", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--nodes", type=int, action="append", help="sizes (1,000 and 5,000)")
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--stock-pods", type=int, default=2_000, help="at most, for kube-scheduler")
    parser.add_argument("--connections", type=int, default=32, help="of the raw client")
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


def main():
    options = read_options()
    by_nodes = [measure_size(options, nodes) for nodes in options.nodes or (1000, 5000)]
    if options.json:
        first = {key: value for key, value in by_nodes[0].items() if key != "runs"}
        json.dump({**first, "by_nodes": by_nodes}, sys.stdout, indent=1)
        print()
    else:
        show(by_nodes)


if __name__ == "__main__":
    main()
