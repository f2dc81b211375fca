//! Selection: patterns from legalised IR to instructions over virtual registers, a register for each lane of a value.

use crate::isa::{self, Does, FORMS, field};
use retroshade_emit::{FieldIndex, FormId};
use retroshade_ir::{Block, Function, Imm, Inst, InstData, MemRef, Module, Opcode, Span, Type, Value};
use retroshade_lower::*;
use std::collections::HashMap;

/// An instruction: its form, registers in the order of its fields (the result first), and the other fields.
#[derive(Clone, Debug)]
pub struct MInst {
    pub form: FormId,
    pub result: Option<Reg>,
    pub sources: Vec<Reg>,
    pub values: Vec<(FieldIndex, u64)>,
}

impl MachInst for MInst {
    fn visit<V: OperandVisitor>(&mut self, v: &mut V) {
        self.sources.iter_mut().for_each(|r| v.use_reg(r));
        if let Some(r) = &mut self.result {
            v.def_reg(r);
        }
    }
    fn is_rematerialisable(&self) -> bool {
        matches!(self.form, isa::CONST | isa::UNI | isa::IN)
    }
    fn text(&self) -> String {
        let regs = self.result.iter().chain(&self.sources).map(|r| format!(" {r}"));
        let values = self.values.iter().map(|(_, v)| format!(" #{v:#x}"));
        regs.chain(values).fold(isa::TABLE.form(self.form).name.to_string(), |s, r| s + &r)
    }
}

/// The first word of every variable in its memory, by its number.
#[derive(Default)]
pub struct Memory {
    pub inputs: Vec<u32>,
    pub uniforms: Vec<u32>,
    pub outputs: Vec<u32>,
}

impl Memory {
    pub fn of(m: &Module) -> Memory {
        fn pack(sizes: impl Iterator<Item = u32>) -> Vec<u32> {
            sizes.scan(0, |at, n| Some(std::mem::replace(at, *at + n))).collect()
        }
        Memory {
            inputs: pack(m.inputs.values().map(|d| d.ty.lanes as u32)),
            uniforms: pack(m.uniforms.values().map(|u| u.units() * u.ty.lanes as u32)),
            outputs: pack(m.outputs.values().map(|d| d.ty.lanes as u32)),
        }
    }
}

/// A selection under way.
pub struct Lower<'a> {
    f: &'a Function,
    memory: Memory,
    /// One register for each lane.
    regs: HashMap<Value, Vec<Reg>>,
    blocks: HashMap<Block, usize>,
    pub code: VCode<MInst>,
    pub fired: Fired,
    at: usize,
    span: Span,
}

impl Selects for Lower<'_> {
    fn fired(&mut self) -> &mut Fired {
        &mut self.fired
    }
}

/// The forms that do an operation of the IR by themselves, from the table.
static PLAIN: [Option<FormId>; Opcode::ALL.len()] = {
    let (mut out, mut i) = ([None; Opcode::ALL.len()], 0);
    while i < FORMS.len() {
        if let Does::Op(op, ..) = FORMS[i].ext {
            out[op as usize] = Some(FormId(i as u16));
        }
        i += 1;
    }
    out
};

impl<'a> Lower<'a> {
    /// Every pattern; the first that applies wins.
    pub const PATTERNS: &'a [Pattern<Lower<'a>>] = &[
        Pattern { name: "constant", doc: "a constant, lane by lane", ops: &[Opcode::Const], apply: Self::constant },
        Pattern { name: "rename", doc: "lanes of other values: no instruction", ops: RENAMES, apply: Self::rename },
        Pattern { name: "compare", doc: "a relation as 0 or 1", ops: &[Opcode::Fcmp, Opcode::Icmp], apply: Self::compare },
        Pattern { name: "select", doc: "one of two values", ops: &[Opcode::Select], apply: Self::select },
        Pattern { name: "input", doc: "words of the inputs", ops: &[Opcode::Input], apply: Self::input },
        Pattern { name: "uniform", doc: "uniforms at a known place", ops: &[Opcode::Uniform], apply: Self::uniform },
        Pattern { name: "uniform.indexed", doc: "uniforms at a computed place", ops: &[Opcode::Uniform], apply: Self::uniform_indexed },
        Pattern { name: "output", doc: "words of the outputs", ops: &[Opcode::Output], apply: Self::output },
        Pattern { name: "jump", doc: "a jump", ops: &[Opcode::Jump], apply: Self::jump },
        Pattern { name: "branch", doc: "a jump where the condition is 0", ops: &[Opcode::BrIf], apply: Self::branch },
        Pattern { name: "halt", doc: "the end", ops: &[Opcode::Return, Opcode::Unreachable], apply: Self::halt },
        Pattern { name: "plain", doc: "an instruction of its own for each lane", ops: Opcode::ALL, apply: Self::plain },
    ];
}

