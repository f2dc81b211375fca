#!/usr/bin/env python3
"""Counts the instructions that shaderc takes for ten programs on each machine, and compares them with totals.tsv.

    tools/callgrind/run.py SHADERC [--bless]

Needs valgrind. The counts hold for one build of one compiler on one system: they repeat there within half a hundredth (the allocator draws
random numbers), whatever else it does, and are close to that elsewhere. Prints what changed by more than a hundredth and the sums; --bless writes the table. Use the release build.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tools/callgrind/totals.tsv"
TARGETS = ["tesla", "usse", "r700", "pica"]
PROGRAMS = [
    "examples/mvp.ir",
    "examples/skinning.ir",
    "examples/lit.ir",
    "examples/blur.ir",
    "examples/noise.ir",
    "examples/mandelbrot.ir",
    "examples/wireframe.ir",
    "examples/fog.wgsl",
    "examples/gallery/water.wgsl",
    "examples/gallery/relief.wgsl",
]


def count(shaderc, program, target):
    """Instructions of the whole process; None where the machine has no code for the program."""
    command = [shaderc, "--target", target, program, "-o", "/dev/null"]
    if subprocess.run(command, cwd=ROOT, capture_output=True).returncode:
        return None
    run = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    found = re.search(r"Collected : (\d+)", subprocess.run(run, cwd=ROOT, capture_output=True, text=True).stderr)
    return int(found.group(1))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--bless"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    shaderc = str(pathlib.Path(arguments[0]).resolve())
    old = {}
    if TABLE.exists():
        for line in TABLE.read_text().splitlines()[1:]:
            program, target, n = line.split("\t")
            old[program, target] = int(n)
    new = {(p, t): n for p in PROGRAMS for t in TARGETS if (n := count(shaderc, p, t))}
    for key, n in new.items():
        before = old.get(key)
        if before and abs(n - before) > before / 100:
            print(f"{key[0]} on {key[1]}: {before / 1e6:.1f} to {n / 1e6:.1f} million")
    for target in TARGETS:
        both = [k for k in new if k[1] == target and k in old]
        before, now = sum(old[k] for k in both), sum(new[k] for k in both)
        total = sum(n for k, n in new.items() if k[1] == target)
        change = f", {100 * (now - before) / before:+.1f} %" if before else ""
        print(f"{target}: {sum(k[1] == target for k in new)} programs, {total / 1e6:.0f} million instructions{change}")
    if "--bless" in sys.argv:
        rows = "".join(f"{p}\t{t}\t{n}\n" for (p, t), n in new.items())
        TABLE.write_text("program\tmachine\tinstructions\n" + rows)


main()
