//! A fifth machine in one file: 16-bit words, sixteen vec4 registers, no memory. It keeps the interfaces honest: nothing
//! outside this file knows it, and it goes from IR text to bytes, back to text, and through a simulator.
#![allow(clippy::unwrap_used)]

use retroshade_emit::form::{Bits, Field, Form, FormId, FormTable, bits, check};
use retroshade_emit::listing::Show;
use retroshade_emit::{Layout, Reference, Rule, Word, field, field_name, form_id};
use retroshade_ir::{
    Block, FloatCC, Function, Imm, InvocationInputs, InvocationResult, MemRef, Module, Numerics, Opcode, Reference, ShaderEnv,
    ShaderResult, Span, Stage, Value, interp,
};
use retroshade_lower::structure::{StructureOptions, structurise};
use retroshade_lower::*;
use std::collections::HashMap;

const OP: [Bits; 1] = [bits(15, 12)];
const D: Field = Field::new("d", &[bits(3, 0)]);
const A: Field = Field::new("a", &[bits(7, 4)]);
const B: Field = Field::new("b", &[bits(11, 8)]);
const N: Field = Field::new("n", &[bits(11, 4)]);
const TO: Field = Field::new("to", &[bits(11, 4)]).signed();

const fn form(name: &'static str, op: u128, fields: &'static [&'static [Field]]) -> Form {
    Form { name, size: 2, spaces: 1, mask: 0xf000, bits: op << OP[0].lo, fields, refines: None, doc: "", ext: () }
}

static FORMS: &[Form] = &[
    form("add", 1, &[&[D, A, B]]),
    form("mul", 2, &[&[D, A, B]]),
    form("slt", 3, &[&[D, A, B]]),
    form("in", 4, &[&[D, N]]),
    form("uni", 5, &[&[D, N]]),
    form("out", 6, &[&[D, N]]),
    form("mov", 7, &[&[D, A]]),
    form("jz", 8, &[&[D, TO]]),
    form("jmp", 9, &[&[TO]]),
    form("halt", 0, &[]),
];
const _: () = check(FORMS);
static TABLE: FormTable = FormTable { target: "toy", spaces: &["any"], forms: FORMS };

const JZ: FormId = form_id(FORMS, "jz");
const JMP: FormId = form_id(FORMS, "jmp");

fn id(name: &str) -> FormId {
    TABLE.by_name(name).unwrap()
}

#[derive(Clone, Debug)]
enum Inst {
    Alu(&'static str, Reg, Reg, Reg),
    Read(&'static str, Reg, u64),
    Out(Reg, u64),
    JumpIfZero(Reg),
    Jump,
    Halt,
}

impl MachInst for Inst {
    fn visit(&mut self, v: &mut dyn OperandVisitor) {
        match self {
            Inst::Alu(_, d, a, b) => {
                v.use_reg(a);
                v.use_reg(b);
                v.def_reg(d);
            }
            Inst::Read(_, d, _) => v.def_reg(d),
            Inst::Out(a, _) | Inst::JumpIfZero(a) => v.use_reg(a),
            Inst::Jump | Inst::Halt => {}
        }
    }
    fn is_rematerialisable(&self) -> bool {
        matches!(self, Inst::Read(..))
    }
}

fn select(f: &Function) -> Result<VCode<Inst>, CompileError> {
    let mut code = VCode::new();
    let mut regs: HashMap<Value, Reg> = HashMap::new();
    let index: HashMap<Block, usize> = f.layout.iter().map(|b| (*b, code.block(0))).collect();
    for (v, (_, _)) in f.values.iter() {
        regs.insert(v, Reg::Virtual(code.vreg(RegClass::Vector, Span::NONE, &v.to_string())));
    }
    for b in &f.layout {
        let n = index[b];
        code.blocks[n].params = f.blocks[*b].params.iter().filter_map(|v| regs[v].vreg()).collect();
        for i in &f.blocks[*b].insts {
            let (d, span) = (&f.insts[*i], f.spans[*i]);
            let r = |k: usize| regs[&d.args[k]];
            let result = || regs[&d.results[0]];
            let inst = match (d.op, &d.imm) {
                (Opcode::Fadd, _) => Inst::Alu("add", result(), r(0), r(1)),
                (Opcode::Fmul, _) => Inst::Alu("mul", result(), r(0), r(1)),
                (Opcode::Fcmp, Imm::FloatCC(FloatCC::Olt)) => Inst::Alu("slt", result(), r(0), r(1)),
                (Opcode::Input, Imm::Mem { var: MemRef::Input(x), .. }) => Inst::Read("in", result(), x.as_u32() as u64),
                (Opcode::Uniform, Imm::Mem { var: MemRef::Uniform(x), .. }) => Inst::Read("uni", result(), x.as_u32() as u64),
                (Opcode::Output, Imm::Mem { var: MemRef::Output(x), .. }) => Inst::Out(r(0), x.as_u32() as u64),
                (Opcode::BrIf, _) => Inst::JumpIfZero(r(0)),
                (Opcode::Jump, _) => Inst::Jump,
                (Opcode::Return, _) => Inst::Halt,
                (op, _) => return Err(CompileError::unsupported("T0001", span, format!("this machine has no `{}`", op.name()))),
            };
            code.push(n, inst, span);
            for t in &d.targets {
                let args = t.args.iter().filter_map(|v| regs[v].vreg()).collect();
                code.blocks[n].targets.push(Target { block: index[&t.block], args });
            }
        }
    }
    Ok(code)
}

fn register_file() -> RegFile {
    let none = NO_CLASS;
    RegFile {
        classes: [none, none, ClassSpec { name: "r", count: 16, slot_units: 1 }],
        slots: vec![],
        inputs: vec![],
        reserved: PRegSet::default(),
        steps: Default::default(),
    }
}

fn hw(r: &Reg) -> u64 {
    match r.placed() {
        Some(PlacedReg::Reg { index, .. }) => index as u64,
        other => panic!("{other:?} on a machine without slots"),
    }
}

fn emit(vcode: &VCode<Inst>, placed: &Placed<Inst>) -> Vec<u8> {
    let mut code: Layout = Layout::new(&TABLE);
    let labels: Vec<_> = placed.blocks.iter().map(|_| code.label()).collect();
    let word = |name: &str, v: &[(&'static str, u64)]| {
        let mut w = Word::new(FORMS, id(name), &[]);
        v.iter().for_each(|(n, v)| TABLE.set(&mut w, field_name(FORMS, n), *v).unwrap());
        w
    };
    for (n, block) in placed.blocks.iter().enumerate() {
        code.bind(labels[n]);
        let mut put = |name: &str, v: &[(&'static str, u64)]| code.push(word(name, v), ());
        for i in block {
            match i {
                PlacedInst::Move { from, to, .. } => put("mov", &[("d", hw(&Reg::Placed(*to))), ("a", hw(&Reg::Placed(*from)))]),
                PlacedInst::Inst(Inst::Alu(op, d, a, b), _) => put(op, &[("d", hw(d)), ("a", hw(a)), ("b", hw(b))]),
                PlacedInst::Inst(Inst::Read(op, d, n), _) => put(op, &[("d", hw(d)), ("n", *n)]),
                PlacedInst::Inst(Inst::Out(a, n), _) => put("out", &[("d", hw(a)), ("n", *n)]),
                PlacedInst::Inst(Inst::Halt, _) => put("halt", &[]),
                PlacedInst::Inst(Inst::Jump | Inst::JumpIfZero(_), _) => {}
            }
        }
        let targets = &vcode.blocks[n].targets;
        if let Some(PlacedInst::Inst(Inst::JumpIfZero(a), _)) = block.last() {
            let to = Reference::from_here(field!(FORMS, JZ.to), labels[targets[1].block], 2);
            code.branch(word("jz", &[("d", hw(a))]), to, ());
        }
        if let Some(t) = targets.first().filter(|t| t.block != n + 1) {
            code.branch(word("jmp", &[]), Reference::from_here(field!(FORMS, JMP.to), labels[t.block], 2), ());
        }
    }
    code.finish(&Rule::NONE).unwrap().bytes
}

fn simulate(code: &[u8], env: &ShaderEnv, outputs: usize) -> ShaderResult {
    let vec4 = |w: &[u32]| std::array::from_fn::<u32, 4, _>(|k| w.get(k).copied().unwrap_or(0));
    let each =
        |op, a: [u32; 4], b: [u32; 4]| std::array::from_fn::<u32, 4, _>(|k| Reference.binary(op, retroshade_ir::Scalar::F32, a[k], b[k]));
    let mut result = ShaderResult::default();
    for inv in &env.invocations {
        let (mut r, mut pc, mut out) = ([[0u32; 4]; 16], 0usize, vec![vec![0; 4]; outputs]);
        loop {
            let word = u16::from_le_bytes([code[pc], code[pc + 1]]) as u128;
            let d = TABLE.decode(1, 2, word).unwrap();
            let f = |n: &str| TABLE.value(&d, n).unwrap() as usize;
            let jump = |at: usize| (at as i64 + 2 * TO.signed_value(f("to") as u64)) as usize;
            let mut next = pc + 2;
            match TABLE.form(d.form).name {
                "add" => r[f("d")] = each(Opcode::Fadd, r[f("a")], r[f("b")]),
                "mul" => r[f("d")] = each(Opcode::Fmul, r[f("a")], r[f("b")]),
                "slt" => r[f("d")] = std::array::from_fn(|k| (f32::from_bits(r[f("a")][k]) < f32::from_bits(r[f("b")][k])) as u32),
                "in" => r[f("d")] = vec4(&inv.inputs[f("n")]),
                "uni" => r[f("d")] = vec4(&env.uniforms[f("n")]),
                "out" => out[f("n")] = r[f("d")].to_vec(),
                "mov" => r[f("d")] = r[f("a")],
                "jz" if r[f("d")][0] == 0 => next = jump(pc),
                "jz" => {}
                "jmp" => next = jump(pc),
                _ => break,
            }
            pc = next;
        }
        result.invocations.push(InvocationResult { outputs: out, ..Default::default() });
    }
    result
}

const LOOP: &str = r#"
shader vertex "doubling"
input %x : f32x4 @location(0)
input %limit : f32 @location(1)
uniform %k : f32x4 @binding(0)
output %y : f32x4 @location(0)
block0:
    v0 = input.f32x4 %x
    v1 = input.f32 %limit
    v2 = uniform.f32x4 %k
    v3 = fmul v1, v1
    jump block1(v0, v3, v2)
block1(v4: f32x4, v5: f32, v6: f32x4):
    v7 = fadd v4, v6
    v8 = fadd v5, v5
    v9 = fcmp olt v8, v1
    br_if v9, block1(v6, v8, v7), block2
block2:
    v10 = fmul v7, v4
    output %y, v10
    return
"#;

#[test]
fn from_text_to_bytes_and_back() {
    let mut module: Module = retroshade_ir::parse("toy.ir", LOOP).unwrap_or_else(|e| panic!("{:?}", e.diagnostics));
    assert_eq!(module.stage, Stage::Vertex);
    structurise(module.main_mut(), StructureOptions::default()).unwrap();
    let vcode = select(module.main()).unwrap();
    let placed = place(&vcode, &register_file(), &AllocOptions { check: true, ..Default::default() }, "T0002").unwrap();
    let code = emit(&vcode, &placed);
    for w in code.chunks(2) {
        let word = u16::from_le_bytes([w[0], w[1]]) as u128;
        let d = TABLE.decode(1, 2, word).unwrap();
        let again = TABLE.parse_listing(&TABLE.listing(&d, Show::All)).unwrap();
        assert_eq!(TABLE.encode_values(again.form, &again.values).unwrap(), word);
    }
    let lane = |x: f32, l: f32| InvocationInputs { inputs: vec![[x, 2.0, 3.0, 4.0].map(f32::to_bits).to_vec(), vec![l.to_bits()]] };
    let env = ShaderEnv {
        invocations: vec![lane(1.0, 0.25), lane(-3.0, 0.001), lane(0.5, 7.0)],
        uniforms: vec![[0.5f32, -1.0, 2.0, 8.0].map(f32::to_bits).to_vec()],
        ..Default::default()
    };
    let want = interp::run(&module, &env, &Reference).unwrap();
    let got = simulate(&code, &env, 1);
    assert_eq!(want.invocations, got.invocations);
    assert_ne!(got.invocations[0].outputs, got.invocations[1].outputs, "the loop runs differently in different lanes");
}

#[test]
fn what_the_machine_lacks_is_named() {
    let module =
        retroshade_ir::parse("toy.ir", &LOOP.replace("fadd v5, v5", "fsub v5, v5")).unwrap_or_else(|e| panic!("{:?}", e.diagnostics));
    let e = select(module.main()).unwrap_err();
    assert_eq!((e.to_string().as_str(), e.exit_status()), ("error[T0001]: this machine has no `fsub`", 1));
    assert!(!e.diagnostics()[0].span.is_none(), "the error points at the source");
}
