//! Rules about a function's tables (V0012): ids name something, and what they name stands in one place. Text cannot break them, hands can.

use super::Verifier;
use crate::diag::Span;
use crate::entities::*;
use crate::function::{Function, ValueDef};
use cranelift_entity::EntitySet;

/// The first thing that is wrong with a function's tables.
fn fault(f: &Function) -> Option<String> {
    let (mut blocks, mut insts, mut values) = (EntitySet::<Block>::new(), EntitySet::<Inst>::new(), EntitySet::<Value>::new());
    for b in &f.layout {
        if !f.blocks.is_valid(*b) {
            return Some(format!("{b} of the layout does not exist"));
        }
        if !blocks.insert(*b) {
            return Some(format!("{b} stands in the layout twice"));
        }
        if let Some(wrong) = f.blocks[*b].params.iter().find_map(|v| value(f, *v, &mut values)) {
            return Some(format!("a parameter of {b}: {wrong}"));
        }
        for i in &f.blocks[*b].insts {
            if !f.insts.is_valid(*i) {
                return Some(format!("{i} in {b} does not exist"));
            }
            if !insts.insert(*i) {
                return Some(format!("the instruction `{}` stands in two places, one of them in {b}", f.insts[*i].op.name()));
            }
            if let Some(wrong) = f.insts[*i].results.iter().find_map(|v| value(f, *v, &mut values)) {
                return Some(format!("a result of `{}` in {b}: {wrong}", f.insts[*i].op.name()));
            }
        }
    }
    None
}

/// What is wrong with a value where it is defined; `seen` are those defined before.
fn value(f: &Function, v: Value, seen: &mut EntitySet<Value>) -> Option<String> {
    let Some((ty, def)) = f.values.get(v) else { return Some(format!("{v} does not exist")) };
    let known = match def {
        ValueDef::Result(i, _) => f.insts.is_valid(*i),
        ValueDef::Param(b, _) => f.blocks.is_valid(*b),
        ValueDef::Alias(w) => f.values.is_valid(*w),
    };
    if !known || !seen.insert(v) {
        return Some(format!("{v} is defined elsewhere"));
    }
    (!(1..=4).contains(&ty.lanes)).then(|| format!("{v} has {} lanes", ty.lanes))
}

impl Verifier<'_> {
    /// Whether all ids mean something: nothing else can be looked at before.
    pub(super) fn tables(&mut self) -> bool {
        let m = self.m;
        if !m.functions.is_valid(m.entry) {
            self.error("V0012", Span::NONE, "the entry is no function of the module");
            return false;
        }
        for (id, f) in &m.functions {
            if let Some(wrong) = fault(f) {
                let title = self.title(id);
                self.error("V0012", Span::NONE, format!("{wrong} ({title})"));
            }
        }
        self.errors.is_empty()
    }
}
