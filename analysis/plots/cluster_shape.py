"""What a cluster is built of, from the names of its resources and the scenario as it took effect:
enough to draw it."""

import re
from dataclasses import dataclass, field

import reading


@dataclass
class Switch:
    """A PCIe switch, or where it has no name what hangs at a socket directly."""

    name: str
    socket: str
    devices: list


@dataclass
class Shape:
    nodes: int = 1
    sockets: int = 0
    devices: list = field(default_factory=list)  # "gpu0", "nic0", in the order of the PCIe tree
    branches: list = field(default_factory=list)
    nvlink: str = ""  # "NVSwitch"; empty: there is none
    topology: str = ""
    leaves: int = 0
    spines: int = 0
    loads: dict = field(default_factory=dict)  # name -> utilisation, 0 to 1
    node_type: str = ""
    nics: int = 0

    def load(self, name):
        """None where nothing went over it."""
        return self.loads.get(name)

    def leaf_of(self, node, nic):
        """The leaf at which a NIC hangs: core/topology_size.h."""
        if self.topology != "rail_optimized":
            return share(node, self.nodes, self.leaves)
        rails = self.leaves // max(self.nics, 1)
        return nic * rails + share(node, self.nodes, rails)


def share(index, items, groups):
    """The group of an item where items are shared out in order, as equally as can be, earlier
    groups taking what is left over."""
    groups = max(groups, 1)
    most, over = divmod(items, groups)
    if index < over * (most + 1):
        return index // (most + 1)
    return over + (index - over * (most + 1)) // max(most, 1)


def shape_of(run):
    shape = Shape()
    for resource in run.resources:
        use = reading.number(resource.get("utilisation"))
        if use is not None:
            shape.loads[resource["name"]] = use
    cluster = reading.member(run.effective, "cluster", dict, {})
    node = reading.member(cluster, "node", dict, {})
    named = [int(number) for name in shape.loads
             for number in re.findall(r"^node([0-9]+)\.", name)]
    shape.nodes = _count(cluster.get("nodes"), max(named, default=0) + 1)
    shape.node_type = reading.member(node, "name", str, "")
    _read_node(shape, node)
    _read_network(shape, reading.member(cluster, "network", dict, {}))
    return shape


def _count(value, otherwise):
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 \
        else otherwise


def _highest(shape, pattern):
    """One more than the highest number that a name has there."""
    found = [int(match.group(1)) for name in shape.loads if (match := re.match(pattern, name))]
    return max(found, default=-1) + 1


def _read_node(shape, node):
    gpus = _count(reading.member(node, "gpus", dict, {}).get("count"),
                  _highest(shape, r"node\d+\.gpu(\d+)"))
    shape.nics = _count(reading.member(node, "nics", dict, {}).get("count"),
                        _highest(shape, r"node\d+\.nic(\d+)"))
    shape.sockets = _count(node.get("sockets"), 0)
    for branch in reading.member(node, "pcie", list, []):
        devices = [name for name in reading.member(branch, "devices", list, [])
                   if isinstance(name, str)]
        shape.branches.append(Switch(reading.member(branch, "switch", str, ""),
                                     reading.member(branch, "parent", str, ""), devices))
    told = {name for branch in shape.branches for name in branch.devices}
    rest = [name for index in range(max(gpus, shape.nics))
            for name in ([f"gpu{index}"] if index < gpus else [])
            + ([f"nic{index}"] if index < shape.nics else []) if name not in told]
    if rest:
        shape.branches.append(Switch("", "", rest))
    shape.devices = [name for branch in shape.branches for name in branch.devices]
    if not shape.branches or not told:
        shape.sockets = 0
    kind = reading.member(reading.member(node, "nvlink", dict, {}), "kind", str, "")
    if kind or any(name.endswith(".nvlink") for name in shape.loads):
        shape.nvlink = "NVSwitch" if kind in ("", "nvswitch") else f"NVLink ({kind})"


def _read_network(shape, network):
    topology = reading.member(network, "topology", dict, {})
    shape.topology = reading.member(topology, "kind", str, "")
    if shape.nodes < 2 or shape.topology == "back_to_back":
        return
    shape.spines = max(_count(topology.get("spines"), 0),
                       _highest(shape, r"leaf\d+-spine(\d+)"))
    known = max(_count(topology.get("leaves"), 0), _highest(shape, r"leaf(\d+)"))
    rails = shape.nics if shape.topology == "rail_optimized" else 1
    # Leaves that carry nothing from leaf to leaf have no name in the result.
    shape.leaves = max(known, rails, 1)
    shape.leaves += -shape.leaves % max(rails, 1)
