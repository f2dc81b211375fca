//! From lines to functions: connects values, blocks and callees to their definitions and infers result types.
//!
//! A definition may stand after its use in the text (blocks need not be in dominance order), so types are found with a
//! worklist: an instruction whose operand types are not all known yet waits for the first unknown one.

use super::insts::{AstFunc, AstInst, AstValue};
use super::parser::Parser;
use crate::diag::{Diagnostic, Span};
use crate::entities::*;
use crate::function::{BlockData, Function};
use crate::inst::{BlockCall, Imm, InstData};
use crate::module::Module;
use crate::opcode::ResultRule;
use crate::types::{F32, Type};
use smallvec::SmallVec;
use std::collections::HashMap;

struct Def {
    span: Span,
    ty: Option<Type>,
    value: Option<Value>,
}

/// The written signature of a function.
struct Signature {
    id: FuncId,
    results: Vec<Type>,
}

impl Parser<'_> {
    pub(super) fn resolve(&mut self, m: &mut Module, entry: AstFunc, helpers: Vec<AstFunc>) {
        let mut signatures: HashMap<String, Signature> = HashMap::new();
        let mut places: HashMap<String, Span> = HashMap::new();
        for f in &helpers {
            let id = m.functions.push(Function::new(&f.name));
            if let Some(first) = places.insert(f.name.clone(), f.span) {
                let d = Diagnostic::error("E0009", f.span, format!("function `@{}` is defined twice", f.name));
                self.report(d.note(first, "first here"));
            }
            signatures.insert(f.name.clone(), Signature { id, results: f.results.clone() });
        }
        let ids: Vec<FuncId> = m.functions.keys().collect();
        let name = m.name.clone();
        for (id, f) in ids.into_iter().zip(std::iter::once(entry).chain(helpers)) {
            let is_entry = id == m.entry;
            let mut func = self.function(f, is_entry, &signatures);
            if is_entry {
                func.name.clone_from(&name);
            }
            m.functions[id] = func;
        }
    }

    fn function(&mut self, mut f: AstFunc, is_entry: bool, signatures: &HashMap<String, Signature>) -> Function {
        let mut out = Function::new(&f.name);
        out.results = std::mem::take(&mut f.results);
        for l in std::mem::take(&mut f.locals) {
            out.locals.push(l);
        }
        if let (false, Some(b)) = (is_entry, f.blocks.first_mut()) {
            if let Some(((_, span), _)) = b.params.first() {
                self.error("E0020", *span, "the parameters of a function's first block stand in the function's header");
            }
            b.params = std::mem::take(&mut f.params);
        }
        // Blocks.
        let mut blocks: HashMap<u32, (Block, Span)> = HashMap::with_capacity(f.blocks.len());
        for b in &f.blocks {
            let id = out.blocks.push(BlockData::default());
            out.layout.push(id);
            if let Some((_, first)) = blocks.insert(b.number, (id, b.span)) {
                let d = Diagnostic::error("E0009", b.span, format!("block{} is defined twice", b.number));
                self.report(d.note(first, "first here"));
            }
        }
        let mut defs = self.definitions(&f, signatures);
        self.infer(&f, &mut defs);
        self.check_uses(&f, &defs, &blocks, signatures);
        if self.errors.is_empty() {
            build(&f, &mut out, &mut defs, &blocks, signatures);
        }
        out
    }

    /// Every value with its written or declared type.
    fn definitions(&mut self, f: &AstFunc, signatures: &HashMap<String, Signature>) -> HashMap<u32, Def> {
        let mut defs: HashMap<u32, Def> = HashMap::new();
        let mut twice: Vec<(AstValue, Span)> = Vec::new();
        let mut callee_errors: Vec<(Span, String)> = Vec::new();
        let mut define = |v: AstValue, ty: Option<Type>| {
            let old = defs.insert(v.0, Def { span: v.1, ty, value: None });
            if let Some(first) = old {
                twice.push((v, first.span));
            }
        };
        for b in &f.blocks {
            for (v, ty) in &b.params {
                define(*v, Some(*ty));
            }
            for i in &b.insts {
                match &i.callee {
                    Some((name, span)) => {
                        let results: &[Type] = signatures.get(name).map_or(&[], |s| &s.results);
                        if !i.results.is_empty() && signatures.contains_key(name) && i.results.len() != results.len() {
                            callee_errors.push((*span, format!("`@{name}` has {} results, not {}", results.len(), i.results.len())));
                        }
                        for (n, v) in i.results.iter().enumerate() {
                            define(*v, Some(results.get(n).copied().unwrap_or(F32)));
                        }
                    }
                    None => {
                        for v in &i.results {
                            define(*v, i.ty);
                        }
                    }
                }
            }
        }
        for (v, first) in twice {
            self.report(Diagnostic::error("E0009", v.1, format!("v{} is defined twice", v.0)).note(first, "first here"));
        }
        for (span, message) in callee_errors {
            self.error("E0018", span, message);
        }
        defs
    }

    /// Finds the types that follow from operands.
    fn infer(&mut self, f: &AstFunc, defs: &mut HashMap<u32, Def>) {
        let mut waiting: HashMap<u32, Vec<&AstInst>> = HashMap::new();
        let mut work: Vec<&AstInst> = Vec::new();
        let mut stuck = 0usize;
        for i in f.blocks.iter().flat_map(|b| &b.insts) {
            if i.ty.is_some() || i.results.is_empty() || matches!(i.op.rule(), ResultRule::None | ResultRule::Explicit | ResultRule::Call) {
                continue;
            }
            work.push(i);
            while let Some(i) = work.pop() {
                let mut types: SmallVec<[Type; 4]> = SmallVec::new();
                let mut unknown = None;
                for (n, a) in i.args.iter().enumerate() {
                    match defs.get(&a.0) {
                        Some(Def { ty: Some(t), .. }) => types.push(*t),
                        // Only the operand that the rule looks at must be known.
                        Some(_) if n == usize::from(i.op.rule() == ResultRule::Second) => {
                            unknown = unknown.or(Some(a.0));
                            types.push(F32);
                        }
                        _ => types.push(F32),
                    }
                }
                if let Some(u) = unknown {
                    waiting.entry(u).or_default().push(i);
                    stuck += 1;
                    continue;
                }
                let mask = if let Imm::Lanes(l) = &i.imm { l.len() } else { 0 };
                let ty = i.op.infer(&types, mask);
                let (number, span) = i.results[0];
                match ty {
                    Some(t) => {
                        if let Some(d) = defs.get_mut(&number) {
                            d.ty = Some(t);
                        }
                    }
                    None => {
                        self.error("E0014", span, format!("the type of v{number} cannot be found: `{}` lacks operands", i.op.name()));
                        if let Some(d) = defs.get_mut(&number) {
                            d.ty = Some(F32);
                        }
                    }
                }
                if let Some(w) = waiting.remove(&number) {
                    stuck -= w.len();
                    work.extend(w);
                }
            }
        }
        if stuck > 0 {
            let mut left: Vec<AstValue> = waiting.into_values().flatten().map(|i| i.results[0]).collect();
            left.sort_by_key(|v| v.1.start);
            for v in left {
                self.error("E0014", v.1, format!("the type of v{} cannot be found: it depends on itself", v.0));
            }
        }
    }

    /// Reports uses of what is not defined.
    fn check_uses(
        &mut self,
        f: &AstFunc,
        defs: &HashMap<u32, Def>,
        blocks: &HashMap<u32, (Block, Span)>,
        signatures: &HashMap<String, Signature>,
    ) {
        for i in f.blocks.iter().flat_map(|b| &b.insts) {
            if let Some((name, span)) = &i.callee
                && !signatures.contains_key(name)
            {
                self.error("E0013", *span, format!("there is no function `@{name}`"));
            }
            for t in &i.targets {
                if !blocks.contains_key(&t.block) {
                    self.error("E0011", t.span, format!("there is no block{}", t.block));
                }
            }
            for a in i.args.iter().chain(i.targets.iter().flat_map(|t| &t.args)) {
                if !defs.contains_key(&a.0) {
                    self.error("E0010", a.1, format!("v{} is not defined", a.0));
                }
            }
        }
    }
}

