//! What instructions do to registers, flags, addresses and outputs, for the validator.
//!
//! Facts: the ISA description's sections 1 (registers beyond the declared count read 0), 3 and 5 (operands), 7 (control flow) and 9 (what is
//! there at the start, what a program must leave). The decoded operands are the simulator's. The hardware interlocks every result (12,
//! rule 13), so that there is nothing to wait for. That no lane leaves
//! while a `joinat` waits is the linter's rule, asked here.

use crate::abi::{Abi, Word};
use crate::isa::chip;
use crate::isa::forms::{Cond, End, Op, field};
use crate::isa::lint::waiting;
use crate::isa::operand::{Item, Operand, Size, template};
use crate::isa::text::Source;
use crate::sim::{Program as Code, Step as Line};
use retroshade_ir::{Block, Imm, MemRef, Module, Opcode, Stage, Value};
use retroshade_lower::validate::{Edge, Fact, Facts, Guard, Program, Step, has_unreachable};
use retroshade_lower::{SimError, TextError};
use std::collections::{BTreeMap, BTreeSet};

/// Halves of the registers.
const REGISTER: Fact = 0;
/// `$c0` to `$c3`.
const FLAGS: Fact = 256;
/// `$a0` to `$a7`.
const ADDRESS: Fact = FLAGS + 4;
/// o[] words.
const OUTPUT: Fact = ADDRESS + 8;
const ALL: usize = OUTPUT as usize + 128;

fn name(f: Fact) -> String {
    match f {
        OUTPUT.. => format!("o[{:#x}]", 4 * (f - OUTPUT)),
        ADDRESS.. => format!("$a{}", f - ADDRESS),
        FLAGS.. => format!("$c{}", f - FLAGS),
        REGISTER.. => format!("$r{}{}", f / 2, ["l", "h"][usize::from(f & 1)]),
    }
}

/// The program of a container; `legal` is what it was made of.
pub fn program(code: &[u8], abi: &Abi, legal: &Module) -> Result<Program, TextError> {
    let text = |e: SimError| match e {
        SimError::Fault { at, message } => TextError { offset: Some(u64::from(at)), ..TextError::new(message) },
        other => TextError::new(other.to_string()),
    };
    let stage = legal.stage;
    let code = Code::new(code, stage, chip::by_name(&abi.chip)).map_err(text)?;
    let lines = code.steps();
    let numbers: BTreeMap<u32, usize> = lines.iter().enumerate().map(|(n, l)| (l.pc, n)).collect();
    let mut p = Program::new("", ALL, name);
    if stage == Stage::Compute {
        p.preset.extend(words(0, 1));
    }
    // Calls do not come out of the compiler; what they would need is not followed.
    if lines.iter().any(|l| matches!(l.op, Op::Call | Op::Preret | Op::BraC)) {
        return Ok(p);
    }
    // What the source says is never reached ends where it stands.
    if !has_unreachable(legal) {
        let insns = lines.iter().map(|l| (l.pc, l.insn.clone())).collect();
        waiting(&insns).into_iter().for_each(|(at, message)| p.report(at, message));
    }
    let exits = breaks(lines, &numbers);
    let end = lines.len();
    let mut steps: Vec<Step> = lines.iter().map(|l| of_line(&mut p, l, abi.registers)).collect();
    let results = results(abi, legal);
    forgive(&mut p, lines, &steps);
    for (n, l) in lines.iter().enumerate() {
        let mut s = std::mem::take(&mut steps[n]);
        if l.op == Op::Emit {
            s.reads.extend(results.iter().copied());
        }
        let target = numbers.get(&(l.insn.get(field!(target)) as u32 * 4)).copied();
        let guard = s.guard;
        let away = match l.op {
            Op::Bra => Some(target),
            Op::Brk => Some(exits.get(&n).and_then(|t| numbers.get(t)).copied()),
            Op::Ret => Some(Some(end)),
            _ => None,
        };
        match away {
            Some(None) => p.report(l.pc, "control goes where no instruction begins"),
            Some(Some(to)) => {
                let conditional = l.f.pred != Cond::Always as u64;
                s.guard = None;
                s.next.push(Edge { to: to as u32, when: guard });
                if conditional {
                    s.next.push(Edge { to: n as u32 + 1, when: guard.map(Guard::inverse) });
                }
            }
            None if l.f.end == End::Exit as u64 => s.goes(end),
            None => s.goes(n + 1),
        }
        p.steps.push(s);
    }
    let left = if stage == Stage::Geometry || has_unreachable(legal) { Facts::new() } else { results };
    p.end = Some(end);
    p.steps.push(Step { at: lines.last().map_or(0, |l| l.pc + l.size), reads: left, ..Step::default() });
    Ok(p)
}

