"""Runs the benchmarks that compare gradhaul with its peers and prints one table; tests/bench/run.sh
installs and builds what that takes.

    run_benchmarks.py --build FOLDER --out FOLDER [--quick]
"""

import argparse
import datetime
import subprocess
import sys
from pathlib import Path

import growth
import growth_picture
import measured_runs
import peers
import sockets_beside_iperf3
import verbs_beside_perftest
from comparison_table import comparison

ROOT = Path(__file__).resolve().parents[2]


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown CPU"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else "unknown CPU"


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True,
                              check=False).stdout.strip()
    try:
        name = git("rev-parse", "--short", "HEAD") or "no commit"
        return name + (" with changes" if git("status", "--porcelain") else "")
    except OSError:
        return "commit unknown"


def heading():
    today = datetime.date.today().isoformat()
    return f"{today}, {processor()}, commit {commit()}"


def compare(build, quick):
    """All rows and notes, in order, and which comparisons failed."""
    steps = [("ns-3", lambda: peers.beside_ns3(build, (32 if quick else 1024) * peers.MIB)),
             ("SMPI", lambda: peers.beside_smpi(build, 256 * peers.MIB, (32,) if quick
                                                else (32, 256))),
             ("packet model", lambda: peers.model(build, quick)),
             ("CPU reducer", lambda: peers.reducer(build)),
             ("iperf3", lambda: sockets_beside_iperf3.beside_iperf3(build, quick)),
             ("ib_write_bw", lambda: verbs_beside_perftest.beside_perftest(build))]
    rows, failed = [], []
    notes = ["Ratios above 1 are in gradhaul's favour. CPU time is the least of up to "
             f"{measured_runs.REPETITIONS} runs. Skipping: what recurs or is alike exactly is "
             "accounted for without being simulated."]
    for name, step in steps:
        say(f"beside {name}" if name in ("ns-3", "SMPI", "iperf3", "ib_write_bw") else name)
        try:
            more_rows, more_notes = step()
        except (measured_runs.Refused, ValueError) as problem:
            more_rows, more_notes = [], [f"FAILED: {name}: {problem}"]
            failed.append(name)
        rows += more_rows
        notes += more_notes
    return rows, notes, failed


def grow(build, quick, out, about):
    """Measures growth, writes its table and picture, and returns the table."""
    say("growth")
    points = growth.measure(Path(build) / "gradhaul", quick)
    growth.write_csv(points, out / "growth.csv")
    try:
        paths = growth_picture.draw(points, growth.axes(quick), out, about)
        say(f"drew {', '.join(map(str, paths))}")
    except ImportError:
        say("no matplotlib (package python3-matplotlib): growth is not drawn; its table follows")
    return growth.table(points)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, required=True, help="where the programs are")
    parser.add_argument("--out", type=Path, required=True, help="where table and picture go")
    parser.add_argument("--quick", action="store_true", help="about a minute")
    given = parser.parse_args()
    if not (given.build / "gradhaul").exists():
        parser.error(f"--build: there is no gradhaul in {given.build}")
    given.out.mkdir(parents=True, exist_ok=True)
    about = heading()
    rows, notes, failed = compare(given.build, given.quick)
    text = "\n".join([f"{about}:", "", comparison(rows), "", *(f"- {note}" for note in notes)])
    print(text, flush=True)
    grown = grow(given.build, given.quick, given.out, about)
    print(f"\n{growth.QUESTION}\n\n{grown}")
    (given.out / "benchmarks.md").write_text(f"{text}\n\n{growth.QUESTION}\n\n{grown}\n",
                                             encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
