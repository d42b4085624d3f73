"""How every picture looks: colours that all tell apart, on screen, in print and in grey; text that
stays text in SVG; the same bytes from the same input.

Colours of categories are those of Okabe and Ito ("Color Universal Design", 2008), without their
yellow, which is too pale for a line on white; marks and dashes tell series apart where colours
cannot. Amounts have cividis (Nunez, Anderton and Renslow, 2018), whose lightness rises evenly.
"""

import matplotlib
import matplotlib.colors
from matplotlib.collections import PolyCollection

matplotlib.use("Agg")

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))

# What is no data. Each has a counterpart for dark surroundings.
INK, MUTED, FAINT, PAPER = "#1c1c1c", "#5c5c5c", "#dddddd", "#ffffff"
DARK = {INK: "#ececec", MUTED: "#b0b0b0", FAINT: "#3d4147", PAPER: "#17191c"}
# For others than those of the first places, and for what is missing.
REST = "#9a9a9a"
# On coloured cells, which are the same in light and dark.
ON_DARK, ON_LIGHT = "#fafafa", "#0a0a0a"

TITLE, TEXT, SMALL = 11.5, 9, 8  # points; nothing is smaller
MAP = "cividis"

SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": TEXT, "axes.labelsize": TEXT, "xtick.labelsize": SMALL, "ytick.labelsize": SMALL,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": MUTED,
    "xtick.color": MUTED, "ytick.color": MUTED, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "axes.facecolor": PAPER, "figure.facecolor": PAPER, "savefig.facecolor": PAPER,
    "axes.linewidth": 0.7, "xtick.major.width": 0.7, "ytick.major.width": 0.7,
    "axes.grid": False, "grid.color": FAINT, "grid.linewidth": 0.6, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "axes.unicode_minus": True,
    "lines.linewidth": 1.6, "lines.markersize": 4.5, "hatch.linewidth": 0.6,
    # Names come from files: a `$` in them is a `$`.
    "text.parse_math": False,
    "svg.fonttype": "none", "svg.hashsalt": "gradhaul", "pdf.fonttype": 42,
    "figure.dpi": 100, "savefig.dpi": 200,
}


def use_style():
    """What the user has set for other pictures does not change ours."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS)


def series_style(index):
    """How the index-th series is drawn; none of the first 36 is as another is."""
    turn = index // len(SERIES)
    return {"color": SERIES[index % len(SERIES)],
            "marker": MARKS[(index + turn) % len(MARKS)],
            "linestyle": DASHES[(index % len(SERIES) + turn) % len(DASHES)]}


def luminance(colour):
    """Of an (r, g, b, …) of 0 to 1: relative, as WCAG 2 has it."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
              for part in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rgb(colour):
    return matplotlib.colors.to_rgb(colour)


def ink_on(colour):
    """Of two inks the one that stands out more from a cell of this colour."""
    return ON_DARK if luminance(colour) < 0.179 else ON_LIGHT


def add_boxes(axes, boxes, **look):
    """Rectangles (left, bottom, width, height) as one, which is quicker than each by itself."""
    if boxes:
        axes.add_collection(PolyCollection(
            [((x, y), (x + wide, y), (x + wide, y + tall), (x, y + tall))
             for x, y, wide, tall in boxes], **look), autolim=False)


def horizontal_grid(axes):
    axes.grid(True, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def vertical_grid(axes):
    axes.grid(True, axis="x")
    axes.tick_params(axis="x", length=0)
    axes.spines["bottom"].set_visible(False)
