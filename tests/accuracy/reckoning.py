"""How far predictions are from what was measured, and how far that is on the whole.

An error is one of time: 0.1 is a prediction that takes a tenth longer than what was measured,
whether a time was measured or a bandwidth. So all errors compare, and too slow has one sign.
"""

import statistics
from dataclasses import dataclass

LARGE_ERROR = 0.15  # from here on, what explains it is told
UNITS = {"time_us": "µs", "busbw": "GB/s", "gbps": "Gb/s"}
MIB = 1 << 20

# Key, and how it is called, in the order of the table.
GROUPS = (
    ("small", "collectives up to 1 MiB"),
    ("medium", "above, up to 256 MiB"),
    ("large", "larger"),
    ("faults", "faults and contention"),
    ("link", "one link (perftest)"),
)


@dataclass(frozen=True)
class Figure:
    """Of one row: in the unit in which it was measured."""

    record: str
    what: str
    size: int
    unit: str
    group: str  # of GROUPS, or "tuner", "floor"
    by: str  # fidelity, profile and plan
    measured: float
    predicted: float
    tuner: float | None = None
    rule: float | None = None
    why: str = ""
    not_comparable: str = ""

    def error(self, of="predicted"):
        value = getattr(self, of)
        return None if value is None else time_error(self.unit, self.measured, value)


def time_error(unit, measured, estimated):
    """Of a time, or of the time that goes with a bandwidth."""
    longer = estimated / measured if unit == "time_us" else measured / estimated
    return longer - 1


def group_of(run, size):
    if "group" in run:
        return run["group"]
    return "small" if size <= MIB else "medium" if size <= 256 * MIB else "large"


def in_unit(unit, row):
    """Of a row of a result file."""
    if unit == "time_us":
        return row["time_us"]
    return row["busbw_GBps"] if unit == "busbw" else 8 * row["algbw_GBps"]


def median_and_worst(errors):
    """(median of the distances, the error that is farthest off); nothing of nothing."""
    errors = [error for error in errors if error is not None]
    if not errors:
        return None
    return statistics.median(abs(error) for error in errors), max(errors, key=abs)


def summary(figures, of="predicted"):
    """(name of a group, how many, median and worst) for each group that has figures."""
    compared = [figure for figure in figures if not figure.not_comparable]
    result = []
    for key, name in GROUPS:
        errors = [figure.error(of) for figure in compared if figure.group == key]
        result.append((name, len([e for e in errors if e is not None]), median_and_worst(errors)))
    return result


def is_far_off(figure):
    """Whether it compares, and is so far off that somebody has to say why."""
    compared = not figure.not_comparable and figure.group not in ("floor", "tuner")
    return compared and abs(figure.error()) > LARGE_ERROR


def lacks_explanation(figure):
    return is_far_off(figure) and not figure.why
