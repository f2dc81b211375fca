//! `compare --format html`: one file without anything from outside, for a browser.
//!
//! In front the totals of every machine and bars for each shader; behind it a page for each shader (below it, where there is only one): what the
//! code is made of, and source, IR and every machine's code side by side, whose lines light up together.

mod figures;
mod parts;

pub use parts::{Meter, meters, remarks, shares, shown, work};

use crate::ir::{Module, SourceMap};
use crate::listing::{self, Line};
use crate::stats::{Compared, Mean, bits_per_op};
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
    /// Its name as HTML.
    fn title(&self) -> String {
        format!("{} <b>{}</b>", escape(&self.compared.file), escape(&self.compared.entry))
    }
    /// Stage and size.
    fn kind(&self) -> String {
        format!("{}, {} IR operations", self.compared.stage, self.compared.ir_ops)
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
    /// The baseline's bytes of the shaders that it has, ours of the others.
    before: u64,
    instructions: u64,
    mean_bytes: Mean,
    mean_bits: Mean,
    refused: u32,
    helped: u32,
    hurt: u32,
}

/// The report.
pub fn to_html(pages: &[Page], baseline: Option<&Value>) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Code size by machine</title>\n");
    let many = if pages.len() > 1 { " class=\"many\"" } else { "" };
    let _ = write!(out, "<style>\n{}</style>\n</head>\n<body{many}>\n<div class=\"front\">\n", include_str!("page.css"));
    let refused = |c: &Compared| c.targets.iter().any(|(_, r)| r.is_err());
    let plural = if pages.len() == 1 { "" } else { "s" };
    let _ = write!(out, "<h1>Code size by machine</h1>\n<p class=\"quiet\">{} shader{plural}", pages.len());
    match pages.iter().filter(|p| refused(&p.compared)).count() {
        0 => {}
        n => {
            let _ = write!(out, ", {n} refused by a machine");
        }
    }
    out.push_str(if pages.len() > 1 { ". A name leads to the shader's page.</p>\n" } else { ".</p>\n" });
    let targets: Vec<&'static str> = names(pages);
    totals(&mut out, pages, &targets, baseline);
    overview(&mut out, pages, &targets, baseline);
    out.push_str("</div>\n");
    for n in 0..pages.len() {
        shader(&mut out, n, pages, baseline);
    }
    let _ = write!(out, "<script>\n{}</script>\n</body>\n</html>\n", include_str!("page.js"));
    out
}

/// The targets of a report in the order of the documentation.
fn names(pages: &[Page]) -> Vec<&'static str> {
    let has = |name: &str| pages.iter().any(|p| p.compared.targets.iter().any(|(t, _)| *t == name));
    crate::targets().iter().map(|t| t.name()).filter(|n| has(n)).collect()
}

fn total(pages: &[Page], target: &str, baseline: Option<&Value>) -> Total {
    let mut sum = Total::default();
    for c in pages.iter().map(|p| &p.compared) {
        match c.targets.iter().find(|(name, _)| *name == target) {
            Some((_, Ok(s))) => {
                let bytes = u64::from(s.bytes);
                sum.shaders += 1;
                sum.bytes += bytes;
                sum.instructions += u64::from(s.instructions);
                sum.mean_bytes.add(f64::from(s.bytes));
                sum.mean_bits.add(bits_per_op(s, c.ir_ops));
                let before = earlier(baseline, c, target).unwrap_or(bytes);
                sum.before += before;
                sum.helped += u32::from(bytes < before);
                sum.hurt += u32::from(bytes > before);
            }
            Some((_, Err(_))) => sum.refused += 1,
            None => {}
        }
    }
    sum
}

fn totals(out: &mut String, pages: &[Page], targets: &[&'static str], baseline: Option<&Value>) {
    out.push_str(
        "<section><div class=\"scroll\"><table class=\"totals\">\n<thead><tr><th>machine</th><th>shaders</th><th>bytes</th>\
         <th>instructions</th><th>mean bytes</th><th>mean bits/op</th>",
    );
    if baseline.is_some() {
        out.push_str("<th>helped</th><th>hurt</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for t in targets {
        let sum = total(pages, t, baseline);
        let refused = if sum.refused > 0 { format!(" <span class=\"quiet\">+ {} refused</span>", sum.refused) } else { String::new() };
        let since = change(sum.bytes, baseline.map(|_| sum.before));
        let _ = write!(
            out,
            "<tr><th class=\"m-{t}\">{t}</th><td>{}{refused}</td><td>{}{since}</td><td>{}</td><td>{:.1}</td><td>{:.1}</td>",
            sum.shaders,
            sum.bytes,
            sum.instructions,
            sum.mean_bytes.value(),
            sum.mean_bits.value()
        );
        if baseline.is_some() {
            let _ = write!(out, "<td class=\"helped\">{}</td><td class=\"hurt\">{}</td>", sum.helped, sum.hurt);
        }
        out.push_str("</tr>\n");
    }
    out.push_str(
        "</tbody>\n</table></div>\n<p class=\"quiet note\">Means are geometric, of the shaders that the machine takes; bits of code for each IR operation.</p></section>\n",
    );
}

/// What the overview's bars can show.
const SHOWN: &[&str] = &["bytes of code", "instructions", "bits per IR operation", "registers", "longest path"];

/// A bar for each target of a shader, on one scale for all shaders.
fn overview(out: &mut String, pages: &[Page], targets: &[&'static str], baseline: Option<&Value>) {
    let most = |c: &Compared| c.targets.iter().filter_map(|(_, r)| r.as_ref().ok()).map(|s| s.bytes).max().unwrap_or(0);
    let scale = f64::from(pages.iter().map(|p| most(&p.compared)).max().unwrap_or(1).max(1));
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
    for (n, p) in pages.iter().enumerate() {
        let c = &p.compared;
        let _ = writeln!(
            out,
            "<div class=\"entry\" id=\"r{n}\"><a class=\"name\" href=\"#s{n}\">{}<span class=\"quiet\"> {}</span></a><div class=\"bars\">",
            p.title(),
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
fn shader(out: &mut String, n: usize, pages: &[Page], baseline: Option<&Value>) {
    let p = &pages[n];
    let c = &p.compared;
    let _ = writeln!(out, "<section class=\"shader\" id=\"s{n}\">");
    if pages.len() > 1 {
        let _ = write!(out, "<nav><a href=\"#r{n}\">all shaders</a>");
        if let Some(before) = n.checked_sub(1).and_then(|k| pages.get(k)) {
            let _ = write!(out, "<a href=\"#s{}\">before: {}</a>", n - 1, escape(&before.compared.file));
        }
        if let Some(after) = pages.get(n + 1) {
            let _ = write!(out, "<a href=\"#s{}\">next: {}</a>", n + 1, escape(&after.compared.file));
        }
        out.push_str("</nav>\n");
    }
    let _ = writeln!(out, "<h2>{}</h2>\n<p class=\"quiet\">{}</p>\n<div class=\"figures\">", p.title(), p.kind());
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
