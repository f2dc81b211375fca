//! Building a function: appends instructions to a current block and infers their types.

use crate::diag::Span;
use crate::entities::*;
use crate::function::Function;
use crate::inst::{BlockCall, FloatCC, Imm, InstData, IntCC, MemRef, TexInfo};
use crate::opcode::Opcode;
use crate::types::{F32, I1, I32, Type};
use smallvec::SmallVec;

/// Appends instructions to a block of a function.
#[derive(Debug)]
pub struct Builder<'a> {
    /// The function under construction.
    pub func: &'a mut Function,
    /// Where instructions go.
    pub block: Block,
    /// The location given to new instructions.
    pub span: Span,
    /// Whether new instructions forbid contraction and rewriting.
    pub precise: bool,
    /// Whether new instructions may be computed in relaxed precision, as far as they give numbers.
    pub relaxed: bool,
}

impl<'a> Builder<'a> {
    /// Starts at the end of `block`.
    pub fn new(func: &'a mut Function, block: Block) -> Builder<'a> {
        Builder { func, block, span: Span::NONE, precise: false, relaxed: false }
    }
    /// Goes on at the end of another block.
    pub fn switch_to(&mut self, block: Block) {
        self.block = block;
    }
    /// Appends any instruction; the result types are given.
    pub fn push(&mut self, mut data: InstData, results: &[Type]) -> Inst {
        data.precise |= self.precise;
        data.relaxed |= self.relaxed && data.op != Opcode::Const && results.first().is_some_and(|t| t.is_number());
        let i = self.func.make_inst(data, results, self.span);
        self.func.blocks[self.block].insts.push(i);
        i
    }
    /// Appends an instruction with one result of a given type.
    pub fn typed(&mut self, op: Opcode, ty: Type, args: &[Value], imm: Imm) -> Value {
        let i = self.push(InstData::new(op, args, imm), &[ty]);
        self.func.insts[i].results[0]
    }
    /// Appends an instruction whose result type follows from its operands.
    pub fn ins(&mut self, op: Opcode, args: &[Value]) -> Value {
        self.ins_imm(op, args, Imm::None)
    }
    /// As [`Builder::ins`], with immediate data.
    pub fn ins_imm(&mut self, op: Opcode, args: &[Value], imm: Imm) -> Value {
        let types: SmallVec<[Type; 4]> = args.iter().map(|v| self.func.ty(*v)).collect();
        let mask_len = if let Imm::Lanes(m) = &imm { m.len() } else { 0 };
        let ty = op.infer(&types, mask_len).unwrap_or(I1);
        self.typed(op, ty, args, imm)
    }
    /// A constant with the given bits per lane.
    pub fn constant(&mut self, ty: Type, bits: [u32; 4]) -> Value {
        self.typed(Opcode::Const, ty, &[], Imm::Const(bits))
    }
    /// A constant with the same bits in every lane.
    pub fn splat_const(&mut self, ty: Type, bits: u32) -> Value {
        let mut b = [0; 4];
        b[..ty.lanes as usize].fill(bits);
        self.constant(ty, b)
    }
    /// A float constant in every lane of `ty`.
    pub fn fconst(&mut self, ty: Type, x: f32) -> Value {
        self.splat_const(ty, crate::numerics::from_f32(ty.scalar, x))
    }
    /// An integer constant in every lane of `ty`.
    pub fn iconst(&mut self, ty: Type, x: u32) -> Value {
        self.splat_const(ty, x)
    }
    /// A float comparison.
    pub fn fcmp(&mut self, cc: FloatCC, a: Value, b: Value) -> Value {
        self.ins_imm(Opcode::Fcmp, &[a, b], Imm::FloatCC(cc))
    }
    /// An integer comparison.
    pub fn icmp(&mut self, cc: IntCC, a: Value, b: Value) -> Value {
        self.ins_imm(Opcode::Icmp, &[a, b], Imm::IntCC(cc))
    }
    /// `select`.
    pub fn select(&mut self, c: Value, a: Value, b: Value) -> Value {
        self.ins(Opcode::Select, &[c, a, b])
    }
    /// One lane of a vector; the value itself if it is a scalar.
    pub fn extract(&mut self, v: Value, lane: u8) -> Value {
        if !self.func.ty(v).is_vector() {
            return v;
        }
        self.ins_imm(Opcode::Extract, &[v], Imm::Lane(lane))
    }
    /// A vector with one lane replaced.
    pub fn insert(&mut self, v: Value, x: Value, lane: u8) -> Value {
        self.ins_imm(Opcode::Insert, &[v, x], Imm::Lane(lane))
    }
    /// A vector of scalars; a single scalar is returned as it is.
    pub fn build(&mut self, lanes: &[Value]) -> Value {
        if lanes.len() == 1 {
            return lanes[0];
        }
        self.ins(Opcode::Build, lanes)
    }
    /// A vector whose lanes are all `v`.
    pub fn splat(&mut self, v: Value, lanes: u8) -> Value {
        if lanes == 1 {
            return v;
        }
        let ty = self.func.ty(v).with_lanes(lanes);
        self.typed(Opcode::Splat, ty, &[v], Imm::None)
    }
    /// Lanes of two vectors by mask.
    pub fn shuffle(&mut self, a: Value, b: Value, mask: &[u8]) -> Value {
        self.ins_imm(Opcode::Shuffle, &[a, b], Imm::Lanes(mask.into()))
    }
    /// The corner between the four texels that a gather reads, in texels: `floor(coord × size − ½) + beyond`, where `beyond` is 1 and
    /// the gather's offset. A gather at that corner reads the same texels without the offset.
    pub fn gather_corner(&mut self, coord: Value, size: Value, beyond: Value) -> Value {
        let texels = self.ins(Opcode::Fmul, &[coord, size]);
        let half = self.fconst(self.func.ty(texels), -0.5);
        let low = self.ins(Opcode::Fadd, &[texels, half]);
        let low = self.ins(Opcode::Ffloor, &[low]);
        self.ins(Opcode::Fadd, &[low, beyond])
    }
    /// Loads from a variable: `input`, `uniform`, `local_load`, `shared_load` or `storage_load` by its kind.
    pub fn load(&mut self, ty: Type, var: MemRef, offset: u32, index: Option<Value>) -> Value {
        let op = match var {
            MemRef::Input(_) => Opcode::Input,
            MemRef::Output(_) | MemRef::Uniform(_) => Opcode::Uniform,
            MemRef::Local(_) => Opcode::LocalLoad,
            MemRef::Shared(_) => Opcode::SharedLoad,
            MemRef::Storage(_) => Opcode::StorageLoad,
        };
        self.typed(op, ty, index.as_slice(), Imm::Mem { var, offset })
    }
    /// Stores to a variable: `output`, `local_store`, `shared_store` or `storage_store` by its kind.
    pub fn store(&mut self, var: MemRef, offset: u32, value: Value, index: Option<Value>) -> Inst {
        let op = match var {
            MemRef::Local(_) => Opcode::LocalStore,
            MemRef::Shared(_) => Opcode::SharedStore,
            MemRef::Storage(_) => Opcode::StorageStore,
            _ => Opcode::Output,
        };
        let mut args: SmallVec<[Value; 2]> = SmallVec::new();
        args.push(value);
        args.extend(index);
        self.push(InstData::new(op, &args, Imm::Mem { var, offset }), &[])
    }
    /// A texture operation.
    pub fn tex(&mut self, ty: Type, info: TexInfo, args: &[Value]) -> Value {
        self.typed(Opcode::Tex, ty, args, Imm::Tex(Box::new(info)))
    }
    /// The array layer that a float coordinate names: the nearest whole number, halves upwards (GLSL: `floor(z + 0.5)`).
    /// What samples clamps it to the layers.
    pub fn array_layer(&mut self, z: Value) -> Value {
        // A layer that was an integer before needs no rounding.
        if let Some(d) = self.func.def_if(z, Opcode::S2f) {
            let layer = self.func.resolve(d.args[0]);
            if self.func.ty(layer) == I32 {
                return layer;
            }
        }
        let half = self.fconst(F32, 0.5);
        let sum = self.ins(Opcode::Fadd, &[z, half]);
        let floor = self.ins(Opcode::Ffloor, &[sum]);
        self.typed(Opcode::F2s, I32, &[floor], Imm::None)
    }
    /// An instruction without results.
    pub fn effect(&mut self, op: Opcode, args: &[Value], imm: Imm) -> Inst {
        self.push(InstData::new(op, args, imm), &[])
    }
    /// `jump`.
    pub fn jump(&mut self, block: Block, args: &[Value]) -> Inst {
        self.branch(Opcode::Jump, &[], Imm::None, &[(block, args)])
    }
    /// `br_if`.
    pub fn br_if(&mut self, cond: Value, then: (Block, &[Value]), other: (Block, &[Value])) -> Inst {
        self.branch(Opcode::BrIf, &[cond], Imm::None, &[then, other])
    }
    /// `switch`: the default target comes last.
    pub fn switch(&mut self, value: Value, cases: &[u32], targets: &[(Block, &[Value])]) -> Inst {
        self.branch(Opcode::Switch, &[value], Imm::Cases(cases.into()), targets)
    }
    /// `return`.
    pub fn ret(&mut self, results: &[Value]) -> Inst {
        self.branch(Opcode::Return, results, Imm::None, &[])
    }
    /// Any terminator.
    pub fn branch(&mut self, op: Opcode, args: &[Value], imm: Imm, targets: &[(Block, &[Value])]) -> Inst {
        let mut data = InstData::new(op, args, imm);
        data.targets = targets.iter().map(|(b, a)| BlockCall { block: *b, args: (*a).into() }).collect();
        self.push(data, &[])
    }
}