/// Operations that only say where lanes come from.
const RENAMES: &[Opcode] = &[Opcode::Build, Opcode::Extract, Opcode::Splat, Opcode::Insert, Opcode::Shuffle, Opcode::Bitcast];

/// Selects a legalised module's code.
pub fn select(m: &Module) -> Result<(VCode<MInst>, Fired), CompileError> {
    let f = m.main();
    let mut l = Lower {
        f,
        memory: Memory::of(m),
        regs: HashMap::new(),
        blocks: HashMap::new(),
        code: VCode::new(),
        fired: Fired::default(),
        at: 0,
        span: Span::NONE,
    };
    for b in &f.layout {
        let n = l.code.block(0);
        l.blocks.insert(*b, n);
        for p in f.blocks[*b].params.iter() {
            let regs = l.fresh(f.ty(*p));
            l.code.blocks[n].params.extend(regs.iter().filter_map(|r| r.vreg()));
            l.regs.insert(*p, regs);
        }
    }
    let matcher = Matcher::new(Lower::PATTERNS);
    for (b, i) in f.ordered() {
        (l.at, l.span) = (l.blocks[&b], f.spans[i]);
        let op = f.insts[i].op;
        if !matcher.select(&mut l, op, i)? {
            return Err(CompileError::unsupported("Y0001", l.span, format!("this machine has no `{}`", op.name())));
        }
    }
    Ok((l.code, l.fired))
}

