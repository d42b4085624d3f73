"""The topology, with the load of its links: the network as a whole, and one node from within."""

import reading
import resource_names as names
import runs as several
import style
from bad_input import BadInput
from cluster_shape import shape_of
from matplotlib.patches import FancyBboxPatch
from sheet import Entry, Sheet, shortened

# From which load on a link is drawn how. Widths order them where colours cannot.
CLASSES = ((0.9, style.VERMILION, 4.2, "90 to 100 %"), (0.75, style.ORANGE, 3.2, "75 to 90 %"),
           (0.5, style.BLUE, 2.4, "50 to 75 %"), (0.25, style.SKY, 1.7, "25 to 50 %"),
           (0.0, style.REST, 1.1, "up to 25 %"))
UNUSED = {"color": style.REST, "linewidth": 0.8, "linestyle": (0, (1.5, 1.5))}
MOST_BOXES = 16
PITCH = 0.43  # inches, from device to device
SOCKET_GAP = 0.5  # inches more, from socket to socket
MANY_LINKS = 16  # of a network; more are drawn thinner
NODE_SPREAD = 0.02  # so far apart, two nodes are told to be alike


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one run")
    runs = reading.runs_of(documents[0])
    if len(runs) != 1:
        raise BadInput(documents[0].file, f"holds {len(runs)} runs; this picture is of one")
    run = runs[0]
    shape = shape_of(run)
    if not shape.loads:
        raise BadInput(documents[0].file, "has no use of resources, as predictions of the packet "
                                          "and flow models have it")
    network = shape.nodes > 1 and shape.nics > 0
    places = _device_places(shape)
    width = min(14.0, max(7.2, max(places.values()) + 0.9))
    heights = [_network_height(shape)] if network else []
    heights.append(1.2 + (0.9 if shape.sockets else 0) + (0.45 if shape.nvlink else 0))
    node = _busiest_node(shape)
    sheet = Sheet(_title(run, shape), about=several.about_run(run), width=width,
                  height=sum(heights) + 0.3, legend=_legend(shape, node),
                  notes=[_small_print(shape, node, run)])
    panels = sheet.figure.subplots(len(heights), 1, squeeze=False,
                                   gridspec_kw={"height_ratios": heights})[:, 0]
    for panel in panels:
        panel.set_axis_off()
    if network:
        _draw_network(panels[0], shape)
    _draw_node(panels[-1], shape, node, places)
    return sheet


def _network_height(shape):
    if not shape.leaves:
        return 0.55
    return 2.1 if shape.spines else 1.4


def _device_places(shape):
    """{device: inches from the left}; with a gap between those of different sockets."""
    places, x, socket = {}, 0.0, None
    for branch in shape.branches:
        if socket is not None and branch.socket != socket and branch.devices:
            x += SOCKET_GAP
        socket = branch.socket if branch.devices else socket
        for device in branch.devices:
            places[device] = x + PITCH / 2
            x += PITCH
    return places


def _expected_links(shape, node):
    """The names of all links that are drawn of a node."""
    found = []
    for branch in shape.branches:
        found += [branch.name] if branch.name else []
        for device in branch.devices:
            found += [f"{device}.pcie"] if branch.socket else []
            found += [device] if device.startswith("nic") else []
            found += [f"{device}.nvlink"] if device.startswith("gpu") and shape.nvlink else []
    return [f"node{node}.{name}" for name in found]


def _class_of(load):
    return next(entry for entry in CLASSES if load >= entry[0] or entry[0] == 0)


def _look(load):
    if load is None:
        return UNUSED
    _, colour, width, _ = _class_of(load)
    return {"color": colour, "linewidth": width, "solid_capstyle": "butt"}


def _legend(shape, node):
    links = [load for name, load in shape.loads.items()
             if not name.endswith((".reduce", ".memory"))]
    present = {_class_of(load)[3] for load in links}
    entries = [Entry(f"busy {label}", {"color": colour, "linewidth": width, "marker": ""})
               for _, colour, width, label in CLASSES if label in present]
    if any(name not in shape.loads for name in _expected_links(shape, node)):
        entries.append(Entry("unused", {**UNUSED, "marker": ""}))
    return entries


def _title(run, shape):
    links = [resource for resource in run.resources
             if not resource["name"].endswith((".reduce", ".memory"))
             and resource["name"] in shape.loads]
    title = f"Which links of {shortened(run.name)} carry how much?"
    groups = names.grouped_uses(links)
    if groups:
        title += (f" The busiest: {groups[0].name}, {groups[0].highest * 100:.0f} % of the "
                  "time.")
    return title


def _node_loads(shape, node):
    start = f"node{node}."
    return {name[len(start):]: load for name, load in shape.loads.items()
            if name.startswith(start)}


