//! Layout: from a list of words, labels and data to bytes, relocations and a source map.
//!
//! ```text
//!   word, label, data, word … ──place──▶ addresses ──resolve──▶ values of the fields that name labels ──encode──▶ bytes
//! ```
//!
//! Addresses follow from the sizes of the forms alone, so they are known before a single word is encoded; then every word is
//! encoded once, with all its values, and nobody edits bits afterwards. What a machine demands of places is a [`Rule`]: the
//! alignment of a form, and what fills a gap. Everything else (which words become short, the order of clauses, padding
//! instructions) is settled by the order in which the machine's emitter appends.
//!
//! A field that waits for an address is a [`Fixup`], plain data: from where it counts and in which unit.
//!
//! ```
//! use retroshade_emit::form::{Field, Form, FormTable, Index, bits};
//! use retroshade_emit::layout::{Layout, Fixup, Rule};
//! use retroshade_emit::{field, form_id, word};
//!
//! static FORMS: &[Form] = &[Form {
//!     name: "JUMP", size: 2, spaces: 1, mask: 0xf000, bits: 0x1000,
//!     fields: &[&[Field::new("to", &[bits(7, 0)]).signed()]], refines: None, doc: "", ext: (),
//! }];
//! static TABLE: FormTable = FormTable { target: "toy", spaces: &["code"], forms: FORMS, index: Index::new() };
//! const JUMP: retroshade_emit::FormId = form_id(FORMS, "JUMP");
//!
//! let mut code: Layout = Layout::new(&TABLE);
//! let end = code.label();
//! // The field counts words of two bytes from the jump itself.
//! code.branch(word!(FORMS, JUMP {}), Fixup::from_here(field!(FORMS, JUMP.to), end, 2), ());
//! code.push(word!(FORMS, JUMP { to: -1 }), ());
//! code.bind(end);
//! assert_eq!(code.finish(&Rule::NONE).unwrap().bytes, [0x02, 0x10, 0xff, 0x10]);
//! ```

use crate::form::{EncodeError, Field, Form, FormId, FormTable, Kind, Word};
use crate::names::FieldIndex;
use smallvec::SmallVec;
use std::ops::Range;
use thiserror::Error;

/// A place in the code that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(u32);

/// From where a [`Fixup`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The start of the code: an absolute address.
    Start,
    /// The word that has the field.
    Here,
    /// Another label: the length of what lies between.
    Label(Label),
}

/// A field that receives a label's address: (address − origin) ÷ unit + bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixup {
    /// The field.
    pub field: FieldIndex,
    /// The label.
    pub to: Label,
    /// From where it counts.
    pub origin: Origin,
    /// Bytes that count as one.
    pub unit: u32,
    /// Added to the quotient.
    pub bias: i64,
    /// Whether the value depends on where the code is loaded, so that a loader must know about it.
    pub relocate: bool,
}

impl Fixup {
    /// An absolute address.
    pub const fn absolute(field: FieldIndex, to: Label, unit: u32) -> Fixup {
        Fixup { field, to, origin: Origin::Start, unit, bias: 0, relocate: false }
    }
    /// A distance from the word itself.
    pub const fn from_here(field: FieldIndex, to: Label, unit: u32) -> Fixup {
        Fixup { field, to, origin: Origin::Here, unit, bias: 0, relocate: false }
    }
    /// The length from one label to another.
    pub const fn length(field: FieldIndex, from: Label, to: Label, unit: u32) -> Fixup {
        Fixup { field, to, origin: Origin::Label(from), unit, bias: 0, relocate: false }
    }
    /// With something added.
    pub const fn plus(self, bias: i64) -> Fixup {
        Fixup { bias, ..self }
    }
    /// Listed among the relocations.
    pub const fn relocated(self) -> Fixup {
        Fixup { relocate: true, ..self }
    }
}

/// What fills the gap before an aligned word or at [`Layout::align`].
#[derive(Clone, Debug, PartialEq)]
pub enum Filler {
    /// Nothing: a gap is the emitter's mistake.
    Never,
    /// Zero bytes.
    Zero,
    /// As many of this word as fit.
    Word(Word),
}

