"""Queues before links, pauses and lacking credits, over the time of a run."""

import quantities
import style
from bad_input import BadInput
from resource_names import common_name, shape_of
from sheet import Entry, Sheet, shortened
from trace_events import read_trace

MOST_LINES = 6
MOST_STRIPS = 10
BINS = 400  # of a page's width; more cannot be told apart
STALLS = {"paused": "paused by PFC", "credit stall": "packets wait for credits"}
STALL = style.VERMILION


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one trace")
    trace = read_trace(documents[0])
    size, start, end = trace.rows[-1]
    series = {key: clipped(points, start, end) for key, points in trace.counters.items()}
    series = {key: points for key, points in series.items() if any(value for _, value in points)}
    time = end - start
    queues = _queues(series, time)
    strips = {kind: _strips(series, kind, time) for kind in STALLS}
    strips = {kind: rows for kind, rows in strips.items() if rows}
    heights = ([1.5] if queues else []) + [0.25 + 0.19 * min(len(rows), MOST_STRIPS)
                                           for rows in strips.values()]
    about = f"{quantities.size_text(size)}, {quantities.time_text(time)}"
    sheet = Sheet(_title(trace, series, strips), legend=_legend(queues, strips),
                  about=f"{shortened(trace.scenario)}, {about}",
                  height=max(1.0, sum(heights) + 0.15 * len(heights) + 0.45),
                  notes=[_small_print(trace, queues, strips)])
    panels = list(sheet.figure.subplots(max(len(heights), 1), 1, squeeze=False, sharex=True,
                                        gridspec_kw={"height_ratios": heights or [1]})[:, 0])
    scale, unit = quantities.time_unit(time)
    panels[-1].set_xlim(0, time / scale)
    panels[-1].set_xlabel(f"time ({unit})")
    if not heights:
        panels[0].text(0.5, 0.5, "No queue, no pause, no lack of credits.", ha="center",
                       transform=panels[0].transAxes, fontsize=style.TEXT)
        panels[0].set_yticks([])
    if queues:
        _draw_queues(panels.pop(0), queues, time / scale)
    for panel, (kind, rows) in zip(panels, strips.items()):
        _draw_strips(panel, STALLS[kind], rows, time / scale)
    return sheet


def clipped(points, start, end):
    """Those of one row, its time beginning at 0; what held before holds at 0."""
    before = [value for time, value in points if time <= start]
    inside = [(time - start, value) for time, value in points if start < time <= end]
    return [(0.0, before[-1] if before else 0.0)] + inside


def binned(points, end, mean):
    """Of a value that holds until the next: in each of BINS equal times up to `end` its mean, or
    the highest."""
    width = end / BINS
    values = [0.0] * BINS
    for (start, value), (stop, _) in zip(points, points[1:] + [(end, 0.0)]):
        for place in range(int(start / width), min(int(stop / width), BINS - 1) + 1):
            held = min(stop, (place + 1) * width) - max(start, place * width)
            if mean:
                values[place] += value * max(held, 0.0) / width
            elif held > 0 or start == stop:
                values[place] = max(values[place], value)
    return values


def _queues(series, time):
    """[(name, values)]: of links of one shape together the highest at each time; the longest queue
    first."""
    shapes = {}
    for (link, kind), points in sorted(series.items()):
        if kind == "queue":
            shapes.setdefault(shape_of(link), {})[link] = binned(points, time, False)
    queues = []
    for links in shapes.values():
        name = common_name(list(links))
        if len(links) > 1:
            name += f" (the highest of {len(links)})"
        queues.append((name, [max(values) for values in zip(*links.values())]))
    return sorted(queues, key=lambda queue: (-max(queue[1]), queue[0]))