/// Halves of registers from one on.
fn words(first: u64, count: u64) -> impl Iterator<Item = Fact> {
    (2 * first..2 * (first + count)).filter(|h| *h < 256).map(|h| REGISTER + h as Fact)
}

/// What a program leaves: result registers of a fragment program, o[] words of the others, as far as the module writes them on every way: at its
/// beginning (a geometry program: before it emits a vertex), or where it returns if that is one place. Elements of arrays are left out.
fn results(abi: &Abi, legal: &Module) -> Facts {
    let array = |decl: u32| legal.outputs.values().nth(decl as usize).is_none_or(|d| d.count > 1);
    let main = legal.main();
    let geometry = legal.stage == Stage::Geometry;
    let returns = |b: Block| main.terminator(b).is_some_and(|t| main.insts[t].op == Opcode::Return);
    let one = !geometry && main.layout.iter().filter(|b| returns(**b)).count() == 1;
    let surely = main.layout.iter().filter(|b| Some(**b) == main.entry() || one && returns(**b));
    let ahead = surely.flat_map(|b| main.blocks[*b].insts.iter().map(|i| &main.insts[*i]).take_while(|d| d.op != Opcode::EmitVertex));
    let writes = ahead.filter_map(|d| match &d.imm {
        Imm::Mem { var: MemRef::Output(o), .. } if d.op == Opcode::Output => Some((o.as_u32(), d.args[0])),
        _ => None,
    });
    // Lanes without a value are left as they are.
    let defined = |(decl, v): (u32, Value)| {
        let parts = main.def_if(v, Opcode::Build).map_or(vec![v; usize::from(main.ty(v).lanes)], |d| d.args.to_vec());
        let lanes = (0..).zip(parts).filter(|(_, part)| main.def_if(*part, Opcode::Undef).is_none());
        lanes.map(|(lane, _)| (decl, lane)).collect::<Vec<(u32, u32)>>()
    };
    let certain: BTreeSet<(u32, u32)> = writes.filter(|(decl, _)| !array(*decl)).flat_map(defined).collect();
    let written = |w: &Word| certain.contains(&(w.decl, w.lane));
    if legal.stage == Stage::Fragment {
        let left = abi.results.iter().filter(|(r, w)| *r < abi.registers && written(w));
        return left.flat_map(|(r, _)| words(u64::from(*r), 1)).collect();
    }
    abi.outputs.iter().enumerate().filter(|(_, w)| written(w)).map(|(n, _)| OUTPUT + n as Fact).collect()
}

/// What cannot be told from the code alone counts as written: words of which some instruction writes one half (masks and shifts take them apart
/// again), and, where there are conditional branches, all that is written somewhere: registers may hold marks by which a later branch knows
/// the way it came. Flags and address registers are followed on every path nonetheless.
fn forgive(p: &mut Program, lines: &[Line], steps: &[Step]) {
    let registers = || (0..FLAGS / 2).map(|n| (REGISTER + 2 * n, REGISTER + 2 * n + 1));
    for (low, high) in registers() {
        let apart = |s: &Step| s.writes.contains(&low) != s.writes.contains(&high);
        p.preset.extend([low, high].into_iter().filter(|_| steps.iter().any(apart)));
    }
    let marks = lines.iter().any(|l| matches!(l.op, Op::Bra | Op::Brk | Op::Ret) && l.f.pred != Cond::Always as u64);
    if marks {
        let written = steps.iter().flat_map(|s| &s.writes).filter(|f| **f < FLAGS || **f >= OUTPUT);
        p.preset.extend(written.copied());
    }
}

/// Where each `brk` leads: the `prebrk` that was met last on the way there and is still open.
fn breaks(lines: &[Line], numbers: &BTreeMap<u32, usize>) -> BTreeMap<usize, u32> {
    let mut out = BTreeMap::new();
    let mut seen = vec![false; lines.len()];
    let mut todo = vec![(0usize, Vec::<u32>::new())];
    while let Some((n, mut open)) = todo.pop() {
        let Some(l) = lines.get(n).filter(|_| !std::mem::replace(&mut seen[n], true)) else { continue };
        let target = l.insn.get(field!(target)) as u32 * 4;
        let always = l.f.pred == Cond::Always as u64;
        match l.op {
            Op::Prebrk => open.push(target),
            Op::Bra => {
                todo.extend(numbers.get(&target).map(|t| (*t, open.clone())));
                if always {
                    continue;
                }
            }
            Op::Brk => {
                if let Some(exit) = open.last().copied() {
                    out.insert(n, exit);
                    todo.extend(numbers.get(&exit).map(|t| (*t, open[..open.len() - 1].to_vec())));
                }
                if always {
                    continue;
                }
            }
            Op::Ret if always => continue,
            _ if l.f.end == End::Exit as u64 => continue,
            _ => {}
        }
        if n + 1 < lines.len() {
            todo.push((n + 1, open));
        }
    }
    out
}

