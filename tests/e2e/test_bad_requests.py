"""Requests that no kube-scheduler would send, against the running program: each gets a clear answer or
is cut off, the program lives, its memory stays, and the next good request is answered."""

import json
import re
import select
import socket

import pytest

from conftest import started_cluster
from rig import deployment, objects
from rig.extender import Tessera, question
from rig.process import wait_until

FILTER = "/gpushare-scheduler/filter"
MOST_MIB = 256   # memory at any time: the largest body that is taken is 64 MiB, and few are at once


@pytest.fixture(scope="module")
def shared_cluster():
    with started_cluster(kwok=False) as cluster:
        cluster.api.create("nodes", objects.gpushare_node("gpu-a", gpus=2, memory=16))
        yield cluster


@pytest.fixture(scope="module")
def tessera(shared_cluster):
    """One process for the whole file: what a bad request leaves behind harms the next."""
    program = Tessera(shared_cluster, deployment.kubeconfig(shared_cluster),
                      arguments=("--request-timeout", "3s", "--max-connections", "300"))
    program.start()
    yield program
    program.kill()


def asking(units):
    return json.dumps(question(objects.gpushare_pod("p", units), ["gpu-a"])).encode()


def many_names(count):
    names = [f"node-{index}" for index in range(count)]
    return json.dumps(question(objects.gpushare_pod("p", 8), names)).encode()


def check_alive(tessera):
    """A good request is answered as ever."""
    assert tessera.running, tessera.log_end()
    status, body = tessera.request("POST", FILTER, asking(8))
    assert status == 200 and json.loads(body)["NodeNames"] == ["gpu-a"], body


@pytest.fixture(autouse=True)
def harmless(tessera):
    """Around each test: alive, and not grown by all that came before."""
    check_alive(tessera)
    yield
    check_alive(tessera)
    assert tessera.resident_mib() < MOST_MIB


def connect(tessera):
    host, port = tessera.address.split(":")
    stream = socket.create_connection((host, int(port)), timeout=20)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def send(tessera, data):
    """Bytes as they are; everything that comes back until the server closes or says no more."""
    with connect(tessera) as stream:
        try:
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it may have closed already
        return read_all(stream)


def read_all(stream):
    parts = []
    try:
        while True:
            part = stream.recv(65536)
            if not part:
                break
            parts.append(part)
    except OSError:
        pass
    return b"".join(parts)


def statuses(answer):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def post(path, body, headers=()):
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def deep(levels):
    return b'{"Pod":' + b'{"a":' * levels + b"1" + b"}" * levels + b"}"


