"""Slices of a message on their way from rank to rank: posted, flying, received, reduced."""

import quantities
import style
from bad_input import BadInput
from sheet import Entry, Sheet, shortened
from trace_events import read_trace

MOST_HOPS = 3
MOST_SLICES = 24
# What a slice goes through, in order.
SLOT, POSTED, FLYING, ARRIVING, WAITING, REDUCING = (
    "waits for a free slot", "posted, not yet on the wire", "flies", "arrived, not yet known",
    "waits for its reduction", "is reduced or copied")
LOOKS = {
    SLOT: {"facecolor": style.VERMILION, "hatch": "////"},
    POSTED: {"facecolor": style.ORANGE, "hatch": ""},
    FLYING: {"facecolor": style.BLUE, "hatch": ""},
    ARRIVING: {"facecolor": style.SKY, "hatch": "...."},
    WAITING: {"facecolor": style.REST, "hatch": ""},
    REDUCING: {"facecolor": style.GREEN, "hatch": "\\\\\\"},
}


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one trace")
    trace = read_trace(documents[0])
    size, start, end = trace.rows[-1]
    hops = _hops(trace, start, end)
    if not hops:
        raise BadInput(trace.file, "shows no slice that was sent: nothing to draw")
    shown = [slices[:MOST_SLICES] for slices in hops]
    bars = [[_segments(found) for found in slices] for slices in shown]
    present = {name for panel in bars for row in panel for name, _, _ in row}
    legend = [Entry(name, _look(name), box=True) for name in LOOKS if name in present]
    rows = max(len(panel) for panel in bars)
    sheet = Sheet(f"How do slices travel from rank to rank in {shortened(trace.scenario)}?",
                  about=f"{quantities.size_text(size)}, {quantities.time_text(end - start)}, "
                        f"channel {hops[0][0].channel}", legend=legend,
                  height=0.75 + len(hops) * (0.3 + max(rows, 4) * 0.085),
                  notes=[_small_print(trace, hops, shown)])
    panels = sheet.figure.subplots(len(hops), 1, squeeze=False, sharex=True)[:, 0]
    times = [time - start for panel in bars for row in panel for _, *pair in row for time in pair]
    scale, unit = quantities.time_unit(max(times))
    for panel, slices, rows_of in zip(panels, shown, bars):
        _draw_hop(panel, slices, rows_of, start, scale)
    panels[-1].set_xlim(min(times) / scale, max(times) / scale * 1.01)
    panels[-1].set_xlabel(f"time ({unit})")
    return sheet


def _hops(trace, start, end):
    """Slices of one row on up to MOST_HOPS connections of one channel, each of which starts where
    the one before ends."""
    inside = {}
    for slices in trace.slices.values():
        kept = [found for found in slices
                if "send" in found.stages and start <= found.stages["send"][0] <= end]
        if kept:
            inside[(kept[0].channel, kept[0].lane, kept[0].sender, kept[0].receiver)] = kept
    if not inside:
        return []
    key = min(inside)
    hops = [inside.pop(key)]
    while len(hops) < MOST_HOPS:
        last = hops[-1][0]
        onward = [key for key in sorted(inside)
                  if key[:3] == (last.channel, last.lane, last.receiver)]
        if not onward:
            break
        hops.append(inside.pop(onward[0]))
    return hops


def _segments(found):
    """[(what, from, to)] without overlaps; what is not known is left out."""
    stages = found.stages
    send, flight = stages["send"], stages.get("flight")
    segments = [(SLOT, *stages["slot"])] if "slot" in stages else []
    if flight is None:
        flight = send
    else:
        segments.append((POSTED, send[0], flight[0]))
    segments.append((FLYING, *flight))
    readable = flight[1]
    if "receive" in stages:
        readable = max(stages["receive"][1], flight[1])
        segments.append((ARRIVING, flight[1], readable))
    if "reduce" in stages:
        segments += [(WAITING, readable, stages["reduce"][0]), (REDUCING, *stages["reduce"])]
    return [(name, low, high) for name, low, high in segments if high > low]


def _look(name):
    return {**LOOKS[name], "edgecolor": style.PAPER, "linewidth": 0}


def _draw_hop(panel, slices, rows, start, scale):
    for name in LOOKS:
        tall = 0.25 if name == WAITING else 0.8
        style.add_boxes(panel, [((low - start) / scale, place - tall / 2, (high - low) / scale,
                                 tall) for place, row in enumerate(rows)
                                for what, low, high in row if what == name],
                        gid="segments", **_look(name))
    first = slices[0]
    panel.set_title(f"rank {first.sender} to rank {first.receiver}", loc="left",
                    fontsize=style.TEXT)
    most = max(len(rows), 4)
    panel.set_ylim(most - 0.4, -0.6)
    step = max(1, -(-len(rows) // 6))
    ticks = range(0, len(rows), step)
    panel.set_yticks(list(ticks), [str(slices[tick].sequence) for tick in ticks])
    panel.tick_params(axis="y", length=0)
    panel.set_ylabel("slice\n(number)")
    panel.grid(True, axis="x")
    panel.spines["left"].set_visible(False)


def _small_print(trace, hops, shown):
    words = []
    if len(trace.rows) > 1:
        words.append("Of the last of the sizes that ran.")
    left = sum(len(slices) for slices in hops) - sum(len(slices) for slices in shown)
    if left:
        words.append(f"The first {MOST_SLICES} slices of each connection; {left} more follow.")
    others = len(trace.slices) - len(hops)
    if others > 0:
        words.append(f"{others} other connection{'s are' if others > 1 else ' is'} not shown.")
    return " ".join(words + [shortened(text, 200) for text in trace.left_out[:1]])
