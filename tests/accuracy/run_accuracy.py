"""Predicts every record that its facts suffice for, and writes table.md.

    run_accuracy.py --program build/release/gradhaul [--only RECORD]… [--keep]
"""

import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

# pylint: disable=wrong-import-position
import accuracy_table
import predictions

PREDICTED = predictions.HERE / "predicted.json"
TABLE = predictions.HERE / "table.md"


def known():
    return json.loads(PREDICTED.read_text(encoding="utf-8")) if PREDICTED.exists() else {}


def predict_all(program, only):
    """What was known, with the records that are asked for predicted anew."""
    kept = known()
    answers = {}
    for key, record, run in predictions.runs():
        if only and record["id"] not in only:
            if key in kept:
                answers[key] = kept[key]
            continue
        answers[key] = {}
        for row in run["rows"]:
            answer = predictions.predict_row(program, run, row["size"])
            answers[key][str(row["size"])] = answer
            print(f"{key} {row['size']} B: {answer}", file=sys.stderr, flush=True)
        PREDICTED.write_text(json.dumps({**kept, **answers}, indent=1) + "\n", encoding="utf-8")
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], metavar="RECORD")
    parser.add_argument("--keep", action="store_true", help="write the table from predicted.json")
    options = parser.parse_args()
    answers = known() if options.keep else predict_all(options.program, options.only)
    PREDICTED.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    figures = predictions.figures(answers)
    TABLE.write_text(accuracy_table.table(predictions.records(), figures), encoding="utf-8")
    print(f"wrote {TABLE}")


if __name__ == "__main__":
    main()