impl<'a> Lower<'a> {
    fn data(&self, i: Inst) -> &'a InstData {
        &self.f.insts[i]
    }
    fn fresh(&mut self, ty: Type) -> Vec<Reg> {
        (0..ty.lanes).map(|_| self.code.reg(RegClass::Int, self.span)).collect()
    }
    /// The lanes of an operand.
    fn arg(&self, i: Inst, n: usize) -> Vec<Reg> {
        self.regs[&self.f.resolve(self.data(i).args[n])].clone()
    }
    fn push(&mut self, form: FormId, result: Option<Reg>, sources: &[Reg], values: &[(FieldIndex, u64)]) {
        let inst = MInst { form, result, sources: sources.to_vec(), values: values.to_vec() };
        self.code.push(self.at, inst, self.span);
    }
    /// An instruction for each lane of the result: `make(self, lane, register)`.
    fn lanes(&mut self, i: Inst, mut make: impl FnMut(&mut Self, usize, Reg)) -> Result<bool, CompileError> {
        let Some(result) = self.f.result(i) else { return Ok(false) };
        let regs = self.fresh(self.f.ty(result));
        regs.iter().enumerate().for_each(|(k, r)| make(self, k, *r));
        self.regs.insert(result, regs);
        Ok(true)
    }
    fn load_constant(&mut self, r: Reg, bits: u32) {
        self.push(isa::CONST, Some(r), &[], &[(field!(isa::CONST.value), bits as u64)]);
    }

    fn constant(&mut self, i: Inst) -> Result<bool, CompileError> {
        let Imm::Const(bits) = self.data(i).imm else { return Ok(false) };
        self.lanes(i, |l, k, r| l.load_constant(r, bits[k]))
    }
    fn rename(&mut self, i: Inst) -> Result<bool, CompileError> {
        let Some(result) = self.f.result(i) else { return Ok(false) };
        let all: Vec<Reg> = (0..self.data(i).args.len()).flat_map(|n| self.arg(i, n)).collect();
        let lanes = self.f.ty(result).lanes as usize;
        let regs = match (self.data(i).op, &self.data(i).imm) {
            (Opcode::Build | Opcode::Bitcast, _) => all,
            (Opcode::Splat, _) => vec![all[0]; lanes],
            (Opcode::Extract, Imm::Lane(n)) => vec![all[*n as usize]],
            (Opcode::Insert, Imm::Lane(n)) => {
                let mut v = all[..lanes].to_vec();
                v[*n as usize] = all[lanes];
                v
            }
            (Opcode::Shuffle, Imm::Lanes(mask)) => mask.iter().map(|n| all[*n as usize]).collect(),
            _ => return Ok(false),
        };
        self.regs.insert(result, regs);
        Ok(true)
    }
    fn plain(&mut self, i: Inst) -> Result<bool, CompileError> {
        let Some(form) = PLAIN[self.data(i).op as usize] else { return Ok(false) };
        let args: Vec<Vec<Reg>> = (0..self.data(i).args.len()).map(|n| self.arg(i, n)).collect();
        self.lanes(i, |l, k, r| l.push(form, Some(r), &args.iter().map(|a| a[k]).collect::<Vec<Reg>>(), &[]))
    }
    fn compare(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (form, cc) = match self.data(i).imm {
            Imm::FloatCC(cc) => (isa::FTEST, (field!(isa::FTEST.cc), cc as u64)),
            Imm::IntCC(cc) => (isa::ITEST, (field!(isa::ITEST.cc), cc as u64)),
            _ => return Ok(false),
        };
        let (a, b) = (self.arg(i, 0), self.arg(i, 1));
        self.lanes(i, |l, k, r| l.push(form, Some(r), &[a[k], b[k]], &[cc]))
    }
    fn select(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (c, a, b) = (self.arg(i, 0), self.arg(i, 1), self.arg(i, 2));
        self.lanes(i, |l, k, r| l.push(isa::SEL, Some(r), &[c[k.min(c.len() - 1)], a[k], b[k]], &[]))
    }

    fn input(&mut self, i: Inst) -> Result<bool, CompileError> {
        let Imm::Mem { var: MemRef::Input(v), .. } = self.data(i).imm else { return Ok(false) };
        let first = self.memory.inputs[v.as_u32() as usize];
        self.lanes(i, |l, k, r| l.push(isa::IN, Some(r), &[], &[(field!(isa::IN.n), first as u64 + k as u64)]))
    }
    /// The place of a uniform's first lane.
    fn uniform_at(&self, i: Inst) -> Option<(u64, u32)> {
        let Imm::Mem { var: MemRef::Uniform(u), offset } = self.data(i).imm else { return None };
        let lanes = self.f.ty(self.f.result(i)?).lanes as u32;
        Some(((self.memory.uniforms[u.as_u32() as usize] + offset * lanes) as u64, lanes))
    }
    fn uniform(&mut self, i: Inst) -> Result<bool, CompileError> {
        let (Some((first, _)), true) = (self.uniform_at(i), self.data(i).args.is_empty()) else { return Ok(false) };
        self.lanes(i, |l, k, r| l.push(isa::UNI, Some(r), &[], &[(field!(isa::UNI.n), first + k as u64)]))
    }
    fn uniform_indexed(&mut self, i: Inst) -> Result<bool, CompileError> {
        let Some((first, lanes)) = self.uniform_at(i) else { return Ok(false) };
        let index = self.arg(i, 0)[0];
        let (width, at) = (self.code.reg(RegClass::Int, self.span), self.code.reg(RegClass::Int, self.span));
        self.load_constant(width, lanes);
        self.push(isa::IMUL, Some(at), &[index, width], &[]);
        self.lanes(i, |l, k, r| l.push(isa::UNIX, Some(r), &[at], &[(field!(isa::UNIX.n), first + k as u64)]))
    }
    fn output(&mut self, i: Inst) -> Result<bool, CompileError> {
        let Imm::Mem { var: MemRef::Output(v), .. } = self.data(i).imm else { return Ok(false) };
        let first = self.memory.outputs[v.as_u32() as usize] as u64;
        for (k, r) in self.arg(i, 0).into_iter().enumerate() {
            self.push(isa::OUT, None, &[r], &[(field!(isa::OUT.n), first + k as u64)]);
        }
        Ok(true)
    }

    fn jump(&mut self, i: Inst) -> Result<bool, CompileError> {
        self.push(isa::JMP, None, &[], &[]);
        self.targets(i)
    }
    fn branch(&mut self, i: Inst) -> Result<bool, CompileError> {
        let condition = self.arg(i, 0);
        self.push(isa::JZ, None, &condition, &[]);
        self.targets(i)
    }
    fn halt(&mut self, _: Inst) -> Result<bool, CompileError> {
        self.push(isa::HALT, None, &[], &[]);
        Ok(true)
    }
    fn targets(&mut self, i: Inst) -> Result<bool, CompileError> {
        for t in &self.data(i).targets {
            let lanes = t.args.iter().flat_map(|v| &self.regs[&self.f.resolve(*v)]);
            let target = Target { block: self.blocks[&t.block], args: lanes.filter_map(|r| r.vreg()).collect() };
            self.code.blocks[self.at].targets.push(target);
        }
        Ok(true)
    }
}
