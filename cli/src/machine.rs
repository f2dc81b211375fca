//! `asm`, `dis`, `lint` and `targets`: everything about machine text that needs no IR.

use crate::args::{AsmArgs, AsmEmit, DisArgs, LintArgs, MessageFormat, SyntaxArg, SyntaxArgs, TargetsArgs};
use crate::files;
use crate::input::{check_chip, target};
use crate::report::{self, Failure};
use crate::source_map;
use retroshade::TargetIsa;
use retroshade::lower::{Syntax, TextError, TextOptions};
use std::path::{Path, PathBuf};

fn text_options(a: &SyntaxArgs) -> TextOptions {
    TextOptions {
        syntax: match a.syntax {
            SyntaxArg::Native => Syntax::Native,
            SyntaxArg::Fields => Syntax::Fields,
        },
        stage: a.stage,
        chip: a.chip.clone(),
        no_padding: false,
    }
}

/// Works line by line: one output line per input line, errors in place. Gives the text and whether all lines were good.
fn by_line(text: &str, f: impl Fn(&str) -> Result<String, TextError>) -> (String, bool) {
    let mut out = String::with_capacity(text.len() * 2);
    let mut good = true;
    for line in text.lines() {
        if !line.trim().is_empty() {
            match f(line) {
                Ok(t) => out.push_str(&t),
                Err(e) => {
                    good = false;
                    out.push_str("error: ");
                    // An answer is one line, whatever the message.
                    out.push_str(&e.message.replace('\n', " "));
                }
            }
        }
        out.push('\n');
    }
    (out, good)
}

fn status(good: bool) -> Result<(), Failure> {
    if good { Ok(()) } else { Err(Failure::silent(1)) }
}

/// Assembly files as one text, each behind a mark where there are several.
struct Sources {
    text: String,
    /// Name, text, and lines of the whole before its first.
    files: Vec<(String, String, u32)>,
}

impl Sources {
    fn read(paths: &[PathBuf]) -> Result<Sources, Failure> {
        let mut all = Sources { text: String::new(), files: Vec::new() };
        for p in paths {
            let text = files::read_text(p)?;
            if paths.len() > 1 {
                all.text.push_str(";;;; file\n");
            }
            all.files.push((files::display(p), text.clone(), all.text.lines().count() as u32));
            all.text.push_str(&text);
            if !text.ends_with('\n') {
                all.text.push('\n');
            }
        }
        Ok(all)
    }

    /// The file and the line in it that a line of the whole is.
    fn place(&self, line: u32) -> (usize, u32) {
        let k = self.files.iter().rposition(|f| f.2 < line.max(1)).unwrap_or(0);
        (k, line.saturating_sub(self.files[k].2))
    }

    /// Errors as they stand in the file of the first.
    fn failure(&self, errors: Vec<TextError>) -> Failure {
        let first = errors.first().map_or(0, |e| self.place(e.line).0);
        let (name, text, before) = &self.files[first];
        let here = errors.into_iter().filter(|e| self.place(e.line).0 == first);
        let moved = here.map(|e| TextError { line: e.line.saturating_sub(*before), ..e });
        Failure::text(name, text, moved.collect())
    }
}

/// `shaderc asm`
pub fn asm(a: &AsmArgs, format: MessageFormat) -> Result<(), Failure> {
    let isa = target(&a.target)?;
    check_chip(&[isa], a.syntax.chip.as_deref())?;
    let options = TextOptions { no_padding: a.no_nop, ..text_options(&a.syntax) };
    let to_file = a.output.as_ref().is_some_and(|o| o.as_os_str() != "-");
    if a.emit == Some(AsmEmit::Hex) || (a.emit.is_none() && !to_file) {
        if a.header.is_some() {
            return Err(Failure::usage("--header goes with a container: name one with -o"));
        }
        let mut good = true;
        let mut out = String::new();
        for file in &a.files {
            let text = String::from_utf8_lossy(&files::read(file)?).into_owned();
            let (lines, all) = by_line(&text, |l| isa.asm_line(l, &options));
            out.push_str(&lines);
            good &= all;
        }
        files::write_or_stdout(a.output.as_deref(), out.as_bytes())?;
        return status(good);
    }
    if a.output.is_none() {
        return Err(Failure::usage("binary goes to stdout only with -o -"));
    }
    let sources = Sources::read(&a.files)?;
    let done = isa.assemble(&sources.text, &options).map_err(|e| sources.failure(e))?;
    for w in &done.warnings {
        let mut warning = sources.failure(vec![w.clone()]).into_warning();
        warning.diagnostics.iter_mut().for_each(|d| d.code = "A0002");
        report::show(&warning, format);
    }
    let header = match &a.header {
        Some(path) => {
            let text = done.header.as_ref().ok_or_else(|| Failure::usage(format!("target {} has no header for assembly", isa.name())))?;
            Some((path, text.clone()))
        }
        None => None,
    };
    let bytes = match (a.emit, done.container) {
        (Some(AsmEmit::Bin), _) => done.code,
        (_, Some(c)) => c,
        (Some(_), None) => {
            let name = &sources.files[0].0;
            return Err(Failure::plain(1, "C0009", format!("{name} does not say enough for a container of target {}", isa.name())));
        }
        (None, None) => done.code,
    };
    let outputs: Vec<&Path> = header.iter().map(|h| h.0.as_path()).chain(a.output.as_deref()).collect();
    files::check_outputs(&outputs)?;
    if let Some((path, text)) = &header {
        files::write(path, text.as_bytes())?;
    }
    files::write_or_stdout(a.output.as_deref(), &bytes)
}

