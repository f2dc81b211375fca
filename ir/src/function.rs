//! Functions: values, instructions and blocks in tables; the order of blocks and instructions in plain vectors.

use crate::diag::Span;
use crate::entities::*;
use crate::inst::{BlockCall, Imm, InstData};
use crate::opcode::Opcode;
use crate::passes::settled::{Memory, content};
use crate::types::{I1, Type};
use cranelift_entity::packed_option::ReservedValue;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap};
use smallvec::SmallVec;

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueDef {
    /// Result `1` of instruction `0`.
    Result(Inst, u16),
    /// Parameter `1` of block `0`.
    Param(Block, u16),
    /// Replaced by another value; [`Function::resolve_aliases`] removes these.
    Alias(Value),
}

/// A block: parameters and instructions, the last of which is its terminator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockData {
    /// Parameters.
    pub params: Vec<Value>,
    /// Instructions in order.
    pub insts: Vec<Inst>,
}

/// An array that belongs to one invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalDecl {
    /// Name without `%`.
    pub name: String,
    /// Element type.
    pub ty: Type,
    /// Number of elements.
    pub count: u32,
}

/// A function: the shader's entry or a helper.
///
/// The first block of `layout` is the entry; its parameters are the function's.
#[derive(Debug, Default)]
pub struct Function {
    /// Name without `@`.
    pub name: String,
    /// Result types.
    pub results: Vec<Type>,
    /// Instructions, in no order.
    pub insts: PrimaryMap<Inst, InstData>,
    /// Blocks, in no order.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// The order of the blocks; the entry first. Blocks not listed do not exist.
    pub layout: Vec<Block>,
    /// Local arrays.
    pub locals: PrimaryMap<Local, LocalDecl>,
    /// Types and definitions of values.
    pub values: PrimaryMap<Value, (Type, ValueDef)>,
    /// Source location of each instruction.
    pub spans: SecondaryMap<Inst, Span>,
    /// Whether a value was replaced since aliases were resolved last.
    aliased: bool,
    /// What passes know of it from one run to the next.
    pub(crate) memory: Memory,
}

// By hand: who makes a copy changes it, and the table of instructions need not move as soon as another one is made.
impl Clone for Function {
    fn clone(&self) -> Function {
        let mut insts = PrimaryMap::with_capacity(self.insts.len() + self.insts.len() / 2);
        insts.extend(self.insts.values().cloned());
        Function {
            name: self.name.clone(),
            results: self.results.clone(),
            insts,
            blocks: self.blocks.clone(),
            layout: self.layout.clone(),
            locals: self.locals.clone(),
            values: self.values.clone(),
            spans: self.spans.clone(),
            aliased: self.aliased,
            memory: self.memory.clone(),
        }
    }
}

