//! Reducing text: lines, blocks and parentheses, tokens, until nothing more can go.
//!
//! Ranges of bytes are dropped by Zeller's minimising delta debugging: halves first, then smaller and smaller parts. What a language makes
//! of the rest is the command's affair.

use super::Judge;
use super::tokens::{Token, brackets, tokens};
use crate::report::Failure;
use retroshade::Language;
use std::ops::Range;

/// Makes the judge's best text as short as these steps can.
pub fn reduce(judge: &mut Judge, language: Language) -> Result<(), Failure> {
    loop {
        let before = judge.best.len();
        blocks(judge, language)?;
        ranges(judge, lines)?;
        statements(judge)?;
        initialisers(judge)?;
        groups(judge)?;
        ranges(judge, |t| tokens(t).into_iter().map(|t| t.at).collect())?;
        numbers(judge)?;
        blanks(judge, language)?;
        if judge.best.len() >= before {
            return Ok(());
        }
    }
}

/// A text without some of its bytes.
fn without(text: &str, gone: &[Range<usize>]) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for g in gone {
        out.push_str(text.get(from..g.start).unwrap_or_default());
        from = from.max(g.end);
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

fn without_one(text: &str, gone: Range<usize>) -> String {
    without(text, std::slice::from_ref(&gone))
}

/// Lines with their ends.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|l| {
            at += l.len();
            at - l.len()..at
        })
        .collect()
}

/// Drops parts of the text: many at a time, then fewer, in the end one by one.
fn ranges(judge: &mut Judge, parts: fn(&str) -> Vec<Range<usize>>) -> Result<(), Failure> {
    let mut size = parts(&judge.best).len().div_ceil(2).max(1);
    loop {
        // From the end: uses go before what they use.
        let mut end = parts(&judge.best).len();
        while end > 0 {
            let all = parts(&judge.best);
            end = end.min(all.len());
            let start = end.saturating_sub(size);
            judge.improves(&without(&judge.best, &all[start..end]), false)?;
            end = start;
        }
        if size == 1 {
            return Ok(());
        }
        size = size.div_ceil(2);
    }
}

