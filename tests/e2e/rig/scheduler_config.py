"""KubeSchedulerConfiguration, as an operator would write it for an extender."""

import dataclasses

import yaml

from . import objects

QPS = 5000


@dataclasses.dataclass
class Extender:
    """One extender of kube-scheduler. A verb of "" is not called."""
    url_prefix: str
    filter_verb: str = "filter"
    prioritize_verb: str = ""
    bind_verb: str = "bind"
    preempt_verb: str = ""
    weight: int = 1
    managed_resources: tuple = (objects.GPU_MEM,)
    ignored_by_scheduler: bool = False
    node_cache_capable: bool = True
    ignorable: bool = False
    http_timeout: str = "5s"
    tls: dict = None  # caFile, certFile, keyFile

    def document(self):
        verbs = {"filterVerb": self.filter_verb, "prioritizeVerb": self.prioritize_verb,
                 "bindVerb": self.bind_verb, "preemptVerb": self.preempt_verb}
        entry = {"urlPrefix": self.url_prefix, **{key: verb for key, verb in verbs.items() if verb},
                 "enableHTTPS": self.url_prefix.startswith("https:"),
                 "nodeCacheCapable": self.node_cache_capable, "ignorable": self.ignorable,
                 "httpTimeout": self.http_timeout}
        if self.tls:
            entry["tlsConfig"] = self.tls
        if self.prioritize_verb:
            entry["weight"] = self.weight
        if self.managed_resources:
            entry["managedResources"] = [
                {"name": name, "ignoredByScheduler": self.ignored_by_scheduler}
                for name in self.managed_resources]
        return entry


def gpushare_extender(base, **more):
    """The wiring of gpushare and Co-scheML, which know no prioritize."""
    return Extender(f"{base}/gpushare-scheduler", **more)


def elastic_extender(base, **more):
    return Extender(f"{base}/scheduler", prioritize_verb="priorities",
                    managed_resources=(objects.ELASTIC_MEMORY, objects.ELASTIC_CORE), **more)


def tessera_extender(base, **more):
    more.setdefault("managed_resources", (objects.GPU_MEM, objects.ELASTIC_MEMORY,
                                          objects.ELASTIC_CORE, objects.TESSERA_GPU))
    return Extender(f"{base}/tessera", prioritize_verb="prioritize", preempt_verb="preempt", **more)


def scheduler_config(kubeconfig, extenders=(), percentage_of_nodes=None, back_off=(1, 10)):
    """The text of the configuration file; back_off is (first, longest) in seconds."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": QPS, "burst": 2 * QPS},
        "podInitialBackoffSeconds": back_off[0], "podMaxBackoffSeconds": back_off[1],
    }
    if percentage_of_nodes is not None:
        document["percentageOfNodesToScore"] = percentage_of_nodes
    if extenders:
        document["extenders"] = [extender.document() for extender in extenders]
    return yaml.safe_dump(document, sort_keys=False)
