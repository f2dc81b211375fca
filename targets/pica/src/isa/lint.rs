//! What the hardware forbids, found without running: for hand-written programs and as a gate before the simulator.
//!
//! Facts: ISA sheet sections 10 and 11 (block ends, MOVA, END, nesting), 13 (outputs), 14 (constants).

use crate::abi::semantics::DUMMY;
use crate::container::{Executable, MEANT_OUTPUTS, OUTPUT_COMPONENTS, OUTPUT_TYPES, OutputEntry, Shbin};
use crate::isa::asm::VERTEX_WORDS;
use crate::isa::dis::decode_all;
use crate::isa::flow::ways;
use crate::isa::forms::Op;
use crate::isa::registers::{Reg, mask_text};
use crate::isa::word::Instr;
use retroshade_lower::TextError;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Entries of the three stacks.
pub const IF_DEPTH: usize = 8;
/// Entries of the call stack.
pub const CALL_DEPTH: usize = 4;
/// Entries of the loop stack.
pub const LOOP_DEPTH: usize = 4;

/// What the hardware asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No MOVA right behind another.
    Mova,
    /// One input register in an instruction.
    Inputs,
    /// Blocks lie in the program and have words.
    Blocks,
    /// A block's last word is a plain instruction of its own.
    BlockEnds,
    /// Jumps do not pass by the ends of blocks, nor leave loops.
    Jumps,
    /// BREAK stands at a loop's own level.
    Breaks,
    /// Ifs, calls and loops fit their stacks.
    Nesting,
    /// Nothing leads behind the last word.
    End,
    /// END can be reached.
    Endless,
    /// What belongs to the other stage, or beyond what vertex programs reach.
    Stage,
    /// Components with a meaning are written.
    OutputsMissing,
    /// Components with a meaning are written once.
    OutputsTwice,
    /// A component has one meaning, in a register that the output map reaches.
    OutputsMeaning,
    /// Output registers have no gap.
    OutputsGap,
    /// There is an entry point, with at least one constant.
    Tables,
}

/// A rule that is broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Place and message.
    pub error: TextError,
}

impl Finding {
    fn new(rule: Rule, message: impl Into<String>) -> Finding {
        Finding { rule, error: TextError::new(message) }
    }
}

fn at(rule: Rule, word: usize, message: impl std::fmt::Display) -> Finding {
    let error = TextError::new(format!("word {word}: {message}"));
    Finding { rule, error: TextError { offset: Some(4 * word as u64), ..error } }
}

/// A stretch of code whose end must be walked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    If,
    Else,
    Loop,
    Procedure,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::If => "if part",
            Kind::Else => "else part",
            Kind::Loop => "loop body",
            Kind::Procedure => "procedure",
        }
    }
}

/// All findings in a container.
pub fn lint(bin: &Shbin) -> Result<Vec<Finding>, TextError> {
    let code = decode_all(bin)?;
    let mut out = program(&code);
    for e in &bin.executables {
        executable(&mut out, e, &code);
    }
    if bin.executables.is_empty() {
        out.push(Finding::new(Rule::Tables, "no entry point"));
    }
    Ok(out)
}

