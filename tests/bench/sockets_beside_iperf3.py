"""Pair transfer over sockets beside iperf3, on the loopback interface: both ways at once between
two processes, with as many streams, in turns so that other load falls on both alike.

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


def iperf3(streams, run_seconds):
    """Bytes a second, both directions together."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with subprocess.Popen(["iperf3", "--server", "--one-off", "--port", port],
                          stdout=subprocess.DEVNULL) as server:
        try:
            time.sleep(0.3)
            said, _ = run(["iperf3", "--client", "127.0.0.1", "--port", port, "--bidir",
                           "--parallel", str(streams), "--time", str(run_seconds), "--json"])
            server.wait(timeout=10)
        finally:
            if server.poll() is None:
                server.terminate()
    end = json.loads(said)["end"]
    ways = (end["sum_received"], end["sum_received_bidir_reverse"])
    return sum(way["bits_per_second"] for way in ways) / 8


def gradhaul(program, streams, message, run_seconds, rate):
    """The same of send_recv between two ranks: each sends while it receives. As many iterations as
    take about as long as the peer at `rate` bytes a second."""
    iterations = max(3, round(run_seconds * rate / (2 * message)))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        run([str(program), "measure", "link-test", "--backend", "tcp", "--json", str(result),
             "--iterations", str(iterations), "--warmup", "2",
             "--set=workload.collective=send_recv",
             f"--set=workload.size={message}B", f"--set=communication.channels={streams}"])
        row = json.loads(result.read_text(encoding="utf-8"))["rows"][0]
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
    run_seconds = 1 if quick else 3
    for streams in (1, 4):
        for message in (4 * MIB, 64 * MIB):
            rounds = []
            for _ in range(ROUNDS):
                peer = iperf3(streams, run_seconds)
                rounds.append((gradhaul(program, streams, message, run_seconds, peer), peer))
            ratio = median([ours / peer for ours, peer in rounds])
            sockets = "1 socket" if streams == 1 else f"{streams} sockets"
            rows.append(Row(f"pair transfer over tcp, {sockets} each way, {size(message)}",
                            f"{median([ours for ours, _ in rounds]) / 1e9:.2f} GB/s",
                            f"iperf3: {median([peer for _, peer in rounds]) / 1e9:.2f} GB/s",
                            times(ratio, 1)))
    return rows, ["iperf3 sends one buffer over and over and drops what it receives; a transfer of "
                  "ours reads its message from memory and copies it from slots to its place."]


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
