"""Reads the files that pictures are made of, and says in a sentence what is wrong with one."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

from bad_input import BadInput

MOST = 1e100
# What each schema is called in messages.
SCHEMAS = {
    "gradhaul.result/1": "a result file (predict --json, measure --json)",
    "gradhaul.comparison/1": "a comparison (compare --json)",
    "gradhaul.explanation/1": "an explanation (explain --json)",
    "gradhaul.ladder/1": "a ladder (predict --ladder --json, measure --ladder --json)",
    "gradhaul.ladder_comparison/1": "a comparison of ladders (compare --json)",
    "gradhaul.sweep/1": "a sweep (sweep --json)",
    "gradhaul.trace/1": "a trace (predict --trace)",
}


@dataclass
class Document:
    """A file that was read: its name in messages, and what it holds."""

    file: str
    schema: str
    content: dict

    @property
    def stem(self):
        return "standard input" if self.file == "standard input" else Path(self.file).stem


@dataclass
class Run:
    """One result: of a result file, or of a point of a sweep."""

    file: str
    kind: str = "predicted"
    scenario: dict = field(default_factory=dict)
    engine: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)
    resources: list = field(default_factory=list)
    counters: list = field(default_factory=list)
    content: dict = field(default_factory=dict)
    label: str = ""
    of_step: bool = False  # of a sweep: its one row is a whole training step

    @property
    def name(self):
        return str(self.scenario.get("name") or Path(self.file).stem)

    @property
    def effective(self):
        return member(self.scenario, "effective", dict, {})


def member(mapping, key, kind, otherwise):
    """mapping[key] where it is there and of that kind."""
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, kind) else otherwise


def profile_of(effective):
    """What a scenario in effect says; "" where it does not."""
    return member(member(effective, "communication", dict, {}), "profile", str, "")


def number(value, otherwise=None):
    """A finite number; else what is given for it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return otherwise
    # No whole number of a file is as great; sums and ratios stay finite.
    return value if -MOST <= value <= MOST else otherwise


def schema_of(content):
    if not isinstance(content, dict):
        return ""
    schema = content.get("schema") or member(content, "otherData", dict, {}).get("schema")
    return schema if isinstance(schema, str) else ""


def _refuse_constant(text):
    raise ValueError(f"{text} is no number")


def read_document(path):
    """BadInput where it cannot be read or is nothing of ours. `-` is standard input."""
    file = "standard input" if path == "-" else path
    try:
        text = (sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()).decode("utf-8")
        content = json.loads(text, parse_constant=_refuse_constant)
    except OSError as error:
        raise BadInput(file, f"cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise BadInput(file, "is nested too deep to be a file that gradhaul wrote") from error
    except ValueError as error:
        raise BadInput(file, f"is no JSON: {error}; a picture is made of what gradhaul wrote with "
                             "--json or --trace") from error
    schema = schema_of(content)
    if schema not in SCHEMAS:
        said = f'its schema is "{schema[:60]}"' if schema else "it names no schema"
        raise BadInput(file, f"{said}; a picture is made of " + ", ".join(SCHEMAS.values()))
    return Document(file, schema, content)


def runs_of(document):
    """The runs of a document, with their labels where they are points of a sweep."""
    if document.schema == "gradhaul.result/1":
        return [run_of(document.content, document.file)]
    if document.schema == "gradhaul.sweep/1":
        return [point.run for point in read_points(document) if point.run]
    raise BadInput(document.file, f"is {SCHEMAS[document.schema]}; this picture is made of "
                                  f"{SCHEMAS['gradhaul.result/1']} or of "
                                  f"{SCHEMAS['gradhaul.sweep/1']}")


def run_of(content, file, place=""):
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list):
        raise BadInput(file, f"{place}has no list `rows`, as a result has")
    for index, row in enumerate(rows):
        _check_row(row, f"{place}rows[{index}]", file)
    return Run(file, member(content, "kind", str, "predicted"),
               member(content, "scenario", dict, {}), member(content, "engine", dict, {}), rows,
               _named(content, "resources", "name"), _named(content, "counters", "port"), content)


