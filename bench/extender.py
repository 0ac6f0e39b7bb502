# The extender on a real API server: calls against an echo and a do-nothing extender, and end to end.
"""Four parts, each on etcd, kube-apiserver and kube-scheduler started for it (tests/e2e/rig):

calls        filter and prioritize of 100 to 5,000 names, and filter of 1,000 whole nodes, over 1 and 16
             connections and with a new one for each call: latencies, CPU of the server, bytes; against
             the same HTTP server echoing the request, and the do-nothing extender in Go (tests/e2e/stub).
             The requests of a case name the nodes in one order; "shuffled" ones each in another. The
             servers take turns, and the medians of their turns are told
end-to-end   pods per second of a stock kube-scheduler with Tessera (filter, prioritize, bind), against the
             same with the do-nothing extender, in turns; with some of the nodes shown to them, and all
             (percentageOfNodesToScore: 100)
start        from the start of the process to its first answer, with 10,000 pods running
containers   filter of pods with 1 to 8 containers over nodes of 8 GPUs

--against URL measures any other extender that runs on this machine in the same run: URL is its prefix
(http://127.0.0.1:39999/gpushare-scheduler), --against-pid its process for the CPU time. It must follow the
API server of this run, whose kubeconfig is printed and stays until the run ends: with --wait the run pauses
for it.
"""

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from rig import deployment, objects, programs  # noqa: E402
from rig.control_plane import ControlPlane  # noqa: E402
from rig.extender import Stub, Tessera  # noqa: E402
from rig.process import wait_until  # noqa: E402
from rig.scheduler_config import tessera_extender  # noqa: E402

BINARIES = os.path.join(ROOT, "build", "release", "bin")
PODS_OF_A_CASE = 16  # bodies that the calls take in turn
TURNS = 5  # of each server in a case: what else runs on the machine changes from second to second
PARTS = ("calls", "end-to-end", "start", "containers")


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- requests and servers


def sent_pod(name, containers):
    """A pod as kube-scheduler sends it."""
    pod = objects.pod(name, containers=containers)
    pod["metadata"].update({"uid": str(uuid.uuid4()), "resourceVersion": "1",
                            "creationTimestamp": "2026-01-01T00:00:00Z"})
    pod["spec"].update({"schedulerName": "default-scheduler", "priority": 0})
    del pod["apiVersion"], pod["kind"]
    return pod


def gpushare_containers():
    return [objects.container(limits={objects.GPU_MEM: 2})]


def request_bytes(path, body):
    data = json.dumps(body, separators=(",", ":")).encode()
    head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: Go-http-client/1.1\r\n"
            f"Content-Length: {len(data)}\r\nContent-Type: application/json\r\n"
            "Accept-Encoding: gzip\r\n\r\n")
    return head.encode() + data


def write_requests(directory, path, bodies):
    files = []
    for body in bodies:
        files.append(os.path.join(directory, f"{uuid.uuid4()}.http"))
        with open(files[-1], "wb") as file:
            file.write(request_bytes(path, body))
    return files


class Echo:
    """The HTTP server of the extender, returning each body."""

    def __enter__(self):
        self._process = subprocess.Popen([os.path.join(BINARIES, "bench_extender_echo")], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self._process.stdout.readline())
        self.pid = self._process.pid
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(10)


class Target:
    def __init__(self, name, port, pid, prefix, prioritize="prioritize"):
        self.name, self.port, self.pid, self.prefix = name, port, pid, prefix
        self.prioritize = prioritize


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def load(target, files, calls, connections=1, new_connection=False):
    words = [os.path.join(BINARIES, "bench_extender_load"), target.port, connections, calls]
    if target.pid:
        words += ["--pid", target.pid]
    if new_connection:
        words.append("--new-connection")
    done = subprocess.run([str(word) for word in words + files], check=True, text=True,
                          stdout=subprocess.PIPE)
    result = json.loads(done.stdout)
    assert result["failed"] == 0, f"{target.name}: {result['failed']} calls of {calls} failed"
    return result


# --- parts


def gpushare_nodes(count):
    return [objects.gpushare_node(f"gpu-node-{index:05d}", gpus=8, memory=32)
            for index in range(count)]


