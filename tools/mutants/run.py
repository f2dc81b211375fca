#!/usr/bin/env python3
"""Applies the mutants of list.txt one after the other, runs the tests that should notice, restores the file, and says what became of each.

    tools/mutants/run.py [--again] [NAME ...]    all that have no result yet, or those whose names contain a NAME; --again: also those that have one
    tools/mutants/run.py --quick [NAME ...]      only what is built of few packages; mutants that pass it stay open for the next run
    tools/mutants/run.py --report                what is known so far, area by area

A mutant is noticed if a test fails (or does not end: `noticed by the time limit`), `unbuilt` if the program no longer builds, and survives if all
tests pass. First run the tests named beside it, package after package, the cheap ones first; if they pass, all tests of the packages that see the
file and the filetests. Packages are built alone (`-p`), so that each has one set of features and only what depends on the mutant is built again;
random programs are few in the first round and more in the second. Each command runs once on the unchanged program first: it must pass there,
and how long it took bounds how long it may take on a mutant. Results stand in `mutants.jsonl` of the target directory, by the mutant's text.

Nothing else may build or edit in this work tree meanwhile. Results are best with CARGO_PROFILE_TEST_OPT_LEVEL=1: the build is as short as
without optimisation, the tests five times as fast.
"""
import hashlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ["ir", "emit", "regalloc", "lower"]
TARGETS = ["tesla", "r700", "usse", "pica"]
# Programs of the first round and of the second, for each random test; Tesla's compile in a fraction of the others' time.
FEW, MORE = 60, 300
FACTOR = {"tesla": 6, "r700": 2, "pica": 4}
# These make random programs and compile none.
NOT_COMPILING = {("lower", "random")}


