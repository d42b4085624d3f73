"""The table of accuracy says what its parts say: errors, medians and groups are what a calculator
gives, every scenario is good, every record stands in the table, and what is far off is explained.

    accuracy_test.py --program GRADHAUL [unittest's own arguments]
"""

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import accuracy_table
import predictions
import reckoning
import run_accuracy

PROGRAM = None


def figure(**other):
    usual = {"record": "R", "what": "", "size": 8, "unit": "busbw", "group": "small",
             "by": "packet", "measured": 80.0, "predicted": 100.0}
    return reckoning.Figure(**{**usual, **other})


class Errors(unittest.TestCase):
    def test_are_of_time(self):
        # 12 us for 10 us: a fifth longer. 100 GB/s for 80: 0.8 of the time.
        self.assertAlmostEqual(0.2, reckoning.time_error("time_us", 10, 12))
        self.assertAlmostEqual(-0.2, reckoning.time_error("busbw", 80, 100))
        self.assertAlmostEqual(0.25, reckoning.time_error("gbps", 100, 80))

    def test_of_what_is_not_known_are_none(self):
        self.assertIsNone(figure().error("tuner"))
        self.assertAlmostEqual(-0.2, figure(rule=100.0).error("rule"))

    def test_make_a_median_of_distances_and_keep_the_sign_of_the_worst(self):
        median, worst = reckoning.median_and_worst([0.1, -0.4, None, 0.2])
        self.assertAlmostEqual(0.2, median)
        self.assertAlmostEqual(-0.4, worst)
        self.assertAlmostEqual(0.15, reckoning.median_and_worst([0.1, -0.2])[0])
        self.assertIsNone(reckoning.median_and_worst([None]))


class Groups(unittest.TestCase):
    def test_go_by_size_unless_the_run_says_otherwise(self):
        mib = 1 << 20
        for size, group in ((mib, "small"), (mib + 1, "medium"), (256 * mib, "medium"),
                            (256 * mib + 1, "large")):
            self.assertEqual(group, reckoning.group_of({}, size))
        self.assertEqual("faults", reckoning.group_of({"group": "faults"}, 8))

    def test_leave_out_what_does_not_compare(self):
        figures = [figure(), figure(predicted=40.0), figure(predicted=8.0, not_comparable="NVLS"),
                   figure(group="floor", predicted=1.0)]
        name, count, (median, worst) = reckoning.summary(figures)[0]
        self.assertEqual(("collectives up to 1 MiB", 2), (name, count))
        self.assertAlmostEqual(0.6, median)  # of 0.2 and 1
        self.assertAlmostEqual(1, worst)

    def test_far_off_takes_a_reason(self):
        self.assertTrue(reckoning.lacks_explanation(figure()))
        self.assertFalse(reckoning.lacks_explanation(figure(why="a fault")))
        self.assertFalse(reckoning.lacks_explanation(figure(predicted=81.0)))
        self.assertFalse(reckoning.lacks_explanation(figure(not_comparable="NVLS")))


class Rule(unittest.TestCase):
    def test_is_a_bandwidth_or_the_time_that_it_makes(self):
        # 1e9 B of busbw 10 GB/s; traffic 1.5 of the size: 150 ms.
        row = {"size": 10 ** 9}
        self.assertEqual(10, predictions.rule_in_unit({"unit": "busbw", "rule": 10}, row, {}))
        self.assertAlmostEqual(150_000, predictions.rule_in_unit(
            {"unit": "time_us", "rule": 10}, row, {"traffic": 1.5}))


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records = predictions.records()
        cls.text = run_accuracy.TABLE.read_text(encoding="utf-8")
        cls.figures = predictions.figures(run_accuracy.known())

    def test_is_what_records_and_predictions_make(self):
        # Else: tests/accuracy/run.sh --keep
        self.assertEqual(accuracy_table.table(self.records, self.figures), self.text)

    def test_names_every_record(self):
        self.assertEqual(39, len({record["id"] for record in self.records}))
        for record in self.records:
            self.assertTrue("runs" in record or "skipped" in record, record["id"])
            self.assertIn(f"| {record['id']} |", self.text)

    def test_explains_what_is_far_off(self):
        self.assertEqual([], [f for f in self.figures if reckoning.lacks_explanation(f)])

    def test_recomputes_what_nccl_printed(self):
        # NCCL 2.22.3's own lines, to the digits it printed.
        golden = [f for f in self.figures if f.group == "tuner"]
        self.assertEqual(2, len(golden))
        for one in golden:
            self.assertAlmostEqual(0, one.error(), places=6)

    def test_keeps_floors(self):
        floors = [f for f in self.figures if f.group == "floor"]
        self.assertTrue(floors)
        for one in floors:
            self.assertGreater(one.predicted, one.measured)


class Scenarios(unittest.TestCase):
    def test_are_good_and_each_is_used(self):
        files = sorted(predictions.CASES.glob("*.yaml"))
        self.assertEqual({file.stem for file in files},
                         {run["scenario"] for _, _, run in predictions.runs()})
        done = subprocess.run([PROGRAM, "check", *files], capture_output=True, text=True,
                              check=False)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_of_nccl_have_its_profile_and_none_expects_anything(self):
        for file in predictions.CASES.glob("*.yaml"):
            text = file.read_text(encoding="utf-8")
            self.assertNotIn("expect:", text)
            self.assertIn("question:", text)
            self.assertEqual("-bw-" in file.stem or "latency" in file.stem,
                             "profile: nccl-" not in text, file.name)


def main():
    global PROGRAM  # pylint: disable=global-statement
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    options, rest = parser.parse_known_args()
    PROGRAM = options.program
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
