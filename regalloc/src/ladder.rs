//! The ladder: tree scan, Ion on a file cut to the pressure, Ion on the whole file, tree scan again; the checker judges.

use crate::error::AllocError;
use crate::file::RegFile;
use crate::known::Known;
use crate::liveness::Peak;
use crate::program::Program;
use crate::tree::{Coloured, Tree};
use regalloc2::checker::Checker;
use regalloc2::{Allocation, Ctx, Edit, Function, Output, RegAllocError, RegallocOptions};

/// Which step of the ladder produced the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocStep {
    /// Ion on the first registers only, as few as the pressure asks for.
    IonTight,
    /// Ion on the whole file, with slots.
    IonFull,
    /// Colouring along the dominator tree.
    TreeScan,
}

impl AllocStep {
    /// Name for statistics.
    pub const fn name(self) -> &'static str {
        match self {
            AllocStep::IonTight => "ion-tight",
            AllocStep::IonFull => "ion-full",
            AllocStep::TreeScan => "tree-scan",
        }
    }
}

/// What the tree scan is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// Before Ion, which takes several times as long: its answer stands if it needs no slots and at most one instruction in
    /// [`MOVES`] is a move that Ion might do without. Values are spread over all registers that cost no more than those that live at
    /// once, or take few.
    First {
        /// Whether they are spread.
        spread: bool,
    },
    /// Where Ion needs memory or finds nothing.
    Last,
    /// Alone, for few registers, even if that takes moves.
    Few,
    /// Alone, as `Few`, and then values spread over all registers that cost no more than those. What `Few` takes of each class, if the
    /// caller has asked for that before.
    Spread(Option<[u32; 3]>),
}

/// See [`Scan::First`].
const MOVES: usize = 16;

/// What the caller wants.
#[derive(Clone, Copy, Debug)]
pub struct AllocOptions {
    /// Judge the result with regalloc2's checker even in release builds.
    pub check: bool,
    /// What the tree scan is for.
    pub scan: Scan,
    /// An answer with more registers of a class, or with slots, is as good as none: nothing is tried that leads to one.
    pub most: Option<[u32; 3]>,
    /// With so many values alive at once, of all classes, there is known to be no answer: nothing is tried.
    pub too_many: u32,
    /// A larger file without memory had no answer: nothing is tried that would do without.
    pub memory: bool,
}

impl Default for AllocOptions {
    fn default() -> AllocOptions {
        AllocOptions { check: cfg!(debug_assertions), scan: Scan::Last, most: None, too_many: u32::MAX, memory: false }
    }
}

/// A finished allocation.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// Places of all operands and the moves between instructions.
    pub output: Output,
    /// Which step found it.
    pub step: AllocStep,
    /// The pressure per class.
    pub max_live: [u32; 3],
    /// Registers used per class: one past the highest.
    pub used: [u32; 3],
    /// Slots used.
    pub slots: u32,
}

/// Cost of an answer: memory slots, then registers, then moves.
type Cost = (u32, u32, u64);

/// Allocates registers for a program.
pub fn allocate(p: &Program, file: &RegFile, options: &AllocOptions) -> Result<Allocated, AllocError> {
    allocate_in(p, &Known::new(p, file)?, file, options, &mut Ctx::default())
}

/// As [`allocate`], where the program was looked at before, in memory that is kept from one allocation to the next.
pub fn allocate_in(p: &Program, known: &Known, file: &RegFile, options: &AllocOptions, ctx: &mut Ctx) -> Result<Allocated, AllocError> {
    let max_live = known.max_live();
    let register_slots = file.register_slots();
    if file.all_slots() == register_slots {
        for q in &known.peaks {
            if q.live > file.available(q.class) + register_slots {
                return Err(pressure(p, known, file, q, 0));
            }
        }
    }
    if max_live.iter().sum::<u32>() >= options.too_many {
        return Err(worst(p, known, file, 0));
    }
    let floor = known.floor;
    let mut best: Option<(Cost, Allocated)> = None;
    let consider = |found: Option<(Output, AllocStep)>, best: &mut Option<(Cost, Allocated)>| {
        if let Some((output, step)) = found {
            let a = summarise(output, step, max_live);
            let cost = cost(p, file, &a);
            if best.as_ref().is_none_or(|(c, _)| cost < *c) {
                *best = Some((cost, a));
            }
        }
    };
    let limits = [0, 1, 2].map(|c| file.available(c));
    let tree = || Tree::new(p, file, known);
    let spread = |used: [u32; 3]| {
        let limits = [0, 1, 2].map(|c| if used[c] == 0 { 0 } else { file.step(c, used[c]).min(limits[c]) });
        tree().spread(limits)
    };
    let coloured = |found: Option<Coloured>| found.map(|found| (found.output, AllocStep::TreeScan));
    // Where more values are live at once than there are registers, slots are needed anyway.
    let fits = (0..3).all(|c| max_live[c] <= limits[c]);
    let alone = matches!(options.scan, Scan::Few | Scan::Spread(_));
    if let Scan::First { spread: apart } = options.scan
        && fits
        && !options.memory
    {
        let least = [0, 1, 2].map(|c| if max_live[c] == 0 { 0 } else { max_live[c].max(floor[c]) });
        let found = if apart { spread(least) } else { tree().scan(limits) };
        let good = |found: &Coloured| found.output.num_spillslots == 0 && MOVES * found.avoidable <= p.num_insts();
        consider(coloured(found.filter(good)), &mut best);
    }
    if best.is_none() && !alone && fits {
        consider(tight(p, file, max_live, floor, options.most, ctx)?, &mut best);
    }
    if options.most.is_some() && best.is_none() {
        return Err(worst(p, known, file, 0));
    }
    let mut lacking = 0;
    if best.is_none() && !alone {
        let full = ion(p, file, [64; 3], ctx)?;
        lacking = full.as_ref().map_or(0, |o| (o.num_spillslots as u32).saturating_sub(file.all_slots()));
        consider(full.filter(|_| lacking == 0).map(|o| (o, AllocStep::IonFull)), &mut best);
    }
    // A value that keeps its place for life takes no fewer slots than one that may move.
    let too_many = !fits && lacking > 0;
    if !options.memory && !too_many && best.as_ref().is_none_or(|(c, _)| c.0 > 0) {
        let found = match options.scan {
            Scan::First { .. } | Scan::Last | Scan::Few => tree().scan(limits),
            Scan::Spread(Some(few)) => spread(few),
            Scan::Spread(None) => tree().scan(limits).and_then(|found| spread(used(&found.output))),
        };
        consider(coloured(found), &mut best);
    }
    let Some((_, a)) = best else {
        return Err(worst(p, known, file, lacking));
    };
    if options.check || cfg!(debug_assertions) {
        let env = file.env([64; 3]);
        let mut checker = Checker::new(p, &env);
        checker.prepare(&a.output);
        checker.run().map_err(|e| AllocError::Internal(format!("the checker rejects the {} answer: {e:?}", a.step.name())))?;
    }
    Ok(a)
}

