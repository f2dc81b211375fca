//! The page's pictures: plain SVG with the colours of the reader's theme.

use crate::Peer;
use std::fmt::Write;

const WIDTH: f64 = 720.0;

/// The beginning of a picture. Our share is green, theirs the line at 1.
fn begin(height: f64, about: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{about}\">\n<style>\n  text {{ font: 13px system-ui, sans-serif; fill: #22252a }}\n  .quiet {{ fill: #5d646f }}\n  \
         .won {{ fill: #2f8f4e }}\n  .lost {{ fill: #c8402f }}\n  line {{ stroke: #5d646f }}\n  .paper {{ fill: #fff }}\n  \
         @media (prefers-color-scheme: dark) {{ text {{ fill: #e4e6ea }} .quiet {{ fill: #9aa2af }} .won {{ fill: #5fc98a }} \
         .lost {{ fill: #ff8a70 }} line {{ stroke: #9aa2af }} .paper {{ fill: #16181c }} }}\n</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    )
}

fn class(ratio: f64) -> &'static str {
    if ratio > 1.0 { "lost" } else { "won" }
}

/// A bar of the geometric mean for each comparison.
pub fn summary(peers: &[Peer]) -> String {
    let (left, right, row) = (285.0, 60.0, 30.0);
    let height = row * peers.len() as f64 + 30.0;
    let unit = (WIDTH - left - right) / peers.iter().map(Peer::mean).fold(1.1, f64::max);
    let mut out = begin(height, "geometric means of our size over theirs");
    for (n, p) in peers.iter().enumerate() {
        let (y, mean) = (n as f64 * row + 10.0, p.mean());
        let _ = write!(
            out,
            "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\n<rect class=\"{}\" x=\"{left}\" y=\"{y:.0}\" width=\"{:.1}\" \
             height=\"20\" rx=\"2\"/>\n<text x=\"{:.1}\" y=\"{:.0}\">{mean:.3}</text>\n",
            left - 10.0,
            y + 15.0,
            p.title,
            class(mean),
            mean * unit,
            (left + mean * unit + 6.0).max(left + unit + 6.0),
            y + 15.0
        );
    }
    let x = left + unit;
    let _ = write!(
        out,
        "<line x1=\"{x:.1}\" y1=\"4\" x2=\"{x:.1}\" y2=\"{:.0}\"/>\n<text class=\"quiet\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">theirs</text>\n</svg>\n",
        height - 22.0,
        height - 6.0
    );
    out
}

/// A bar for each program from the best to the worst, on a scale of powers of two around 1.
pub fn programs(p: &Peer) -> String {
    let (left, right, height, base) = (46.0, 10.0, 230.0, 205.0);
    let mut ratios: Vec<f64> = p.rows.iter().map(|r| r.ratio()).collect();
    ratios.sort_by(f64::total_cmp);
    let low = ratios.first().map_or(0.5, |r| r.min(0.5)).log2();
    let high = ratios.last().map_or(2.0, |r| r.max(1.25)).log2();
    let y = |ratio: f64| 12.0 + (high - ratio.log2()) / (high - low) * (base - 17.0);
    let step = (WIDTH - left - right) / ratios.len() as f64;
    let mut out = begin(height, "our size over theirs, program by program");
    for mark in [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0] {
        if (low..=high).contains(&f64::log2(mark)) {
            let dash = if mark == 1.0 { "" } else { " stroke-dasharray=\"2 4\"" };
            let _ = writeln!(out, "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"{dash}/>", WIDTH - right, y = y(mark));
            let _ =
                writeln!(out, "<text class=\"quiet\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{mark}</text>", left - 6.0, y(mark) + 4.0);
        }
    }
    for (n, r) in ratios.iter().enumerate() {
        let (a, b) = (y(r.max(1.0)), y(r.min(1.0)));
        // A program of equal size is a thin bar on the line.
        let (a, h) = if b - a < 2.0 { (a - 1.0, 2.0) } else { (a, b - a) };
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{:.2}\" y=\"{a:.1}\" width=\"{:.2}\" height=\"{h:.1}\"/>",
            class(*r),
            left + n as f64 * step,
            (step * 0.85).max(0.8)
        );
    }
    let (ours, theirs) = p.sums();
    let _ = write!(
        out,
        "<text class=\"quiet\" x=\"{left}\" y=\"{}\">{} programs, {ours} of {theirs} {}, geometric mean {:.3}</text>\n</svg>\n",
        height - 6.0,
        p.rows.len(),
        p.unit,
        p.mean()
    );
    out
}
