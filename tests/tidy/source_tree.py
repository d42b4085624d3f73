"""The rules of the house that a compiler does not know: who may include whom, lengths, names,
banned calls, what may lie where. Each check takes a Tree and returns problems, each as
"path:line: what is wrong".
"""

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT_MAY_HOLD = {
    ".ci", ".clang-format", ".clang-tidy", ".gitattributes", ".gitignore", "CMakeLists.txt",
    "CMakePresets.json", "LICENSE", "README.md", "analysis", "backends", "core", "scenarios", "sim",
    "tests",
}
FOLDERS = ("core", "sim", "backends", "analysis", "scenarios", "tests")
CPP = (".h", ".cpp", ".inl", ".cu")
TEXT = CPP + (".py", ".sh", ".cmake", ".txt")

# Who may include whom: the folder of a file, then the folders of its quoted includes.
MAY_INCLUDE = {
    "core": {"core"},
    "sim": {"core", "sim"},
    "backends": {"core", "backends"},
    "analysis": {"core", "analysis"},
    "scenarios": {"core", "scenarios"},
    "tests": set(FOLDERS),
}
# Libraries by the start of their headers' paths, and who may include them.
LIBRARIES = {
    "simgrid/": {"simgrid_bridge"},
    "xbt/": {"simgrid_bridge"},
    "fmt/": {"analysis", "scenarios", "composition", "tests"},
    "nlohmann/": {"analysis", "scenarios", "composition", "tests"},
    "yaml-cpp/": {"scenarios", "composition", "tests"},
    "CLI/": {"composition"},
    "gtest/": {"tests"},
    "gmock/": {"tests"},
    "benchmark/": {"tests"},
    "ns3/": {"tests"},
    "infiniband/": {"backends", "tests"},  # a fake of the library has its structs
    "cuda": {"backends"},
}
# System headers (<unistd.h>, <sys/stat.h>) stay out of what has to run the same everywhere.
NO_SYSTEM_HEADERS = {"core", "sim"}
# The part of the simulator that says what a run cost; no time of the model comes from it.
MAY_ASK_THE_SYSTEM = {"sim/run_cost.cpp", "sim/run_cost.h"}

BANNED_NAMES = {"utils", "util", "common", "helper", "helpers", "manager", "impl", "misc"}
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|work|Users|mnt|workspace)/[\w.-]+")


class Tree:
    """Files of a source tree: those git knows or would add; without git, all that is not built."""

    def __init__(self, root):
        self.root = Path(root)
        self.files = sorted(self._git_files() or self._walked_files())

    def _git_files(self):
        if not (self.root / ".git").exists() or not shutil.which("git"):
            return []
        listed = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-coz", "--exclude-standard"],
            capture_output=True, text=True, check=False).stdout
        return [path for path in listed.split("\0") if path and (self.root / path).is_file()]

    def _walked_files(self):
        found = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders
                          if name not in (".git", "__pycache__") and not name.startswith("build")]
            found += [str((Path(folder) / name).relative_to(self.root)) for name in files]
        return found

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def of(self, *suffixes):
        return [path for path in self.files if path.endswith(suffixes)]


