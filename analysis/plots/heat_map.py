"""A sweep: a map of one figure over two of the keys that vary, a panel for each value of the
others; or a line over one key."""

import itertools

import matplotlib
import quantities
import reading
import style
import varied_runs
from bad_input import BadInput
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from sheet import Entry, Sheet, shortened, text_width

MOST_PANELS = 6
FAILED = {"facecolor": style.FAINT, "edgecolor": style.MUTED, "hatch": "xx", "linewidth": 0}


def draw(documents, options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one sweep")
    document = documents[0]
    table = varied_runs.table_of(document, options.where)
    metric = varied_runs.metric_of(table, options.metric)
    axes = table.varied()
    about = _about(document, table)
    if len(axes) == 1:
        return _line(table, axes[0], metric, about)
    # The finest steps go along the page.
    order = sorted(range(len(axes)), key=lambda i: (axes[i].path != varied_runs.SIZE,
                                                    -len(axes[i].values)))
    across, up = axes[order[0]], axes[order[1]]
    others = [axes[i] for i in sorted(order[2:])]
    panels = list(itertools.product(*[axis.values for axis in others]))
    if len(panels) > MOST_PANELS:
        raise BadInput(table.file, f"would take {len(panels)} maps, at most {MOST_PANELS} can be "
                       "read; choose with --where, as --where "
                       f"{others[-1].path}={others[-1].values[0]}")
    return _maps(table, across, up, others, panels, metric, about)


def _about(document, table):
    scenario = reading.member(document.content, "scenario", dict, {})
    words = [shortened(scenario.get("name") or document.stem, 48)]
    words += [f"{axis.path} {shortened(axis.values[0], 24)}"
              for axis in table.axes if len(axis.values) == 1]
    count = sum(1 for row in table.cells.values() if row)
    return ", ".join(words + [f"{count} points"])


def _value(row, metric):
    return reading.number(row.get(metric[0])) if row else None


def _title(table, metric):
    """The question, and the best of the values as its answer."""
    better = max if metric[3] else min
    values = {key: _value(row, metric) for key, row in table.cells.items()}
    values = {key: value for key, value in values.items() if value is not None}
    if not values:
        raise BadInput(table.file, f"has no {metric[0]} in its rows: nothing to draw")
    best = better(values.values())
    # Of those that are as good as the best, the first.
    key = next(key for key, value in values.items() if abs(value - best) <= 0.0005 * abs(best))
    setting = ", ".join(f"{_short(axis)} {shortened(value, 24)}"
                        for axis, value in zip(table.axes, key) if len(axis.values) > 1)
    what = metric[1].split(" (")[0]
    asked = f"Which gives the most {what}?" if metric[3] else "Which takes the least time?"
    figure = f"{quantities.number_text(best)} {metric[2]}"
    return f"{asked} With {setting}: {figure}." if setting else asked


def _short(axis):
    return "size" if axis.path == varied_runs.SIZE else reading.short_path(axis.path)


def _norm(table, metric):
    values = [value for row in table.cells.values()
              if (value := _value(row, metric)) is not None]
    low, high = min(values), max(values)
    if low > 0 and high / low > 30:
        return LogNorm(low, high)
    return Normalize(min(low, 0) if high / max(low, 1e-300) > 3 else low, high if high > low
                     else low + 1)


def _maps(table, across, up, others, panels, metric, about):
    columns = 1 if len(panels) == 1 else (3 if len(panels) > 4 else 2)
    rows = -(-len(panels) // columns)
    cell = min(0.42, max(0.16, 4.2 / rows / len(up.values)))
    height = rows * (len(up.values) * cell + (0.45 if others else 0.1)) + 0.75
    sheet = Sheet(_title(table, metric), about=about, height=max(height, 2.0),
                  legend=_legend(table, across, up, others), notes=[_errors(table)])
    grid = sheet.figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    colours = ScalarMappable(_norm(table, metric),
                             matplotlib.colormaps[style.MAP + ("" if metric[3] else "_r")])
    for place, panel in enumerate(grid.flat):
        if place >= len(panels):
            panel.set_visible(False)
            continue
        fixed = dict(zip((axis.path for axis in others), panels[place]))
        _draw_map(panel, table, (across, up), fixed, metric, colours, 5.4 / columns)
        if fixed:
            panel.set_title(", ".join(f"{reading.short_path(path)} {shortened(value, 20)}"
                                      for path, value in fixed.items()), fontsize=style.TEXT,
                            loc="left")
    for panel in grid[-1]:
        panel.set_xlabel(_axis_label(across))
    for panel in grid[:, 0]:
        panel.set_ylabel(_axis_label(up))
    _bar(sheet, grid, colours, metric)
    return sheet


def _bar(sheet, grid, colours, metric):
    label = metric[1] if metric[3] else f"{metric[1]}, less is better"
    bar = sheet.figure.colorbar(colours, ax=list(grid.flat), fraction=0.05, pad=0.015,
                                aspect=28)
    bar.set_label(label)
    bar.outline.set_visible(False)
    norm = colours.norm
    if isinstance(norm, LogNorm):
        quantities.log_number_axis(bar.ax.yaxis, norm.vmin, norm.vmax)
    bar.ax.tick_params(length=2)


def _axis_label(axis):
    """The key, with the unit where the values do not bear one."""
    if axis.path == varied_runs.SIZE:
        return "message size (bytes)"
    bare = all(value.replace(".", "", 1).isdigit() for value in axis.values)
    return f"{shortened(axis.path, 44)}{' (number)' if bare else ''}"


def _legend(table, across, up, others):
    keys = set(itertools.product(*[axis.values for axis in table.axes]))
    failed = sum(1 for row in table.cells.values() if row is None)
    missing = len(keys - set(table.cells))
    entries = []
    if failed:
        entries.append(Entry(f"failed: {failed}", FAILED, box=True))
    if missing:
        entries.append(Entry(f"not run: {missing}",
                             {"facecolor": style.PAPER, "edgecolor": style.FAINT,
                              "linewidth": 0.8}, box=True))
    return entries


def _errors(table):
    if not table.errors:
        return ""
    return f"First of the errors: {shortened(table.errors[0], 200)}"


def _draw_map(panel, table, pair, fixed, metric, colours, width):
    across, up = pair
    texts, cells = {}, {"done": [], "failed": [], "missing": []}
    for x, y in itertools.product(range(len(across.values)), range(len(up.values))):
        at = {across.path: across.values[x], up.path: up.values[y], **fixed}
        key = tuple(at.get(axis.path, axis.values[0]) for axis in table.axes)
        value = _value(table.cells.get(key), metric)
        cells["missing" if key not in table.cells else "failed" if value is None else
              "done"].append((x - 0.5, y - 0.5, 1, 1))
        if value is not None:
            texts[(x, y)] = (quantities.number_text(value), colours.to_rgba(value))
    style.add_boxes(panel, cells["missing"], gid="missing", facecolor=style.PAPER,
                    edgecolor=style.FAINT, linewidth=0.5)
    style.add_boxes(panel, cells["failed"], gid="failed", **FAILED)
    style.add_boxes(panel, cells["done"], gid="done", linewidth=0,
                    facecolors=[colour for _, colour in texts.values()])
    room = width / len(across.values) - 0.06
    if texts and max(text_width(text, style.SMALL) for text, _ in texts.values()) <= room:
        for (x, y), (text, colour) in texts.items():
            panel.text(x, y, text, ha="center", va="center", fontsize=style.SMALL,
                       color=style.ink_on(colour))
    panel.set_xlim(-0.5, len(across.values) - 0.5)
    panel.set_ylim(-0.5, len(up.values) - 0.5)
    label_places(panel.xaxis, across.values, width)
    label_places(panel.yaxis, up.values, None)
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)


def label_places(axis, values, width, longest=22):
    """Names at 0, 1, 2, …: as many as there is room for, turned where they are long."""
    texts = [shortened(value, longest) for value in values]
    if width is None:
        step = max(1, -(-len(texts) // 24))
        axis.set_ticks(range(0, len(texts), step), texts[::step])
        return
    room = width / len(texts)
    widest = max(text_width(text, style.SMALL) for text in texts) + 0.08
    upright = widest > 3 * room and len(texts) <= width / 0.16
    step = 1 if upright else -(-int(widest * 1000) // max(1, int(room * 1000)))
    axis.set_ticks(range(0, len(texts), step), texts[::step])
    if upright:
        axis.set_tick_params(rotation=90)


def _line(table, axis, metric, about):
    place = table.axes.index(axis)
    values = {key[place]: _value(row, metric) for key, row in table.cells.items()}
    sheet = Sheet(_title(table, metric), about=about, height=3.2,
                  legend=_legend(table, axis, axis, []), notes=[_errors(table)])
    panel = sheet.figure.subplots()
    points = [(x, values.get(value)) for x, value in enumerate(axis.values)]
    done = [(x, y) for x, y in points if y is not None]
    ordered = all(value[:1].isdigit() for value in axis.values)
    panel.plot([x for x, _ in points], [float("nan") if y is None else y for _, y in points],
               color=style.BLUE, marker="o", linestyle="-" if ordered else "", gid="points")
    for x, value in enumerate(axis.values):
        if value in values and values[value] is None:
            panel.axvspan(x - 0.3, x + 0.3, zorder=0, **FAILED)
    if len(done) <= 12:
        for x, y in done:
            panel.annotate(quantities.number_text(y), (x, y), xytext=(0, 6), ha="center",
                           textcoords="offset points", fontsize=style.SMALL)
    label_places(panel.xaxis, axis.values, 6.2)
    panel.set_xlim(-0.5, len(axis.values) - 0.5)
    high = max(y for _, y in done)
    panel.set_ylim(0, high * 1.15 or 1)
    panel.set_xlabel(_axis_label(axis))
    panel.set_ylabel(metric[1] if metric[3] else f"{metric[1]},\nless is better")
    style.horizontal_grid(panel)
    return sheet
