"""The sheet that a picture stands on: the question as its title, what was run, the legend, the
picture, the small print. Heights follow from what there is to say, so that nothing overlaps.
"""

import functools
import os
import re
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import style
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

MARGIN = 0.12  # inches
LINE = 1.35 / 72  # of a line of text, in inches for each point of its size
SWATCH, GAP = 0.32, 0.22  # inches, of a legend

_RENDERER = RendererAgg(10, 10, 72)


@functools.lru_cache(maxsize=4096)
def text_width(text, size, weight="normal"):
    """In inches."""
    font = FontProperties(family=style.SETTINGS["font.sans-serif"][:1], size=size, weight=weight)
    return _RENDERER.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def shortened(text, most=40):
    """A name of at most so many characters; what is left out is left out of its middle."""
    text = " ".join(str(text).split())
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return text[:head] + "…" + text[len(text) - (most - 1 - head):]


def fitted(text, width, size):
    """A text no wider than so many inches."""
    text = shortened(text, 300)
    while text_width(text, size) > width and len(text) > 3:
        text = shortened(text, min(len(text) - 1, int(len(text) * width
                                                      / text_width(text, size)) + 1))
    return text


def wrapped(text, width, size, weight="normal", most=4):
    """Lines no wider than so many inches; the rest of what is too long for `most` is left out."""
    lines, line = [], ""
    for word in text.split():
        while text_width(word, size, weight) > width and len(word) > 1:
            fit = max(1, int(len(word) * width / text_width(word, size, weight)) - 1)
            lines += [line] if line else []
            lines.append(word[:fit])
            line, word = "", word[fit:]
        longer = f"{line} {word}".strip()
        if line and text_width(longer, size, weight) > width:
            lines.append(line)
            line = word
        else:
            line = longer
    lines += [line] if line else []
    if len(lines) > most:
        lines = lines[:most]
        lines[-1] = lines[-1][:-1].rstrip(" .,") + "…"
    return lines


def balanced(text, width, size, weight):
    """Wrapped into as few lines as need be, an answer on lines of its own, and all of them about
    equally long, lest a word stands alone."""
    lines = wrapped(text, width, size, weight)
    asked, mark, answer = text.partition("? ")
    if len(lines) > 1 and answer:
        return (balanced(asked + mark.strip(), width, size, weight)
                + balanced(answer, width, size, weight))
    narrower = width
    while len(lines) > 1 and narrower > width / 2:
        narrower *= 0.96
        tried = wrapped(text, narrower, size, weight)
        if len(tried) > len(lines) or tried[-1].endswith("…"):
            break
        lines = tried
    return lines


@dataclass
class Entry:
    """Of a legend. `look`: what Line2D takes; or of a box: facecolor, hatch."""
    label: str
    look: dict
    box: bool = False


def flowed(entries, width):
    """[[(entry, left edge in inches)]] for each line of a legend."""
    lines, left = [[]], 0.0
    for entry in entries:
        wide = SWATCH + 0.08 + text_width(entry.label, style.SMALL) + GAP
        if lines[-1] and left + wide - GAP > width:
            lines.append([])
            left = 0.0
        lines[-1].append((entry, left))
        left += wide
    return lines if entries else []


