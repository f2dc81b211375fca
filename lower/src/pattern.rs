//! Selection as a list: each [`Pattern`] says which operations it looks at, and the first that applies wins.
//!
//! The order of a target's list is the whole of its priorities. The driver records what fired, `--emit mir` prints it, and a
//! test asks which patterns no case has made fire. Operations that are one instruction each need no pattern: a table made by
//! [`one_to_one`] has them.
//!
//! ```
//! use retroshade_ir::{Inst, Opcode};
//! use retroshade_lower::{CompileError, pattern::{Fired, Matcher, Pattern, Selects, one_to_one}};
//!
//! #[derive(Default)]
//! struct Lower { code: Vec<&'static str>, fired: Fired }
//! impl Selects for Lower {
//!     fn fired(&mut self) -> &mut Fired { &mut self.fired }
//! }
//! impl Lower {
//!     fn negate(&mut self, _: Inst) -> Result<bool, CompileError> { self.code.push("SUB 0"); Ok(true) }
//!     fn plain(&mut self, _: Inst) -> Result<bool, CompileError> { self.code.push(PLAIN[Opcode::Fadd as usize].unwrap()); Ok(true) }
//! }
//! const PATTERNS: &[Pattern<Lower>] = &[
//!     Pattern { name: "ineg", doc: "subtraction from zero", ops: &[Opcode::Ineg], apply: Lower::negate },
//!     Pattern { name: "plain", doc: "one instruction each", ops: &[Opcode::Fadd], apply: Lower::plain },
//! ];
//! static PLAIN: [Option<&str>; Opcode::ALL.len()] = one_to_one(&[(Opcode::Fadd, "ADD"), (Opcode::Fmul, "MUL")]);
//!
//! let (mut lower, matcher) = (Lower::default(), Matcher::new(PATTERNS));
//! assert!(matcher.select(&mut lower, Opcode::Ineg, Inst::from_u32(0)).unwrap());
//! assert!(!matcher.select(&mut lower, Opcode::Tex, Inst::from_u32(1)).unwrap());
//! assert_eq!(lower.fired.to_string(), "; patterns: ineg");
//! ```

use crate::error::CompileError;
use retroshade_ir::{Inst, Opcode};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::fmt;

/// One way of selecting instructions for an operation.
pub struct Pattern<L> {
    /// Its name, `subject.variant`.
    pub name: &'static str,
    /// What it makes of what, in a line.
    pub doc: &'static str,
    /// The operations that it looks at.
    pub ops: &'static [Opcode],
    /// Selects the instruction, or says that it is not for this pattern (and has changed nothing).
    pub apply: fn(&mut L, Inst) -> Result<bool, CompileError>,
}

/// Which patterns have fired, in the order in which they first did.
#[derive(Clone, Debug, Default)]
pub struct Fired(Vec<&'static str>);

impl Fired {
    /// Records a pattern; the driver does it, and code that folds operands into instructions under a name of its own.
    pub fn note(&mut self, name: &'static str) {
        // It is mostly one that was noted before, under the same address.
        if !self.0.iter().any(|n| std::ptr::eq(*n, name)) {
            self.0.push(name);
        }
    }
    /// The names, in alphabetical order.
    pub fn names(&self) -> BTreeSet<&'static str> {
        self.0.iter().copied().collect()
    }
}

/// The line of `--emit mir`.
impl fmt::Display for Fired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("; patterns:")?;
        self.names().iter().try_for_each(|name| write!(f, " {name}"))
    }
}

/// A selection under way, which keeps the record of what fired.
pub trait Selects {
    /// The record.
    fn fired(&mut self) -> &mut Fired;
}

/// Patterns by operation. A state with a lifetime has its list as `const PATTERNS: &'a [Pattern<Lower<'a>>]`.
pub struct Matcher<'p, L> {
    by_op: Vec<SmallVec<[&'p Pattern<L>; 2]>>,
}

impl<'p, L: Selects> Matcher<'p, L> {
    /// Sorts a target's list by operation; among those for one operation the order of the list stays.
    pub fn new(patterns: &'p [Pattern<L>]) -> Matcher<'p, L> {
        let mut by_op = vec![SmallVec::new(); Opcode::ALL.len()];
        for p in patterns {
            for op in p.ops {
                by_op[*op as usize].push(p);
            }
        }
        Matcher { by_op }
    }
    /// Applies the first pattern that takes the instruction; whether there was one.
    pub fn select(&self, lower: &mut L, op: Opcode, inst: Inst) -> Result<bool, CompileError> {
        for p in &self.by_op[op as usize] {
            if (p.apply)(lower, inst)? {
                lower.fired().note(p.name);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A table from operations to what they become one by one, for look-ups by `op as usize`; an operation named twice does not
/// compile.
pub const fn one_to_one<T: Copy>(rows: &[(Opcode, T)]) -> [Option<T>; Opcode::ALL.len()] {
    let (mut out, mut i) = ([None; Opcode::ALL.len()], 0);
    while i < rows.len() {
        let at = rows[i].0 as usize;
        assert!(out[at].is_none(), "an operation stands twice in the table");
        out[at] = Some(rows[i].1);
        i += 1;
    }
    out
}

/// Patterns that never fired, by the texts of `--emit mir` of all cases: what a target's coverage test wants to be empty.
/// `further` are the names that the target notes itself.
pub fn without_a_case<L>(patterns: &[Pattern<L>], further: &[&'static str], texts: &[String]) -> Vec<&'static str> {
    let lines = texts.iter().flat_map(|t| t.lines()).filter_map(|l| l.strip_prefix("; patterns:"));
    let seen: BTreeSet<&str> = lines.flat_map(str::split_whitespace).collect();
    patterns.iter().map(|p| p.name).chain(further.iter().copied()).filter(|n| !seen.contains(n)).collect()
}
