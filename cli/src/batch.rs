//! `shaderc batch`: many sources, several at a time. Each is compiled by a process of its own, so that none can take the time or the memory of
//! the others; what is written and printed does not depend on how many run at once.
//!
//! An item's outputs go to a folder of its own first and take their places in the order of the items. Without `--keep-going` nothing behind
//! the first failure is kept.

use crate::args::{BatchArgs, Cli};
use crate::files;
use crate::input;
use crate::process::wait;
use crate::report::{Failure, progress};
use indicatif::ProgressBar;
use retroshade::lower::TextError;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A source for a target.
#[derive(Clone, Debug)]
struct Item {
    file: PathBuf,
    target: String,
    /// Folder of its outputs, below that of all.
    folder: PathBuf,
    options: Vec<String>,
}

/// What became of an item.
struct Outcome {
    status: u8,
    diagnostics: Vec<Value>,
}

/// `shaderc batch`
pub fn batch(a: &BatchArgs) -> Result<(), Failure> {
    let items = items(a)?;
    if let Some(i) = items.iter().find(|i| retroshade::target(&i.target).is_none()) {
        return input::target(&i.target).map(drop);
    }
    distinct(&items)?;
    items.iter().try_for_each(|i| one_source(a, i))?;
    let work = a.output.join(format!(".batch-{}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| Failure::plain(1, "C0005", format!("cannot make folder {}: {e}", work.display())))?;
    let done = run(a, &items, &work);
    let _ = std::fs::remove_dir_all(&work);
    match done? {
        0 => Ok(()),
        status => Err(Failure::silent(status)),
    }
}

/// Two items that would write the same files.
fn distinct(items: &[Item]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match items.iter().find(|i| !seen.insert((&i.folder, i.file.file_name(), &i.target))) {
        Some(i) => {
            Err(Failure::plain(2, "C0015", format!("{} would be compiled for {} twice into one folder", i.file.display(), i.target)))
        }
        None => Ok(()),
    }
}

/// What an item reads and where its outputs go is the batch's to say: options that name files, targets or outputs are refused.
fn one_source(a: &BatchArgs, item: &Item) -> Result<(), Failure> {
    let output = OsStr::new("out");
    let words = ["shaderc", "--target", &item.target, "-o", "out"].map(OsString::from).into_iter();
    let options = a.options.iter().chain(&item.options).map(OsString::from);
    let file = [OsString::from("--"), item.file.clone().into()];
    // What cannot be parsed is told of each item, by the command itself.
    let Ok(cli) = Cli::read(words.chain(options).chain(file).collect()) else { return Ok(()) };
    let c = &cli.compile;
    let alone = cli.command.is_none() && c.files == [item.file.clone()] && c.target == [item.target.clone()];
    if alone && c.output.as_deref().is_some_and(|o| o.as_os_str() == output) && c.depfile.is_none() {
        return Ok(());
    }
    let m = format!("{}: options of a batch name no files, targets or outputs", item.file.display());
    Err(Failure::plain(2, "C0018", m))
}

/// Runs all items and reports them in order; the gravest status.
fn run(a: &BatchArgs, items: &[Item], work: &Path) -> Result<u8, Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::plain(70, "X0001", format!("cannot find this program: {e}")))?;
    let jobs = a.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).clamp(1, items.len().max(1));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let pool = pool.map_err(|e| Failure::plain(1, "C0003", format!("cannot start {jobs} workers: {e}")))?;
    let sources = items.iter().filter_map(|i| files::place(&i.file)).collect();
    let bar = progress(items.len() as u64, "{wide_bar} {pos}/{len} {msg}");
    let report = Report { a, items, sources, work, bar, state: Mutex::default() };
    let (next, last) = (AtomicUsize::new(0), AtomicUsize::new(items.len()));
    pool.broadcast(|_| {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= last.load(Ordering::Relaxed) {
                break;
            }
            let outcome = compile(a, &items[n], &program, &work.join(n.to_string()));
            if outcome.status != 0 && !a.keep_going {
                last.fetch_min(n + 1, Ordering::Relaxed);
            }
            report.done(n, outcome);
        }
    });
    report.bar.finish_and_clear();
    let state = report.state.into_inner().map_err(|_| Failure::plain(70, "X0001", "a worker failed"))?;
    state.failure.map_or(Ok(state.status), Err)
}

