#!/usr/bin/env python3
"""Applies the mutants of list.txt one after the other, runs the tests that should notice, restores the file, and says what became of each.

    tools/mutants/run.py [--check] [NAME ...]      all of them, or those whose names contain a NAME; --check only looks whether they apply

A mutant is noticed if a test fails or the program no longer builds (`unbuilt`), and survives if all tests pass. One of a target is judged by that
target's tests, one of what targets share by the tests of all of them.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def mutants():
    text = (ROOT / "tools/mutants/list.txt").read_text()
    for part in text.split("\n## ")[1:]:
        head, rest = part.split("\n<<<\n", 1)
        old, rest = rest.split("\n===\n", 1)
        new = rest.split("\n>>>", 1)[0]
        lines = head.split("\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        yield lines[0], ROOT / fields["file"], fields["tests"].split(), old, new


def packages(file, tests):
    """The packages whose tests see a file, by cargo's options."""
    shared = ["ir", "lower", "regalloc", "emit", "targets/tesla", "targets/r700", "targets/usse", "targets/pica"]
    folder = "/".join(file.relative_to(ROOT).parts[:2])
    seen = [folder] if folder.startswith("targets/") else shared
    # Tests of the command stand there alone.
    alone = [t for t in tests if t != "lib" and not any((ROOT / s / f"tests/{t}.rs").exists() for s in seen)]
    names = ["retroshade-" + s.split("/")[-1] for s in seen] + (["retroshade"] if alone else [])
    return [x for name in names for x in ("-p", name)]


def verdict(file, tests):
    unit = ["--lib"] if "lib" in tests else []
    named = [x for t in tests if t != "lib" for x in ("--test", t)]
    cargo = ["cargo", "test", *packages(file, tests)]
    runs = [[*cargo, *unit]] if unit else []
    runs += [[*cargo, *named]] if named else []
    for run in runs:
        if subprocess.run([*run, "--no-run"], cwd=ROOT, capture_output=True).returncode:
            return "unbuilt"
        if subprocess.run(run, cwd=ROOT, capture_output=True).returncode:
            return "noticed"
    return "survived"


def main(arguments):
    only = [a for a in arguments if not a.startswith("--")]
    counts = {}
    for name, file, tests, old, new in mutants():
        if only and not any(o in name for o in only):
            continue
        source = file.read_text()
        if source.count(old) != 1:
            found = "does not apply"
        elif "--check" in arguments:
            found = "applies"
        else:
            try:
                file.write_text(source.replace(old, new))
                found = verdict(file, tests)
            finally:
                file.write_text(source)
        counts[found] = counts.get(found, 0) + 1
        print(f"{name}: {found}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return any(counts.get(bad) for bad in ("survived", "does not apply"))


sys.exit(main(sys.argv[1:]))