def _busiest_node(shape):
    """The node with the busiest link; of several the first."""
    def busiest(node):
        return max((load for name, load in _node_loads(shape, node).items()
                    if not name.endswith((".reduce", ".memory"))), default=0)
    loads = [busiest(node) for node in range(shape.nodes)]
    return next(node for node, load in enumerate(loads) if load >= max(loads) - 0.005)


def _small_print(shape, node, run):
    words = ["Busy: the busier direction, of the whole time."]
    if shape.nodes > 1:
        mine = _node_loads(shape, node)
        alike = all(abs(mine.get(name, 0) - other.get(name, 0)) <= NODE_SPREAD
                    for number in range(shape.nodes)
                    for other in [_node_loads(shape, number)] for name in {*mine, *other})
        words.append(f"Below: node{node}; all nodes are loaded alike." if alike else
                     f"Below: node{node}, with the busiest link; other nodes are loaded "
                     "otherwise.")
        if shape.nics > 1:
            words.append("Above, a line from node to leaf is its busiest cable.")
    if len(run.rows) > 1:
        words.append("Of the last of the sizes that ran.")
    return " ".join(words)


def _box(panel, x, y, text, width, height=0.36, colour=style.PAPER):
    """Centred there; in units of the panel's axes."""
    panel.add_patch(FancyBboxPatch((x - width / 2, y - height / 2), width, height,
                                   boxstyle="round,pad=0,rounding_size=0.06", facecolor=colour,
                                   edgecolor=style.MUTED, linewidth=0.8, zorder=4))
    panel.text(x, y, text, ha="center", va="center", fontsize=style.SMALL, zorder=5)


def _link(panel, ends, load, label=True, place=0.5, thin=False):
    (x1, y1), (x2, y2) = ends
    look = _look(load)
    if thin:
        look = {**look, "linewidth": look["linewidth"] * 0.4}
    panel.plot([x1, x2], [y1, y2], zorder=2, gid="link", **look)
    if label and load is not None:
        percent = "< 1 %" if 0 < load < 0.005 else f"{load * 100:.0f} %"
        panel.text(x1 + (x2 - x1) * place, y1 + (y2 - y1) * place, percent, ha="center",
                   va="center", fontsize=style.SMALL, zorder=6,
                   bbox={"facecolor": style.PAPER, "linewidth": 0, "pad": 0.6})


def _shown(count, most):
    """Which of so many have room: (index or None for the gap) from left to right."""
    if count <= most:
        return list(range(count))
    return list(range(most - 2)) + [None, count - 1]


def _places(shown, width):
    step = width / max(len(shown), 1)
    return {index: (place + 0.5) * step for place, index in enumerate(shown)}


def _row(panel, shape_name, shown, places, y, most):
    room = most / max(len(shown), 1)
    for index in shown:
        if index is None:
            panel.text(places[None], y, "…", ha="center", va="center", fontsize=style.TEXT)
        else:
            _box(panel, places[index], y, f"{shape_name}{index}", min(1.0, room * 0.86))


def _draw_network(panel, shape):
    most = panel.figure.get_figwidth() / 0.62
    nodes = _shown(shape.nodes, min(MOST_BOXES, int(most)))
    places = _places(nodes, most)
    panel.set_xlim(0, most)
    _row(panel, "node", nodes, places, 0, most)
    top = 2.4 if shape.spines else 1.2
    panel.set_ylim(-0.3, top + 0.3)
    if not shape.leaves:
        panel.set_ylim(-0.3, 0.3)
        _draw_cables(panel, shape, places)
        return
    leaves = _shown(shape.leaves, min(MOST_BOXES, int(most)))
    above = _places(leaves, most)
    _row(panel, "leaf", leaves, above, 1.2, most)
    loads = {}
    for node in nodes:
        for nic in range(shape.nics) if node is not None else ():
            ends = (node, shape.leaf_of(node, nic))
            load = shape.load(f"node{node}.nic{nic}")
            if ends not in loads or (load or -1) > (loads[ends] or -1):
                loads[ends] = load
    for (node, leaf), load in sorted(loads.items(), key=lambda entry: entry[1] or -1):
        if leaf in above:
            _link(panel, ((places[node], 0.18), (above[leaf], 1.02)), load,
                  len(loads) <= 12, 0.3, len(loads) > MANY_LINKS)
    _draw_spines(panel, shape, above, most)
    if shape.topology == "ring":
        panel.set_ylim(-0.3, 1.85)
        _draw_ring(panel, shape, above)


def _draw_cables(panel, shape, places):
    """Back to back."""
    if 0 in places and 1 in places:
        load = max((shape.load(f"node{node}.nic{nic}") or 0 for node in (0, 1)
                    for nic in range(shape.nics)), default=None)
        _link(panel, ((places[0] + 0.5, 0), (places[1] - 0.5, 0)), load)


