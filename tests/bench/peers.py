"""The rows that lay gradhaul beside ns-3, SMPI and memcpy. Each function returns rows, and notes
where something is missing."""

import json
import shutil
from pathlib import Path

import measured_runs
import ring_trace
from comparison_table import Row, difference, megabytes, microseconds, rate, seconds, size, times
from measured_runs import Refused

RANKS = 32
MIB = 1 << 20
GIB = 1 << 30


def ring(message, ranks=RANKS, part=0):
    """What makes scenarios/ideal-ring.yaml a ring of so many ranks and bytes, in slices of `part`
    bytes, or whole chunks."""
    return [f"workload.size={message}B", f"cluster.nodes={ranks}",
            f"communication.slot_size={part or -(-message // ranks)}B"]


def same_hops(ours, peer):
    """A ratio of speeds says something only where both moved the same packets the same hops."""
    if ours.packet_hops != peer.packet_hops:
        raise ValueError(f"not the same work: {ours.packet_hops} and {peer.packet_hops} hops")


def both_ways(program, settings):
    """The prediction with what must be as another was skipped, and with nothing skipped."""
    skipping = measured_runs.gradhaul(program, "ideal-ring", settings)
    full = measured_runs.gradhaul(program, "ideal-ring", settings, skip=False)
    if skipping.time_ps != full.time_ps:
        raise ValueError(f"skipping ends at {skipping.time_ps} ps, not skipping at {full.time_ps}")
    return skipping, full


def speed(cost):
    return cost.packet_hops / cost.cpu_s


def beside_ns3(build, message):
    """ns-3 moves the same packets: answers, then speed and memory. `message` is what ns-3 is given;
    where it is less than 1 GiB, ns-3's time for that is extrapolated and says so."""
    program = Path(build) / "bench_ns3"
    if not program.exists():
        return [], [f"ns-3: no {program.name}, which is built where ns-3 is (package libns3-dev)"]
    ours = Path(build) / "gradhaul"
    part = 128 << 10
    sliced = measured_runs.gradhaul(ours, "ideal-ring", ring(8 * MIB, part=part))
    sliced_peer = measured_runs.ns3(program, RANKS, 8 * MIB, part)
    peer = measured_runs.ns3(program, RANKS, message)
    skipping, full = both_ways(ours, ring(message))
    for one, other in ((full, peer), (skipping, peer), (sliced, sliced_peer)):
        same_hops(one, other)
    name = f"ideal ring of {RANKS}, {size(message)}"
    rows = [
        Row(f"{name}: end", microseconds(full.time_ps), f"ns-3: {microseconds(peer.time_ps)}",
            difference(full.time_ps, peer.time_ps)),
        Row(f"ideal ring of {RANKS}, {size(8 * MIB)} in slices of {size(part)}: end",
            microseconds(sliced.time_ps), f"ns-3: {microseconds(sliced_peer.time_ps)}",
            difference(sliced.time_ps, sliced_peer.time_ps)),
        Row(f"{name}: packet-hops a CPU second, nothing skipped", rate(speed(full)),
            f"ns-3: {rate(speed(peer))}", times(speed(full), speed(peer))),
        Row(f"{name}: packet-hops a CPU second, skipping", rate(speed(skipping)),
            f"ns-3: {rate(speed(peer))}", times(speed(skipping), speed(peer))),
        Row(f"{name}: peak memory", megabytes(full.peak_rss_bytes),
            f"ns-3: {megabytes(peer.peak_rss_bytes)}",
            times(peer.peak_rss_bytes, full.peak_rss_bytes)),
        one_gibibyte(ours, message, skipping, peer),
    ]
    return rows, ["ns-3: bare point-to-point devices, no stack, no TCP; its switch stores packets, "
                  "and the time of storing one is taken out of its wires' latency."]


def one_gibibyte(ours, message, skipping, peer):
    """1 GiB, skipping: ns-3's side as it ran, or, from a smaller run, from its rate."""
    what, said, cpu = f"ideal ring of {RANKS}, 1GiB: CPU time, skipping", "ran", peer.cpu_s
    if message != GIB:
        skipping = measured_runs.gradhaul(ours, "ideal-ring", ring(GIB))
        cpu = skipping.packet_hops / speed(peer)
        said = f"extrapolated from {size(message)}, did not run"
    return Row(what, seconds(skipping.cpu_s), f"ns-3: {seconds(cpu)} ({said})",
               times(cpu, skipping.cpu_s))