/// Results that wait for those before them.
#[derive(Default)]
struct State {
    waiting: std::collections::BTreeMap<usize, Outcome>,
    next: usize,
    status: u8,
    stopped: bool,
    failure: Option<Failure>,
}

struct Report<'a> {
    a: &'a BatchArgs,
    items: &'a [Item],
    /// Where the items' sources lie.
    sources: BTreeSet<PathBuf>,
    work: &'a Path,
    bar: ProgressBar,
    state: Mutex<State>,
}

impl Report<'_> {
    /// Notes a result and reports all whose turn it is.
    fn done(&self, n: usize, outcome: Outcome) {
        self.bar.inc(1);
        let Ok(mut s) = self.state.lock() else { return };
        s.waiting.insert(n, outcome);
        loop {
            let next = s.next;
            let Some(outcome) = s.waiting.remove(&next) else { return };
            s.next += 1;
            if s.stopped {
                continue;
            }
            s.status = s.status.max(outcome.status);
            s.stopped = outcome.status != 0 && !self.a.keep_going;
            let line = self.place(next, &outcome);
            if let Err(f) = line.and_then(|l| self.bar.suspend(|| files::stdout(format!("{l}\n").as_bytes()))) {
                s.stopped = true;
                s.failure.get_or_insert(f);
            }
        }
    }

    /// Moves an item's outputs to their place; its line.
    fn place(&self, n: usize, outcome: &Outcome) -> Result<Value, Failure> {
        let item = &self.items[n];
        let folder = self.a.output.join(&item.folder);
        let mut outputs = Vec::new();
        let made = std::fs::read_dir(self.work.join(n.to_string())).into_iter().flatten().filter_map(Result::ok);
        let mut made: Vec<PathBuf> = made.map(|e| e.path()).collect();
        made.sort();
        for from in made.iter().filter(|_| outcome.status == 0) {
            let to = folder.join(from.file_name().unwrap_or_default());
            if files::place(&to).is_some_and(|p| self.sources.contains(&p)) {
                return Err(Failure::plain(2, "C0016", format!("the output {} is also an input", to.display())));
            }
            let moved = std::fs::create_dir_all(&folder).and_then(|()| std::fs::rename(from, &to));
            moved.map_err(|e| Failure::plain(1, "C0005", format!("cannot write {}: {e}", to.display())))?;
            outputs.push(to.display().to_string());
        }
        Ok(json!({
            "version": 1, "file": item.file.display().to_string(), "target": item.target, "ok": outcome.status == 0,
            "status": outcome.status, "outputs": outputs, "diagnostics": outcome.diagnostics,
        }))
    }
}

/// Compiles one item into a folder.
fn compile(a: &BatchArgs, item: &Item, program: &Path, folder: &Path) -> Outcome {
    let failed = |status, code, message: String| {
        let file = item.file.display().to_string();
        let d = json!({ "version": 1, "severity": "error", "code": code, "message": message, "file": file, "notes": [] });
        Outcome { status, diagnostics: vec![d] }
    };
    if let Err(e) = std::fs::create_dir_all(folder) {
        return failed(1, "C0005", format!("cannot make folder {}: {e}", folder.display()));
    }
    let mut command = limited(program, a.memory);
    command.args(["--message-format", "json", "--target", &item.target, "-o"]).arg(folder);
    command.args(&a.options).args(&item.options).arg("--").arg(&item.file);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(c) => c,
        Err(e) => return failed(70, "X0001", format!("cannot start a compilation: {e}")),
    };
    // Messages are read while it runs, so that a full pipe stops nobody.
    let pipe = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        pipe.map(|p| p.take(1 << 24).read_to_string(&mut text));
        text
    });
    let ended = wait(&mut child, Duration::from_secs(a.time));
    let text = reader.join().unwrap_or_default();
    let diagnostics: Vec<Value> = text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    match ended.and_then(|s| s.code()) {
        Some(code) if code == 0 || !diagnostics.is_empty() => Outcome { status: u8::try_from(code).unwrap_or(70), diagnostics },
        Some(code) => {
            failed(u8::try_from(code).unwrap_or(70), "X0001", format!("the compilation ended with status {code}: {}", text.trim()))
        }
        None if ended.is_none() => failed(3, "C0020", format!("stopped after {} seconds", a.time)),
        // A process that gets no more memory ends by a signal.
        None => match a.memory {
            Some(m) => failed(3, "C0020", format!("it ended for want of memory ({m} MiB are allowed)")),
            None => failed(70, "X0001", "the compilation ended by a signal".to_string()),
        },
    }
}

