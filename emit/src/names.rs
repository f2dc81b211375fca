//! Names that compile: forms, fields and field values as constants, so that a wrong name is an error where it stands.
//!
//! A table's rows become constants with [`form_id`] (the table's macro writes one a row), [`field!`](crate::field) names a
//! field, [`word!`](crate::word) writes an instruction word, and [`names!`](crate::names) makes an enum of the values that
//! a field can have. A target shortens the two macros by its own table:
//!
//! ```
//! use retroshade_emit::form::{Field, Form, FormId, bits, check};
//! use retroshade_emit::{FieldName, Word, form_id, names};
//!
//! names! {
//!     /// What `move` tests.
//!     pub enum Test { Zero = 0 "z", Negative = 2 "n" }
//! }
//!
//! const FIELDS: &[&[Field]] = &[&[Field::new("dst", &[bits(3, 0)]), Field::new("test", &[bits(5, 4)]).named(Test::NAMES)]];
//! static FORMS: &[Form] =
//!     &[Form { name: "MOVE", size: 2, spaces: 1, mask: 0xf000, bits: 0x1000, fields: FIELDS, refines: None, doc: "", ext: () }];
//! const _: () = check(FORMS);
//! const MOVE: FormId = form_id(FORMS, "MOVE");
//!
//! macro_rules! field { ($($t:tt)*) => { retroshade_emit::field!(FORMS, $($t)*) } }
//! macro_rules! word { ($($t:tt)*) => { retroshade_emit::word!(FORMS, $($t)*) } }
//!
//! let mut w: Word = word!(MOVE { dst: 3, test: Test::Negative });
//! assert_eq!(w[field!(MOVE.test)], 2);                    // the form is known: a place in its list of values
//! w[field!(MOVE.dst)] = 4;
//! const DST: FieldName = field!(dst);                     // any form: it may lack the field
//! assert_eq!(FORMS[0].position(DST).map(|at| w[at]), Some(4));
//! assert_eq!(Test::from_raw(2), Some(Test::Negative));
//! ```
//!
//! A mistyped form, field or value does not compile:
//!
//! ```compile_fail,E0080
//! # use retroshade_emit::{form::{Form, FormId}, form_id};
//! # static FORMS: &[Form] =
//! #     &[Form { name: "MOVE", size: 2, spaces: 1, mask: 0xf000, bits: 0x1000, fields: &[], refines: None, doc: "", ext: () }];
//! const MOVE: FormId = form_id(FORMS, "MOVEE");
//! # fn main() { let _ = MOVE; }
//! ```
//! ```compile_fail,E0080
//! # use retroshade_emit::{form::{Field, Form, FormId, bits}, form_id};
//! # const FIELDS: &[&[Field]] = &[&[Field::new("dst", &[bits(3, 0)])]];
//! # static FORMS: &[Form] =
//! #     &[Form { name: "MOVE", size: 2, spaces: 1, mask: 0xf000, bits: 0x1000, fields: FIELDS, refines: None, doc: "", ext: () }];
//! # const MOVE: FormId = form_id(FORMS, "MOVE");
//! # fn main() {
//! let w = retroshade_emit::word!(FORMS, MOVE { dts: 3 });
//! # }
//! ```
//! ```compile_fail,E0080
//! # use retroshade_emit::form::{Field, Form, bits};
//! # const FIELDS: &[&[Field]] = &[&[Field::new("dst", &[bits(3, 0)])]];
//! # static FORMS: &[Form] =
//! #     &[Form { name: "MOVE", size: 2, spaces: 1, mask: 0xf000, bits: 0x1000, fields: FIELDS, refines: None, doc: "", ext: () }];
//! # fn main() {
//! let dst = retroshade_emit::field!(FORMS, dsst);
//! # }
//! ```
//! ```compile_fail,E0599
//! retroshade_emit::names! {
//!     /// What `move` tests.
//!     pub enum Test { Zero = 0 "z", Negative = 2 "n" }
//! }
//! # fn main() {
//! let t = Test::Negativ;
//! # }
//! ```

use crate::form::{EncodeError, Field, Form, FormId, FormTable, Word};
use std::ops::{Index, IndexMut};

/// The place of a field in its form's list of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldIndex(pub u8);

