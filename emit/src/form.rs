//! Forms: encodings as static data, the encoder and the decoder.
//!
//! A [`Form`] is one way of writing one instruction word: fixed bits under a mask, and named fields made of one or more
//! bit ranges. Words are up to 128 bits wide and numbered from bit 0 of the first (lowest-addressed) 32-bit word.
//! [`check`] proves at compile time that no two forms match the same word unless one says that it refines the other.

use crate::names::{self, FieldIndex};
use smallvec::SmallVec;
use std::sync::OnceLock;
use thiserror::Error;

/// A contiguous bit range of an instruction: `width` bits from bit `lo` upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// Lowest bit.
    pub lo: u8,
    /// Number of bits.
    pub width: u8,
}

impl Bits {
    /// Whether a machine word of 64 bits holds the range.
    const fn in_low_half(self) -> bool {
        self.lo + self.width <= 64
    }
}

/// The bit range `hi..=lo`, written as manuals write it: `bits(14, 9)`.
pub const fn bits(hi: u8, lo: u8) -> Bits {
    assert!(hi >= lo && hi < 128, "a bit range runs from high to low");
    Bits { lo, width: hi - lo + 1 }
}

/// How a field's raw value is to be read; only the listing and the documentation use it.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// An unsigned number (register numbers, offsets, flags).
    Unsigned,
    /// A two's-complement number.
    Signed,
    /// A value with names; the index is the value, an empty name is not used.
    Names(&'static [&'static str]),
}

/// A named field of a form, made of one or more bit ranges (low part first, so that split immediates need no code).
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name as the vendor's manual or the ISA sheet spells it.
    pub name: &'static str,
    /// Where the value lives; the first range holds the lowest bits.
    pub bits: &'static [Bits],
    /// How the value reads.
    pub kind: Kind,
    /// The value taken where the encoder is given none.
    pub default: u64,
    /// The name as a number; [`Field::new`] computes it.
    pub(crate) key: u64,
}

impl Field {
    /// An unsigned field with default 0.
    pub const fn new(name: &'static str, bits: &'static [Bits]) -> Field {
        Field { name, bits, kind: Kind::Unsigned, default: 0, key: names::key(name) }
    }
    /// The same field with another default.
    pub const fn or(self, default: u64) -> Field {
        Field { default, ..self }
    }
    /// The same field read as a two's-complement number.
    pub const fn signed(self) -> Field {
        Field { kind: Kind::Signed, ..self }
    }
    /// The same field with names for its values.
    pub const fn named(self, names: &'static [&'static str]) -> Field {
        Field { kind: Kind::Names(names), ..self }
    }
    /// Total width in bits.
    pub const fn width(&self) -> u32 {
        let (mut n, mut i) = (0, 0);
        while i < self.bits.len() {
            n += self.bits[i].width as u32;
            i += 1;
        }
        n
    }
    /// The bits that the field occupies.
    pub const fn mask(&self) -> u128 {
        if let [b] = self.bits
            && b.in_low_half()
        {
            return (low_ones(b.width) << b.lo) as u128;
        }
        let (mut m, mut i) = (0u128, 0);
        while i < self.bits.len() {
            m |= ones(self.bits[i].width) << self.bits[i].lo;
            i += 1;
        }
        m
    }
    /// Reads the raw (unsigned) value out of a word.
    #[inline]
    pub fn get(&self, word: u128) -> u64 {
        // Most fields are one range, and most of those lie in the first 64 bits.
        if let [b] = self.bits {
            return match b.in_low_half() {
                true => word as u64 >> b.lo & low_ones(b.width),
                false => ((word >> b.lo) & ones(b.width)) as u64,
            };
        }
        let (mut v, mut at) = (0u64, 0);
        for b in self.bits {
            v |= (((word >> b.lo) & ones(b.width)) as u64) << at;
            at += b.width;
        }
        v
    }
    /// Places a raw value; bits beyond the width are ignored.
    #[inline]
    pub const fn put(&self, value: u64) -> u128 {
        if let [b] = self.bits {
            return match b.in_low_half() {
                true => ((value & low_ones(b.width)) << b.lo) as u128,
                false => (value as u128 & ones(b.width)) << b.lo,
            };
        }
        let (mut w, mut v, mut k) = (0u128, value as u128, 0);
        while k < self.bits.len() {
            let b = self.bits[k];
            w |= (v & ones(b.width)) << b.lo;
            v >>= b.width;
            k += 1;
        }
        w
    }
    /// Whether the raw value fits the width. Signed fields accept a sign-extended 64-bit value too.
    #[inline]
    pub fn fits(&self, value: u64) -> bool {
        let w = if let [b] = self.bits { b.width as u32 } else { self.width() };
        if w >= 64 || value < (1 << w) {
            return true;
        }
        matches!(self.kind, Kind::Signed) && {
            let s = value as i64;
            s >= -(1 << (w - 1)) && s < 0
        }
    }
    /// The value as a signed number: sign-extended for [`Kind::Signed`], unchanged otherwise.
    pub fn signed_value(&self, raw: u64) -> i64 {
        let w = self.width();
        if matches!(self.kind, Kind::Signed) && w < 64 { ((raw << (64 - w)) as i64) >> (64 - w) } else { raw as i64 }
    }
}

