//! The algebra of the IR as a table: each row is a pattern, what it becomes, when, and under which promise.
//!
//! One matcher tries the rows in `simplify` (exact ones) and in `relax` (the others); `tests` holds every row against the
//! interpreter on random values of its class. The rows stand in [`float`], [`int`] and [`choice`]; see [`rule!`] for how
//! they are written.

/// A row: `rule!(Class: pattern => replacement)` or `rule!(Class: pattern => replacement, if |m| condition)`.
///
/// `Fadd(a, b)` is an operation, `Icmp[Eq](a, b)` a comparison (`[any]`, `[swapped]`, `[inverse]`), `~Fmul(a, b)` an operation
/// with no other use, `x @ Fabs(_)` a pattern with a name, `K` a constant, `1.0` that constant. Commutative operations match
/// both ways.
macro_rules! rule {
    ($class:ident: $($rest:tt)*) => { rule!(@split $class () $($rest)*) };
    (@split $class:ident ($($from:tt)*) => $($to:tt)*) => { rule!(@when $class ($($from)*) () $($to)*) };
    (@split $class:ident ($($from:tt)*) $t:tt $($rest:tt)*) => { rule!(@split $class ($($from)* $t) $($rest)*) };
    (@when $class:ident ($($from:tt)*) ($($to:tt)*) , if $when:expr) => {
        rule!(@row $class ($($from)*) ($($to)*) (Some($when)))
    };
    (@when $class:ident ($($from:tt)*) ($($to:tt)*) $t:tt $($rest:tt)*) => { rule!(@when $class ($($from)*) ($($to)* $t) $($rest)*) };
    (@when $class:ident ($($from:tt)*) ($($to:tt)*)) => { rule!(@row $class ($($from)*) ($($to)*) (None)) };
    (@row $class:ident ($($from:tt)*) ($($to:tt)*) ($when:expr)) => {
        Rule {
            class: Class::$class,
            from: term!($($from)*),
            to: term!($($to)*),
            when: $when,
            #[cfg(test)]
            text: concat!(stringify!($($from)*), " => ", stringify!($($to)*)),
        }
    };
}

/// One term; `args` takes several apart at their commas.
macro_rules! term {
    (_) => { Term::Whatever };
    ($name:ident @ $($rest:tt)*) => { Term::As(stringify!($name), &term!($($rest)*)) };
    ($name:ident) => { Term::Name(stringify!($name)) };
    ($number:literal) => { Term::Number($number as f64) };
    (~ $op:ident $($rest:tt)*) => { term!(@op true $op $($rest)*) };
    ($op:ident $($rest:tt)*) => { term!(@op false $op $($rest)*) };
    (@op $only:literal $op:ident ($($args:tt)*)) => { term!(@make $only $op (Relation::None) ($($args)*)) };
    (@op $only:literal $op:ident [any] ($($args:tt)*)) => { term!(@make $only $op (Relation::Any) ($($args)*)) };
    (@op $only:literal $op:ident [swapped] ($($args:tt)*)) => { term!(@make $only $op (Relation::Swapped) ($($args)*)) };
    (@op $only:literal $op:ident [inverse] ($($args:tt)*)) => { term!(@make $only $op (Relation::Inverse) ($($args)*)) };
    (@op $only:literal Fcmp [$cc:ident] ($($args:tt)*)) => { term!(@make $only Fcmp (Relation::Float(FloatCC::$cc)) ($($args)*)) };
    (@op $only:literal Icmp [$cc:ident] ($($args:tt)*)) => { term!(@make $only Icmp (Relation::Int(IntCC::$cc)) ($($args)*)) };
    (@make $only:literal $op:ident ($relation:expr) ($($args:tt)*)) => {
        Term::Op { op: Opcode::$op, relation: $relation, only: $only, args: term!(@args [] () $($args)*) }
    };
    (@args [$($done:expr,)*] ($($now:tt)+)) => { &[$($done,)* term!($($now)+)] };
    (@args [$($done:expr,)*] ($($now:tt)+) , $($rest:tt)*) => { term!(@args [$($done,)* term!($($now)+),] () $($rest)*) };
    (@args [$($done:expr,)*] ($($now:tt)*) $t:tt $($rest:tt)*) => { term!(@args [$($done,)*] ($($now)* $t) $($rest)*) };
}

mod apply;
mod choice;
mod float;
mod int;
#[cfg(test)]
mod tests;

pub(super) use apply::{DEPTH, Facts, Table};

use crate::inst::{FloatCC, IntCC};
use crate::opcode::Opcode;
use apply::Match;

/// What a row promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The same bits on every machine (any NaN equals any NaN).
    Exact,
    /// As accurate as the source or nearly so: allowed unless an instruction is `precise`.
    Close,
    /// As `Close`, where no value is infinite or NaN; the sign of a zero is ignored.
    Finite,
}

/// A pattern or, on the right, what is built.
#[derive(Debug)]
pub(super) enum Term {
    /// Any value at all.
    Whatever,
    /// A value by its name, the same wherever the name stands. Names in capitals are constants.
    Name(&'static str),
    /// A value by its name that is made as the pattern says.
    As(&'static str, &'static Term),
    /// A constant with this number in every lane; zeros have signs. As a truth value or an integer: its lowest bits.
    Number(f64),
    /// An operation.
    Op { op: Opcode, relation: Relation, only: bool, args: &'static [Term] },
}

/// The relation of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// No comparison.
    None,
    Float(FloatCC),
    Int(IntCC),
    /// The relation that the row's `any` found: as it is, for exchanged operands, the opposite.
    Any,
    Swapped,
    Inverse,
}

/// A row of the table.
pub(super) struct Rule {
    pub class: Class,
    pub from: Term,
    pub to: Term,
    pub when: Option<fn(&Match) -> bool>,
    /// The row's own text, for messages.
    #[cfg(test)]
    pub text: &'static str,
}

/// All rows: what comes first is tried first.
fn rules() -> impl Iterator<Item = &'static Rule> {
    [float::RULES, int::RULES, choice::RULES].into_iter().flatten()
}
