"""Pictures know every cause and kind of resource that the program's report has words for."""

import re
import unittest
from pathlib import Path

import resource_names

ANALYSIS = Path(__file__).parents[2] / "analysis"


def told_by_program(file, function):
    """The names of the table of words in that function."""
    body = (ANALYSIS / file).read_text().partition(f"std::string {function}(")[2]
    return set(re.findall(r'\{"([^"]+)",\s*"[^"]+"\}', body.partition("\n}\n")[0]))


class WordsOfTheProgram(unittest.TestCase):
    def test_every_cause_has_words(self):
        causes = told_by_program("time_parts.cpp", "cause_in_words")
        self.assertIn("busy", causes)
        self.assertEqual(causes - set(resource_names.CAUSES), set())

    def test_every_kind_has_words(self):
        kinds = told_by_program("resource_group.cpp", "kind_in_words")
        self.assertIn("nic", kinds)
        self.assertEqual(kinds - set(resource_names.KINDS), set())


if __name__ == "__main__":
    unittest.main()
