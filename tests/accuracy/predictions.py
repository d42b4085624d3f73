"""What gradhaul answers to each run of the records: predicted, and expected by NCCL's tuner."""

import json
import subprocess
import tempfile
from pathlib import Path

import reckoning

HERE = Path(__file__).parent
CASES = HERE / "cases"


def records():
    return json.loads((HERE / "records.json").read_text(encoding="utf-8"))


def runs():
    """(key, record, run) of all, in the order of the records."""
    for record in records():
        for index, run in enumerate(record.get("runs", [])):
            yield f"{record['id']}/{index}", record, run


def settings(run, size):
    """Those that make the scenario of the run the question of one row."""
    chosen = list(run.get("set", []))
    # Of a stream the size is that of a write or a send.
    chosen.append(f"communication.slot_size={size}B" if "stream" in run
                  else f"workload.size={size}B")
    return chosen


def predict(program, scenario, chosen, fidelity):
    """The result file of `gradhaul predict`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        command = [program, "predict", scenario, "--json", path, "--progress", "off"]
        for setting in [*chosen, f"simulation.fidelity={fidelity}"]:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")
        return json.loads(path.read_text(encoding="utf-8"))


def is_nccl(result):
    return result["scenario"]["effective"]["communication"]["profile"].startswith("nccl-")


def is_known_to_the_tuner(result, fidelity):
    """Whether NCCL's tuner says something of it: collectives over RDMA, staged nowhere by order."""
    effective = result["scenario"]["effective"]
    communication = effective["communication"]
    return (is_nccl(result) and effective["workload"]["collective"] != "send_recv"
            and fidelity != "nccl-tuner" and communication["gpudirect"] != "off"
            and communication["transport"] == "rdma")


def predict_row(program, run, size):
    """What is kept of a row."""
    scenario = CASES / f"{run['scenario']}.yaml"
    chosen = settings(run, size)
    result = predict(program, scenario, chosen, run["fidelity"])
    row = result["rows"][-1]
    kept = {"value": round(reckoning.in_unit(run["unit"], row), 6),
            "plan": f"{row['algorithm']}/{row['protocol']}/{row['channels']}",
            "traffic": round(row["busbw_GBps"] / row["algbw_GBps"], 9),
            "digest": result["engine"]["digest"]}
    effective = result["scenario"]["effective"]
    if is_nccl(result):
        kept["profile"] = effective["communication"]["profile"]
    if is_known_to_the_tuner(result, run["fidelity"]):
        tuner = predict(program, scenario, chosen, "nccl-tuner")["rows"][-1]
        kept["tuner"] = round(reckoning.in_unit(run["unit"], tuner), 6)
        kept["tuner_plan"] = f"{tuner['algorithm']}/{tuner['protocol']}"
    return kept


def figures(known):
    """All rows with what is known of them, as predict_row() keeps it."""
    result = []
    for key, record, run in runs():
        for row in run["rows"]:
            kept = known[key][str(row["size"])]
            large = row["size"] > reckoning.MIB and "stream" not in run
            result.append(reckoning.Figure(
                record=record["id"],
                what=run.get("what", ""),
                size=row["size"],
                unit=run["unit"],
                group=reckoning.group_of(run, row["size"]),
                by=by_what(run, kept),
                measured=row["measured"],
                predicted=kept["value"],
                tuner=kept.get("tuner"),
                rule=rule_in_unit(run, row, kept) if large and "rule" in run else None,
                why=row.get("why", run.get("why", "")),
                not_comparable=run.get("not_comparable", "")))
    return result


def by_what(run, kept):
    """Fidelity; of NCCL's runs the profile, and what its tuner chose."""
    if "profile" not in kept:
        return run["fidelity"]
    algorithm, protocol, channels = kept["plan"].split("/")
    algorithm = "tree" if algorithm == "double_binary_tree" else algorithm
    return f"{run['fidelity']}, {kept['profile']}, {algorithm} {protocol} x{channels}"


def rule_in_unit(run, row, kept):
    """The rule of thumb is a busbw; where times were measured, the time that it makes."""
    if run["unit"] != "time_us":
        return float(run["rule"])
    return row["size"] * kept["traffic"] / run["rule"] / 1e3