/// The error about the class that is fullest at its peak.
fn worst(p: &Program, known: &Known, file: &RegFile, lacking: u32) -> AllocError {
    let filled = |q: &&Peak| (q.live * 64).checked_div(file.available(q.class)).unwrap_or(0);
    pressure(p, known, file, known.peaks.iter().max_by_key(filled).unwrap_or(&known.peaks[0]), lacking)
}

fn pressure(p: &Program, known: &Known, file: &RegFile, q: &Peak, lacking: u32) -> AllocError {
    AllocError::Pressure {
        class: file.classes[q.class].name,
        live: q.live,
        limit: file.available(q.class) + file.register_slots(),
        lacking,
        inst: q.inst,
        vregs: q.vregs(p, file, &known.live),
    }
}

fn ion(p: &Program, file: &RegFile, k: [u8; 3], ctx: &mut Ctx) -> Result<Option<Output>, AllocError> {
    let env = file.env(k);
    match regalloc2::run_with_ctx(p, &env, &RegallocOptions::default(), ctx) {
        Ok(_) => Ok(Some(std::mem::take(&mut ctx.output))),
        Err(RegAllocError::TooManyLiveRegs) => {
            *ctx = Ctx::default();
            Ok(None)
        }
        Err(e) => Err(AllocError::Internal(format!("{e:?}"))),
    }
}

/// Grows the file from the pressure until no slot appears.
fn tight(
    p: &Program,
    file: &RegFile,
    max_live: [u32; 3],
    floor: [u32; 3],
    most: Option<[u32; 3]>,
    ctx: &mut Ctx,
) -> Result<Option<(Output, AllocStep)>, AllocError> {
    let count = [0, 1, 2].map(|c| file.classes[c].count as u32);
    let reserved = [0, 1, 2].map(|c| count[c] - file.available(c).min(count[c]));
    let limit = most.map_or(count, |m| [0, 1, 2].map(|c| m[c].min(count[c])));
    if (0..3).any(|c| (max_live[c] + reserved[c]).max(floor[c]) > limit[c] && max_live[c] > 0) {
        return Ok(None);
    }
    let more = |n: u32| n + (n * 6).div_ceil(100).max(1);
    // Exactly as many as are live at once are seldom enough: where some more cost nothing, they are there from the start.
    let mut k = [0, 1, 2].map(|c| {
        let least = (max_live[c] + reserved[c]).max(floor[c]);
        // With a bound it is all that the bound allows.
        if most.is_some() { limit[c] } else { more(least).min(file.step(c, least)).min(limit[c]) }
    });
    loop {
        if let Some(o) = ion(p, file, k.map(|n| n as u8), ctx)?
            && o.num_spillslots == 0
        {
            return Ok(Some((o, AllocStep::IonTight)));
        }
        if k == limit {
            return Ok(None);
        }
        k = [0, 1, 2].map(|c| more(k[c]).min(limit[c]));
    }
}

fn each_place(output: &Output, mut f: impl FnMut(Allocation)) {
    output.allocs.iter().for_each(|a| f(*a));
    for (_, Edit::Move { from, to }) in &output.edits {
        f(*from);
        f(*to);
    }
}

/// One past the highest register of each class.
fn used(output: &Output) -> [u32; 3] {
    let mut used = [0; 3];
    each_place(output, |a| {
        if let Some(r) = a.as_reg() {
            let c = r.class() as usize;
            used[c] = used[c].max(r.hw_enc() as u32 + 1);
        }
    });
    used
}

fn summarise(output: Output, step: AllocStep, max_live: [u32; 3]) -> Allocated {
    let used = used(&output);
    let slots = output.num_spillslots as u32;
    Allocated { output, step, max_live, used, slots }
}

fn cost(p: &Program, file: &RegFile, a: &Allocated) -> Cost {
    let memory = a.slots.saturating_sub(file.register_slots());
    let registers = a.used.iter().sum::<u32>() + a.slots.min(file.register_slots());
    let mut moves = 0u64;
    for (at, Edit::Move { from, to }) in &a.output.edits {
        if from != to {
            let inst = at.inst().index() as u32;
            let b = p.blocks.partition_point(|b| b.end <= inst).min(p.blocks.len() - 1);
            moves += 8u64.pow(p.blocks[b].loop_depth.min(4));
        }
    }
    (memory, registers, moves)
}
