//! Values that are wanted twice as large, too: `reflect` asks for twice the product that the light is. The operation that makes the value
//! gives it doubled, by its output modifier, and who wants it as it is halves it, where that is free. One operation less, and whoever waits
//! for the doubled value does so for a group less.

use crate::isa::forms::{Number, op2};
use crate::select::mir::{Kind, Mir, Op, Opnd, Place, Web, counts, each_leaf, inline_constant, leaves};

const TWICE: u8 = 1;

/// Doubles what pays in a program.
pub fn double(mir: &mut Mir) {
    if !leaves(&mir.steps).into_iter().flatten().any(|o| twice(o).is_some()) {
        return;
    }
    let n = mir.webs.len();
    let (defs, reads) = counts(&mir.steps, n);
    let free = |w: Web| defs[w.0 as usize] == 1 && mir.webs[w.0 as usize].quad.is_none() && mir.webs[w.0 as usize].chan.is_none();
    // What a doubled value was called.
    let mut name: Vec<Web> = (0..n as u32).map(Web).collect();
    let mut steps = std::mem::take(&mut mir.steps);
    each_leaf(&mut steps, &mut |ops| {
        for k in 0..ops.len() {
            // What is called otherwise by now is no operation's result any more.
            if let Some((w, t)) = twice(&ops[k]).filter(|(w, t)| free(*w) && free(*t) && name[w.0 as usize] == *w)
                && halve(ops, k, w, reads[w.0 as usize])
            {
                name[t.0 as usize] = w;
            }
        }
        ops.retain(|o| twice(o).is_none_or(|(w, t)| name[t.0 as usize] != w));
    });
    each_leaf(&mut steps, &mut |ops| ops.iter_mut().for_each(|o| o.rename(&|w| name[w.0 as usize])));
    mir.steps = steps;
}

/// The web that an operation doubles, and the doubled one.
fn twice(op: &Op) -> Option<(Web, Web)> {
    match (op.form, &op.src[..], &op.dst[..]) {
        (op2::ADD, [x, y], [t]) if x == y && !x.modified() && op.kind == Kind::Alu && op.omod == 0 && !op.clamp && op.store.is_none() => {
            x.as_web().map(|w| (w, *t))
        }
        _ => None,
    }
}

/// Makes the operation that writes `w` give twice its value, and the readers but the one at `but` take half of that; `false` where one
/// of them cannot.
fn halve(ops: &mut [Op], but: usize, w: Web, reads: u32) -> bool {
    let scales = |o: &Op| {
        let float = matches!(o.kind, Kind::Alu | Kind::Reduce) && o.info().result == Number::Float && o.form != op2::MOV;
        o.dst[..] == [w] && float && !o.is_op3() && o.omod == 0 && !o.clamp && o.store.is_none()
    };
    let Some(from) = ops[..but].iter().position(scales) else { return false };
    let readers: Vec<usize> = (0..ops.len()).filter(|k| *k != but && ops[*k].reads().contains(&w)).collect();
    let halved: Option<Vec<Op>> = readers.iter().map(|k| half(&ops[*k], w)).collect();
    // All of them are here and read it once.
    let Some(halved) = halved.filter(|_| readers.len() as u32 + 2 == reads) else { return false };
    ops[from].omod = TWICE;
    readers.into_iter().zip(halved).for_each(|(k, op)| ops[k] = op);
    true
}

/// An operation that gives the same for half of a web.
fn half(op: &Op, w: Web) -> Option<Op> {
    let mut op = op.clone();
    // Twice the largest numbers is infinite, which makes no difference between 0 and 1.
    if op.kind != Kind::Alu || op.omod != 0 || op.store.is_some() || !op.clamp {
        return None;
    }
    match (op.form, &mut op.src[..]) {
        (op2::MOV, [_]) => {
            op.src.push(Opnd::float(0.5));
            op.form = op2::MUL_IEEE;
        }
        (op2::MUL_IEEE, [x, y]) => {
            let factor = if x.as_web() == Some(w) { y } else { x };
            let Place::Bits(b) = factor.place else { return None };
            let by = (f32::from_bits(b) * 0.5).to_bits();
            let literal = |b: u32| inline_constant(b, true).is_none();
            if !f32::from_bits(by).is_normal() || literal(by) && !literal(b) {
                return None;
            }
            *factor = Opnd::bits(by);
        }
        _ => return None,
    }
    Some(op)
}
