//! Where things are named in the user's text: places for what naga reports without one.

use retroshade_ir::{FileId, Span};

/// A source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    /// Its number.
    pub(crate) file: FileId,
    /// The text; empty where the source is none.
    pub(crate) text: &'a str,
}

impl Names<'_> {
    fn span(&self, at: usize, len: usize) -> Span {
        Span::new(self.file, at as u32, (at + len) as u32)
    }

    /// The first line that says anything.
    pub(crate) fn start(&self) -> Span {
        crate::parse::start(self.file, self.text)
    }

    /// Whole words `word` at or behind `from`, outside comments.
    fn words<'s>(&'s self, word: &'s str, from: usize) -> impl Iterator<Item = usize> + 's {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let tail = self.text.get(from..).unwrap_or("");
        let all = tail.match_indices(word).map(move |(at, _)| from + at);
        all.filter(move |at| {
            let (before, after) = (&self.text[..*at], &self.text[at + word.len()..]);
            let line = before.rsplit('\n').next().unwrap_or("");
            let comment = line.contains("//") || before.rfind("/*") > before.rfind("*/");
            !word.is_empty() && !comment && !before.ends_with(part) && !after.starts_with(part)
        })
    }

    /// Where a function is named.
    pub(crate) fn function(&self, name: &str) -> Span {
        let declared = |at: &usize| self.text[at + name.len()..].trim_start().starts_with('(');
        self.words(name, 0).find(declared).map_or_else(|| self.start(), |at| self.span(at, name.len()))
    }

    /// Where a variable, constant or member is declared.
    pub(crate) fn global(&self, name: &str) -> Option<Span> {
        let declared = |at: &usize| matches!(self.text[at + name.len()..].trim_start().as_bytes().first(), Some(b':' | b'='));
        self.words(name, 0).find(declared).map(|at| self.span(at, name.len()))
    }

    /// Where an argument of a function is named.
    pub(crate) fn argument(&self, function: &str, name: &str) -> Span {
        let from = self.function(function);
        if from.is_none() {
            return from;
        }
        self.words(name, from.end as usize).next().map_or(from, |at| self.span(at, name.len()))
    }
}
