//! Diagnostics as text and as JSON, for whoever shows them.

use retroshade_ir::{Diagnostic, SourceMap};

/// `file:line:column: error[CODE]: message`, one per line; `file` where a message has no place.
pub fn messages(all: &[Diagnostic], sources: &SourceMap, file: &str) -> String {
    let line = |d: &Diagnostic| {
        let place = match (sources.name(d.span.file), sources.line_column(d.span.file, d.span.start)) {
            (Some(f), Some((l, c))) => format!("{f}:{l}:{c}: "),
            _ if file.is_empty() => String::new(),
            _ => format!("{file}: "),
        };
        format!("{place}{d}")
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// One diagnostic as `--message-format json` writes it: a versioned object with places counted from 1. `file` is the name where it has
/// no place.
#[cfg(feature = "json")]
pub fn json_line(d: &Diagnostic, sources: &SourceMap, file: Option<&str>) -> serde_json::Value {
    use retroshade_ir::Span;
    use serde_json::json;
    let place = |s: Span| Some((sources.name(s.file)?, sources.line_column(s.file, s.start)?));
    let notes: Vec<_> = d
        .notes
        .iter()
        .map(|(s, m)| match place(*s) {
            Some((file, (line, column))) => json!({ "message": m, "file": file, "line": line, "column": column }),
            None => json!({ "message": m }),
        })
        .collect();
    let mut v = json!({ "version": 1, "severity": d.severity.to_string(), "code": d.code, "message": d.message });
    match place(d.span) {
        Some((file, (line, column))) => {
            let (end_line, end_column) = sources.line_column(d.span.file, d.span.end).unwrap_or((line, column));
            v["file"] = json!(file);
            v["line"] = json!(line);
            v["column"] = json!(column);
            v["end_line"] = json!(end_line);
            v["end_column"] = json!(end_column);
        }
        None => v["file"] = json!(file),
    }
    v["notes"] = json!(notes);
    v
}
