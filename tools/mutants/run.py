#!/usr/bin/env python3
"""Runs the mutants of list.txt and says what became of each.

    tools/mutants/run.py [--again] [NAME ...]    all that are not settled yet, or those whose names contain a NAME; --again: also settled ones
    tools/mutants/run.py --quick [NAME ...]      only the tests of the packages nearest to the file; mutants that pass them stay open
    tools/mutants/run.py --alone [NAME ...]      only those that have to be built alone; --switched: only the others
    tools/mutants/run.py --report                what is known so far, area by area

All mutants are built into one program: a copy of the work tree (in the target directory, so that nothing here is touched), in which the body of a
function with mutants stands once as it is and once for each of them, and the environment variable MUTANT says which of them runs. So the tests are
built once, and a mutant costs what the tests take until the first fails. What cannot be switched this way (tables, constant functions) is applied
alone and built for itself.

Every test program runs on the unchanged code first: it must pass there, how long it took bounds how long it may take on a mutant, and it notes which
functions with mutants it calls, so that nobody waits for tests that cannot notice. A mutant is noticed if a test fails (or does not end: `noticed by
the time limit`), `unbuilt` if the program no longer builds, and survives if all tests pass. The tests named beside it run first, then those of the
packages nearest to it, the quick ones first; then all others, with more random programs. Results stand in `mutants.jsonl` of the target directory,
by the mutant's text. They are best with CARGO_PROFILE_TEST_OPT_LEVEL=1, and in a target directory of their own: the copy would make the work tree's
be built anew.
"""
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target/mutants")).resolve()
TREE = TARGET / "mutants-tree"
# Packages without tests that see the compiler stay out: they only take time to build.
PACKAGES = ["ir", "emit", "regalloc", "lower", "tesla", "r700", "usse", "pica", "frontend", "filetests", ""]
TARGETS = ["tesla", "r700", "usse", "pica"]
# Programs of the first round and of the second, for each random test; Tesla's compile in a fraction of the others' time.
FEW, MORE = 60, 300
FACTOR = {"tesla": 6, "r700": 2, "pica": 4}
# Tables of sizes notice what makes code longer, wrong or not: they stand last.
SIZES = {"density", "tesla_density", "r700_density", "breadth_sizes", "density_page"}
SWITCH = """
/// Which mutant runs (`MUTANT`), and which are asked for (a file for each in the folder `MUTANTS_ASKED`).
pub(crate) mod mutant {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static CHOSEN: OnceLock<(usize, Option<String>)> = OnceLock::new();
    static ASKED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

    pub(crate) fn on(n: usize) -> bool {
        let (chosen, folder) = CHOSEN.get_or_init(|| {
            let number = std::env::var("MUTANT").ok().and_then(|v| v.parse().ok());
            (number.unwrap_or(usize::MAX), std::env::var("MUTANTS_ASKED").ok())
        });
        if let Some(folder) = folder
            && !ASKED[n].load(Ordering::Relaxed)
            && !ASKED[n].swap(true, Ordering::Relaxed)
        {
            let _ = std::fs::write(format!("{folder}/{n}"), "");
        }
        n == *chosen
    }
}
"""


class Mutant:
    def __init__(self, number, part):
        head, rest = part.split("\n<<<\n", 1)
        self.old, rest = rest.split("\n===\n", 1)
        self.new = rest.split("\n>>>", 1)[0]
        lines = head.split("\n")
        fields = dict(line.split(": ", 1) for line in lines[1:])
        self.number, self.name, self.file, self.tests = number, lines[0], fields["file"], fields["tests"].split()
        self.key = hashlib.sha256("\0".join([self.file, self.old, self.new]).encode()).hexdigest()[:16]
        parts = self.file.split("/")
        self.area = "/".join(parts[:2] if parts[0] == "targets" else parts[:1])
        self.package = parts[1] if parts[0] == "targets" else parts[0]


def mutants():
    text = (ROOT / "tools/mutants/list.txt").read_text()
    return [Mutant(n, part) for n, part in enumerate(text.split("\n## ")[1:])]


# Switches.


