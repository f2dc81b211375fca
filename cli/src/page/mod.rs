//! `compare --format html`: one file without anything from outside, for a browser.
//!
//! In front the totals of every machine and bars for each shader; behind it a page for each shader (below it, where there is only one): what the
//! code is made of, and source, IR and every machine's code side by side, whose lines light up together.

mod figures;
mod parts;
mod totals;

pub use parts::{Meter, meters, remarks, shares, shown, work};

use crate::ir::{Module, SourceMap};
use crate::listing::{self, Line};
use crate::stats::{self, Compared, Failed, bits_per_op};
use serde_json::Value;
use std::fmt::Write;

/// A shader of the report.
#[derive(Debug)]
pub struct Page {
    /// Its sizes.
    pub compared: Compared,
    sources: SourceMap,
    /// The IR that was made of its source.
    ir: Vec<Line>,
    /// The code of each target that takes it.
    code: Vec<(&'static str, Vec<Line>)>,
}

impl Page {
    /// A shader with what its targets made of it.
    pub fn new(compared: Compared, module: &Module, code: Vec<(&'static str, Vec<Line>)>) -> Page {
        Page { compared, sources: module.sources.clone(), ir: listing::of_ir(module), code }
    }
    fn source(&self) -> &str {
        self.sources.text(crate::ir::FileId(0)).unwrap_or("")
    }
    /// Its name as HTML, without the folder of all.
    fn title(&self, folder: &str) -> String {
        format!("{} <b>{}</b>", escape(within(&self.compared.file, folder)), escape(&self.compared.entry))
    }
    /// Stage and size.
    fn kind(&self) -> String {
        format!("{}, {}", self.compared.stage, counted(u64::from(self.compared.ir_ops), "IR operation", "IR operations"))
    }
}

/// What a page is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report<'a> {
    /// The shaders.
    pub pages: &'a [Page],
    /// What could not be read.
    pub failed: &'a [Failed],
    /// What `compare --format json` wrote earlier.
    pub baseline: Option<&'a Value>,
}

impl<'a> Report<'a> {
    /// The folder, with the separator behind it, that all files of several are in; it is said once.
    fn folder(&self) -> &'a str {
        let files = self.pages.iter().map(|p| p.compared.file.as_str()).chain(self.failed.iter().map(|f| f.file.as_str()));
        let same = |a: &'a str, b: &str| -> &'a str {
            let length = a.char_indices().zip(b.chars()).find(|((_, x), y)| x != y).map_or(a.len().min(b.len()), |((i, _), _)| i);
            &a[..length]
        };
        let prefix = if self.pages.len() + self.failed.len() > 1 { files.reduce(same).unwrap_or_default() } else { "" };
        let folder = &prefix[..prefix.rfind(std::path::is_separator).map_or(0, |n| n + 1)];
        // The root says nothing.
        if folder.chars().all(std::path::is_separator) { "" } else { folder }
    }
}

/// A file's name in a folder.
fn within<'a>(file: &'a str, folder: &str) -> &'a str {
    file.strip_prefix(folder).unwrap_or(file)
}