/// What a machine demands of places.
pub struct Rule<X: 'static = ()> {
    /// The alignment of a form in bytes.
    pub align: fn(&Form<X>) -> u32,
    /// What fills a gap.
    pub filler: Filler,
}

impl<X> Rule<X> {
    /// Words stand where they fall.
    pub const NONE: Rule<X> = Rule { align: |_| 1, filler: Filler::Never };
}

#[derive(Clone, Debug)]
enum Item<S> {
    Word { word: Word, fixups: SmallVec<[Fixup; 1]>, span: S },
    Encoded { form: FormId, bits: u128, span: S },
    Data { bytes: Vec<u8>, span: S },
    Bind(Label),
    Align(u32),
}

/// A field that depends on where the code is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Byte offset of the word.
    pub at: u32,
    /// Byte offset of the label within the code.
    pub target: u32,
    /// The field's name.
    pub field: &'static str,
}

/// Finished code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code<S = ()> {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The fields that a loader must adjust.
    pub relocations: Vec<Relocation>,
    /// Byte range and origin of every word and piece of data, in order.
    pub source_map: Vec<(Range<u32>, S)>,
    /// Byte offset of every label.
    labels: Vec<Option<u32>>,
}

impl<S> Code<S> {
    /// The byte offset of a label that was bound.
    pub fn offset(&self, label: Label) -> Option<u32> {
        self.labels.get(label.0 as usize).copied().flatten()
    }
}

/// Why code could not be laid out; `span` is that of the word.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError<S> {
    /// A label was used and never bound.
    #[error("the word at {at:#x} names a place that is bound nowhere")]
    Unbound {
        /// Byte offset of the word.
        at: u32,
        /// Where the word came from.
        span: S,
    },
    /// A label does not lie a whole number of units away.
    #[error("`{field}` of `{form}` at {at:#x} counts units of {unit} bytes, its target lies {bytes} bytes away")]
    Misaligned {
        /// The form.
        form: &'static str,
        /// The field.
        field: &'static str,
        /// Byte offset of the word.
        at: u32,
        /// Bytes from the origin to the label.
        bytes: i64,
        /// The unit.
        unit: u32,
        /// Where the word came from.
        span: S,
    },
    /// A branch does not reach, a block is too long.
    #[error("`{field}` of `{form}` at {at:#x} reaches {least} to {most}, {value} is needed")]
    OutOfReach {
        /// The form.
        form: &'static str,
        /// The field.
        field: &'static str,
        /// Byte offset of the word.
        at: u32,
        /// The value that the field would need.
        value: i64,
        /// The least value of the field.
        least: i64,
        /// The largest value of the field.
        most: i64,
        /// Where the word came from.
        span: S,
    },
    /// A word stands where the machine does not allow it, and nothing may fill the gap.
    #[error("`{form}` stands at {at:#x}, which is no multiple of {align}")]
    Unaligned {
        /// The form.
        form: &'static str,
        /// Byte offset.
        at: u32,
        /// The alignment.
        align: u32,
        /// Where the word came from.
        span: S,
    },
    /// A value does not fit its field.
    #[error("at {at:#x}: {error}")]
    Encode {
        /// Byte offset.
        at: u32,
        /// What does not fit.
        error: EncodeError,
        /// Where the word came from.
        span: S,
    },
}

impl<S: Copy + Default> LayoutError<S> {
    /// Where the word came from.
    pub fn span(&self) -> S {
        match self {
            LayoutError::Unbound { span, .. }
            | LayoutError::Misaligned { span, .. }
            | LayoutError::OutOfReach { span, .. }
            | LayoutError::Unaligned { span, .. }
            | LayoutError::Encode { span, .. } => *span,
        }
    }
}

/// Code under construction. `S` says where a word came from.
pub struct Layout<X: 'static = (), S = ()> {
    table: &'static FormTable<X>,
    items: Vec<Item<S>>,
    labels: u32,
}