/// The target by name, or by the container's own word.
fn target_of(name: Option<&str>, bytes: &[u8], file: &str) -> Result<&'static dyn TargetIsa, Failure> {
    match name {
        Some(t) => target(t),
        None => retroshade::targets()
            .into_iter()
            .find(|t| t.is_container(bytes))
            .ok_or_else(|| Failure::usage(format!("{file} is not a container that names its target: give --target"))),
    }
}

/// `shaderc dis`
pub fn dis(a: &DisArgs) -> Result<(), Failure> {
    let options = text_options(&a.syntax);
    let name = files::display(&a.file);
    if a.hex {
        let Some(t) = &a.target else { return Err(Failure::usage("dis --hex needs --target")) };
        let isa = target(t)?;
        check_chip(&[isa], a.syntax.chip.as_deref())?;
        let text = String::from_utf8_lossy(&files::read(&a.file)?).into_owned();
        let (out, good) = by_line(&text, |l| isa.dis_line(l, &options));
        files::stdout(out.as_bytes())?;
        return status(good);
    }
    // A malformed command line is told apart before the file is looked at.
    if let Some(t) = &a.target {
        check_chip(&[target(t)?], a.syntax.chip.as_deref())?;
    }
    let bytes = files::read(&a.file)?;
    let isa = target_of(a.target.as_deref(), &bytes, &name)?;
    check_chip(&[isa], a.syntax.chip.as_deref())?;
    let text = isa.disassemble(&bytes, &options).map_err(|e| Failure::text(&name, "", vec![e]))?;
    match &a.map {
        None => files::stdout(text.as_bytes()),
        Some(m) => files::stdout(source_map::located(isa, &text, m)?.as_bytes()),
    }
}

/// `shaderc lint`
pub fn lint(a: &LintArgs) -> Result<(), Failure> {
    let options = text_options(&a.syntax);
    let name = files::display(&a.file);
    let bytes = files::read(&a.file)?;
    let text = std::str::from_utf8(&bytes).ok().filter(|t| !t.bytes().any(|b| b < 9));
    let isa = target_of(a.target.as_deref(), &bytes, &name)?;
    check_chip(&[isa], a.syntax.chip.as_deref())?;
    let (code, source) = match text {
        Some(t) if !isa.is_container(&bytes) => {
            let done = isa.assemble(t, &options).map_err(|e| Failure::text(&name, t, e))?;
            (done.container.unwrap_or(done.code), t)
        }
        _ => (bytes.clone(), ""),
    };
    let found = isa.lint(&code, &options).map_err(|e| Failure::text(&name, source, vec![e]))?;
    if found.is_empty() { Ok(()) } else { Err(Failure::text(&name, source, found)) }
}

/// `shaderc targets`
pub fn targets(a: &TargetsArgs) -> Result<(), Failure> {
    let mut out = String::new();
    match &a.target {
        None => {
            for t in retroshade::targets() {
                let stages: Vec<_> = t.stages().iter().map(|s| s.name()).collect();
                out.push_str(&format!("{:6} {} ({})\n", t.name(), t.summary(), stages.join(", ")));
            }
        }
        Some(name) => {
            let t = target(name)?;
            check_chip(&[t], a.chip.as_deref())?;
            out.push_str(&format!("{}: {}\n", t.name(), t.summary()));
            let stages: Vec<_> = t.stages().iter().map(|s| s.name()).collect();
            let mut rows = vec![("stages", stages.join(", "))];
            if !t.chips().is_empty() {
                rows.push(("chips", t.chips().join(" ")));
            }
            rows.extend(t.limits(a.chip.as_deref()));
            let width = rows.iter().map(|r| r.0.chars().count()).max().unwrap_or(0);
            for (k, v) in rows {
                out.push_str(&format!("  {k}{}  {v}\n", " ".repeat(width - k.chars().count())));
            }
        }
    }
    files::stdout(out.as_bytes())
}
