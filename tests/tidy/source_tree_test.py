"""The tree keeps the rules of the house, and the checker refuses small trees that do not.

    source_tree_test.py [--cache FOLDER] [unittest's own arguments]
"""

import argparse
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
import lone_headers
import source_tree
from source_tree import CHECKS, Tree

ROOT = Path(__file__).resolve().parents[2]
CACHE = None


class OurTree(unittest.TestCase):
    def test_keeps_the_rules(self):
        tree = Tree(ROOT)
        self.assertGreater(len(tree.of(".h")), 20, "the tree was not found")
        for name, check in CHECKS.items():
            with self.subTest(check=name):
                self.has_none(check(tree))

    def test_every_header_compiles_alone(self):
        self.has_none(lone_headers.check_lone_headers(Tree(ROOT), CACHE))

    def has_none(self, problems):
        if problems:
            self.fail("\n" + "\n".join(problems))


class TheChecker(unittest.TestCase):
    """Negative controls: a tree with one fault is refused by the check that is there for it."""

    def problems(self, check, files):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                target = Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            return check(Tree(folder))

    def refuses(self, name, files, word=""):
        found = self.problems(CHECKS[name], files)
        self.assertEqual(1, len(found), found)
        self.assertIn(word, found[0])

    def accepts(self, name, files):
        self.assertEqual([], self.problems(CHECKS[name], files))

    def test_layers(self):
        header = {"core/a.h": "#pragma once\n", "sim/a.h": "#pragma once\n",
                  "analysis/a.h": "#pragma once\n", "scenarios/a.h": "#pragma once\n"}
        for folder, target in (("core", "sim/a.h"), ("sim", "analysis/a.h"),
                               ("sim", "scenarios/a.h"), ("backends", "sim/a.h"),
                               ("analysis", "sim/a.h"), ("analysis", "scenarios/a.h"),
                               ("scenarios", "analysis/a.h"), ("scenarios", "tests/a.h")):
            self.refuses("layers", {**header, f"{folder}/b.cpp": f'#include "{target}"\n'}, target)
        for path, target in (("core/b.cpp", "fmt/format.h"), ("sim/b.cpp", "simgrid/s4u.hpp"),
                             ("core/b.h", "unistd.h"), ("sim/b.cpp", "sys/time.h"),
                             ("analysis/b.cpp", "yaml-cpp/yaml.h"),
                             ("scenarios/b.cpp", "CLI/CLI.hpp"), ("analysis/b.h", "gtest/gtest.h"),
                             ("backends/x/b.cpp", "nlohmann/json.hpp")):
            self.refuses("layers", {path: f"#include <{target}>\n"}, target)
        self.refuses("layers", {"core/b.cpp": '#include "core/gone.h"\n'}, "no core/gone.h")
        self.refuses("layers", {**header, "core/b.cpp": '#include "a.h"\n'}, "a.h")
        self.accepts("layers", {
            **header, "sim/b.cpp": '#include "core/a.h"\n#include <vector>\n',
            "sim/simgrid_bridge.cpp": "#include <simgrid/s4u.hpp>\n",
            "sim/run_cost.cpp": "#include <sys/resource.h>\n",
            "analysis/b.cpp": "#include <fmt/format.h>\n#include <unistd.h>\n",
            "scenarios/main.cpp": '#include <CLI/CLI.hpp>\n#include "sim/a.h"\n',
            "scenarios/predict_command.cpp": '#include "analysis/a.h"\n',
            "tests/sim/b_test.cpp": '#include <gtest/gtest.h>\n#include "sim/a.h"\n'})

    def test_composition(self):
        self.refuses("composition", {"scenarios/a.cpp": '#include "scenarios/show_command.h"\n'},
                     "composes")
        self.accepts("composition", {"scenarios/main.cpp": '#include "scenarios/show_command.h"\n'})

    def test_pragma_once(self):
        self.refuses("pragma once", {"core/a.h": "// late\n#pragma once\n"})
        self.accepts("pragma once", {"core/a.h": "#pragma once\n"})

    def test_lengths(self):
        self.refuses("lengths", {"core/a.cpp": "\n" * 401}, "401 lines")
        self.refuses("lengths", {"tests/core/a.cpp": "\n" * 601}, "601 lines")
        self.refuses("lengths", {"sim/a.cpp": "//" + "x" * 99 + "\n"}, "101 columns")
        self.accepts("lengths", {"core/a.cpp": "\n" * 400, "tests/core/a.cpp": "\n" * 600,
                                 "sim/a.cpp": "//" + "ä" * 98 + "\n"})

    def test_functions(self):
        body = "  f();\n"
        self.refuses("functions", {"core/a.cpp": "void g() {\n" + body * 60 + "}\n"}, "61 lines")
        self.refuses("functions", {"core/a.h": "namespace n {\nclass A : public B {\n"
                                               "  A() : b_{1} {\n" + body * 60 + "  }\n};\n}\n"})
        self.refuses("functions", {"tests/a.py": "def f():\n" + "    g()\n" * 60}, "f has more")
        self.accepts("functions", {
            "core/a.cpp": "void g() {\n" + body * 59 + "}\n",
            "core/b.h": "struct A {\n" + "  int a = 0;\n" * 80 + "};\n",
            "core/c.cpp": "namespace {\n" + "void h() { f(); }\n" * 80 + "}  // {\n"})

    def test_bans(self):
        for path, code in (("core/a.cpp", "int a = rand();"), ("tests/a.cpp", "srand(1);"),
                           ("sim/a.cpp", "std::random_device r;"),
                           ("sim/a.cpp", "std::mt19937_64 draws(1);"),
                           ("sim/a.cpp", "std::chrono::steady_clock::now();"),
                           ("core/a.h", "std::chrono::system_clock::time_point t;"),
                           ("core/a.cpp", "std::unordered_map<int, int> m;"),
                           ("sim/a.h", "std::unordered_set<int> s;"),
                           ("analysis/a.cpp", 'std::getenv("HOME");'),
                           ("scenarios/a.cpp", 'getenv("HOME");'),
                           ("sim/a.cpp", "std::cerr << 1;"), ("core/a.cpp", "printf(text);"),
                           ("sim/a.cpp", "std::shared_ptr<int> p;"),
                           ("backends/a.cpp", "using namespace std;"),
                           ("core/a.h", "#define LIMIT 1"), ("core/a.cpp", "assert(a);")):
            self.refuses("bans", {path: code + "\n"}, "banned")
        self.accepts("bans", {
            "core/a.cpp": "// rand() and std::cerr\nauto a = \"printf(\"; static_assert(true);\n",
            "core/assert.cpp": "std::fprintf(stderr, text);\n",
            "core/assert.h": "#define GRADHAUL_ASSERT(a) (a)\n",
            "sim/run_cost.cpp": "std::chrono::steady_clock::now();\n",
            "tests/sim/a.cpp": "std::mt19937 draws(1); using namespace std::chrono_literals;\n",
            "scenarios/main.cpp": 'std::getenv("COLUMNS"); std::unordered_map<int, int> m;\n',
            "sim/b.cpp": "int strand(int); int operand = strand(1'000); ascii_puts_(1);\n"})

    def test_names(self):
        for path in ("core/utils.h", "sim/link_helpers.cpp", "scenarios/common/a.yaml",
                     "tests/manager.py", "core/CamelCase.cpp"):
            self.refuses("names", {path: ""})
        self.accepts("names", {"core/message_plan.cpp": "", "scenarios/nodes/hgx-h100.yaml": ""})

    def test_types(self):
        self.refuses("types", {"core/a.h": "struct Port {\n};\n",
                               "sim/b.h": "class Port final : public A {\n};\n"},
                     "sim/b.h:1: Port is a type of core/a.h too")
        self.accepts("types", {"core/a.h": "struct Port {\n};\nstruct Other;\n",
                               "sim/b.h": "struct Other {\n};\nstruct Port;\n"})

    def test_root(self):
        self.refuses("root", {"notes.md": "", "core/a.h": ""}, "notes.md")
        self.accepts("root", {"README.md": "", ".ci/run": "", "tests/run.sh": ""})

    def test_machine_paths(self):
        place = "/ho" + "me/somebody/gradhaul"
        self.refuses("machine paths", {"scenarios/run.sh": f"cd {place}\n"}, place[:9])
        self.accepts("machine paths", {"scenarios/run.sh": "cd ../home/a; cat /etc/os-release\n"})

    def test_scenario_files(self):
        good = {"scenarios/a.yaml": "scenario: a\nquestion: How long?\ncluster: {network: ndr}\n",
                "scenarios/networks/ndr.yaml": "kind: infiniband\n", "README.md": "predict a\n"}
        self.accepts("scenario files", good)
        self.refuses("scenario files", {**good, "scenarios/networks/edr.yaml": ""}, "edr")
        self.refuses("scenario files", {**good, "README.md": ""}, "nothing uses or tests a")
        self.refuses("scenario files",
                     {**good, "scenarios/a.yaml": good["scenarios/a.yaml"].replace(": a", ": b")},
                     "not the name")
        self.refuses("scenario files",
                     {**good, "scenarios/a.yaml": good["scenarios/a.yaml"].replace("quest", "x")},
                     "question")

    @unittest.skipIf(not source_tree.shutil.which("clang-format"), "clang-format is not installed")
    def test_format(self):
        style = {".clang-format": "BasedOnStyle: Google\n"}
        self.accepts("format", {**style, "core/a.cpp": "int a = 1;\n"})
        if CHECKS["format"](Tree(ROOT)) is not None:
            found = self.problems(CHECKS["format"], {**style, "core/a.cpp": "int  a=1;\n"})
            self.assertTrue(not found or "core/a.cpp:1" in found[0], found)

    def test_lone_headers(self):
        check = lone_headers.check_lone_headers
        found = self.problems(check, {"core/a.h": "#pragma once\nstd::string f();\n"})
        self.assertEqual(1, len(found), found)
        self.assertIn("core/a.h", found[0])
        good = {"core/a.h": "#pragma once\n#include <string>\nstd::string f();\n"}
        self.assertEqual([], self.problems(check, good))

    def test_a_header_that_its_source_includes_first_is_compiled_there(self):
        header = {"core/a.h": "#pragma once\nstd::string f();\n"}
        check = lone_headers.check_lone_headers
        first = {**header, "core/a.cpp": '#include "core/a.h"\n#include <string>\n'}
        self.assertEqual([], self.problems(check, first))
        later = {**header, "core/a.cpp": '#include <string>\n#include "core/a.h"\n'}
        self.assertEqual(1, len(self.problems(check, later)))

    def test_a_header_is_compiled_again_when_what_it_includes_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            root, cache = Path(folder) / "tree", Path(folder) / "cache"
            (root / "core").mkdir(parents=True)
            (root / "core/a.h").write_text("#pragma once\nusing A = int;\n", encoding="utf-8")
            (root / "core/b.h").write_text('#pragma once\n#include "core/a.h"\nA f();\n',
                                           encoding="utf-8")
            self.assertEqual([], lone_headers.check_lone_headers(Tree(root), cache))
            with mock.patch.object(lone_headers, "compile_alone") as compile_alone:
                self.assertEqual([], lone_headers.check_lone_headers(Tree(root), cache))
                compile_alone.assert_not_called()
            (root / "core/a.h").write_text("#pragma once\n", encoding="utf-8")
            found = lone_headers.check_lone_headers(Tree(root), cache)
            self.assertEqual(1, len(found), found)
            self.assertIn("core/b.h", found[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--cache")
    options, rest = parser.parse_known_args()
    CACHE = options.cache
    unittest.main(argv=[sys.argv[0], *rest])
