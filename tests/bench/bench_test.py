"""The traces that peers are given and the table that ratios stand in are what they should be; where
the peers are there, they take as long as the closed form of the ring says.

    bench_test.py [--build FOLDER] [unittest's own arguments]
"""

import argparse
import shutil
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import comparison_table
import growth
import measured_runs
import peers
import ring_trace

BUILD = None
LATENCY_PS = 1_000_000
PS_PER_BYTE = 20  # at 50 GB/s


def actions(rank, ranks, size, name):
    """(peer, tag, bytes) of each action of that name."""
    lines = [line.split() for line in ring_trace.rank_trace(rank, ranks, size)]
    return [tuple(map(int, line[2:])) for line in lines if line[1] == name]


class RingTrace(unittest.TestCase):
    def test_each_rank_sends_twice_n_minus_1_chunks(self):
        # 2(N - 1) chunks of S/N, to the next rank: 6 of 1024 bytes for 4 ranks and 4 KiB.
        for rank in range(4):
            sends = actions(rank, 4, 4096, "send")
            self.assertEqual([((rank + 1) % 4, step, 1024) for step in range(6)], sends)

    def test_what_is_sent_is_received(self):
        # 1003 elements over 4 ranks: chunks of 251, 251, 251 and 250.
        for rank in range(4):
            sends = actions(rank, 4, 4012, "send")
            receives = actions((rank + 1) % 4, 4, 4012, "irecv")
            self.assertEqual([(tag, size) for _, tag, size in sends],
                             [(tag, size) for _, tag, size in receives])
            self.assertTrue(all(source == rank for source, _, _ in receives))

    def test_a_rank_sends_what_it_received_before(self):
        for rank in range(4):
            sends = [size for *_, size in actions(rank, 4, 4012, "send")]
            receives = [size for *_, size in actions(rank, 4, 4012, "irecv")]
            self.assertEqual(receives[:-1], sends[1:])

    def test_each_receive_is_waited_for(self):
        for rank in range(4):
            receives = actions(rank, 4, 4096, "irecv")
            self.assertEqual([(source, rank, tag) for source, tag, _ in receives],
                             actions(rank, 4, 4096, "wait"))

    def test_chunks_are_the_message(self):
        for size, ranks in ((4096, 4), (4012, 4), (1 << 30, 32), (8, 3)):
            cut = ring_trace.chunks(size, ranks)
            self.assertEqual((ranks, size), (len(cut), sum(cut)))
            self.assertLessEqual(max(cut) - min(cut), 4)


class Table(unittest.TestCase):
    def test_ratio_and_difference(self):
        self.assertEqual("52 ×", comparison_table.times(104.2, 2.0))
        self.assertEqual("0.25 ×", comparison_table.times(1.0, 4.0))
        self.assertEqual("—", comparison_table.times(1.0, 0.0))
        self.assertEqual("equal to the ps", comparison_table.difference(7, 7))
        self.assertEqual("-1.0e-03", comparison_table.difference(999, 1000))

    def test_units(self):
        self.assertEqual("2662.46848 µs", comparison_table.microseconds(2_662_468_480))
        self.assertEqual("64MiB", comparison_table.size(64 << 20))
        self.assertEqual("1000B", comparison_table.size(1000))
        self.assertEqual("0.67 M/s", comparison_table.rate(670_000))
        self.assertEqual("1.5 G/s", comparison_table.rate(1_500_000_000))

    def test_markdown(self):
        rows = [comparison_table.Row("a|b", "1", "2", "0.5 ×"), comparison_table.Row("c", "3")]
        self.assertEqual("| what | gradhaul | peer | ratio |\n| --- | --- | --- | --- |\n"
                         "| a/b | 1 | 2 | 0.5 × |\n| c | 3 | — | — |",
                         comparison_table.comparison(rows))
        with self.assertRaises(ValueError):
            comparison_table.markdown(["one"], [["one", "two"]])

    def test_growth_lays_both_ways_side_by_side(self):
        points = [growth.Point("ranks", 4, True, 0.5, 40_000_000, 2_000_000),
                  growth.Point("ranks", 4, False, 1.5, 50_000_000, 2_000_000)]
        self.assertEqual("| ranks | 4 | 2 | 0.500 | 1.500 | 40 | 50 |",
                         growth.table(points).splitlines()[-1])


