//! Where code comes from: `--emit map`, the lines of `stats`, comments in assembly.

use crate::files;
use crate::report::Failure;
use retroshade::ir::{SourceMap, Span};
use retroshade::lower::CompiledShader;
use retroshade::lower::validate::meaning::Seen;
use retroshade::{TargetIsa, listing};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A place as messages have it: file, line, column.
fn place(span: Span, sources: &SourceMap) -> Option<(&str, u32, u32)> {
    let (line, column) = sources.line_column(span.file, span.start)?;
    Some((sources.name(span.file)?, line, column))
}

/// The document of `--emit map`: stretches of the code, in order, and the source that each comes from. What the compiler adds itself comes
/// from nowhere and is left out.
pub fn to_json(s: &CompiledShader, sources: &SourceMap) -> Value {
    let mut ranges: Vec<Value> = Vec::new();
    let mut last: Option<(u32, Span)> = None;
    for (bytes, span) in &s.source_map {
        let Some((file, line, column)) = place(*span, sources) else { continue };
        // Neighbours from one place are one stretch.
        if last == Some((bytes.start, *span))
            && let Some(r) = ranges.last_mut()
        {
            r["end"] = json!(bytes.end);
        } else {
            let (end_line, end_column) = sources.line_column(span.file, span.end).unwrap_or((line, column));
            ranges.push(json!({
                "start": bytes.start, "end": bytes.end, "file": file,
                "line": line, "column": column, "end_line": end_line, "end_column": end_column,
            }));
        }
        last = Some((bytes.end, *span));
    }
    json!({ "version": 1, "target": s.target, "bytes": s.code.len(), "ranges": ranges })
}

/// Bytes of code by source line, for `--emit stats`: `{ "file:line": bytes }` in the order of the files.
pub fn bytes_by_line(s: &CompiledShader, sources: &SourceMap) -> Value {
    let mut lines: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for (bytes, span) in &s.source_map {
        if let Some((file, line, _)) = place(*span, sources) {
            *lines.entry((file, line)).or_default() += bytes.end - bytes.start;
        }
    }
    Value::Object(lines.into_iter().map(|((file, line), n)| (format!("{file}:{line}"), json!(n))).collect())
}

/// How much of a program `--verify` saw run, for `--emit stats`; blocks that no inputs reach are named by the lines where they begin.
pub fn verified(seen: &Seen, sources: &SourceMap) -> Value {
    let lines: BTreeSet<(&str, u32)> =
        seen.unreached.iter().filter_map(|s| place(*s, sources)).map(|(file, line, _)| (file, line)).collect();
    let lines: Vec<String> = lines.into_iter().map(|(file, line)| format!("{file}:{line}")).collect();
    json!({
        "input_sets": seen.sets,
        "detours": seen.detours,
        "blocks": seen.blocks,
        "blocks_reached": seen.blocks - seen.unreached.len(),
        "outcomes": seen.outcomes,
        "outcomes_reached": seen.outcomes_reached,
        "outcomes_turned": seen.outcomes_turned,
        "unreached": lines,
    })
}

/// Assembly with the source's line as a comment before the first of the instructions that come from it.
pub fn annotated(isa: &dyn TargetIsa, s: &CompiledShader, sources: &SourceMap) -> String {
    let mut out = String::new();
    let mut shown = None;
    for line in listing::lines(isa, s) {
        if let Some((file, number, _)) = place(line.span, sources)
            && shown != Some((file, number))
        {
            let text = sources.text(line.span.file).and_then(|t| t.lines().nth(number as usize - 1)).unwrap_or_default();
            out.push_str(&format!("{} {file}:{number}: {}\n", isa.comment(), text.trim()));
            shown = Some((file, number));
        }
        out.push_str(&line.text);
        out.push('\n');
    }
    out
}

/// Disassembly with `file:line` as a comment before the first of the instructions that come from there, by a file that `--emit map` wrote.
pub fn located(isa: &dyn TargetIsa, text: &str, map: &Path) -> Result<String, Failure> {
    let wrong = |m: String| Failure { file: Some(files::display(map)), ..Failure::plain(1, "C0021", m) };
    let file: Value = serde_json::from_str(&files::read_text(map)?).map_err(|e| wrong(format!("this is no source map: {e}")))?;
    let ranges = file["ranges"].as_array().ok_or_else(|| wrong("this is no source map: it has no list `ranges`".into()))?;
    let number = |r: &Value, key: &str| r[key].as_u64().unwrap_or(0);
    let places = isa.line_places(text);
    let mut out = String::new();
    let mut shown = None;
    for (n, line) in text.lines().enumerate() {
        let at = places.get(n).cloned().flatten().map(|b| u64::from(b.start));
        let range = at.and_then(|at| ranges.iter().find(|r| (number(r, "start")..number(r, "end")).contains(&at)));
        if let Some(place) = range.map(|r| format!("{}:{}", r["file"].as_str().unwrap_or(""), number(r, "line")))
            && shown.as_ref() != Some(&place)
        {
            out.push_str(&format!("{} {place}\n", isa.comment()));
            shown = Some(place);
        }
        out.push_str(line);
        out.push('\n');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_unreached_is_named_by_lines() {
        let mut sources = SourceMap::default();
        let file = sources.add("a.vert", "one\ntwo\nthree\n");
        let unreached = vec![Span::new(file, 8, 13), Span::NONE, Span::new(file, 4, 5), Span::new(file, 5, 6)];
        let seen = Seen { sets: 6, detours: 2, blocks: 9, unreached, outcomes: 8, outcomes_reached: 5, outcomes_turned: 1 };
        let wanted = json!({
            "input_sets": 6, "detours": 2, "blocks": 9, "blocks_reached": 5, "outcomes": 8, "outcomes_reached": 5, "outcomes_turned": 1,
            "unreached": ["a.vert:2", "a.vert:3"],
        });
        assert_eq!(verified(&seen, &sources), wanted);
    }
}
