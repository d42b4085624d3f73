"""Draws files that a test has made, in a folder of its own."""

import contextlib
import io
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import draw
from page import Page, overlapping_texts


class DrawnTest(unittest.TestCase):
    """A test with a folder, and what every picture must be."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gradhaul_plots_"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, content, name="input.json"):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content),
                        encoding="utf-8")
        return str(path)

    def sheet(self, kind, *contents, options=()):
        """Laid out, not saved; no two texts lie upon each other."""
        files = [self.write(content, f"{index}.json") for index, content in enumerate(contents)]
        drawn, _ = draw.draw(draw.arguments_of([kind, *files, "-o", "x.svg", *options]))
        drawn.figure.draw_without_rendering()
        drawn.figure.set_layout_engine("none")  # it is laid out
        self.assertEqual(overlapping_texts(drawn.figure), [])
        return drawn

    def page(self, kind, *contents, options=()):
        """As SVG."""
        drawn = self.sheet(kind, *contents, options=options)
        path = self.folder / "out.svg"
        drawn.save(str(path))
        return Page(path)

    def complaint(self, kind, *contents, options=()):
        """What is said, in one line, of an input that is refused with status 2."""
        files = [self.write(content, f"{index}.json") for index, content in enumerate(contents)]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = draw.main([kind, *files, "-o", str(self.folder / "x.svg"), *options])
        self.assertEqual(status, draw.BAD_INPUT, said.getvalue())
        self.assertEqual(said.getvalue().count("\n"), 1)
        self.assertFalse((self.folder / "x.svg").exists())
        return said.getvalue().replace(str(self.folder) + "/", "")
