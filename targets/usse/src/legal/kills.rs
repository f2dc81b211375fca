//! One KILL where several would do, under the condition that keeps a pixel.
//!
//! Published programs have one KILL each, under `!p1`: a predicate collects what keeps the pixel, each test under the one before.
//! `discard a < b` and `discard c` become `discard not (a >= b and not c)`; conditions for different values of one integer, as
//! a `switch` has them, become a choice (`picked`). A comparison with NaN may go either way here.

use retroshade_ir::*;

/// Rewrites the discards of a function.
pub fn run(f: &mut Function) {
    for b in f.layout.clone() {
        block(f, b);
    }
}

/// What keeps a pixel.
#[derive(Clone, Debug)]
enum Keep {
    /// A comparison.
    Test(InstData),
    /// The second test where the first one holds, else the rest.
    Pick(InstData, InstData, Box<Keep>),
    /// All of these.
    All(Vec<Keep>),
    /// One of these.
    Any(Vec<Keep>),
}

impl Keep {
    /// The condition `v`, or with `not` its opposite; none where it is no combination of comparisons.
    fn of(f: &Function, v: Value, not: bool) -> Option<Keep> {
        let d = &f.insts[f.def_inst(v)?];
        let both = || d.args.iter().map(|a| Keep::of(f, *a, not)).collect::<Option<Vec<_>>>();
        let test = |imm: Imm| Some(Keep::Test(InstData { imm, results: Default::default(), ..d.clone() }));
        match (d.op, &d.imm) {
            _ if f.ty(v) != types::I1 => None,
            (Opcode::Inot, _) => Keep::of(f, d.args[0], !not),
            (Opcode::Iand, _) => both().map(if not { Keep::Any } else { Keep::All }),
            (Opcode::Ior, _) => both().map(if not { Keep::All } else { Keep::Any }),
            (Opcode::Icmp, Imm::IntCC(cc)) if f.ty(d.args[0]) == types::I32 => test(Imm::IntCC(if not { cc.inverse() } else { *cc })),
            (Opcode::Fcmp, Imm::FloatCC(cc)) => test(Imm::FloatCC(ordered(*cc, not)?)),
            _ => None,
        }
    }