impl<X, S: Copy + Default> Layout<X, S> {
    /// Empty code of a machine.
    pub fn new(table: &'static FormTable<X>) -> Layout<X, S> {
        Layout { table, items: Vec::new(), labels: 0 }
    }
    /// Makes room for so many more words and labels.
    pub fn reserve(&mut self, more: usize) {
        self.items.reserve(more);
    }
    /// A fresh label, bound nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }
    /// Binds a label to what is appended next.
    pub fn bind(&mut self, label: Label) {
        self.items.push(Item::Bind(label));
    }
    /// Appends a word.
    pub fn push(&mut self, word: Word, span: S) {
        self.items.push(Item::Word { word, fixups: SmallVec::new(), span });
    }
    /// Appends a word that is encoded already.
    pub fn push_encoded(&mut self, form: FormId, bits: u128, span: S) {
        self.items.push(Item::Encoded { form, bits, span });
    }
    /// Appends a word one field of which waits for a label.
    pub fn branch(&mut self, word: Word, fixup: Fixup, span: S) {
        self.push_with(word, &[fixup], span);
    }
    /// Appends a word several fields of which wait for labels.
    pub fn push_with(&mut self, word: Word, fixups: &[Fixup], span: S) {
        self.items.push(Item::Word { word, fixups: SmallVec::from_slice(fixups), span });
    }
    /// Appends bytes that are no instruction: literals, tables.
    pub fn data(&mut self, bytes: &[u8], span: S) {
        self.items.push(Item::Data { bytes: bytes.to_vec(), span });
    }
    /// Fills up to a multiple of `to` bytes.
    pub fn align(&mut self, to: u32) {
        self.items.push(Item::Align(to));
    }
    /// The forms of the words appended so far, in order.
    pub fn forms(&self) -> impl Iterator<Item = FormId> {
        self.items.iter().filter_map(|i| match i {
            Item::Word { word, .. } => Some(word.form),
            Item::Encoded { form, .. } => Some(*form),
            _ => None,
        })
    }

    /// Settles all addresses, then encodes every word.
    pub fn finish(self, rule: &Rule<X>) -> Result<Code<S>, LayoutError<S>> {
        let (at, labels) = self.place(rule)?;
        let mut code = Code { labels, ..Code::default() };
        for (item, at) in self.items.into_iter().zip(at) {
            fill(&mut code.bytes, at, self.table, &rule.filler)?;
            let span = match item {
                Item::Word { mut word, fixups, span } => {
                    let form = self.table.form(word.form);
                    for r in &fixups {
                        let (value, target) = resolve(r, form, at, &code.labels, span)?;
                        word[r.field] = value as u64;
                        if r.relocate {
                            code.relocations.push(Relocation { at, target, field: named(form, r.field).name });
                        }
                    }
                    let bits = self.table.encode_word(&word).map_err(|error| LayoutError::Encode { at, error, span })?;
                    code.bytes.extend_from_slice(&bits.to_le_bytes()[..form.size as usize]);
                    span
                }
                Item::Encoded { form, bits, span } => {
                    code.bytes.extend_from_slice(&bits.to_le_bytes()[..self.table.form(form).size as usize]);
                    span
                }
                Item::Data { bytes, span } => {
                    code.bytes.extend_from_slice(&bytes);
                    span
                }
                Item::Bind(_) | Item::Align(_) => continue,
            };
            code.source_map.push((at..code.bytes.len() as u32, span));
        }
        Ok(code)
    }

    /// The address of every item and of every label.
    fn place(&self, rule: &Rule<X>) -> Result<(Vec<u32>, Vec<Option<u32>>), LayoutError<S>> {
        let mut labels = vec![None; self.labels as usize];
        let mut waiting: SmallVec<[Label; 4]> = SmallVec::new();
        let (mut at, mut out) = (0u32, Vec::with_capacity(self.items.len()));
        for item in &self.items {
            let mut size = 0;
            match item {
                // A label means the word behind it, not the filler between.
                Item::Bind(l) => waiting.push(*l),
                Item::Align(to) => at = at.next_multiple_of(*to),
                Item::Data { bytes, .. } => size = bytes.len() as u32,
                Item::Word { word: Word { form, .. }, span, .. } | Item::Encoded { form, span, .. } => {
                    let form = self.table.form(*form);
                    let align = (rule.align)(form);
                    if !at.is_multiple_of(align) && rule.filler == Filler::Never {
                        return Err(LayoutError::Unaligned { form: form.name, at, align, span: *span });
                    }
                    at = at.next_multiple_of(align);
                    size = form.size as u32;
                }
            }
            out.push(at);
            if size > 0 {
                waiting.drain(..).for_each(|l| labels[l.0 as usize] = Some(at));
            }
            at += size;
        }
        waiting.drain(..).for_each(|l| labels[l.0 as usize] = Some(at));
        Ok((out, labels))
    }
}

