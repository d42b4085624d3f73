"""A trace (predict --trace) as intervals of slices and counters of links."""

from dataclasses import dataclass, field

import reading
from bad_input import BadInput

RANK_PIDS = 1000
KINDS = {" queue": "queue", " paused": "paused", " credit stall": "credit stall"}


@dataclass
class Slice:
    """The stages of one slice, each a pair of microseconds; `reduce`, or a copy, is
    at the receiver."""

    connection: str
    sequence: int
    sender: int
    receiver: int
    channel: int
    lane: int
    stages: dict = field(default_factory=dict)


@dataclass
class Trace:
    file: str
    scenario: str
    rows: list  # (size in bytes, start, end), microseconds
    left_out: list
    slices: dict  # connection -> [Slice], by sequence
    counters: dict  # (link, "queue" | "paused" | "credit stall") -> [(microseconds, value)]


def read_trace(document):
    """BadInput where it is no trace, or holds no row."""
    if document.schema != "gradhaul.trace/1":
        raise BadInput(document.file, f"is {reading.SCHEMAS[document.schema]}; this picture is "
                                      "made of what predict --trace writes")
    about = reading.member(document.content, "otherData", dict, {})
    events = reading.member(document.content, "traceEvents", list, None)
    if events is None:
        raise BadInput(document.file, "has no list `traceEvents`, as a trace has")
    rows = []
    for row in reading.member(about, "rows", list, []):
        size, start, time = (reading.number(reading.member(row, key, (int, float), None))
                             for key in ("size_bytes", "start_us", "time_us"))
        if size is not None and start is not None and time is not None and time > 0:
            rows.append((size, start, start + time))
    if not rows:
        raise BadInput(document.file, "names no row in otherData.rows, with size_bytes, start_us "
                                      "and a time_us above 0")
    trace = Trace(document.file, reading.member(about, "scenario", str, "") or document.stem, rows,
                  [text for text in reading.member(about, "left_out", list, [])
                   if isinstance(text, str)], {}, {})
    _read_events(trace, events)
    return trace


def _read_events(trace, events):
    slices = {}
    for index, event in enumerate(events):
        if not isinstance(event, dict):
            raise BadInput(trace.file, f"traceEvents[{index}] is not an object")
        start = reading.number(event.get("ts"))
        if start is None:
            continue
        if event.get("ph") == "C":
            _read_counter(trace, event, start)
        elif event.get("ph") == "X":
            _read_stage(slices, event, start)
    for (connection, _), found in sorted(slices.items()):
        trace.slices.setdefault(connection, []).append(found)
    for points in trace.counters.values():
        points.sort(key=lambda point: point[0])


def _read_counter(trace, event, start):
    name = reading.member(event, "name", str, "")
    values = list(reading.member(event, "args", dict, {}).values())
    value = reading.number(values[0]) if values else None
    for ending, kind in KINDS.items():
        if name.endswith(ending) and value is not None:
            trace.counters.setdefault((name[:-len(ending)], kind), []).append((start, value))


def _read_stage(slices, event, start):
    stage, args = event.get("cat"), reading.member(event, "args", dict, {})
    # Kernels that only copy work at the same place in a slice's life as those that reduce.
    stage = "reduce" if stage == "copy" else stage
    if stage not in ("send", "flight", "receive", "slot", "reduce"):
        return
    connection, sequence = args.get("connection"), args.get("sequence")
    rank = reading.number(event.get("pid"))
    if not isinstance(connection, str) or not isinstance(sequence, int) or rank is None:
        return
    found = slices.setdefault((connection, sequence), Slice(
        connection, sequence, -1, -1, _whole(args, "channel"), _whole(args, "lane")))
    end = start + max(reading.number(event.get("dur"), 0), 0)
    before = found.stages.get(stage)
    found.stages[stage] = (min(start, before[0]), max(end, before[1])) if before else (start, end)
    if stage in ("send", "flight", "slot"):
        found.sender, found.receiver = int(rank) - RANK_PIDS, _whole(args, "peer")
    elif found.receiver < 0:
        found.receiver = int(rank) - RANK_PIDS


def _whole(args, key):
    value = args.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
