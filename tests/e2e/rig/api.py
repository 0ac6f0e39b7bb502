"""A small client of the Kubernetes API: JSON over keep-alive connections, one per thread.

    api = Api("https://127.0.0.1:6443", token, ca_file)
    api.create("pods", pod)                       # the namespace is in the object
    api.get("pods", "train-1", namespace="lab")
    api.create_all("nodes", nodes)                # over several connections
    for event in api.watch("pods"): ...
"""

import concurrent.futures
import http.client
import json
import ssl
import threading
import urllib.parse

CORE = {"nodes": None, "pods": "default", "namespaces": None, "configmaps": "default",
        "serviceaccounts": "default", "events": "default", "services": "default"}
GROUPS = {
    "deployments": ("apps/v1", "default"),
    "jobs": ("batch/v1", "default"),
    "leases": ("coordination.k8s.io/v1", "default"),
    "clusterroles": ("rbac.authorization.k8s.io/v1", None),
    "clusterrolebindings": ("rbac.authorization.k8s.io/v1", None),
    "priorityclasses": ("scheduling.k8s.io/v1", None),
    "roles": ("rbac.authorization.k8s.io/v1", "default"),
    "rolebindings": ("rbac.authorization.k8s.io/v1", "default"),
}
# A connection that the server closed while it was idle shows as one of these.
STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError)


class ApiError(Exception):
    def __init__(self, status, body, what):
        self.status = status
        self.body = body
        super().__init__(f"{what}: HTTP {status}: {body[:500]!r}")


def path_of(resource, name=None, namespace=None, sub=None):
    """namespace "*" is all of them; None is the resource's usual one."""
    if resource in CORE:
        prefix, default = "/api/v1", CORE[resource]
    else:
        group, default = GROUPS[resource]
        prefix = f"/apis/{group}"
    path = prefix
    if default is not None and namespace != "*":
        path += f"/namespaces/{namespace or default}"
    path += f"/{resource}"
    for part in (name, sub):
        if part:
            path += f"/{part}"
    return path


class Api:
    def __init__(self, server, token, ca_file, timeout=60):
        parts = urllib.parse.urlsplit(server)
        self.server = server
        self._address = parts.hostname, parts.port
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json",
                         "User-Agent": "tessera-e2e"}
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._timeout = timeout
        self._local = threading.local()

    def connect(self, timeout=None):
        return http.client.HTTPSConnection(*self._address, context=self._tls,
                                           timeout=timeout or self._timeout)

    def raw(self, method, path, body=None, content_type="application/json"):
        """(status, bytes). A connection that went stale while idle is replaced once."""
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = content_type
        for attempt in (1, 2):
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            if fresh:
                connection = self._local.connection = self.connect()
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except STALE:
                connection.close()
                self._local.connection = None
                if fresh or attempt == 2:
                    raise
            except BaseException:
                connection.close()
                self._local.connection = None
                raise
        raise AssertionError("not reached")

    def call(self, method, path, body=None, content_type="application/json"):
        data = None if body is None else json.dumps(body).encode()
        status, answer = self.raw(method, path, data, content_type)
        if status >= 300:
            raise ApiError(status, answer, f"{method} {path}")
        return json.loads(answer)

    def ready(self):
        try:
            return self.raw("GET", "/readyz")[0] == 200
        except OSError:
            return False
        except http.client.HTTPException:
            return False

    def get(self, resource, name, namespace=None):
        return self.call("GET", path_of(resource, name, namespace))

    def find(self, resource, name, namespace=None):
        """The object, or None when there is none."""
        try:
            return self.get(resource, name, namespace)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, resource, namespace="*", query=""):
        """The items; of all namespaces unless told."""
        path = path_of(resource, None, namespace)
        return self.call("GET", path + (f"?{query}" if query else ""))["items"]

    def create(self, resource, body):
        namespace = body["metadata"].get("namespace")
        return self.call("POST", path_of(resource, None, namespace), body)

    def create_all(self, resource, bodies, connections=8):
        return self.parallel(lambda body: self.create(resource, body), bodies, connections)

    def parallel(self, function, items, connections=8):
        """Results of function(item), in the order of the items, over several connections."""
        with concurrent.futures.ThreadPoolExecutor(connections) as pool:
            return list(pool.map(function, items))

    def replace(self, resource, body, sub=None):
        meta = body["metadata"]
        return self.call("PUT", path_of(resource, meta["name"], meta.get("namespace"), sub), body)

    def patch(self, resource, name, change, namespace=None, sub=None):
        return self.call("PATCH", path_of(resource, name, namespace, sub), change,
                         "application/merge-patch+json")

    def apply(self, body, path, dry_run=False):
        """Server-side apply, as kubectl apply --server-side does."""
        query = "?fieldManager=tessera-e2e&force=true" + ("&dryRun=All" if dry_run else "")
        return self.call("PATCH", path + query, body, "application/apply-patch+yaml")

    def delete(self, resource, name, namespace=None, grace=0):
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        return self.call("DELETE", path_of(resource, name, namespace) + query)

    def delete_all(self, resource, namespace=None):
        query = "?gracePeriodSeconds=0"
        return self.call("DELETE", path_of(resource, None, namespace) + query)

    def watch(self, resource, version, namespace="*", seconds=300):
        """Events after a resource version, as (type, object), until the server ends the stream.

        Raises what the connection raises; an ERROR event becomes an ApiError.
        """
        connection = self.connect(timeout=seconds + 30)
        query = f"?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}"
        try:
            connection.request("GET", path_of(resource, None, namespace) + query, None, self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError(answer.status, answer.read(), f"watch {resource}")
            while True:
                line = answer.readline()
                if not line:
                    return
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(event["object"].get("code", 0), line, f"watch {resource}")
                yield event["type"], event["object"]
        finally:
            connection.close()

    def list_with_version(self, resource, namespace="*"):
        """(items, resource version): where a watch goes on."""
        answer = self.call("GET", path_of(resource, None, namespace))
        return answer["items"], answer["metadata"]["resourceVersion"]

    def bind(self, pod, node, annotations=None):
        """A Binding, as a scheduler makes it."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        body = {"apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": name, "namespace": namespace, "uid": pod["metadata"]["uid"],
                             "annotations": annotations or {}},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
        return self.call("POST", path_of("pods", name, namespace, "binding"), body)
