//! The simulator: executes decoded words, one invocation after the other.

use crate::isa::{self, Does, TABLE, field};
use crate::select::Memory;
use retroshade_ir::interp::ops::eval;
use retroshade_ir::{FloatCC, Imm, IntCC, InvocationResult, Module, Opcode, Reference, Scalar, ShaderEnv, ShaderResult, Type};
use retroshade_lower::SimError;

/// Instructions that an invocation may execute.
const FUEL: u64 = 1 << 22;

/// The uniforms as the code addresses them: units of as many words as the type has lanes.
fn uniforms(m: &Module, env: &ShaderEnv) -> Vec<u32> {
    let places = Memory::of(m);
    let mut memory = vec![0; m.uniforms.values().map(|u| (u.units() * u.ty.lanes as u32) as usize).sum()];
    for ((n, u), words) in m.uniforms.values().enumerate().zip(&env.uniforms) {
        let lanes = u.ty.lanes as usize;
        for (k, element) in words.chunks(lanes).enumerate() {
            let unit = (u.element_offset(k as u32) / u.unit.max(1)) as usize;
            let at = places.uniforms[n] as usize + unit * lanes;
            memory[at..at + lanes].copy_from_slice(element);
        }
    }
    memory
}

/// Runs compiled code.
pub fn run(code: &[u8], m: &Module, env: &ShaderEnv) -> Result<ShaderResult, SimError> {
    let uniforms = uniforms(m, env);
    let mut result = ShaderResult::default();
    for inv in &env.invocations {
        let inputs: Vec<u32> = inv.inputs.iter().flatten().copied().collect();
        let mut words = vec![0; m.outputs.values().map(|d| d.ty.lanes as usize).sum()];
        invocation(code, &inputs, &uniforms, &mut words)?;
        let mut words = words.into_iter();
        let outputs = m.outputs.values().map(|d| words.by_ref().take(d.ty.lanes as usize).collect()).collect();
        result.invocations.push(InvocationResult { outputs, ..InvocationResult::default() });
    }
    Ok(result)
}

fn invocation(code: &[u8], inputs: &[u32], uniforms: &[u32], outputs: &mut [u32]) -> Result<(), SimError> {
    let (mut r, mut pc) = ([0u32; 64], 0usize);
    for _ in 0..FUEL {
        let fault = |message: &str| SimError::Fault { at: pc as u32, message: message.to_string() };
        let (w, size) = isa::decode(code, pc).ok_or_else(|| fault("no instruction"))?;
        let form = TABLE.form(w.form);
        let get = |name| TABLE.get(&w, name).unwrap_or(0) as usize;
        let reg = |name| r[get(name)];
        let (a, b, c, n) = (reg(field!(a)), reg(field!(b)), reg(field!(c)), get(field!(n)));
        let word = |memory: &[u32], n: usize| memory.get(n).copied().ok_or_else(|| fault("a word beyond the end of a memory"));
        let value = match (w.form, form.ext) {
            (_, Does::Op(op, from, to)) => {
                let args = [a, b, c].map(|x| [x, 0, 0, 0]);
                let types = [Type::new(from, 1); 3];
                eval(&Reference, op, &Imm::None, Type::new(to, 1), &types, &args).ok_or_else(|| fault("no such operation"))?[0]
            }
            (isa::HALT, _) => return Ok(()),
            (isa::NOP, _) => {
                pc += size;
                continue;
            }
            (isa::CONST, _) => w[field!(isa::CONST.value)] as u32,
            (isa::MOV, _) => a,
            (isa::IN, _) => word(inputs, n)?,
            (isa::UNI, _) => word(uniforms, n)?,
            (isa::UNIX, _) => word(uniforms, n + a as usize)?,
            (isa::FTEST, _) => test(Opcode::Fcmp, Imm::FloatCC(FloatCC::ALL[w[field!(isa::FTEST.cc)] as usize % FloatCC::ALL.len()]), a, b),
            (isa::ITEST, _) => test(Opcode::Icmp, Imm::IntCC(IntCC::ALL[w[field!(isa::ITEST.cc)] as usize % IntCC::ALL.len()]), a, b),
            (isa::SEL, _) => {
                if a != 0 {
                    b
                } else {
                    c
                }
            }
            (isa::OUT, _) => {
                *outputs.get_mut(n).ok_or_else(|| fault("an output beyond the last"))? = a;
                pc += size;
                continue;
            }
            (isa::JMP | isa::JZ, _) => {
                let taken = w.form == isa::JMP || a == 0;
                let to = if w.form == isa::JMP { field!(isa::JMP.to) } else { field!(isa::JZ.to) };
                let distance = form.fields().nth(to.0 as usize).map_or(0, |f| f.signed_value(w[to]));
                pc = if taken { (pc as i64 + 4 * distance) as usize } else { pc + size };
                continue;
            }
            _ => return Err(fault("an instruction that nobody executes")),
        };
        r[get(field!(d))] = value;
        pc += size;
    }
    Err(SimError::OutOfFuel(FUEL))
}

fn test(op: Opcode, imm: Imm, a: u32, b: u32) -> u32 {
    let ty = Type::new(if op == Opcode::Fcmp { Scalar::F32 } else { Scalar::I32 }, 1);
    eval(&Reference, op, &imm, Type::new(Scalar::I1, 1), &[ty; 2], &[[a, 0, 0, 0], [b, 0, 0, 0]]).map_or(0, |w| w[0])
}