impl Function {
    /// An empty function.
    pub fn new(name: &str) -> Function {
        Function { name: name.to_string(), ..Function::default() }
    }
    /// The entry block.
    pub fn entry(&self) -> Option<Block> {
        self.layout.first().copied()
    }
    /// A value's type.
    #[inline]
    pub fn ty(&self, v: Value) -> Type {
        self.values[v].0
    }
    /// A value's definition, through aliases.
    #[inline]
    pub fn def(&self, v: Value) -> ValueDef {
        self.values[self.resolve(v)].1
    }
    /// The instruction that defines a value, if one does.
    #[inline]
    pub fn def_inst(&self, v: Value) -> Option<Inst> {
        match self.def(v) {
            ValueDef::Result(i, _) => Some(i),
            _ => None,
        }
    }
    /// The defining instruction's data if its operation is `op`.
    #[inline]
    pub fn def_if(&self, v: Value, op: Opcode) -> Option<&InstData> {
        self.def_inst(v).map(|i| &self.insts[i]).filter(|d| d.op == op)
    }
    /// The bits of a constant value.
    #[inline]
    pub fn const_bits(&self, v: Value) -> Option<[u32; 4]> {
        match self.def_if(v, Opcode::Const)?.imm {
            Imm::Const(bits) => Some(bits),
            _ => None,
        }
    }
    /// The single result of an instruction.
    #[inline]
    pub fn result(&self, i: Inst) -> Option<Value> {
        self.insts[i].results.first().copied()
    }
    /// Follows aliases.
    #[inline]
    pub fn resolve(&self, mut v: Value) -> Value {
        while let ValueDef::Alias(w) = self.values[v].1 {
            v = w;
        }
        v
    }
    /// Makes every use of `old` mean `new`. Call [`Function::resolve_aliases`] before anyone else sees the function.
    pub fn replace(&mut self, old: Value, new: Value) {
        let new = self.resolve(new);
        if old != new {
            self.values[old].1 = ValueDef::Alias(new);
            self.aliased = true;
        }
    }
    /// Whether operands may name values that were replaced.
    pub fn has_aliases(&self) -> bool {
        self.aliased
    }
    /// Rewrites all operands so that no alias remains in use.
    pub fn resolve_aliases(&mut self) {
        if !std::mem::take(&mut self.aliased) {
            return;
        }
        for b in &self.layout {
            for i in &self.blocks[*b].insts {
                resolve_all(&self.values, &mut self.insts[*i]);
            }
        }
    }
    /// Rewrites the operands and branch arguments of one instruction so that none is an alias.
    #[inline]
    pub fn resolve_operands(&mut self, i: Inst) {
        if self.aliased {
            resolve_all(&self.values, &mut self.insts[i]);
        }
    }
    /// Adds a block at the end of the layout.
    pub fn add_block(&mut self) -> Block {
        let b = self.blocks.push(BlockData::default());
        self.layout.push(b);
        b
    }
    /// Adds a parameter to a block.
    pub fn add_param(&mut self, b: Block, ty: Type) -> Value {
        let n = self.blocks[b].params.len() as u16;
        let v = self.values.push((ty, ValueDef::Param(b, n)));
        self.blocks[b].params.push(v);
        v
    }
    /// Removes parameter `n` of a block and the arguments that every branch passes for it.
    pub fn remove_param(&mut self, b: Block, n: usize) {
        self.blocks[b].params.remove(n);
        for (k, v) in self.blocks[b].params.clone().into_iter().enumerate() {
            self.values[v].1 = ValueDef::Param(b, k as u16);
        }
        for d in self.insts.values_mut() {
            // Instructions outside the layout may be out of date.
            for t in d.targets.iter_mut().filter(|t| t.block == b && n < t.args.len()) {
                t.args.remove(n);
            }
        }
    }
    /// Makes an instruction with results of the given types; the caller puts it into a block.
    pub fn make_inst(&mut self, mut data: InstData, results: &[Type], span: Span) -> Inst {
        let inst = self.insts.next_key();
        data.results.clear();
        for (n, ty) in results.iter().enumerate() {
            data.results.push(self.values.push((*ty, ValueDef::Result(inst, n as u16))));
        }
        let made = self.insts.push(data);
        self.spans[made] = span;
        made
    }
    /// The terminator of a block, if the block is not empty.
    pub fn terminator(&self, b: Block) -> Option<Inst> {
        self.blocks[b].insts.last().copied().filter(|i| self.insts[*i].op.is_terminator())
    }
    /// The branch targets of a block.
    pub fn successors(&self, b: Block) -> &[BlockCall] {
        self.terminator(b).map_or(&[], |t| &self.insts[t].targets)
    }
    /// Instructions in layout order with their block.
    pub fn ordered(&self) -> impl Iterator<Item = (Block, Inst)> + '_ {
        self.layout.iter().flat_map(|b| self.blocks[*b].insts.iter().map(move |i| (*b, *i)))
    }
    /// Number of instructions in the layout.
    pub fn inst_count(&self) -> usize {
        self.layout.iter().map(|b| self.blocks[*b].insts.len()).sum()
    }
    /// Where the source says what a value is: where it is computed; for a block parameter, where one of the values that arrive is, or else the
    /// code that follows.
    pub fn place_of(&self, v: Value) -> Span {
        let mut todo = vec![self.resolve(v)];
        let mut seen: Vec<Value> = Vec::new();
        while let Some(v) = todo.pop() {
            if seen.contains(&v) || seen.len() > 64 {
                continue;
            }
            seen.push(v);
            let (block, n) = match self.def(v) {
                ValueDef::Result(i, _) if !self.spans[i].is_none() => return self.spans[i],
                ValueDef::Param(block, n) => (block, n),
                _ => continue,
            };
            for b in &self.layout {
                let calls = self.successors(*b).iter().filter(|c| c.block == block);
                todo.extend(calls.filter_map(|c| c.args.get(usize::from(n))).map(|a| self.resolve(*a)));
            }
        }
        let after = match self.def(v) {
            ValueDef::Param(block, _) => self.blocks[block].insts.iter().map(|i| self.spans[*i]).find(|s| !s.is_none()),
            _ => None,
        };
        after.unwrap_or_else(|| self.place())
    }
    /// The place of the first instruction that has one.
    pub fn place(&self) -> Span {
        self.ordered().map(|(_, i)| self.spans[i]).find(|s| !s.is_none()).unwrap_or(Span::NONE)
    }
    /// Forgets the instructions and values that no block of the layout has, so that copies of the function and tables over it are small.
    /// What stays is renumbered in its order.
    pub fn compact(&mut self) {
        self.resolve_aliases();
        let (insts, values) = (std::mem::take(&mut self.insts), std::mem::take(&mut self.values));
        let spans = std::mem::take(&mut self.spans);
        let memory = std::mem::take(&mut self.memory);
        let remembers = !memory.is_empty();
        let mut kept: EntitySet<Inst> = EntitySet::with_capacity(insts.len());
        let mut named: EntitySet<Value> = EntitySet::with_capacity(values.len());
        for b in &self.layout {
            kept.extend(self.blocks[*b].insts.iter().copied());
            named.extend(self.blocks[*b].params.iter().copied());
        }
        for (i, d) in &insts {
            if kept.contains(i) {
                named.extend(d.results.iter().copied());
            }
        }
        let mut value: SecondaryMap<Value, Value> = SecondaryMap::with_default(Value::reserved_value());
        value.resize(values.len());
        for (v, data) in values {
            if named.contains(v) {
                value[v] = self.values.push(data);
            }
        }
        let mut inst: SecondaryMap<Inst, Inst> = SecondaryMap::with_default(Inst::reserved_value());
        inst.resize(insts.len());
        let count = self.inst_count();
        self.insts.reserve(count);
        self.spans.resize(count);
        for (i, mut d) in insts {
            if !kept.contains(i) {
                continue;
            }
            let new = self.insts.next_key();
            // A result keeps its type.
            let ty = d.results.first().map_or(I1, |r| self.ty(value[*r]));
            let was = if remembers { content(&d, ty, |v| self.ty(value[v])) } else { 0 };
            for v in d.args.iter_mut().chain(d.targets.iter_mut().flat_map(|t| &mut t.args)) {
                *v = value[*v];
            }
            for (n, r) in d.results.iter_mut().enumerate() {
                *r = value[*r];
                self.values[*r].1 = ValueDef::Result(new, n as u16);
            }
            if remembers {
                self.memory.renumber(&memory, i, was, content(&d, ty, |v| self.ty(v)));
            }
            inst[i] = self.insts.push(d);
            self.spans[new] = spans[i];
        }
        let mut there: EntitySet<Block> = EntitySet::with_capacity(self.blocks.len());
        there.extend(self.layout.iter().copied());
        for (b, data) in &mut self.blocks {
            if there.contains(b) {
                data.params.iter_mut().for_each(|p| *p = value[*p]);
                data.insts.iter_mut().for_each(|i| *i = inst[*i]);
            } else {
                *data = BlockData::default();
            }
        }
    }
    /// How often each value is used, by operands and branch arguments.
    pub fn use_counts(&self) -> SecondaryMap<Value, u32> {
        let mut n = SecondaryMap::new();
        n.resize(self.values.len());
        let resolve = |v: Value| if self.aliased { self.resolve(v) } else { v };
        for b in &self.layout {
            for i in &self.blocks[*b].insts {
                let d = &self.insts[*i];
                for v in &d.args {
                    n[resolve(*v)] += 1;
                }
                for v in d.targets.iter().flat_map(|t| &t.args) {
                    n[resolve(*v)] += 1;
                }
            }
        }
        n
    }
    /// All values that an instruction reads, branch arguments included.
    pub fn reads(&self, i: Inst) -> SmallVec<[Value; 8]> {
        let d = &self.insts[i];
        let mut all = SmallVec::from_slice(&d.args);
        d.targets.iter().for_each(|t| all.extend_from_slice(&t.args));
        all
    }
}

/// Follows the aliases among an instruction's operands and branch arguments.
fn resolve_all(values: &PrimaryMap<Value, (Type, ValueDef)>, d: &mut InstData) {
    let resolve = |v: &mut Value| {
        while let ValueDef::Alias(w) = values[*v].1 {
            *v = w;
        }
    };
    d.args.iter_mut().for_each(resolve);
    d.targets.iter_mut().flat_map(|t| &mut t.args).for_each(resolve);
}
