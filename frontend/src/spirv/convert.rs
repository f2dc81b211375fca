//! The translation of one entry point: its state, and small helpers for building.

use super::binary::{Binary, Id, R, malformed};
use super::flow::Flow;
use super::keep::Copies;
use super::kills::end_before_loops;
use super::place::{ArrayKey, Mem, Root, Slot, UniformTree};
use super::storage::StorageBuffer;
use super::storage_image::{Texel, Texels};
use super::types::{Ty, Types};
use super::used::Used;
use super::value::{Lane, Val, trace_lane};
use super::{Facts, consts::Const};
use crate::ssa::{Ssa, Var, clean};
use retroshade_ir::inst::{Imm, InstData, MemRef};
use retroshade_ir::types::{I32, Type};
use retroshade_ir::{Block, Builder, Diagnostic, Function, Module, Opcode, Shared, Span, Stage, Storage, Uniform, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A function being translated in place.
pub(crate) struct Frame {
    /// The function.
    pub(crate) function: Id,
    /// Values of its ids so far.
    pub(crate) vals: FxHashMap<Id, Val>,
    /// Where a return goes.
    pub(crate) exit: Block,
    /// Receives the returned value.
    pub(crate) result: Option<u32>,
    /// Loops around its call.
    pub(crate) base_loops: u32,
}

/// The state of a translation.
pub(crate) struct Converter<'m> {
    pub(crate) b: &'m Binary<'m>,
    pub(crate) types: &'m Types,
    pub(crate) consts: &'m FxHashMap<Id, Const>,
    pub(crate) facts: &'m Facts<'m>,
    pub(crate) out: Module,
    pub(crate) ssa: Ssa,
    pub(crate) cur: Option<Block>,
    pub(crate) span: Span,
    /// The word of the instruction being translated.
    pub(crate) at: usize,
    pub(crate) slots: Vec<Slot>,
    /// Variables of the module: where they are, and their shapes.
    pub(crate) globals: FxHashMap<Id, (Root, Ty)>,
    /// What the entry uses.
    pub(crate) used: &'m Used,
    /// Values behind pointers to what never changes.
    pub(crate) held: Vec<Val>,
    pub(crate) uniforms: FxHashMap<Id, Rc<UniformTree>>,
    pub(crate) storage: FxHashMap<Id, StorageBuffer>,
    /// Textures by variable and number; by sampler, if it is known.
    pub(crate) textures: Vec<super::image::Declared>,
    /// Bindings of variables that hold resources or buffers.
    pub(crate) bindings: FxHashMap<Id, (u32, u32)>,
    /// The binding of the block of loose uniforms.
    pub(crate) default_binding: u32,
    pub(crate) frames: Vec<Frame>,
    pub(crate) flows: FxHashMap<Id, Rc<Flow>>,
    /// Arrays that live in memory in this attempt.
    pub(crate) demand: &'m BTreeSet<ArrayKey>,
    /// Arrays that should have.
    pub(crate) wanted: BTreeSet<ArrayKey>,
    pub(crate) diags: Vec<Diagnostic>,
    pub(crate) constants: FxHashMap<(Block, Type, [u32; 4]), Value>,
    /// IR arrays for constant tables that are indexed by computed values, by content.
    pub(crate) tables: FxHashMap<Vec<(Type, [u32; 4])>, Rc<Mem>>,
    /// Outputs in the order of declaration: the variable's slot, its leaf, the IR's output and element.
    pub(crate) outputs: Vec<(Var, MemRef, u32)>,
    /// Outputs whose lanes are several of the source's: the output, its type, and the first lane of each.
    pub(crate) packed: Vec<(MemRef, Type, Vec<(Var, u8)>)>,
    /// Outputs whose computation must not vary between programs.
    pub(crate) invariant: BTreeSet<u32>,
    /// Instructions that go to the very beginning: they fill constant tables.
    pub(crate) prelude: Vec<retroshade_ir::Inst>,
    /// Functions that stay functions, translated when first called.
    pub(crate) kept: FxHashMap<Id, Copies>,
    /// Loops around the current block, in all functions.
    pub(crate) loops: u32,
    /// Discards that stand for the end of an invocation.
    pub(crate) discards: Vec<retroshade_ir::Inst>,
    /// Whether the instruction being translated forbids contraction.
    pub(crate) precise: bool,
    /// Uniforms that the source declares in relaxed precision.
    pub(crate) relaxed: FxHashSet<Uniform>,
    /// Storage and buffer textures by variable and number.
    pub(crate) texels: FxHashMap<(Id, u32), Texels>,
    /// Texels that atomics point to.
    pub(crate) texel_places: Vec<Texel>,
    /// The binding of what the source has and the machines have not, and the bytes of it so far.
    pub(crate) extra: (u32, u32),
    /// Workgroup memory that is laid out as the source says: all such blocks are the same memory.
    pub(crate) shared_block: Option<Shared>,
    /// Storage buffers by group and binding.
    pub(crate) buffers: FxHashMap<(u32, u32), Storage>,
    /// Gates of open constructs.
    pub(crate) gates: Vec<super::func::Open>,
}

