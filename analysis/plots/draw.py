"""Draws one picture of what gradhaul wrote.

    python3 analysis/plots/draw.py KIND FILE… -o OUT.svg

    python3 analysis/plots/draw.py --can-draw       # status 0, or 3 where matplotlib is missing

OUT may end in .svg, .png or .pdf. FILE - is standard input. Exit status: 0 drawn, 1 OUT cannot be
written, 2 the input is wrong, 3 matplotlib is missing (package python3-matplotlib).
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import sys

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from bad_input import BadInput

# Kinds of pictures: the file that draws each, and the question it answers.
KINDS = {
    "busbw": ("busbw_over_size", "how does bandwidth grow with size, and who is fastest from which "
                                 "size on? results, or a sweep"),
    "blame": ("blame_bars", "where does the time go, and how busy is what? one result, or an "
                            "explanation"),
    "agreement": ("agreement", "does the measurement agree with the prediction? a comparison"),
    "ladder": ("ladder", "what does each layer give by itself, and at which do measured and "
                         "predicted part? a ladder, or a comparison of two"),
    "topology": ("topology_load", "which links carry how much? one result"),
    "stalls": ("stalls_over_time", "where and when are there queues, pauses, lacking credits? a "
                                   "trace"),
    "pipeline": ("slice_pipeline", "how do slices travel from rank to rank? a trace"),
    "time-line": ("step_time_line", "how much communication does a training step hide? results of "
                                    "training steps"),
    "step-bars": ("step_bars", "which training step waits least for communication? a sweep of "
                                "steps"),
    "heat-map": ("heat_map", "which setting is best, and how do the others compare? a sweep"),
    "algorithm-map": ("algorithm_map", "which algorithm is fastest, over size and ranks? a sweep, "
                                       "or results"),
}
OLDEST = [3, 6]  # matplotlib
ENDINGS = ("svg", "png", "pdf")
METRICS = ("busbw", "algbw", "time")
DONE, NOT_WRITTEN, BAD_INPUT, NO_MATPLOTLIB = 0, 1, 2, 3


def what_is_missing():
    """Of this Python, in words; found out without loading anything."""
    if importlib.util.find_spec("matplotlib") is None:
        return "no matplotlib (package python3-matplotlib)"
    try:
        version = importlib.metadata.version("matplotlib")
    except importlib.metadata.PackageNotFoundError:
        return ""
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    return f"matplotlib {version}, older than 3.6" if numbers < OLDEST else ""


def kind_of(documents):
    """The picture that answers best what files hold."""
    schema = documents[0].schema
    if schema == "gradhaul.comparison/1":
        return "agreement"
    if schema in ("gradhaul.ladder/1", "gradhaul.ladder_comparison/1"):
        return "ladder"
    if schema == "gradhaul.explanation/1":
        return "blame"
    if schema == "gradhaul.sweep/1":
        if _holds_steps(documents[0].content):
            return "step-bars"
        axes = _axes_of(documents[0].content)
        if axes == {"workload.size"}:
            return "busbw"
        of_algorithms = {"communication.algorithm", "cluster.nodes"}
        return "algorithm-map" if of_algorithms <= axes <= of_algorithms | {"workload.size"} \
            else "heat-map"
    if schema == "gradhaul.trace/1":
        return "pipeline"
    if isinstance(documents[0].content.get("training_step"), dict):
        return "time-line"
    rows = documents[0].content.get("rows")
    sizes = {str(row.get("size_bytes")) for row in rows if isinstance(row, dict)} \
        if isinstance(rows, list) else set()
    one_size = len(documents) == 1 and len(sizes) == 1
    return "blame" if one_size and documents[0].content.get("resources") else "busbw"


def _axes_of(sweep):
    """The paths that really vary."""
    axes = sweep.get("axes")
    return {axis.get("path") for axis in axes if isinstance(axis, dict)
            and isinstance(axis.get("values"), list) and len(axis["values"]) > 1} \
        if isinstance(axes, list) else set()


def _holds_steps(sweep):
    points = sweep.get("points")
    return isinstance(points, list) and any(
        isinstance(point, dict) and isinstance(point.get("result"), dict)
        and "training_step" in point["result"] for point in points)


def arguments_of(line):
    kinds = "\n".join(f"  {kind:<14} {asks}" for kind, (_, asks) in KINDS.items())
    parser = argparse.ArgumentParser(
        prog="draw.py", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"kinds, and the question that each answers:\n{kinds}\n  {'auto':<14} what suits "
               "the file")
    parser.add_argument("kind", metavar="KIND", choices=[*KINDS, "auto"], help="listed below")
    parser.add_argument("files", metavar="FILE", nargs="+", help="what gradhaul wrote with --json "
                        "or --trace; - is standard input")
    parser.add_argument("-o", "--output", metavar="OUT", required=True,
                        help="ends in .svg, .png or .pdf")
    parser.add_argument("--metric", choices=METRICS, default="busbw",
                        help="what a heat map shows (busbw)")
    parser.add_argument("--where", metavar="PATH=VALUE", action="append", default=[],
                        help="of a sweep only the points with this value")
    options = parser.parse_args(line)
    ending = options.output.rpartition(".")[2].lower()
    if ending not in ENDINGS:
        parser.error(f"-o {options.output}: ends in none of .svg, .png and .pdf")
    if options.files.count("-") > 1:
        parser.error("only one FILE can be standard input")
    return options


def draw(options):
    """The sheet, and which kind of picture it bears. BadInput."""
    # These bring matplotlib along.
    reading = importlib.import_module("reading")
    documents = [reading.read_document(file) for file in options.files]
    kind = kind_of(documents) if options.kind == "auto" else options.kind
    return importlib.import_module(KINDS[kind][0]).draw(documents, options), kind


def main(line):
    obstacle = what_is_missing()
    if line == ["--can-draw"]:
        return NO_MATPLOTLIB if obstacle else DONE
    options = arguments_of(line)
    if obstacle:
        print(f"draw.py: {options.output}: not drawn: {sys.executable} has {obstacle}",
              file=sys.stderr)
        return NO_MATPLOTLIB
    try:
        draw(options)[0].save(options.output)
    except BadInput as error:
        print(f"draw.py: {error}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        print(f"draw.py: {options.output}: cannot be written: {error.strerror}", file=sys.stderr)
        return NOT_WRITTEN
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