    /// In an order in which each test but the first stands under one predicate; none where there is no such order.
    fn chained(self) -> Option<Keep> {
        let (list, all) = match self {
            Keep::Test(_) => return Some(self),
            Keep::Pick(..) => return None,
            Keep::All(l) => (l, true),
            Keep::Any(l) => (l, false),
        };
        let mut flat = Vec::new();
        for k in list {
            match k.chained()? {
                Keep::All(inner) if all => flat.extend(inner),
                Keep::Any(inner) if !all => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_by_key(|k| matches!(k, Keep::Test(_)));
        let fits = flat.iter().skip(1).all(|k| matches!(k, Keep::Test(_)));
        fits.then_some(if all { Keep::All(flat) } else { Keep::Any(flat) })
    }

    /// Appends the instructions that compute it.
    fn emit(&self, f: &mut Function, span: Span, out: &mut Vec<Inst>) -> Value {
        let (list, op) = match self {
            Keep::Test(d) => return push(f, d.clone(), span, out),
            Keep::Pick(when, then, rest) => {
                let rest = rest.emit(f, span, out);
                let (when, then) = (push(f, when.clone(), span, out), push(f, then.clone(), span, out));
                return push(f, InstData::new(Opcode::Select, &[when, then, rest], Imm::None), span, out);
            }
            Keep::All(l) => (l, Opcode::Iand),
            Keep::Any(l) => (l, Opcode::Ior),
        };
        let mut values = list.iter().map(|k| k.emit(f, span, out)).collect::<Vec<_>>().into_iter();
        let first = values.next();
        values.fold(first.unwrap_or(Value::from_u32(0)), |a, b| push(f, InstData::new(op, &[a, b], Imm::None), span, out))
    }
}

/// One condition after another of which at most one decides: `x != 3 or a < b` behind others about `x` is `a < b` where x is 3,
/// and else what the others say. That is two tests, of which the second stands under the first.
fn picked(f: &Function, before: &Keep, own: &Keep) -> Option<Keep> {
    let Keep::Any(tests) = own else { return None };
    let [Keep::Test(a), Keep::Test(b)] = &tests[..] else { return None };
    [(a, b), (b, a)].into_iter().find_map(|(other, then)| {
        let Imm::IntCC(cc) = other.imm else { return None };
        let when = InstData { imm: Imm::IntCC(cc.inverse()), ..other.clone() };
        grants(f, &when, before).then(|| Keep::Pick(when, then.clone(), Box::new(before.clone())))
    })
}

/// Whether a comparison of integers settles that a condition holds.
fn grants(f: &Function, when: &InstData, keep: &Keep) -> bool {
    match keep {
        Keep::Test(t) => settles(f, when, t),
        Keep::All(l) => l.iter().all(|k| grants(f, when, k)),
        Keep::Any(l) => l.iter().any(|k| grants(f, when, k)),
        // Where its own test does not hold, the rest decides.
        Keep::Pick(own, _, rest) => {
            let not = |cc: IntCC| InstData { imm: Imm::IntCC(cc.inverse()), ..own.clone() };
            matches!(own.imm, Imm::IntCC(cc) if settles(f, when, &not(cc))) && grants(f, when, rest)
        }
    }
}

/// Whether a comparison with a constant says that another one of the same value holds.
fn settles(f: &Function, when: &InstData, then: &InstData) -> bool {
    let (Imm::IntCC(a), Imm::IntCC(b)) = (&when.imm, &then.imm) else { return false };
    let constant = |d: &InstData| f.const_bits(d.args[1]).map(|c| c[0]);
    let (Some(k), Some(n)) = (constant(when), constant(then)) else { return false };
    let from = |least: u32| matches!(b, IntCC::Ne if n < least) || matches!(b, IntCC::Uge if n <= least);
    f.resolve(when.args[0]) == f.resolve(then.args[0])
        && match a {
            IntCC::Eq => b.eval(k, n),
            IntCC::Uge => from(k),
            IntCC::Ugt => k < u32::MAX && from(k + 1),
            _ => false,
        }
}

/// A comparison (or with `not` its opposite) that one test makes.
fn ordered(cc: FloatCC, not: bool) -> Option<FloatCC> {
    use FloatCC::*;
    let cc = if not { cc.inverse() } else { cc };
    Some(match cc {
        Ult => Olt,
        Ule => Ole,
        Ugt => Ogt,
        Uge => Oge,
        Oeq | Une | Olt | Ole | Ogt | Oge => cc,
        _ => return None,
    })
}

fn push(f: &mut Function, d: InstData, span: Span, out: &mut Vec<Inst>) -> Value {
    let i = f.make_inst(d, &[types::I1], span);
    out.push(i);
    f.insts[i].results[0]
}

fn block(f: &mut Function, b: Block) {
    // What keeps the pixel so far, and the discard that says so.
    let mut open: Option<(Inst, Keep)> = None;
    let mut merged = Vec::new();
    let mut closed = Vec::new();
    for i in f.blocks[b].insts.clone() {
        if f.insts[i].op != Opcode::Discard {
            continue;
        }
        let own = Keep::of(f, f.insts[i].args[0], true).and_then(Keep::chained);
        let both = match (&open, &own) {
            (Some((_, before)), Some(own)) => Keep::All(vec![before.clone(), own.clone()]).chained().or_else(|| picked(f, before, own)),
            _ => None,
        };
        match (both, own) {
            (Some(both), _) => merged.extend(open.replace((i, both)).map(|o| o.0)),
            (None, Some(own)) => closed.extend(open.replace((i, own))),
            (None, None) => closed.extend(open.take()),
        }
    }
    closed.extend(open);
    let mut out = Vec::new();
    for i in std::mem::take(&mut f.blocks[b].insts) {
        if let Some((_, keep)) = closed.iter().find(|c| c.0 == i) {
            let span = f.spans[i];
            let keep = keep.emit(f, span, &mut out);
            f.insts[i].args[0] = push(f, InstData::new(Opcode::Inot, &[keep], Imm::None), span, &mut out);
        }
        if !merged.contains(&i) {
            out.push(i);
        }
    }
    f.blocks[b].insts = out;
}
