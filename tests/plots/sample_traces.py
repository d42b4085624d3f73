"""A trace and a training step as gradhaul writes them."""

from sample_files import MiB, result


def stage(category, rank, connection, sequence, span, peer):
    return {"cat": category, "ph": "X", "pid": 1000 + rank, "tid": 1, "name": "slice",
            "ts": span[0], "dur": span[1] - span[0],
            "args": {"connection": connection, "sequence": sequence, "channel": 0, "lane": 0,
                     "peer": peer, "step": 0, "chunk": 0, "slice": sequence, "bytes": 64}}


def counter(name, points):
    return [{"ph": "C", "name": name, "pid": 100000, "ts": time, "args": {"value": value}}
            for time, value in points]


def trace(events, rows=((MiB, 0, 100.0),)):
    return {"displayTimeUnit": "ns",
            "otherData": {"schema": "gradhaul.trace/1", "scenario": "sample", "digest": "0",
                          "left_out": [], "bin_us": 1,
                          "rows": [{"size_bytes": size, "start_us": start, "time_us": time}
                                   for size, start, time in rows]},
            "traceEvents": events}


def hop(sender, receiver, sequence, start):
    """A slice that waits 1 us for a slot, is posted for 2, flies for 4, is known 1 later, waits 1
    and is reduced for 3; its send completes while it is being reduced."""
    connection = f"ch0 {sender}>{receiver}"
    return [stage("slot", sender, connection, sequence, (start, start + 1), receiver),
            stage("send", sender, connection, sequence, (start + 1, start + 10), receiver),
            stage("flight", sender, connection, sequence, (start + 3, start + 7), receiver),
            stage("receive", receiver, connection, sequence, (start + 4, start + 8), sender),
            stage("reduce", receiver, connection, sequence, (start + 9, start + 12), sender)]


def interval(rank, group, name, span):
    return {"rank": rank, "lane": "compute" if group == "compute" else "communication",
            "group": group, "name": name, "micro_step": 0, "start_us": span[0],
            "end_us": span[1]}


def training_step(timeline, exposed, communicating, time=100.0):
    content = result({MiB: 10.0}, "step")
    content["training_step"] = {
        "model": "small", "time_us": time,
        "stages": [{"stage": 0, "rank": 0, "exposed_us": exposed,
                    "communicating_us": communicating, "hidden_us": communicating - exposed}],
        "timeline": timeline}
    return content