/// Findings that do not depend on the tables.
pub fn program(code: &[Instr]) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut ranges = BTreeSet::new();
    for (n, i) in code.iter().enumerate() {
        let (t, len) = (i.target as usize, i.num as usize);
        if i.op == Op::Mova && code.get(n + 1).is_some_and(|j| j.op == Op::Mova) {
            out.push(at(Rule::Mova, n, "two MOVA in a row freeze the chip"));
        }
        let mut inputs = i.sources().iter().filter_map(|s| if let Reg::V(k) = s.reg { Some(k) } else { None });
        let first = inputs.next();
        if inputs.any(|k| Some(k) != first) {
            out.push(at(Rule::Inputs, n, "two different input registers in one instruction"));
        }
        let mut range = |start: usize, end: usize, kind: Kind| {
            if end > code.len() || start > end {
                out.push(at(Rule::Blocks, n, "the block reaches beyond the program"));
            } else if start == end {
                out.push(at(Rule::Blocks, n, format!("the {} is empty", kind.name())));
            } else {
                ranges.insert(Range { start, end, kind });
            }
        };
        match i.op {
            Op::Ifc | Op::Ifu => {
                if t <= n {
                    out.push(at(Rule::Blocks, n, "an if leads backward"));
                    continue;
                }
                range(n + 1, t, Kind::If);
                if len > 0 {
                    range(t, t + len, Kind::Else);
                }
            }
            Op::For => {
                if t <= n {
                    out.push(at(Rule::Blocks, n, "the loop body is empty"));
                    continue;
                }
                range(n + 1, t + 1, Kind::Loop);
            }
            Op::Call | Op::Callc | Op::Callu => range(t, t + len, Kind::Procedure),
            Op::Jmpc | Op::Jmpu if t >= code.len() => out.push(at(Rule::Jumps, n, "the jump leads beyond the program")),
            _ => {}
        }
    }
    for r in &ranges {
        block_end(&mut out, code, &ranges, r);
        // What is executed behind a block's last word, if that is not the next one.
        let mova = |n: usize| code.get(n).is_some_and(|i| i.op == Op::Mova);
        let follows = |i: &Instr, n: usize| match (r.kind, i.op) {
            (Kind::Loop, Op::For) if n + 1 == r.start => Some(r.start),
            (Kind::If, Op::Ifc | Op::Ifu) if n + 1 == r.start && i.target as usize == r.end => Some(r.end + i.num as usize),
            (Kind::Procedure, Op::Call | Op::Callc | Op::Callu) if (i.target as usize, i.num as usize) == (r.start, r.end - r.start) => {
                Some(n + 1)
            }
            _ => None,
        };
        if mova(r.end - 1) && code.iter().enumerate().any(|(n, i)| follows(i, n).is_some_and(|x| x != r.end && mova(x))) {
            out.push(at(
                Rule::Mova,
                r.end - 1,
                format!("two MOVA in a row freeze the chip: another follows the end of the {}", r.kind.name()),
            ));
        }
    }
    // Deeper through calls than any place by itself shows.
    let around = |kinds: &[Kind]| {
        let mut depth = vec![0; code.len()];
        ranges.iter().filter(|r| kinds.contains(&r.kind)).for_each(|r| depth[r.start..r.end].iter_mut().for_each(|d| *d += 1));
        depth
    };
    let mut nesting = Nesting { code, ifs: around(&[Kind::If, Kind::Else]), loops: around(&[Kind::Loop]), known: FxHashMap::default() };
    let procedures = around(&[Kind::Procedure]);
    for (n, i) in code.iter().enumerate().filter(|(_, i)| matches!(i.op, Op::Call | Op::Callc | Op::Callu)) {
        let (ifs, loops, calls) = nesting.of(i.target as usize, i.target as usize + i.num as usize, 1);
        if calls + 1 > CALL_DEPTH {
            out.push(at(Rule::Nesting, n, format!("more than {CALL_DEPTH} nested calls")));
        }
        if nesting.ifs[n] + ifs > IF_DEPTH {
            out.push(at(Rule::Nesting, n, format!("more than {IF_DEPTH} nested ifs, those of the procedure included")));
        }
        if nesting.loops[n] + loops > LOOP_DEPTH {
            out.push(at(Rule::Nesting, n, format!("more than {LOOP_DEPTH} nested loops, those of the procedure included")));
        }
    }
    for (n, i) in code.iter().enumerate() {
        if matches!(i.op, Op::Ifc | Op::Ifu) && nesting.ifs[n] >= IF_DEPTH {
            out.push(at(Rule::Nesting, n, format!("more than {IF_DEPTH} nested ifs")));
        }
        if i.op == Op::For && nesting.loops[n] >= LOOP_DEPTH {
            out.push(at(Rule::Nesting, n, format!("more than {LOOP_DEPTH} nested loops")));
        }
        if matches!(i.op, Op::Break | Op::Breakc) && nesting.loops[n] == 0 && procedures[n] == 0 {
            out.push(at(Rule::Breaks, n, "BREAK outside a loop hangs the chip"));
        }
        let inner = || ranges.iter().filter(|r| r.start <= n && n < r.end && r.kind != Kind::Procedure).min_by_key(|r| r.end - r.start);
        if matches!(i.op, Op::Break | Op::Breakc) && inner().is_some_and(|r| matches!(r.kind, Kind::If | Kind::Else)) {
            out.push(at(Rule::Breaks, n, "BREAK inside an if leaves the if's entry on the stack: it belongs at the loop's own level"));
        }
        if matches!(i.op, Op::Jmpc | Op::Jmpu) {
            let t = i.target as usize;
            for r in ranges.iter().filter(|r| r.start <= n && n < r.end && r.kind != Kind::Else) {
                if t == r.end {
                    out.push(at(Rule::Jumps, n, format!("the jump passes by the end of the {} that it stands in", r.kind.name())));
                } else if r.kind == Kind::Loop && !(r.start..r.end).contains(&t) {
                    out.push(at(Rule::Jumps, n, "a jump out of a loop leaves its entry on the stack"));
                }
            }
        }
    }
    out
}

