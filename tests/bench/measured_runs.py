"""Runs of gradhaul and of its peers, with what they say and what they cost."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ring_trace

# Short runs are repeated and the one that took least CPU time counts; by one rule for all.
REPETITIONS = 3
ENOUGH_SECONDS = 5.0


class Refused(Exception):
    """A program said no; the message is its own."""


@dataclass(frozen=True)
class Cost:
    time_ps: int            # simulated
    cpu_s: float            # of the simulation alone, where the program tells it, or cpu_process_s
    cpu_process_s: float    # of the whole process and its children: start, input and output too
    packet_hops: int        # simulated, or accounted without
    peak_rss_bytes: int


def run(command, statuses=(0,)):
    """Runs a command to its end, with one of these exit statuses. Returns its output and its
    resource usage, children included."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        said, complaint = (file.read().decode("utf-8", "replace") for file in (output, errors))
    if process.returncode not in statuses:
        lines = (complaint or said).strip().splitlines() or ["no message"]
        raise Refused(f"{Path(command[0]).name}: exit status {process.returncode}: {lines[-1]}")
    return said + complaint, usage


def cheapest(measure, enough=ENOUGH_SECONDS):
    """The cheapest of some runs, all of which have to give the same answer."""
    runs = [measure()]
    while len(runs) < REPETITIONS and sum(one.cpu_process_s for one in runs) < enough:
        runs.append(measure())
    if len({one.time_ps for one in runs}) > 1:
        raise ValueError(f"runs of one command differ: {[one.time_ps for one in runs]} ps")
    return min(runs, key=lambda one: one.cpu_s)


def gradhaul(program, scenario, settings=(), skip=True, enough=ENOUGH_SECONDS):
    def measure():
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder) / "result.json"
            _, usage = run([str(program), "predict", scenario, "--progress", "off", "--json",
                            str(result), *(f"--set={setting}" for setting in settings),
                            *([] if skip else ["--no-skip"])])
            said = json.loads(result.read_text(encoding="utf-8"))
        cost = said["cost"]
        return Cost(round(said["rows"][-1]["time_us"] * 1e6), cost["cpu_s"],
                    usage.ru_utime + usage.ru_stime,
                    cost["packet_hops"] + cost["skipped_packet_hops"], cost["peak_rss_bytes"])
    return cheapest(measure, enough)


def ns3(program, ranks, size, part=0):
    """`part`: bytes of a slice; 0 is a chunk."""
    def measure():
        output, usage = run([str(program), f"--ranks={ranks}", f"--size={size}", f"--slice={part}"])
        said = json.loads(output)
        return Cost(said["time_ps"], said["cpu_s"], usage.ru_utime + usage.ru_stime,
                    said["packet_hops"], said["peak_rss_bytes"])
    return cheapest(measure)


def smpi(ranks, size):
    with tempfile.TemporaryDirectory() as folder:
        command = ring_trace.write(folder, ranks, size)

        def measure():
            output, usage = run(command)
            ends = re.findall(r"^(\d+\.\d+):Simulation time", output, re.M)
            if not ends:
                raise Refused("smpirun printed no `Simulation time`")
            cpu = usage.ru_utime + usage.ru_stime
            return Cost(round(max(map(float, ends)) * 1e12), cpu, cpu, 0, usage.ru_maxrss * 1024)
        return cheapest(measure)
