"""Resources that differ only in their numbers told together, as the program's report tells them."""

import re
from dataclasses import dataclass

import reading

KINDS = {
    "nic": "NIC wire", "pcie": "PCIe link of a device", "pcie_uplink": "uplink of a PCIe switch",
    "socket": "root complex and host memory", "socket_link": "link between sockets",
    "nvlink": "NVLink of a GPU", "reduce": "reduce kernels of a GPU", "memory": "memory of a GPU",
    "iommu": "IOMMU of a socket", "ordered_writes": "writes in strict order",
    "network": "link between network switches", "thread": "CPU cores that carry TCP",
}
CAUSES = {
    "busy": "moving data, or waiting for its turn", "credits": "waiting for credits",
    "paused": "paused by the receiving end (PFC)", "paced": "held back by congestion control",
    "latency": "on the way", "reads outstanding": "waiting for reads on the way",
    "slot credits": "waiting for a free receive slot", "compute": "computing",
    "compute beside collectives": "computing beside collectives",
    "late start": "waiting for a rank that starts later",
    "starting copies": "starting copies to or from host memory",
    "communication thread": "communication thread", "interrupt and wake-up": "waking threads",
    "registering memory": "registering memory",
    "pause storm": "told to pause without need (PFC)",
    "taken for lost": "sending again what was only overtaken",
    "retransmission": "sending again what was lost", "ACK timeout": "waiting for the ACK timeout",
    "reordering": "waiting for packets that were overtaken",
    "flush": "reading back what was written",
    "context misses": "fetching contexts into the NIC",
    "queue pair rate": "at the limit of one queue pair",
    "no receive posted": "waiting until a receive was posted (RNR)",
}
# Classes of causes, in the order in which they are stacked and named.
MOVING, WAITING, LATENCY, WORKING = (
    "moving data", "waiting (credits, pauses, slots)", "latency", "reducing, and software")


def shape_of(name):
    """node0.nic3 -> node*.nic*"""
    return re.sub(r"[0-9]+", "*", name)


def common_name(names):
    """Of names of one shape: the numbers that all share are kept."""
    numbers = [re.findall(r"[0-9]+", name) for name in names]
    kept = iter(column[0] if len(set(column)) == 1 else "*" for column in zip(*numbers))
    return re.sub(r"[0-9]+", lambda _: next(kept), names[0])


def class_of(cause, resource):
    if cause in ("credits", "paused", "paced", "reads outstanding", "slot credits",
                 "retransmission", "ACK timeout", "pause storm", "taken for lost"):
        return WAITING
    if cause == "latency":
        return LATENCY
    if cause == "busy" and ".reduce" not in resource:
        return MOVING
    return WORKING


def cause_in_words(cause, resource):
    if cause == "busy" and ".reduce" in resource:
        return "reducing"
    if ".iommu" in resource and cause in ("busy", "latency"):
        return "translating addresses (IOTLB misses)"
    if cause == "busy" and ".ordered" in resource:
        return "writing in strict order"
    return CAUSES.get(cause, cause)


@dataclass
class PartGroup:
    """Of a row's time: the parts of all resources of one shape and one cause together."""

    resources: str
    cause: str
    time_us: float

    @property
    def words(self):
        words = cause_in_words(self.cause, self.resources)
        return f"{self.resources}: {words}" if self.resources else words


def grouped_parts(row):
    """The largest first; those of no time are left out."""
    groups = {}
    for key, value in reading.member(row, "parts_us", dict, {}).items():
        time = reading.number(value, 0)
        resource, _, cause = key.rpartition(": ")
        if time > 0:
            names, before = groups.get((shape_of(resource), cause), ([], 0))
            groups[(shape_of(resource), cause)] = (names + [resource], before + time)
    parts = [PartGroup(common_name(names), cause, time)
             for (_, cause), (names, time) in groups.items()]
    return sorted(parts, key=lambda part: -part.time_us)


@dataclass
class UseGroup:
    """Resources of one kind and shape that are about equally busy."""

    names: list
    kind: str
    highest: float  # of 1
    lowest: float

    @property
    def name(self):
        count = len(self.names)
        equal = "" if count == 1 else f" ({count} equal)"
        if self.highest - self.lowest >= 0.005:
            equal = f" ({count}, down to {self.lowest * 100:.3g} %)"
        return f"{common_name(self.names)}{equal}"

    @property
    def words(self):
        kind = KINDS.get(self.kind, self.kind)
        return self.name + (f": {kind}" if kind else "")


def grouped_uses(resources, alike=0.02):
    """The busiest first; of one group no two neighbours are further apart than `alike`."""
    shapes = {}
    for resource in resources:
        use = reading.number(resource.get("utilisation"))
        if use is not None:
            kind = reading.member(resource, "kind", str, "")
            shapes.setdefault((kind, shape_of(resource["name"])), []).append(
                (use, resource["name"]))
    groups = []
    for (kind, _), uses in shapes.items():
        last = None
        for use, name in sorted(uses, key=lambda entry: -entry[0]):
            if last is None or last.lowest - use > alike:
                last = UseGroup([], kind, use, use)
                groups.append(last)
            last.names.append(name)
            last.lowest = use
    return sorted(groups, key=lambda group: -group.highest)
