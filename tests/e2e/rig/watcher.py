"""An independent checker: follows all pods through the API and adds up every GPU at each event.

It runs as a process of its own, trusts no code of Tessera, and reads devices and amounts itself
(rig/shares.py). It goes on where it was when the API server restarts, so it misses no event.

    python3 -m rig.watcher SERVER TOKEN_FILE CA_FILE REPORT

On SIGTERM it catches up with the API server, writes its report and ends. Tests use Watcher.
"""

import collections
import http.client
import itertools
import json
import os
import queue
import signal
import sys
import threading
import time

from . import objects, shares
from .api import Api, ApiError
from .process import Program, wait_until

HISTORY = 40       # events kept of each node, for the report
REPORTED = 20      # violations written out in full
CATCH_UP = 60      # seconds
NETWORK = (OSError, http.client.HTTPException, ValueError)


class Checker:
    """The sums. Given events in their order, it knows the cluster as it was after each of them."""

    def __init__(self):
        self.nodes = {}      # name -> sizes of its devices
        self.units = {}      # name -> MiB in a unit of gpushare
        self.pods = {}       # uid -> (node, key, shares)
        self.versions = {}   # uid -> resource version last seen
        self.used = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        self.history = collections.defaultdict(lambda: collections.deque(maxlen=HISTORY))
        self.violations = []
        self.events = 0
        self.bound = set()

    def node(self, kind, node):
        name = node["metadata"]["name"]
        if kind == "DELETED":
            self.nodes.pop(name, None)
        else:
            self.nodes[name] = shares.devices(node)
            self.units[name] = shares.gpushare_units(node)[2]

    def pod(self, kind, pod):
        self.events += 1
        meta = pod["metadata"]
        uid, key = meta["uid"], f"{meta['namespace']}/{meta['name']}"
        self.versions[uid] = int(meta["resourceVersion"])
        held = ()
        node = pod["spec"].get("nodeName")
        if kind != "DELETED" and shares.counts(pod):
            self.bound.add(uid)
            try:
                held = self._resolved(node, shares.holds(pod, self.units.get(node, 1024)))
            except (shares.BadRecord, ValueError, KeyError, TypeError) as fault:
                self._violation(node, f"pod {key}: {fault}")
        before = self.pods.get(uid)
        after = (node, key, held) if held else None
        if before == after:
            return
        if before:
            self._add(before, -1)
        if after:
            self.pods[uid] = after
            self._add(after, 1)
            self._note(node, f"{kind} {key} holds {held}")
            self._check(*after)
        else:
            self.pods.pop(uid, None)
            self._note(before[0], f"{kind} {key} holds nothing any more")

    def _resolved(self, node, held):
        """With the size of the device in place of "all of it"."""
        sizes = dict(enumerate(self.nodes.get(node, [])))
        return tuple((device, milli, sizes.get(device, (0, 0))[1] if memory is None else memory)
                     for device, milli, memory in held)

    def _add(self, entry, sign):
        node, _, held = entry
        for device, milli, memory in held:
            used = self.used[node][device]
            used[0] += sign * milli
            used[1] += sign * memory

    def _check(self, node, key, held):
        sizes = self.nodes.get(node)
        if sizes is None:
            self._violation(node, f"pod {key} is bound to node {node}, which does not exist")
            return
        for device in sorted({device for device, _, _ in held}):
            milli, memory = self.used[node][device]
            if device >= len(sizes):
                self._violation(node, f"pod {key}: node {node} has no GPU {device}")
            elif milli > sizes[device][0] or memory > sizes[device][1]:
                self._violation(node, f"GPU {device} of {node} is over-committed by {key}: "
                                f"{milli} of {sizes[device][0]} thousandths, "
                                f"{memory} of {sizes[device][1]} MiB")

    def _note(self, node, text):
        self.history[node].append(f"{time.time():.3f} {text}")

    def _violation(self, node, text):
        entry = {"what": text, "node": node}
        if len(self.violations) < REPORTED:
            entry["history"] = list(self.history[node])
        self.violations.append(entry)

    def report(self):
        return {"events": self.events, "bound": len(self.bound), "violations": self.violations,
                "held": {uid: [node, key, held] for uid, (node, key, held) in self.pods.items()}}