/// As [`ones`], of at most 64.
#[inline]
const fn low_ones(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

#[inline]
const fn ones(width: u8) -> u128 {
    if width >= 128 { u128::MAX } else { (1u128 << width) - 1 }
}

/// One encoding form. `X` is what the target adds: native syntax, operand roles, chips, an instruction class.
#[derive(Debug)]
pub struct Form<X: 'static = ()> {
    /// Unique name; also what the listing prints first.
    pub name: &'static str,
    /// Size in bytes: 4, 8, 12 or 16.
    pub size: u8,
    /// The decode spaces in which this form exists, one bit each (Tesla: stages; R700: CF, ALU, TEX, VTX).
    pub spaces: u32,
    /// The fixed bits' positions.
    pub mask: u128,
    /// The fixed bits' values.
    pub bits: u128,
    /// Groups of fields; shared groups are `const` slices reused by name.
    pub fields: &'static [&'static [Field]],
    /// The name of the more general form that this one is a special case of.
    pub refines: Option<&'static str>,
    /// One line for the documentation, with the manual's section.
    pub doc: &'static str,
    /// The target's own data.
    pub ext: X,
}

impl<X> Form<X> {
    /// All fields in table order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<X> {
        self.fields.iter().flat_map(|g| g.iter())
    }
    /// The field at a position in value lists.
    pub fn field(&self, at: FieldIndex) -> Option<&'static Field> {
        let mut left = at.0 as usize;
        for group in self.fields {
            match group.get(left) {
                Some(field) => return Some(field),
                None => left -= group.len(),
            }
        }
        None
    }
    /// The position of a field in value lists.
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields().position(|f| f.name == name)
    }
    /// Every bit that the form gives a meaning.
    pub fn known_bits(&self) -> u128 {
        self.mask | self.claimed_bits()
    }
    /// The bits of its fields.
    fn claimed_bits(&self) -> u128 {
        self.fields().fold(0, |m, f| m | f.mask())
    }
}

/// Index of a form in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormId(pub u16);

/// An instruction word as values: the form, a raw value per field (in the form's order), and the bits that nobody claims.
///
/// [`word!`](crate::word) builds one to encode, [`FormTable::decode`] reads one out of bits.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Word {
    /// Its form.
    pub form: FormId,
    /// Raw values, one per field in the form's order.
    pub values: SmallVec<[u64; 16]>,
    /// Set bits of a decoded word that neither the mask nor a field covers; 0 in canonical words.
    pub residue: u128,
}

// By hand: the values are copied at once, which the derived implementation does one by one.
impl Clone for Word {
    fn clone(&self) -> Word {
        Word { form: self.form, values: SmallVec::from_slice(&self.values), residue: self.residue }
    }
}

/// A word that was decoded.
pub type Decoded = Word;

/// Why a word could not be encoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The form has no such field.
    #[error("form `{form}` has no field `{field}`")]
    NoField {
        /// The form.
        form: &'static str,
        /// The name asked for.
        field: String,
    },
    /// The value is too large for the field.
    #[error("`{field}` = {value:#x} does not fit the {width} bits of form `{form}`")]
    DoesNotFit {
        /// The form.
        form: &'static str,
        /// The field.
        field: &'static str,
        /// The value asked for.
        value: u64,
        /// The field's width in bits.
        width: u32,
    },
}

/// A target's forms.
#[derive(Debug)]
pub struct FormTable<X: 'static = ()> {
    /// The target's name.
    pub target: &'static str,
    /// Names of the decode spaces, by bit.
    pub spaces: &'static [&'static str],
    /// The forms.
    pub forms: &'static [Form<X>],
    /// What decoding looks through.
    pub index: Index,
}