fn named<X>(form: &Form<X>, at: FieldIndex) -> &'static Field {
    const UNKNOWN: Field = Field::new("?", &[]);
    form.fields().nth(at.0 as usize).unwrap_or(const { &UNKNOWN })
}

/// Appends filler up to an address.
fn fill<X, S: Default>(bytes: &mut Vec<u8>, to: u32, table: &FormTable<X>, filler: &Filler) -> Result<(), LayoutError<S>> {
    while let Filler::Word(w) = filler
        && (bytes.len() as u32) < to
    {
        let at = bytes.len() as u32;
        let bits = table.encode_word(w).map_err(|error| LayoutError::Encode { at, error, span: S::default() })?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..table.form(w.form).size as usize]);
    }
    bytes.resize((to as usize).max(bytes.len()), 0);
    Ok(())
}

/// The value of a field that names a label, and the label's address.
fn resolve<X, S>(r: &Fixup, form: &Form<X>, at: u32, labels: &[Option<u32>], span: S) -> Result<(i64, u32), LayoutError<S>>
where
    S: Copy,
{
    let place = |l: Label| labels.get(l.0 as usize).copied().flatten().ok_or(LayoutError::Unbound { at, span });
    let target = place(r.to)?;
    let origin = match r.origin {
        Origin::Start => 0,
        Origin::Here => at,
        Origin::Label(l) => place(l)?,
    };
    let field = named(form, r.field);
    let (bytes, unit) = (target as i64 - origin as i64, r.unit.max(1));
    if bytes % unit as i64 != 0 {
        return Err(LayoutError::Misaligned { form: form.name, field: field.name, at, bytes, unit, span });
    }
    let value = bytes / unit as i64 + r.bias;
    let width = field.width().min(63);
    let (least, most) = match field.kind {
        Kind::Signed => (-(1 << width.saturating_sub(1)), (1 << width.saturating_sub(1)) - 1),
        _ => (0, (1 << width) - 1),
    };
    if !(least..=most).contains(&value) {
        return Err(LayoutError::OutOfReach { form: form.name, field: field.name, at, value, least, most, span });
    }
    Ok((value, target))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{Index, bits};
    use crate::{field, form_id, word};

    static FORMS: &[Form] = &[
        Form {
            name: "SHORT",
            size: 4,
            spaces: 1,
            mask: 0xf000_0000,
            bits: 0x1000_0000,
            fields: &[&[Field::new("to", &[bits(3, 0)]).signed(), Field::new("count", &[bits(7, 4)])]],
            refines: None,
            doc: "",
            ext: (),
        },
        Form {
            name: "LONG",
            size: 8,
            spaces: 1,
            mask: 0xf000_0000,
            bits: 0x2000_0000,
            fields: &[&[Field::new("to", &[bits(3, 0)])]],
            refines: None,
            doc: "",
            ext: (),
        },
    ];
    static TABLE: FormTable = FormTable { target: "toy", spaces: &["any"], forms: FORMS, index: Index::new() };
    const SHORT: crate::FormId = form_id(FORMS, "SHORT");
    const LONG: crate::FormId = form_id(FORMS, "LONG");

    fn pairs(filler: Filler) -> Rule {
        Rule { align: |f| f.size as u32, filler }
    }

    #[test]
    fn labels_before_and_behind_are_found_and_gaps_are_filled() {
        let mut l: Layout<(), u32> = Layout::new(&TABLE);
        let (start, end) = (l.label(), l.label());
        l.bind(start);
        l.push(word!(FORMS, SHORT {}), 1);
        let long = l.label();
        l.bind(long);
        l.push_with(word!(FORMS, LONG {}), &[Fixup::absolute(field!(FORMS, LONG.to), end, 4).relocated()], 2);
        l.push_with(
            word!(FORMS, SHORT {}),
            &[Fixup::from_here(field!(FORMS, SHORT.to), start, 4), Fixup::length(field!(FORMS, SHORT.count), start, end, 4).plus(-1)],
            3,
        );
        l.bind(end);
        let code = l.finish(&pairs(Filler::Word(word!(FORMS, SHORT { to: 7 })))).unwrap();
        let words: Vec<u32> = code.bytes.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert_eq!(words, [0x1000_0000, 0x1000_0007, 0x2000_0005, 0, 0x1000_004c]);
        assert_eq!(code.offset(long), Some(8), "a label means the word behind the filler");
        assert_eq!(code.relocations, [Relocation { at: 8, target: 20, field: "to" }]);
        assert_eq!(code.source_map, [(0..4, 1), (8..16, 2), (16..20, 3)]);
    }

    #[test]
    fn lengths_count_from_labels_on_either_side() {
        let mut l: Layout = Layout::new(&TABLE);
        let (from, to, aligned) = (l.label(), l.label(), l.label());
        l.push_with(word!(FORMS, SHORT {}), &[Fixup::length(field!(FORMS, SHORT.count), from, to, 4)], ());
        l.bind(aligned);
        l.align(4);
        l.push(word!(FORMS, LONG {}), ());
        l.bind(from);
        l.push(word!(FORMS, LONG {}), ());
        l.bind(to);
        let code = l.finish(&pairs(Filler::Zero)).unwrap();
        assert_eq!(code.bytes[..4], [0x20, 0, 0, 0x10], "the code between the word and the first label does not count");
        assert_eq!(code.offset(aligned), Some(8), "a label means the next word, whatever is aligned before it");
    }

    #[test]
    fn signed_fields_reach_as_far_as_their_sign_allows() {
        let jump = |distance: usize| {
            let mut l: Layout = Layout::new(&TABLE);
            let end = l.label();
            l.branch(word!(FORMS, SHORT {}), Fixup::from_here(field!(FORMS, SHORT.to), end, 4), ());
            (1..distance).for_each(|_| l.push(word!(FORMS, SHORT {}), ()));
            l.bind(end);
            l.finish(&Rule::NONE)
        };
        assert!(jump(7).is_ok());
        let e = jump(8).unwrap_err();
        assert_eq!(e.to_string(), "`to` of `SHORT` at 0x0 reaches -8 to 7, 8 is needed");
    }

    #[test]
    fn mistakes_of_an_emitter_are_errors() {
        let mut l: Layout<(), u32> = Layout::new(&TABLE);
        l.push(word!(FORMS, SHORT {}), 1);
        l.push(word!(FORMS, LONG {}), 2);
        assert_eq!(l.finish(&pairs(Filler::Never)).unwrap_err().to_string(), "`LONG` stands at 0x4, which is no multiple of 8");
        let mut l: Layout<(), u32> = Layout::new(&TABLE);
        let nowhere = l.label();
        l.branch(word!(FORMS, SHORT {}), Fixup::absolute(field!(FORMS, SHORT.to), nowhere, 4), 9);
        let e = l.finish(&Rule::NONE).unwrap_err();
        assert_eq!((e.to_string().as_str(), e.span()), ("the word at 0x0 names a place that is bound nowhere", 9));
        let mut l: Layout = Layout::new(&TABLE);
        let end = l.label();
        l.branch(word!(FORMS, LONG {}), Fixup::absolute(field!(FORMS, LONG.to), end, 8), ());
        l.data(&[1, 2], ());
        l.bind(end);
        assert!(matches!(l.finish(&Rule::NONE), Err(LayoutError::Misaligned { bytes: 10, unit: 8, .. })));
    }
}