/// The name of a field that some form of a table has, to be looked up in a form that is only known at run time.
#[derive(Clone, Copy, Debug)]
pub struct FieldName(&'static Named);

/// What [`field!`](crate::field) finds out about a name when it is compiled, so that looking it up is no search.
#[derive(Debug)]
pub struct Named {
    key: u64,
    name: &'static str,
    /// By form: the field's place, or [`NOWHERE`].
    places: &'static [u8],
}

/// The place of a field that a form lacks.
const NOWHERE: u8 = u8::MAX;

impl FieldName {
    /// The name that is known by this.
    pub const fn new(named: &'static Named) -> FieldName {
        FieldName(named)
    }
    /// The name itself.
    pub const fn name(self) -> &'static str {
        self.0.name
    }
}

impl PartialEq for FieldName {
    fn eq(&self, other: &FieldName) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for FieldName {}

impl std::hash::Hash for FieldName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

/// The form of a name; as a constant, a name that the table lacks does not compile.
pub const fn form_id<X>(forms: &[Form<X>], name: &str) -> FormId {
    let mut i = 0;
    while i < forms.len() {
        if same(forms[i].name, name) {
            return FormId(i as u16);
        }
        i += 1;
    }
    panic!("the table has no form of this name")
}

/// The place of a field in a form; as a constant, a name that the form lacks does not compile.
pub const fn field_index<X>(forms: &[Form<X>], form: FormId, name: &str) -> FieldIndex {
    field_in(forms[form.0 as usize].fields, name)
}

/// The place of a field in the field groups that several forms share.
pub const fn field_in(groups: &[&[Field]], name: &str) -> FieldIndex {
    match find(groups, key(name)) {
        Some(at) => at,
        None => panic!("the form has no field of this name"),
    }
}

/// What is known of a field name; `places` is what [`field_places`] says of it.
pub const fn field_name(name: &'static str, places: &'static [u8]) -> Named {
    Named { key: key(name), name, places }
}

/// By form, where a field stands; as a constant, a name that no form has does not compile.
pub const fn field_places<const N: usize, X>(forms: &[Form<X>], name: &str) -> [u8; N] {
    let (mut places, mut i, mut known) = ([NOWHERE; N], 0, false);
    let key = key(name);
    while i < N {
        if let Some(at) = find(forms[i].fields, key) {
            assert!(at.0 != NOWHERE, "a form has too many fields");
            places[i] = at.0;
            known = true;
        }
        i += 1;
    }
    assert!(known, "no form of the table has a field of this name");
    places
}

const fn find(groups: &[&[Field]], key: u64) -> Option<FieldIndex> {
    let (mut g, mut at) = (0, 0);
    while g < groups.len() {
        let mut k = 0;
        while k < groups[g].len() {
            if groups[g][k].key == key {
                return Some(FieldIndex(at));
            }
            at += 1;
            k += 1;
        }
        g += 1;
    }
    None
}

/// A name as a number (FNV-1a), so that look-ups compare numbers; the table's check proves them distinct within a form.
pub(crate) const fn key(name: &str) -> u64 {
    let (bytes, mut i, mut key) = (name.as_bytes(), 0, 0xcbf2_9ce4_8422_2325u64);
    while i < bytes.len() {
        key = (key ^ bytes[i] as u64).wrapping_mul(0x100_0000_01b3);
        i += 1;
    }
    key
}

pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// What can stand in a field: numbers, truth values, and the enums that [`names!`](crate::names) makes.
pub trait FieldValue {
    /// The raw value; negative numbers are sign-extended, as signed fields take them.
    fn raw(self) -> u64;
}

macro_rules! raw_values {
    ($($t:ty as $wide:ty),*) => { $(impl FieldValue for $t {
        fn raw(self) -> u64 {
            self as $wide as u64
        }
    })* };
}
raw_values!(u8 as u64, u16 as u64, u32 as u64, u64 as u64, usize as u64, i32 as i64, i64 as i64, bool as u64);

impl Word {
    /// A word of a form with the given values; all other fields take their defaults.
    pub fn new<X>(forms: &'static [Form<X>], form: FormId, values: &[(FieldIndex, u64)]) -> Word {
        let mut w = Word { form, values: forms[form.0 as usize].fields().map(|f| f.default).collect(), residue: 0 };
        for (at, v) in values {
            w[*at] = *v;
        }
        w
    }
    /// The same word with another value in a field.
    pub fn with(mut self, at: FieldIndex, value: impl FieldValue) -> Word {
        self[at] = value.raw();
        self
    }
}

impl Index<FieldIndex> for Word {
    type Output = u64;
    fn index(&self, at: FieldIndex) -> &u64 {
        &self.values[at.0 as usize]
    }
}

impl IndexMut<FieldIndex> for Word {
    fn index_mut(&mut self, at: FieldIndex) -> &mut u64 {
        &mut self.values[at.0 as usize]
    }
}

impl<X> Form<X> {
    /// The place of a field, if the form has it.
    pub fn position(&self, name: FieldName) -> Option<FieldIndex> {
        find(self.fields, name.0.key)
    }
}

impl<X> FormTable<X> {
    /// The place of a field in a form, if the form has it. The name is one of this table.
    pub fn position(&self, form: FormId, name: FieldName) -> Option<FieldIndex> {
        name.0.places.get(form.0 as usize).filter(|at| **at != NOWHERE).map(|at| FieldIndex(*at))
    }
    /// A field's raw value, if the word's form has the field.
    pub fn get(&self, word: &Word, name: FieldName) -> Option<u64> {
        self.position(word.form, name).map(|at| word[at])
    }
    /// Sets a field of a word whose form may lack it.
    pub fn set(&self, word: &mut Word, name: FieldName, value: impl FieldValue) -> Result<(), EncodeError> {
        let at = self.position(word.form, name);
        let at = at.ok_or_else(|| EncodeError::NoField { form: self.form(word.form).name, field: name.name().to_string() })?;
        word[at] = value.raw();
        Ok(())
    }
}

/// A field by name: `field!(FORMS, MOVE.dst)` is its place in a known form, `field!(FORMS, dst)` its name in any form.
#[macro_export]
macro_rules! field {
    ($forms:expr, $($form:ident)::+ . $field:ident) => {
        const { $crate::field_index($forms, $($form)::+, stringify!($field)) }
    };
    ($forms:expr, $field:ident) => {
        const {
            const PLACES: &[u8] = &$crate::field_places::<{ $forms.len() }, _>($forms, stringify!($field));
            const NAMED: &$crate::Named = &$crate::field_name(stringify!($field), PLACES);
            $crate::FieldName::new(NAMED)
        }
    };
}

/// An instruction word: `word!(FORMS, MOVE { dst: 3, test: Test::Negative })`; other fields take their defaults.
#[macro_export]
macro_rules! word {
    ($forms:expr, $form:path { $($field:ident : $value:expr),* $(,)? }) => {
        $crate::Word::new(
            $forms,
            $form,
            &[$((const { $crate::field_index($forms, $form, stringify!($field)) }, $crate::FieldValue::raw($value))),*],
        )
    };
}

/// An enum of a field's values: each variant with its number and its text; `NAMES` is what [`Field::named`] takes.
#[macro_export]
macro_rules! names {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        $vis enum $name { $($(#[$vdoc])* #[doc = concat!("`", $text, "`")] $variant = $value),* }

        #[allow(dead_code)]
        impl $name {
            /// The texts by value; values without one are empty.
            pub const NAMES: &'static [&'static str] = &$crate::texts::<{ $crate::highest(&[$($value),*]) + 1 }>(&[$(($value, $text)),*]);
            /// Every value in the order written.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// The value of a field's raw bits.
            pub const fn from_raw(raw: u64) -> Option<$name> {
                match raw {
                    $($value => Some($name::$variant),)*
                    _ => None,
                }
            }
            /// The text.
            pub const fn text(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl $crate::FieldValue for $name {
            fn raw(self) -> u64 {
                self as u64
            }
        }
    };
}

/// The highest of the values that [`names!`](crate::names) was given.
#[doc(hidden)]
pub const fn highest(values: &[usize]) -> usize {
    let (mut i, mut most) = (0, 0);
    while i < values.len() {
        most = if values[i] > most { values[i] } else { most };
        i += 1;
    }
    most
}

/// The list of texts that [`names!`](crate::names) was given, by value.
#[doc(hidden)]
pub const fn texts<const N: usize>(given: &[(usize, &'static str)]) -> [&'static str; N] {
    let (mut out, mut i) = ([""; N], 0);
    while i < given.len() {
        assert!(out[given[i].0].is_empty(), "a value has two names");
        out[given[i].0] = given[i].1;
        i += 1;
    }
    out
}
