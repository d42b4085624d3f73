"""What tests/run.sh counts is what ctest reported; a crash and a missing program are failures."""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from count_results import count

# As ctest 3.25 writes it.
REPORT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux" tests="6" failures="2" disabled="1" skipped="2">
  <testcase name="A.Passes" time="0.1" status="run"><system-out/></testcase>
  <testcase name="A.Fails" time="0.1" status="fail"><failure message=""/></testcase>
  <testcase name="A.Crashes" time="0.1" status="fail"><failure message=""/></testcase>
  <testcase name="A.Skips" time="0.1" status="notrun">
    <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
  </testcase>
  <testcase name="A.DISABLED" time="0" status="disabled"/>
  <testcase name="missing" time="0" status="notrun">
    <skipped message="Unable to find executable"/>
  </testcase>
</testsuite>
"""


class CountResults(unittest.TestCase):
    def test_each_outcome_is_counted_once(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "results.xml"
            report.write_text(REPORT, encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual((1, 3, 2), count(report))
            for name in ("A.Fails", "A.Crashes", "missing"):
                self.assertIn(name, said.getvalue())


if __name__ == "__main__":
    unittest.main()
