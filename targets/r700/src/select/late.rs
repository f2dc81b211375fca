//! Choices by two masks together: the mask that all the rest waits for chooses last, between what the other one has chosen and what there
//! is in any case. As many operations, and a group less behind the later mask.

use crate::isa::forms::{op2, op3};
use crate::select::mir::{Kind, Mir, Op, Opnd, Web, counts, each_leaf, leaves};
use crate::select::paths::Paths;
use crate::select::tidy::MASKS;
use retroshade_emit::form::FormId;
use smallvec::SmallVec;

/// Runs over a program.
pub fn choose_last(mir: &mut Mir) {
    let any = |what: fn(&Op) -> bool| leaves(&mir.steps).into_iter().flatten().any(what);
    if !any(joins) || !any(chooses) {
        return;
    }
    let n = mir.webs.len();
    let mut steps = std::mem::take(&mut mir.steps);
    let (defs, reads) = counts(&steps, n);
    // All ones or zero; and what is made for one reader of two others.
    let (mut masks, mut pairs): (Vec<bool>, Vec<Option<Pair>>) = (vec![false; n], vec![None; n]);
    let one = |o: &Opnd| o.as_web().filter(|w| defs[w.0 as usize] == 1);
    for op in leaves(&steps).into_iter().flatten() {
        let [w] = op.dst[..] else { continue };
        if op.kind != Kind::Alu || op.store.is_some() || defs[w.0 as usize] != 1 {
            continue;
        }
        let of_masks = joins(op) && op.src.iter().all(|s| one(s).is_some_and(|w| masks[w.0 as usize]));
        masks[w.0 as usize] = MASKS.contains(&op.form) || of_masks;
        // Of values that are no masks AND_INT may give 0 though neither is.
        if joins(op) && (of_masks || op.form == op2::OR_INT) && reads[w.0 as usize] == 1 {
            pairs[w.0 as usize] = one(&op.src[0]).zip(one(&op.src[1])).map(|(x, y)| Pair { form: op.form, x, y });
        }
    }
    let mut paths = Paths::new(n);
    each_leaf(&mut steps, &mut |ops| {
        let pair = |o: &Op| o.src.first().filter(|_| chooses(o)).and_then(|c| *pairs.get(c.as_web()?.0 as usize)?);
        if !ops.iter().any(|o| pair(o).is_some()) {
            return;
        }
        paths.forget(ops);
        let mut out = Vec::with_capacity(ops.len());
        for mut o in ops.drain(..) {
            if let Some(Pair { form, x, y }) = pair(&o) {
                let depth = |w: Web| paths.depth(&Opnd::web(w));
                let (last, first) = if depth(x) > depth(y) { (x, y) } else { (y, x) };
                let (zero, other) = (o.src[1], o.src[2]);
                if depth(last) > depth(first).max(paths.depth(&zero)).max(paths.depth(&other)) {
                    let w = mir.web();
                    paths.add(0);
                    let inner = Op { span: o.span, ..Op::alu(op3::CNDE_INT, &[Opnd::web(first), zero, other], Some(w)) };
                    paths.note(&inner);
                    out.push(inner);
                    let w = Opnd::web(w);
                    let [zero, other] = if form == op2::AND_INT { [zero, w] } else { [w, other] };
                    o.src = SmallVec::from_slice(&[Opnd::web(last), zero, other]);
                }
            }
            paths.note(&o);
            out.push(o);
        }
        *ops = out;
    });
    mir.steps = steps;
}

/// Two values that an operation joins.
#[derive(Clone, Copy)]
struct Pair {
    form: FormId,
    x: Web,
    y: Web,
}

fn joins(o: &Op) -> bool {
    matches!(o.form, op2::AND_INT | op2::OR_INT) && o.kind == Kind::Alu
}

fn chooses(o: &Op) -> bool {
    o.form == op3::CNDE_INT && o.kind == Kind::Alu
}