/// The forms of each size and space, those with more fixed bits first: made when a word is decoded first.
#[derive(Debug)]
pub struct Index(OnceLock<Vec<Bucket>>);

#[derive(Debug)]
struct Bucket {
    size: u8,
    space: u32,
    /// Forms that fix the same bits, by what these are; those with more fixed bits first.
    masks: Vec<(u128, Vec<Known>)>,
}

/// What decoding knows of a form.
#[derive(Clone, Copy, Debug)]
struct Known {
    bits: u128,
    form: u16,
    /// Every bit that the form gives a meaning, and how many fields it has.
    meant: u128,
    fields: usize,
}

impl Index {
    /// An index that is not made yet.
    pub const fn new() -> Index {
        Index(OnceLock::new())
    }
    fn of<X>(&self, forms: &[Form<X>], size: u8, space: u32) -> &[(u128, Vec<Known>)] {
        let buckets = self.0.get_or_init(|| Index::make(forms));
        buckets.iter().find(|b| b.size == size && b.space == space).map_or(&[], |b| &b.masks)
    }
    fn make<X>(forms: &[Form<X>]) -> Vec<Bucket> {
        let mut out: Vec<Bucket> = Vec::new();
        // Forms that follow each other mostly share their fields.
        let (mut fields, mut claimed, mut count): (&[&[Field]], u128, usize) = (&[], 0, 0);
        for (n, f) in forms.iter().enumerate() {
            let same = fields.len() == f.fields.len() && fields.iter().zip(f.fields).all(|(a, b)| std::ptr::eq(*a, *b));
            if !same {
                (fields, claimed, count) = (f.fields, f.claimed_bits(), f.fields().count());
            }
            let known = Known { bits: f.bits, form: n as u16, meant: f.mask | claimed, fields: count };
            for space in (0..32).map(|k| 1 << k).filter(|s| f.spaces & s != 0) {
                let at = out.iter().position(|b| b.size == f.size && b.space == space).unwrap_or_else(|| {
                    out.push(Bucket { size: f.size, space, masks: Vec::new() });
                    out.len() - 1
                });
                let masks = &mut out[at].masks;
                match masks.iter_mut().find(|m| m.0 == f.mask) {
                    Some(same) => same.1.push(known),
                    None => masks.push((f.mask, vec![known])),
                }
            }
        }
        for bucket in &mut out {
            bucket.masks.sort_by_key(|m| std::cmp::Reverse(m.0.count_ones()));
            bucket.masks.iter_mut().for_each(|m| m.1.sort_by_key(|k| k.bits));
        }
        out
    }
}

impl Default for Index {
    fn default() -> Index {
        Index::new()
    }
}

