"""The extenders under test, as processes: Tessera, and the stub that decides nothing."""

import http.client
import json
import os
import re
import time

from . import programs
from .process import Program


def question(pod, names):
    """What kube-scheduler asks filter; a pod that the API server never saw gets a UID."""
    return {"Pod": {**pod, "metadata": {"uid": "asked-by-a-test", **pod["metadata"]}}, "Nodes": None,
            "NodeNames": names}


class Extender(Program):
    """A program that says "listens on ADDRESS" in its log when it serves.

    The address of the last start counts: with port 0 it changes when the program starts again.
    """

    LISTENING = re.compile(rb"listen(?:s|ing) on (?:https?://)?(127\.0\.0\.1:\d+)")

    def __init__(self, name, command, log_directory, tls=None):
        """`tls`: the context with which requests are made to it, when it serves TLS."""
        super().__init__(name, command, log_directory)
        self._log_start = 0
        self._tls = tls
        self.address = None

    @property
    def url(self):
        return f"{'https' if self._tls else 'http'}://{self.address}"

    def start(self):
        self._log_start = os.path.getsize(self.log) if os.path.exists(self.log) else 0
        self.address = None
        super().start()
        self.wait_ready(self._find_address, 30)
        return self

    def _find_address(self):
        with open(self.log, "rb") as log:
            log.seek(self._log_start)
            found = self.LISTENING.search(log.read())
        if found:
            self.address = found.group(1).decode()
        return self.address

    def request(self, method, path, body=None, timeout=10):
        """(status, bytes) over a connection of its own."""
        if self._tls:
            connection = http.client.HTTPSConnection(self.address, timeout=timeout, context=self._tls)
        else:
            connection = http.client.HTTPConnection(self.address, timeout=timeout)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            headers = {} if data is None else {"Content-Type": "application/json"}
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get_json(self, path):
        status, body = self.request("GET", path)
        assert status == 200, f"GET {path}: HTTP {status}: {body[:300]!r}"
        return json.loads(body)

    def answered(self, route):
        """How many requests of a route were answered, by its own count."""
        status, text = self.request("GET", "/metrics")
        assert status == 200
        return sum(map(int, re.findall(
            rb'^tessera_http_requests_total\{route="%s",code="\d+"\} (\d+)$' % route.encode(), text,
            re.MULTILINE)))

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


class Tessera(Extender):
    """`tessera serve`, ready to decide when start() returns, unless told otherwise."""

    def __init__(self, cluster, kubeconfig, listen="127.0.0.1:0", name="tessera", arguments=(), tls=None,
                 doors=("--extender",)):
        command = [programs.tessera(), "serve", *doors, "--kubeconfig", kubeconfig,
                   "--listen", listen, *arguments]
        super().__init__(name, command, cluster.logs, tls)

    def start(self, wait=True):
        begin = time.monotonic()
        super().start()
        if wait:
            self.wait_ready(self.is_ready, 30)
        self.seconds_to_ready = time.monotonic() - begin
        return self


class Stub(Extender):
    def __init__(self, cluster):
        token = os.path.join(cluster.directory, "stub.token")
        with open(token, "w", encoding="ascii") as file:
            file.write(cluster.admin_token)
        super().__init__("stub", [programs.stub_extender(), "-server", cluster.server,
                                  "-token-file", token, "-ca-file", cluster.authority.ca_file],
                         cluster.logs)

