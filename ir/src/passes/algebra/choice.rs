//! Rows about selects and truth values. All exact.

use super::*;
use crate::types::Scalar;

fn is_truth(m: &Match) -> bool {
    m.scalar("a") == Some(Scalar::I1) && m.same_lanes("c", "a")
}

pub(super) static RULES: &[Rule] = &[
    // Truth values.
    rule!(Exact: Icmp[Ne](c, 0) => c, if |m| m.scalar("c") == Some(Scalar::I1)),
    rule!(Exact: Icmp[Eq](c, 1) => c, if |m| m.scalar("c") == Some(Scalar::I1)),
    rule!(Exact: Icmp[Eq](c, 0) => Inot(c), if |m| m.scalar("c") == Some(Scalar::I1)),
    rule!(Exact: Icmp[Ne](c, 1) => Inot(c), if |m| m.scalar("c") == Some(Scalar::I1)),
    rule!(Exact: Any(Inot(c)) => Inot(All(c))),
    rule!(Exact: All(Inot(c)) => Inot(Any(c))),
    rule!(Exact: Iand(Icmp[Sle](a, b), Icmp[Ne](a, b)) => Icmp[Slt](a, b)),
    rule!(Exact: Ior(Icmp[Slt](a, b), Icmp[Eq](a, b)) => Icmp[Sle](a, b)),
    rule!(Exact: Iand(Icmp[Ule](a, b), Icmp[Ne](a, b)) => Icmp[Ult](a, b)),
    rule!(Exact: Ior(Icmp[Ult](a, b), Icmp[Eq](a, b)) => Icmp[Ule](a, b)),
    rule!(Exact: Ior(Fcmp[Olt](a, b), Fcmp[Oeq](a, b)) => Fcmp[Ole](a, b)),
    rule!(Exact: Ior(Fcmp[Ogt](a, b), Fcmp[Oeq](a, b)) => Fcmp[Oge](a, b)),
    rule!(Exact: Iand(Icmp[Eq](a, K), Icmp[Eq](a, L)) => 0, if |m| m.int_pairs("K", "L", |k, l| k != l)),
    rule!(Exact: Iand(x @ Icmp[Eq](a, K), Icmp[Ne](a, L)) => x, if |m| m.int_pairs("K", "L", |k, l| k != l)),
    rule!(Exact: Ior(x @ Icmp[Ne](a, L), Icmp[Eq](a, K)) => x, if |m| m.int_pairs("K", "L", |k, l| k != l)),
    // Two whole numbers in a row are a range.
    rule!(Exact: Ior(~Icmp[Eq](a, K), ~Icmp[Eq](a, L)) => Icmp[Ult](Isub(a, K), 2),
        if |m| m.scalar("a") == Some(Scalar::I32) && m.int_pairs("K", "L", |k, l| k.wrapping_add(1) == l && k != 0)),
    rule!(Exact: Ior(~Icmp[Eq](a, 0), ~Icmp[Eq](a, 1)) => Icmp[Ult](a, 2), if |m| m.scalar("a") == Some(Scalar::I32)),
    rule!(Exact: Ior(~Icmp[Ult](Iadd(a, K), L), ~Icmp[Eq](a, M)) => Icmp[Ult](Iadd(a, K), Iadd(L, 1)),
        if |m| m.lanes(&["K", "L", "M"], |c| c[1] != u32::MAX && c[0].wrapping_add(c[2]) == c[1])),
    // Choices of truth values.
    rule!(Exact: Select(c, 1, 0) => c, if |m| m.result_like("c")),
    rule!(Exact: Select(c, 0, 1) => Inot(c), if |m| m.result_like("c")),
    rule!(Exact: Select(c, 1, a) => Ior(c, a), if is_truth),
    rule!(Exact: Select(c, a, 0) => Iand(c, a), if is_truth),
    rule!(Exact: Select(c, a, c) => Iand(c, a), if is_truth),
    rule!(Exact: Select(c, c, a) => Ior(c, a), if is_truth),
    rule!(Exact: Select(c, 0, a) => Iand(Inot(c), a), if is_truth),
    rule!(Exact: Select(c, a, 1) => Ior(Inot(c), a), if is_truth),
    // Choices.
    rule!(Exact: Select(_, a, a) => a),
    rule!(Exact: Select(1, a, _) => a),
    rule!(Exact: Select(0, _, b) => b),
    rule!(Exact: Select(Splat(c), a, b) => Select(c, a, b)),
    rule!(Exact: Select(Inot(c), a, b) => Select(c, b, a)),
    rule!(Exact: Select(c, Select(c, a, _), b) => Select(c, a, b)),
    rule!(Exact: Select(c, a, Select(c, _, b)) => Select(c, a, b)),
    rule!(Exact: Select(c, a, x @ Select(_, a, Select(c, a, _))) => x),
    rule!(Exact: Select(c, Fneg(a), Fneg(b)) => Fneg(Select(c, a, b))),
    rule!(Exact: Select(Icmp[Eq](a, b), a, b) => b),
    rule!(Exact: Select(Icmp[Ne](a, b), a, b) => a),
    // Choices that are extrema.
    rule!(Exact: Select(Icmp[Slt](a, b), a, b) => Smin(a, b)),
    rule!(Exact: Select(Icmp[Sle](a, b), a, b) => Smin(a, b)),
    rule!(Exact: Select(Icmp[Sgt](a, b), a, b) => Smax(a, b)),
    rule!(Exact: Select(Icmp[Sge](a, b), a, b) => Smax(a, b)),
    rule!(Exact: Select(Icmp[Slt](a, b), b, a) => Smax(a, b)),
    rule!(Exact: Select(Icmp[Sle](a, b), b, a) => Smax(a, b)),
    rule!(Exact: Select(Icmp[Sgt](a, b), b, a) => Smin(a, b)),
    rule!(Exact: Select(Icmp[Sge](a, b), b, a) => Smin(a, b)),
    rule!(Exact: Select(Icmp[Ult](a, b), a, b) => Umin(a, b)),
    rule!(Exact: Select(Icmp[Ule](a, b), a, b) => Umin(a, b)),
    rule!(Exact: Select(Icmp[Ugt](a, b), a, b) => Umax(a, b)),
    rule!(Exact: Select(Icmp[Uge](a, b), a, b) => Umax(a, b)),
    rule!(Exact: Select(Icmp[Ult](a, b), b, a) => Umax(a, b)),
    rule!(Exact: Select(Icmp[Ule](a, b), b, a) => Umax(a, b)),
    rule!(Exact: Select(Icmp[Ugt](a, b), b, a) => Umin(a, b)),
    rule!(Exact: Select(Icmp[Uge](a, b), b, a) => Umin(a, b)),
    rule!(Exact: Select(Icmp[Slt](a, 0), Ineg(a), a) => Iabs(a)),
    rule!(Exact: Select(Icmp[Sgt](a, 0), a, Ineg(a)) => Iabs(a)),
    rule!(Exact: Select(Icmp[Sge](a, 0), a, Ineg(a)) => Iabs(a)),
    rule!(Exact: Select(Icmp[Sle](a, 0), Ineg(a), a) => Iabs(a)),
    // Bits under another type.
    rule!(Exact: Bitcast(Select(c, Bitcast(a), Bitcast(b))) => Select(c, a, b), if |m| m.result_like("a") && m.result_like("b")),
];
