//! `compare --format html`: one file without anything from outside, for a browser.
//!
//! Above the totals of every machine and a row of bars for each shader; below, shader by shader, what the code is made of and the source
//! beside every machine's code, whose lines light up together.

mod parts;

pub use parts::{remarks, shares, shown};

use crate::ir::{Module, SourceMap};
use crate::listing::Line;
use crate::lower::isa::Stats;
use crate::stats::{Compared, bits_per_op};
use serde_json::Value;
use std::fmt::Write;

/// A shader of the report.
#[derive(Debug)]
pub struct Page {
    /// Its sizes.
    pub compared: Compared,
    /// Its source and the IR that was made of it.
    module: (SourceMap, String),
    /// The code of each target that takes it.
    code: Vec<(&'static str, Vec<Line>)>,
}

impl Page {
    /// A shader with what its targets made of it.
    pub fn new(compared: Compared, module: &Module, code: Vec<(&'static str, Vec<Line>)>) -> Page {
        Page { compared, module: (module.sources.clone(), crate::ir::print(module)), code }
    }
    fn source(&self) -> &str {
        self.module.0.text(crate::ir::FileId(0)).unwrap_or("")
    }
}

fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// What an earlier report (`compare --format json`) says of a shader's bytes on a target.
fn earlier(baseline: Option<&Value>, c: &Compared, target: &str) -> Option<u64> {
    let same = |s: &&Value| s["file"].as_str() == Some(&c.file) && s["entry"].as_str() == Some(&c.entry);
    baseline?["shaders"].as_array()?.iter().find(same)?["targets"][target]["bytes"].as_u64()
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

/// All sizes of one target.
#[derive(Default)]
struct Total {
    shaders: u32,
    bytes: u64,
    instructions: u64,
    /// Sum of the logarithms of the bits per IR operation.
    logarithms: f64,
    refused: u32,
    helped: u32,
    hurt: u32,
}

/// The report.
pub fn to_html(pages: &[Page], baseline: Option<&Value>) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Code size by machine</title>\n");
    let _ = write!(out, "<style>\n{}</style>\n</head>\n<body>\n<h1>Code size by machine</h1>\n", include_str!("page.css"));
    let targets: Vec<&'static str> = names(pages);
    totals(&mut out, pages, &targets, baseline);
    overview(&mut out, pages, &targets, baseline);
    for (n, p) in pages.iter().enumerate() {
        shader(&mut out, n, p);
    }
    let _ = write!(out, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
    out
}

/// The targets of a report in the order of the documentation.
fn names(pages: &[Page]) -> Vec<&'static str> {
    let has = |name: &str| pages.iter().any(|p| p.compared.targets.iter().any(|(t, _)| *t == name));
    crate::targets().iter().map(|t| t.name()).filter(|n| has(n)).collect()
}

fn totals(out: &mut String, pages: &[Page], targets: &[&'static str], baseline: Option<&Value>) {
    out.push_str(
        "<section><div class=\"scroll\"><table class=\"totals\">\n<thead><tr><th>machine</th><th>shaders</th><th>bytes</th>\
         <th>instructions</th><th title=\"geometric mean\">bits per IR operation</th>",
    );
    if baseline.is_some() {
        out.push_str("<th>helped</th><th>hurt</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for t in targets {
        let mut sum = Total::default();
        for c in pages.iter().map(|p| &p.compared) {
            match c.targets.iter().find(|(name, _)| name == t) {
                Some((_, Ok(s))) => {
                    sum.shaders += 1;
                    sum.bytes += u64::from(s.bytes);
                    sum.instructions += u64::from(s.instructions);
                    sum.logarithms += libm::log(bits_per_op(s, c.ir_ops).max(1e-9));
                    let before = earlier(baseline, c, t).unwrap_or(u64::from(s.bytes));
                    sum.helped += u32::from(u64::from(s.bytes) < before);
                    sum.hurt += u32::from(u64::from(s.bytes) > before);
                }
                Some((_, Err(_))) => sum.refused += 1,
                None => {}
            }
        }
        let mean = libm::exp(sum.logarithms / f64::from(sum.shaders.max(1)));
        let refused = if sum.refused > 0 { format!(" <span class=\"quiet\">+ {} refused</span>", sum.refused) } else { String::new() };
        let _ = write!(
            out,
            "<tr><th class=\"m-{t}\">{t}</th><td>{}{refused}</td><td>{}</td><td>{}</td><td>{mean:.1}</td>",
            sum.shaders, sum.bytes, sum.instructions
        );
        if baseline.is_some() {
            let _ = write!(out, "<td class=\"helped\">{}</td><td class=\"hurt\">{}</td>", sum.helped, sum.hurt);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div></section>\n");
}

/// A bar for each target of a shader, on one scale for all shaders.
fn overview(out: &mut String, pages: &[Page], targets: &[&'static str], baseline: Option<&Value>) {
    let most = |c: &Compared| c.targets.iter().filter_map(|(_, r)| r.as_ref().ok()).map(|s| s.bytes).max().unwrap_or(0);
    let scale = f64::from(pages.iter().map(|p| most(&p.compared)).max().unwrap_or(1).max(1));
    out.push_str("<section>\n<h2>Bytes of code</h2>\n<div class=\"overview\">\n");
    for (n, p) in pages.iter().enumerate() {
        let c = &p.compared;
        let _ = writeln!(
            out,
            "<a class=\"name\" href=\"#s{n}\">{} <b>{}</b><span class=\"quiet\"> {}, {} IR operations</span></a><div class=\"bars\">",
            escape(&c.file),
            escape(&c.entry),
            c.stage,
            c.ir_ops
        );
        for (t, r) in c.targets.iter().filter(|(t, _)| targets.contains(t)) {
            let _ = match r {
                Ok(s) => writeln!(
                    out,
                    "<span class=\"label\">{t}</span><span class=\"bar m-{t}\" style=\"--share:{:.4}\"></span><span class=\"value\">{}{}</span>",
                    f64::from(s.bytes) / scale,
                    s.bytes,
                    change(u64::from(s.bytes), earlier(baseline, c, t))
                ),
                Err((code, m)) => writeln!(
                    out,
                    "<span class=\"label\">{t}</span><span class=\"refusal\" title=\"{}\">{}</span><span></span>",
                    escape(m),
                    escape(code)
                ),
            };
        }
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n</section>\n");
}

/// One shader: figures and shares for each target, then source and code side by side.
fn shader(out: &mut String, n: usize, p: &Page) {
    let c = &p.compared;
    let _ = writeln!(
        out,
        "<section class=\"shader\" id=\"s{n}\">\n<h2>{} <b>{}</b></h2>\n<p class=\"quiet\">{}, {} IR operations</p>\n<div class=\"figures\">",
        escape(&c.file),
        escape(&c.entry),
        c.stage,
        c.ir_ops
    );
    for (t, r) in &c.targets {
        match r {
            Ok(s) => figures(out, t, s, c.ir_ops),
            Err((code, m)) => {
                let _ = writeln!(out, "<div><h3 class=\"m-{t}\">{t}</h3><p>error[{}]: {}</p></div>", escape(code), escape(m));
            }
        }
    }
    out.push_str("</div>\n<div class=\"code\">\n");
    column(out, "source", "", p.source().lines().zip(1..).map(|(l, n)| (l, Some((n, n)))));
    for (t, lines) in &p.code {
        let column_lines = lines.iter().map(|l| (shown(t, &l.text), l.source_lines(&p.module.0)));
        column(out, t, &format!("m-{t}"), column_lines);
    }
    column(out, "IR", "", p.module.1.lines().map(|l| (l, None)));
    out.push_str("</div>\n</section>\n");
}

/// A target's figures and what its code is made of.
fn figures(out: &mut String, target: &str, s: &Stats, ir_ops: u32) {
    let _ = write!(
        out,
        "<div><h3 class=\"m-{target}\">{target}</h3><p>{} bytes, {} instructions, {} registers, {:.1} bits per IR operation",
        s.bytes,
        s.instructions,
        s.registers,
        bits_per_op(s, ir_ops)
    );
    for text in remarks(target, s) {
        let _ = write!(out, ", {text}");
    }
    out.push_str("</p>\n");
    let parts = shares(target, s);
    let sum: u64 = parts.iter().map(|(_, n)| n).sum();
    if sum > 0 {
        out.push_str("<div class=\"shares\" role=\"img\">");
        for (k, (what, n)) in parts.iter().enumerate().filter(|(_, (_, n))| *n > 0) {
            let percent = *n as f64 / sum as f64 * 100.0;
            let _ =
                write!(out, "<span class=\"share k{k}\" style=\"flex-grow:{n}\" title=\"{what}: {n} ({percent:.0} %)\">{what} {n}</span>");
        }
        out.push_str("</div>\n");
    }
    out.push_str("</div>\n");
}

/// A column of lines; those that stand for lines of the source say which.
fn column<'a>(out: &mut String, title: &str, class: &str, lines: impl Iterator<Item = (&'a str, Option<(u32, u32)>)>) {
    let _ = write!(out, "<div class=\"column\"><h3 class=\"{class}\">{title}</h3><pre>");
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