def plain(text):
    """The text with comments, strings and characters blanked."""
    noise = r"""//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']*|[^\\'\n])'"""
    return re.sub(noise, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def body(code, at):
    """Where the body of the innermost function around `at` begins and ends; none if there is none that may stand twice."""
    found = None
    for m in re.finditer(r"\bfn\s+\w+", code[:at]):
        depth, n = 0, m.end()
        while n < len(code) and (depth or code[n] not in "{;"):
            depth += (code[n] in "([") - (code[n] in ")]")
            n += 1
        if code[n : n + 1] != "{":
            continue
        begin, depth = n, 0
        while True:
            depth += (code[n] == "{") - (code[n] == "}")
            n += 1
            if not depth:
                break
        if begin < at < n:
            opaque = re.search(r"->.*\bimpl\b", code[m.start() : begin], re.S)
            found = None if opaque or code[: m.start()].rstrip().endswith("const") else (begin, n)
    return found


def switched(text, some):
    """The file with a switch for each of the mutants; which could not be switched; the lines of each one's body."""
    code, bodies, alone = plain(text), [], []
    for m in some:
        # What really changes: an edge of the text may lie outside the body.
        first = len(os.path.commonprefix([m.old, m.new]))
        last = len(os.path.commonprefix([m.old[first:][::-1], m.new[first:][::-1]]))
        at = text.index(m.old) + first
        span = body(code, at)
        end = at + len(m.old) - first - last
        if not span or end >= span[1]:
            alone.append(m)
        else:
            bodies.append((span, at, end, m.new[first : len(m.new) - last], m))
    outer = lambda s: min((b[0] for b in bodies if b[0][0] <= s[0] and s[1] <= b[0][1]), key=lambda s: s[0])
    groups = {}
    for b in bodies:
        groups.setdefault(outer(b[0]), []).append(b)
    out, done, lines = "", 0, {}
    for (begin, stop), group in sorted(groups.items()):
        out += text[done:begin] + "{ "
        for _, at, end, new, m in group:
            first = out.count("\n") + 1
            out += f"if crate::mutant::on({m.number}) " + text[begin:at] + new + text[end:stop] + " else "
            lines[m.number] = (first, out.count("\n") + 1)
        out += text[begin:stop] + " }"
        done = stop
    return out + text[done:], alone, lines


class Tree:
    """The copy of the work tree with all mutants, and the test programs built of it."""

    def __init__(self, everything):
        self.everything, self.unswitchable, self.programs = everything, set(), []
        while not self.programs:
            self.switch()
            self.programs = self.build()

    def put(self, file, data, mode=0o644):
        path = TREE / file
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)

    def switch(self):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
        files = [f for f in listed.stdout.splitlines() if (ROOT / f).is_file()]
        by_file, self.alone, self.lines, self.copies = {}, [], {}, {}
        for m in self.everything:
            if (ROOT / m.file).read_text().count(m.old) != 1:
                sys.exit(f"{m.name} does not apply")
            by_file.setdefault(m.file, []).append(m)
        crates = {m.file.split("/src/")[0] for m in self.everything}
        for f in files:
            data = (ROOT / f).read_bytes()
            if f in by_file:
                some = [m for m in by_file[f] if m.key not in self.unswitchable]
                self.alone += [m for m in by_file[f] if m.key in self.unswitchable]
                text, alone, self.lines[f] = switched(data.decode(), some)
                self.alone += alone
                data = text.encode()
            if f.removesuffix("/src/lib.rs") in crates and f.endswith("/src/lib.rs"):
                data += SWITCH.replace("COUNT", str(len(self.everything))).encode()
            self.copies[f] = data
            self.put(f, data, (ROOT / f).stat().st_mode & 0o777)
        # What was there before and is no longer.
        for path in TREE.rglob("*"):
            if path.is_file() and str(path.relative_to(TREE)) not in self.copies:
                path.unlink()

    def build(self):
        """The test programs; nothing if mutants had to be taken out, and it must be tried again."""
        options = [x for p in PACKAGES for x in ("-p", f"retroshade-{p}" if p else "retroshade")]
        print("building", flush=True)
        b = subprocess.Popen(
            ["cargo", "test", *options, "--no-run", "--message-format=json"],
            cwd=TREE,
            env={**os.environ, "CARGO_TARGET_DIR": str(TARGET)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        programs, errors, taken = [], [], len(self.unswitchable)
        for line in b.stdout:
            r = json.loads(line) if line.startswith("{") else {}
            if r.get("reason") == "compiler-artifact" and r["profile"]["test"] and r["executable"]:
                programs.append(Program(r))
            if r.get("reason") == "compiler-message" and r["message"]["level"] == "error":
                errors.append(r["message"]["rendered"])
                for s in r["message"]["spans"]:
                    for n, (first, last) in self.lines.get(s["file_name"], {}).items():
                        if first <= s["line_start"] <= last:
                            self.unswitchable.add(self.everything[n].key)
        if b.wait() == 0:
            return programs
        if len(self.unswitchable) == taken:
            sys.exit("does not build:\n" + "\n".join(errors))
        return []

    def applied(self, m):
        """With the mutant alone in its file."""
        self.put(m.file, (ROOT / m.file).read_text().replace(m.old, m.new).encode())

    def restored(self, m):
        self.put(m.file, self.copies[m.file])


class Program:
    """A test program."""

    def __init__(self, artifact):
        manifest = pathlib.Path(artifact["manifest_path"])
        self.folder, self.path = manifest.parent, artifact["executable"]
        self.package = re.search(r'^name = "retroshade-?(.*)"', manifest.read_text(), re.M)[1]
        lib = set(artifact["target"]["kind"]) & {"lib", "rlib", "cdylib"}
        self.test = "lib" if lib else artifact["target"]["name"]

    def programs(self, wide):
        return (MORE if wide else FEW) * FACTOR.get(self.package, 1) if "random" in self.test else 0

    def name(self, wide):
        return f"{self.package or 'retroshade'} {self.test} {self.programs(wide) or ''}".strip()

    def stamp(self):
        """The newest file of the package, what its tests read included."""
        return max((f.stat().st_mtime for f in self.folder.rglob("*") if f.is_file()), default=0)

    def run(self, wide, limit, **variables):
        """`passed`, `failed: TEST` or `time limit`, and the seconds that it took."""
        env = {**os.environ, "CARGO_MANIFEST_DIR": str(self.folder), "RETROSHADE_REDUCE": "0", **variables}
        if self.programs(wide):
            env["RETROSHADE_RANDOM"] = str(self.programs(wide))
        return watched([self.path], self.folder, env, limit)


def watched(command, folder, env, limit):
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
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
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


class Results:
    def __init__(self):
        self.path = TARGET / "mutants.jsonl"
        self.known = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                r = json.loads(line)
                self.known[r["key"]] = r

    def put(self, **result):
        self.known[result["key"]] = result
        with self.path.open("a") as f:
            f.write(json.dumps(result) + "\n")

    def unchanged(self, program, wide, everything):
        """How long it takes on the unchanged program, and the mutants that it calls."""
        key, stamp = "unchanged " + program.name(wide), program.stamp()
        known = self.known.get(key)
        if not known or known["stamp"] != stamp or not {m.key for m in everything} <= set(known["all"]):
            asked = TARGET / "mutants-asked"
            shutil.rmtree(asked, ignore_errors=True)
            asked.mkdir()
            what, seconds = program.run(wide, 1800, MUTANTS_ASKED=str(asked))
            if what != "passed":
                print(f"on the unchanged program, and so left out: {program.name(wide)}: {what}", flush=True)
            else:
                print(f"on the unchanged program: {program.name(wide)}: {seconds:.0f} s", flush=True)
            calls = [everything[int(f.name)].key for f in asked.iterdir()] if what == "passed" else []
            self.put(key=key, stamp=stamp, seconds=round(seconds, 1), calls=sorted(calls), all=[m.key for m in everything])
        return self.known[key]


def near(m, program):
    """Whether the program is run in the first round."""
    own = {m.package} if m.package in TARGETS + ["frontend"] else {"ir", "emit", "regalloc", "lower"}
    named = program.test in m.tests and (program.package in own or m.package not in TARGETS or program.package == "")
    return named or program.package in own or (program.package, program.test) == ("filetests", "filetests")


def verdict(results, tree, m, quick, opened):
    for wide in [False] if quick else [True] if opened else [False, True]:
        order = []
        for p in tree.programs:
            if near(m, p) or wide:
                r = results.unchanged(p, wide, tree.everything)
                if m.key in r["calls"] and (not wide or not near(m, p) or p.programs(True)):
                    # The named ones may cost four times as much.
                    order.append((p.test in SIZES, r["seconds"] * (1 if p.test in m.tests else 4), r["seconds"], p))
        for *_, seconds, p in sorted(order, key=lambda o: o[:2]):
            what, _ = p.run(wide, 30 + 4 * seconds, MUTANT=str(m.number))
            if what != "passed":
                return "noticed", f"{what} ({p.name(wide)})"
    return ("open" if quick else "survived"), ""


def verdict_alone(results, tree, m, quick, opened):
    """Of a mutant that is built for itself: package after package, since each is linked anew."""
    own = f"retroshade-{m.package}"
    steps = [["-p", own, "--lib"], ["-p", own, "--tests"], ["-p", "retroshade-filetests", "--test", "filetests"]]
    wide = [["-p", f"retroshade-{t}", "--tests"] for t in (["lower"] + TARGETS if m.package not in TARGETS else [])]
    env = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "RETROSHADE_REDUCE": "0", "CARGO_TERM_COLOR": "never"}
    env["RETROSHADE_RANDOM"] = str(FEW * FACTOR.get(m.package, 1))
    try:
        tree.applied(m)
        for options in ([] if opened else steps) + ([] if quick else wide):
            build = subprocess.run(["cargo", "test", *options, "--no-run"], cwd=TREE, env=env, capture_output=True, text=True)
            if build.returncode:
                errors = [line for line in build.stderr.splitlines() if line.startswith("error")]
                return "unbuilt", (errors or [f"cargo ended with {build.returncode}"])[0]
            what, _ = watched(["cargo", "test", *options], TREE, env, 900)
            if what != "passed":
                return "noticed", f"{what} ({' '.join(options)})"
    finally:
        tree.restored(m)
    return ("open" if quick else "survived"), ""


def report(results, everything):
    areas = {}
    for m in everything:
        r = results.known.get(m.key)
        counts = areas.setdefault(m.area, {})
        found = r["found"] if r else "not run"
        counts[found] = counts.get(found, 0) + 1
        if found not in ("noticed", "not run"):
            print(f"{m.name}: {found}")
    columns = ["noticed", "survived", "unbuilt", "open", "not run"]
    print("| area | mutants | " + " | ".join(columns) + " |")
    total = {}
    for a, counts in [*sorted(areas.items()), ("all", total)]:
        print(f"| {a} | {sum(counts.values())} | " + " | ".join(str(counts.get(c, 0)) for c in columns) + " |")
        for c, n in counts.items() if counts is not total else ():
            total[c] = total.get(c, 0) + n
    return any(total.get(c) for c in columns[1:])


def main(arguments):
    everything, results = mutants(), Results()
    only, quick = [a for a in arguments if not a.startswith("--")], "--quick" in arguments
    if "--report" in arguments:
        return report(results, everything)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    tree = Tree(everything)
    print(f"{len(everything) - len(tree.alone)} are switched, built alone: {' '.join(m.name for m in tree.alone)}", flush=True)
    for m in sorted(everything, key=lambda m: m in tree.alone):
        known = None if "--again" in arguments else results.known.get(m.key, {}).get("found")
        if only and not any(o in m.name for o in only) or known and (known != "open" or quick):
            continue
        if (m in tree.alone) and "--switched" in arguments or m not in tree.alone and "--alone" in arguments:
            continue
        start = time.monotonic()
        judge = verdict_alone if m in tree.alone else verdict
        found, how = judge(results, tree, m, quick, known == "open")
        seconds = round(time.monotonic() - start)
        results.put(key=m.key, name=m.name, found=found, how=how, seconds=seconds)
        print(f"{m.name}: {found} {how} [{seconds} s]", flush=True)
    return report(results, everything)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
