"""Queues before links, pauses and lacking credits, over the time of a run."""

import quantities
import style
from bad_input import BadInput
from resource_names import common_name, shape_of
from sheet import Entry, Sheet, shortened
from trace_events import read_trace

MOST_COLOURED = 6
MOST_STEPS = 600  # of a line; more cannot be told apart on a page
# Kind: what the axis says, and what is said of a run without any.
PANELS = {"queue": "queued before\nthe link", "paused": "paused by PFC\n(% of the time)",
          "credit stall": "out of credits\n(% of the time)"}


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one trace")
    trace = read_trace(documents[0])
    size, start, end = trace.rows[-1]
    series = {key: _clipped(points, start, end) for key, points in trace.counters.items()}
    series = {key: points for key, points in series.items() if any(value for _, value in points)}
    lines = _merged(series)
    kinds = [kind for kind in PANELS if any(key[1] == kind for key in lines)]
    order = _order(lines)
    looks = {name: _look(place) for place, name in enumerate(order)}
    about = f"{quantities.size_text(size)}, {quantities.time_text(end - start)}"
    sheet = Sheet(_title(trace, lines), about=f"{shortened(trace.scenario)}, {about}",
                  legend=_legend(order, looks), height=max(1.0, 0.5 + 1.5 * len(kinds)),
                  notes=[_small_print(trace)])
    panels = sheet.figure.subplots(max(len(kinds), 1), 1, squeeze=False, sharex=True)[:, 0]
    scale, unit = quantities.time_unit(end - start)
    for panel, kind in zip(panels, kinds):
        _draw_panel(panel, kind, {name: points for (name, of), points in lines.items()
                                  if of == kind}, looks, (start, end, scale))
    if not kinds:
        panels[0].text(0.5, 0.5, "No queue, no pause, no lack of credits.", ha="center",
                       transform=panels[0].transAxes, fontsize=style.TEXT)
        panels[0].set_yticks([])
    panels[-1].set_xlim(0, (end - start) / scale)
    panels[-1].set_xlabel(f"time ({unit})")
    return sheet


def _clipped(points, start, end):
    """Those of one row, its time beginning at 0; what held before holds at 0."""
    before = [value for time, value in points if time <= start]
    inside = [(time - start, value) for time, value in points if start < time <= end]
    return [(0.0, before[-1] if before else 0.0)] + inside


def _merged(series):
    """{(name of links, kind): points}: links of one shape that saw the same together."""
    groups = {}
    for (link, kind), points in sorted(series.items()):
        groups.setdefault((shape_of(link), kind, tuple(points)), []).append(link)
    lines = {}
    for (_, kind, points), links in groups.items():
        name = common_name(links)
        name += f" ({len(links)} equal)" if len(links) > 1 else ""
        while (name, kind) in lines:
            name += " "
        lines[(name, kind)] = list(points)
    return lines


def _order(lines):
    """Names of links, those first that have the most in any panel."""
    highest = {}
    for kind in PANELS:
        mine = {name: max(value for _, value in points)
                for (name, of), points in lines.items() if of == kind}
        most = max(mine.values(), default=1)
        for name, value in mine.items():
            highest[name] = max(highest.get(name, 0), value / most)
    return sorted(highest, key=lambda name: (-highest[name], name))


def _look(place):
    if place >= MOST_COLOURED:
        return {"color": style.REST, "linewidth": 0.7, "alpha": 0.7, "zorder": 1}
    look = style.series_style(place)
    return {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.3, "zorder": 3}


def _legend(order, looks):
    entries = [Entry(shortened(name, 52), {**looks[name], "marker": ""})
               for name in order[:MOST_COLOURED]]
    if len(order) > MOST_COLOURED:
        entries.append(Entry(f"{len(order) - MOST_COLOURED} more",
                             {**looks[order[-1]], "marker": ""}))
    return entries


def _title(trace, lines):
    asked = f"Where and when does {shortened(trace.scenario)} wait?"
    if not lines:
        return f"{asked} Nowhere."
    told = []
    for kind, words in (("paused", "paused"), ("credit stall", "without credits")):
        sums = {name: _mean(points) for (name, of), points in lines.items() if of == kind}
        if sums:
            name = max(sums, key=sums.get)
            told.append(f"{shortened(name.strip(), 40)} is {words} most")
    if not told:
        highest = {name: max(value for _, value in points) for (name, _), points in lines.items()}
        told.append(f"The longest queue is before {max(highest, key=highest.get).strip()}")
    return f"{asked} {'; '.join(told)}."


def _mean(points):
    """Of a value that holds until the next, over the time to the last point."""
    held = sum(value * (later - time)
               for (time, value), (later, _) in zip(points, points[1:]))
    return held / points[-1][0] if points[-1][0] > 0 else points[-1][1]


def _thinned(points, end):
    """At most MOST_STEPS steps: of each stretch of time the highest value."""
    if len(points) <= MOST_STEPS:
        return points
    width = end / MOST_STEPS
    highest, last = {}, 0.0
    for time, value in points:
        place = min(int(time / width), MOST_STEPS - 1)
        highest[place] = max(highest.get(place, 0.0), value)
        last = value
    return [(place * width, value) for place, value in sorted(highest.items())] + [(end, last)]


def _draw_panel(panel, kind, lines, looks, window):
    start, end, scale = window
    size, unit = 1.0, ""
    if kind == "queue":
        most = max(value for points in lines.values() for _, value in points)
        size, unit = next(((size, unit) for size, unit in ((1e6, "MB"), (1e3, "kB"))
                           if most >= size), (1.0, "B"))
    for name, points in lines.items():
        steps = _thinned(points, end - start)
        xs = [time / scale for time, _ in steps] + [(end - start) / scale]
        ys = [value / size for _, value in steps]
        panel.step(xs, ys + ys[-1:], where="post", gid="counter", **looks[name])
    panel.set_ylim(bottom=0)
    if kind != "queue":
        panel.set_ylim(0, min(105, panel.get_ylim()[1]))
    panel.set_ylabel(PANELS[kind] + (f" ({unit})" if unit else ""))
    style.horizontal_grid(panel)


def _small_print(trace):
    words = ["Of each bin of time the longest queue; pauses and lacking credits as shares of it."]
    if len(trace.rows) > 1:
        words.append("Of the last of the sizes that ran.")
    return " ".join(words + [shortened(text, 200) for text in trace.left_out[:1]])
