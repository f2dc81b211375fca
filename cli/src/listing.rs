//! A compiled shader's assembly, and a module's text, line by line, with the bytes and the place in the source that each line stands for.

use crate::ir::{FileId, Module, SourceMap, Span, print};
use crate::lower::{CompiledShader, TargetIsa};
use std::ops::Range;

/// A line of assembly or of the IR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line without its end.
    pub text: String,
    /// The bytes of the code; `None` for declarations, labels and the like.
    pub bytes: Option<Range<u32>>,
    /// Where in the source it comes from; [`Span::NONE`] where nothing is known.
    pub span: Span,
}

impl Line {
    /// First and last line of the source that it comes from, if that is in the main file.
    pub fn source_lines(&self, sources: &SourceMap) -> Option<(u32, u32)> {
        if self.span.is_none() || self.span.file != FileId(0) {
            return None;
        }
        let first = sources.line_column(self.span.file, self.span.start)?.0;
        let last = sources.line_column(self.span.file, self.span.end.max(self.span.start + 1) - 1).map_or(first, |p| p.0);
        Some((first, last.max(first)))
    }
}

/// The lines of a shader's assembly in order.
pub fn lines(isa: &dyn TargetIsa, shader: &CompiledShader) -> Vec<Line> {
    let mut places = isa.line_places(&shader.asm);
    places.resize(shader.asm.lines().count(), None);
    let span = |at: u32| shader.source_map.iter().find(|(r, _)| r.contains(&at)).map_or(Span::NONE, |(_, s)| *s);
    let line = |(text, bytes): (&str, Option<Range<u32>>)| {
        let span = bytes.as_ref().map_or(Span::NONE, |b| span(b.start));
        Line { text: text.to_string(), bytes, span }
    };
    shader.asm.lines().zip(places).map(line).collect()
}

/// The lines of a module's text in order: instructions know their places, nothing has bytes.
pub fn of_ir(module: &Module) -> Vec<Line> {
    // The printer's order: the entry first, every instruction on an indented line.
    let helpers = module.functions.keys().filter(|id| *id != module.entry);
    let functions = std::iter::once(module.entry).chain(helpers).filter_map(|id| module.functions.get(id));
    let mut spans = functions.flat_map(|f| f.ordered().map(|(_, i)| f.spans[i]));
    let mut span = |text: &str| if text.starts_with("    ") { spans.next().unwrap_or(Span::NONE) } else { Span::NONE };
    print(module).lines().map(|text| Line { text: text.to_string(), bytes: None, span: span(text) }).collect()
}
