//! naga's errors as diagnostics in the user's text.

use crate::convert::SpanMap;
use naga::WithSpan;
use retroshade_ir::{Diagnostic, Span};
use std::error::Error;

/// A message and all that caused it, in one line.
pub(crate) fn chain(e: &dyn Error) -> String {
    let mut text = e.to_string();
    let mut source = e.source();
    while let Some(s) = source {
        let more = s.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = s.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An error with labelled places: the first is the error's, the others are notes.
pub(crate) fn spanned<E: Error>(code: &'static str, e: &WithSpan<E>, spans: SpanMap) -> Diagnostic {
    // Places are added from the inside out, so that the shortest is the most precise.
    let best = e.spans().map(|(s, _)| spans(*s)).filter(|s| !s.is_none()).min_by_key(|s| s.end - s.start).unwrap_or(Span::NONE);
    let mut d = Diagnostic::error(code, best, chain(e.as_inner()));
    for (s, label) in e.spans() {
        let at = spans(*s);
        if at != best && !label.is_empty() {
            d = d.note(at, label.clone());
        }
    }
    d
}

/// Errors of the WGSL parser.
pub(crate) fn wgsl(e: &naga::front::wgsl::ParseError, spans: SpanMap) -> Diagnostic {
    let mut labels = e.labels();
    let (at, first) = labels.next().map_or((Span::NONE, ""), |(s, l)| (spans(s), l));
    let mut message = e.message().to_string();
    if !first.is_empty() && !message.contains(first) {
        message = format!("{message} ({first})");
    }
    // What naga has not learned yet and no machine has anyway.
    if message.contains("`subgroups`") {
        return Diagnostic::error("F0133", at, "subgroup operations exist on none of the machines");
    }
    let mut d = Diagnostic::error("F0010", at, message);
    for (s, l) in labels {
        d = d.note(spans(s), l.to_string());
    }
    for n in e.notes().filter(|n| !n.contains("Let Naga maintainers know")) {
        d = d.note(Span::NONE, n.to_string());
    }
    d
}
