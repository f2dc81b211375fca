//! `shaderc reduce`: the smallest source that a command still says yes to (delta debugging).
//!
//! ```text
//!   IR ──structure──▶ branches decided, values forgotten, calls and writes dropped ─▶ printed ─┐
//!   GLSL, WGSL, HLSL ──────────────────────────────────────────────────────────────────────────┴▶ text: lines, blocks, tokens
//! ```
//! Every candidate is judged by the command alone: it exits with 0 while the failure shows. Nothing else says what a failure is.

mod text;
mod tokens;

use crate::args::{MessageFormat, ReduceArgs};
use crate::files;
use crate::process::wait;
use crate::report::{self, Failure};
use retroshade::Language;
use retroshade::lower::testing::shrink_module;
use serde_json::json;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// `shaderc reduce`
pub fn reduce(a: &ReduceArgs, format: MessageFormat) -> Result<(), Failure> {
    let language = match a.lang.or(Language::of_path(&a.file).map(|l| l.0)) {
        Some(Language::Spirv) => return Err(Failure::usage("SPIR-V is no text: `shaderc --emit ir` makes IR of it, which can be reduced")),
        Some(l) => l,
        None => return Err(Failure::usage(format!("{}: unknown kind of file; name the language with --lang", a.file.display()))),
    };
    let source = files::read_text(&a.file)?;
    let mut judge = Judge::new(a)?;
    if !judge.shows(&source)? {
        let m = "the command does not exit with 0 for the file itself: it shows nothing that could be reduced";
        return Err(Failure { file: Some(files::display(&a.file)), ..Failure::plain(1, "C0030", m) });
    }
    judge.keep(source)?;
    if language == Language::Ir {
        structure(&mut judge)?;
    }
    text::reduce(&mut judge, language)?;
    let (best, first, runs) = (judge.best.len(), judge.first, judge.runs);
    report::say(&match format {
        MessageFormat::Human => format!("{best} bytes of {first}, {runs} runs of the command\n"),
        MessageFormat::Json => format!("{}\n", json!({ "version": 1, "bytes": best, "of": first, "runs": runs })),
    });
    if a.output.is_none() {
        files::stdout(judge.best.as_bytes())?;
    }
    Ok(())
}

/// Reduces what the text means. A text that is no module, or that must be as it stands to show the failure, stays.
fn structure(judge: &mut Judge) -> Result<(), Failure> {
    let Ok(module) = retroshade::parse("reduce.ir", &judge.best) else { return Ok(()) };
    if retroshade::ir::verify(&module).is_err() || !judge.improves(&retroshade::print(&module), true)? {
        return Ok(());
    }
    let mut failure = None;
    shrink_module(&module, &mut |m| match judge.improves(&retroshade::print(m), true) {
        Ok(yes) => yes,
        Err(e) => {
            failure.get_or_insert(e);
            false
        }
    });
    failure.map_or(Ok(()), Err)
}

/// Asks the command, and keeps the smallest text that it says yes to.
struct Judge<'a> {
    a: &'a ReduceArgs,
    folder: Folder,
    /// The smallest text so far.
    best: String,
    /// Bytes of the file.
    first: usize,
    runs: u64,
    seen: HashSet<String>,
}

/// A folder of one's own, which is gone in the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl<'a> Judge<'a> {
    fn new(a: &'a ReduceArgs) -> Result<Judge<'a>, Failure> {
        let folder = std::env::temp_dir().join(format!("shaderc-reduce-{}", std::process::id()));
        let made = std::fs::create_dir_all(&folder);
        made.map_err(|e| Failure::plain(1, "C0005", format!("cannot make folder {}: {e}", folder.display())))?;
        Ok(Judge { a, folder: Folder(folder), best: String::new(), first: 0, runs: 0, seen: HashSet::new() })
    }

    /// Whether a text, if it was not looked at before, shows the failure and is shorter than the best one, which it then becomes. The first
    /// text in another spelling may be longer.
    fn improves(&mut self, text: &str, longer: bool) -> Result<bool, Failure> {
        if !longer && text.len() >= self.best.len() || self.runs >= self.a.attempts || !self.seen.insert(text.to_string()) {
            return Ok(false);
        }
        let yes = self.shows(text)?;
        if yes {
            self.keep(text.to_string())?;
        }
        Ok(yes)
    }

    /// Makes a text the best one.
    fn keep(&mut self, text: String) -> Result<(), Failure> {
        if self.first == 0 {
            self.first = text.len();
        }
        if let Some(o) = self.a.output.as_deref().filter(|_| self.runs > 1) {
            files::write(o, text.as_bytes())?;
        }
        self.best = text;
        Ok(())
    }

    /// Whether the command exits with 0 for a text.
    fn shows(&mut self, text: &str) -> Result<bool, Failure> {
        self.runs += 1;
        let name = self.a.file.file_name().map_or_else(|| PathBuf::from("source"), PathBuf::from);
        let path = self.folder.0.join(name);
        let failed = |what: &str, e: std::io::Error| Failure::plain(1, "C0005", format!("cannot {what}: {e}"));
        std::fs::write(&path, text).map_err(|e| failed("write a candidate", e))?;
        let mut child = shell(&self.a.command, &path).spawn().map_err(|e| failed("start the shell", e))?;
        Ok(wait(&mut child, Duration::from_secs(self.a.time)).is_some_and(|s| s.success()))
    }
}

/// The command for a candidate's path, which is quoted by being an argument of the shell.
fn shell(command: &str, path: &Path) -> Command {
    let line = if command.contains("{}") { command.replace("{}", "\"$1\"") } else { format!("{command} \"$1\"") };
    let mut c = Command::new("sh");
    c.arg("-c").arg(line).arg("sh").arg(path);
    c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    c
}