/// A command under a limit of memory.
fn limited(program: &Path, memory: Option<u64>) -> Command {
    match memory {
        Some(mib) if cfg!(unix) => {
            let mut c = Command::new("sh");
            c.arg("-c").arg(format!("ulimit -v {} && exec \"$0\" \"$@\"", mib * 1024)).arg(program);
            c
        }
        _ => Command::new(program),
    }
}

/// What there is to do, in order.
fn items(a: &BatchArgs) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    if a.source.is_dir() {
        if a.target.is_empty() {
            return Err(Failure::usage("a folder needs --target"));
        }
        let staged = a.options.iter().any(|o| o == "--stage" || o.starts_with("--stage="));
        for file in input::sources_below(&a.source, staged)? {
            let folder = file.strip_prefix(&a.source).ok().and_then(Path::parent).unwrap_or(Path::new("")).to_path_buf();
            items.extend(a.target.iter().map(|t| Item {
                file: file.clone(),
                target: t.clone(),
                folder: folder.clone(),
                options: Vec::new(),
            }));
        }
    } else {
        let text = files::read_text(&a.source)?;
        for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
            let wrong = |message: String| {
                let error = TextError { line: n as u32 + 1, column: 1, offset: None, message };
                let mut f = Failure::text(&files::display(&a.source), &text, vec![error]);
                f.diagnostics.iter_mut().for_each(|d| d.code = "C0018");
                f
            };
            items.extend(manifest_line(a, line).map_err(wrong)?);
        }
    }
    if items.is_empty() {
        return Err(Failure::plain(1, "C0003", format!("{} has no source", a.source.display())));
    }
    Ok(items)
}

/// The items of a line of a manifest, whose paths begin at the manifest.
fn manifest_line(a: &BatchArgs, line: &str) -> Result<Vec<Item>, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| format!("this is not JSON: {e}"))?;
    let map = value.as_object().ok_or("a line of a manifest is an object")?;
    let known = ["file", "target", "options"];
    if let Some(k) = map.keys().find(|k| !known.contains(&k.as_str())) {
        return Err(format!("an unknown key `{k}`: {}", retroshade::lower::nearest::hint(k, known)));
    }
    let strings = |key: &str| -> Result<Vec<String>, String> {
        match map.get(key) {
            None => Ok(Vec::new()),
            Some(Value::String(s)) => Ok(vec![s.clone()]),
            Some(Value::Array(l)) => l.iter().map(|v| v.as_str().map(str::to_string).ok_or(format!("`{key}` holds strings"))).collect(),
            Some(_) => Err(format!("`{key}` is a string or a list of them")),
        }
    };
    let Some(Value::String(file)) = map.get("file") else { return Err("a line of a manifest has one `file`, a string".to_string()) };
    let mut targets = strings("target")?;
    if targets.is_empty() {
        targets.clone_from(&a.target);
    }
    if targets.is_empty() {
        return Err(format!("`{file}` has no target, and neither has the command"));
    }
    let options = strings("options")?;
    let path = Path::new(file);
    let below = path.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    // One folder has one spelling, without dots.
    let parent = path.parent().filter(|_| below).unwrap_or(Path::new(""));
    let folder: PathBuf = parent.components().filter(|c| *c != Component::CurDir).collect();
    let file = a.source.parent().unwrap_or(Path::new("")).join(path);
    let item = |target| Item { file: file.clone(), target, folder: folder.clone(), options: options.clone() };
    Ok(targets.into_iter().map(item).collect())
}