def strip_code(text):
    """Comments, strings and character literals blanked out, lines kept."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def without_directives(code):
    """Preprocessor lines blanked out, lines kept."""
    return re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*$", lambda match: re.sub(r".", " ", match.group()),
                  code)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(tree, path):
    pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
    text = tree.text(path)
    for match in pattern.finditer(text):
        yield line_of(text, match.start()), match.group(1) == '"', match.group(2)


def role(path):
    """The folder of a file, or the part of it that has rights of its own."""
    folder, name = path.split("/")[0], Path(path).stem
    if folder == "sim" and name in ("simgrid_bridge", "flow_solver"):
        return "simgrid_bridge"
    if folder == "scenarios" and (name in ("main", "command_line") or name.endswith("_command")):
        return "composition"
    return folder


def check_layers(tree):
    problems = []
    for path in tree.of(*CPP):
        who = role(path)
        allowed = set(FOLDERS) - {"tests"} if who == "composition" else MAY_INCLUDE.get(
            path.split("/")[0], set())
        for line, quoted, target in includes(tree, path):
            if quoted:
                if target.startswith(tuple(LIBRARIES)):
                    problems.append(f"{path}:{line}: <{target}> is a library's, not ours")
                elif target.split("/")[0] not in allowed:
                    problems.append(f"{path}:{line}: {who} may not include {target}")
                elif not (tree.root / target).exists():
                    problems.append(f"{path}:{line}: there is no {target} in the tree")
                continue
            library = next((name for name in LIBRARIES if target.startswith(name)), None)
            if library and who not in LIBRARIES[library]:
                problems.append(f"{path}:{line}: {who} may not include <{target}>")
            elif not library and who in NO_SYSTEM_HEADERS and "." in target and (
                    path not in MAY_ASK_THE_SYSTEM):
                problems.append(f"{path}:{line}: {who} includes the standard library alone, "
                                f"not <{target}>")
    return problems


def check_composition(tree):
    """Nobody includes what composes but what composes."""
    problems = []
    for path in tree.of(*CPP):
        for line, quoted, target in includes(tree, path):
            below = role(path) not in ("composition", "tests")
            if quoted and below and role(target) == "composition":
                problems.append(f"{path}:{line}: {target} composes; nothing below includes it")
    return problems


def check_pragma_once(tree):
    return [f"{path}:1: a header begins with #pragma once"
            for path in tree.of(".h") if not tree.text(path).startswith("#pragma once\n")]


def check_lengths(tree):
    problems = []
    for path in tree.of(*TEXT):
        text = tree.text(path)
        most = 600 if path.startswith("tests/") else 400
        lines = text.count("\n")
        if lines > most:
            problems.append(f"{path}:{lines}: {lines} lines, at most {most}")
        if path.startswith("tests/golden/"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > 100:
                problems.append(f"{path}:{number}: {len(line)} columns, at most 100")
    return problems


def function_bodies(code):
    """(line, lines) of each function body in stripped code, with its nested blocks and lambdas."""
    head, blocks, bodies = 0, [], []
    for match in re.finditer(r"[{};]", code):
        token, offset = match.group(), match.start()
        if token == "{":
            blocks.append((block_kind(code[head:offset], blocks), offset))
            if blocks[-1][0] == "initializer":
                continue
        elif token == "}" and blocks:
            kind, start = blocks.pop()
            if kind == "initializer":
                continue
            if kind == "function":
                bodies.append((line_of(code, start), code.count("\n", start, offset)))
        head = offset + 1
    return bodies


def block_kind(head, blocks):
    """What the brace after `head` opens."""
    if any(kind == "function" for kind, _ in blocks):
        return "inner"
    # `A() : b_{1} {`: the first brace is a member's, the second the body's.
    if re.search(r"\)[\s\w]*:(?!:).*[\w>]\s*$", head, re.S):
        return "initializer"
    is_type = re.search(r"\b(namespace|class|struct|union|enum|extern)\b", head)
    return "function" if "(" in head and not (is_type and ")" not in head) else "scope"


def check_functions(tree):
    problems = []
    for path in tree.of(*CPP):
        for line, lines in function_bodies(without_directives(strip_code(tree.text(path)))):
            if lines > 60:
                problems.append(f"{path}:{line}: a function of {lines} lines, at most 60")
    for path in tree.of(".py"):
        for node in ast.walk(ast.parse(tree.text(path))):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 60:
                problems.append(f"{path}:{node.lineno}: {node.name} has more than 60 lines")
    return problems


# (what is banned, where it is: a test of the path, why)
BANS = [
    (r"\bs?rand\s*\(|\brandom_device\b", lambda path: True, "nobody can repeat that draw"),
    (r"\bmt19937(_64)?\b", lambda path: not path.startswith("tests/"),
     "random draws are hashes of seed, place and counter"),
    (r"\b(system|steady|high_resolution)_clock\b|\b(clock_gettime|gettimeofday)\b",
     lambda path: path.startswith(("core/", "sim/")) and path not in MAY_ASK_THE_SYSTEM,
     "no clock in what decides"),
    (r"\bunordered_(multi)?(map|set)\b", lambda path: path.startswith(("core/", "sim/")),
     "no unordered container in what decides"),
    (r"\b(secure_)?getenv\s*\(",
     lambda path: not path.startswith("tests/") and path != "scenarios/main.cpp",
     "nothing below main reads the environment"),
    (r"\bstd::(cout|cerr|clog)\b|\b(f?printf|f?puts|putchar)\s*\(",
     lambda path: path.startswith(("core/", "sim/")) and path != "core/assert.cpp",
     "what decides prints nothing"),
    (r"\bshared_ptr\b(?!<const\b)", lambda path: role(path) not in ("tests", "simgrid_bridge"),
     "only what never changes may be held by several"),
    (r"\busing\s+namespace\s+std\s*;", lambda path: True, "names of std are spelled out"),
    (r"(?m)^[ \t]*#[ \t]*define[ \t]+(?!GRADHAUL_)", lambda path: True,
     "a macro begins with GRADHAUL_"),
    (r"(?<![:\w])assert\s*\(", lambda path: True, "GRADHAUL_ASSERT is on in every build type"),
]


def check_bans(tree):
    problems = []
    for path in tree.of(*CPP):
        code = strip_code(tree.text(path))
        for pattern, applies, why in BANS:
            if not applies(path):
                continue
            for match in re.finditer(pattern, code):
                problems.append(f"{path}:{line_of(code, match.start())}: "
                                f"{match.group().strip()} is banned: {why}")
    return problems


def check_names(tree):
    problems = []
    for path in tree.files:
        for part in Path(path).parts:
            words = set(re.split(r"[_.-]", part.lower()))
            if words & BANNED_NAMES:
                problems.append(f"{path}:1: a name that says nothing: {part}")
        if path.endswith(CPP + (".py",)) and not re.fullmatch(r"[a-z0-9_/]+\.\w+", path):
            problems.append(f"{path}:1: file names are lower_snake_case")
    return problems


def check_types(tree):
    """Two types of one name are one type to the linker, and the wrong one is used."""
    pattern = re.compile(r"^(?:struct|class|enum class) (?:alignas\(\w+\) )?(\w+)[^;{]*\{", re.M)
    first, problems = {}, []
    for path in tree.of(".h"):
        if path.startswith("tests/"):
            continue
        code = without_directives(strip_code(tree.text(path)))
        for match in pattern.finditer(code):
            name = match.group(1)
            if name in first:
                problems.append(f"{path}:{line_of(code, match.start())}: {name} is a type of "
                                f"{first[name]} too")
            first.setdefault(name, path)
    return problems


def check_root(tree):
    held = {Path(path).parts[0] for path in tree.files}
    return [f"{name}:1: does not belong in the root" for name in sorted(held - ROOT_MAY_HOLD)]


def check_machine_paths(tree):
    problems = []
    for path in tree.files:
        if path == "tests/tidy/source_tree.py":
            continue
        text = tree.text(path)
        for match in MACHINE_PATH.finditer(text):
            problems.append(f"{path}:{line_of(text, match.start())}: "
                            f"a path of one machine: {match.group()}")
    return problems


def check_scenario_files(tree):
    """Every shipped file is used by another, or by the README, the tests or the scripts; a scenario
    bears the name of its file and asks a question."""
    shipped = [path for path in tree.files
               if re.fullmatch(r"scenarios/((devices|nodes|networks)/)?[\w.-]+\.yaml", path)]
    texts = {path: tree.text(path) for path in tree.files
             if path.startswith(("scenarios/", "tests/")) or path == "README.md"
             if path.endswith(CPP + (".yaml", ".md", ".sh", ".py"))}
    # A test that walks the folder loads all of them.
    walked = any("directory_iterator" in text and "GRADHAUL_SCENARIOS" in text
                 for path, text in texts.items() if path.startswith("tests/"))
    problems = []
    for path in shipped:
        name = Path(path).stem
        word = re.compile(r"(?<![\w-])" + re.escape(name) + r"(?![\w-])")
        named = any(word.search(text) for other, text in texts.items() if other != path)
        if not walked and not named:
            problems.append(f"{path}:1: nothing uses or tests {name}")
        if path.count("/") > 1:
            continue
        if not re.search(r"(?m)^scenario:\s*" + re.escape(name) + r"\s*(#|$)", texts[path]):
            problems.append(f"{path}:1: `scenario:` is not the name of the file, {name}")
        if not re.search(r"(?m)^question:\s*\S", texts[path]):
            problems.append(f"{path}:1: no `question:`")
    return problems


def check_format(tree):
    """Nothing to say where clang-format is missing, or another release than Debian 12's."""
    program = shutil.which("clang-format")
    if not program:
        return []
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if "version 14." not in version.stdout:
        return []
    files = [str(tree.root / path) for path in tree.of(".h", ".cpp", ".inl")]
    style = f"--style=file:{tree.root / '.clang-format'}"
    problems = []
    for start in range(0, len(files), 50):
        result = subprocess.run([program, style, "--dry-run", *files[start:start + 50]],
                                capture_output=True, text=True, check=False)
        lines = re.findall(r"^(\S+?:\d+):\d+: warning:", result.stderr, re.M)
        problems += [f"{os.path.relpath(line, tree.root)}: not as clang-format has it"
                     for line in dict.fromkeys(lines)]
    return problems


CHECKS = {
    "layers": check_layers,
    "composition": check_composition,
    "pragma once": check_pragma_once,
    "lengths": check_lengths,
    "functions": check_functions,
    "bans": check_bans,
    "names": check_names,
    "types": check_types,
    "root": check_root,
    "machine paths": check_machine_paths,
    "scenario files": check_scenario_files,
    "format": check_format,
}