/// Whether the destination register is the third source as well.
fn tied(l: &Line) -> bool {
    use Op::*;
    let three = matches!(
        l.op,
        Fmad | MadU16 | MadS16 | MadSatS16 | MadU24 | MadS24 | MadSatS24 | MadHighU24 | MadHighS24 | MadSatHighS24 | SadH | Sad
    );
    three && !l.insn.has(field!(src3))
}

/// Facts of an operand of a size: halves are numbered by themselves.
fn operand(raw: u64, size: Size) -> Facts {
    match size {
        Size::Half => [REGISTER + (raw & 127) as Fact].into_iter().collect(),
        Size::Word => words(raw, 1).collect(),
        Size::Pair => words(raw, 2).collect(),
        Size::Quad => words(raw, 4).collect(),
    }
}

fn of_line(p: &mut Program, l: &Line, registers: u32) -> Step {
    let mut s = Step { at: l.pc, ..Step::default() };
    let get = |f| l.insn.get(f);
    let flags = |n: u64| FLAGS + (n & 3) as Fact;
    // What is never done, a `join` alone, asks for nothing.
    if l.f.pred != Cond::Always as u64 && l.f.pred != Cond::Never as u64 {
        s.reads.push(flags(l.f.cc as u64));
        // Votes take the condition as their operand, and `exit` and `join` ignore it.
        if !matches!(l.op, Op::VoteAny | Op::VoteAll | Op::Nop) {
            s.guard = guard(p, flags(l.f.cc as u64), l.f.pred);
        }
    }
    let sources = [l.s1, l.s2, l.s3];
    let stores = matches!(l.op, Op::StL | Op::StG) || l.insn.form().name.starts_with("red.");
    for item in template(l.insn.d.form).items() {
        let Item::Operand(o) = item else { continue };
        match *o {
            Operand::Source(n, width, _) => {
                let given = [field!(src1), field!(src2), field!(src3)][usize::from(n)];
                if let (Source::Reg(raw), true) = (sources[usize::from(n)], l.insn.has(given)) {
                    s.reads.extend(operand(raw, width.size(get)));
                }
            }
            Operand::Destination(width) if stores => s.reads.extend(operand(get(field!(dst)), width.size(get))),
            Operand::Destination(_) if l.f.out => s.writes.push(OUTPUT + (l.f.dst & 127) as Fact),
            Operand::Destination(width) => s.writes.extend(operand(get(field!(dst)), width.size(get))),
            Operand::Flags => s.writes.extend(l.f.cw.then(|| flags(l.f.cd as u64))),
            Operand::FlagsTo => s.writes.push(flags(l.f.cd as u64)),
            Operand::FlagsFrom => s.reads.push(flags(l.f.cc as u64)),
            Operand::Carry if l.f.addop == 3 => s.reads.push(flags(l.f.cc as u64)),
            Operand::AddressTo => s.writes.push(ADDRESS + (l.f.dst & 7) as Fact),
            Operand::AddressFrom | Operand::Memory(..) => {
                let a = get(field!(a)) & 7;
                s.reads.extend((a > 0).then_some(ADDRESS + a as Fact));
            }
            Operand::Global => s.reads.extend(words(get(field!(src1)), 1)),
            Operand::Results(masked) => {
                let mask = if masked { get(field!(mask)) & 15 } else { 15 };
                s.writes.extend(words(get(field!(dst)), u64::from(mask.count_ones())));
            }
            Operand::Arguments(counted) => {
                s.reads.extend(words(get(field!(dst)), if counted { get(field!(count)) + 1 } else { 1 }));
            }
            _ => {}
        }
    }
    for (a, _) in l.index.iter().filter(|(a, _)| *a > 0) {
        s.reads.push(ADDRESS + (*a & 7) as Fact);
    }
    if l.op == Op::StO {
        // An index leads nobody knows where.
        let (word, indexed) = (get(field!(off)), get(field!(a)) > 0);
        s.writes.extend((!indexed).then_some(OUTPUT + (word & 127) as Fact));
    }
    if tied(l) {
        s.reads.extend(words(get(field!(dst)), 1));
    }
    // Registers beyond the declared ones read 0 and keep nothing.
    let beyond = |f: &Fact| *f < FLAGS && u32::from(*f) >= 2 * registers;
    s.reads.retain(|f| !beyond(f));
    s.writes.retain(|f| !beyond(f));
    s
}

/// The guard of a condition over a `$c`: those on floats are sets of less, equal, greater and unordered, the others are asked for themselves.
fn guard(p: &mut Program, flags: Fact, condition: u64) -> Option<Guard> {
    if condition < 16 {
        return p.guard_of(flags, 0, condition as u8);
    }
    // A condition and its inverse differ in their low four bits.
    let question = condition.min(condition ^ 15);
    p.guard_of(flags, question as u8, if condition == question { 3 } else { 12 })
}
