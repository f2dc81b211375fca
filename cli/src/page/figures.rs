//! A target's figures on a shader's page: sizes, what the code is made of, and how much of what the machine has is taken.

use super::parts::{meters, remarks, shares};
use crate::lower::isa::Stats;
use crate::stats::bits_per_op;
use std::fmt::Write;

/// The figures of one target; `change` is what changed of the bytes, as HTML.
pub fn card(out: &mut String, target: &str, s: &Stats, ir_ops: u32, change: &str) {
    let _ = writeln!(
        out,
        "<div class=\"m-{target}\"><h3 class=\"m-{target}\">{target}</h3><p><b>{}</b> bytes{change}, <b>{}</b> instruction{}, \
         <b>{:.1}</b> bits per IR operation</p>",
        s.bytes,
        s.instructions,
        if s.instructions == 1 { "" } else { "s" },
        bits_per_op(s, ir_ops)
    );
    bar(out, &shares(target, s));
    out.push_str("<div class=\"meters\">");
    for m in meters(target, s) {
        let share = m.share.0 as f64 / m.share.1.max(1) as f64;
        let _ = write!(
            out,
            "<span class=\"label\">{}</span><span class=\"meter\"><span style=\"--share:{:.4}\"></span></span><span class=\"value\">{}</span>",
            m.what,
            share.min(1.0),
            m.text
        );
    }
    let _ = writeln!(out, "</div>\n<p class=\"quiet\">{}</p>\n</div>", remarks(target, s).join(", "));
}

/// One bar of all shares with their names below.
fn bar(out: &mut String, parts: &[(&'static str, u64, u64)]) {
    let sum: u64 = parts.iter().map(|(.., weight)| weight).sum();
    if sum == 0 {
        return;
    }
    let (mut shares, mut legend) = (String::new(), String::new());
    for (k, (what, n, weight)) in parts.iter().enumerate().filter(|(_, (_, n, _))| *n > 0) {
        let percent = *weight as f64 / sum as f64 * 100.0;
        let _ = write!(shares, "<span class=\"share k{k}\" style=\"flex-grow:{weight}\" title=\"{what}: {n} ({percent:.0} %)\"></span>");
        let _ = write!(legend, "<span><b class=\"k{k}\"></b>{n} {what}</span>");
    }
    let _ = writeln!(out, "<div class=\"shares\">{shares}</div><p class=\"legend\">{legend}</p>");
}