/// How deep blocks and calls stand inside each other, called procedures included; every stretch is looked at once.
struct Nesting<'a> {
    code: &'a [Instr],
    ifs: Vec<usize>,
    loops: Vec<usize>,
    known: FxHashMap<(usize, usize), (usize, usize, usize)>,
}

impl Nesting<'_> {
    /// Ifs, loops and calls inside a stretch of words.
    fn of(&mut self, start: usize, end: usize, calls: usize) -> (usize, usize, usize) {
        if calls > CALL_DEPTH {
            return (0, 0, 1);
        }
        if let Some(k) = self.known.get(&(start, end)) {
            return *k;
        }
        let mut most = (0, 0, 0);
        for n in start..end.min(self.code.len()) {
            let i = &self.code[n];
            let inside = match i.op {
                Op::Call | Op::Callc | Op::Callu => {
                    let (ifs, loops, deep) = self.of(i.target as usize, i.target as usize + i.num as usize, calls + 1);
                    (ifs, loops, deep + 1)
                }
                _ => (0, 0, 0),
            };
            most.0 = most.0.max(self.ifs[n].saturating_sub(self.ifs[start]) + inside.0);
            most.1 = most.1.max(self.loops[n].saturating_sub(self.loops[start]) + inside.1);
            most.2 = most.2.max(inside.2);
        }
        self.known.insert((start, end), most);
        most
    }
}

/// Rule 1 of section 11: a block's last word is a plain instruction of its own.
fn block_end(out: &mut Vec<Finding>, code: &[Instr], ranges: &BTreeSet<Range>, r: &Range) {
    let last = r.end - 1;
    let flow = match code[last].op {
        Op::Jmpc | Op::Jmpu | Op::Call | Op::Callc | Op::Callu => true,
        Op::Break | Op::Breakc => r.kind == Kind::Loop,
        _ => false,
    };
    if flow {
        out.push(at(Rule::BlockEnds, last, format!("the {} needs a NOP before its end: it ends with a jump or call", r.kind.name())));
    }
    for i in ranges.iter().filter(|i| *i != r && i.end == r.end && i.start >= r.start && i.kind != Kind::Procedure) {
        if i.kind != r.kind || i.start != r.start {
            out.push(at(
                Rule::BlockEnds,
                last,
                format!("the {} needs a NOP before its end: an inner {} ends there too", r.kind.name(), i.kind.name()),
            ));
        }
    }
}

