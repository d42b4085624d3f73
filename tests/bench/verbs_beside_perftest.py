"""Pair writes over RDMA verbs beside ib_write_bw, in the guest with soft-RoCE (tests/soft_roce):
1 MiB over as many queue pairs, in turns. All is emulated: the ratio counts, not the bandwidth.

    verbs_beside_perftest.py --build FOLDER    # alone; run_benchmarks.py takes it along
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from comparison_table import Row, comparison, times

RUN = Path(__file__).resolve().parents[1] / "soft_roce" / "run.sh"
LONGEST_SECONDS = 900
SAID = re.compile(r"^pair write, (?P<size>[^,]+), (?P<pairs>\d+) queue pairs: (?P<ours>[\d.]+) "
                  r"MB/s, ib_write_bw (?P<peer>[\d.]+) MB/s, ratio (?P<ratio>[\d.]+)$", re.M)


def beside_perftest(build):
    """Rows, and notes where something is missing."""
    run = subprocess.run([str(RUN), "--bench", "--build", str(build)], capture_output=True,
                         text=True, timeout=LONGEST_SECONDS, check=False)
    rows = [Row(f"pair write over verbs in a guest, {said['size']}, {said['pairs']} queue pairs",
                f"{float(said['ours']):.0f} MB/s", f"ib_write_bw: {float(said['peer']):.0f} MB/s",
                times(float(said["ratio"]), 1))
            for said in SAID.finditer(run.stdout)]
    if rows:
        return rows, ["The guest is emulated: both ends, the wire and its CPUs share one host."]
    reasons = [line for line in run.stderr.splitlines() if line.startswith("soft_roce:")]
    return [], [f"pair writes over verbs: {reasons[-1] if reasons else 'the guest said nothing'}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    arguments = parser.parse_args()
    rows, notes = beside_perftest(Path(arguments.build).resolve())
    if rows:
        print(comparison(rows))
    for note in notes:
        print(note)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
