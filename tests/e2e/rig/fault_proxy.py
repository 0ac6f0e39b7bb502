"""A proxy that makes faults: it stands between the extender and the API server, or between
kube-scheduler and the extender, and holds, drops, delays or answers the requests a test names.

    proxy = FaultProxy(cluster.server, cluster.authority)      # TLS on both sides
    proxy = FaultProxy("http://127.0.0.1:39999")               # plain on both sides

    gate = proxy.hold_request("POST", r"/binding$")    # before it reaches the server
    gate.wait()                                        # ... a request is there, and waits
    gate.release()                                     # or gate.drop()
    gate = proxy.hold_answer("POST", r"/binding$")     # the server did it, the answer waits
    proxy.answer("POST", r"/binding$", 500, times=1)
    proxy.cut_watches()
"""

import collections
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

LINE = 64 * 1024
REASONS = {409: "Conflict", 429: "Too Many Requests", 500: "Internal Server Error",
           503: "Service Unavailable"}


class Dropped(Exception):
    """The test wants this connection closed without an answer."""


class Gate:
    """A request, or its answer, that waits for the test."""

    def __init__(self):
        self._arrived = threading.Event()
        self._decided = threading.Event()
        self._drop = False
        self.requests = []

    def wait(self, seconds=30):
        assert self._arrived.wait(seconds), "no such request came"
        return self.requests[0]

    def release(self):
        self._decided.set()

    def drop(self):
        self._drop = True
        self._decided.set()

    def pass_through(self, request):
        """For the proxy."""
        self.requests.append(request)
        self._arrived.set()
        self._decided.wait()
        if self._drop:
            raise Dropped()


class Rule:
    def __init__(self, method, path, when, action, times):
        self.method, self.path = method, re.compile(path)
        self.when, self.action, self.left = when, action, times
        self.hits = 0


class Request:
    def __init__(self, head, body):
        self.head, self.body = head, body
        self.method, self.path, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def is_watch(self):
        return "watch=" in self.path


def content_length(head):
    match = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    return int(match.group(1)) if match else None


def is_chunked(head):
    return re.search(rb"\r\ntransfer-encoding: *chunked", head, re.IGNORECASE) is not None


def read_head(stream):
    """Up to the empty line; b"" at the end of the stream."""
    lines = []
    while True:
        line = stream.readline(LINE)
        if not line:
            return b""
        lines.append(line)
        if line == b"\r\n":
            return b"".join(lines)


def read_chunk(stream):
    """One chunk as it came, and whether it was the last."""
    size_line = stream.readline(LINE)
    if not size_line:
        raise ConnectionError("the stream ended within a body")
    size = int(size_line.split(b";")[0], 16)
    if size == 0:
        rest = b""
        while not rest.endswith(b"\r\n"):
            rest += stream.readline(LINE)
        return size_line + rest, True
    return size_line + stream.read(size + 2), False


def read_body(stream, head):
    if is_chunked(head):
        chunks, last = [], False
        while not last:
            chunk, last = read_chunk(stream)
            chunks.append(chunk)
        return b"".join(chunks)
    return stream.read(content_length(head) or 0)