impl<X> FormTable<X> {
    /// The form behind an id.
    pub fn form(&self, id: FormId) -> &'static Form<X> {
        &self.forms[id.0 as usize]
    }
    /// Finds a form by name.
    pub fn by_name(&self, name: &str) -> Option<FormId> {
        self.forms.iter().position(|f| f.name == name).map(|i| FormId(i as u16))
    }
    /// Encodes named values; fields not mentioned take their default.
    pub fn encode(&self, id: FormId, values: &[(&str, u64)]) -> Result<u128, EncodeError> {
        let form = self.form(id);
        for (name, _) in values {
            if form.field_index(name).is_none() {
                return Err(EncodeError::NoField { form: form.name, field: (*name).to_string() });
            }
        }
        let mut word = form.bits;
        for f in form.fields() {
            let v = values.iter().find(|(n, _)| *n == f.name).map_or(f.default, |(_, v)| *v);
            word |= place(form, f, v)?;
        }
        debug_assert_eq!(word & form.mask, form.bits, "{}: a value reached fixed bits", form.name);
        Ok(word)
    }
    /// Encodes a word's values.
    pub fn encode_word(&self, word: &Word) -> Result<u128, EncodeError> {
        self.encode_values(word.form, &word.values)
    }
    /// Encodes a full list of raw values in the form's field order.
    pub fn encode_values(&self, id: FormId, values: &[u64]) -> Result<u128, EncodeError> {
        let form = self.form(id);
        let mut word = form.bits;
        let mut left = values;
        for group in form.fields {
            for (f, v) in group.iter().zip(left) {
                // Most fields of most words are zero, which any width holds.
                if *v != 0 {
                    word |= place(form, f, *v)?;
                }
            }
            left = left.get(group.len()..).unwrap_or(&[]);
        }
        Ok(word)
    }
    /// Encodes the values of the fields whose bits are set in `which` over a word of the form that has all others as they are wanted.
    pub fn encode_over(&self, id: FormId, word: u128, values: &[u64], which: u64) -> Result<u128, EncodeError> {
        let form = self.form(id);
        let (mut word, mut left) = (word, which);
        while left != 0 {
            let k = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some((f, v)) = form.field(FieldIndex(k as u8)).zip(values.get(k)) else {
                return Err(EncodeError::NoField { form: form.name, field: k.to_string() });
            };
            word = word & !f.mask() | place(form, f, *v)?;
        }
        Ok(word)
    }
    /// Decodes a word of `size` bytes in `space` (one bit): the matching form with the most fixed bits wins.
    pub fn decode(&self, space: u32, size: u8, word: u128) -> Option<Decoded> {
        self.decode_if(space, size, word, |_| true)
    }
    /// As [`FormTable::decode`], restricted to the forms that `allowed` accepts (chips, features).
    pub fn decode_if(&self, space: u32, size: u8, word: u128, allowed: impl Fn(&Form<X>) -> bool) -> Option<Decoded> {
        let known = self.known(space, size, word, allowed)?;
        let mut values = SmallVec::with_capacity(known.fields);
        for group in self.forms[known.form as usize].fields {
            group.iter().for_each(|f| values.push(f.get(word)));
        }
        Some(Decoded { form: FormId(known.form), values, residue: word & !known.meant })
    }
    /// The form of a word that [`FormTable::decode`] finds, and the set bits that neither its mask nor a field covers.
    pub fn find(&self, space: u32, size: u8, word: u128) -> Option<(FormId, u128)> {
        self.known(space, size, word, |_| true).map(|k| (FormId(k.form), word & !k.meant))
    }
    fn known(&self, space: u32, size: u8, word: u128, allowed: impl Fn(&Form<X>) -> bool) -> Option<Known> {
        // Two forms that fix the same bits differ in one of them.
        let matching = |(mask, forms): &(u128, Vec<Known>)| {
            let at = forms.binary_search_by_key(&(word & mask), |k| k.bits).ok()?;
            Some(forms[at]).filter(|k| allowed(&self.forms[k.form as usize])).map(|k| (mask.count_ones(), k))
        };
        let mut left = space;
        let spaces = std::iter::from_fn(|| {
            let lowest = left & left.wrapping_neg();
            left ^= lowest;
            (lowest != 0).then_some(lowest)
        });
        let found = spaces.filter_map(|s| self.index.of(self.forms, size, s).iter().find_map(matching));
        found.max_by_key(|(fixed, k)| (*fixed, std::cmp::Reverse(k.form))).map(|(_, k)| k)
    }
    /// A decoded word's raw field value by name.
    pub fn value(&self, d: &Decoded, name: &str) -> Option<u64> {
        self.form(d.form).field_index(name).map(|i| d.values[i])
    }
}

fn place<X>(form: &Form<X>, field: &'static Field, value: u64) -> Result<u128, EncodeError> {
    if !field.fits(value) {
        return Err(EncodeError::DoesNotFit { form: form.name, field: field.name, value, width: field.width() });
    }
    Ok(field.put(value))
}

/// Proves a table at compile time: `const _: () = form::check(FORMS);`.
///
/// Rejects two forms or two fields of one name, fixed bits outside the mask, fields that overlap the mask, each other or the word's end, and two forms of one
/// size and space that match a common word unless one names the other in `refines` and fixes strictly more bits.
pub const fn check<X>(forms: &[Form<X>]) {
    let mut i = 0;
    while i < forms.len() {
        let f = &forms[i];
        assert!(f.bits & !f.mask == 0, "fixed bits lie outside the mask");
        let mut seen = f.mask;
        let (mut g, mut place) = (0, 0);
        while g < f.fields.len() {
            let mut k = 0;
            while k < f.fields[g].len() {
                let m = f.fields[g][k].mask();
                assert!(m & seen == 0, "a field overlaps the mask or another field");
                let first = names::field_in(f.fields, f.fields[g][k].name);
                assert!(first.0 == place, "two fields of a form have one name");
                place += 1;
                seen |= m;
                k += 1;
            }
            g += 1;
        }
        assert!(f.size as u32 * 8 >= 128 || seen >> (f.size as u32 * 8) == 0, "a field lies beyond the word");
        let mut j = i + 1;
        while j < forms.len() {
            let h = &forms[j];
            assert!(!names::same(f.name, h.name), "two forms have one name");
            if f.size == h.size && f.spaces & h.spaces != 0 && (f.bits ^ h.bits) & f.mask & h.mask == 0 {
                let f_special = f.mask & h.mask == h.mask && f.mask != h.mask && named(f.refines, h.name);
                let h_special = f.mask & h.mask == f.mask && f.mask != h.mask && named(h.refines, f.name);
                assert!(f_special || h_special, "two forms match the same word");
            }
            j += 1;
        }
        i += 1;
    }
}