GOOD = asking(8)
HEAD = f"POST {FILTER} HTTP/1.1\r\nHost: x\r\n".encode()
BODIES = {
    "nothing": b"",
    "blanks": b"  \r\n ",
    "half a document": GOOD[: len(GOOD) // 2],
    "one byte less": GOOD[:-1],
    "a list": b"[]",
    "a number": b"12",
    "null": b"null",
    "text": b'"filter"',
    "no JSON": b"Pod: {}",
    "a pod that is a list": b'{"Pod":[],"NodeNames":["gpu-a"]}',
    "a pod that is text": b'{"Pod":"p","NodeNames":["gpu-a"]}',
    "names that are numbers": b'{"Pod":{},"NodeNames":[1,2]}',
    "names that are an object": b'{"Pod":{},"NodeNames":{"a":1}}',
    "nodes that are text": b'{"Pod":{},"Nodes":"gpu-a"}',
    "nodes without names": b'{"Pod":{},"Nodes":{"items":[{},{"metadata":{}}]}}',
    "metadata of a wrong type": b'{"Pod":{"metadata":7,"spec":"x"},"NodeNames":["gpu-a"]}',
    "10,000 levels": deep(10_000),
    "a million levels": deep(1_000_000),
    "a million open brackets": b"[" * 1_000_000,
    "invalid UTF-8": b'{"Pod":{"metadata":{"uid":"u","name":"\xff\xfe\xc0\x80"}},"NodeNames":["gpu-a"]}',
    "half a surrogate": b'{"Pod":{"metadata":{"uid":"u","name":"\\ud800"}},"NodeNames":["gpu-a"]}',
    "NUL bytes": b'{"Pod":{"metadata":{"uid":"u","name":"a\x00b"}},"NodeNames":["gpu-a"]}',
    "no pod and no nodes": b"{}",
    "an amount without end": asking("9" * 5000),
    "a negative amount": asking("-5"),
}


@pytest.mark.parametrize("verb", ["/gpushare-scheduler/filter", "/gpushare-scheduler/bind",
                                  "/scheduler/priorities", "/tessera/preempt", "/tessera/explain"])
@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_wrong_gets_an_answer(tessera, verb, name):
    status, body = tessera.request("POST", verb, BODIES[name])
    assert status in (200, 400, 422, 500), (status, body)
    text = body.decode("utf-8")
    answer = json.loads(text)
    if "/filter" in verb:
        assert not answer.get("NodeNames"), "such a pod goes nowhere"
    if "/bind" in verb:
        assert answer["Error"], answer


def test_an_error_says_what_is_wrong(tessera):
    status, body = tessera.request("POST", "/gpushare-scheduler/bind", b'{"PodName": 7}')
    assert status >= 400
    assert "PodName" in json.loads(body)["Error"], body


def test_of_duplicate_keys_the_last_counts(tessera):
    """As in Go, whichever pod and list that is: one that fits after one that does not, and back."""
    small, large = (json.dumps(question(objects.gpushare_pod("p", units), [])["Pod"])
                    for units in (8, 1000))
    for first, last, names, failed in (
            (large, small, ["gpu-a"], None),
            (small, large, [], {"gpu-a": "the whole GPU has less memory than the pod asks for"})):
        status, body = tessera.request(
            "POST", FILTER, f'{{"Pod":{first},"NodeNames":["nowhere"],"Pod":{last},'
                            f'"NodeNames":["gpu-a"]}}'.encode())
        answer = json.loads(body)
        assert (status, answer["NodeNames"], answer["FailedNodes"], answer["Error"]) == (
            200, names, {}, ""), body
        assert answer["FailedAndUnresolvableNodes"] == failed


def test_a_node_nobody_knows_is_refused_by_name(tessera):
    asked = question(objects.gpushare_pod("p", 8), ["gpu-a", "gpu-z"])
    status, body = tessera.request("POST", FILTER, asked)
    answer = json.loads(body)
    assert status == 200 and answer["NodeNames"] == ["gpu-a"]
    assert "gpu-z" in {**(answer["FailedNodes"] or {}), **(answer["FailedAndUnresolvableNodes"] or {})}
    status, body = tessera.request("GET", "/gpushare-scheduler/inspect/gpu-z")
    assert status == 404 and b"gpu-z" in body


def test_binding_an_unknown_pod_or_node_fails(tessera):
    for args in ({"PodName": "nobody", "PodNamespace": "default", "PodUID": "u", "Node": "gpu-a"},
                 {"PodName": "nobody", "PodNamespace": "default", "PodUID": "u", "Node": "gpu-z"},
                 {"PodName": "../../nodes/gpu-a", "PodNamespace": "default", "PodUID": "u",
                  "Node": "gpu-a"}):
        status, body = tessera.request("POST", "/gpushare-scheduler/bind", args)
        assert status == 500 and json.loads(body)["Error"], body


def test_unknown_paths_and_methods(tessera):
    for method, path, expected in (
            ("GET", "/", 404), ("POST", "/gpushare-scheduler/nothing", 404),
            ("GET", FILTER, 405), ("DELETE", FILTER, 405),
            ("GET", "/gpushare-scheduler/../metrics", 404),
            ("GET", "/" + "a" * 9000, 404)):
        status, _ = tessera.request(method, path)
        assert status == expected, (method, path[:40])


def refused(tessera, parts):
    """Sends until the server has had enough, then reads the answer."""
    with connect(tessera) as stream:
        try:
            for part in parts:
                stream.sendall(part)
        except OSError:
            pass
        return read_all(stream)


def status_and_error(answer):
    """Of the only answer, after which the connection was closed."""
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"\r\nConnection: close" in head, head
    return statuses(answer), json.loads(body)


TOO_LARGE = [413], {"Error": "the request's body is too large"}


def test_a_hundred_megabytes_are_refused_early(tessera):
    """By the length that is announced: the answer comes before the first byte of the body."""
    answer = refused(tessera, [HEAD + b"Content-Length: 100000000\r\n\r\n"])
    assert status_and_error(answer) == TOO_LARGE


def test_a_body_in_chunks_is_refused_beyond_the_limit(tessera):
    """When it has grown beyond 64 MiB, not at its end: the last chunk is never sent."""
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    for _ in range(5):
        answer = refused(tessera, [HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 1100])
        assert status_and_error(answer) == TOO_LARGE


def test_twenty_large_requests_leave_no_memory_behind(tessera):
    """Within the limit: read, judged, forgotten."""
    body = many_names(300_000)
    for _ in range(20):
        status, answer = tessera.request("POST", FILTER, body, timeout=30)
        assert status == 200 and not json.loads(answer)["NodeNames"]


SMUGGLING = {
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}",
    "length and chunks": HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked"
                         b"\r\n\r\n0\r\n\r\n",
    "chunks in disguise": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a blank before the colon": HEAD + b"Content-Length : 2\r\n\r\n{}",
    "a length with a sign": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n",
    "a length beyond 64 bits": HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
    "a folded header": HEAD + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "bare line feeds": HEAD.replace(b"\r", b"") + b"Content-Length: 2\n\n{}",
    "a bad chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "another version": b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n",
    "NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: x\x00y\r\n\r\n",
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_a_request_that_two_readers_would_read_differently_is_refused(tessera, name):
    hidden = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = send(tessera, SMUGGLING[name] + hidden)
    assert len(statuses(answer)) <= 1, "the hidden request was answered"
    assert all(code >= 400 for code in statuses(answer)), answer[:200]


def test_headers_without_end_are_refused(tessera):
    for headers in (b"X: " + b"b" * 200_000 + b"\r\n",
                    b"".join(b"X-%d: y\r\n" % index for index in range(50_000))):
        answer = send(tessera, b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n")
        assert status_and_error(answer) == ([431], {"Error": "the request's head is too large"})


def cut_off(stream):
    """Sends one more byte; has the server closed the connection by now?"""
    stream.settimeout(0.001)
    try:
        stream.send(b"x")
        while stream.recv(4096):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def test_slow_clients_harm_nobody(tessera):
    """Two hundred that send a byte now and then: others are served, and the slow ones are cut off."""
    slow = [connect(tessera) for _ in range(200)]
    try:
        for number, stream in enumerate(slow):
            half = (b"POST " if number % 2 else
                    f"POST {FILTER} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{{".encode())
            stream.sendall(half)
        for _ in range(20):
            check_alive(tessera)

        wait_until(lambda: all([cut_off(stream) for stream in slow]), 40, "the slow ones are cut off")
    finally:
        for stream in slow:
            stream.close()


def is_reset(stream):
    """Has the server ended the connection? Seen without reading from it."""
    poll = select.poll()
    poll.register(stream, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def test_a_client_that_reads_nothing_is_cut_off(tessera):
    """Answers do not pile up in our memory for somebody who does not take them."""
    request = post(FILTER, many_names(20_000))
    with connect(tessera) as stream:
        stream.settimeout(1)
        with pytest.raises(OSError):
            for _ in range(200):
                stream.sendall(request)  # until the buffers are full: nobody takes any more
        check_alive(tessera)
        wait_until(lambda: is_reset(stream), 20, "the connection is cut")
        assert statuses(read_all(stream)) in ([200], []), "no second answer before the first is taken"


def test_connections_that_come_and_go(tessera):
    """Two thousand, closed at every point of a request."""
    whole = post(FILTER, GOOD)
    for number in range(2000):
        with connect(tessera) as stream:
            stream.sendall(whole[: number * len(whole) // 2000])
