"""What was predicted beside what was measured: bandwidth with the spread of the iterations, and
the ratio of times within its tolerance."""

import quantities
import reading
import style
from bad_input import BadInput
from sheet import Entry, Sheet, shortened

WITHIN = {"color": style.GREEN, "marker": "o"}
OUTSIDE = {"color": style.VERMILION, "marker": "D"}
UNJUDGED = {"color": style.REST, "marker": "^"}
PREDICTED = {"color": style.BLUE, "linestyle": "-", "marker": ""}


def draw(documents, _options):
    """A Sheet. BadInput."""
    if len(documents) != 1:
        raise BadInput(documents[1].file, "is one file too many: this picture is of one comparison")
    document = documents[0]
    if document.schema != "gradhaul.comparison/1":
        raise BadInput(document.file, f"is {reading.SCHEMAS[document.schema]}; this picture is "
                                      "made of what compare --json writes")
    pairs = [_pair(row, index, document.file)
             for index, row in enumerate(reading.member(document.content, "rows", list, []))]
    pairs = [pair for pair in pairs if pair["size"] > 0]
    if not pairs:
        raise BadInput(document.file, "has no rows of a size above 0: nothing to draw")
    tolerance = reading.number(document.content.get("tolerance"), 0)
    bus = all(pair["predicted"]["busbw"] is not None and pair["measured"]["busbw"] is not None
              for pair in pairs)
    sheet = Sheet(_title(pairs, tolerance), about=_about(document.content, pairs),
                  legend=_legend(pairs, tolerance), height=4.4,
                  notes=[_small_print(document.content, pairs)])
    above, below = sheet.figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 2]})
    _draw_bandwidth(above, pairs, tolerance, "busbw" if bus else "algbw")
    _draw_ratios(below, pairs, tolerance)
    quantities.size_axis(below.xaxis, sorted({pair["size"] for pair in pairs}))
    below.set_xlabel("message size (bytes)")
    return sheet


def _pair(row, index, file):
    size = reading.number(reading.member(row, "size_bytes", (int, float), None))
    ratio = reading.number(reading.member(row, "time_ratio", (int, float), None))
    if size is None or size < 0 or ratio is None or ratio <= 0:
        raise BadInput(file, f"rows[{index}] has no size_bytes from 0 on with a time_ratio above 0")
    pair = {"size": size, "ratio": ratio, "verdict": reading.member(row, "verdict", str, ""),
            "in_place": row.get("in_place")}
    for side in ("predicted", "measured"):
        values = reading.member(row, side, dict, {})
        time = reading.number(values.get("time_us"))
        if time is None or time <= 0:
            raise BadInput(file, f"rows[{index}].{side}.time_us is not a number of microseconds "
                                 "above 0")
        pair[f"{side} profile"] = reading.member(values, "profile", str, "")
        pair[side] = {"time": time, "busbw": reading.number(values.get("busbw_GBps")),
                      "algbw": reading.number(values.get("algbw_GBps"), size / time / 1e3),
                      "min": reading.number(values.get("min_us")),
                      "p99": reading.number(values.get("p99_us"))}
    return pair


def _look(pair):
    verdict = pair["verdict"]
    if verdict == "within":
        return WITHIN
    return OUTSIDE if verdict in ("slower", "faster", "wrong") else UNJUDGED


def _title(pairs, tolerance):
    judged = [pair for pair in pairs if _look(pair) is not UNJUDGED]
    inside = [pair for pair in judged if _look(pair) is WITHIN]
    answer = f"{len(inside)} of {len(judged)} rows do." if judged else "No row was judged."
    return (f"Does the measurement agree with the prediction within "
            f"{quantities.number_text(tolerance * 100)} %? {answer}")


def _about(content, pairs):
    words = []
    for side in ("predicted", "measured"):
        values = reading.member(content, side, dict, {})
        name = shortened(reading.member(values, "file", str, side), 44)
        told = [shortened(values.get("format") or "unknown", 44)]
        told += sorted({f"profile {shortened(pair[f'{side} profile'], 24)}" for pair in pairs
                        if pair[f"{side} profile"]})
        words.append(f"{side}: {name} ({', '.join(told)})")
    return "; ".join(words)


