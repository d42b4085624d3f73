"""The time line of a training step: what is computed, and what is communicated meanwhile (hidden)
or kept waiting for (exposed)."""

import bisect

import quantities
import reading
import runs as several
import style
from bad_input import BadInput
from sheet import Entry, Sheet, fitted, shortened, text_width

MOST_STEPS = 4
MOST_LANES = 24
# Shorter gaps than this share of the step cannot be seen; bars are drawn together.
SEEN = 1 / 2500
FORWARD, BACKWARD, OTHER, HIDDEN, EXPOSED = (
    "forward", "backward", "other compute", "communication, hidden behind compute",
    "communication, exposed: compute waits")
LOOKS = {
    FORWARD: {"facecolor": style.SKY, "hatch": ""},
    BACKWARD: {"facecolor": style.BLUE, "hatch": ""},
    OTHER: {"facecolor": style.PURPLE, "hatch": "...."},
    HIDDEN: {"facecolor": style.GREEN, "hatch": "\\\\\\"},
    EXPOSED: {"facecolor": style.VERMILION, "hatch": "////"},
}


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) > MOST_STEPS:
        raise BadInput(documents[MOST_STEPS].file, f"is one file too many: at most {MOST_STEPS} "
                                                   "steps can be compared on a page")
    runs = [run for document in documents for run in reading.runs_of(document)]
    several.label_runs(runs)
    steps = [_step_of(run) for run in runs]
    lanes = [_lanes(intervals) for _, intervals in steps]
    end = max(step["time_us"] for step, _ in steps)
    present = {what for bars in lanes for lane in bars.values() for what in lane if lane[what]}
    heights = [0.28 + min(len(bars), MOST_LANES) * 0.2 for bars in lanes]
    sheet = Sheet(_title(runs, steps), about=several.common_about(runs),
                  legend=[Entry(what, _look(what), box=True) for what in LOOKS if what in present],
                  height=sum(heights) + 0.55 + 0.1 * len(heights), notes=[_small_print(lanes)])
    panels = sheet.figure.subplots(len(runs), 1, squeeze=False, sharex=True,
                                   gridspec_kw={"height_ratios": heights})[:, 0]
    scale, unit = quantities.time_unit(end)
    for panel, run, (step, _), bars in zip(panels, runs, steps, lanes):
        _draw_step(panel, bars, end, scale)
        told = _told(step)
        if len(runs) > 1:
            told = f"{fitted(run.label, 5.0 - text_width(told, style.TEXT), style.TEXT)}: {told}"
        else:
            told = told[:1].upper() + told[1:]
        panel.set_title(told, loc="left", fontsize=style.TEXT)
    panels[-1].set_xlim(0, end / scale)
    panels[-1].set_xlabel(f"time ({unit})")
    return sheet


def _step_of(run):
    """(the step, its intervals)."""
    step = reading.member(run.content, "training_step", dict, None)
    if step is None:
        raise BadInput(run.file, "has no `training_step`, as the result of a scenario with "
                                 "workload.training_step has")
    time = reading.number(step.get("time_us"))
    if time is None or time <= 0:
        raise BadInput(run.file, "training_step.time_us is not a number of microseconds above 0")
    intervals = []
    for index, entry in enumerate(reading.member(step, "timeline", list, [])):
        start, end = (reading.number(reading.member(entry, key, (int, float), None))
                      for key in ("start_us", "end_us"))
        if start is None or end is None or not 0 <= start <= end:
            raise BadInput(run.file, f"training_step.timeline[{index}] has no start_us from 0 on "
                                     "with an end_us that is no less")
        intervals.append((start, end, entry))
    if not intervals:
        raise BadInput(run.file, "training_step.timeline is empty: nothing to draw")
    return step, intervals