/// Makes the function of a text without errors.
fn build(
    f: &AstFunc,
    out: &mut Function,
    defs: &mut HashMap<u32, Def>,
    blocks: &HashMap<u32, (Block, Span)>,
    signatures: &HashMap<String, Signature>,
) {
    // Definitions first, in the order of the text; operands when all values exist.
    let mut made: Vec<Inst> = Vec::new();
    for (n, b) in f.blocks.iter().enumerate() {
        let block = out.layout[n];
        for ((number, _), ty) in &b.params {
            let v = out.add_param(block, *ty);
            if let Some(d) = defs.get_mut(number) {
                d.value = Some(v);
            }
        }
        for i in &b.insts {
            let callee = i.callee.as_ref().and_then(|(name, _)| signatures.get(name));
            let types: SmallVec<[Type; 1]> = match callee {
                Some(s) => s.results.iter().copied().collect(),
                None if !i.results.is_empty() => i.results.iter().map(|v| defs.get(&v.0).and_then(|d| d.ty).unwrap_or(F32)).collect(),
                // A result that nobody names exists all the same.
                None => match i.op.rule() {
                    ResultRule::None | ResultRule::Call => SmallVec::new(),
                    ResultRule::Explicit => i.ty.into_iter().collect(),
                    _ => {
                        let args: SmallVec<[Type; 4]> = i.args.iter().map(|a| defs.get(&a.0).and_then(|d| d.ty).unwrap_or(F32)).collect();
                        let mask = if let Imm::Lanes(l) = &i.imm { l.len() } else { 0 };
                        i.ty.or_else(|| i.op.infer(&args, mask)).into_iter().collect()
                    }
                },
            };
            let mut data = InstData::new(i.op, &[], i.imm.clone());
            data.precise = i.precise;
            data.relaxed = i.relaxed;
            if let Some(s) = callee {
                data.imm = Imm::Func(s.id);
            }
            let inst = out.make_inst(data, &types, i.span);
            out.blocks[block].insts.push(inst);
            for (n, v) in i.results.iter().enumerate() {
                if let Some(d) = defs.get_mut(&v.0) {
                    d.value = out.insts[inst].results.get(n).copied();
                }
            }
            made.push(inst);
        }
    }
    let value = |a: &AstValue| defs.get(&a.0).and_then(|d| d.value);
    for (inst, i) in made.into_iter().zip(f.blocks.iter().flat_map(|b| &b.insts)) {
        out.insts[inst].args = i.args.iter().filter_map(value).collect();
        out.insts[inst].targets = i
            .targets
            .iter()
            .filter_map(|t| blocks.get(&t.block).map(|b| BlockCall { block: b.0, args: t.args.iter().filter_map(value).collect() }))
            .collect();
    }
}