def _legend(pairs, tolerance):
    present = [_look(pair) for pair in pairs]
    entries = [Entry(f"predicted, ± {quantities.number_text(tolerance * 100)} % in time",
                     PREDICTED)]
    for look, label in ((WITHIN, "measured, within"), (OUTSIDE, "measured, outside"),
                        (UNJUDGED, "measured, not judged")):
        if look in present:
            entries.append(Entry(label, {**look, "linestyle": ""}))
    if any(pair["in_place"] is True for pair in pairs):
        entries.append(Entry("hollow: in place", {"marker": "o", "markerfacecolor": style.PAPER,
                                                  "color": style.MUTED, "linestyle": ""}))
    return entries


def _small_print(content, pairs):
    words = []
    if any(pair["measured"]["min"] and pair["measured"]["p99"] for pair in pairs):
        words.append("Bars at the marks: from the fastest iteration to the 99th percentile.")
    summary = reading.member(content, "summary", dict, {})
    for key, side in (("only_predicted", "predicted"), ("only_measured", "measured")):
        alone = reading.member(summary, key, list, [])
        if alone:
            words.append(f"{len(alone)} size{'s' if len(alone) != 1 else ''} only {side}.")
    return " ".join(words)


def _mark(axes, pair, value, spread, places):
    look = _look(pair)
    hollow = pair["in_place"] is True
    size = pair["size"]
    # The two halves of one size beside each other.
    if places > 1:
        size *= 1.06 if hollow else 1 / 1.06
    if spread:
        axes.plot([size, size], spread, color=look["color"], linewidth=0.9, zorder=3)
    axes.plot([size], [value], linestyle="", markersize=4.5, zorder=4, clip_on=False,
              markerfacecolor=style.PAPER if hollow else look["color"], gid="measured", **look)


def _draw_bandwidth(axes, pairs, tolerance, key):
    predicted = dict(sorted((pair["size"], pair["predicted"][key] or 0) for pair in pairs))
    sizes, values = list(predicted), list(predicted.values())
    axes.fill_between(sizes, [value / (1 + tolerance) for value in values],
                      [value / max(1 - tolerance, 0.01) for value in values],
                      color=style.BLUE, alpha=0.18, linewidth=0, zorder=1)
    axes.plot(sizes, values, zorder=2, gid="predicted",
              **{**PREDICTED, "marker": "" if len(sizes) > 1 else "s"})
    halves = len({pair["in_place"] for pair in pairs})
    highest = max(values) / max(1 - tolerance, 0.5)
    for pair in pairs:
        side = pair["measured"]
        value = side[key] or 0
        spread = None
        if side["min"] and side["p99"]:
            spread = [value * side["time"] / side["p99"], value * side["time"] / side["min"]]
        highest = max([highest, value, *(spread or [])])
        _mark(axes, pair, value, spread, halves)
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, highest * 1.06 or 1)
    axes.set_ylabel("bus bandwidth (GB/s)" if key == "busbw" else
                    "algorithm bandwidth (GB/s)")
    style.horizontal_grid(axes)


def _draw_ratios(axes, pairs, tolerance):
    low, high = max(1 - tolerance, 0.5), 1 + tolerance
    axes.axhspan(max(1 - tolerance, 0.01), high, color=style.BLUE, alpha=0.18, linewidth=0,
                 zorder=1)
    axes.axhline(1, color=style.BLUE, linewidth=1.2, zorder=2)
    halves = len({pair["in_place"] for pair in pairs})
    for pair in pairs:
        side = pair["measured"]
        spread = None
        if side["min"] and side["p99"]:
            spread = [pair["ratio"] * side["min"] / side["time"],
                      pair["ratio"] * side["p99"] / side["time"]]
        reached = [pair["ratio"], *(spread or [])]
        low, high = min([low, *reached]), max([high, *reached])
        _mark(axes, pair, pair["ratio"], spread, halves)
    axes.set_yscale("log")
    quantities.log_number_axis(axes.yaxis, low / 1.08, high * 1.08)
    axes.set_ylabel("time, measured over\npredicted (times)")
    style.horizontal_grid(axes)
