//! What every machine needs for all shaders together, and for those that all machines take.

use super::{change, counted, earlier};
use crate::stats::{Compared, Mean, bits_per_op, common};
use serde_json::Value;
use std::fmt::Write;

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

impl Total {
    fn of(shaders: &[&Compared], target: &str, baseline: Option<&Value>) -> Total {
        let mut sum = Total::default();
        for c in shaders {
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
}

/// The front's table, and a second one where machines take different shaders.
pub fn totals(out: &mut String, shaders: &[&Compared], targets: &[&'static str], baseline: Option<&Value>) {
    let sums = |of: &[&Compared]| -> Vec<(&'static str, Total)> { targets.iter().map(|t| (*t, Total::of(of, t, baseline))).collect() };
    let all = sums(shaders);
    out.push_str("<section>");
    table(out, &all, baseline.is_some());
    out.push_str(
        "<p class=\"quiet note\">Means are geometric, of the shaders that the machine takes; bits of code for each IR operation.</p>\n",
    );
    let shared = common(shaders);
    let machines: Vec<&(&'static str, Total)> = all.iter().filter(|(_, t)| t.shaders > 0).collect();
    if machines.len() > 1 && machines.iter().any(|(_, t)| t.shaders as usize != shared.len()) {
        let names: Vec<&str> = machines.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        if shared.is_empty() {
            let _ =
                writeln!(out, "<p class=\"quiet note\">No shader is taken by all of {names}: these figures are of different shaders.</p>");
        } else {
            let of = counted(shared.len() as u64, "shader", "shaders");
            let _ = writeln!(out, "<h2 class=\"common\">Of the {of} that all of {names} take</h2>");
            let sums: Vec<_> = sums(&shared).into_iter().filter(|(_, t)| t.shaders > 0).collect();
            table(out, &sums, baseline.is_some());
        }
    }
    out.push_str("</section>\n");
}

/// A row for each machine. Narrow pages have no heads of columns: every cell says what it is.
fn table(out: &mut String, sums: &[(&'static str, Total)], compared: bool) {
    let mut heads = vec!["machine", "shaders", "bytes", "instructions", "mean bytes", "mean bits/op"];
    if compared {
        heads.extend(["helped", "hurt"]);
    }
    out.push_str("<div class=\"scroll\"><table class=\"totals\">\n<thead><tr>");
    heads.iter().for_each(|h| {
        let _ = write!(out, "<th>{h}</th>");
    });
    out.push_str("</tr></thead>\n<tbody>\n");
    for (t, sum) in sums {
        let refused = if sum.refused > 0 { format!(" <span class=\"quiet\">+ {} refused</span>", sum.refused) } else { String::new() };
        // Nothing is not the smallest of sizes.
        let some = |text: String| if sum.shaders > 0 { text } else { "–".to_string() };
        let since = change(sum.bytes, compared.then_some(sum.before));
        let mut cells = vec![
            format!("{}{refused}", sum.shaders),
            some(format!("{}{since}", sum.bytes)),
            some(sum.instructions.to_string()),
            some(format!("{:.1}", sum.mean_bytes.value())),
            some(format!("{:.1}", sum.mean_bits.value())),
        ];
        if compared {
            cells.extend([sum.helped.to_string(), sum.hurt.to_string()]);
        }
        let _ = write!(out, "<tr><th class=\"m-{t}\">{t}</th>");
        for (head, cell) in heads.iter().skip(1).zip(cells) {
            let class = if matches!(*head, "helped" | "hurt") { format!(" class=\"{head}\"") } else { String::new() };
            let _ = write!(out, "<td{class} data-of=\"{head}\">{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}