class FaultProxy:
    def __init__(self, upstream, authority=None):
        parts = urllib.parse.urlsplit(upstream)
        self.lead_to(upstream)
        self._client_tls = self._server_tls = None
        if parts.scheme == "https":
            self._client_tls = ssl.create_default_context(cafile=authority.ca_file)
            self._server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._server_tls.load_cert_chain(*authority.server("fault-proxy"))
            self._server_tls.set_alpn_protocols(["http/1.1"])
        self._rules = []
        self._lock = threading.Lock()
        self._open = set()
        self._watches = set()
        self._closed = False
        self.requests = []  # (method, path)
        self.answers = []   # (method, path, status) of what the server answered
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"{parts.scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- for tests

    def lead_to(self, upstream):
        """Where new connections go from now on."""
        parts = urllib.parse.urlsplit(upstream)
        self._upstream = parts.hostname, parts.port

    def hold_request(self, method, path, times=1):
        return self._add(method, path, "request", Gate(), times).action

    def hold_answer(self, method, path, times=1):
        return self._add(method, path, "answer", Gate(), times).action

    def drop_request(self, method, path, times=1):
        def drop(_):
            raise Dropped()
        return self._add(method, path, "request", drop, times)

    def drop_answer(self, method, path, times=1):
        def drop(_):
            raise Dropped()
        return self._add(method, path, "answer", drop, times)

    def delay(self, method, path, seconds, times=1):
        return self._add(method, path, "request", lambda _: time.sleep(seconds), times)

    def answer(self, method, path, status, times=1, headers=None, message="made by the fault proxy"):
        """Answers by itself, as the API server words a failure; the server never sees the request."""
        body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
                           "reason": REASONS.get(status, "").replace(" ", ""),
                           "message": message}).encode()
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}",
                 "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{key}: {value}" for key, value in (headers or {}).items()]
        text = ("\r\n".join(lines) + "\r\n\r\n").encode() + body
        return self._add(method, path, "request", lambda _: text, times)

    def clear(self):
        """Forgets all rules; what waits at a gate goes on."""
        with self._lock:
            rules, self._rules = self._rules, []
        for rule in rules:
            if isinstance(rule.action, Gate):
                rule.action.release()

    def cut_watches(self):
        """Closes the streams that are open now; how many there were."""
        with self._lock:
            pairs = list(self._watches)
        for pair in pairs:
            for stream in pair:
                shut(stream)
        return len(pairs)

    def close(self):
        self._closed = True
        shut(self._listener)
        self._listener.close()
        self.clear()
        with self._lock:
            streams = list(self._open)
        for stream in streams:
            shut(stream)

    def statuses(self, path):
        """How often the server answered which status on this path."""
        pattern = re.compile(path)
        return collections.Counter(status for _, where, status in list(self.answers)
                                   if pattern.search(where))

    def count(self, method, path):
        """How many requests of this kind came so far."""
        pattern = re.compile(path)
        return sum(1 for seen, where in list(self.requests)
                   if seen == method and pattern.search(where))

    # --- the proxy

    def _add(self, method, path, when, action, times):
        rule = Rule(method, path, when, action, times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def _action(self, request, when):
        with self._lock:
            for rule in self._rules:
                if (rule.when == when and rule.left > 0 and rule.method == request.method
                        and rule.path.search(request.path.split("?")[0])):
                    rule.left -= 1
                    rule.hits += 1
                    return rule.action
        return None

    def _act(self, request, when):
        """Carries out a rule; bytes are an answer of ours."""
        action = self._action(request, when)
        if isinstance(action, Gate):
            return action.pass_through(request)
        return action(request) if action else None

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        server = None
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._server_tls:
                client = self._server_tls.wrap_socket(client, server_side=True)
            with self._lock:
                self._open.add(client)
            stream = client.makefile("rb")
            while True:
                head = read_head(stream)
                if not head:
                    return
                request = Request(head, read_body(stream, head))
                self.requests.append((request.method, request.path))
                made_up = self._act(request, "request")
                if made_up:
                    client.sendall(made_up)
                    continue
                server = self._exchange(request, client, server)
        except (Dropped, OSError, ValueError):
            pass
        finally:
            for end in (client, server and server[0]):
                if end:
                    with self._lock:
                        self._open.discard(end)
                    shut(end)
                    end.close()

    def _connect(self):
        server = socket.create_connection(self._upstream)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._client_tls:
            server = self._client_tls.wrap_socket(server, server_hostname="127.0.0.1")
        return server, server.makefile("rb")

    def _exchange(self, request, client, server):
        """One request to the server and its answer back; the connection for the next one."""
        server = server or self._connect()
        server[0].sendall(request.head + request.body)
        head = read_head(server[1])
        if not head:
            # Never sent twice: the client has to learn what a lost connection means.
            raise ConnectionError("the server closed the connection")
        if request.is_watch:
            self._relay_watch(head, client, server)
            return server
        body = read_body(server[1], head)
        self.answers.append((request.method, request.path, int(head.split(b" ", 2)[1])))
        made_up = self._act(request, "answer")
        client.sendall(made_up or head + body)
        return server

    def _relay_watch(self, head, client, server):
        pair = client, server[0]
        with self._lock:
            self._watches.add(pair)
            self._open.add(server[0])
        try:
            client.sendall(head)
            if not is_chunked(head):
                client.sendall(read_body(server[1], head))
                return
            last = False
            while not last:
                chunk, last = read_chunk(server[1])
                client.sendall(chunk)
        finally:
            with self._lock:
                self._watches.discard(pair)
                self._open.discard(server[0])


def shut(stream):
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