def _draw_spines(panel, shape, above, most):
    if not shape.spines:
        return
    spines = _shown(shape.spines, min(MOST_BOXES, int(most)))
    places = _places(spines, most)
    _row(panel, "spine", spines, places, 2.4, most)
    leaves = [leaf for leaf in above if leaf is not None]
    count = len(leaves) * len(spines)
    for spine in spines:
        for leaf in leaves if spine is not None else ():
            _link(panel, ((above[leaf], 1.38), (places[spine], 2.22)),
                  shape.load(f"leaf{leaf}-spine{spine}"), count <= 12, 0.3, count > MANY_LINKS)


def _draw_ring(panel, shape, above):
    """Each leaf to the next, and the last one back to the first, above them all."""
    for leaf in range(shape.leaves):
        after = (leaf + 1) % shape.leaves
        if leaf not in above or after not in above:
            continue
        load = shape.load(f"leaf{leaf}-leaf{after}")
        if after > leaf:
            _link(panel, ((above[leaf], 1.2), (above[after], 1.2)), load)
            continue
        _link(panel, ((above[leaf], 1.62), (above[after], 1.62)), load)
        for end in (leaf, after):
            _link(panel, ((above[end], 1.2), (above[end], 1.62)), load, False)


def _draw_node(panel, shape, node, places):
    """From below: sockets, PCIe switches, devices, and above these NVLink and the cables."""
    name = f"node{node}"
    # As many inches as the sheet is wide, so that boxes are as wide as their text.
    air = (panel.figure.get_figwidth() - 0.4 - max(places.values())) / 2
    panel.set_xlim(-air, max(places.values()) + air)
    panel.set_ylim(-0.6 if shape.sockets else 1.6, 4.8 if shape.nvlink else 3.9)
    panel.text(0, 1, shortened(f"{name}, {shape.node_type}", 40) if shape.node_type else name,
               transform=panel.transAxes, va="top", fontsize=style.TEXT, fontweight="bold")
    for device, x in places.items():
        _box(panel, x, 2, device, 0.4)
        if device.startswith("nic"):
            _link(panel, ((x, 2.2), (x, 3.2)), shape.load(f"{name}.{device}"))
            if shape.nodes > 1:
                leaf = f"leaf{shape.leaf_of(node, int(device[3:]))}" if shape.leaves else "cable"
                panel.text(x, 3.25, leaf, ha="center", va="bottom", fontsize=style.SMALL)
        elif shape.nvlink:
            _link(panel, ((x, 2.2), (x, 3.9)), shape.load(f"{name}.{device}.nvlink"), place=0.3)
    gpus = [x for device, x in places.items() if device.startswith("gpu")]
    if shape.nvlink and gpus:
        middle = (min(gpus) + max(gpus)) / 2
        _box(panel, middle, 4.05, shape.nvlink, max(gpus) - min(gpus) + 0.9)
    if shape.sockets:
        _draw_pcie(panel, shape, name, places)


def _draw_pcie(panel, shape, name, places):
    sockets = {}
    for branch in shape.branches:
        xs = [places[device] for device in branch.devices]
        if not xs:
            continue
        middle = sum(xs) / len(xs)
        sockets.setdefault(branch.socket, []).extend(xs)
        for x, device in zip(xs, branch.devices):
            load = shape.load(f"{name}.{device}.pcie")
            if branch.name:
                _link(panel, ((x, 1.8), (x + (middle - x) * 0.4, 1.08)), load, place=0.35)
            else:
                _link(panel, ((x, 1.8), (x, 0.18)), load, place=0.25)
        if branch.name:
            _box(panel, middle, 1, branch.name, 0.4)
            _link(panel, ((middle, 0.82), (middle, 0.18)), shape.load(f"{name}.{branch.name}"))
    _draw_sockets(panel, shape, name, sockets)


def _draw_sockets(panel, shape, name, sockets):
    edges = []
    for socket, xs in sockets.items():
        if not socket:
            continue
        middle, wide = (min(xs) + max(xs)) / 2, max(max(xs) - min(xs) + 0.34, 0.6)
        _box(panel, middle, 0, socket, wide)
        edges.append((middle - wide / 2, middle + wide / 2))
        load = shape.load(f"{name}.{socket}")
        if load is not None:
            panel.text(middle, -0.25, f"busy {load * 100:.0f} %", ha="center",
                       va="top", fontsize=style.SMALL)
    edges.sort()
    for (_, left), (right, _) in zip(edges, edges[1:]):
        _link(panel, ((left, 0), (right, 0)), shape.load(f"{name}.socket_link"))