class Sheet:
    """One figure; `figure` takes the picture itself, between the text above and below."""

    def __init__(self, title, *, about="", legend=(), notes=(), width=7.2, height=3.6):
        style.use_style()
        self.title = " ".join(title.split())
        self._width = width
        inner = width - 2 * MARGIN
        above = [(line, style.TITLE, "bold", style.INK)
                 for line in balanced(self.title, inner, style.TITLE, "bold")]
        above += [(line, style.SMALL, "normal", style.MUTED)
                  for line in wrapped(about, inner, style.SMALL)]
        keys = flowed(list(legend), inner)
        below = [line for note in notes if note
                 for line in wrapped(note, inner, style.SMALL, most=7)]
        top = MARGIN + sum(size * LINE for _, size, _, _ in above) + 0.06
        top += len(keys) * style.SMALL * LINE * 1.15 + (0.06 if keys else 0)
        bottom = MARGIN / 2 + len(below) * style.SMALL * LINE + (0.06 if below else 0)
        self._height = top + height + bottom
        self.figure = Figure(figsize=(width, self._height))
        rect = (MARGIN / width, bottom / self._height, 1 - 2 * MARGIN / width,
                height / self._height)
        self.figure.set_layout_engine(ConstrainedLayoutEngine(
            rect=rect, h_pad=0.04, w_pad=0.04, hspace=0.04, wspace=0.04))
        self._write(above, keys, below, bottom)

    def _write(self, above, keys, below, bottom):
        y = MARGIN
        for line, size, weight, colour in above:
            self._text(MARGIN, y, line, size, weight, colour)
            y += size * LINE
        y += 0.06
        for line in keys:
            for entry, left in line:
                self._key(entry, MARGIN + left, y)
            y += style.SMALL * LINE * 1.15
        y = self._height - bottom + 0.06
        for line in below:
            self._text(MARGIN, y, line, style.SMALL, "normal", style.MUTED)
            y += style.SMALL * LINE

    def _text(self, x, y, text, size, weight, colour):
        self.figure.text(x / self._width, 1 - y / self._height, text, fontsize=size,
                         fontweight=weight, color=colour, va="top", ha="left", in_layout=False)

    def _key(self, entry, x, y):
        middle = 1 - (y + style.SMALL * LINE / 2) / self._height
        left, right = x / self._width, (x + SWATCH) / self._width
        if entry.box:
            tall = style.SMALL * 0.95 / 72 / self._height
            mark = Rectangle((left, middle - tall / 2), right - left, tall, **entry.look)
        else:
            look = {"markevery": [1], **entry.look}
            mark = Line2D([left, (left + right) / 2, right], [middle] * 3, **look)
        mark.set_transform(self.figure.transFigure)
        mark.set_in_layout(False)
        self.figure.add_artist(mark)
        self._text(x + SWATCH + 0.08, y, entry.label, style.SMALL, "normal", style.INK)

    def save(self, path):
        """As SVG, PNG or PDF, by the path's ending; whole or not at all. OSError."""
        kind = Path(path).suffix[1:].lower()
        buffer = BytesIO()
        self.figure.savefig(buffer, format=kind, metadata=_metadata(kind, self.title))
        content = buffer.getvalue()
        if kind == "svg":
            content = _finished_svg(content.decode()).encode()
        write_whole(path, content)


def _metadata(kind, title):
    """Nothing that changes from run to run or from machine to machine."""
    if kind == "svg":
        return {"Date": None, "Creator": "gradhaul", "Title": title}
    if kind == "pdf":
        return {"CreationDate": None, "ModDate": None, "Creator": "gradhaul", "Producer": None,
                "Title": title}
    return {"Software": "gradhaul", "Title": title}


def _finished_svg(text):
    """With other inks where the surroundings are dark; matplotlib writes each colour into the
    element's own style."""
    rules = []
    for light, dark in style.DARK.items():
        for part in ("fill", "stroke"):
            rules.append(f'svg.gradhaul [style*="{part}: {light}"]{{{part}:{dark}!important}}')
    sheet = ("<style>@media screen and (prefers-color-scheme:dark){" + "".join(rules)
             + "}</style>")
    head = re.search(r"<svg [^>]*>", text)
    opened = head.group()[:-1] + ' class="gradhaul" role="img">'
    return text[:head.start()] + opened + f"\n {sheet}" + text[head.end():]


def write_whole(path, content):
    """Beside the target, then renamed over it. What is no regular file is written directly."""
    if os.path.exists(path) and not os.path.isfile(path):
        Path(path).write_bytes(content)
        return
    target = os.path.realpath(path)
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=os.path.dirname(target))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        try:
            mode = os.stat(target).st_mode & 0o7777
        except FileNotFoundError:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
