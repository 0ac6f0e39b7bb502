"""Requests that no kube-scheduler would send, against the running program: each gets a clear answer or
is cut off, the program lives, its memory stays, and the next good request is answered."""

import concurrent.futures
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


MOST_NODES = 65536   # that a request may name


def many_names(count):
    names = [f"node-{index}-{'n' * 80}" for index in range(count)]
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

# By its path: the status of an answer that says what is wrong. The originals' filters say 200, the
# only one with which kube-scheduler reads the text, and their binds 500.
VERBS = {FILTER: 200, "/gpushare-scheduler/bind": 500, "/scheduler/priorities": 400,
         "/tessera/preempt": 400, "/tessera/explain": 400}

# No JSON object, or none as a whole: every verb says the same.
UNREADABLE = {
    "nothing": (b"", "the request has no body: a JSON object is expected"),
    "blanks": (b"  \r\n ", "the request has no body: a JSON object is expected"),
    "half a document": (GOOD[: len(GOOD) // 2], "the request is not valid JSON: "),
    "one byte less": (GOOD[:-1], "the request is not valid JSON: "),
    "a list": (b"[]", "the request is no JSON object"),
    "a number": (b"12", "the request is no JSON object"),
    "null": (b"null", "the request is no JSON object"),
    "text": (b'"filter"', "the request is no JSON object"),
    "no JSON": (b"Pod: {}", "the request is no JSON object"),
    "a million open brackets": (b"[" * 1_000_000, "the request is no JSON object"),
    "invalid UTF-8": (
        b'{"Pod":{"metadata":{"uid":"u","name":"\xff\xfe\xc0\x80"}},"NodeNames":["gpu-a"]}',
        "the request is not valid JSON: The input is not valid UTF-8"),
    "NUL bytes": (
        b'{"Pod":{"metadata":{"uid":"u","name":"a\x00b"}},"NodeNames":["gpu-a"]}',
        "the request is not valid JSON: Within strings, some characters must be escaped"),
    "two documents": (GOOD + GOOD, "something follows the JSON object of the request"),
}

NAMELESS = "the pod cannot be read: metadata.name is missing"
NO_NODES = "the request has neither NodeNames (nodeCacheCapable: true) nor Nodes"

# JSON, but no request: what filter, prioritize, preempt and explain say. Preempt reads no nodes.
WRONG = {
    "a pod that is a list": (
        b'{"Pod":[],"NodeNames":["gpu-a"]}', *["Pod: a list is not accepted: an object is"] * 4),
    "a pod that is text": (
        b'{"Pod":"p","NodeNames":["gpu-a"]}', *["is not accepted: an object is"] * 4),
    "names that are numbers": (
        b'{"Pod":{},"NodeNames":[1,2]}', *['NodeNames[0]: "1" is not accepted: a text'] * 2,
        NAMELESS, 'NodeNames[0]: "1" is not accepted: a text'),
    "names that are an object": (
        b'{"Pod":{},"NodeNames":{"a":1}}', *["NodeNames: an object is not accepted: a list is"] * 2,
        NAMELESS, "NodeNames: an object is not accepted: a list is"),
    "nodes that are text": (
        b'{"Pod":{},"Nodes":"gpu-a"}', *["is not accepted: an object is"] * 2,
        NAMELESS, "is not accepted: an object is"),
    "10,000 levels": (deep(10_000), NO_NODES, *[NAMELESS] * 3),
    "half a million levels": (deep(500_000), NO_NODES, *[NAMELESS] * 3),
    "no pod and no nodes": (b"{}", *["the request has no Pod"] * 3, NAMELESS),
}

# A pod that no kube-scheduler sends: what every verb says that reads it; filter says it of the node.
BAD_PODS = {
    "metadata of a wrong type": (
        b'{"Pod":{"metadata":7,"spec":"x"},"NodeNames":["gpu-a"]}',
        'the pod cannot be read: metadata: "7" is not accepted: an object is'),
    "half a surrogate": (
        b'{"Pod":{"metadata":{"uid":"u","name":"\\ud800"}},"NodeNames":["gpu-a"]}',
        "the pod cannot be read: metadata.name: this is not valid JSON"),
    "an amount without end": (
        asking("9" * 5000), "(5000 bytes) has too many digits for a quantity"),
    "a negative amount": (
        asking("-5"), "aliyun.com/gpu-mem: -5 is not accepted: a whole number of GiB from 0 to"),
}


def cases():
    """(verb, status, body, text, does filter say it of the node?), each with its name."""
    for name, (body, text) in UNREADABLE.items():
        for verb, status in VERBS.items():
            yield pytest.param(verb, status, body, text, False, id=f"{name}-{verb}")
    for name, (body, *texts) in WRONG.items():
        for verb, text in zip([verb for verb in VERBS if "bind" not in verb], texts, strict=True):
            yield pytest.param(verb, VERBS[verb], body, text, False, id=f"{name}-{verb}")
    for name, (body, text) in BAD_PODS.items():
        for verb in [verb for verb in VERBS if "bind" not in verb]:
            # preempt reads the victims first, and here are none that could help
            if (name, verb) != ("a negative amount", "/tessera/preempt"):
                yield pytest.param(verb, VERBS[verb], body, text, verb == FILTER,
                                   id=f"{name}-{verb}")
    for name, (body, *_) in {**WRONG, **BAD_PODS}.items():
        yield pytest.param("/gpushare-scheduler/bind", 500, body,
                           "PodName, PodNamespace and Node are needed to bind a pod", False,
                           id=f"{name}-bind")


@pytest.mark.parametrize("verb, expected, body, text, of_node", cases())
def test_a_body_that_is_wrong_gets_its_answer(tessera, verb, expected, body, text, of_node):
    status, answer = tessera.request("POST", verb, body)
    assert status == expected, (status, answer)
    said = json.loads(answer.decode("utf-8"))
    told = said["FailedAndUnresolvableNodes"]["gpu-a"] if of_node else said["Error"]
    assert text in told, said
    nothing = dict.fromkeys(("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes"))
    if of_node:
        assert said == {**nothing, "NodeNames": [], "FailedNodes": {}, "Error": "",
                        "FailedAndUnresolvableNodes": {"gpu-a": told}}
    else:
        assert said == {**(nothing if verb == FILTER else {}), "Error": told}


def test_nodes_without_names_are_refused(tessera):
    body = b'{"Pod":%s,"Nodes":{"items":[{},{"metadata":{}}]}}' % json.dumps(
        question(objects.gpushare_pod("p", 8), [])["Pod"]).encode()
    status, answer = tessera.request("POST", FILTER, body)
    said = json.loads(answer)
    assert (status, said["Nodes"]["items"], said["Error"]) == (200, [], ""), answer
    assert said["FailedNodes"] == {"": "the node is not known to Tessera yet"}


def test_for_a_pod_that_asks_wrongly_nobody_has_to_go(tessera):
    asked = {"Pod": question(objects.gpushare_pod("p", "-5"), [])["Pod"],
             "NodeNameToMetaVictims": {"gpu-a": {"Pods": [{"UID": "u"}]}}}
    status, answer = tessera.request("POST", "/tessera/preempt", asked)
    assert (status, json.loads(answer)) == (200, {"NodeNameToMetaVictims": {}})


def test_an_error_names_the_field(tessera):
    status, body = tessera.request("POST", "/gpushare-scheduler/bind", b'{"PodName": 7}')
    assert (status, json.loads(body)) == (
        500, {"Error": 'PodName: "7" is not accepted: a text in quotes is'})


FITS = json.dumps(question(objects.gpushare_pod("p", 8), [])["Pod"])
TOO_MUCH = json.dumps(question(objects.gpushare_pod("p", 1000), [])["Pod"])
NO_ROOM = {"gpu-a": "the whole GPU has less memory than the pod asks for"}


@pytest.mark.parametrize("body, names, failed", [
    (f'{{"Pod":{TOO_MUCH},"NodeNames":["gpu-a"],"Pod":{FITS}}}', ["gpu-a"], None),
    (f'{{"Pod":{FITS},"NodeNames":["gpu-a"],"Pod":{TOO_MUCH}}}', [], NO_ROOM),
    (f'{{"Pod":{FITS},"NodeNames":["gpu-a"],"pOD":{TOO_MUCH}}}', [], NO_ROOM),
    (f'{{"Pod":{FITS},"NodeNames":["nowhere"],"NodeNames":["gpu-a"]}}', ["gpu-a"], None),
    (f'{{"Pod":{FITS},"NodeNames":["gpu-a"],"nodenames":[]}}', [], None),
], ids=["pod fits", "pod does not", "pod in another case", "nodes", "no nodes"])
def test_of_duplicate_keys_the_last_counts(tessera, body, names, failed):
    """As in Go, for each key of a request."""
    status, answer = tessera.request("POST", FILTER, body.encode())
    assert (status, json.loads(answer)) == (200, {
        "Nodes": None, "NodeNames": names, "FailedNodes": {}, "FailedAndUnresolvableNodes": failed,
        "Error": ""})


def test_an_amount_that_is_there_twice_is_refused(tessera):
    """No API server writes such a pod, and nobody knows what was meant."""
    twice = FITS.replace('{"%s": "8"}' % objects.GPU_MEM, '{"%s": "1000", "%s": "8"}' % (
        (objects.GPU_MEM,) * 2))
    body = f'{{"Pod":{twice},"NodeNames":["gpu-a"]}}'
    status, answer = tessera.request("POST", FILTER, body.encode())
    assert status == 200 and json.loads(answer)["FailedAndUnresolvableNodes"] == {
        "gpu-a": "the pod cannot be read: spec.containers[0].resources.limits"
                 f'["{objects.GPU_MEM}"]: the key is there twice'}, answer


def test_of_duplicate_keys_of_a_bind_the_last_counts(tessera):
    body = (b'{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"gpu-a",'
            b'"podname":"nobody","Node":"gpu-z"}')
    status, answer = tessera.request("POST", "/gpushare-scheduler/bind", body)
    assert status == 500 and "default/nobody" in json.loads(answer)["Error"], answer


def test_a_node_nobody_knows_is_refused_by_name(tessera):
    asked = question(objects.gpushare_pod("p", 8), ["gpu-a", "gpu-z"])
    status, body = tessera.request("POST", FILTER, asked)
    assert (status, json.loads(body)) == (200, {
        "Nodes": None, "NodeNames": ["gpu-a"], "Error": "", "FailedAndUnresolvableNodes": None,
        "FailedNodes": {"gpu-z": "the node is not known to Tessera yet"}})
    status, body = tessera.request("GET", "/gpushare-scheduler/inspect/gpu-z")
    assert (status, json.loads(body)) == (404, {"nodes": [], "error": 'node "gpu-z" is not known'})


@pytest.mark.parametrize("name, node", [
    ("nobody", "gpu-a"), ("nobody", "gpu-z"), ("../../nodes/gpu-a", "gpu-a")])
def test_binding_an_unknown_pod_fails(tessera, name, node):
    args = {"PodName": name, "PodNamespace": "default", "PodUID": "u", "Node": node}
    status, body = tessera.request("POST", "/gpushare-scheduler/bind", args)
    assert (status, json.loads(body)) == (500, {"Error": f"pod default/{name} is not known"})


@pytest.mark.parametrize("method, path, expected, text", [
    ("GET", "/", 404, 'there is no "/"; there are /tessera/filter'),
    ("POST", "/gpushare-scheduler/nothing", 404, 'there is no "/gpushare-scheduler/nothing"'),
    ("GET", "/gpushare-scheduler/../metrics", 404, 'there is no "/gpushare-scheduler/../metrics"'),
    ("GET", "/" + "a" * 9000, 404, "(9001 bytes); there are"),
    ("GET", FILTER, 405, f'{FILTER} takes POST, not "GET"'),
    ("DELETE", FILTER, 405, f'{FILTER} takes POST, not "DELETE"')],
    ids=["root", "no route", "dots", "long", "get", "delete"])
def test_unknown_paths_and_methods(tessera, method, path, expected, text):
    status, body = tessera.request(method, path)
    assert status == expected and text in json.loads(body)["Error"], body


def answer_while_sending(tessera, parts):
    """What comes back while the parts are sent, and how many bytes the server let through."""
    sent = 0
    with connect(tessera) as stream, concurrent.futures.ThreadPoolExecutor(1) as beside:
        answer = beside.submit(read_all, stream)
        try:
            for part in parts:
                stream.sendall(part)
                sent += len(part)
        except OSError:
            pass  # it has had enough
        return answer.result(), sent


def status_and_error(answer):
    """Of the only answer, after which the connection was closed."""
    head, body = answer.split(b"\r\n\r\n", 1)
    assert b"\r\nConnection: close" in head, head
    return statuses(answer), json.loads(body)


TOO_LARGE = [413], {"Error": "the request's body is too large"}
HUNDRED_MB = 100_000_000
PIECE = b" " * 65536
CHUNK = b"10000\r\n" + PIECE + b"\r\n"
LIMIT_MIB = 64     # of a body
BUDGET_MIB = 256   # of all bodies and large answers at a time


def test_a_hundred_megabytes_are_refused_before_the_first(tessera):
    """By the length that is announced: the answer comes before any byte of the body is sent."""
    answer, _ = answer_while_sending(tessera, [HEAD + b"Content-Length: 100000000\r\n\r\n"])
    assert status_and_error(answer) == TOO_LARGE


@pytest.mark.parametrize("head, piece, most_mib, kept_mib", [
    # The head tells: what is sent all the same is thrown away.
    (b"Content-Length: 100000000\r\n\r\n", PIECE, 4, 4),
    # Nobody knows before 64 MiB are there, in a buffer that doubles. They are let go, of which
    # malloc keeps a part for each of the two threads; bodies that were not let go would be seen.
    (b"Transfer-Encoding: chunked\r\n\r\n", CHUNK, 4 * LIMIT_MIB, 2 * LIMIT_MIB),
], ids=["with a length", "in chunks"])
def test_a_hundred_megabytes_leave_no_memory_behind(
        tessera, measured, head, piece, most_mib, kept_mib):
    count = HUNDRED_MB // len(PIECE) + 1
    before = tessera.resident_mib()
    tessera.forget_peak()
    for _ in range(10):
        answer, sent = answer_while_sending(tessera, [HEAD + head, *[piece] * count])
        assert status_and_error(answer) == TOO_LARGE
    peak, after = tessera.peak_mib(), tessera.resident_mib()
    measured(f"{sent / 1e6:.0f} MB sent, memory {before:.0f} MiB before, {peak:.0f} at most, "
             f"{after:.0f} after ten times")
    assert peak < before + most_mib
    assert after < before + kept_mib


def test_large_requests_leave_no_memory_behind(tessera, measured):
    """Within the limit: read, judged, forgotten. Forty times one's size is more than may be kept."""
    body = many_names(MOST_NODES)
    before = tessera.resident_mib()
    assert 40 * len(body) / 2**20 > 2 * LIMIT_MIB
    for _ in range(40):
        status, answer = tessera.request("POST", FILTER, body, timeout=30)
        assert status == 200 and answer.startswith(b'{"Nodes":null,"NodeNames":[],'), answer[:200]
    after = tessera.resident_mib()
    measured(f"{len(body) / 1e6:.0f} MB of names: memory {before:.0f} MiB before, "
             f"{after:.0f} after forty times")
    assert after < before + 2 * LIMIT_MIB


def filter_whole(tessera, body):
    with connect(tessera) as stream:
        stream.sendall(body)
        head, said = read_all(stream).split(b"\r\n\r\n", 1)
    return head, json.loads(said)


def test_a_list_that_no_cluster_has_is_refused(tessera, measured):
    """Sixty MiB of names of one letter, from two at once: each name would take a hundred bytes."""
    names = b",".join([b'"a"'] * (60 * 2**18))
    body = b'{"Pod":%s,"NodeNames":[%s]}' % (FITS.encode(), names)
    request = post(FILTER, body, ("Connection: close",))
    before = tessera.resident_mib()
    tessera.forget_peak()
    with concurrent.futures.ThreadPoolExecutor(2) as both:
        for head, said in both.map(lambda _: filter_whole(tessera, request), range(2)):
            assert b" 200 " in head.splitlines()[0], head
            assert said["Error"] == "NodeNames: more than 65536 nodes are not accepted", said
    peak, after = tessera.peak_mib(), tessera.resident_mib()
    measured(f"{len(body) / 1e6:.0f} MB of names twice: memory {before:.0f} MiB before, {peak:.0f} at "
             f"most, {after:.0f} after")
    assert peak < before + 8 * LIMIT_MIB


def test_a_pod_that_no_api_server_has_is_refused(tessera):
    """It would be kept for as long as its share is held."""
    body = question(objects.gpushare_pod("p", 8), ["gpu-a"])
    body["Pod"]["metadata"]["annotations"] = {"a": "x" * 60_000_000}
    for verb in (FILTER, "/tessera/explain"):
        status, answer = tessera.request("POST", verb, json.dumps(body).encode(), timeout=30)
        assert status == VERBS[verb] and "bytes is not accepted, at most 4194304 are" in json.loads(
            answer)["Error"], answer[:300]


def test_answers_that_nobody_reads_have_an_end(tessera, measured):
    """Of fifty clients that ask much and read nothing as many are answered as there is memory for."""
    request = post(FILTER, many_names(MOST_NODES))
    before = tessera.resident_mib()
    tessera.forget_peak()
    clients = [connect(tessera) for _ in range(50)]
    try:
        begun = []
        for stream in clients:
            stream.sendall(request)
            begun.append(stream.recv(12, socket.MSG_PEEK | socket.MSG_WAITALL))
        check_alive(tessera)
        peak = tessera.peak_mib()
        answered = begun.count(b"HTTP/1.1 200")
        measured(f"{answered} of 50 answered, memory {before:.0f} MiB before, {peak:.0f} at most")
        assert 10 < answered < 50 and answered + begun.count(b"HTTP/1.1 503") == 50, begun
        assert peak < before + BUDGET_MIB + LIMIT_MIB
    finally:
        for stream in clients:
            stream.close()
    whole = post(FILTER, many_names(MOST_NODES), ("Connection: close",))
    wait_until(lambda: send(tessera, whole).startswith(b"HTTP/1.1 200"), 20, "there is memory again")


# What is sent, and the one answer to it.
SMUGGLING = {
    "two lengths": (HEAD + b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}",
                    400, "a malformed request"),
    "length and chunks": (
        HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400, "a malformed request"),
    "chunks in disguise": (HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
                           400, "a bad Transfer-Encoding"),
    "chunks twice": (HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
                     400, "a bad Transfer-Encoding"),
    "a blank before the colon": (HEAD + b"Content-Length : 2\r\n\r\n{}", 400, "a malformed request"),
    "a length with a sign": (HEAD + b"Content-Length: +2\r\n\r\n{}", 400, "a malformed request"),
    "a negative length": (HEAD + b"Content-Length: -1\r\n\r\n", 400, "a malformed request"),
    "a length beyond 64 bits": (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n",
                                400, "a malformed request"),
    "a folded header": (HEAD + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
                        400, "a line that begins with a space"),
    "bare line feeds": (HEAD.replace(b"\r", b"") + b"Content-Length: 2\n\n{}",
                        400, "a line feed without a carriage return"),
    "a bad chunk size": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
                         400, "a malformed chunked body"),
    "no HTTP at all": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "a control character"),
    "another version": (b"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", 505, "HTTP/1.1 is spoken here"),
    "NUL in a header": (b"GET /healthz HTTP/1.1\r\nHost: x\x00y\r\n\r\n", 400, "a control character"),
    "two hosts": (b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
                  400, "a request needs one Host"),
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_a_request_that_two_readers_would_read_differently_is_refused(tessera, name):
    """And what follows it on the connection is not taken for a request."""
    data, status, error = SMUGGLING[name]
    hidden = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    before = tessera.answered("/metrics")
    assert status_and_error(send(tessera, data + hidden)) == ([status], {"Error": error})
    assert tessera.answered("/metrics") == before + 1, "that of the line above"


