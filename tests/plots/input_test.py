"""What is no input is refused in a sentence; what is drawn is drawn alike each time."""

import re
import subprocess
import sys
from pathlib import Path

import draw
from drawn import DrawnTest
from sample_files import MiB, compared_ladder, comparison, ladder, result, sweep

SCRIPT = Path(draw.__file__)


class BrokenInputTest(DrawnTest):
    def test_says_what_is_wrong_and_what_would_be_right(self):
        zero = result({MiB: 1.0})
        zero["rows"][0]["time_us"] = 0
        endless = result({MiB: 1.0})
        endless["rows"][0]["size_bytes"] = 10 ** 400
        no_rows = result({})
        del no_rows["rows"]
        short = sweep({"a.x": "12", "a.y": "12"}, {("1",): {MiB: 1.0}})
        cases = [
            ("busbw", "{", "0.json: is no JSON"),
            ("busbw", "[NaN]", "0.json: is no JSON: NaN is no number"),
            ("busbw", "[" * 100000, "0.json: is nested too deep"),
            ("busbw", "[]", "0.json: it names no schema; a picture is made of a result file"),
            ("busbw", {"schema": "other/2"}, '0.json: its schema is "other/2"'),
            ("busbw", zero, "0.json: rows[0].time_us is not a number of microseconds above 0"),
            ("busbw", endless, "0.json: rows[0].size_bytes is not a number of bytes, from 0 on"),
            ("busbw", no_rows, "0.json: has no list `rows`"),
            ("busbw", result({}), "0.json: holds no row of a size above 0"),
            ("busbw", comparison([]), "0.json: is a comparison"),
            ("blame", result({MiB: 1.0}) | {"rows": []}, "0.json: has no rows"),
            ("blame", result({MiB: 1.0}, parts_us=None) | {"resources": []},
             "0.json: has neither parts of its time nor uses of resources"),
            ("agreement", result({MiB: 1.0}), "0.json: is a result file"),
            ("agreement", comparison([]), "0.json: has no rows of a size above 0"),
            ("ladder", result({MiB: 1.0}), "0.json: is a result file"),
            ("ladder", ladder({"link": None}), "0.json: has no rung with a time"),
            ("ladder", ladder({"stile": 1.0}), "0.json: rows[0] is none of the rungs link, "),
            ("ladder", ladder({"link": 0.0}),
             "0.json: rows[0].time_us is not a number of microseconds above 0"),
            ("topology", result({MiB: 1.0}) | {"resources": []},
             "0.json: has no use of resources"),
            ("heat-map", result({MiB: 1.0}), "0.json: is a result file"),
            ("heat-map", short, "0.json: points[0].values are not one for each of the 2 axes"),
            ("heat-map", sweep({"a.x": "1"}, {("1",): "broken"}),
             "0.json: holds no point that is done: nothing to draw; the first error: broken"),
            ("heat-map", {"schema": "gradhaul.sweep/1"}, "0.json: has no list `axes`"),
        ]
        for kind, content, sentence in cases:
            with self.subTest(sentence):
                self.assertIn(sentence, self.complaint(kind, content))


class CommandTest(DrawnTest):
    def run_script(self, *arguments, text=None):
        return subprocess.run([sys.executable, str(SCRIPT), *arguments], cwd=self.folder,
                              capture_output=True, text=True, check=False, input=text)

    def test_a_file_that_is_not_there(self):
        process = self.run_script("busbw", "nowhere.json", "-o", "x.svg")
        self.assertEqual((process.returncode, process.stderr),
                         (2, "draw.py: nowhere.json: cannot be read: No such file or directory\n"))

    def test_lists_what_it_can_draw(self):
        said = self.run_script("--help").stdout
        for kind in draw.KINDS:
            self.assertIn(f"\n  {kind} ", said)
        self.assertEqual(self.run_script("--can-draw").returncode, 0)

    def test_every_format_from_standard_input(self):
        content = Path(self.write(result({MiB: 1.0}))).read_text(encoding="utf-8")
        starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
        self.assertEqual(self.run_script("auto", "-", "-o", "x.svg", text=content).returncode, 0)
        for ending, start in starts.items():
            path = self.folder / f"out.{ending}"
            draw.main(["blame", self.write(result({MiB: 1.0})), "-o", str(path)])
            self.assertTrue(path.read_bytes().startswith(start))
        self.assertEqual((self.folder / "x.svg").read_bytes(),
                         (self.folder / "out.svg").read_bytes())
        self.assertEqual(self.run_script("busbw", "-", "-o", "x.gif").returncode, 2)
        self.assertEqual(draw.main(["auto", self.write(result({MiB: 1.0})), "-o",
                                    str(self.folder / "no" / "x.svg")]), draw.NOT_WRITTEN)

    def test_draws_what_the_program_asks_for(self):
        source = SCRIPT.parents[2] / "scenarios" / "picture_command.cpp"
        kinds = re.search(r"kinds\{([^}]*)\}", source.read_text(encoding="utf-8")).group(1)
        asked = set(re.findall(r'"([^"]+)"', kinds))
        self.assertTrue({"auto", "busbw"} <= asked <= {"auto", *draw.KINDS}, asked)

    def test_picks_what_suits_the_file(self):
        cases = [("blame", result({MiB: 1.0})), ("busbw", result({MiB: 1.0, 2 * MiB: 2.0})),
                 ("agreement", comparison([(MiB, 1.0, 1.0, "within")])),
                 ("ladder", ladder({"link": 1.0})),
                 ("ladder", compared_ladder({"link": (1.0, 1.0, "within")})),
                 ("heat-map", sweep({"a.x": "1"}, {("1",): {MiB: 1.0}})),
                 ("busbw", sweep({"workload.size": ["1MiB", "2MiB"]},
                                 {("1MiB",): {MiB: 1.0}, ("2MiB",): {2 * MiB: 1.5}}))]
        for kind, content in cases:
            options = draw.arguments_of(["auto", self.write(content), "-o", "x.svg"])
            self.assertEqual(draw.draw(options)[1], kind)