/// What stands before an opening brace and belongs to it: back to the end of what came before, which in IR is a line's.
fn head(text: &str, all: &[Token], open: usize, language: Language) -> usize {
    if language == Language::Ir {
        let line = text[..all[open].at.start].rfind('\n').map_or(0, |n| n + 1);
        return all.partition_point(|t| t.at.start < line);
    }
    let mut depth = 0;
    for n in (0..open).rev() {
        let t = &text[all[n].at.clone()];
        match t {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        if depth == 0 && (matches!(t, ";" | "{" | "}" | ":") || t.starts_with('#') || all[n].comment) {
            return n + 1;
        }
    }
    0
}

/// Tries changes that depend on pairs of brackets; after one that is kept the pairs are looked for anew, at the same place.
fn pairs(judge: &mut Judge, open: char, close: char, changes: impl Fn(&str, &[Token], usize, usize) -> Vec<String>) -> Result<(), Failure> {
    let mut n = 0;
    loop {
        let text = judge.best.clone();
        let all = tokens(&text);
        let Some((o, c)) = brackets(&text, &all, open, close).get(n).copied() else { return Ok(()) };
        let mut kept = false;
        for candidate in changes(&text, &all, o, c) {
            if judge.improves(&candidate, false)? {
                kept = true;
                break;
            }
        }
        n += usize::from(!kept);
    }
}

/// Drops blocks with what stands before them, empties them, or leaves what they hold.
fn blocks(judge: &mut Judge, language: Language) -> Result<(), Failure> {
    pairs(judge, '{', '}', |text, all, o, c| {
        let (first, inside) = (all[head(text, all, o, language)].at.start, all[o].at.end..all[c].at.start);
        let whole = first..all[c].at.end;
        let header = first..all[o].at.end;
        vec![without(text, &[whole]), without(text, &[header, all[c].at.clone()]), without(text, &[inside])]
    })
}

/// Drops what stands between semicolons, wherever the lines end.
fn statements(judge: &mut Judge) -> Result<(), Failure> {
    ranges(judge, |text| {
        let all = tokens(text);
        let (mut out, mut from) = (Vec::new(), None);
        for t in &all {
            let start = *from.get_or_insert(t.at.start);
            match &text[t.at.clone()] {
                ";" => out.push(start..t.at.end),
                "{" | "}" => {}
                l if l.starts_with('#') || t.comment => {}
                _ => continue,
            }
            from = None;
        }
        out
    })
}

/// Drops what stands between `=` and the end of its statement.
fn initialisers(judge: &mut Judge) -> Result<(), Failure> {
    ranges(judge, |text| {
        let all = tokens(text);
        let is = |t: &Token, what: &str| &text[t.at.clone()] == what;
        let begins = all.iter().enumerate().filter(|(_, t)| is(t, "="));
        begins.filter_map(|(n, t)| Some(t.at.start..all[n..].iter().find(|e| is(e, ";"))?.at.start)).collect()
    })
}

/// Empties parentheses and brackets, or leaves their first part, or only what they hold.
fn groups(judge: &mut Judge) -> Result<(), Failure> {
    for (open, close) in [('(', ')'), ('[', ']')] {
        pairs(judge, open, close, |text, all, o, c| {
            let inside = all[o].at.end..all[c].at.start;
            // A word before it is a call's name.
            let named = o > 0 && all[o - 1].at.end == all[o].at.start;
            let from = if named { all[o - 1].at.start } else { all[o].at.start };
            let mut depth = 0;
            let comma = (o + 1..c).find(|n| {
                let t = &text[all[*n].at.clone()];
                depth += i32::from(matches!(t, "(" | "[" | "{")) - i32::from(matches!(t, ")" | "]" | "}"));
                depth == 0 && t == ","
            });
            let mut out = vec![
                without_one(text, from..all[c].at.end),
                without(text, &[inside]),
                without(text, &[from..all[o].at.end, all[c].at.clone()]),
            ];
            if let Some(k) = comma {
                out.push(without(text, &[from..all[o].at.end, all[k].at.start..all[c].at.end]));
                out.push(without_one(text, all[k].at.start..all[c].at.start));
                out.push(without_one(text, all[o].at.end..all[k].at.end));
            }
            out
        })?;
    }
    Ok(())
}

/// Makes long numbers short.
fn numbers(judge: &mut Judge) -> Result<(), Failure> {
    let mut n = 0;
    loop {
        let all = tokens(&judge.best);
        let Some(t) = all.get(n) else { return Ok(()) };
        n += 1;
        let old = &judge.best[t.at.clone()];
        if !old.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let short: &[&str] = if old.contains('.') { &["0.", "1."] } else { &["0", "1"] };
        for s in short {
            let text = format!("{}{s}{}", &judge.best[..t.at.start], &judge.best[t.at.end..]);
            if judge.improves(&text, false)? {
                break;
            }
        }
    }
}

/// Drops empty lines, blanks at the ends of lines and doubled blanks inside them.
fn blanks(judge: &mut Judge, language: Language) -> Result<(), Failure> {
    let mut tidy = String::new();
    for l in judge.best.lines().filter(|l| !l.trim().is_empty()) {
        let indent = l.len() - l.trim_start().len();
        tidy.push_str(&l[..indent]);
        tidy.push_str(&l.split_whitespace().collect::<Vec<_>>().join(" "));
        tidy.push('\n');
    }
    if !judge.improves(&tidy, false)? && language != Language::Ir {
        let flat: String = judge.best.lines().map(|l| format!("{}\n", l.trim())).collect();
        judge.improves(&flat, false)?;
    }
    Ok(())
}
