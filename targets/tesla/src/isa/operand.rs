//! Operands of forms: the items of a row's text, read once while the compiler runs, so that encoder, printer and reader share them.
//!
//! A row's text is a list of blank-separated items: plain text; `field?text` (text where the field is not 0); `=field` (the field's
//! name for its value); `#field` (a hexadecimal number); `%operand` by [`OPERANDS`]. An unknown field or operand does not build.

use crate::isa::forms::{COUNT_FORMS, FORMS, Shape, TForm, field};
use retroshade_emit::form::{Bits, bits};
use retroshade_emit::{FieldIndex, FieldName, FormId, field_in};

/// Size of a data operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits.
    Pair,
    /// 128 bits.
    Quad,
}

/// What decides the size of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Nothing: it is always the same.
    Is(Size),
    /// The field `w`.
    Full,
    /// The access type of l[] and g[].
    Access,
    /// The integer source type of a conversion.
    SourceType,
}

impl Width {
    /// The size, given the fields' values.
    pub fn size(self, get: impl Fn(FieldName) -> u64) -> Size {
        match self {
            Width::Is(s) => s,
            Width::Full if get(field!(w)) == 1 => Size::Word,
            Width::Full => Size::Half,
            Width::Access => memory_size(get(field!(ty))),
            Width::SourceType if get(field!(sty)) & 1 == 1 => Size::Word,
            Width::SourceType => Size::Half,
        }
    }
}

/// Size of a memory access type of l[] and g[].
pub const fn memory_size(ty: u64) -> Size {
    match ty {
        4 => Size::Pair,
        5 => Size::Quad,
        _ => Size::Word,
    }
}

/// An operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The destination, or what a store takes from its field.
    Destination(Width),
    /// Source 0, 1 or 2; whether it may lie in memory.
    Source(u8, Width, bool),
    /// `$c` destination, if there is one.
    Flags,
    /// `$c` destination.
    FlagsTo,
    /// `$c` source.
    FlagsFrom,
    /// The `$c` with the carry of addc.
    Carry,
    /// `$a` destination.
    AddressTo,
    /// `$a` source.
    AddressFrom,
    /// An address in a space, in units of so many bytes.
    Memory(char, u32),
    /// An address in g[].
    Global,
    /// A code address.
    Target,
    /// Result registers of a texture instruction: by mask, or all four.
    Results(bool),
    /// A texture.
    Texture,
    /// A sampler.
    Sampler,
    /// Argument registers: as many as the field says, or one.
    Arguments(bool),
    /// Texel offsets.
    Offsets,
}

use Operand::*;

const HALF: Width = Width::Is(Size::Half);
const WORD: Width = Width::Is(Size::Word);
const PAIR: Width = Width::Is(Size::Pair);

/// The operands by the names that stand in the rows.
#[rustfmt::skip]
const OPERANDS: &[(&str, Operand)] = &[
    ("D", Destination(WORD)), ("Dh", Destination(HALF)), ("Dd", Destination(PAIR)), ("Dw", Destination(Width::Full)), ("Dt", Destination(Width::Access)),
    ("A", Source(0, WORD, true)), ("Ah", Source(0, HALF, true)), ("Asty", Source(0, Width::SourceType, true)), ("Ar", Source(0, WORD, false)), ("Ad", Source(0, PAIR, false)),
    ("B", Source(1, WORD, true)), ("Bh", Source(1, HALF, true)), ("Bd", Source(1, PAIR, false)), ("Bt", Source(1, Width::Access, false)),
    ("E", Source(2, WORD, true)), ("Eh", Source(2, HALF, true)), ("Er", Source(2, WORD, false)), ("Ed", Source(2, PAIR, false)), ("Ew", Source(2, Width::Full, false)), ("Et", Source(2, Width::Access, false)),
    ("C", Flags), ("cd", FlagsTo), ("cc", FlagsFrom), ("carry", Carry), ("adst", AddressTo), ("asrc", AddressFrom),
    ("ma4", Memory('a', 4)), ("mo4", Memory('o', 4)), ("mv4", Memory('v', 4)), ("mc1", Memory('c', 1)), ("mc2", Memory('c', 2)), ("mc4", Memory('c', 4)),
    ("ms1", Memory('s', 1)), ("ms2", Memory('s', 2)), ("ms4", Memory('s', 4)), ("ml1", Memory('l', 1)), ("mg", Global),
    ("target", Target), ("R", Results(true)), ("R4", Results(false)), ("tex", Texture), ("smp", Sampler), ("args", Arguments(true)), ("arg1", Arguments(false)), ("offsets", Offsets),
];

/// One item of a row's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Plain text.
    Text(&'static str),
    /// Text where a field is set.
    Flag(FieldIndex, &'static str),
    /// A field's name for its value.
    Name(FieldIndex),
    /// A number.
    Number(FieldIndex),
    /// An operand.
    Operand(Operand),
}

/// The most items and fields of a form.
pub const MOST: usize = 24;

/// What encoder and text want of a form.
#[derive(Clone, Copy)]
pub struct Template {
    items: [Item; MOST],
    count: usize,
    defaults: [u64; MOST],
    fields: usize,
    word: u64,
    third: bool,
}

impl Template {
    /// The items of its text.
    pub fn items(&self) -> &[Item] {
        &self.items[..self.count]
    }
    /// The usual values of its fields.
    pub fn defaults(&self) -> &[u64] {
        &self.defaults[..self.fields]
    }
    /// The word with the usual values.
    pub fn word(&self) -> u64 {
        self.word
    }
    /// Whether what stands behind the second source is the third one, and not the second (long additions).
    pub fn has_third(&self) -> bool {
        self.third
    }
    /// Whether an operand stands in the text.
    pub fn has(&self, wanted: impl Fn(Operand) -> bool) -> bool {
        self.items().iter().any(|i| matches!(i, Item::Operand(o) if wanted(*o)))
    }
}

/// The template of a form.
pub fn template(id: FormId) -> &'static Template {
    &TEMPLATES[id.0 as usize]
}

