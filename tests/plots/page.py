"""A page as a reader sees it: which texts it bears, and whether any of them lie upon each other."""

import xml.etree.ElementTree as xml

from matplotlib.backends.backend_agg import RendererAgg

SVG = "{http://www.w3.org/2000/svg}"


class Page:
    """Of an SVG file."""

    def __init__(self, path):
        self.root = xml.parse(path).getroot()
        self.texts = ["".join(text.itertext()).strip() for text in self.root.iter(f"{SVG}text")]
        self.all_text = " ".join(self.texts)

    def groups(self, name):
        return [group for group in self.root.iter(f"{SVG}g") if group.get("id") == name]

    def marks(self, name):
        """How many marks the series of this name has."""
        return sum(1 for group in self.groups(name) for _ in group.iter(f"{SVG}use"))

    def boxes(self, name):
        """How many rectangles the series of this name has."""
        count = 0
        for group in self.groups(name):
            defined = {path for block in group.iter(f"{SVG}defs")
                       for path in block.iter(f"{SVG}path")}
            count += sum(1 for _ in group.iter(f"{SVG}use"))
            count += sum(1 for path in group.iter(f"{SVG}path") if path not in defined)
        return count


def overlapping_texts(figure):
    """Pairs of texts of a figure that was drawn that cover each other, and texts that leave the
    page."""
    renderer = RendererAgg(1, 1, figure.dpi)
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in _shown(figure)
             if text.get_visible() and text.get_text().strip()]
    found = []
    for index, (words, box) in enumerate(boxes):
        if box.x0 < -1 or box.y0 < -1 or box.x1 > figure.bbox.x1 + 1 or (
                box.y1 > figure.bbox.y1 + 1):
            found.append((words, "the edge of the page"))
        for other, beside in boxes[index + 1:]:
            across = min(box.x1, beside.x1) - max(box.x0, beside.x0)
            up = min(box.y1, beside.y1) - max(box.y0, beside.y0)
            if across > 1 and up > 2:
                found.append((words, other))
    return found


def _shown(figure):
    texts = list(figure.texts)
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        texts += axes.texts
        if not axes.axison:
            continue
        texts += [axes.title, axes.xaxis.label, axes.yaxis.label]
        texts += [getattr(axes, name) for name in ("_left_title", "_right_title")]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            texts += [label for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high
                      for label in (tick.label1, tick.label2)]
    return texts
