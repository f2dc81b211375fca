//! From places in the text that glslang saw back to the user's.

use super::lex::{Kind, Token, tokens};
use super::mark::Place;
use super::upgrade::{definition, directive, inmost};
use retroshade_ir::{FileId, Span};
use std::collections::BTreeSet;

/// A token of a file: as glslang sees it, and where it stands in the user's text.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    line: u32,
    at: u32,
    end: u32,
}

/// A file that glslang reads.
#[derive(Clone, Debug)]
struct File {
    name: String,
    id: FileId,
    /// First bytes of the lines.
    lines: Vec<u32>,
    words: Vec<Word>,
    text: String,
}

/// All files that glslang reads: the user's text first, then what it includes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    files: Vec<File>,
    /// Names of macros.
    macros: BTreeSet<String>,
}

impl Files {
    /// Adds a file: the user's text and the one that is made of it, token for token but for semicolons that are left out, lengths that
    /// are put in (`a[]` with a first value), and names of structures without one.
    pub(crate) fn add(&mut self, name: &str, id: FileId, text: &str, user: &[Token<'_>], upgraded: &str) {
        if self.files.iter().any(|f| f.name == name) {
            return;
        }
        self.macros.extend(user.iter().filter_map(definition).map(str::to_string));
        let mut lines = vec![0];
        lines.extend(text.match_indices('\n').map(|(n, _)| n as u32 + 1));
        let plain = |t: &&Token<'_>| t.kind != Kind::Directive;
        let seen = tokens(upgraded);
        let mut seen = seen.iter().filter(plain).peekable();
        let mut words = Vec::new();
        for u in user.iter().filter(plain) {
            if u.is(";") && seen.peek().is_some_and(|s| !s.is(";")) {
                continue;
            }
            if u.is("]") && seen.peek().is_some_and(|s| !s.is("]")) {
                seen.next();
            }
            // A structure without a name has got one.
            if u.is("{") && seen.peek().is_some_and(|s| !s.is("{")) {
                seen.next();
            }
            let Some(s) = seen.next() else { break };
            words.push(Word { text: s.text.to_string(), line: u.line, at: u.at as u32, end: u.end() as u32 });
        }
        self.files.push(File { name: name.to_string(), id, lines, words, text: text.to_string() });
    }

    /// Names in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.files.iter().map(|f| &*f.name).collect()
    }

    /// The file of a name; glslang calls the first one by a number.
    pub(crate) fn find(&self, name: &str) -> u32 {
        self.files.iter().position(|f| f.name == name).unwrap_or(0) as u32
    }

    fn line_words(f: &File, line: u32) -> &[Word] {
        let from = f.words.partition_point(|w| w.line < line);
        let to = f.words.partition_point(|w| w.line <= line);
        &f.words[from..to]
    }

    /// The span of a line (from 0) without the blanks around it.
    fn line(f: &File, line: u32) -> Span {
        let words = Files::line_words(f, line);
        match (words.first(), words.last()) {
            (Some(a), Some(b)) => Span::new(f.id, a.at, b.end),
            _ => {
                let start = f.lines.get(line as usize).copied().unwrap_or(f.text.len() as u32);
                let end = f.lines.get(line as usize + 1).map_or(f.text.len() as u32, |n| n - 1);
                Span::new(f.id, start, end.max(start))
            }
        }
    }

    /// The statement at a line and byte (from 1; 0: the whole line), as far as it stands on that line.
    pub(crate) fn statement(&self, file: &str, line: u32, column: u32) -> Span {
        let Some(f) = self.files.get(self.find(file) as usize) else { return Span::NONE };
        let line = line.saturating_sub(1);
        let Some(start) = f.lines.get(line as usize).map(|l| l + column.saturating_sub(1)).filter(|_| column > 0) else {
            return Files::line(f, line);
        };
        let words = Files::line_words(f, line);
        let from = words.partition_point(|w| w.at < start);
        let mut depth = 0i32;
        let mut end = None;
        for w in &words[from..] {
            match &*w.text {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                ";" | "{" | "}" if depth <= 0 => break,
                _ => {}
            }
            if depth < 0 {
                break;
            }
            end = Some(w.end);
        }
        end.map_or(Files::line(f, line), |e| Span::new(f.id, start, e))
    }

    /// A word of the user's at a line (from 1) of a file: the one nearest to the column that glslang names, or the line.
    pub(crate) fn word(&self, file: &str, line: u32, column: u32, word: &str) -> Span {
        let Some(f) = self.files.get(self.find(file) as usize) else { return Span::NONE };
        let line = line.saturating_sub(1);
        let words = Files::line_words(f, line);
        let start = f.lines.get(line as usize).copied().unwrap_or(0);
        let near = |w: &&Word| (w.at - start + 1).abs_diff(column);
        let word = inmost(word);
        let found = words.iter().filter(|w| w.text == word).min_by_key(near);
        match found.or_else(|| words.iter().filter(|_| column > 0).min_by_key(near)) {
            Some(w) => Span::new(f.id, w.at, w.end),
            None => Files::line(f, line),
        }
    }

