"""The rows of a sweep as a table over what was varied, the message size among it."""

from dataclasses import dataclass

import reading
import runs as several
from bad_input import BadInput
from quantities import size_text

SIZE = "workload.size"
# Of a row: its key, what the axis says, what is added to a value in a sentence, and whether more
# of it is better.
METRICS = {
    "busbw": ("busbw_GBps", "bus bandwidth (GB/s)", "GB/s", True),
    "algbw": ("algbw_GBps", "algorithm bandwidth (GB/s)", "GB/s", True),
    "time": ("time_us", "time (us)", "us", False),
    "step": ("time_us", "time of a step (us)", "us", False),
}


@dataclass
class Table:
    """`cells`: a row of a result for each tuple of values; None where the point failed."""

    file: str
    axes: list
    cells: dict
    errors: list
    of_steps: bool = False  # a row is then a whole training step

    def varied(self):
        """Axes of more than one value; at least one axis."""
        return [axis for axis in self.axes if len(axis.values) > 1] or self.axes[:1]


def wanted(conditions, axes, file):
    """{path: value} of --where; BadInput where there is no such axis or value."""
    result = {}
    for condition in conditions:
        path, equals, value = condition.partition("=")
        axis = next((axis for axis in axes if axis.path == path), None)
        if not equals or axis is None:
            raise BadInput(f"--where {condition}", "is not PATH=VALUE with a PATH that varies in "
                           f"{file}: " + ", ".join(axis.path for axis in axes))
        if value not in axis.values:
            raise BadInput(f"--where {condition}", f"{path} takes these values in {file}: "
                           + ", ".join(axis.values))
        result[path] = value
    return result


def table_of(document, conditions=()):
    """BadInput where nothing is left to draw."""
    if document.schema != "gradhaul.sweep/1":
        raise BadInput(document.file, f"is {reading.SCHEMAS[document.schema]}; this picture is "
                                      "made of what sweep --json writes")
    axes, points = reading.read_axes(document), reading.read_points(document)
    by_size = any(point.run and len(several.out_of_place(point.run)) > 1 for point in points) \
        and all(axis.path != SIZE for axis in axes)
    sizes = sorted({size for point in points if point.run
                    for size in several.out_of_place(point.run)}) if by_size else []
    if by_size:
        axes.append(reading.Axis(SIZE, [size_text(size) for size in sizes]))
    chosen = wanted(conditions, axes, document.file)
    cells, errors = {}, []
    for point in points:
        rows = several.out_of_place(point.run) if point.run else {}
        if not point.run:
            errors.append(point.error)
        found = {size_text(size): rows.get(size) for size in sizes} if by_size else {
            "": next(iter(rows.values()), None)}
        for size, row in found.items():
            key = point.values + ((size,) if by_size else ())
            if all(value == chosen.get(axis.path, value) for axis, value in zip(axes, key)):
                if row is not None or not point.run:
                    cells[key] = row
    if not any(cells.values()):
        raise BadInput(document.file, "holds no point that is done: nothing to draw"
                       + (f"; the first error: {errors[0][:120]}" if errors else ""))
    for axis in axes:
        if axis.path in chosen:
            axis.values = [chosen[axis.path]]
    return Table(document.file, axes, cells, errors,
                 any(point.run and point.run.of_step for point in points))


def metric_of(table, name):
    """What is drawn where `name` is asked for: a training step has nothing but its time."""
    return METRICS["step" if table.of_steps else name]