def _lanes(intervals):
    """{(rank, group): {what: [(from, to)]}}, compute of a rank first."""
    computed = {}
    for start, end, entry in intervals:
        if entry.get("lane") == "compute":
            computed.setdefault(entry.get("rank"), []).append((start, end))
    computed = {rank: joined(spans, 0) for rank, spans in computed.items()}
    lanes = {}
    for start, end, entry in intervals:
        rank = entry.get("rank")
        if entry.get("lane") == "compute":
            lane, parts = (rank, "compute"), [(_compute_class(entry), start, end)]
        else:
            lane = (rank, reading.member(entry, "group", str, "") or "communication")
            parts = split(start, end, computed.get(rank, []))
        for what, low, high in parts:
            lanes.setdefault(lane, {}).setdefault(what, []).append((low, high))
    order = sorted(lanes, key=lambda lane: (reading.number(lane[0], 0), lane[1] != "compute"))
    return {lane: lanes[lane] for lane in order}


def _compute_class(entry):
    word = reading.member(entry, "name", str, "").split(" ")[0]
    return word if word in (FORWARD, BACKWARD) else OTHER


def joined(spans, gap):
    """Sorted, with those put together that are no further apart than that."""
    result = []
    for start, end in sorted(spans):
        if result and start - result[-1][1] <= gap:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def split(start, end, computed):
    """[(HIDDEN or EXPOSED, from, to)] of a communication, beside what is computed meanwhile."""
    parts, at = [], start
    first = bisect.bisect_right(computed, at, key=lambda span: span[1])
    for index in range(first, len(computed)):
        low, high = computed[index]
        if low >= end:
            break
        if low > at:
            parts.append((EXPOSED, at, low))
        parts.append((HIDDEN, max(low, at), min(high, end)))
        at = min(high, end)
    if at < end:
        parts.append((EXPOSED, at, end))
    return parts


def _stages(step):
    return [stage for stage in reading.member(step, "stages", list, []) if isinstance(stage, dict)]


def _worst(step, key):
    """The most of a time over stages, in microseconds; None where none tells."""
    times = [time for stage in _stages(step)
             if (time := reading.number(stage.get(key))) is not None]
    return max(times, default=None)


def _told(step):
    exposed = _worst(step, "exposed_us")
    text = f"a step of {quantities.time_text(step['time_us'])}"
    if exposed is None:
        return text
    if exposed <= 0:
        return text + ", nothing exposed"
    return text + (f", {quantities.time_text(exposed)} exposed "
                   f"({exposed / step['time_us'] * 100:.0f} %)")


def _title(runs, steps):
    if len(runs) > 1:
        return "How much of its communication does a training step hide?"
    step = steps[0][0]
    asked = f"How much of its communication does a step of {shortened(runs[0].name)} hide?"
    hidden, whole = _worst(step, "hidden_us"), _worst(step, "communicating_us")
    if hidden is None or not whole:
        return asked
    return (f"{asked} {hidden / whole * 100:.0f} %: {quantities.time_text(hidden)} of "
            f"{quantities.time_text(whole)}.")


def _look(what):
    return {**LOOKS[what], "edgecolor": style.PAPER, "linewidth": 0}


def _draw_step(panel, bars, end, scale):
    shown = list(bars)[:MOST_LANES]
    for place, lane in enumerate(shown):
        for what, spans in bars[lane].items():
            spans = [(low / scale, (high - low) / scale)
                     for low, high in joined(spans, end * SEEN) if high > low]
            panel.broken_barh(spans, (place - 0.4, 0.8), gid=f"bars-{place}", **_look(what))
    panel.set_ylim(len(shown) - 0.4, -0.6)
    panel.set_yticks(range(len(shown)), [_lane_name(bars, lane) for lane in shown])
    panel.tick_params(axis="y", length=0)
    panel.grid(True, axis="x")
    panel.spines["left"].set_visible(False)


def _lane_name(bars, lane):
    rank, group = lane
    return group if len({rank for rank, _ in bars}) == 1 else f"rank {rank}, {group}"


def _small_print(lanes):
    left = max(len(bars) - MOST_LANES for bars in lanes)
    ranks = {rank for bars in lanes for rank, _ in bars}
    words = ["One rank stands for all of its pipeline stage." if len(ranks) > 1 else
             "All ranks do the same at the same time."]
    if left > 0:
        words.append(f"{left} more lanes are not shown.")
    return " ".join(words)
