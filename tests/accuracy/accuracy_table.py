"""The table of predictions beside published measurements, in Markdown."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))

# pylint: disable=wrong-import-position
import reckoning
from comparison_table import markdown, size

HEAD = """# Predicted beside measured

Written by `tests/accuracy/run.sh` from `records.json` (what others have published, with the
source), `cases/` (a scenario for each) and `predicted.json` (what came out). Devices, nodes,
networks and the model's constants are those of commit ca2c1bb, made before the first comparison;
nothing was changed to come closer. Mechanisms were added since, with constants that were settled
without comparing: the path through the host where NCCL stages data; one thread of each rank that
posts and polls for all of its channels, NCCL's proxy, at 650 ns each (the middle of an estimate of
0.3 to 1 µs; no source tells more); single work requests that come with the doorbell and are not
fetched (BlueFlame: rdma-core, mlx5). What a kernel itself takes for a step is left out: nobody has
published it, but for what NCCL plans with.

An error is one of time, also where bandwidth was measured: +10 % is a prediction that takes a tenth
longer. *By*: `packet` where that takes a CPU minute, else `flow`; profile, and the plan that NCCL
of that version takes. *NCCL* is what NCCL's own tuner expects of the same run (`fidelity:
nccl-tuner`), *rule* what its maintainers reckon with: 12, 24 or 48 GB/s of busbw for each NIC of
100, 200 or 400 Gb/s. What was measured with NCCL is predicted with profile nccl-2.22, from 2.27 on
nccl-2.30; where the version is not told, with nccl-2.22.
"""

OF_FLOORS = """A floor is what a health check demands: a prediction below it would be wrong, above
it proves little."""


def percent(error):
    if error is None:
        return "—"
    return f"{100 * error:+.0f} %" if abs(error) >= 0.0995 else f"{100 * error:+.1f} %"


def value_text(unit, value):
    """Three digits, or four of large whole numbers: 43.8 µs, 127997 µs."""
    if value is None:
        return "—"
    digits = f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{digits} {reckoning.UNITS[unit]}"


def summary_line(name, count, pair):
    if pair is None:
        return [name, str(count), "—", "—"]
    median, worst = pair
    return [name, str(count), f"{100 * median:.1f} %", percent(worst)]


def summary_table(figures):
    by_predicted = reckoning.summary(figures)
    lines = []
    for (name, count, pair), (_, tuned, tuner), (_, ruled, rule) in zip(
            by_predicted, reckoning.summary(figures, "tuner"), reckoning.summary(figures, "rule")):
        lines.append(summary_line(name, count, pair)
                     + summary_line(name, tuned, tuner)[1:]
                     + summary_line(name, ruled, rule)[1:])
    return markdown(["", "rows", "median", "worst", "NCCL: rows", "median", "worst",
                     "rule: rows", "median", "worst"], lines)


def label(figure):
    return f"{figure.what} {size(figure.size)}".strip()


def figure_line(figure):
    return [figure.record, label(figure),
            value_text(figure.unit, figure.measured), value_text(figure.unit, figure.predicted),
            f"**{percent(figure.error())}**", figure.by,
            percent(figure.error("tuner")), percent(figure.error("rule"))]


def figures_table(figures):
    return markdown(["record", "what", "measured", "predicted", "error", "by", "NCCL", "rule"],
                    [figure_line(figure) for figure in figures])


def explanations(figures):
    """One line a reason, with the rows that it is of."""
    reasons = {}
    for figure in figures:
        if reckoning.is_far_off(figure):
            reasons.setdefault((figure.record, figure.why), []).append(figure)
    return "\n".join(f"- **{record}** ({', '.join(label(f) for f in of)}): {why}."
                     for (record, why), of in reasons.items())


def section(title, text):
    return f"\n## {title}\n\n{text}\n" if text else ""


def groups_text(figures):
    text = ""
    for key, name in reckoning.GROUPS:
        chosen = [f for f in figures if f.group == key and not f.not_comparable]
        text += section(name[0].upper() + name[1:], figures_table(chosen) if chosen else "")
    return text


def not_comparable_text(figures):
    return markdown(["record", "what", "measured", "predicted", "not comparable, since"],
                    [[f.record, label(f), value_text(f.unit, f.measured),
                      value_text(f.unit, f.predicted), f.not_comparable]
                     for f in figures if f.not_comparable])


def sources_text(records):
    return "\n".join(f"- {record['id']}: {record['source']}" for record in records)


def skipped_text(records):
    return markdown(["record", "left out"],
                    [[record["id"], record["skipped"]] for record in records
                     if "skipped" in record])


def table(records, figures):
    floors = [figure for figure in figures if figure.group == "floor"]
    golden = [figure for figure in figures if figure.group == "tuner"]
    return (HEAD
            + section("On the whole", summary_table(figures))
            + groups_text(figures)
            + section("What explains errors above 15 %", explanations(figures))
            + section("Predicted, and not comparable", not_comparable_text(figures))
            + section("Floors", OF_FLOORS + "\n\n" + figures_table(floors))
            + section("NCCL's own estimates, recomputed", figures_table(golden))
            + section("Left out", skipped_text(records))
            + section("Sources", sources_text(records)))
