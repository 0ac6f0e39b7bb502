"""What GPUs there are and what each pod holds of them, read from the API objects alone.

This is the checker's own reading of the contracts, kept apart from Tessera's: amounts come from the
pod's spec, devices from the annotations that the projects' device plugins read, and where there are
none from the placement record.
"""

import collections
import json
import re

from . import objects

WHOLE = 1000
NVIDIA_GPU = "nvidia.com/gpu"
KETI_GPU = "keti.com/mpsgpu"
ELASTIC_DOMAINS = ("elasticgpu.io", "elasticgpu.com")
SUFFIXES = {"": 1, "k": 1000, "M": 10**6, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


class BadRecord(Exception):
    """A bound pod whose annotations do not say, or say wrongly, which device it has."""


def number(text):
    """A whole quantity: "300", "4k", "1Gi"."""
    match = re.fullmatch(r"(\d+)(\w{0,2})", str(text))
    if not match or match.group(2) not in SUFFIXES:
        raise BadRecord(f"the amount {text!r} is not a whole number")
    return int(match.group(1)) * SUFFIXES[match.group(2)]


def amounts_of(node):
    status = node.get("status", {})
    return status.get("allocatable") or status.get("capacity") or {}


def gpushare_units(node):
    """(devices, units of each, MiB in a unit). The project's tools take more than 100 for MiB."""
    amounts = amounts_of(node)
    count = number(amounts.get(objects.GPU_COUNT, 0))
    units = number(amounts.get(objects.GPU_MEM, 0)) // count if count else 0
    return count, units, 1 if units > 100 else 1024


def devices(node):
    """[(thousandths of compute, MiB of memory)] of a node."""
    listed = objects.annotation(node, "tessera.dev/gpus")
    if listed:
        return [(WHOLE, gpu["memoryMib"]) for gpu in json.loads(listed)["gpus"]]
    count, units, unit_mib = gpushare_units(node)
    if count:
        return [(WHOLE, units * unit_mib)] * count
    amounts = amounts_of(node)
    for domain in ELASTIC_DOMAINS:
        cards = number(amounts.get(f"{domain}/gpu-core", 0)) // 100
        if cards:
            return [(WHOLE, number(amounts.get(f"{domain}/gpu-memory", 0)) // cards)] * cards
    labels = node["metadata"].get("labels", {})
    count = number(labels.get("nvidia.com/gpu.count", amounts.get(NVIDIA_GPU, 0)))
    return [(WHOLE, number(labels.get("nvidia.com/gpu.memory", 0)))] * count


def limit(container, key):
    resources = container.get("resources", {})
    return number(resources.get("limits", {}).get(key, resources.get("requests", {}).get(key, 0)))


def indices(text, key):
    if text is None:
        raise BadRecord(f"it is bound without {key}")
    if not re.fullmatch(r"\d+(,\d+)*", text):
        raise BadRecord(f"{key} is {text!r}, which names no device")
    return [int(word) for word in text.split(",")]


def gpushare_holds(pod, unit_mib):
    units = sum(limit(container, objects.GPU_MEM) for container in pod["spec"]["containers"])
    if not units:
        return None
    chosen = indices(objects.annotation(pod, "ALIYUN_COM_GPU_MEM_IDX"), "ALIYUN_COM_GPU_MEM_IDX")
    if len(chosen) != 1:
        raise BadRecord("ALIYUN_COM_GPU_MEM_IDX names several devices")
    recorded = objects.annotation(pod, "ALIYUN_COM_GPU_MEM_POD")
    if recorded != str(units):
        raise BadRecord(f"ALIYUN_COM_GPU_MEM_POD is {recorded!r}, its limits are {units} units")
    return [(chosen[0], 0, units * unit_mib)]


def elastic_holds(pod, _):
    holds = []
    for container in pod["spec"]["containers"]:
        for domain in ELASTIC_DOMAINS:
            core = limit(container, f"{domain}/gpu-core")
            memory = limit(container, f"{domain}/gpu-memory")
            if not core and not memory:
                continue
            key = f"elasticgpu.io/container-{container['name']}"
            chosen = indices(objects.annotation(pod, key), key)
            wanted = core // 100 or 1
            if len(chosen) != wanted or len(set(chosen)) != wanted:
                raise BadRecord(f"{key} is {chosen}, but it asks for {wanted} different cards")
            if core >= 100:
                holds += [(card, WHOLE, None) for card in chosen]
            else:
                holds.append((chosen[0], core * 10, memory))
    return holds or None


def by_record(grants, asked):
    """Amounts as asked, {container: (devices, thousandths, MiB)}, on the devices that the record
    names: these vocabularies have no annotation that numbers them."""
    given = collections.Counter(grant["request"] for grant in grants)
    if given != {name: count for name, (count, _, _) in asked.items()}:
        raise BadRecord(f"its placement record grants {dict(given)}, it asks for {asked}")
    return [(grant["gpu"], *asked[grant["request"]][1:]) for grant in grants]


def nvidia_holds(pod, grants):
    """HAMi's amounts are of each device; without any of them a device is whole."""
    asked = {}
    for container in pod["spec"]["containers"]:
        count, memory, cores = (limit(container, f"nvidia.com/{key}")
                                for key in ("gpu", "gpumem", "gpucores"))
        if memory or cores:
            asked[container["name"]] = count or 1, cores * 10, memory or None
        elif count:
            asked[container["name"]] = count, WHOLE, None
    return by_record(grants, asked) if asked else None


def keti_holds(pod, grants):
    """A slot of ten on each device, and the memory of an annotation; devices are named by UUID."""
    asked = {}
    for container in pod["spec"]["containers"]:
        if count := limit(container, KETI_GPU):
            memory = number(objects.annotation(pod, "GPUrequest") or 0)
            asked[container["name"]] = count, WHOLE // 10, memory >> 20
    if not asked:
        return None
    named = objects.annotation(pod, "UUID")
    if named is None or sorted(named.split(",")) != sorted({grant["uuid"] for grant in grants}):
        raise BadRecord(f"UUID is {named!r}, its placement record has {grants}")
    return by_record(grants, asked)


def placement(pod):
    """What tessera.dev/placement says; None without a record."""
    text = objects.annotation(pod, "tessera.dev/placement")
    if text is None:
        return None
    record = json.loads(text)
    meta = pod["metadata"]
    owner = f"{meta['namespace']}/{meta['name']}/{meta['uid']}"
    if record.get("owner") != owner:
        raise BadRecord(f"its placement record belongs to {record.get('owner')}")
    if record.get("node") != pod["spec"]["nodeName"]:
        raise BadRecord(f"its placement record says node {record.get('node')}, "
                        f"it is on {pod['spec']['nodeName']}")
    return record


def holds(pod, unit_mib):
    """[(device, thousandths, MiB)]; None MiB is all of it. Empty for a pod without a GPU."""
    record = placement(pod)
    for read in (gpushare_holds, elastic_holds):
        shares = read(pod, unit_mib)
        if shares is None:
            continue
        if record is not None:
            granted = {grant["gpu"] for grant in record["grants"]}
            if granted != {device for device, _, _ in shares}:
                raise BadRecord(f"its placement record and its annotations disagree: "
                                f"{record} against {shares}")
        return shares
    if record is None:
        return []
    for read in (nvidia_holds, keti_holds):
        shares = read(pod, record["grants"])
        if shares is not None:
            return shares
    return [(grant["gpu"], grant.get("milli", 0), grant.get("memoryMib", 0))
            for grant in record["grants"]]


def counts(pod):
    """Does this pod hold its share? Until it is gone, has ended, or all its containers have."""
    if not objects.is_bound(pod):
        return False
    status = pod.get("status", {})
    if status.get("phase") in ("Succeeded", "Failed"):
        return False
    if not pod["metadata"].get("deletionTimestamp"):
        return True
    states = status.get("containerStatuses", [])
    ended = [entry for entry in states if "terminated" in entry.get("state", {})]
    return not states or len(ended) < len(states)


def free(nodes, pods):
    """{(node, device): [thousandths, MiB]} that nobody holds."""
    left, units = {}, {}
    for node in nodes:
        name = node["metadata"]["name"]
        units[name] = gpushare_units(node)[2]
        for device, size in enumerate(devices(node)):
            left[name, device] = list(size)
    for pod in filter(counts, pods):
        name = pod["spec"]["nodeName"]
        for device, milli, memory in holds(pod, units.get(name, 1024)):
            amount = left[name, device]
            amount[0] -= milli
            amount[1] -= amount[1] if memory is None else memory
    return left