def test_headers_without_end_are_refused(tessera):
    for headers in (b"X: " + b"b" * 200_000 + b"\r\n",
                    b"".join(b"X-%d: y\r\n" % index for index in range(50_000))):
        answer = send(tessera, b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n")
        assert status_and_error(answer) == ([431], {"Error": "the request's head is too large"})


def one_more_byte(stream, received):
    """Sends it and adds what has come; has the server closed the connection by now?"""
    stream.settimeout(0.001)
    try:
        stream.send(b"x")
        while part := stream.recv(4096):
            received.append(part)
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def test_slow_clients_harm_nobody(tessera):
    """Two hundred that send a byte now and then: others are served, and the slow ones are cut off."""
    slow = {connect(tessera): [] for _ in range(200)}
    try:
        for number, stream in enumerate(slow):
            half = (b"POST " if number % 2 else
                    f"POST {FILTER} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{{".encode())
            stream.sendall(half)
        for _ in range(20):
            check_alive(tessera)

        going_on = set(slow)

        def all_cut_off():
            going_on.difference_update([stream for stream in going_on
                                        if one_more_byte(stream, slow[stream])])
            return not going_on
        wait_until(all_cut_off, 40, "the slow ones are cut off")
        for received in slow.values():
            assert status_and_error(b"".join(received)) == (
                [408], {"Error": "the request took too long to arrive"})
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
    request = post(FILTER, many_names(MOST_NODES))  # its answer is larger than all buffers
    before, answered = tessera.resident_mib(), tessera.answered(FILTER)
    tessera.forget_peak()
    with connect(tessera) as stream:
        stream.settimeout(1)
        with pytest.raises(TimeoutError):
            for _ in range(50):
                stream.sendall(request)  # until nobody takes any more
        check_alive(tessera)
        wait_until(lambda: is_reset(stream), 20, "the connection is cut")
        stream.settimeout(5)
        taken = read_all(stream)
    assert statuses(taken) == [200], "no second answer before the first is taken"
    head, body = taken.split(b"\r\n\r\n", 1)
    whole, = re.findall(rb"Content-Length: (\d+)", head)
    assert len(body) < int(whole), "it was cut within the first"
    assert tessera.answered(FILTER) == answered + 2, "its first request and the good one"
    assert tessera.peak_mib() < before + LIMIT_MIB


def test_connections_that_come_and_go(tessera):
    """Two thousand, closed at every point of a request."""
    whole = post(FILTER, GOOD)
    for number in range(2000):
        with connect(tessera) as stream:
            stream.sendall(whole[: number * len(whole) // 2000])
    only_the_one_that_asks = b"\ntessera_http_connections 1\n"
    wait_until(lambda: only_the_one_that_asks in tessera.request("GET", "/metrics")[1], 30,
               "no other connection is left")
