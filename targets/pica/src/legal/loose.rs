//! Integers beyond the exact range that do no harm: they are whole as floats and used for nothing that needs more room, or what is computed
//! of them ends as an index, a limit or a test that only tells apart what lies within it.
//!
//! A float24 holds every whole number up to 2^17, and rounding never crosses one that it holds. So each such integer has a horizon:
//! the float is the integer, or both lie at the horizon or beyond it, on the same side. Sums bring the horizon closer, products with
//! whole numbers do not. Facts: ISA sheet sections 7 (indices), 8 (exact integers).

use crate::legal::exact::EXACT;
use cranelift_entity::SecondaryMap;
use retroshade_ir::analysis::{Range, Ranges};
use retroshade_ir::*;

/// What a float24 holds exactly: whole numbers up to here.
const WHOLE: i64 = 1 << 17;
/// What can be divided and taken apart as well: a quotient that is one too large still has a whole product.
const DIVISIBLE: i64 = WHOLE - 2;
/// No array has as many elements, nor is anything compared with as much that is not proven.
const ENOUGH: i64 = 1 << 12;

/// How an integer that may be beyond the exact range is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Where the float may begin to differ.
    at: i64,
    /// Whether it was rounded once at most: its float is that of the integer.
    once: bool,
}

/// The integers of a function that may be beyond the exact range.
pub struct Loose<'a> {
    f: &'a Function,
    ranges: &'a Ranges,
    users: &'a SecondaryMap<Value, Vec<Inst>>,
    known: SecondaryMap<Value, Option<Option<Horizon>>>,
}

/// How deep sums of sums are looked into.
const DEPTH: u32 = 16;

impl<'a> Loose<'a> {
    /// Looks at a function whose ranges and users are known.
    pub fn new(f: &'a Function, ranges: &'a Ranges, users: &'a SecondaryMap<Value, Vec<Inst>>) -> Loose<'a> {
        Loose { f, ranges, users, known: SecondaryMap::new() }
    }

    fn range(&self, v: Value) -> Range {
        self.ranges.range(self.f.resolve(v))
    }

    /// The horizon of a value: everything for what is proven, nothing where no promise can be made.
    fn horizon(&mut self, v: Value, depth: u32) -> Option<Horizon> {
        let v = self.f.resolve(v);
        if self.range(v).within(EXACT) {
            return Some(Horizon { at: i64::MAX, once: true });
        }
        if let Some(h) = self.known[v] {
            return h;
        }
        let h = if depth > 0 { self.computed(v, depth - 1) } else { None };
        self.known[v] = Some(h);
        h
    }

    /// The horizon of what an instruction computes.
    fn computed(&mut self, v: Value, depth: u32) -> Option<Horizon> {
        let f = self.f;
        let d = &f.insts[f.def_inst(f.resolve(v))?];
        match d.op {
            Opcode::F2s | Opcode::F2u => return Some(Horizon { at: WHOLE, once: true }),
            Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl | Opcode::Smin | Opcode::Smax => {}
            _ => return None,
        }
        let (a, b) = (d.args[0], d.args[1]);
        let (ha, hb) = (self.horizon(a, depth)?, self.horizon(b, depth)?);
        let (ra, rb) = (self.range(a), self.range(b));
        let exact = ha.at == i64::MAX && hb.at == i64::MAX;
        // As the machine computes it: what wraps round in the source may not.
        let fits = |lo: i64, hi: i64| lo >= Range::FULL.lo && hi <= Range::FULL.hi;
        let most = |r: Range| r.lo.abs().max(r.hi.abs());
        let nearest = ha.at.min(hb.at).min(WHOLE);
        let at = match d.op {
            Opcode::Smin | Opcode::Smax => return Some(Horizon { at: nearest, once: ha.once && hb.once }),
            Opcode::Imul if most(ra) * most(rb) < 1 << 31 => nearest,
            Opcode::Ishl if rb.lo == rb.hi && (0..17).contains(&rb.lo) && most(ra) << rb.lo < 1 << 31 => nearest,
            Opcode::Iadd | Opcode::Isub => {
                let rb = if d.op == Opcode::Iadd { rb } else { Range { lo: -rb.hi, hi: -rb.lo } };
                if !fits(ra.lo + rb.lo, ra.hi + rb.hi) {
                    return None;
                }
                nearest.min(beyond(ra, ha.at, rb)).min(beyond(rb, hb.at, ra))
            }
            _ => return None,
        };
        if exact && self.range(v).within(DIVISIBLE) {
            return Some(Horizon { at: i64::MAX, once: true });
        }
        (at >= ENOUGH).then_some(Horizon { at, once: exact })
    }

    /// Whether the float of an integer that may leave the exact range is that integer.
    pub fn whole(&mut self, v: Value) -> bool {
        self.horizon(v, DEPTH).is_some_and(|h| h.at == i64::MAX)
    }

    /// Whether an integer that may leave the exact range does no harm, whatever it is used for.
    pub fn harmless(&mut self, v: Value) -> bool {
        let Some(h) = self.horizon(v, DEPTH) else { return false };
        let users = self.users;
        users[v].iter().all(|u| self.permits(h, *u))
    }

    /// Whether the product with the reciprocal misses the quotient by less than one, even if every result is rounded towards zero.
    fn divides(&self, d: &InstData) -> bool {
        let (x, by) = (self.range(d.args[0]), self.range(d.args[1]));
        let most = x.lo.abs().max(x.hi.abs());
        by.lo == by.hi && most < by.lo.abs() << 15
    }

    /// Whether a use tells nothing apart that lies beyond the horizon.
    fn permits(&mut self, h: Horizon, user: Inst) -> bool {
        let f = self.f;
        let d = &f.insts[user];
        let below = |r: Range| r.within(EXACT) && r.within(h.at - 1);
        match (d.op, &d.imm) {
            (Opcode::Ushr | Opcode::Sshr | Opcode::Iand, _) => h.at == i64::MAX,
            (Opcode::Udiv | Opcode::Urem | Opcode::Sdiv | Opcode::Srem, _) => h.at == i64::MAX && self.divides(d),
            (Opcode::Icmp, _) if h.at == i64::MAX && d.args.iter().all(|a| self.whole(*a)) => true,
            (Opcode::S2f | Opcode::U2f, _) => h.once,
            // Elements are clamped to what there is.
            (Opcode::Uniform | Opcode::Ext, _) => true,
            (Opcode::Smin | Opcode::Smax, _) => d.args.iter().any(|a| below(self.range(*a))),
            (Opcode::Icmp, Imm::IntCC(cc)) => {
                !matches!(cc, IntCC::Ult | IntCC::Ule | IntCC::Ugt | IntCC::Uge) && d.args.iter().any(|a| below(self.range(*a)))
            }
            (Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl, _) => {
                let Some(r) = d.results.first().copied() else { return false };
                // What is taken for proven has to be right.
                let range = self.range(r);
                self.computed(r, DEPTH).is_some_and(|h| !range.within(EXACT) || range.within(h.at - 1))
            }
            _ => false,
        }
    }
}

/// How near a sum can come where one part, beyond its horizon, is not what it should be: the other part may go against it.
fn beyond(part: Range, horizon: i64, other: Range) -> i64 {
    // The other part may be rounded as well.
    let rounded = |x: i64| x + x / (WHOLE / 2);
    let up = if part.hi >= horizon { horizon - rounded((-other.lo).max(0)) } else { i64::MAX };
    let down = if part.lo <= -horizon { horizon - rounded(other.hi.max(0)) } else { i64::MAX };
    up.min(down)
}