def calls_of(case, quick):
    size = case["names"] * (10 if "whole" in case["mode"] else 1)
    return max(200, (400_000 if quick else 2_000_000) // max(size, 400))


def in_turns(servers, calls, connections, new_connection):
    """By server: the medians of its turns. `servers`: targets with their request files."""
    results = {target.name: [] for target, _ in servers}
    for target, files in servers:
        load(target, files, 40)  # warm
    for _ in range(TURNS):
        for target, files in servers:
            results[target.name].append(load(target, files, max(calls // TURNS, connections),
                                             connections, new_connection))
    return {name: {key: round(statistics.median(turn[key] for turn in turns), 1)
                   for key in turns[0]} for name, turns in results.items()}


def measure_case(case, targets, directory, quick):
    """One row for each target, verb and way of connecting."""
    ways = ((1, False), (16, False), (1, True))
    rows = []
    for verb in case["verbs"]:
        servers = []
        for target in targets:
            spelled = target.prioritize if verb == "prioritize" else verb
            if spelled:
                servers.append((target, write_requests(directory, f"{target.prefix}/{spelled}",
                                                       case["bodies"])))
        for connections, new_connection in ways:
            results = in_turns(servers, calls_of(case, quick), connections, new_connection)
            rows += [{"verb": verb, "names": case["names"], "mode": case["mode"],
                      "connections": connections, "new_connection": new_connection,
                      "server": name, **result} for name, result in results.items()]
        for _, files in servers:
            for file in files:
                os.unlink(file)
    return rows


def with_ratios(rows):
    """Our CPU against the echo's and the stub's, of the same case."""
    keys = ("verb", "names", "mode", "connections", "new_connection")
    cpu = {(row["server"], *(row[key] for key in keys)): row["cpu_us"] for row in rows}
    for row in rows:
        if row["server"] != "tessera":
            continue
        case = tuple(row[key] for key in keys)
        for other in ("echo", "stub"):
            if cpu.get((other, *case)):
                row[f"cpu_ratio_to_{other}"] = round(row["cpu_us"] / cpu[(other, *case)], 2)
    return rows


def measure_calls(options):
    sizes = (100, 420, 1000, 5000)
    rows = []
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(programs.control_plane()))
        say("calls: 5,000 nodes")
        nodes = cluster.api.create_all("nodes", gpushare_nodes(max(sizes)))
        names = [node["metadata"]["name"] for node in nodes]
        tessera = Tessera(cluster, deployment.kubeconfig(cluster)).start()
        stack.callback(tessera.stop)
        stub = Stub(cluster).start()
        stack.callback(stub.stop)
        echo = stack.enter_context(Echo())
        targets = [Target("tessera", port_of(tessera.address), tessera.pid, "/tessera"),
                   Target("echo", echo.port, echo.pid, "/tessera"),
                   Target("stub", port_of(stub.address), stub.pid, "/stub")]
        if options.against:
            targets.append(other_extender(cluster, options))
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        pods = [sent_pod(f"bench-{index}", gpushare_containers())
                for index in range(PODS_OF_A_CASE)]
        cases = [{"names": size, "mode": "names", "verbs": ("filter", "prioritize"),
                  "bodies": [{"Pod": pod, "Nodes": None, "NodeNames": names[:size]}
                             for pod in pods]} for size in sizes]
        cases += [{"names": size, "mode": "shuffled names", "verbs": ("filter",),
                   "bodies": [{"Pod": pod, "Nodes": None,
                               "NodeNames": random.Random(index).sample(names[:size], size)}
                              for index, pod in enumerate(pods)]} for size in sizes]
        whole = [{key: node[key] for key in ("metadata", "spec", "status")} for node in nodes[:1000]]
        orders = {"whole nodes": [whole] * 4,
                  "shuffled whole nodes": [random.Random(index).sample(whole, len(whole))
                                           for index in range(8)]}
        cases += [{"names": 1000, "mode": mode, "verbs": ("filter",),
                   "bodies": [{"Pod": pod, "Nodes": {"metadata": {}, "items": items},
                               "NodeNames": None} for pod, items in zip(pods, lists)]}
                  for mode, lists in orders.items()]
        for case in cases:
            say(f"calls: {case['names']} {case['mode']}")
            rows += measure_case(case, targets, directory, options.quick)
    return with_ratios(rows)


def other_extender(cluster, options):
    parts = urllib.parse.urlsplit(options.against)
    if options.wait:
        say(f"the API server of this run: KUBECONFIG={cluster.admin_kubeconfig}")
        input("start the other extender on it, then press Enter ")
    return Target("other", parts.port, options.against_pid, parts.path.rstrip("/"),
                  options.against_prioritize)


class Binds:
    """Counts pods that get a node, by a watch, with the times of the first and the last."""

    def __init__(self, cluster, expected):
        self._expected = expected
        self.times = []
        _, version = cluster.api.list_with_version("pods")
        self._thread = threading.Thread(target=self._follow, args=(cluster, version), daemon=True)
        self._thread.start()

    def _follow(self, cluster, version):
        bound = set()
        for kind, pod in cluster.api.watch("pods", version):
            name = pod["metadata"].get("name")
            if kind == "MODIFIED" and objects.is_bound(pod) and name not in bound:
                bound.add(name)
                self.times.append(time.monotonic())
                if len(bound) == self._expected:
                    return

    def wait(self, seconds):
        self._thread.join(seconds)
        assert len(self.times) == self._expected, f"{len(self.times)} of {self._expected} bound"
        return self._expected / (self.times[-1] - self.times[0])


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def backlog_rate(cluster, extender, prefix, pods, percentage):
    """Pods exist, then kube-scheduler starts: pods per second from the first bound to the last."""
    if "kube-scheduler" in cluster.programs:
        cluster.programs["kube-scheduler"].stop()
    cluster.api.delete_all("pods", "default")
    wait_until(lambda: not cluster.api.list("pods"), 120, "all pods are gone", 0.5)
    cluster.api.create_all("pods", [objects.gpushare_pod(f"load-{index}", 2)
                                    for index in range(pods)])
    binds = Binds(cluster, pods)
    wiring = tessera_extender(extender.url, managed_resources=(objects.GPU_MEM,))
    wiring.url_prefix = extender.url + prefix
    wiring.preempt_verb = ""
    before = cpu_seconds(extender.pid)
    cluster.start_scheduler([wiring], percentage_of_nodes=percentage)
    rate = binds.wait(600)
    return {"extender": extender.name, "pods_per_second": round(rate, 1),
            "extender_cpu_ms_per_pod": round(1000 * (cpu_seconds(extender.pid) - before) / pods, 2)}


def measure_end_to_end(options):
    pods = 600 if options.quick else 2000
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(programs.control_plane()))
        say("end to end: 1,000 nodes")
        cluster.api.create_all("nodes", gpushare_nodes(1000))
        tessera = Tessera(cluster, deployment.kubeconfig(cluster)).start()
        stack.callback(tessera.stop)
        stub = Stub(cluster).start()
        stack.callback(stub.stop)
        # As kube-scheduler comes, it shows an extender 420 of 1,000 nodes; then all of them.
        return [{"nodes": 1000, "pods": pods, "nodes_shown": shown,
                 **compare_end_to_end(cluster, tessera, stub, pods, percentage)}
                for shown, percentage in (("some", None), ("all", 100))]


