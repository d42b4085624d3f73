"""Training steps of a sweep beside each other: how long each is, and how much of it is waiting for
communication that compute does not hide."""

import quantities
import reading
import style
import varied_runs
from bad_input import BadInput
from sheet import Entry, Sheet, fitted, shortened, text_width

MOST_STEPS = 24
COMPUTE, SLOWED, EXPOSED, IDLE = (
    "compute", "compute slowed by communication beside it",
    "communication, exposed: compute waits", "waiting for other pipeline stages")
# Of a stage, where its time goes; together they are the step.
PARTS = {COMPUTE: "compute_us", SLOWED: "slowed_us", EXPOSED: "exposed_us", IDLE: "idle_us"}
LOOKS = {
    COMPUTE: {"facecolor": style.BLUE, "hatch": ""},
    SLOWED: {"facecolor": style.PURPLE, "hatch": "...."},
    EXPOSED: {"facecolor": style.VERMILION, "hatch": "////"},
    IDLE: {"facecolor": style.FAINT, "hatch": "\\\\\\"},
}
LABELS = 6.6  # inches


def draw(documents, options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one sweep")
    document = documents[0]
    axes, points = reading.read_axes(document), reading.read_points(document)
    chosen = varied_runs.wanted(options.where, axes, document.file)
    steps = []
    for point in points:
        kept = all(value == chosen.get(axis.path, value)
                   for axis, value in zip(axes, point.values))
        if point.run and point.run.of_step and kept:
            steps.append((_name(axes, point.values, chosen), _parts(point.run)))
    if not steps:
        raise BadInput(document.file, "holds no training step that is done; this picture is of a "
                                      "sweep of a scenario with workload.training_step")
    if len(steps) > MOST_STEPS:
        raise BadInput(document.file, f"holds {len(steps)} steps, at most {MOST_STEPS} can be "
                       "read; choose with --where, as --where "
                       f"{axes[0].path}={axes[0].values[0]}")
    return _sheet(document, steps)


def _name(axes, values, chosen):
    return ", ".join(f"{reading.short_path(axis.path)} {value}"
                     for axis, value in zip(axes, values)
                     if len(axis.values) > 1 and axis.path not in chosen) or "as it is"


def _parts(run):
    """{part: microseconds} of the stage that waits longest for communication."""
    stages = reading.member(run.content["training_step"], "stages", list, [])
    if not stages:
        raise BadInput(run.file, "training_step.stages is empty: nothing to draw")
    found = []
    for index, stage in enumerate(stages):
        parts = {part: reading.number(reading.member(stage, key, (int, float), None))
                 for part, key in PARTS.items()}
        if any(value is None or value < 0 for value in parts.values()):
            raise BadInput(run.file, f"training_step.stages[{index}] has not all of "
                           + ", ".join(PARTS.values()) + ", from 0 on")
        found.append(parts)
    return max(found, key=lambda parts: parts[EXPOSED])


def _sheet(document, steps):
    scenario = reading.member(document.content, "scenario", dict, {})
    present = [part for part in PARTS if any(parts[part] > 0 for _, parts in steps)]
    sheet = Sheet(_title(steps), about=shortened(scenario.get("name") or document.stem, 48),
                  legend=[Entry(part, _look(part), box=True) for part in present],
                  height=0.6 + 0.34 * len(steps),
                  notes=["Of the pipeline stage that waits longest for communication."
                         if any(parts[IDLE] > 0 for _, parts in steps) else ""])
    axes = sheet.figure.subplots()
    longest = max(sum(parts.values()) for _, parts in steps)
    scale, unit = quantities.time_unit(longest)
    for place, (name, parts) in enumerate(steps):
        _draw_step(axes, place, name, {part: time / scale for part, time in parts.items()})
        told = quantities.time_text(parts[EXPOSED])
        axes.annotate(f"{told} exposed", (sum(parts.values()) / scale, place + 0.22),
                      xytext=(4, 0), va="center", textcoords="offset points",
                      fontsize=style.SMALL)
    # Room for what stands behind the longest bar.
    room = text_width("999 ms exposed", style.SMALL) / LABELS
    axes.set_xlim(0, longest / scale / (1 - room - 0.04))
    axes.set_ylim(len(steps) - 0.45, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_bounds(0, longest / scale)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= longest / scale])
    axes.set_xlabel(f"time of a step ({unit})")
    return sheet


def _draw_step(axes, place, name, parts):
    axes.text(0, place - 0.03, fitted(name, LABELS, style.SMALL), va="bottom", ha="left",
              fontsize=style.SMALL)
    left = 0
    for part, length in parts.items():
        if length > 0:
            axes.barh(place + 0.22, length, left=left, height=0.36, gid=f"part{place}",
                      **_look(part))
        left += length


def _look(part):
    return LOOKS[part] | {"edgecolor": style.PAPER, "linewidth": 0}


def _title(steps):
    name, parts = min(steps, key=lambda step: step[1][EXPOSED])
    time = quantities.time_text(parts[EXPOSED])
    of_all = quantities.time_text(sum(parts.values()))
    if len(steps) == 1:
        return f"How much does the step wait for communication? {time} of {of_all}."
    return f"Which step waits least for communication? With {name}: {time} of {of_all}."