const fn named(a: Option<&str>, b: &str) -> bool {
    match a {
        Some(a) => names::same(a, b),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FORMS: &[Form] = &[
        Form {
            name: "add",
            size: 4,
            spaces: 1,
            mask: 0xf000_0000,
            bits: 0x1000_0000,
            fields: &[&[Field::new("d", &[bits(5, 0)]), Field::new("imm", &[bits(9, 6), bits(19, 16)]).signed()]],
            refines: None,
            doc: "",
            ext: (),
        },
        Form {
            name: "add1",
            size: 4,
            spaces: 1,
            mask: 0xf00f_03c0,
            bits: 0x1000_0040,
            fields: &[&[Field::new("d", &[bits(5, 0)])]],
            refines: Some("add"),
            doc: "",
            ext: (),
        },
    ];
    const _: () = check(FORMS);
    static TABLE: FormTable = FormTable { target: "toy", spaces: &["any"], forms: FORMS, index: Index::new() };

    #[test]
    fn split_field_round_trips() {
        let w = TABLE.encode(FormId(0), &[("d", 3), ("imm", (-5i64) as u64)]).unwrap();
        let d = TABLE.decode(1, 4, w).unwrap();
        assert_eq!(TABLE.form(d.form).name, "add");
        assert_eq!(FORMS[0].fields().nth(1).unwrap().signed_value(d.values[1]), -5);
        assert_eq!(TABLE.encode_values(d.form, &d.values).unwrap(), w);
    }

    #[test]
    fn values_over_a_word_leave_its_other_fields() {
        let word = |d: u64, imm: i64| TABLE.encode(FormId(0), &[("d", d), ("imm", imm as u64)]).unwrap();
        let over = |values: &[u64], which: u64| TABLE.encode_over(FormId(0), word(3, -5), values, which);
        assert_eq!(over(&[9, 9], 0).unwrap(), word(3, -5));
        assert_eq!(over(&[9, 9], 1).unwrap(), word(9, -5));
        assert_eq!(over(&[0, 0], 3).unwrap(), word(0, 0));
        assert!(matches!(over(&[64, 0], 1), Err(EncodeError::DoesNotFit { .. })));
        assert!(matches!(over(&[0, 0, 0], 4), Err(EncodeError::NoField { .. })));
    }

    #[test]
    fn fields_in_three_parts_are_read_as_they_are_written() {
        const PARTS: &[Bits] = &[bits(2, 0), bits(9, 5), bits(15, 14)];
        let field = Field::new("x", PARTS);
        for (high, middle, low) in [(0b11, 0b01010, 0b110), (0b10, 0b11111, 0b001), (0b01, 0, 0b111)] {
            let value = high << 8 | middle << 3 | low;
            assert_eq!(field.put(value), u128::from(high << 14 | middle << 5 | low));
            assert_eq!(field.get(field.put(value)), value);
        }
    }

    #[test]
    fn signed_fields_take_what_their_width_holds() {
        const FOUR: &[Bits] = &[bits(3, 0)];
        let field = Field::new("x", FOUR).signed();
        assert!([-8i64, -1, 0, 7, 15].iter().all(|v| field.fits(*v as u64)));
        assert!([-16i64, -9, 16].iter().all(|v| !field.fits(*v as u64)));
    }

    #[test]
    fn special_case_wins() {
        let w = TABLE.encode(FormId(0), &[("d", 3), ("imm", 1)]).unwrap();
        assert_eq!(TABLE.form(TABLE.decode(1, 4, w).unwrap().form).name, "add1");
    }

    #[test]
    fn too_large_names_the_field() {
        let e = TABLE.encode(FormId(0), &[("d", 0x40)]).unwrap_err();
        assert_eq!(e.to_string(), "`d` = 0x40 does not fit the 6 bits of form `add`");
    }
}