class Cheapest(unittest.TestCase):
    def test_the_least_of_equal_answers_counts(self):
        runs = [measured_runs.Cost(5, cpu, cpu, 0, 0) for cpu in (3.0, 1.0, 2.0)]
        self.assertEqual(1.0, measured_runs.cheapest(iter(runs).__next__).cpu_s)

    def test_unequal_answers_are_no_measurement(self):
        runs = [measured_runs.Cost(time, 1.0, 1.0, 0, 0) for time in (5, 6, 5)]
        with self.assertRaises(ValueError):
            measured_runs.cheapest(iter(runs).__next__)


class Ratios(unittest.TestCase):
    def test_only_equal_work_is_compared(self):
        with self.assertRaises(ValueError):
            peers.same_hops(measured_runs.Cost(1, 1.0, 1.0, 100, 0),
                            measured_runs.Cost(1, 1.0, 1.0, 101, 0))

    def test_what_did_not_run_is_said_to_be_extrapolated(self):
        # ns-3 moved 1000 hops in 2 s; the ring of 1 GiB has 32000, and took gradhaul 0.5 s: 64 s,
        # 128 times as long.
        peer = measured_runs.Cost(1, 2.0, 2.1, 1000, 0)
        ours = measured_runs.Cost(1, 0.5, 0.6, 32000, 0)
        with mock.patch.object(measured_runs, "gradhaul", return_value=ours):
            row = peers.one_gibibyte("gradhaul", 32 << 20, None, peer)
        self.assertEqual("ns-3: 64.0 s (extrapolated from 32MiB, did not run)", row.peer)
        self.assertEqual("128 ×", row.ratio)

    def test_what_ran_is_quoted(self):
        peer = measured_runs.Cost(1, 40.0, 41.0, 32000, 0)
        ours = measured_runs.Cost(1, 0.5, 0.6, 32000, 0)
        row = peers.one_gibibyte("gradhaul", 1 << 30, ours, peer)
        self.assertEqual(("ns-3: 40.0 s (ran)", "80 ×"), (row.peer, row.ratio))


class AgainstClosedForms(unittest.TestCase):
    """A ring of N over ideal links takes 2(N - 1) times latency and chunk."""

    @unittest.skipUnless(shutil.which("smpirun"), "no smpirun (package libsimgrid-dev)")
    def test_smpi(self):
        ranks, chunk = 4, 1 << 20
        step = LATENCY_PS + PS_PER_BYTE * (chunk + ring_trace.ENVELOPE_BYTES)
        self.assertEqual(2 * (ranks - 1) * step, measured_runs.smpi(ranks, ranks * chunk).time_ps)

    def test_ns3(self):
        program = Path(BUILD or ".") / "bench_ns3"
        if not program.exists():
            self.skipTest("no bench_ns3 (package libns3-dev)")
        ranks, chunk = 4, 64 << 10
        steps = 2 * (ranks - 1)
        whole = measured_runs.ns3(program, ranks, ranks * chunk)
        self.assertEqual(steps * (LATENCY_PS + PS_PER_BYTE * chunk), whole.time_ps)
        # Two wires for each packet of 4096 bytes.
        self.assertEqual(2 * ranks * steps * chunk // 4096, whole.packet_hops)
        # A step's first slice goes out when the wire is free again (slices of 8 KiB) or when that
        # slice has come in (16 KiB), whichever is later.
        for part in (8 << 10, 16 << 10):
            step = max(PS_PER_BYTE * chunk, PS_PER_BYTE * part + LATENCY_PS)
            self.assertEqual((steps - 1) * step + PS_PER_BYTE * chunk + LATENCY_PS,
                             measured_runs.ns3(program, ranks, ranks * chunk, part).time_ps)
        with self.assertRaises(measured_runs.Refused):
            measured_runs.ns3(program, ranks, ranks * chunk + 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--build")
    given, rest = parser.parse_known_args()
    BUILD = given.build
    unittest.main(argv=[sys.argv[0], *rest])