/// More instructions or blocks than this come out of no sensible shader: inlining multiplied without bound.
const MAX_INSTS: usize = 150_000;

impl<'m> Converter<'m> {
    /// A converter with an empty module.
    pub(crate) fn new(
        b: &'m Binary<'m>,
        consts: &'m FxHashMap<Id, Const>,
        facts: &'m Facts<'m>,
        used: &'m Used,
        name: &str,
        stage: Stage,
        demand: &'m BTreeSet<ArrayKey>,
    ) -> Converter<'m> {
        Converter {
            b,
            types: &b.types,
            consts,
            facts,
            out: Module::new(&super::binary::name(name), stage),
            ssa: Ssa::default(),
            cur: None,
            span: Span::NONE,
            at: 0,
            slots: Vec::new(),
            globals: Default::default(),
            used,
            held: Vec::new(),
            uniforms: Default::default(),
            storage: Default::default(),
            textures: Vec::new(),
            bindings: Default::default(),
            default_binding: 0,
            frames: Vec::new(),
            flows: Default::default(),
            demand,
            wanted: BTreeSet::new(),
            diags: Vec::new(),
            constants: Default::default(),
            tables: Default::default(),
            outputs: Vec::new(),
            packed: Vec::new(),
            invariant: BTreeSet::new(),
            prelude: Vec::new(),
            kept: Default::default(),
            loops: 0,
            discards: Vec::new(),
            precise: false,
            relaxed: Default::default(),
            texels: Default::default(),
            texel_places: Vec::new(),
            extra: (0, 0),
            shared_block: None,
            buffers: Default::default(),
            gates: Vec::new(),
        }
    }

    /// Keeps a value that a pointer leads to.
    pub(crate) fn hold(&mut self, v: Val) -> u32 {
        self.held.push(v);
        self.held.len() as u32 - 1
    }

    /// Sets what is held.
    pub(crate) fn set_held(&mut self, n: u32, v: Val) -> R<()> {
        if v.is_pointer_to_held() {
            // It might lead back to where it is put.
            return Err(malformed(self.at, "a pointer is stored"));
        }
        self.held[n as usize] = v;
        Ok(())
    }

    /// The function under construction.
    pub(crate) fn func(&mut self) -> &mut Function {
        let e = self.out.entry;
        &mut self.out.functions[e]
    }

    /// The current block; an unreachable one where control has ended.
    pub(crate) fn block(&mut self) -> Block {
        match self.cur {
            Some(b) => b,
            None => {
                let b = self.new_block();
                self.start(b);
                self.seal(b);
                b
            }
        }
    }

    /// A builder at the end of the current block.
    pub(crate) fn b(&mut self) -> Builder<'_> {
        let (block, span, precise) = (self.block(), self.span, self.precise);
        let mut b = Builder::new(self.func(), block);
        b.span = span;
        b.precise = precise;
        b
    }

    /// A block that is not in the layout yet.
    pub(crate) fn new_block(&mut self) -> Block {
        self.func().blocks.push(Default::default())
    }

    /// Goes on in a block, which takes its place in the layout now.
    pub(crate) fn start(&mut self, b: Block) {
        self.func().layout.push(b);
        self.cur = Some(b);
    }

    /// All predecessors of a block are known.
    pub(crate) fn seal(&mut self, b: Block) {
        let e = self.out.entry;
        self.ssa.seal(&mut self.out.functions[e], b);
    }

    /// Ends the block with a branch: where to if the condition holds, where to if not, each with its arguments.
    pub(crate) fn jump_if(&mut self, c: Value, yes: (Block, &[Value]), no: (Block, &[Value])) {
        let from = self.block();
        for (to, _) in [yes, no] {
            self.ssa.edge(from, to);
        }
        self.b().br_if(c, yes, no);
        self.cur = None;
    }

    /// Ends the current block with a jump; nothing happens where control has ended.
    pub(crate) fn jump(&mut self, to: Block) {
        if let Some(from) = self.cur.take() {
            self.ssa.edge(from, to);
            let span = self.span;
            let mut b = Builder::new(self.func(), from);
            b.span = span;
            b.jump(to, &[]);
        }
    }

    /// An error at the current place.
    pub(crate) fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.span, message)
    }

    /// An error about too much of something.
    pub(crate) fn limit(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error("L0101", self.span, message)
    }

    /// Stops a translation that grows without bound.
    pub(crate) fn check_fuel(&mut self) -> R<()> {
        if self.func().insts.len() > MAX_INSTS || self.func().blocks.len() > MAX_INSTS || self.func().values.len() > 8 * MAX_INSTS {
            return Err(self.limit(format!("the shader has more than {MAX_INSTS} instructions after its functions are inlined")));
        }
        Ok(())
    }

    /// The IR type of a leaf.
    pub(crate) fn ir_ty(&self, ty: Ty) -> R<Type> {
        ty.ir().map_err(|m| self.error("F0114", m))
    }

    /// The current value of an SSA variable.
    pub(crate) fn read_var(&mut self, v: Var) -> Value {
        let b = self.block();
        let e = self.out.entry;
        self.ssa.read(&mut self.out.functions[e], b, v)
    }

    /// Sets an SSA variable.
    pub(crate) fn write_var(&mut self, v: Var, x: Value) {
        let b = self.block();
        self.ssa.write(b, v, x);
    }

    /// A constant, made once per block.
    pub(crate) fn constant(&mut self, ty: Type, bits: [u32; 4]) -> Value {
        let key = (self.block(), ty, bits);
        if let Some(v) = self.constants.get(&key) {
            return *v;
        }
        let v = self.b().constant(ty, bits);
        self.constants.insert(key, v);
        v
    }

    /// The same bits in every lane.
    pub(crate) fn splat_const(&mut self, ty: Type, bits: u32) -> Value {
        let mut all = [0; 4];
        all[..ty.lanes as usize].fill(bits);
        self.constant(ty, all)
    }

    /// An integer constant.
    pub(crate) fn iconst(&mut self, n: u32) -> Value {
        self.splat_const(I32, n)
    }

    /// A float constant in every lane of `ty`.
    pub(crate) fn fconst(&mut self, ty: Type, x: f32) -> Value {
        self.splat_const(ty, retroshade_ir::numerics::from_f32(ty.scalar, x))
    }

    /// An undefined value.
    pub(crate) fn undef(&mut self, ty: Type) -> Value {
        let e = self.out.entry;
        self.ssa.undef(&mut self.out.functions[e], ty)
    }

    /// An undefined value of any shape.
    pub(crate) fn undef_of(&mut self, ty: Ty) -> R<Val> {
        self.fill(ty, None)
    }

    /// A value of any shape with the same bits everywhere, or undefined.
    pub(crate) fn fill(&mut self, ty: Ty, bits: Option<u32>) -> R<Val> {
        if ty.is_leaf() {
            let t = self.ir_ty(ty)?;
            return Ok(Val::Leaf(match bits {
                Some(b) => self.splat_const(t, b),
                None => self.undef(t),
            }));
        }
        self.value_limit(ty.leaves(self.types))?;
        if matches!(ty, Ty::Opaque | Ty::Void | Ty::Resource(_)) {
            return Err(self.error("F0114", "a value of this type cannot be held in registers"));
        }
        let mut parts = Vec::new();
        for i in 0..ty.len(self.types) {
            parts.push(self.fill(ty.child(self.types, i), bits)?);
        }
        Ok(Val::agg(parts))
    }

    /// The IR value of a scalar or vector.
    pub(crate) fn leaf(&mut self, v: &Val) -> R<Value> {
        match self.force(v)? {
            Val::Leaf(v) => Ok(v),
            _ => Err(self.error("F0115", "a scalar or vector is needed here")),
        }
    }

    /// A lane of a vector, as simply as possible.
    pub(crate) fn lane(&mut self, v: Value, n: u8) -> Value {
        let ty = self.func().ty(v);
        if !ty.is_vector() {
            return v;
        }
        match trace_lane(self.func(), v, n) {
            Lane::Scalar(s) => s,
            Lane::Bits(bits) => self.constant(ty.lane(), [bits, 0, 0, 0]),
            Lane::Undef => self.undef(ty.lane()),
            Lane::Of(w, k) => self.b().extract(w, k),
        }
    }

    /// All lanes of a scalar or vector.
    pub(crate) fn lanes(&mut self, v: Value) -> Vec<Value> {
        (0..self.func().ty(v).lanes).map(|n| self.lane(v, n)).collect()
    }

    /// A vector of scalars: a constant, a splat, a vector that already exists, a shuffle of one, or a new one.
    pub(crate) fn vector(&mut self, lanes: &[Value]) -> Value {
        if let [one] = lanes {
            return *one;
        }
        let traced: Vec<Lane> = lanes.iter().map(|v| trace_lane(self.func(), *v, 0)).collect();
        let ty = self.func().ty(lanes[0]).with_lanes(lanes.len() as u8);
        if traced.iter().all(|l| matches!(l, Lane::Bits(_) | Lane::Undef)) && traced.iter().any(|l| matches!(l, Lane::Bits(_))) {
            let mut bits = [0; 4];
            for (b, l) in bits.iter_mut().zip(&traced) {
                *b = if let Lane::Bits(x) = l { *x } else { 0 };
            }
            return self.constant(ty, bits);
        }
        if let Lane::Of(source, _) = traced[0] {
            let mask: Vec<u8> =
                traced.iter().filter_map(|l| if let Lane::Of(w, n) = l { (*w == source).then_some(*n) } else { None }).collect();
            if mask.len() == lanes.len() {
                let same = self.func().ty(source).lanes as usize == mask.len() && mask.iter().enumerate().all(|(i, n)| i == *n as usize);
                return if same { source } else { self.b().shuffle(source, source, &mask) };
            }
        }
        if traced.iter().all(|l| *l == traced[0]) && matches!(traced[0], Lane::Scalar(_)) {
            return self.b().splat(lanes[0], lanes.len() as u8);
        }
        self.b().build(lanes)
    }

    /// A scalar in every lane.
    pub(crate) fn splat(&mut self, v: Value, lanes: u8) -> Value {
        if lanes == 1 || self.func().ty(v).is_vector() {
            return v;
        }
        match trace_lane(self.func(), v, 0) {
            Lane::Bits(bits) => {
                let ty = self.func().ty(v).with_lanes(lanes);
                self.splat_const(ty, bits)
            }
            _ => self.b().splat(v, lanes),
        }
    }

    /// A vector's lanes in another order.
    pub(crate) fn swizzle(&mut self, v: Value, pattern: &[u8]) -> Value {
        if !self.func().ty(v).is_vector() {
            return self.splat(v, pattern.len() as u8);
        }
        if let [one] = pattern {
            return self.lane(v, *one);
        }
        let known = pattern.iter().all(|n| !matches!(trace_lane(self.func(), v, *n), Lane::Of(..)));
        let plain = pattern.iter().all(|n| trace_lane(self.func(), v, *n) == Lane::Of(self.func().resolve(v), *n));
        if !known && !plain {
            // Some lanes come from elsewhere: shuffle the one source if there is only one, else build.
            let sources: Vec<Lane> = pattern.iter().map(|n| trace_lane(self.func(), v, *n)).collect();
            if let Lane::Of(w, _) = sources[0] {
                let mask: Vec<u8> =
                    sources.iter().filter_map(|l| if let Lane::Of(x, n) = l { (*x == w).then_some(*n) } else { None }).collect();
                if mask.len() == pattern.len() {
                    return self.shuffle_one(w, &mask);
                }
            }
            let lanes: Vec<Value> = pattern.iter().map(|n| self.lane(v, *n)).collect();
            return self.vector(&lanes);
        }
        if known {
            let lanes: Vec<Value> = pattern.iter().map(|n| self.lane(v, *n)).collect();
            return self.vector(&lanes);
        }
        self.shuffle_one(v, pattern)
    }

    fn shuffle_one(&mut self, v: Value, mask: &[u8]) -> Value {
        let same = self.func().ty(v).lanes as usize == mask.len() && mask.iter().enumerate().all(|(i, n)| i == *n as usize);
        if same { v } else { self.b().shuffle(v, v, mask) }
    }

    /// A vector with one lane replaced; becomes a fresh vector where all lanes are known.
    pub(crate) fn insert_lane(&mut self, v: Value, x: Value, n: u8) -> Value {
        let ty = self.func().ty(v);
        if !ty.is_vector() {
            return x;
        }
        let others: Vec<Lane> = (0..ty.lanes).filter(|k| *k != n).map(|k| trace_lane(self.func(), v, k)).collect();
        if others.iter().all(|l| matches!(l, Lane::Scalar(_) | Lane::Bits(_)))
            || others.iter().all(|l| !matches!(l, Lane::Undef)) && !others.iter().any(|l| matches!(l, Lane::Of(w, _) if *w == v))
        {
            let lanes: Vec<Value> = (0..ty.lanes).map(|k| if k == n { x } else { self.lane(v, k) }).collect();
            return self.vector(&lanes);
        }
        self.b().insert(v, x, n)
    }

    /// The constant behind a value, if it is one.
    pub(crate) fn known(&mut self, v: Value) -> Option<u32> {
        match trace_lane(self.func(), v, 0) {
            Lane::Bits(b) if !self.func().ty(v).is_vector() => Some(b),
            _ => None,
        }
    }

    /// Whether every lane of a value is the constant `bits`.
    pub(crate) fn is_const(&mut self, v: Value, bits: u32) -> bool {
        (0..self.func().ty(v).lanes).all(|n| trace_lane(self.func(), v, n) == Lane::Bits(bits))
    }

    pub(crate) fn finish(&mut self) {
        let prelude = std::mem::take(&mut self.prelude);
        let f = self.func();
        let entry = f.layout[0];
        f.blocks[entry].insts.splice(0..0, prelude);
        // Blocks that were begun but never ended cannot be reached.
        for b in f.layout.clone() {
            if f.terminator(b).is_none() {
                let i = f.make_inst(InstData::new(Opcode::Unreachable, &[], Imm::None), &[], Span::NONE);
                f.blocks[b].insts.push(i);
            }
        }
        clean(f);
    }
}

impl Converter<'_> {
    /// Translates an entry point; what arrays should have been in memory is left in `wanted`.
    pub(crate) fn run(&mut self, entry: Id, globals: &[super::binary::Global], used: &Used, functions: bool) -> R<()> {
        let first = self.new_block();
        self.start(first);
        self.seal(first);
        self.declare_globals(globals, used)?;
        self.declare_surface(globals);
        self.first_values(globals)?;
        if functions {
            self.choose_kept();
        }
        let exit = self.new_block();
        self.function(entry, Vec::new(), exit, None)?;
        if self.ssa.has_preds(exit) {
            self.seal(exit);
            self.start(exit);
            self.span = Span::NONE;
            if self.out.stage != Stage::Geometry {
                self.write_outputs();
            }
            self.b().ret(&[]);
        }
        self.cur = None;
        self.finish();
        end_before_loops(&mut self.out, &self.discards);
        Ok(())
    }
}