/// A number with its word.
fn counted(n: u64, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// What an earlier report (`compare --format json`) says of a shader's bytes on a target.
fn earlier(baseline: Option<&Value>, c: &Compared, target: &str) -> Option<u64> {
    stats::earlier(baseline?, c)?[target]["bytes"].as_u64()
}

/// Bytes with what changed since the baseline.
fn change(now: u64, before: Option<u64>) -> String {
    match before {
        Some(b) if b != now => {
            let percent = (now as f64 / b.max(1) as f64 - 1.0) * 100.0;
            format!(" <span class=\"{}\">{percent:+.1} %</span>", if now < b { "helped" } else { "hurt" })
        }
        _ => String::new(),
    }
}

/// The report.
pub fn to_html(r: &Report) -> String {
    let Report { pages, failed, baseline } = *r;
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Code size by machine</title>\n");
    let many = if pages.len() > 1 { " class=\"many\"" } else { "" };
    let _ = write!(out, "<style>\n{}</style>\n</head>\n<body{many}>\n<div class=\"front\">\n", include_str!("page.css"));
    let folder = r.folder();
    head(&mut out, r, folder);
    let targets: Vec<&'static str> = names(pages);
    let shaders: Vec<&Compared> = pages.iter().map(|p| &p.compared).collect();
    totals::totals(&mut out, &shaders, &targets, baseline);
    unread(&mut out, failed, folder);
    overview(&mut out, r, &targets, folder);
    out.push_str("</div>\n");
    for n in 0..pages.len() {
        shader(&mut out, n, r, folder);
    }
    let _ = write!(out, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
    out
}

/// The headline and what there is, in a sentence or two.
fn head(out: &mut String, r: &Report, folder: &str) {
    let pages = r.pages;
    let _ = write!(out, "<h1>Code size by machine</h1>\n<p class=\"quiet\">{}", counted(pages.len() as u64, "shader", "shaders"));
    let refused = pages.iter().filter(|p| p.compared.targets.iter().any(|(_, r)| r.is_err())).count();
    if refused > 0 {
        let _ = write!(out, ", {refused} refused by a machine");
    }
    if !r.failed.is_empty() {
        let _ = write!(out, ", {} that could not be read", counted(r.failed.len() as u64, "source", "sources"));
    }
    if !folder.is_empty() {
        let _ = write!(out, ", all in {}", escape(folder));
    }
    out.push_str(if pages.len() > 1 { ". A name leads to the shader's page.</p>\n" } else { ".</p>\n" });
    let known = pages.iter().filter(|p| r.baseline.is_some_and(|b| stats::earlier(b, &p.compared).is_some())).count();
    if r.baseline.is_some() && known < pages.len() {
        let of = counted(pages.len() as u64, "shader", "shaders");
        let _ = writeln!(
            out,
            "<p class=\"hurt\">The baseline has {} of {of}: nothing is said about what changed of the others.</p>",
            if known == 0 { "none".to_string() } else { known.to_string() }
        );
    }
}

/// The sources that could not be read.
fn unread(out: &mut String, failed: &[Failed], folder: &str) {
    if failed.is_empty() {
        return;
    }
    out.push_str("<section class=\"unread\">\n<h2>Could not be read</h2>\n<ul>\n");
    for f in failed {
        let entry = f.entry.as_ref().map(|e| format!(" {}", escape(e))).unwrap_or_default();
        let message = f.message.strip_prefix(&format!("{}:", f.file)).unwrap_or(&f.message).trim_start();
        let _ = writeln!(out, "<li><b>{}</b>{entry} <span class=\"hurt\">{}</span></li>", escape(within(&f.file, folder)), escape(message));
    }
    out.push_str("</ul>\n</section>\n");
}

/// The targets of a report in the order of the documentation.
fn names(pages: &[Page]) -> Vec<&'static str> {
    let has = |name: &str| pages.iter().any(|p| p.compared.targets.iter().any(|(t, _)| *t == name));
    crate::targets().iter().map(|t| t.name()).filter(|n| has(n)).collect()
}

/// What the overview's bars can show.
const SHOWN: &[&str] = &["bytes of code", "instructions", "bits per IR operation", "registers", "longest path"];

/// A bar for each target of a shader. Each shader has a scale of its own: what is compared is machines.
fn overview(out: &mut String, r: &Report, targets: &[&'static str], folder: &str) {
    let Report { pages, baseline, .. } = *r;
    let most = |c: &Compared| c.targets.iter().filter_map(|(_, r)| r.as_ref().ok()).map(|s| s.bytes).max().unwrap_or(0);
    out.push_str("<section>\n<div class=\"chosen\"><label>Show <select id=\"what\">");
    SHOWN.iter().for_each(|what| {
        let _ = write!(out, "<option>{what}</option>");
    });
    let hidden = if pages.len() > 1 { "" } else { " hidden" };
    let _ = write!(
        out,
        "</select></label><input id=\"find\" type=\"search\" placeholder=\"find shaders\" aria-label=\"find shaders\"{hidden}>"
    );
    if baseline.is_some() {
        out.push_str("<label><input id=\"changed\" type=\"checkbox\"> only what changed</label>");
    }
    out.push_str("</div>\n");
    if pages.len() > 1 {
        out.push_str("<p class=\"quiet\">Every shader has a scale of its own: the longest of its bars is full.</p>\n");
    }
    for (n, p) in pages.iter().enumerate() {
        let c = &p.compared;
        let scale = f64::from(most(c).max(1));
        let _ = writeln!(
            out,
            "<div class=\"entry\" id=\"r{n}\"><a class=\"name\" href=\"#s{n}\">{}<span class=\"quiet\"> {}</span></a><div class=\"bars\">",
            p.title(folder),
            p.kind()
        );
        for (t, r) in c.targets.iter().filter(|(t, _)| targets.contains(t)) {
            let _ = match r {
                Ok(s) => {
                    let longest = work(s).map_or_else(|| "-".to_string(), |w| w.0.to_string());
                    let values = format!("{} {} {:.1} {} {longest}", s.bytes, s.instructions, bits_per_op(s, c.ir_ops), s.registers);
                    writeln!(
                        out,
                        "<span class=\"row m-{t}\" data-v=\"{values}\"><span class=\"label\">{t}</span>\
                         <span class=\"bar\" style=\"--share:{:.4}\"></span><span class=\"value\">{}{}</span></span>",
                        f64::from(s.bytes) / scale,
                        s.bytes,
                        change(u64::from(s.bytes), earlier(baseline, c, t))
                    )
                }
                Err((code, m)) => {
                    writeln!(
                        out,
                        "<span class=\"row\"><span class=\"label\">{t}</span><span class=\"refusal\">{}: {}</span></span>",
                        escape(code),
                        escape(m)
                    )
                }
            };
        }
        out.push_str("</div></div>\n");
    }
    out.push_str("</section>\n");
}

/// One shader: figures for each target, then source, IR and code side by side.
fn shader(out: &mut String, n: usize, r: &Report, folder: &str) {
    let Report { pages, baseline, .. } = *r;
    let p = &pages[n];
    let c = &p.compared;
    let _ = writeln!(out, "<section class=\"shader\" id=\"s{n}\">");
    if pages.len() > 1 {
        let _ = write!(out, "<nav><a href=\"#r{n}\">all shaders</a>");
        if let Some(before) = n.checked_sub(1).and_then(|k| pages.get(k)) {
            let _ = write!(out, "<a href=\"#s{}\">before: {}</a>", n - 1, before.title(folder));
        }
        if let Some(after) = pages.get(n + 1) {
            let _ = write!(out, "<a href=\"#s{}\">next: {}</a>", n + 1, after.title(folder));
        }
        out.push_str("</nav>\n");
    }
    let _ = writeln!(out, "<h2>{}</h2>\n<p class=\"quiet\">{}</p>\n<div class=\"figures\">", p.title(folder), p.kind());
    for (t, r) in &c.targets {
        match r {
            Ok(s) => figures::card(out, t, s, c.ir_ops, &change(u64::from(s.bytes), earlier(baseline, c, t))),
            Err((code, m)) => {
                let _ = writeln!(out, "<div><h3 class=\"m-{t}\">{t}</h3><p>error[{}]: {}</p></div>", escape(code), escape(m));
            }
        }
    }
    let _ = writeln!(out, "</div>\n<div class=\"code of{}\">", p.code.len());
    column(out, "source", "column", "", p.source().lines().zip(1..).map(|(l, n)| (l, Some((n, n)))));
    column(out, "IR", "column", "", p.ir.iter().map(|l| (l.text.as_str(), l.source_lines(&p.sources))));
    for (t, lines) in &p.code {
        let column_lines = lines.iter().map(|l| (shown(t, &l.text), l.source_lines(&p.sources)));
        column(out, t, "column machine", &format!("m-{t}"), column_lines);
    }
    out.push_str("</div>\n</section>\n");
}

/// A column of lines; those that stand for lines of the source say which.
fn column<'a>(out: &mut String, title: &str, kind: &str, class: &str, lines: impl Iterator<Item = (&'a str, Option<(u32, u32)>)>) {
    let _ = write!(out, "<div class=\"{kind}\"><h3 class=\"{class}\">{title}</h3><pre>");
    for (text, place) in lines {
        match place {
            Some((a, b)) => {
                let _ = write!(out, "<i data-a=\"{a}\" data-b=\"{b}\">{}</i>", escape(text));
            }
            None => {
                let _ = write!(out, "<i>{}</i>", escape(text));
            }
        }
    }
    out.push_str("</pre></div>\n");
}