    /// The user's token at a place.
    pub(crate) fn token(&self, p: Place, text: &str) -> Span {
        self.files.get(p.file as usize).map_or(Span::NONE, |f| self.word(&f.name, p.line, p.column, text))
    }

    /// The user's text at a place.
    pub(crate) fn text(&self, s: Span) -> Option<&str> {
        let f = self.files.iter().find(|f| f.id == s.file)?;
        f.text.get(s.start as usize..s.end as usize)
    }

    /// Whether a place is exactly what glslang reads as `word`.
    pub(crate) fn is(&self, s: Span, word: &str) -> bool {
        let f = self.files.iter().find(|f| f.id == s.file);
        f.is_some_and(|f| f.words.iter().any(|w| w.at == s.start && w.text == word))
    }

    /// The last condition of the user's text that no `#endif` ends.
    pub(crate) fn open_condition(&self) -> Option<Span> {
        let f = self.files.first()?;
        let mut open = Vec::new();
        for t in tokens(&f.text) {
            match directive(&t).map(|(name, _)| name) {
                Some("if" | "ifdef" | "ifndef") => open.push(Span::new(f.id, t.at as u32, t.end() as u32)),
                Some("endif") => {
                    open.pop();
                }
                _ => {}
            }
        }
        open.pop()
    }

    /// Where a word stands first.
    pub(crate) fn first(&self, word: &str) -> Option<Span> {
        self.files.iter().find_map(|f| f.words.iter().find(|w| w.text == word).map(|w| Span::new(f.id, w.at, w.end)))
    }

    /// A part of a span that is a certain word.
    pub(crate) fn narrow(&self, span: Span, word: &str) -> Option<Span> {
        let f = self.files.iter().find(|f| f.id == span.file)?;
        let w = f.words.iter().find(|w| w.at >= span.start && w.end <= span.end && w.text == word)?;
        Some(Span::new(f.id, w.at, w.end))
    }
}

/// Where the path through namespaces begins whose last word is this.
fn path(words: &[Word], last: usize) -> usize {
    let mut first = last;
    while let Some([before @ .., a, b]) = words.get(..first).filter(|_| first > 1)
        && a.text == ":"
        && b.text == ":"
    {
        let named = before.last().is_some_and(|w| w.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
        first -= 2 + usize::from(named);
    }
    first
}

/// The tokens of a preprocessed text without its directives, and where each stands in the user's texts.
pub(crate) fn trace<'a>(text: &'a str, files: &Files) -> (Vec<Token<'a>>, Vec<Option<Place>>) {
    let mut toks = Vec::new();
    let mut places = Vec::new();
    // Before the first line directive stands what the upgrade put there.
    let mut now: Option<(usize, i64)> = None;
    let mut line = u32::MAX;
    let mut at = 0usize;
    for t in tokens(text) {
        if t.kind == Kind::Directive {
            if let Some(("line", rest)) = directive(&t) {
                let words: Vec<&str> = rest.splitn(3, '"').map(str::trim).collect();
                let number: Vec<&str> = words[0].split_whitespace().collect();
                let file = words.get(1).map_or(0, |name| files.find(name) as usize);
                if let Some(n) = number.first().and_then(|n| n.parse::<i64>().ok()) {
                    now = Some((file, n - 1 - i64::from(t.line) - 1));
                }
            }
            line = u32::MAX;
            continue;
        }
        let place = now.and_then(|(file, shift)| {
            let f = files.files.get(file)?;
            let there = u32::try_from(i64::from(t.line) + shift).ok()?;
            let words = Files::line_words(f, there);
            if line != there {
                line = there;
                at = 0;
            }
            // Tokens of macros stand where these are called, up to the end of the statement.
            let text = inmost(t.text);
            let called = words.get(at).is_some_and(|w| w.text != text && files.macros.contains(&w.text));
            let found =
                if (t.is_word() && !called) || t.is(";") { words[at.min(words.len())..].iter().position(|w| w.text == text) } else { None };
            let same = words.get(at).is_some_and(|w| w.text == text);
            let here = if same { at } else { found.map_or(at, |n| at + n) };
            if same || found.is_some() {
                at = here + 1;
            }
            let first = if text == t.text { here } else { path(words, here) };
            let w = words.get(first.min(words.len().saturating_sub(1)))?;
            let start = f.lines.get(w.line as usize).copied()?;
            Some(Place { file: file as u32, line: w.line + 1, column: w.at - start + 1 })
        });
        toks.push(t);
        places.push(place);
    }
    (toks, places)
}
