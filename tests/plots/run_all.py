"""Runs the tests of this folder in one process, since matplotlib takes a while to load."""

import importlib.util
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "analysis" / "plots")]
sys.dont_write_bytecode = True
SKIPPED = 77

if __name__ == "__main__":
    if importlib.util.find_spec("matplotlib") is None:
        print(f"skipped: {sys.executable} has no matplotlib (package python3-matplotlib)")
        sys.exit(SKIPPED)
    suite = unittest.defaultTestLoader.discover(str(HERE), pattern="*_test.py")
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