#[allow(long_running_const_eval)]
static TEMPLATES: [Template; COUNT_FORMS] = {
    let mut all = [EMPTY; COUNT_FORMS];
    let mut i = 0;
    while i < COUNT_FORMS {
        all[i] = read(&FORMS[i]);
        i += 1;
    }
    all
};

const EMPTY: Template = Template { items: [Item::Text(""); MOST], count: 0, defaults: [0; MOST], fields: 0, word: 0, third: false };

const fn read(form: &TForm) -> Template {
    let mut t = EMPTY;
    let (mut second, mut third) = (false, false);
    let mut rest = form.ext.text;
    loop {
        let (word, more) = match find(rest, b' ') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        t.items[t.count] = item(form, word);
        match t.items[t.count] {
            Item::Operand(Source(1, Width::Is(Size::Word | Size::Half), true)) => second = true,
            Item::Operand(Source(2, Width::Is(Size::Word | Size::Half), true)) => third = true,
            _ => {}
        }
        t.count += 1;
        if more.is_empty() {
            break;
        }
        rest = more.split_at(1).1;
    }
    t.third = second || !third;
    assert!(form.size <= 8, "a word has 64 bits at most");
    t.word = form.bits as u64;
    let mut g = 0;
    while g < form.fields.len() {
        let mut k = 0;
        while k < form.fields[g].len() {
            let field = &form.fields[g][k];
            t.defaults[t.fields] = field.default;
            t.word |= field.put(field.default) as u64;
            t.fields += 1;
            k += 1;
        }
        g += 1;
    }
    t
}

const fn item(form: &TForm, word: &'static str) -> Item {
    let tail = word.split_at(1).1;
    match word.as_bytes()[0] {
        b'=' => Item::Name(field_in(form.fields, tail)),
        b'#' => Item::Number(field_in(form.fields, tail)),
        b'%' => {
            let mut i = 0;
            while !same(OPERANDS[i].0, tail) {
                i += 1;
            }
            Item::Operand(OPERANDS[i].1)
        }
        _ => match find(word, b'?') {
            Some(at) => Item::Flag(field_in(form.fields, word.split_at(at).0), word.split_at(at + 1).1),
            None => Item::Text(word),
        },
    }
}

const fn find(text: &str, byte: u8) -> Option<usize> {
    let mut i = 0;
    while i < text.len() {
        if text.as_bytes()[i] == byte {
            return Some(i);
        }
        i += 1;
    }
    None
}

const fn same(a: &str, b: &str) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a.as_bytes()[i] == b.as_bytes()[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

// ---- the parts of a source field that names memory (3.2)

/// Source fields by slot.
pub const SOURCES: [FieldName; 3] = [field!(src1), field!(src2), field!(src3)];

/// Names and access sizes of the s[] operand types of arithmetic instructions.
pub const S_TYPES: [(&str, u64); 4] = [("u8", 1), ("u16", 2), ("s16", 2), ("b32", 4)];

/// How a source field names memory: the offset in units of the access, and what stands above it.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// The offset.
    pub offset: Bits,
    /// s[]: the operand type. c[] of short forms: the space.
    pub above: Option<Bits>,
}

impl Reach {
    /// s[] in source 1.
    pub const fn shared(shape: Shape) -> Reach {
        match shape {
            Shape::Long => Reach { offset: bits(4, 0), above: Some(bits(6, 5)) },
            _ => Reach { offset: bits(3, 0), above: Some(bits(5, 4)) },
        }
    }
    /// c[] in source 2 or 3; long forms have the space in a field of its own.
    pub const fn constant(shape: Shape) -> Reach {
        match shape {
            Shape::Long => Reach { offset: bits(6, 0), above: None },
            _ => Reach { offset: bits(4, 0), above: Some(bits(5, 5)) },
        }
    }
    /// a[] and p[] in source 1.
    pub const fn attribute(shape: Shape) -> Reach {
        match shape {
            Shape::Long => Reach { offset: bits(6, 0), above: None },
            _ => Reach { offset: bits(5, 0), above: None },
        }
    }
    /// The offset and what stands above it.
    pub fn split(self, raw: u64) -> (u64, u64) {
        let part = |b: Bits| raw >> b.lo & ((1 << b.width) - 1);
        (part(self.offset), self.above.map_or(0, part))
    }
    /// The offset as a number: signed where it is added after the access.
    pub fn extended(self, offset: u64, signed: bool) -> i64 {
        let unused = 64 - u32::from(self.offset.width);
        if signed { ((offset << unused) as i64) >> unused } else { offset as i64 }
    }
    /// The field's value; `None` where a part does not fit.
    pub fn join(self, offset: u64, above: u64) -> Option<u64> {
        let part = |b: Bits, v: u64| (v >> b.width == 0).then_some(v << b.lo);
        let high = match self.above {
            Some(b) => part(b, above)?,
            None => (above == 0).then_some(0)?,
        };
        Some(part(self.offset, offset)? | high)
    }
}