def _strips(series, kind, time):
    """[(name, shares of 100)]: links of one shape that saw the same together; who has most of it
    first."""
    groups = {}
    for (link, of), points in sorted(series.items()):
        if of == kind:
            groups.setdefault((shape_of(link), tuple(points)), []).append(link)
    names = [common_name(links) for links in groups.values()]
    strips = []
    for (_, points), links in groups.items():
        name = common_name(links)
        if names.count(name) > 1:
            name = links[0]
        name += f" ({len(links)} equal)" if len(links) > 1 else ""
        strips.append((name, binned(list(points), time, True)))
    return sorted(strips, key=lambda strip: (-sum(strip[1]), strip[0]))


def _look(place):
    if place >= MOST_LINES:
        return {"color": style.REST, "linewidth": 0.7, "alpha": 0.7, "zorder": 1}
    look = style.series_style(place)
    return {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.3, "zorder": 3}


def _stall_look(percent):
    """On paper of any colour: the more, the stronger."""
    return {"facecolor": STALL, "alpha": percent / 100, "linewidth": 0}


def _legend(queues, strips):
    entries = [Entry(shortened(name, 52), {**_look(place), "marker": ""})
               for place, (name, _) in enumerate(queues[:MOST_LINES])]
    if len(queues) > MOST_LINES:
        entries.append(Entry(f"{len(queues) - MOST_LINES} more",
                             {**_look(MOST_LINES), "marker": ""}))
    if strips:
        entries += [Entry("waits all of the time", _stall_look(100), box=True),
                    Entry("a quarter of it", _stall_look(25), box=True)]
    return entries


def _title(trace, series, strips):
    asked = f"Where and when does {shortened(trace.scenario)} wait?"
    told = []
    for kind, rows in strips.items():
        words = {"paused": "paused", "credit stall": "without credits"}[kind]
        told.append(f"{shortened(rows[0][0])} is {words} most, "
                    f"{sum(rows[0][1]) / BINS:.0f} % of the time")
    if not told and series:
        highest = {link: max(value for _, value in points) for (link, _), points in series.items()}
        link = max(sorted(highest), key=highest.get)
        told.append(f"The longest queue is before {shortened(link)}")
    return f"{asked} {'; '.join(told) or 'Nowhere'}."


def _draw_queues(panel, queues, end):
    most = max(max(values) for _, values in queues)
    size, unit = next(((size, unit) for size, unit in ((1e6, "MB"), (1e3, "kB"))
                       if most >= size), (1.0, "B"))
    times = [place * end / BINS for place in range(BINS + 1)]
    for place, (_, values) in enumerate(queues):
        heights = [value / size for value in values]
        panel.step(times, heights + heights[-1:], where="post", gid="queue", **_look(place))
    panel.set_ylim(bottom=0)
    panel.set_ylabel(f"queued before\na link ({unit})")
    style.horizontal_grid(panel)


def _draw_strips(panel, title, rows, end):
    width = end / BINS
    for place, (_, shares) in enumerate(rows[:MOST_STRIPS]):
        bins = [(index, min(share, 100.0)) for index, share in enumerate(shares) if share > 0]
        colours = [(*style.rgb(STALL), share / 100) for _, share in bins]
        style.add_boxes(panel, [(index * width, place - 0.4, width, 0.8) for index, _ in bins],
                        gid="strip", linewidth=0, facecolors=colours)
    shown = rows[:MOST_STRIPS]
    panel.set_ylim(len(shown) - 0.4, -0.6)
    panel.set_yticks(range(len(shown)), [shortened(name, 34) for name, _ in shown])
    panel.tick_params(axis="y", length=0)
    panel.set_title(title, loc="left", fontsize=style.TEXT)
    panel.spines["left"].set_visible(False)
    panel.grid(True, axis="x")


def _small_print(trace, queues, strips):
    words = []
    if queues:
        words.append("Of each short time the longest queue.")
    for kind, rows in strips.items():
        if len(rows) > MOST_STRIPS:
            words.append(f"{len(rows) - MOST_STRIPS} more links: {STALLS[kind]}, but less.")
    if len(trace.rows) > 1:
        words.append("Of the last of the sizes that ran.")
    return " ".join(words + [shortened(text, 200) for text in trace.left_out[:1]])