def mutants():
    text = (ROOT / "tools/mutants/list.txt").read_text()
    for part in text.split("\n## ")[1:]:
        head, rest = part.split("\n<<<\n", 1)
        old, rest = rest.split("\n===\n", 1)
        new = rest.split("\n>>>", 1)[0]
        lines = head.split("\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        yield lines[0], fields["file"], fields["tests"].split(), old, new


def folder(package):
    return f"targets/{package}" if package in TARGETS else package


def has(package, test):
    path = ROOT / folder(package) / "tests"
    return (package, test) not in NOT_COMPILING and ((path / f"{test}.rs").exists() or (path / test / "main.rs").exists())


def area(file):
    parts = file.split("/")
    return "/".join(parts[:2] if parts[0] == "targets" else parts[:1])


def options(packages):
    return [x for p in packages for x in ("-p", f"retroshade-{p}")]


def commands(file, tests):
    """Cargo's options, one after the other: the named tests, then everything that sees the file."""
    target = file.split("/")[1] if file.startswith("targets/") else None
    groups = [[target]] if target else [SHARED]
    groups += [["filetests"]] + ([] if target else [[t] for t in TARGETS])
    left = list(tests)
    for packages in groups:
        # Unit tests stand where the file is.
        if "lib" in tests and packages == groups[0]:
            yield [*options([target or area(file)]), "--lib"], FEW
        for t in tests:
            having = [p for p in packages if has(p, t)]
            if having:
                yield [*options(having), "--test", t], FEW
                left = [x for x in left if x != t]
    # Of a target the filetests come before long random runs.
    for packages in reversed(groups) if target else groups:
        if packages == SHARED:
            everything = ["--lib", "--test", "passes", "--test", "toy", "--test", "structure", "--test", "bind", "--test", "reflect"]
        elif packages == ["filetests"]:
            everything = ["--test", "filetests"]
        else:
            everything = ["--lib", "--tests"]
        yield options(packages) + everything, MORE
    # Tests of the command stand last: it is built of everything.
    for t in left:
        if t != "lib":
            yield ["-p", "retroshade", "--test", t], FEW


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def run(options, programs, limit):
    """`unbuilt: WHY`, `passed`, `failed: TEST` or `time limit`, and the seconds that the tests took."""
    env = {**os.environ, "CARGO_TERM_QUIET": "false", "CARGO_TERM_COLOR": "never", "RETROSHADE_REDUCE": "0"}
    if "random" in options or programs == MORE:
        env["RETROSHADE_RANDOM"] = str(programs * FACTOR.get(options[1].removeprefix("retroshade-"), 1))
    build = subprocess.run(["cargo", "test", *options, "--no-run"], cwd=ROOT, env=env, capture_output=True, text=True)
    if build.returncode:
        errors = [line for line in build.stderr.splitlines() if line.startswith("error")]
        return "unbuilt: " + (errors or [f"cargo ended with {build.returncode}"])[0], 0
    start = time.monotonic()
    process = subprocess.Popen(
        ["cargo", "test", *options], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    pipe, rest = process.stdout.fileno(), b""
    try:
        while True:
            left = limit - (time.monotonic() - start)
            if left <= 0:
                return "time limit", limit
            if not select.select([pipe], [], [], left)[0]:
                continue
            data = os.read(pipe, 1 << 16)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                # The first failure will do.
                if line.startswith(b"test ") and line.rstrip().endswith(b"FAILED"):
                    return "failed: " + line.decode(errors="replace").split()[1], time.monotonic() - start
        code = process.wait()
        return ("failed: (process)" if code else "passed"), time.monotonic() - start
    finally:
        end(process)


class Results:
    def __init__(self):
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        self.path = target / "mutants.jsonl"
        self.known = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                r = json.loads(line)
                self.known[r["key"]] = r

    def put(self, **result):
        self.known[result["key"]] = result
        with self.path.open("a") as f:
            f.write(json.dumps(result) + "\n")

    def limit(self, options, programs):
        """How long the tests may take: some times what they take on the unchanged program."""
        key = f"unchanged {programs} {' '.join(options)}"
        if key not in self.known:
            what, seconds = run(options, programs, 1800)
            if what != "passed":
                sys.exit(f"on the unchanged program: {what}: cargo test {' '.join(options)}")
            self.put(key=key, seconds=round(seconds, 1))
        return 30 + 4 * self.known[key]["seconds"]


def key(file, old, new):
    return hashlib.sha256("\0".join([file, old, new]).encode()).hexdigest()[:16]


def verdict(results, file, tests, old, new, quick, opened):
    path = ROOT / file
    # The first round need not be run again, and may be all that is wanted.
    own = SHARED if area(file) in SHARED else [file.split("/")[1]]
    wide = lambda c: c[1] == MORE or c[0][1].removeprefix("retroshade-") not in own
    todo = [c for c in commands(file, tests) if wide(c) and not quick or not wide(c) and not opened]
    source = path.read_text()
    if source.count(old) != 1:
        return "does not apply", ""
    for options, programs in todo:
        limit = results.limit(options, programs)
        try:
            path.write_text(source.replace(old, new))
            what, _ = run(options, programs, limit)
        finally:
            path.write_text(source)
        if what.startswith("unbuilt"):
            return "unbuilt", what
        if what != "passed":
            return "noticed", f"{what} ({' '.join(options)})"
    return ("open" if quick else "survived"), ""


def report(results):
    areas = {}
    for name, file, _, old, new in mutants():
        r = results.known.get(key(file, old, new))
        counts = areas.setdefault(area(file), {})
        found = r["found"] if r else "not run"
        counts[found] = counts.get(found, 0) + 1
        if found not in ("noticed", "not run"):
            print(f"{name}: {found}")
    columns = ["noticed", "survived", "unbuilt", "does not apply", "open", "not run"]
    print("| area | mutants | " + " | ".join(columns) + " |")
    total = {}
    for a, counts in [*sorted(areas.items()), ("all", total)]:
        print(f"| {a} | {sum(counts.values())} | " + " | ".join(str(counts.get(c, 0)) for c in columns) + " |")
        for c, n in counts.items() if counts is not total else ():
            total[c] = total.get(c, 0) + n
    return any(total.get(c) for c in columns[1:])


def main(arguments):
    results = Results()
    only, quick = [a for a in arguments if not a.startswith("--")], "--quick" in arguments
    if "--report" in arguments:
        return report(results)
    # So that a run that is ended restores its file.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    for name, file, tests, old, new in mutants():
        k = key(file, old, new)
        known = None if "--again" in arguments else results.known.get(k, {}).get("found")
        if only and not any(o in name for o in only) or known and (known != "open" or quick):
            continue
        start = time.monotonic()
        found, how = verdict(results, file, tests, old, new, quick, known == "open")
        seconds = round(time.monotonic() - start)
        results.put(key=k, name=name, found=found, how=how, seconds=seconds)
        print(f"{name}: {found} {how} [{seconds} s]", flush=True)
    return report(results)


sys.exit(main(sys.argv[1:]))
