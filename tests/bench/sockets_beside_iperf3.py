"""Pair transfer over sockets beside iperf3, on the loopback interface: between two processes, one
way and both ways at once, with as many streams, in turns so that other load falls on both alike.

    sockets_beside_iperf3.py --build FOLDER    # alone; run_benchmarks.py takes it along
"""

import argparse
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from comparison_table import Row, comparison, size, times
from measured_runs import Refused, run

MIB = 1 << 20
ROUNDS = 5
SUSPECT = 3  # exit status: of the two ways one is slower


def iperf3(streams, run_seconds, both_ways):
    """Bytes a second; both ways, of both directions together."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with subprocess.Popen(["iperf3", "--server", "--one-off", "--port", port],
                          stdout=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.3)
            said, _ = run(["iperf3", "--client", "127.0.0.1", "--port", port, "--parallel",
                           str(streams), "--time", str(run_seconds), "--json"] +
                          ["--bidir"] * both_ways)
            server.wait(timeout=10)
        finally:
            if server.poll() is None:
                server.terminate()
    end = json.loads(said)["end"]
    ways = ("sum_received", "sum_received_bidir_reverse") if both_ways else ("sum_received",)
    return sum(end[way]["bits_per_second"] for way in ways) / 8


def measure(program, message, iterations, *arguments):
    """The result file of link-test between two ranks of this host."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        run([str(program), "measure", "link-test", "--backend", "tcp", "--json", str(result),
             "--iterations", str(iterations), "--warmup", "2", f"--set=workload.size={message}B",
             *arguments], statuses=(0, SUSPECT))
        return json.loads(result.read_text(encoding="utf-8"))


def pair_writes(program, streams, message, iterations):
    """From memory into the receive slots of the other end, over one connection of as many sockets:
    bytes a second of the slower way by itself, and of both at once together."""
    pairs = measure(program, message, iterations, "--pairs", "--set=communication.channels=1",
                    f"--set=communication.queue_pairs={streams}")["pairs"]
    one_way = max(pair["one_way_us"] for pair in pairs)
    both_ways = max(pair["both_ways_us"] for pair in pairs)
    return message / one_way * 1e6, 2 * message / both_ways * 1e6


def collective(program, streams, message, iterations):
    """send_recv between two ranks, each of which sends while it receives: as many channels."""
    row = measure(program, message, iterations, "--set=workload.collective=send_recv",
                  f"--set=communication.channels={streams}")["rows"][0]
    if row["wrong"] != 0:
        raise ValueError(f"{row['wrong']} values are wrong")
    return 2e9 * row["algbw_GBps"]


def median(values):
    return sorted(values)[len(values) // 2]


def beside_iperf3(build, quick):
    """Rows, and notes where something is missing. A ratio is the median of those of the rounds."""
    if not shutil.which("iperf3"):
        return [], ["iperf3: not installed (package iperf3): sockets are laid beside nothing"]
    program = Path(build) / "gradhaul"
    rows = []
    for streams in (1, 4):
        found = {}
        for _ in range(ROUNDS):
            for what, ours, peer in one_round(program, streams, 1 if quick else 2):
                found.setdefault(what, []).append((ours, peer))
        rows += [row_of(what, streams, rounds) for what, rounds in found.items()]
    return rows, ["iperf3 sends one buffer over and over and drops what it receives, as a pair "
                  "write does; a collective reads its whole message from memory, and copies it "
                  "from the slots to its place: a third copy beside the kernel's two."]


def one_round(program, streams, run_seconds):
    """What was measured, ours, and iperf3's right before it; all in bytes a second."""
    one_peer = iperf3(streams, run_seconds, both_ways=False)
    both_peer = iperf3(streams, run_seconds, both_ways=True)
    for message in (4 * MIB, 64 * MIB):
        iterations = max(3, round(run_seconds * one_peer / (3 * message)))
        one, both = pair_writes(program, streams, message, iterations)
        yield f"pair transfer over tcp, {size(message)} one way", one, one_peer
        yield f"pair transfer over tcp, {size(message)} both ways", both, both_peer
        moved = collective(program, streams, message, iterations)
        yield f"send_recv over tcp, {size(message)}", moved, both_peer


def row_of(what, streams, rounds):
    ratio = median([ours / peer for ours, peer in rounds])
    sockets = "1 socket" if streams == 1 else f"{streams} sockets"
    return Row(f"{what}, {sockets}", f"{median([ours for ours, _ in rounds]) / 1e9:.2f} GB/s",
               f"iperf3: {median([peer for _, peer in rounds]) / 1e9:.2f} GB/s", times(ratio, 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    try:
        rows, notes = beside_iperf3(arguments.build, arguments.quick)
    except Refused as refused:
        sys.exit(str(refused))
    print(comparison(rows))
    for note in notes:
        print(note)


if __name__ == "__main__":
    main()
