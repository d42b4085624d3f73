"""Sizes, times and counts as people read them, and axes that carry them."""

import math

from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
DECIMAL = ("B", "kB", "MB", "GB", "TB")


def number_text(value, digits=3):
    """12, 0.25, 1234: so many digits that count, no exponent for what has a handful of places."""
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def size_text(size):
    """64 KiB where that is what it is, else 14 GB."""
    if size == 0:
        return "0 B"
    for power in range(len(BINARY) - 1, 0, -1):
        unit = 1024 ** power
        if size % unit == 0 and size // unit < 10000:
            return f"{size // unit:.0f} {BINARY[power]}"
    if size < 1000:
        return f"{number_text(size)} B"
    power = min(len(DECIMAL) - 1, int(math.log10(size) // 3))
    return f"{number_text(size / 1000 ** power)} {DECIMAL[power]}"


def near_size_text(size):
    """Of a size that was reckoned: 2.1 MiB."""
    power = 0
    while size >= 1023.5 and power < len(BINARY) - 1:
        size /= 1024
        power += 1
    return f"{number_text(size)} {BINARY[power]}"


def time_unit(most_us):
    """(microseconds of the unit, its name) in which the greatest of some times is read best."""
    for scale, name in ((1e6, "s"), (1e3, "ms"), (1, "us")):
        if most_us >= scale:
            return scale, name
    return 1e-3, "ns"


def time_text(microseconds):
    scale, name = time_unit(microseconds)
    return f"{number_text(microseconds / scale)} {name}"


def spread(items, most):
    """At most so many, evenly spaced, the first among them."""
    step = max(1, math.ceil(len(items) / most))
    return items[::step]


def size_axis(axis, sizes, most=9):
    """A logarithmic axis of sizes above 0, with marks at round ones."""
    low, high = min(sizes), max(sizes)
    binary = sum(1 for size in sizes if math.log2(size).is_integer())
    if len(sizes) == 1:
        ticks = [low]
    elif binary * 2 >= len(sizes):
        ticks = spread([2 ** power for power in range(math.ceil(math.log2(low) - 1e-9),
                                                      math.floor(math.log2(high) + 1e-9) + 1)],
                       most)
    else:
        ticks = spread([10 ** power for power in range(math.floor(math.log10(low)),
                                                       math.ceil(math.log10(high)) + 1)], most)
    set_limits(axis, *log_limits(low, high))
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
    axis.set_minor_locator(NullLocator())


def set_limits(axis, low, high):
    (axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim)(low, high)


def log_limits(low, high, share=0.03):
    """A little air on both sides; a factor of two where there is one value alone."""
    air = max((high / low) ** share, 1.01) if high > low else 2
    return low / air, high * air


def log_number_axis(axis, low, high, text=number_text, most=7):
    """A logarithmic axis with marks at powers of ten, at 1, 2, 5, or at whatever is round where
    the range is narrow; the rounder first, none too close to another."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0 ** power for power in decades for step in (1, 2, 5)]
    if sum(low <= tick <= high for tick in ticks) < 3:
        ticks += MaxNLocator(most).tick_values(low, high).tolist()
    chosen = []
    for tick in sorted(ticks, key=_roundness):
        if low <= tick <= high and all(abs(math.log(tick / other)) > 0.13 * math.log(high / low)
                                       for other in chosen):
            chosen.append(tick)
    axis.set_major_locator(FixedLocator(sorted(chosen)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    axis.set_minor_locator(NullLocator())
    set_limits(axis, low, high)


def _roundness(value):
    digits = f"{value:.9e}".split("e", maxsplit=1)[0].rstrip("0").replace(".", "")
    return len(digits), digits != "1", value


def log_share(low, value, high):
    """Where between two values a third lies, by logarithms: 0 to 1."""
    return math.log(value / low) / math.log(high / low)
