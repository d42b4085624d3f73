"""The ring all-reduce as a time-independent trace, which `smpirun -replay` replays, and the
platform it runs on: what scenarios/ideal-ring.yaml asks, in SMPI's words.

A trace is a file a rank of `RANK ACTION ARGUMENTS` lines: `irecv SOURCE TAG BYTES`,
`send TARGET TAG BYTES`, `wait SOURCE TARGET TAG`. `init` without an argument makes a byte the unit
of sizes.
"""

from pathlib import Path

# SMPI adds the envelope (tag, rank, communicator) to what each message takes on the wire: SimGrid
# 3.32, src/smpi/mpi/smpi_request.cpp, Request::start.
ENVELOPE_BYTES = 16

# CM02 without factors, without traffic against the direction of data and without TCP's window is
# size / bandwidth + latency; ties in time are resolved finer than any of the differences shown.
CONFIGURATION = ("network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0",
                 "surf/precision:1e-13", "smpi/host-speed:1Gf")


def chunks(size, ranks, element=4):
    """Bytes of each chunk: 1/ranks of the elements, the remainder to the first ones."""
    least, more = divmod(size // element, ranks)
    return [element * (least + (1 if chunk < more else 0)) for chunk in range(ranks)]


def rank_trace(rank, ranks, size):
    """The lines of a rank: 2(ranks - 1) steps, in each of which it sends the chunk that it received
    in the step before, and its own in the first."""
    before, after = (rank - 1) % ranks, (rank + 1) % ranks
    cut = chunks(size, ranks)
    yield f"{rank} init"
    for step in range(2 * (ranks - 1)):
        yield f"{rank} irecv {before} {step} {cut[(before - step) % ranks]}"
        yield f"{rank} send {after} {step} {cut[(rank - step) % ranks]}"
        yield f"{rank} wait {before} {rank} {step}"
    yield f"{rank} finalize"


def envelope_ps(ranks, ps_per_byte=20):
    """What envelopes add to the end of the ring: one a step, at 50 GB/s."""
    return 2 * (ranks - 1) * ENVELOPE_BYTES * ps_per_byte


def platform(ranks, bandwidth="50GBps", latency="500ns"):
    """One full-duplex link a rank, at a switch that costs nothing; `latency` is a link's, so that
    two ranks are twice that apart."""
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="ring" prefix="rank" suffix="" radical="0-{ranks - 1}" speed="1Gf" bw="{bandwidth}"
           lat="{latency}" sharing_policy="SPLITDUPLEX"/>
</platform>
"""


def write(folder, ranks, size):
    """Writes traces and platform into the folder. Returns the command that replays them and prints
    the simulated time, to the picosecond, as `SECONDS:Simulation time …`."""
    folder = Path(folder)
    files = []
    for rank in range(ranks):
        files.append(folder / f"rank{rank}.trace")
        files[-1].write_text("\n".join(rank_trace(rank, ranks, size)) + "\n", encoding="utf-8")
    (folder / "traces").write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
    (folder / "hosts").write_text("".join(f"rank{rank}\n" for rank in range(ranks)),
                                  encoding="utf-8")
    (folder / "platform.xml").write_text(platform(ranks), encoding="utf-8")
    return ["smpirun", "-np", str(ranks), "-hostfile", str(folder / "hosts"),
            "-platform", str(folder / "platform.xml"), "-replay", str(folder / "traces"),
            *(f"--cfg={setting}" for setting in CONFIGURATION), "--log=root.fmt:%.15r:%m%n"]