def compare_end_to_end(cluster, tessera, stub, pods, percentage):
    runs = []
    # There and back, so that a machine that gets slower or faster favours nobody.
    for extender, prefix in ((stub, "/stub"), (tessera, "/tessera"),
                             (tessera, "/tessera"), (stub, "/stub")):
        runs.append(backlog_rate(cluster, extender, prefix, pods, percentage))
        say(f"end to end: {runs[-1]['extender']} {runs[-1]['pods_per_second']} pods/s")
    mean = {name: sum(run["pods_per_second"] for run in runs if run["extender"] == name) / 2
            for name in ("tessera", "stub")}
    return {"runs": runs, "pods_per_second": round(mean["tessera"], 1),
            "stub_pods_per_second": round(mean["stub"], 1),
            "ratio_to_stub": round(mean["tessera"] / mean["stub"], 3)}


def measure_start(options):
    pods = 2000 if options.quick else 10000
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(programs.control_plane()))
        say(f"start: 1,000 nodes, {pods:,} pods")
        cluster.api.create_all("nodes", gpushare_nodes(1000))
        made = cluster.api.create_all("pods", [objects.gpushare_pod(f"old-{index}", 2)
                                               for index in range(pods)])
        placed = [(pod, f"gpu-node-{index % 1000:05d}", index // 1000 % 8)
                  for index, pod in enumerate(made)]
        cluster.api.parallel(lambda item: cluster.api.bind(item[0], item[1], {
            "ALIYUN_COM_GPU_MEM_IDX": str(item[2]), "ALIYUN_COM_GPU_MEM_POD": "2",
            "ALIYUN_COM_GPU_MEM_DEV": "32", "ALIYUN_COM_GPU_MEM_ASSIGNED": "false",
            "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1"}), placed)
        listed = time.monotonic()
        for resource in ("nodes", "pods"):
            cluster.api.raw("GET", f"/api/v1/{resource}?resourceVersion=0")
        listed = time.monotonic() - listed
        tessera = Tessera(cluster, deployment.kubeconfig(cluster))
        begin = time.monotonic()
        tessera.start()
        stack.callback(tessera.stop)
        body = {"Pod": sent_pod("first", gpushare_containers()), "Nodes": None,
                "NodeNames": ["gpu-node-00000"]}
        status, answer = tessera.request("POST", "/tessera/filter", body)
        assert status == 200 and json.loads(answer)["NodeNames"], answer
        return {"nodes": 1000, "pods": pods, "seconds_to_first_answer":
                round(time.monotonic() - begin, 2), "seconds_to_list_alone": round(listed, 2)}


def measure_containers(options):
    rows = []
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(ControlPlane(programs.control_plane()))
        nodes = [objects.elastic_node(f"gpu-node-{index:03d}", gpus=8) for index in range(100)]
        for node in nodes:  # eight devices are only to be seen from a list of them
            node["metadata"]["annotations"]["tessera.dev/gpus"] = json.dumps(
                {"version": 1, "gpus": [{"uuid": f"{node['metadata']['name']}-{gpu}",
                                         "memoryMib": 16384} for gpu in range(8)]})
        names = [node["metadata"]["name"] for node in cluster.api.create_all("nodes", nodes)]
        tessera = Tessera(cluster, deployment.kubeconfig(cluster)).start()
        stack.callback(tessera.stop)
        target = Target("tessera", port_of(tessera.address), tessera.pid, "/scheduler")
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        for count in range(1, 9):
            pods = [sent_pod(f"many-{count}-{index}", [
                objects.container(f"c{number}", limits={objects.ELASTIC_CORE: 60,
                                                        objects.ELASTIC_MEMORY: 1024})
                for number in range(count)]) for index in range(PODS_OF_A_CASE)]
            files = write_requests(directory, "/scheduler/filter", [
                {"Pod": pod, "Nodes": None, "NodeNames": names} for pod in pods])
            load(target, files, 40)
            rows.append({"containers": count, "nodes": 100, **load(target, files, 400)})
            say(f"containers: {count}: p50 {rows[-1]['p50_us']} us")
    return rows


# --- for people


def table(head, rows):
    cells = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths))).rstrip())
    print()


