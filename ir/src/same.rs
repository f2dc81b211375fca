//! Whether two modules say the same: equal but for the numbers of values, blocks and instructions, which depend on what passes removed.

use crate::entities::{Block, Value};
use crate::function::Function;
use crate::module::Module;
use cranelift_entity::SecondaryMap;

/// Whether two modules have equal interfaces and functions.
pub fn same(a: &Module, b: &Module) -> bool {
    let interface = |m: &Module| (m.stage, m.workgroup_size, m.early_depth, m.entry);
    interface(a) == interface(b)
        && a.geometry == b.geometry
        && a.inputs == b.inputs
        && a.outputs == b.outputs
        && a.uniforms == b.uniforms
        && a.textures == b.textures
        && a.storage == b.storage
        && a.shared == b.shared
        && a.functions.len() == b.functions.len()
        && a.functions.values().zip(b.functions.values()).all(|(f, g)| same_function(f, g))
}

/// Places in the layout: what numbers stand for.
struct Places {
    values: SecondaryMap<Value, u32>,
    blocks: SecondaryMap<Block, u32>,
}

impl Places {
    fn of(f: &Function) -> Places {
        let mut p = Places { values: SecondaryMap::with_default(u32::MAX), blocks: SecondaryMap::with_default(u32::MAX) };
        p.values.resize(f.values.len());
        let mut next = 0;
        for (k, b) in f.layout.iter().enumerate() {
            p.blocks[*b] = k as u32;
            let results = f.blocks[*b].insts.iter().flat_map(|i| &f.insts[*i].results);
            for v in f.blocks[*b].params.iter().chain(results) {
                p.values[*v] = next;
                next += 1;
            }
        }
        p
    }
}

fn same_function(f: &Function, g: &Function) -> bool {
    let shape = |f: &Function| (f.layout.len(), f.inst_count(), f.locals.len());
    if shape(f) != shape(g) || f.locals != g.locals || f.results != g.results {
        return false;
    }
    let (p, q) = (Places::of(f), Places::of(g));
    let values = |x: &[Value], y: &[Value]| {
        let one = |x: &Value, y: &Value| p.values[f.resolve(*x)] == q.values[g.resolve(*y)];
        x.len() == y.len() && x.iter().zip(y).all(|(x, y)| one(x, y))
    };
    let types = |x: &[Value], y: &[Value]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| f.ty(*x) == g.ty(*y));
    f.layout.iter().zip(&g.layout).all(|(b, c)| {
        let (b, c) = (&f.blocks[*b], &g.blocks[*c]);
        types(&b.params, &c.params)
            && b.insts.len() == c.insts.len()
            && b.insts.iter().zip(&c.insts).all(|(i, j)| {
                let (i, j) = (&f.insts[*i], &g.insts[*j]);
                (i.op, i.precise, i.relaxed) == (j.op, j.precise, j.relaxed)
                    && i.imm == j.imm
                    && types(&i.results, &j.results)
                    && values(&i.args, &j.args)
                    && i.targets.len() == j.targets.len()
                    && i.targets.iter().zip(&j.targets).all(|(s, t)| p.blocks[s.block] == q.blocks[t.block] && values(&s.args, &t.args))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::same;
    use crate::module::Module;
    use crate::passes::dce;

    /// A program with an operation, and with another one that is removed again if `more`.
    fn program(op: &str, more: bool) -> Module {
        let more = if more { "    v9 = fneg v0\n" } else { "" };
        let head = "shader vertex \"main\"\ninput %a : f32x4 @location(0)\noutput %p : f32x4 @position\nblock0:\n    v0 = input.f32x4 %a\n";
        let mut m = crate::parse("same.ir", &format!("{head}{more}    v1 = {op} v0, v0\n    output %p, v1\n    return\n")).unwrap();
        dce::run(m.main_mut());
        m
    }

    #[test]
    fn numbers_do_not_count_and_all_else_does() {
        assert!(same(&program("fadd", false), &program("fadd", true)));
        assert!(!same(&program("fadd", false), &program("fmul", false)));
    }
}
