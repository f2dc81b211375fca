//! What the words of a container do to registers, flags and outputs, for the validator.
//!
//! Facts: ISA sheet sections 3 to 7 (which components an instruction looks at), 10 and 11 (MOVA, outputs written once), 12 (EMIT) and 14 (what the tables fill). A word is a step once for each set of blocks, calls and loops that can be open around it.

use crate::container::{Constant, Executable, Shbin, numbering};
use crate::isa::dis::decode_all;
use crate::isa::flow::places;
use crate::isa::forms::Op;
use crate::isa::lint::configured;
use crate::isa::registers::{COMPONENTS, Index, Reg};
use crate::isa::word::{CondOp, Instr};
use retroshade_ir::Module;
use retroshade_lower::TextError;
use retroshade_lower::validate::{Fact, Facts, Program, Step, has_unreachable};

/// First component of the temporaries, inputs and outputs.
const TEMPORARY: Fact = 0;
const INPUT: Fact = 64;
const OUTPUT: Fact = 128;
/// Float, integer and boolean uniforms.
const FLOAT: Fact = 192;
const INTEGER: Fact = FLOAT + 96;
const BOOLEAN: Fact = INTEGER + 4;
/// a0.x, a0.y, aL.
const ADDRESS: Fact = BOOLEAN + 16;
/// cmp.x, cmp.y.
const FLAG: Fact = ADDRESS + 3;
/// The word before is MOVA (pending).
const MOVA: Fact = FLAG + 2;
const ALL: usize = MOVA as usize + 1;

/// A fact's name.
fn name(f: Fact) -> String {
    let component = |bank: &str, n: Fact| format!("{bank}{}.{}", n / 4, COMPONENTS[usize::from(n & 3)]);
    match f {
        MOVA.. => "MOVA".to_string(),
        FLAG.. => format!("cmp.{}", COMPONENTS[usize::from(f - FLAG)]),
        ADDRESS.. => ["a0.x", "a0.y", "aL"][usize::from(f - ADDRESS)].to_string(),
        BOOLEAN.. => format!("b{}", f - BOOLEAN),
        INTEGER.. => format!("i{}", f - INTEGER),
        FLOAT.. => format!("c{}", f - FLOAT),
        OUTPUT.. => component("o", f - OUTPUT),
        INPUT.. => component("v", f - INPUT),
        TEMPORARY.. => component("r", f),
    }
}

/// The programs of a container; `legal` is what the code was made of: on ways that are never gone outputs need not be written.
pub fn programs(bin: &Shbin, legal: &Module) -> Result<Vec<Program>, TextError> {
    let code = decode_all(bin)?;
    Ok(bin.executables.iter().map(|e| program(e, &code, legal)).collect())
}

fn program(e: &Executable, code: &[Instr], legal: &Module) -> Program {
    let title = if e.geometry { "geometry program" } else { "" };
    let mut p = Program::new(title, ALL, name);
    let Some(all) = places(code, e.entry as usize, &e.constants) else {
        // Not a fault of the program: nothing is said of it.
        return p;
    };
    preset(&mut p, e);
    // On ways that are never gone temporaries need not be written either.
    let open = has_unreachable(legal);
    p.preset.extend((TEMPORARY..INPUT).filter(|_| open));
    let meant = if open { [0; 16] } else { configured(e) };
    for (word, next) in all {
        let mut s = Step::default();
        match code.get(word) {
            Some(i) => s = step(i, e.geometry, &meant),
            None => p.report(4 * word as u32, "the program runs past its last word"),
        }
        s.at = 4 * word as u32;
        next.into_iter().for_each(|n| s.goes(n));
        p.steps.push(s);
    }
    p
}

/// What the loader and the vertex fetch fill.
fn preset(p: &mut Program, e: &Executable) {
    for n in (0..16).filter(|n| e.inputs >> n & 1 == 1) {
        p.preset.extend(INPUT + 4 * n..INPUT + 4 * n + 4);
    }
    for c in &e.constants {
        p.preset.push(match c {
            Constant::Bool(n, _) => BOOLEAN + (n & 15),
            Constant::Int(n, _) => INTEGER + (n & 3),
            Constant::Float(n, _) => FLOAT + n.min(&95),
        });
    }
    for n in e.uniforms.iter().flat_map(|u| u.first..=u.last) {
        p.preset.extend(match n {
            numbering::BOOL.. => (n < numbering::BOOL + 16).then(|| BOOLEAN + n - numbering::BOOL),
            numbering::INT.. => (n < numbering::INT + 4).then(|| INTEGER + n - numbering::INT),
            numbering::FLOAT.. => Some(FLOAT + n - numbering::FLOAT),
            _ => None,
        });
    }
    // Vertices arrive in float uniforms; b15 tells a program's first run from later ones.
    if e.geometry {
        p.preset.push(BOOLEAN + 15);
        if e.mode != 0 {
            p.preset.extend(FLOAT..INTEGER);
        }
    }
}