def beside_smpi(build, message, rank_counts):
    """SMPI replays the same ring as a fluid: predicted times, and CPU time of whole processes."""
    if not shutil.which("smpirun"):
        return [], ["SMPI: no smpirun (package libsimgrid-dev)"]
    ours = Path(build) / "gradhaul"
    rows, notes, explained = [], [], True
    for ranks in rank_counts:
        peer = measured_runs.smpi(ranks, message)
        for fidelity in ("packet", "flow"):
            settings = ring(message, ranks) + [f"simulation.fidelity={fidelity}"]
            try:
                skipping, full = both_ways(ours, settings)
            except Refused as refused:
                if "not available in this version" not in str(refused):
                    raise
                note = f"SMPI beside fidelity {fidelity}: skipped: {refused}"
                notes += [note] if note not in notes else []
                continue
            rows += smpi_rows(f"ideal ring of {ranks}, {size(message)}, {fidelity}", skipping, full,
                              peer)
            explained &= peer.time_ps - skipping.time_ps == ring_trace.envelope_ps(ranks)
    if rows:
        notes.append("SMPI: time-independent traces, CM02, no cross traffic. It adds "
                     f"{ring_trace.ENVELOPE_BYTES} bytes of envelope to each message; " +
                     ("that is all that the answers differ by, to the picosecond." if explained
                      else "that is not all that the answers differ by."))
    return rows, notes


def smpi_rows(name, skipping, full, peer):
    """SMPI simulates every step, so that the figure to compare with is the one without skipping;
    the other is what a user waits for."""
    name_cpu = f"{name}: CPU time of the process"
    theirs = f"SMPI: {seconds(peer.cpu_process_s)}"
    return [Row(f"{name}: end", microseconds(skipping.time_ps),
                f"SMPI: {microseconds(peer.time_ps)}",
                difference(skipping.time_ps, peer.time_ps)),
            Row(f"{name_cpu}, nothing skipped", seconds(full.cpu_process_s), theirs,
                times(peer.cpu_process_s, full.cpu_process_s)),
            Row(f"{name_cpu}, skipping", seconds(skipping.cpu_process_s), theirs,
                times(peer.cpu_process_s, skipping.cpu_process_s))]


def google_benchmark(program, pattern):
    output, _ = measured_runs.run([str(program), f"--benchmark_filter={pattern}",
                                   "--benchmark_format=json"])
    document = output[output.index("{\n"):output.rindex("\n}") + 2]
    return {one["name"]: one for one in json.loads(document)["benchmarks"]}


def model(build, quick):
    """The packet model on the shapes of the main scenarios, where PCIe, credits and reduce kernels
    count; no peer has those."""
    program = Path(build) / "bench_packet"
    if not program.exists():
        return [], ["packet model: no bench_packet (package libbenchmark-dev)"]
    hops = "packet-hops a CPU second"
    shapes = {"BM_FourNodesOfEight/2048": f"4 nodes of 8 H100, 2GiB: {hops}, nothing skipped",
              "BM_FourNodesOfEightOverRoce/2048":
                  f"4 nodes of 8 H100, 2GiB, RoCE with PFC and DCQCN: {hops}, nothing skipped",
              "BM_Flat32/512": f"32 nodes of 1 H100, 512MiB: {hops}, nothing skipped",
              "BM_Flat32OverRoce/512":
                  f"32 nodes of 1 H100, 512MiB, RoCE with PFC and DCQCN: {hops}, nothing skipped",
              "BM_Flat32Skipping/2048": f"32 nodes of 1 H100, 2GiB: {hops}, skipping"}
    if quick:
        shapes = {name: what for name, what in shapes.items() if "Flat" in name}
    both = ("BM_HalfTheUplinks/512", "BM_HalfTheUplinksByEvents/512")
    found = google_benchmark(program, "|".join(f"^{name}/" for name in (*shapes, *both)))
    speed = {name: found[f"{name}/iterations:1"]["packet_hops"] for name in (*shapes, *both)}
    rows = [Row(what, rate(speed[name])) for name, what in shapes.items()]
    quick_way, events = (speed[name] for name in both)
    return rows + [Row(f"4 nodes of 8 H100, 512MiB, half the uplinks: {hops}, nothing skipped",
                       rate(quick_way), f"by events: {rate(events)}",
                       times(quick_way, events))], []


def reducer(build):
    """The CPU reducer beside memcpy, in memory: bytes of the message a second."""
    program = Path(build) / "bench_reduce"
    if not program.exists():
        return [], ["CPU reducer: no bench_reduce (package libbenchmark-dev)"]
    found = google_benchmark(program, "^(memcpy|(fp32|bf16)/sum/.*)/268435456$")
    speeds = {name: one["bytes_per_second"] for name, one in found.items()}
    copy = speeds["memcpy/268435456"]
    rows = []
    for kind in ("fp32", "bf16"):
        best = max(value for name, value in speeds.items() if name.startswith(kind))
        rows.append(Row(f"CPU reducer, {kind} sum, 256MiB in memory (3 bytes moved for 1)",
                        f"{best / 1e9:.2g} GB/s", f"memcpy (2 for 1): {copy / 1e9:.2g} GB/s",
                        times(best, copy)))
    return rows, []
