"""Bus bandwidth over message size for several runs, how much slower each is than the fastest, and
where the fastest changes."""

import math

import quantities
import reading
import runs as several
import style
from bad_input import BadInput
from crossovers import crossovers
from sheet import Entry, Sheet, shortened

MOST_COLOURED = 6
MOST_NAMED = 6


def _between(rows, size, value):
    """A row's value at a size between its rows, on a straight line over log size."""
    sizes = [known for known in rows if known > 0]
    below = max(known for known in sizes if known <= size * (1 + 1e-12))
    above = min((known for known in sizes if known >= size * (1 - 1e-12)), default=below)
    if above == below:
        return value(rows[below])
    share = math.log(size / below) / math.log(above / below)
    return value(rows[below]) * (1 - share) + value(rows[above]) * share


def _busbw(row):
    return row["busbw_GBps"]


def _ranked(series, found):
    """Indices in the order in which colours go: the fastest somewhere, then as given."""
    first = [index for _, before, after in found for index in (before, after)]
    if not found:
        common = set.intersection(*(set(times) for times in series))
        if common:
            size = max(common)
            first = [min(range(len(series)), key=lambda i: series[i][size])]
    if len(series) <= MOST_COLOURED:
        first = []
    return list(dict.fromkeys(first + list(range(len(series)))))


def _looks(order):
    looks = {}
    for place, index in enumerate(order):
        if place < MOST_COLOURED:
            looks[index] = style.series_style(place)
        else:
            looks[index] = {"color": style.REST, "marker": "", "linestyle": "-", "linewidth": 0.8,
                            "alpha": 0.7, "zorder": 1}
    return looks


def _legend(labels, order, looks):
    entries = [Entry(shortened(labels[index], 52), looks[index])
               for index in order[:MOST_COLOURED]]
    rest = len(order) - MOST_COLOURED
    if rest > 0:
        entries.append(Entry(f"{rest} more", looks[order[-1]]))
    return entries


def _crossover_notes(found, labels):
    """One sentence each, numbered as in the picture."""
    notes = []
    for place, (size, before, after) in enumerate(found[:MOST_NAMED], 1):
        notes.append(f"({place}) from {quantities.near_size_text(size)} on, "
                     f"{shortened(labels[after], 32)} is faster than "
                     f"{shortened(labels[before], 32)}")
    text = "Crossovers: " + "; ".join(notes) + "." if notes else ""
    if len(found) > MOST_NAMED:
        text += f" And {len(found) - MOST_NAMED} more, at larger sizes."
    return text


def draw(documents, _options):
    """A Sheet. BadInput."""
    runs = [run for document in documents for run in _curves(document)]
    several.label_runs(runs)
    kept, labels, empty = [], [], []
    for run in runs:
        rows = {size: row for size, row in several.out_of_place(run).items() if size > 0}
        (kept.append((run, rows)) if rows else empty.append(run.label))
    if not kept:
        raise BadInput(documents[0].file, "holds no row of a size above 0: nothing to draw")
    labels = [run.label for run, _ in kept]
    series = [{size: row["time_us"] for size, row in rows.items()} for _, rows in kept]
    found = crossovers(series)
    order = _ranked(series, found)
    looks = _looks(order)
    notes = [_crossover_notes(found, labels), _small_print(kept, empty)]
    sheet = Sheet(_title(kept), about=several.common_about([run for run, _ in kept]),
                  notes=notes, height=4.4,
                  legend=_legend(labels, order, looks) if len(kept) > 1 else ())
    above, below = sheet.figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    _draw_busbw(above, kept, looks)
    _mark(above, found, kept)
    if len(kept) > 1:
        _draw_slowness(below, series, looks, found)
    else:
        _draw_times(below, series[0], looks[0])
    sizes = [size for times in series for size in times]
    quantities.size_axis(below.xaxis, sorted(set(sizes)))
    below.set_xlabel("message size (bytes)")
    return sheet


def _title(kept):
    if len(kept) == 1:
        return f"How much bandwidth does {shortened(kept[0][0].name)} get, by message size?"
    return f"Which {'of the two ' if len(kept) == 2 else ''}is faster at which message size?"