/// The fact of a component that a source's lane reads; none where an index leads elsewhere.
fn component(i: &Instr, n: usize, lane: usize) -> Option<Fact> {
    let s = &i.src[n];
    let c = Fact::from(s.swz[lane] & 3);
    match s.reg {
        Reg::R(r) => Some(TEMPORARY + 4 * Fact::from(r & 15) + c),
        Reg::V(r) => Some(INPUT + 4 * Fact::from(r & 15) + c),
        Reg::C(r) => (s.index == Index::None).then_some(FLOAT + Fact::from(r.min(95))),
        Reg::O(_) => None,
    }
}

/// Whether both flags of a CMP come of one number beside itself: that it is equal, and that it is not.
fn compares_itself(i: &Instr) -> bool {
    let number = component(i, 0, 0);
    let same = [(0, 1), (1, 0), (1, 1)].into_iter().all(|(n, lane)| component(i, n, lane) == number);
    number.is_some() && same && i.src[0].neg == i.src[1].neg && i.cmp == [0, 1]
}

fn step(i: &Instr, geometry: bool, meant: &[u8; 16]) -> Step {
    let mut s = Step::default();
    let lanes = |n: usize| (0..4).filter(move |l| i.source_lanes(n) >> l & 1 == 1);
    let count = i.sources().len();
    for n in 0..count {
        match i.src[n].index {
            Index::A0x if i.src[n].reg.is_uniform() => s.reads.push(ADDRESS),
            Index::A0y if i.src[n].reg.is_uniform() => s.reads.push(ADDRESS + 1),
            Index::AL if i.src[n].reg.is_uniform() => s.reads.push(ADDRESS + 2),
            _ => {}
        }
        if i.op != Op::Cmp {
            s.reads.extend(lanes(n).filter_map(|l| component(i, n, l)));
        }
    }
    match i.op {
        // A number equals itself or does not, whatever it is: a condition that always holds.
        Op::Cmp if compares_itself(i) => s.writes.extend([FLAG, FLAG + 1]),
        // Both flags are set; one of them often for nothing.
        Op::Cmp => {
            for l in 0..2 {
                let from: Facts = (0..2).filter_map(|n| component(i, n, l)).collect();
                s.derives.push((from, [FLAG + l as Fact].into_iter().collect()));
            }
        }
        Op::Litp => s.writes.extend([FLAG, FLAG + 1]),
        Op::Mova => s.writes.extend((0..2).filter(|k| i.mask >> k & 1 == 1).map(|k| ADDRESS + k)),
        Op::Ifc | Op::Jmpc | Op::Callc | Op::Breakc => s.reads.extend(match i.cond.op {
            CondOp::X => FLAG..FLAG + 1,
            CondOp::Y => FLAG + 1..FLAG + 2,
            CondOp::Or | CondOp::And => FLAG..FLAG + 2,
        }),
        Op::Ifu | Op::Jmpu | Op::Callu => s.reads.push(BOOLEAN + Fact::from(i.uniform & 15)),
        Op::For => {
            s.reads.push(INTEGER + Fact::from(i.uniform & 3));
            s.writes.push(ADDRESS + 2);
        }
        _ => {}
    }
    if i.writes_register() {
        for c in (0..4).filter(|c| i.mask >> c & 1 == 1) {
            match i.dst {
                Reg::R(r) => s.writes.push(TEMPORARY + 4 * Fact::from(r & 15) + c),
                Reg::O(r) => {
                    let f = OUTPUT + 4 * Fact::from(r & 15) + c;
                    s.writes.push(f);
                    if meant[usize::from(r & 15)] >> c & 1 == 1 {
                        s.forbids.push((f, "it has been written before on some path, and outputs are written once"));
                        s.raises.push(f);
                    }
                }
                Reg::V(_) | Reg::C(_) => {}
            }
        }
    }
    // A vertex is complete.
    if i.op == Op::Emit || i.op == Op::End && !geometry {
        let asked = (0..64).filter(|n| meant[usize::from(n / 4)] >> (n & 3) & 1 == 1);
        s.reads.extend(asked.map(|n| OUTPUT + n));
    }
    if i.op == Op::Emit {
        s.loses.push(OUTPUT..FLOAT);
        s.ends.push(OUTPUT..FLOAT);
    }
    if i.op == Op::Mova {
        s.forbids.push((MOVA, "two of them in a row freeze the chip"));
        s.raises.push(MOVA);
    } else {
        s.ends.push(MOVA..MOVA + 1);
    }
    s
}