fn executable(out: &mut Vec<Finding>, e: &Executable, code: &[Instr]) {
    let meant = configured(e);
    let ways = ways(code, e.entry as usize, e.geometry, &meant, &e.constants);
    if let Some(word) = ways.past {
        out.push(at(Rule::End, word, "the program runs past its last word: END is missing"));
    } else {
        if !ways.words.iter().any(|w| code[*w].op == Op::End) {
            out.push(at(Rule::Endless, e.entry as usize, "no END can be reached"));
        }
        if !e.geometry && ways.words.iter().any(|w| *w >= VERTEX_WORDS) {
            out.push(Finding::new(Rule::Stage, format!("vertex code lies beyond word {VERTEX_WORDS}")));
        }
        let mut written = [0u8; 16];
        for w in &ways.words {
            let i = &code[*w];
            if i.writes_register()
                && let Reg::O(n) = i.dst
            {
                written[n as usize] |= i.mask;
            }
            if !e.geometry && matches!(i.op, Op::Emit | Op::Setemit) {
                out.push(at(Rule::Stage, *w, "EMIT and SETEMIT belong to geometry programs"));
            }
            if let (true, true, Reg::O(n @ MEANT_OUTPUTS..)) = (e.geometry, i.writes_register(), i.dst) {
                out.push(at(Rule::Stage, *w, format!("geometry programs write o0 to o{}, not o{n}", MEANT_OUTPUTS - 1)));
            }
        }
        // A geometry program that makes no vertex has nothing to write.
        if !e.geometry || ways.words.iter().any(|w| code[*w].op == Op::Emit) {
            outputs(out, e, &written);
        }
        for (word, reg, mask) in &ways.again {
            out.push(at(
                Rule::OutputsTwice,
                *word,
                format!("o{reg}{} was written before on some way to here: outputs are written once", mask_text(*mask)),
            ));
        }
        for (word, reg, mask) in &ways.missing {
            // What no way writes is told already.
            let mask = mask & written[*reg as usize];
            if mask != 0 {
                out.push(at(
                    Rule::OutputsMissing,
                    *word,
                    format!("o{reg}{} has a meaning but is not written on some way to here", mask_text(mask)),
                ));
            }
        }
    }
    meanings(out, e);
    if e.constants.is_empty() {
        out.push(Finding::new(Rule::Tables, "no constant entry: programs without one are reported to hang the machine"));
    }
}

/// The components that have a meaning: those that each output's type takes.
pub fn configured(e: &Executable) -> [u8; 16] {
    let mut out = [0; 16];
    for o in e.outputs.iter().filter(|o| o.kind != DUMMY) {
        out[o.reg as usize & 15] |= taken(o);
    }
    out
}

/// The components of its register that an output's type takes.
fn taken(o: &OutputEntry) -> u8 {
    let lanes = (0..4).filter(|c| o.mask >> c & 1 == 1).take(OUTPUT_COMPONENTS[o.kind as usize] as usize);
    lanes.fold(0, |mask, c| mask | 1 << c)
}

/// One meaning for a component, where the output map reaches.
fn meanings(out: &mut Vec<Finding>, e: &Executable) {
    let name = |o: &OutputEntry| OUTPUT_TYPES[o.kind as usize];
    let meant: Vec<&OutputEntry> = e.outputs.iter().filter(|o| o.kind != DUMMY).collect();
    for (n, o) in meant.iter().enumerate() {
        for p in &meant[..n] {
            let both = taken(o) & taken(p);
            if o.reg == p.reg && both != 0 {
                let message = format!("o{}{} has two meanings: {} and {}", o.reg, mask_text(both), name(p), name(o));
                out.push(Finding::new(Rule::OutputsMeaning, message));
            }
        }
        if o.reg >= u16::from(MEANT_OUTPUTS) {
            let message =
                format!("o{} has a meaning ({}), but only o0 to o{} can: the others are dummies", o.reg, name(o), MEANT_OUTPUTS - 1);
            out.push(Finding::new(Rule::OutputsMeaning, message));
        }
    }
}

fn outputs(out: &mut Vec<Finding>, e: &Executable, written: &[u8; 16]) {
    let mut used = 0u32;
    for o in &e.outputs {
        used |= 1 << o.reg;
        if o.kind == DUMMY {
            continue;
        }
        let mut left = OUTPUT_COMPONENTS[o.kind as usize];
        for c in (0..4).filter(|c| o.mask >> c & 1 == 1) {
            if left > 0 && written[o.reg as usize] >> c & 1 == 0 {
                out.push(Finding::new(
                    Rule::OutputsMissing,
                    format!(
                        "component {} of o{} has a meaning ({}) but is never written",
                        crate::isa::registers::COMPONENTS[c],
                        o.reg,
                        OUTPUT_TYPES[o.kind as usize]
                    ),
                ));
            }
            left = left.saturating_sub(1);
        }
    }
    if used & (used + 1) != 0 {
        out.push(Finding::new(Rule::OutputsGap, "the output registers in use must be o0, o1, … without a gap"));
    }
}