def show(results):
    if "calls" in results:
        table(["call", "names", "connections", "server", "p50 us", "p99 us", "CPU us", "bytes",
               "CPU/echo", "CPU/stub"],
              [[f"{row['verb']}, {row['mode']}", row["names"],
                "new each" if row["new_connection"] else row["connections"], row["server"],
                row["p50_us"], row["p99_us"], row["cpu_us"], int(row["answer_bytes"]),
                row.get("cpu_ratio_to_echo", ""), row.get("cpu_ratio_to_stub", "")]
               for row in results["calls"]])
    if "end_to_end" in results:
        table(["end to end, 1,000 nodes", "shown", "pods/s", "CPU ms a pod"],
              [[run["extender"], result["nodes_shown"], run["pods_per_second"],
                run["extender_cpu_ms_per_pod"]]
               for result in results["end_to_end"] for run in result["runs"]])
        for result in results["end_to_end"]:
            print(f"{result['nodes_shown']} nodes shown: with Tessera {result['ratio_to_stub']} of "
                  "the do-nothing extender's pods/s")
        print()
    if "start" in results:
        result = results["start"]
        print(f"start to first answer, {result['nodes']:,} nodes, {result['pods']:,} pods: "
              f"{result['seconds_to_first_answer']} s (the lists alone take "
              f"{result['seconds_to_list_alone']} s)\n")
    if "containers" in results:
        table(["containers", "p50 us", "p99 us", "CPU us"],
              [[row["containers"], row["p50_us"], row["p99_us"], row["cpu_us"]]
               for row in results["containers"]])


def read_options():
    parser = argparse.ArgumentParser(
        prog="bench/run extender", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--quick", action="store_true", help="fewer calls and pods")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; repeatable")
    parser.add_argument("--against", metavar="URL", help="another extender's prefix, for part calls")
    parser.add_argument("--against-pid", type=int, default=0, help="its process, for the CPU time")
    parser.add_argument("--against-prioritize", default="", metavar="VERB",
                        help="its prioritize verb; without one it is not asked")
    parser.add_argument("--wait", action="store_true", help="pause until --against is started")
    return parser.parse_args()


def main():
    options = read_options()
    measures = {"calls": measure_calls, "end-to-end": measure_end_to_end, "start": measure_start,
                "containers": measure_containers}
    results = {}
    for part in options.part or PARTS:
        results[part.replace("-", "_")] = measures[part](options)
    if options.json:
        json.dump(results, sys.stdout, indent=1)
        print()
    else:
        show(results)


if __name__ == "__main__":
    main()