def follow(api, resource, events, stop):
    """Puts (resource, kind, object) into the queue, for ever, whatever the API server does."""
    version, known = None, {}
    while not stop.is_set():
        try:
            if version is None:
                items, version = api.list_with_version(resource)
                listed = {item["metadata"]["uid"]: item for item in items}
                for uid in known.keys() - listed.keys():
                    events.put((resource, "DELETED", known[uid]))
                for item in items:
                    events.put((resource, "LISTED", item))
                known = listed
                events.put((resource, "SYNCED", None))
            for kind, item in api.watch(resource, version):
                version = item["metadata"]["resourceVersion"]
                if kind == "BOOKMARK":
                    continue
                uid = item["metadata"]["uid"]
                if kind == "DELETED":
                    known.pop(uid, None)
                else:
                    known[uid] = item
                events.put((resource, kind, item))
        except ApiError as error:
            if error.status == 410:
                version = None  # too old: list again
            time.sleep(0.2)
        except NETWORK:
            time.sleep(0.2)


def caught_up(api, checker):
    """Has the checker seen every pod as the API server has it now?"""
    try:
        current = api.list("pods")
    except (ApiError, *NETWORK):
        return False
    listed = {pod["metadata"]["uid"]: int(pod["metadata"]["resourceVersion"]) for pod in current}
    return (all(checker.versions.get(uid, 0) >= version for uid, version in listed.items())
            and all(uid in listed for uid in checker.pods))


def main(server, token_file, ca_file, report):
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with open(token_file, encoding="ascii") as file:
        api = Api(server, file.read().strip(), ca_file)
    checker, events, synced = Checker(), queue.Queue(), set()
    for resource in ("nodes", "pods"):
        threading.Thread(target=follow, args=(api, resource, events, stop), daemon=True).start()
    # Nodes come first: a pod is judged by the size of its node.
    early, deadline = [], None
    while True:
        try:
            resource, kind, item = events.get(timeout=0.1)
        except queue.Empty:
            if stop.is_set():
                deadline = deadline or time.monotonic() + CATCH_UP
                if caught_up(api, checker):
                    break
                assert time.monotonic() < deadline, "the API server is ahead and nothing comes"
            continue
        if kind == "SYNCED":
            if resource not in synced and resource == "nodes":
                for late_kind, late in early:
                    checker.pod(late_kind, late)
                early = []
            synced.add(resource)
            if synced == {"nodes", "pods"}:
                write(report, {"ready": True})
        elif resource == "nodes":
            checker.node(kind, item)
        elif "nodes" in synced:
            checker.pod(kind, item)
        else:
            early.append((kind, item))
    write(report, checker.report())


def write(path, value):
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(path + ".part", path)


class Watcher:
    """The checker, for a test.

        with Watcher(cluster) as watcher:
            ...
        watcher.bound         # how many pods were seen bound; leaving fails on a violation
    """

    _numbers = itertools.count(1)

    def __init__(self, cluster, expect_violations=False):
        self._cluster = cluster
        self._expect_violations = expect_violations
        self._report = os.path.join(cluster.directory, f"watcher-{next(Watcher._numbers)}.json")
        token = os.path.join(cluster.directory, "watcher.token")
        with open(token, "w", encoding="ascii") as file:
            file.write(cluster.admin_token)
        self._program = Program(
            "watcher",
            [sys.executable, "-m", "rig.watcher", cluster.server, token, cluster.authority.ca_file,
             self._report],
            cluster.logs,
            {"PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(__file__)))})
        self.bound = 0
        self.events = 0
        self.held = {}
        self.violations = []

    def __enter__(self):
        self._program.start().wait_ready(lambda: os.path.exists(self._report), 30)
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self._program.stop(5)
            return
        self.finish()
        if not self._expect_violations:
            assert not self.violations, self.describe()

    def finish(self):
        """Lets it catch up and reads what it saw."""
        self._program.signal(signal.SIGTERM)
        wait_until(lambda: not self._program.running, CATCH_UP + 30, "the watcher caught up")
        assert self._program.process.returncode == 0, self._program.log_end()
        with open(self._report, encoding="utf-8") as file:
            report = json.load(file)
        self.bound, self.events = report["bound"], report["events"]
        self.held, self.violations = report["held"], report["violations"]

    def describe(self):
        lines = [f"{len(self.violations)} violations in {self.events} events:"]
        for entry in self.violations[:3]:
            lines.append(entry["what"])
            lines += [f"    {line}" for line in entry.get("history", [])]
        return "\n".join(lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
