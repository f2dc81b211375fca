//! Types of a text in HLSL, down to the numbers that they are made of.

use std::borrow::Cow;

/// Numbers that a type may be made of to be taken apart here.
const MOST_NUMBERS: usize = 1 << 16;
/// Types within types.
const MOST_DEPTH: usize = 16;

const BASES: &[&str] = &["float", "half", "int", "uint", "bool", "double", "min16float", "min10float", "min16int", "min12int", "min16uint"];

/// How many numbers a type has, and how they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    One,
    Vector(usize),
    /// Rows and columns.
    Matrix(usize, usize),
}

/// A type of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Numbers(&'static str, Size),
    Array(Box<Type>, usize),
    /// One of [`Structures`].
    Structure(usize),
}

/// A structure: its name, empty where it has none, and its members, if all of them are numbers.
#[derive(Clone, Debug)]
pub(super) struct Structure {
    pub(super) name: String,
    pub(super) members: Option<Vec<(String, Type)>>,
}

/// The structures of a text.
pub(super) type Structures = [Structure];

/// One number of a value: how it is read, and its type.
pub(super) type Part = (String, &'static str);

impl Type {
    /// `float`, `int3`, `half2x4`: a matrix of one row or column is left to others.
    pub(super) fn of_word(word: &str) -> Option<Type> {
        let base = BASES.iter().filter(|b| word.starts_with(**b)).max_by_key(|b| b.len())?;
        Type::of_size(base, &word[base.len()..])
    }

    fn of_size(base: &'static str, size: &str) -> Option<Type> {
        let size = match size.as_bytes() {
            [] => Size::One,
            [n @ b'2'..=b'4'] => Size::Vector(usize::from(n - b'0')),
            [r @ b'2'..=b'4', b'x', c @ b'2'..=b'4'] => Size::Matrix(usize::from(r - b'0'), usize::from(c - b'0')),
            _ => return None,
        };
        Some(Type::Numbers(base, size))
    }

    /// `vector<float, 3>` and the like by its words; `of` is what stands between the angle brackets.
    pub(super) fn of_template(word: &str, of: &[&str]) -> Option<Type> {
        match (word, of) {
            ("vector", []) => Type::of_word("float4"),
            ("matrix", []) => Type::of_word("float4x4"),
            ("vector", [base, ",", n]) => Type::of_word(&format!("{base}{n}")),
            ("matrix", [base, ",", r, ",", c]) => Type::of_word(&format!("{base}{r}x{c}")),
            (_, []) => Type::of_word(word),
            _ => None,
        }
    }

    pub(super) fn scalar(base: &'static str) -> Type {
        Type::Numbers(base, Size::One)
    }

    pub(super) fn vector(base: &'static str, n: usize) -> Type {
        Type::Numbers(base, if n == 1 { Size::One } else { Size::Vector(n) })
    }

    pub(super) fn is_scalar(&self) -> bool {
        matches!(self, Type::Numbers(_, Size::One))
    }

    /// Arrays of this type, the last length first.
    pub(super) fn arrays(self, lengths: &[usize]) -> Type {
        lengths.iter().rev().fold(self, |of, n| Type::Array(Box::new(of), *n))
    }

    /// How many numbers this has, if they are not too many.
    pub(super) fn count(&self, structures: &Structures) -> Option<usize> {
        self.counted(structures, 0)
    }

    fn counted(&self, structures: &Structures, depth: usize) -> Option<usize> {
        if depth > MOST_DEPTH {
            return None;
        }
        let n = match self {
            Type::Numbers(_, size) => size.count(),
            Type::Array(of, n) => of.counted(structures, depth + 1)?.checked_mul(*n)?,
            Type::Structure(s) => {
                let members = structures.get(*s)?.members.as_ref()?;
                members.iter().try_fold(0usize, |sum, (_, ty)| sum.checked_add(ty.counted(structures, depth + 1)?))?
            }
        };
        (n <= MOST_NUMBERS).then_some(n)
    }

    /// The numbers of a value of this type in their order: of a matrix row by row.
    pub(super) fn parts(&self, value: &str, structures: &Structures) -> Vec<Part> {
        let mut out = Vec::new();
        if self.count(structures).is_some() {
            self.part(Cow::Borrowed(value), structures, &mut out);
        }
        out
    }

    fn part(&self, value: Cow<'_, str>, structures: &Structures, out: &mut Vec<Part>) {
        match self {
            Type::Numbers(base, size) => out.extend(size.parts(&value).into_iter().map(|p| (p, *base))),
            Type::Array(of, n) => (0..*n).for_each(|k| of.part(format!("{value}[{k}]").into(), structures, out)),
            Type::Structure(s) => {
                let members = structures.get(*s).and_then(|s| s.members.as_deref()).unwrap_or_default();
                members.iter().for_each(|(name, ty)| ty.part(format!("{value}.{name}").into(), structures, out));
            }
        }
    }

    /// The words that declare `name` as a variable of this type; nothing where a structure has no name.
    pub(super) fn declaring(&self, name: &str, structures: &Structures) -> Option<String> {
        let (mut ty, mut lengths) = (self, String::new());
        while let Type::Array(of, n) = ty {
            lengths += &format!("[{n}]");
            ty = of;
        }
        let word = match ty {
            Type::Structure(s) => structures.get(*s).map(|s| s.name.clone()).filter(|n| !n.is_empty())?,
            Type::Numbers(base, size) => size.word(base),
            Type::Array(..) => return None,
        };
        Some(format!("{word} {name}{lengths}"))
    }
}

impl Size {
    pub(super) fn count(self) -> usize {
        match self {
            Size::One => 1,
            Size::Vector(n) => n,
            Size::Matrix(r, c) => r * c,
        }
    }

    /// The word for numbers of this size.
    pub(super) fn word(self, base: &str) -> String {
        match self {
            Size::One => base.to_string(),
            Size::Vector(n) => format!("{base}{n}"),
            Size::Matrix(r, c) => format!("{base}{r}x{c}"),
        }
    }

    fn parts(self, value: &str) -> Vec<String> {
        match self {
            Size::One => vec![value.to_string()],
            Size::Vector(n) => ["x", "y", "z", "w"].iter().take(n).map(|c| format!("{value}.{c}")).collect(),
            Size::Matrix(r, c) => (0..r * c).map(|k| format!("{value}[{}][{}]", k / c, k % c)).collect(),
        }
    }
}
