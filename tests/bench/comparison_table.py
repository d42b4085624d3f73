"""One table of what gradhaul does beside what a peer does, in Markdown. A ratio above 1 is in
gradhaul's favour."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    ours: str
    peer: str = "—"
    ratio: str = "—"


def times(over, under):
    """over / under, to two digits: `52 ×`. Speeds: ours over the peer's; costs: the peer's over
    ours."""
    if under <= 0:
        return "—"
    ratio = over / under
    return f"{ratio:.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def difference(ours, peer):
    """How far `ours` is from the peer's figure, both whole numbers of picoseconds."""
    if ours == peer:
        return "equal to the ps"
    return f"{(ours - peer) / peer:+.1e}"


def microseconds(picoseconds):
    whole, rest = divmod(picoseconds, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " µs"


def seconds(value):
    return f"{value:.1f} s" if value >= 10 else f"{value:.2g} s"


def rate(hops_per_second):
    if hops_per_second >= 999.5e6:
        return f"{hops_per_second / 1e9:.3g} G/s"
    return f"{hops_per_second / 1e6:.3g} M/s"


def megabytes(count):
    return f"{count / 1e6:.0f} MB"


def size(count):
    """Bytes as scenarios write them: 64MiB."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor and count % factor == 0:
            return f"{count // factor}{unit}"
    return f"{count}B"


def markdown(header, rows):
    """`header` and rows of strings; a bar within a cell would end it."""
    lines = [header, ["---"] * len(header), *rows]
    for line in lines:
        if len(line) != len(header):
            raise ValueError(f"{len(line)} cells under {len(header)} columns: {line}")
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def comparison(rows):
    return markdown(["what", "gradhaul", "peer", "ratio"],
                    [[row.what, row.ours, row.peer, row.ratio] for row in rows])