def _curves(document):
    """Runs of one curve each: points of a sweep that differ in the size alone are one."""
    if document.schema != "gradhaul.sweep/1":
        return reading.runs_of(document)
    axes = reading.read_axes(document)
    joined = {}
    for point in reading.read_points(document):
        if not point.run:
            continue
        others = [(axis.path, value) for axis, value in zip(axes, point.values)
                  if axis.path != "workload.size"]
        key = tuple(others)
        if key not in joined:
            point.run.label = ", ".join(f"{reading.short_path(path)} {value}"
                                        for path, value in others) or point.run.name
            joined[key] = point.run
            point.run.rows = list(point.run.rows)
        else:
            joined[key].rows += point.run.rows
    if not joined:
        raise BadInput(document.file, "holds no point that is done: nothing to draw")
    return list(joined.values())


def _small_print(kept, empty):
    words = []
    if any(row.get("in_place") is False for _, rows in kept for row in rows.values()):
        words.append("Out of place.")
    bounds = [reading.number(run.engine.get("error_bound_us")) for run, _ in kept]
    if any(bounds):
        words.append("Predicted times may be off by up to "
                     f"{quantities.time_text(max(bound or 0 for bound in bounds))}.")
    if empty:
        words.append(f"Without rows: {', '.join(shortened(name, 30) for name in empty[:4])}"
                     + (f" and {len(empty) - 4} more." if len(empty) > 4 else "."))
    return " ".join(words)


def _draw_busbw(axes, kept, looks):
    for index, (_, rows) in enumerate(kept):
        axes.plot(list(rows), [_busbw(row) for row in rows.values()], gid=f"run{index}",
                  clip_on=False, **{"zorder": 3, **looks[index]})
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    if axes.get_ylim()[1] <= 0 or not any(_busbw(row) for _, rows in kept for row in rows.values()):
        axes.set_ylim(0, 1)
    axes.set_ylabel("bus bandwidth (GB/s)")
    style.horizontal_grid(axes)


def _mark(axes, found, kept):
    for place, (size, _, after) in enumerate(found, 1):
        number = str(place) if place <= MOST_NAMED else ""
        axes.axvline(size, color=style.MUTED, linewidth=0.7, linestyle=(0, (2, 2)), zorder=2)
        axes.plot([size], [_between(kept[after][1], size, _busbw)], marker="o", markersize=4,
                  markerfacecolor=style.PAPER, markeredgecolor=style.INK, linestyle="", zorder=5,
                  gid=f"crossover{place}")
        axes.annotate(number, (size, 1), xycoords=("data", "axes fraction"), xytext=(0, 2),
                      textcoords="offset points", ha="center", va="bottom",
                      fontsize=style.SMALL, color=style.INK)


def _draw_slowness(axes, series, looks, found):
    sizes = sorted({size for times in series for size in times})
    best = {size: min(times[size] for times in series if size in times) for size in sizes}
    highest = 1.0
    for index, times in enumerate(series):
        ratios = {size: time / best[size] for size, time in times.items()}
        highest = max([highest, *ratios.values()])
        # Where two change places both are the fastest, between the sizes that ran.
        bends = {size: 1.0 for size, *pair in found if index in pair}
        line = sorted((ratios | bends).items())
        look = {"zorder": 3, **looks[index]}
        axes.plot(*zip(*line), **{**look, "marker": ""})
        axes.plot(list(ratios), list(ratios.values()), **{**look, "linestyle": ""})
    for size, _, _ in found:
        axes.axvline(size, color=style.MUTED, linewidth=0.7, linestyle=(0, (2, 2)), zorder=2)
    axes.set_yscale("log")
    quantities.log_number_axis(axes.yaxis, 1 / max(1.02, highest ** 0.03),
                               max(1.1, highest ** 1.05))
    axes.set_ylabel("time, relative to\nthe fastest (times)")
    style.horizontal_grid(axes)


def _draw_times(axes, times, look):
    scale, unit = quantities.time_unit(max(times.values()))
    values = [time / scale for time in times.values()]
    axes.plot(list(times), values, **look)
    axes.set_yscale("log")
    low, high = quantities.log_limits(min(values), max(values), 0.06)
    quantities.log_number_axis(axes.yaxis, low, high)
    axes.set_ylabel(f"time ({unit})")
    style.horizontal_grid(axes)
