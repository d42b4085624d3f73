"""How the cost of a prediction grows: CPU time and peak memory by message, ranks, nodes and
channels, with what must be as another was skipped, and with every packet simulated. The picture
answers it at a glance; the table holds the numbers."""

import csv
from dataclasses import dataclass
from pathlib import Path

import measured_runs
from comparison_table import markdown

# Of repeating a point. The picture spans decades, so that less will do than for a ratio.
ENOUGH_SECONDS = 0.5
QUESTION = "What does a prediction cost, and how does that grow?"


@dataclass(frozen=True)
class Axis:
    name: str
    fixed: str          # what stays as it is
    scenario: str
    setting: str        # takes the value
    held: tuple         # settings that stay
    values: tuple
    unit: str = ""


def axes(quick):
    """Each axis leaves out the largest values of its own where time is short."""
    def values(*all_values):
        return all_values[:3] if quick else all_values
    flat, rails = "7b-32gpu-flat", "7b-32gpu"
    return [
        Axis("message (MiB)", "32 nodes of 1 GPU", flat, "workload.size", (),
             values(4, 16, 64, 256, 1024), "MiB"),
        Axis("ranks", "nodes of 1 GPU, 64 MiB", flat, "cluster.nodes", ("workload.size=64MiB",),
             values(4, 8, 16, 32, 64, 128)),
        Axis("nodes of 8 GPUs", "8 rails, 16 channels, 64 MiB", rails, "cluster.nodes",
             ("workload.size=64MiB", "communication.channels=16"), values(1, 2, 4, 8, 16)),
        Axis("channels", "4 nodes of 8 GPUs, 256 MiB", rails, "communication.channels",
             ("workload.size=256MiB",), values(8, 16, 32, 64)),
    ]


@dataclass(frozen=True)
class Point:
    axis: str
    value: int
    skip: bool
    cpu_s: float
    peak_rss_bytes: int
    packet_hops: int


def measure(program, quick):
    points = []
    for axis in axes(quick):
        for value in axis.values:
            settings = [f"{axis.setting}={value}{axis.unit}", *axis.held]
            for skip in (True, False):
                cost = measured_runs.gradhaul(program, axis.scenario, settings, skip,
                                              ENOUGH_SECONDS)
                points.append(Point(axis.name, value, skip, cost.cpu_s, cost.peak_rss_bytes,
                                    cost.packet_hops))
    return points


def table(points):
    rows = []
    for point in points:
        if not point.skip:
            continue
        full = next(other for other in points
                    if not other.skip and (other.axis, other.value) == (point.axis, point.value))
        rows.append([point.axis, str(point.value), f"{point.packet_hops / 1e6:.3g}",
                     f"{point.cpu_s:.3f}", f"{full.cpu_s:.3f}",
                     f"{point.peak_rss_bytes / 1e6:.0f}", f"{full.peak_rss_bytes / 1e6:.0f}"])
    return markdown(["axis", "value", "million hops", "CPU s, skipping", "CPU s, every packet",
                     "MB, skipping", "MB, every packet"], rows)


def write_csv(points, path):
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["axis", "value", "skip", "cpu_s", "peak_rss_bytes", "packet_hops"])
        writer.writerows([point.axis, point.value, int(point.skip), point.cpu_s,
                          point.peak_rss_bytes, point.packet_hops] for point in points)
