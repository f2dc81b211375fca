//! The lossless field listing (`--syntax fields`): `FORM field=value …`, printed and parsed from the form table.

use crate::form::{Decoded, FormTable};
use smallvec::SmallVec;
use thiserror::Error;

/// Which fields a listing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Every field, in table order.
    All,
    /// Only fields whose value is not 0.
    NonZero,
}

/// Why a listing could not be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListingError {
    /// The line is blank.
    #[error("a listing begins with the name of a form")]
    Empty,
    /// No form of that name.
    #[error("there is no form `{0}`")]
    NoForm(String),
    /// The form has no such field.
    #[error("form `{form}` has no field `{field}`")]
    NoField {
        /// The form.
        form: &'static str,
        /// The field.
        field: String,
    },
    /// Not of the shape `name=number`.
    #[error("expected `field=number`, found `{0}`")]
    BadPair(String),
}

impl<X> FormTable<X> {
    /// Prints a decoded word as its listing.
    pub fn listing(&self, d: &Decoded, show: Show) -> String {
        let form = self.form(d.form);
        let mut out = form.name.to_string();
        for (f, v) in form.fields().zip(&d.values) {
            if show == Show::All || *v != 0 {
                out.push_str(&format!(" {}={}", f.name, f.signed_value(*v)));
            }
        }
        out
    }
    /// Reads a listing; fields not mentioned are 0, as the listing leaves zeros out.
    pub fn parse_listing(&self, line: &str) -> Result<Decoded, ListingError> {
        let mut words = line.split_whitespace();
        let name = words.next().ok_or(ListingError::Empty)?;
        let id = self.by_name(name).ok_or_else(|| ListingError::NoForm(name.to_string()))?;
        let form = self.form(id);
        let mut values: SmallVec<[u64; 16]> = form.fields().map(|_| 0).collect();
        for pair in words {
            let (field, value) = pair.split_once('=').ok_or_else(|| ListingError::BadPair(pair.to_string()))?;
            let i = form.field_index(field).ok_or_else(|| ListingError::NoField { form: form.name, field: field.to_string() })?;
            values[i] = number(value).ok_or_else(|| ListingError::BadPair(pair.to_string()))?;
        }
        Ok(Decoded { form: id, values, residue: 0 })
    }
}

fn number(s: &str) -> Option<u64> {
    if let Some(h) = s.strip_prefix("0x") {
        u64::from_str_radix(h, 16).ok()
    } else if s.starts_with('-') {
        s.parse::<i64>().ok().map(|v| v as u64)
    } else {
        s.parse().ok()
    }
}
