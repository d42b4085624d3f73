"""What each layer gives by itself, from the link up to the collective: predicted, measured, or both
beside each other, with the rung at which they part."""

import quantities
import reading
import style
from bad_input import BadInput
from sheet import Entry, Sheet, fitted, shortened

# In the order in which they stand on each other.
RUNGS = {"link": "link", "host_pair": "pair write, host memory",
         "gpu_pair": "pair write, GPU memory", "ring_step": "ring step",
         "collective": "collective"}
MOST_SIZES = 6
PREDICTED = {"facecolor": style.BLUE, "hatch": "", "linewidth": 0}
WITHIN = {"facecolor": style.GREEN, "hatch": "", "linewidth": 0}
OUTSIDE = {"facecolor": style.VERMILION, "hatch": "///", "edgecolor": style.PAPER, "linewidth": 0}
UNJUDGED = {"facecolor": style.REST, "hatch": "", "linewidth": 0}


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one ladder, or "
                                          "of two that compare --json has laid beside each other")
    document = documents[0]
    if document.schema == "gradhaul.ladder_comparison/1":
        rungs = _rungs(document, "rungs", _compared)
        title, about = _title(document.content, rungs), _compared_about(document.content)
    elif document.schema == "gradhaul.ladder/1":
        side = reading.member(document.content, "kind", str, "predicted")
        rungs = _rungs(document, "rows",
                       lambda row, place, file: _alone(row, side, place, file))
        scenario = reading.member(document.content, "scenario", dict, {})
        name = reading.member(scenario, "name", str, "") or document.stem
        profile = reading.profile_of(reading.member(scenario, "effective", dict, {}))
        title = f"What does each layer give {shortened(name)} by itself?"
        about = f"{side}, profile {shortened(profile, 24)}" if profile else side
    else:
        raise BadInput(document.file, f"is {reading.SCHEMAS[document.schema]}; this picture is "
                                      "made of ladders: predict --ladder, measure --ladder, or "
                                      "compare of two")
    sizes = sorted({rung["size"] for rung in rungs})
    shown = quantities.spread(sizes, MOST_SIZES)
    panels = [[rung for rung in rungs if rung["size"] == size] for size in shown]
    notes = [] if len(shown) == len(sizes) else [f"{len(shown)} of {len(sizes)} sizes are shown."]
    sheet = Sheet(title, about=about, legend=_legend(rungs), notes=notes,
                  height=sum(0.5 + 0.42 * len(panel) for panel in panels) + 0.35)
    heights = [len(panel) + 1.2 for panel in panels]
    axes = sheet.figure.subplots(len(panels), 1, sharex=True, squeeze=False,
                                 gridspec_kw={"height_ratios": heights})[:, 0]
    highest = max((value for panel in panels for rung in panel for value in _values(rung)),
                  default=1)
    for panel, on in zip(panels, axes):
        _draw_panel(on, panel, highest)
    axes[-1].set_xlabel("what is carried over the time of it (GB/s)")
    return sheet


def _rungs(document, key, read):
    rungs = [read(row, f"{key}[{index}]", document.file)
             for index, row in enumerate(reading.member(document.content, key, list, []))]
    if not any(_values(rung) for rung in rungs):
        raise BadInput(document.file, "has no rung with a time: nothing to draw")
    return rungs


def _rung(row, place, file):
    name = reading.member(row, "rung", str, "")
    size = reading.number(reading.member(row, "size_bytes", (int, float), None))
    carried = reading.number(reading.member(row, "carried_bytes", (int, float), None))
    if name not in RUNGS or size is None or size < 0 or carried is None or carried < 0:
        raise BadInput(file, f"{place} is none of the rungs {', '.join(RUNGS)} with size_bytes and "
                             "carried_bytes from 0 on")
    return {"rung": name, "size": size, "carried": carried, "verdict": "", "ratio": None,
            "missing": reading.member(row, "missing", str, ""), "predicted": None,
            "measured": None}


def _bandwidth(rung, row, key, place, file):
    """In GB/s; nothing where there is no time."""
    time = reading.number(reading.member(row, key, (int, float), None))
    if time is not None and time <= 0:
        raise BadInput(file, f"{place}.{key} is not a number of microseconds above 0")
    return None if time is None else rung["carried"] / time / 1e3


