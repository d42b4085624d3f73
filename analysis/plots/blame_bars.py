"""Where the time of a run goes along its critical path, and how busy its resources are."""

import quantities
import reading
import resource_names as names
import runs as several
import style
from bad_input import BadInput
from sheet import Entry, Sheet, fitted, shortened

MOST_BARS = 9
FEWEST_BARS = 4
ENOUGH = 0.995
COLOURS = {names.MOVING: style.BLUE, names.WAITING: style.VERMILION, names.LATENCY: style.SKY,
           names.WORKING: style.GREEN}
HATCHES = {names.MOVING: "", names.WAITING: "////", names.LATENCY: "....", names.WORKING: "\\\\\\"}


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one run")
    document = documents[0]
    if document.schema == "gradhaul.explanation/1":
        return _sheet_of_explanation(document)
    runs = reading.runs_of(document)
    if len(runs) != 1:
        raise BadInput(document.file, f"holds {len(runs)} runs; this picture is of one")
    run = runs[0]
    if not run.rows:
        raise BadInput(document.file, "has no rows: nothing to draw")
    row = run.rows[-1]
    parts, uses = names.grouped_parts(row), names.grouped_uses(run.resources)
    if not parts and not uses:
        raise BadInput(document.file, "has neither parts of its time nor uses of resources, as "
                                      "predictions of the packet and flow models have them")
    return _sheet(run.name, several.about_run(run), row, parts, uses, _small_print(run))


def _small_print(run):
    words = []
    if len(run.rows) > 1:
        words.append("Of the last of the sizes that ran. ")
    bound = reading.number(run.engine.get("error_bound_us"))
    if bound:
        words.append(f"Times may be off by up to {quantities.time_text(bound)}. ")
    return "".join(words) + "Busy: the busier direction, of the whole time. A * stands for any " \
                            "number."


def _sheet_of_explanation(document):
    content = document.content
    run = reading.member(content, "run", dict, {})
    time = reading.number(run.get("time_us"))
    if time is None or time <= 0:
        raise BadInput(document.file, "run.time_us is not a number of microseconds above 0")
    parts = []
    for part in reading.member(content, "parts", list, []):
        part_time = reading.number(reading.member(part, "time_us", (int, float), None), 0)
        if part_time > 0:
            parts.append(names.PartGroup(reading.member(part, "resources", str, ""),
                                         reading.member(part, "cause", str, ""), part_time))
    if not parts:
        raise BadInput(document.file, "has no `parts` of its time, as explain --json writes them")
    name = reading.member(reading.member(content, "scenario", dict, {}), "name", str, "") \
        or document.stem
    about = ", ".join(str(run[key]) for key in ("collective", "algorithm", "fidelity")
                      if run.get(key))
    return _sheet(name, f"{name}, {about}", run, parts, [], "A * stands for any number.")


def _sheet(name, about, row, parts, uses, small_print):
    limited = reading.member(row, "limited_by", str, "")
    first = _first(parts)
    classes = dict.fromkeys(names.class_of(part.cause, part.resources) for part in parts)
    legend = [Entry(label, _look(label), box=True) for label in COLOURS if label in classes]
    shown = max(first + (len(parts) > first), min(len(uses), MOST_BARS + 1), 3)
    size = reading.number(row.get("size_bytes"))
    facts = ", ".join(filter(None, [
        about, f"{quantities.size_text(size)}" if size is not None else "",
        quantities.time_text(row["time_us"])]))
    title = f"What limits {shortened(name)}?"
    if limited:
        title += f" {_answer(limited)}"
    sheet = Sheet(title, about=facts, legend=legend, notes=[small_print],
                  height=0.75 + shown * 0.34)
    if parts and uses:
        left, right = sheet.figure.subplots(1, 2)
    else:
        left = right = sheet.figure.subplots()
    if parts:
        _draw_parts(left, parts[:first], parts[first:], row["time_us"], shown)
    if uses:
        _draw_uses(right, uses, limited, shown)
    return sheet


def _answer(limited):
    return f"Mostly {shortened(limited, 48)}."


def _look(label):
    return {"facecolor": COLOURS[label], "edgecolor": style.PAPER, "hatch": HATCHES[label],
            "linewidth": 0}


def _rows(axes, bars, shown, label):
    """Bars under their labels. `bars`: (label, length in percent, value, look)."""
    width = 6.6 if len(axes.figure.axes) == 1 else 3.35
    for place, (text, length, value, look) in enumerate(bars):
        axes.barh(place + 0.22, length, height=0.36, gid=f"bar{place}", **look)
        axes.text(0, place - 0.03, fitted(text, width, style.SMALL), va="bottom", ha="left",
                  fontsize=style.SMALL)
        axes.annotate(value, (min(length, 100), place + 0.22), xytext=(4, 0), va="center",
                      textcoords="offset points", fontsize=style.SMALL)
    axes.set_xlim(0, 128)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_ylim(shown - 0.45, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_bounds(0, 100)
    axes.set_xlabel(label)


def _first(parts):
    """How many of the parts stand alone: what is left would be too little to see."""
    whole = sum(part.time_us for part in parts)
    told = 0
    for count, part in enumerate(parts[:MOST_BARS], 1):
        told += part.time_us
        if count >= FEWEST_BARS and told >= ENOUGH * whole:
            return count
    return min(len(parts), MOST_BARS)


def _draw_parts(axes, first, rest, time, shown):
    bars = []
    for part in first:
        share = part.time_us / time * 100
        bars.append((part.words, share,
                     f"{_percent(share)}, {quantities.time_text(part.time_us)}",
                     _look(names.class_of(part.cause, part.resources))))
    if rest:
        rest_us = sum(part.time_us for part in rest)
        bars.append((f"{len(rest)} more", rest_us / time * 100,
                     f"{_percent(rest_us / time * 100)}, {quantities.time_text(rest_us)}",
                     {"facecolor": style.REST, "linewidth": 0}))
    _rows(axes, bars, shown, "share of the critical path (%)")


def _draw_uses(axes, uses, limited, shown):
    limiting = limited.split(" (")[0]
    bars = []
    for group in uses[:MOST_BARS]:
        mine = limiting in group.names
        look = {"facecolor": style.BLUE if mine else style.REST, "linewidth": 0}
        bars.append((group.words, group.highest * 100, _percent(group.highest * 100)
                     + (" (limits)" if mine else ""), look))
    if len(uses) > MOST_BARS:
        bars.append((f"{len(uses) - MOST_BARS} more, at most", uses[MOST_BARS].highest * 100,
                     _percent(uses[MOST_BARS].highest * 100),
                     {"facecolor": style.FAINT, "linewidth": 0}))
    _rows(axes, bars, shown, "busy (% of the time)")


def _percent(value):
    if 0 < value < 0.05:
        return "< 0.1 %"
    return f"{value:.1f} %" if value < 10 else f"{value:.0f} %"
