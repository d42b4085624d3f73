"""Prints how many tests of a JUnit report passed, failed and were skipped, and the names of those
that failed on standard error."""

import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        # ctest says run, fail, notrun (skipped, or its program is missing) or disabled.
        status = case.get("status")
        message = " ".join(item.get("message", "") for item in case.iter("skipped"))
        if status == "run":
            passed += 1
        elif status == "disabled" or (status == "notrun" and "SKIP" in message.upper()):
            skipped += 1
        else:
            failed += 1
            print(f"FAILED: {case.get('name')} ({path})", file=sys.stderr)
    return passed, failed, skipped


if __name__ == "__main__":
    print(*count(sys.argv[1]))
