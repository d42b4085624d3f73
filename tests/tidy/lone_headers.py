"""Does every header compile alone? One that its own .cpp includes before anything else did so when
that was built, and is left out here (where large headers are precompiled, missing ones of these go
unnoticed; where there is a cache of compiled files nothing is precompiled). A header that passed is
not compiled again until it, or one of the tree's headers that it includes, has changed."""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source_tree import includes

# Enough for headers that name them; programs are given true ones when they are built.
DEFINES = ["-DGRADHAUL_SOURCE=\"\"", "-DGRADHAUL_SCENARIOS=\"\"", "-DGRADHAUL_PROGRAM=\"\"",
           "-DGRADHAUL_VERSION=\"\""]
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wno-sign-conversion",
         "-Werror", "-fsyntax-only"]


def closure(tree, header):
    """The header and all of the tree's headers that it includes."""
    seen, pending = set(), [header]
    while pending:
        path = pending.pop()
        if path in seen or not (tree.root / path).exists():
            continue
        seen.add(path)
        pending += [target for _, quoted, target in includes(tree, path) if quoted]
    return sorted(seen)


def fingerprint(tree, header, version):
    digest = hashlib.sha256(" ".join([version, header, *FLAGS]).encode())
    for path in closure(tree, header):
        digest.update(path.encode() + b"\0" + (tree.root / path).read_bytes())
    return digest.hexdigest()


def compile_alone(tree, header, compiler):
    result = subprocess.run(
        [compiler, *FLAGS, *DEFINES, f"-I{tree.root}", "-include", str(tree.root / header), "-x",
         "c++", os.devnull], capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return None
    first = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr)
    return f"{header}:1: does not compile alone: {first}"


def is_proven_by_its_source(tree, header):
    source = header[:-2] + ".cpp"
    if not (tree.root / source).exists():
        return False
    return next(((quoted, target) for _, quoted, target in includes(tree, source)),
                None) == (True, header)


def check_lone_headers(tree, cache=None, compiler="g++", jobs=2):
    cache = Path(cache) if cache else None
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True,
                             check=True).stdout
    if cache:
        cache.mkdir(parents=True, exist_ok=True)

    def check(header):
        mark = cache / fingerprint(tree, header, version) if cache else None
        if mark and mark.exists():
            return None
        problem = compile_alone(tree, header, compiler)
        if mark and not problem:
            mark.touch()
        return problem

    left = [header for header in tree.of(".h") if not is_proven_by_its_source(tree, header)]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return [problem for problem in pool.map(check, left) if problem]
