"""Several runs in one picture: what tells them apart, and what they have in common."""

from pathlib import Path

import reading
from sheet import shortened

# Keys that say what was asked, not what ran.
_IGNORED = ("scenario", "question", "workload.size", "workload.model", "expect")
# A name that stands for all that lies below it.
_NAMED = ("cluster.node", "cluster.network")


def flattened(value, path=""):
    """{path: text} of every leaf of an effective scenario; lists are leaves."""
    if not isinstance(value, dict):
        return {path: reading.value_text(value)}
    leaves = {}
    for key, part in value.items():
        leaves |= flattened(part, f"{path}.{key}" if path else str(key))
    return leaves


def _settings(run):
    leaves = {path: text for path, text in flattened(run.effective).items()
              if not path.startswith(_IGNORED)}
    row = run.rows[0] if run.rows else {}
    for key in ("collective", "algorithm", "protocol"):
        if isinstance(row.get(key), str):
            leaves[f"row.{key}"] = row[key]
    # What a run settled on says more than `auto`.
    leaves.pop("communication.algorithm", None)
    leaves.pop("communication.protocol", None)
    leaves.pop("workload.collective", None)
    backend = reading.member(run.engine, "backend", str, "")
    leaves["kind"] = f"{run.kind} over {backend}" if backend else run.kind
    leaves["simulation.fidelity"] = reading.member(run.engine, "fidelity", str, "")
    return leaves


def _drop_below_names(differing):
    for above in _NAMED:
        if f"{above}.name" in differing:
            differing = [path for path in differing
                         if path == f"{above}.name" or not path.startswith(above + ".")]
    return differing


def _said(path, text):
    if path.startswith("row.") or path in ("kind", "simulation.fidelity"):
        return text
    if path.endswith(".name"):
        return text
    return f"{reading.short_path(path)} {text}"


def label_runs(runs):
    """Gives every run a label: what sets it apart; else the name of its file."""
    if len(runs) == 1 and not runs[0].label:
        runs[0].label = runs[0].name
    if all(run.label for run in runs):
        return
    if len({run.name for run in runs}) == len(runs):
        for run in runs:
            run.label = run.name
        return
    settings = [_settings(run) for run in runs]
    paths = list(dict.fromkeys(path for leaves in settings for path in leaves))
    differing = [path for path in paths if len({leaves.get(path) for leaves in settings}) > 1]
    differing = _drop_below_names(differing)
    differing.sort(key=lambda path: not path.startswith("row."))
    files = _short_files(runs)
    for run, leaves in zip(runs, settings):
        said = [_said(path, leaves[path]) for path in differing if leaves.get(path)]
        if said and len(differing) <= 3:
            run.label = ", ".join(said)
        else:
            run.label = f"{run.name} ({files[run.file]})"
    _set_twins_apart(runs)


def _short_files(runs):
    """{path: its last part}, where that tells them apart."""
    paths = list(dict.fromkeys(run.file for run in runs))
    names = [Path(path).name for path in paths]
    return dict(zip(paths, names if len(set(names)) == len(names) else paths))


def _set_twins_apart(runs):
    labels = [run.label for run in runs]
    files = _short_files(runs)
    for run in runs:
        if labels.count(run.label) > 1:
            run.label = f"{run.label} ({files[run.file]})"
    labels = [run.label for run in runs]
    for index, run in enumerate(runs):
        if labels.count(run.label) > 1:
            run.label = f"{run.label}, {index + 1}"


def about_run(run):
    """What ran, in a line: cluster, ranks, how it was got."""
    cluster = reading.member(run.effective, "cluster", dict, {})
    row = run.rows[-1] if run.rows else {}
    words = [run.name]
    node = reading.member(cluster.get("node"), "name", str, "")
    network = reading.member(cluster.get("network"), "name", str, "")
    if reading.number(cluster.get("nodes")) and node:
        words.append(f"{cluster['nodes']} x {node}" + (f" over {network}" if network else ""))
    if reading.number(row.get("ranks")):
        words.append(f"{row['ranks']} ranks")
    words += [str(row[key]) for key in ("collective", "algorithm", "protocol") if row.get(key)]
    if reading.number(row.get("channels")):
        words.append(f"{row['channels']} channel{'s' if row['channels'] != 1 else ''}")
    profile = reading.member(row, "profile", str, "") or reading.profile_of(run.effective)
    if profile:
        words.append(f"profile {profile}")
    words.append(how_got(run))
    return ", ".join(shortened(word, 48) for word in words)


def how_got(run):
    backend = reading.member(run.engine, "backend", str, "")
    if run.kind == "measured":
        return f"measured over {backend}" if backend else "measured"
    fidelity = reading.member(run.engine, "fidelity", str, "")
    return f"predicted, {fidelity}" if fidelity else "predicted"


def common_about(runs):
    """What all of the runs have in common; of one all there is to say."""
    if len(runs) == 1:
        return about_run(runs[0])
    parts = [about_run(run).split(", ") for run in runs]
    kept = [word for word in parts[0] if all(word in words for words in parts)]
    return ", ".join(kept)


def out_of_place(run):
    """{size: row}: one row a size, the one of the out-of-place half where there are two; of
    repeats the first."""
    rows = {}
    for row in run.rows:
        size = row["size_bytes"]
        if size not in rows or (rows[size].get("in_place") is True
                                and row.get("in_place") is False):
            rows[size] = row
    return dict(sorted(rows.items()))
