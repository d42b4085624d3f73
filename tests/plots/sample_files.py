"""Small files as gradhaul writes them, for pictures to be drawn of."""

KiB, MiB = 1024, 1024 ** 2


def row(size, time, **others):
    """Of a result; two ranks, so that busbw is size / time."""
    return {"collective": "all_reduce", "algorithm": "ring", "protocol": "simple", "channels": 2,
            "ranks": 2, "size_bytes": size, "count": size // 2, "datatype": "bf16",
            "reduction": "sum", "time_us": time, "algbw_GBps": size / time / 1e3,
            "busbw_GBps": size / time / 1e3, "wrong": None, "in_place": None,
            "bytes_sent_per_rank": size, "limited_by": "node0.nic0 (2 equal)",
            "parts_us": {"node0.nic0: busy": time * 0.75, "latency": time * 0.25}, **others}


def result(times, name="sample", **of_rows):
    """`times`: {size: microseconds}."""
    return {"schema": "gradhaul.result/1", "kind": "predicted",
            "scenario": {"name": name, "file": f"{name}.yaml", "sha256": "",
                         "effective": {"scenario": name, "question": "How long?",
                                       "cluster": {"nodes": 2, "node": {"name": "flat"},
                                                   "network": {"name": "ndr"}}}},
            "engine": {"version": "0.1.0", "fidelity": "packet", "seed": 1, "digest": "0",
                       "exact": True},
            "placement": {"channels": 2, "rings": [[0, 1]]},
            "rows": [row(size, time, **of_rows) for size, time in times.items()],
            "resources": [use("node0.nic0", "nic", 0.95), use("node1.nic0", "nic", 0.95),
                          use("node0.gpu0.pcie", "pcie", 0.5)],
            "counters": [], "notes": [], "interrupted": False, "cost": {}}


def use(name, kind, utilisation):
    return {"name": name, "kind": kind, "utilisation": utilisation, "bytes": 1, "blame_us": 0}


def cluster_result(nodes, node, network, uses):
    """A result of one row, of a cluster that is given."""
    content = result({MiB: 100.0}, "cluster")
    content["scenario"]["effective"]["cluster"] = {"nodes": nodes, "node": node,
                                                   "network": network}
    content["resources"] = [use(name, "", load) for name, load in uses.items()]
    return content


HGX_OF_TWO = {
    "name": "hgx-of-two", "sockets": 2, "gpus": {"count": 2}, "nics": {"count": 2},
    "pcie": [{"switch": "sw0", "parent": "socket0", "link": "gen5x16",
              "devices": ["gpu0", "nic0"]},
             {"parent": "socket1", "devices": ["gpu1", "nic1"]}],
    "nvlink": {"kind": "nvswitch"}}


def comparison(rows, tolerance=0.1):
    """`rows`: (size, predicted time, measured time, verdict)."""
    def side(size, time):
        return {"time_us": time, "algbw_GBps": size / time / 1e3, "busbw_GBps": size / time / 1e3,
                "min_us": time * 0.9, "p50_us": time, "p99_us": time * 1.2}
    return {"schema": "gradhaul.comparison/1", "version": "0.1.0",
            "predicted": {"file": "predicted.json", "format": "gradhaul result", "name": "a"},
            "measured": {"file": "nccl.log", "format": "nccl-tests", "name": ""},
            "tolerance": tolerance,
            "rows": [{"collective": "all_reduce", "size_bytes": size, "in_place": False,
                      "predicted": side(size, predicted), "measured": side(size, measured),
                      "repeats": 1, "time_ratio": measured / predicted,
                      "busbw_ratio": predicted / measured, "verdict": verdict, "remark": ""}
                     for size, predicted, measured, verdict in rows],
            "summary": {"only_predicted": [], "only_measured": [64]}, "findings": [],
            "counters": [], "notes": []}


def ladder(times, kind="predicted", size=MiB):
    """`times`: {rung: microseconds, or None where it is missing}; each carries half the size."""
    return {"schema": "gradhaul.ladder/1", "kind": kind, "version": "0.1.0",
            "scenario": {"name": "sample"}, "engine": {}, "notes": [],
            "rows": [{"rung": rung, "size_bytes": size, "carried_bytes": size // 2,
                      "time_us": time, "missing": None if time else "nobody sees it"}
                     for rung, time in times.items()]}


def compared_ladder(rungs, gap=None, size=MiB):
    """`rungs`: {rung: (predicted time, measured time or None, verdict)}."""
    return {"schema": "gradhaul.ladder_comparison/1", "version": "0.1.0",
            "predicted": "predicted.json", "measured": "measured.json", "tolerance": 0.1,
            "rungs": [{"rung": rung, "size_bytes": size, "carried_bytes": size // 2,
                       "predicted_us": predicted, "measured_us": measured,
                       "time_ratio": measured / predicted if measured else None,
                       "verdict": verdict, "missing": None if measured else "nobody sees it"}
                      for rung, (predicted, measured, verdict) in rungs.items()],
            "gaps": [{"size_bytes": size, "rung": gap}] if gap else []}


def sweep(axes, points, name="sample"):
    """`axes`: {path: values}; `points`: {values: {size: time}, or a sentence where it failed}."""
    content = {"schema": "gradhaul.sweep/1",
               "scenario": {"name": name, "question": "How?",
                            "effective": {"cluster": {"nodes": 9, "node": {"name": "flat"}}}},
               "axes": [{"path": path, "values": list(values)} for path, values in axes.items()],
               "points": []}
    for values, outcome in points.items():
        point = {"values": list(values), "status": "done"}
        if isinstance(outcome, str):
            point |= {"status": "failed", "error": outcome}
        elif "rows" in outcome:
            point["result"] = outcome
        else:
            point["result"] = result(outcome, name)
        content["points"].append(point)
    return content
