//! Sums that wait for a product which others read, too: as a multiply-add they take in its factors and end a group earlier. Where a
//! multiply-add waits for its addend, and that is a product, the two products change places. MULADD rounds its product, so that the
//! values stay the same.

use crate::isa::forms::{op2, op3};
use crate::place::sched::slots;
use crate::select::mir::{Kind, Mir, Op, Opnd, Place, Web, counts, each_leaf};
use crate::select::paths::Paths;
use retroshade_emit::form::FormId;
use smallvec::SmallVec;

/// Runs over a program.
pub fn take_in(mir: &mut Mir) {
    let n = mir.webs.len();
    let mut steps = std::mem::take(&mut mir.steps);
    let (defs, reads) = counts(&steps, n);
    let mut products = Products { defs, made: vec![None; n] };
    let mut paths = None;
    each_leaf(&mut steps, &mut |ops| {
        ops.iter().enumerate().for_each(|(k, o)| products.note(o, k));
        // A multiply-add with a product for itself alone has its order already.
        let worth = |o: &Op, s: &Opnd| o.form == op2::ADD || s.as_web().is_some_and(|w| reads[w.0 as usize] > 1);
        if ops.iter().any(|o| addends(o).iter().any(|s| worth(o, s) && products.factors(s, ops).is_some())) {
            let paths = paths.get_or_insert_with(|| Paths::new(n));
            paths.measure(ops);
            exchange(ops, paths, &mut products, || mir.web());
        }
    });
    mir.steps = steps;
}

/// The factors of a product.
type Factors = [Opnd; 2];

/// The products of a piece of code.
struct Products {
    /// How often each web is written.
    defs: Vec<u32>,
    /// The place of the product that makes each web.
    made: Vec<Option<u32>>,
}

impl Products {
    /// Notes an operation and its place.
    fn note(&mut self, o: &Op, place: usize) {
        // The factors are still the same when the product is read.
        let lasting = |o: &Opnd| match o.place {
            Place::Web(w) => self.defs.get(w.0 as usize).is_none_or(|n| *n < 2),
            Place::Array { .. } => false,
            Place::Const(..) | Place::Bits(_) => true,
        };
        let plain = is_plain(o, op2::MUL_IEEE) && o.omod == 0 && !o.clamp;
        if plain && self.defs.get(o.dst[0].0 as usize) == Some(&1) && o.src.iter().all(lasting) {
            self.made[o.dst[0].0 as usize] = Some(place as u32);
        }
    }

    /// The factors that an operand of a multiply-add is the product of.
    fn factors(&self, of: &Opnd, ops: &[Op]) -> Option<Factors> {
        let w = of.as_web().filter(|_| !of.abs)?;
        let product = ops.get((*self.made.get(w.0 as usize)?)? as usize).filter(|o| o.dst[..] == [w])?;
        let (x, y) = (product.src[0], product.src[1]);
        (!x.abs && !y.abs).then(|| [if of.neg { x.negated() } else { x }, y])
    }
}

fn is_plain(o: &Op, form: FormId) -> bool {
    o.form == form && o.kind == Kind::Alu && o.store.is_none() && o.dst.len() == 1
}

/// The operands of a sum or a multiply-add that are added.
fn addends(o: &Op) -> &[Opnd] {
    if is_plain(o, op2::ADD) && o.omod == 0 {
        &o.src
    } else if is_plain(o, op3::MULADD_IEEE) {
        &o.src[2..]
    } else {
        &[]
    }
}

/// Rewrites a piece of code; `web` makes new ones.
fn exchange(ops: &mut Vec<Op>, paths: &mut Paths, products: &mut Products, mut web: impl FnMut() -> Web) {
    // Where the longest path counts and not what the groups hold, a group is worth a slot.
    let held: u64 = ops.iter().filter(|o| o.is_alu()).map(slots).sum();
    let spare = 5 * u64::from(paths.longest) > held + held / 5;
    let mut out: Vec<Op> = Vec::with_capacity(ops.len());
    for mut o in ops.drain(..) {
        if o.form == op2::ADD {
            if let Some(src) = summed(&o, paths, products, &out) {
                o = Op { clamp: o.clamp, span: o.span, ..Op::alu(op3::MULADD_IEEE, &src, o.dst.first().copied()) };
            }
        } else if spare && let Some([x, y]) = exchanged(&o, paths, products, &out) {
            let w = web();
            let first = Op { span: o.span, ..Op::alu(op2::MUL_IEEE, &o.src[..2], Some(w)) };
            paths.add(0);
            paths.note(&first);
            out.push(first);
            o.src = SmallVec::from_slice(&[x, y, Opnd::web(w)]);
        }
        paths.note(&o);
        products.note(&o, out.len());
        out.push(o);
    }
    *ops = out;
}

/// The operands of a multiply-add that is there before a sum is.
fn summed(o: &Op, paths: &Paths, products: &Products, before: &[Op]) -> Option<[Opnd; 3]> {
    let [a, b] = addends(o) else { return None };
    [(a, b), (b, a)].into_iter().find_map(|(p, z)| {
        let [x, y] = products.factors(p, before)?;
        (paths.depth(p) > paths.depth(z) && !z.abs && few_constants(&[x, y, *z])).then_some([x, y, *z])
    })
}

/// The factors of a multiply-add's addend where it waits for that longer than for its own, and everything waits for it.
fn exchanged(o: &Op, paths: &Paths, products: &Products, before: &[Op]) -> Option<Factors> {
    let [p] = addends(o) else { return None };
    let both = products.factors(p, before)?;
    let (own, late) = (paths.depth(&o.src[0]).max(paths.depth(&o.src[1])), paths.depth(p));
    let critical = late + 1 + paths.behind(o) == paths.longest;
    (own + 1 < late && critical && few_constants(&both)).then_some(both)
}

/// Whether at most one operand is a constant: a group reads few of them.
fn few_constants(operands: &[Opnd]) -> bool {
    operands.iter().filter(|o| o.as_web().is_none()).count() < 2
}