def _alone(row, side, place, file):
    rung = _rung(row, place, file)
    rung["measured" if side == "measured" else "predicted"] = \
        _bandwidth(rung, row, "time_us", place, file)
    return rung


def _compared(row, place, file):
    rung = _rung(row, place, file)
    for side in ("predicted", "measured"):
        rung[side] = _bandwidth(rung, row, f"{side}_us", place, file)
    rung["verdict"] = reading.member(row, "verdict", str, "")
    rung["ratio"] = reading.number(reading.member(row, "time_ratio", (int, float), None))
    return rung


def _values(rung):
    return [rung[side] for side in ("predicted", "measured") if rung[side] is not None]


def _look(rung):
    if rung["verdict"] == "within":
        return WITHIN
    return OUTSIDE if rung["verdict"] in ("slower", "faster", "wrong") else UNJUDGED


def _title(content, rungs):
    gaps = [gap for gap in reading.member(content, "gaps", list, []) if isinstance(gap, dict)]
    asked = "At which layer does what was measured leave what was predicted?"
    names = dict.fromkeys(RUNGS.get(gap.get("rung"), "") for gap in gaps)
    names = [name for name in names if name]
    if names:
        return f"{asked} At the {' and the '.join(names)}."
    judged = any(_look(rung) is not UNJUDGED for rung in rungs)
    return f"{asked} {'At none.' if judged else 'No rung was judged.'}"


def _compared_about(content):
    words = []
    for side in ("predicted", "measured"):
        profile = reading.member(content, f"{side}_profile", str, "")
        words.append(f"{side}: {shortened(reading.member(content, side, str, side), 44)}"
                     + (f" (profile {shortened(profile, 24)})" if profile else ""))
    tolerance = reading.number(content.get("tolerance"), 0)
    return "; ".join([*words, f"tolerance {quantities.number_text(tolerance * 100)} % in time"])


def _legend(rungs):
    entries = []
    if any(rung["predicted"] is not None for rung in rungs):
        entries.append(Entry("predicted", PREDICTED, box=True))
    looks = [_look(rung) for rung in rungs if rung["measured"] is not None]
    for look, label in ((WITHIN, "measured, within"), (OUTSIDE, "measured, outside"),
                        (UNJUDGED, "measured, not judged")):
        if look in looks:
            alone = len(entries) == 0 and look is UNJUDGED
            entries.append(Entry("measured" if alone else label, look, box=True))
    return entries


def _draw_panel(axes, rungs, highest):
    """Bars from the link below to the collective above, as the rungs of a ladder stand."""
    rungs = sorted(rungs, key=lambda rung: list(RUNGS).index(rung["rung"]))
    for place, rung in enumerate(rungs):
        bars = [(side, look) for side, look in (("predicted", PREDICTED), ("measured", _look(rung)))
                if rung[side] is not None]
        tall = 0.36 if len(bars) > 1 else 0.5
        for index, (side, look) in enumerate(bars):
            # The predicted one above.
            middle = place + (0.5 - index) * tall * (len(bars) > 1)
            axes.barh(middle, rung[side], height=tall, gid=side, **look)
            axes.annotate(_said(rung, side), (rung[side], middle), xytext=(4, 0), va="center",
                          textcoords="offset points", fontsize=style.SMALL)
        if not bars:
            axes.annotate(fitted(rung["missing"] or "no time", 4.2, style.SMALL), (0, place),
                          xytext=(4, 0), va="center", textcoords="offset points",
                          fontsize=style.SMALL, color=style.MUTED)
    axes.set_xlim(0, highest * 1.3 or 1)
    axes.set_ylim(-0.6, len(rungs) - 0.4)
    axes.set_yticks(range(len(rungs)), [RUNGS[rung["rung"]] for rung in rungs])
    axes.tick_params(axis="y", length=0)
    axes.set_title(quantities.size_text(rungs[0]["size"]), fontsize=style.SMALL, loc="left")


def _said(rung, side):
    text = quantities.number_text(rung[side])
    if side == "predicted" or rung["ratio"] is None:
        return text
    return f"{text} ({quantities.number_text(rung['ratio'])} times the time)"