def _named(content, key, name):
    return [entry for entry in member(content, key, list, [])
            if isinstance(entry, dict) and isinstance(entry.get(name), str)]


def _check_row(row, place, file):
    if not isinstance(row, dict):
        raise BadInput(file, f"{place} is not an object, as a row of a result is")
    size, time = number(row.get("size_bytes")), number(row.get("time_us"))
    if size is None or size < 0:
        raise BadInput(file, f"{place}.size_bytes is not a number of bytes, from 0 on")
    if time is None or time <= 0:
        raise BadInput(file, f"{place}.time_us is not a number of microseconds above 0")
    busbw = number(row.get("busbw_GBps"))
    if busbw is None or busbw < 0:
        raise BadInput(file, f"{place}.busbw_GBps is not a number of GB/s, from 0 on")


@dataclass
class Point:
    """Of a sweep: its values, one for each axis, and what came of it."""

    values: tuple
    run: Run | None
    error: str = ""


@dataclass
class Axis:
    path: str
    values: list


def read_axes(document):
    axes = member(document.content, "axes", list, None)
    if not axes:
        raise BadInput(document.file, "has no list `axes` of what was varied, as a sweep has")
    result = []
    for index, axis in enumerate(axes):
        values = member(axis, "values", list, None)
        if not isinstance(axis, dict) or not isinstance(axis.get("path"), str) or not values:
            raise BadInput(document.file, f"axes[{index}] is not a `path` with its `values`")
        result.append(Axis(axis["path"], [value_text(value) for value in values]))
    return result


def _varied(scenario, axes, values):
    """The scenario of a sweep with the values of one point."""
    scenario = {**scenario, "effective": {**member(scenario, "effective", dict, {})}}
    for axis, value in zip(axes, values):
        *above, last = axis.path.split(".")
        place = scenario["effective"]
        for key in above:
            place[key] = {**member(place, key, dict, {})}
            place = place[key]
        # A name may stand for a whole mapping.
        named = isinstance(place.get(last), dict)
        place[last] = {"name": value} if named else int(value) if value.isdigit() else value
    return scenario


def value_text(value):
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def read_points(document):
    """Points of a sweep in its order; those that failed have no run."""
    axes = read_axes(document)
    points = member(document.content, "points", list, None)
    if points is None:
        raise BadInput(document.file, "has no list `points`, as a sweep has")
    scenario = member(document.content, "scenario", dict, {})
    result = []
    for index, point in enumerate(points):
        values = member(point, "values", list, [])
        if len(values) != len(axes):
            raise BadInput(document.file, f"points[{index}].values are not one for each of the "
                                          f"{len(axes)} axes")
        values = tuple(value_text(value) for value in values)
        content = member(point, "result", dict, None)
        if member(point, "status", str, "") != "done" or content is None:
            result.append(Point(values, None, str(point.get("error") or "not done")))
            continue
        run = _run_of_point(content, document.file, f"points[{index}].result: ")
        run.scenario = run.scenario or _varied(scenario, axes, values)
        # What a result says of its engine stands beside its rows there.
        run.engine = run.engine or content
        run.label = ", ".join(f"{short_path(axis.path)} {value}"
                              for axis, value in zip(axes, values))
        result.append(Point(values, run))
    return result


def _run_of_point(content, file, place):
    step = member(content, "training_step", dict, None)
    if step is None:
        return run_of(content, file, place)
    time = number(step.get("time_us"))
    if time is None or time <= 0:
        raise BadInput(file, f"{place}training_step.time_us is not a number of microseconds above "
                             "0")
    return Run(file, content=content, of_step=True,
               rows=[{"size_bytes": 0, "time_us": time, "busbw_GBps": 0}])


def short_path(path):
    """The last part of a key's path, with the one before it where that alone says too little."""
    parts = path.split(".")
    if parts[-1] in ("name", "kind", "size", "link", "count", "rate", "model") and len(parts) > 1:
        return ".".join(parts[-2:])
    return parts[-1]
