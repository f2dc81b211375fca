//! Emission: schedule and registers become encoded groups, clauses and the control-flow list.

pub mod barrier;

use crate::isa::forms::{self, FORMS, Format, Info, Number, TABLE, cf, cf_alu, exp_buf, exp_swiz, field, word};
use crate::isa::word::{Alu, DST_SEL, Group, SRC_SEL, Src, sel};
use crate::place::open::Lines;
use crate::place::paths::{Path, paths, work};
use crate::place::sched::{Item, Slot};
use crate::place::{Leaf, Placement};
use crate::select::mir::*;
use barrier::Touched;
use retroshade_emit::form::{EncodeError, FormId};
use retroshade_emit::layout::{Filler, Fixup, Label, Layout, LayoutError, Rule};
use retroshade_emit::{FieldIndex, FieldName, FieldValue, Word};
use retroshade_ir::{Block, Span};
use smallvec::SmallVec;
use std::collections::BTreeSet;

const TYPE: FieldIndex = field!(exp_swiz::EXPORT.TYPE);
const BASE: FieldIndex = field!(exp_swiz::EXPORT.ARRAY_BASE);
const BURST: FieldIndex = field!(exp_swiz::EXPORT.BURST_COUNT);
const EXPORT_SEL: [FieldIndex; 4] =
    [field!(exp_swiz::EXPORT.SEL_X), field!(exp_swiz::EXPORT.SEL_Y), field!(exp_swiz::EXPORT.SEL_Z), field!(exp_swiz::EXPORT.SEL_W)];

/// The words of a group or a fetch, where they come from and the block whose branch they decide.
#[derive(Clone, Debug)]
struct Part {
    words: Vec<u32>,
    span: Span,
    branch: Option<Block>,
}

/// A clause's words and its place.
#[derive(Clone, Debug, Default)]
struct Clause {
    /// Groups or fetches.
    parts: Vec<Part>,
    fetch: bool,
    touched: Touched,
}

/// A control-flow instruction before addresses are known.
#[derive(Clone, Debug)]
struct Cf {
    word: Word,
    clause: Option<usize>,
    label: Option<usize>,
    span: Span,
}

impl Clause {
    fn words(&self) -> usize {
        self.parts.iter().map(|p| p.words.len()).sum()
    }
}

impl Cf {
    fn get(&self, field: FieldName) -> u64 {
        TABLE.get(&self.word, field).unwrap_or(0)
    }
    fn is_export(&self) -> bool {
        TABLE.form(self.word.form).ext.format == Format::ExpSwiz
    }
}

/// An ALU clause that is being collected: its groups by their numbers among the items.
struct Open {
    groups: Vec<usize>,
    lines: Lines,
    span: Span,
}

/// What emission counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Instruction groups.
    pub groups: u64,
    /// Operations in them.
    pub slots: u64,
    /// Literal words.
    pub literals: u64,
    /// Control-flow instructions.
    pub cf: u64,
    /// Clauses.
    pub clauses: u64,
    /// Fetches.
    pub fetches: u64,
    /// Stack entries.
    pub stack: u64,
    /// What is executed on the shortest and on the longest path.
    pub paths: [Path; 2],
    /// What the program is taken to execute when ways are compared.
    pub work: Path,
}

/// An emitted program.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// The words.
    pub words: Vec<u32>,
    /// Sizes.
    pub counts: Counts,
    /// Byte offsets of groups that decide a block's branch.
    pub branches: Vec<(u32, Block)>,
    /// Address ranges in bytes and where they come from.
    pub map: Vec<(std::ops::Range<u32>, Span)>,
    /// Colour exports, highest target + 1.
    pub colors: u32,
    /// Elements of scratch memory, of 16 bytes each.
    pub scratch: u32,
    /// Whether depth, stencil or coverage are exported.
    pub depth: bool,
    /// Whether KILL occurs.
    pub kills: bool,
}

/// The emitter.
struct Emit<'a> {
    mir: &'a Mir,
    leaves: &'a [Leaf],
    place: &'a Placement,
    cf: Vec<Cf>,
    clauses: Vec<Clause>,
    /// Position in the control-flow list of each label.
    labels: Vec<Option<u32>>,
    counts: Counts,
    leaf: usize,
    loops: Vec<usize>,
    error: Option<EncodeError>,
    /// Where the last fetch is behind that compares the lanes of a quad.
    quads_until: Option<usize>,
    loop_starts: Vec<usize>,
    kills: bool,
    /// The control-flow instruction that first kills.
    killed_at: Option<usize>,
    /// Whether a write to scratch memory may still be on its way.
    unacknowledged: bool,
}

impl<'a> Emit<'a> {
    fn new(mir: &'a Mir, leaves: &'a [Leaf], place: &'a Placement) -> Emit<'a> {
        Emit {
            mir,
            leaves,
            place,
            cf: Vec::new(),
            clauses: Vec::new(),
            labels: Vec::new(),
            counts: Counts::default(),
            leaf: 0,
            loops: Vec::new(),
            error: None,
            quads_until: None,
            loop_starts: Vec::new(),
            kills: false,
            killed_at: None,
            unacknowledged: false,
        }
    }
}

/// Emits a program.
pub fn emit(mir: &Mir, leaves: &[Leaf], place: &Placement, loop_entry: u64, fetch_shader: bool) -> Result<Emitted, LayoutError<Span>> {
    let mut e = Emit::new(mir, leaves, place);
    if fetch_shader {
        e.plain(word!(cf::CALL_FS {}), None);
    }
    e.steps(&mir.steps);
    let stack = stack_entries(&mir.steps, loop_entry).max(fetch_shader as u64);
    e.counts.stack = stack;
    e.counts.paths = paths(&mir.steps, &mut leaves.iter(), &mir.trips);
    e.counts.work = work(&mir.steps, &mut leaves.iter());
    e.finish()
}

/// STACK_SIZE, in fours of elements: loops take an entry of `loop_entry` elements, pushes one element, and the first push two more.
fn stack_entries(steps: &[Step], loop_entry: u64) -> u64 {
    fn walk(steps: &[Step], loops: u64, pushes: u64, loop_entry: u64, most: &mut u64) {
        let note = |loops: u64, pushes: u64, most: &mut u64| {
            let elements = loop_entry * loops + pushes + if pushes > 0 { 2 } else { 0 };
            *most = (*most).max(elements.div_ceil(4));
        };
        for s in steps {
            match s {
                Step::If { then, other } => {
                    note(loops, pushes + 1, most);
                    walk(then, loops, pushes + 1, loop_entry, most);
                    walk(other, loops, pushes + 1, loop_entry, most);
                }
                Step::Loop(body, _) => {
                    note(loops + 1, pushes, most);
                    walk(body, loops + 1, pushes, loop_entry, most);
                }
                Step::BreakUnless | Step::ContinueUnless => note(loops, pushes + 1, most),
                _ => {}
            }
        }
    }
    let mut most = 0;
    walk(steps, 0, 0, loop_entry, &mut most);
    most
}

impl Emit<'_> {
    fn plain(&mut self, word: Word, label: Option<usize>) {
        self.cf.push(Cf { word, clause: None, label, span: Span::NONE });
    }

    fn label(&mut self) -> usize {
        self.labels.push(None);
        self.labels.len() - 1
    }

    fn bind(&mut self, l: usize) {
        self.labels[l] = Some(self.cf.len() as u32);
    }

    fn steps(&mut self, steps: &[Step]) {
        for s in steps {
            match s {
                Step::Code(_) => self.code(),
                Step::If { then, other } => self.branch(then, other),
                Step::Loop(body, _) => {
                    let (end, after) = (self.label(), self.label());
                    self.plain(word!(cf::LOOP_START_DX10 {}), Some(after));
                    let start = self.label();
                    self.bind(start);
                    self.meet();
                    self.loops.push(end);
                    self.loop_starts.push(self.cf.len());
                    self.steps(body);
                    let first = self.loop_starts.pop().unwrap_or(0);
                    self.loops.pop();
                    self.bind(end);
                    self.plain(word!(cf::LOOP_END {}), Some(start));
                    self.bind(after);
                    self.meet();
                    if self.quads_until.is_some_and(|u| u >= first) {
                        self.quads_until = Some(self.cf.len());
                    }
                }
                Step::BreakUnless => self.set_last(cf_alu::ALU_BREAK),
                Step::ContinueUnless => self.set_last(cf_alu::ALU_CONTINUE),
                Step::Break | Step::Continue => {
                    let end = self.loops.last().copied();
                    self.plain(if matches!(s, Step::Break) { word!(cf::LOOP_BREAK {}) } else { word!(cf::LOOP_CONTINUE {}) }, end);
                }
            }
        }
    }

    /// Where control flow meets, some path may come with a write to scratch memory.
    fn meet(&mut self) {
        self.unacknowledged |= self.mir.scratch > 0;
    }

    /// Makes another kind of ALU clause of the last one.
    fn set_last(&mut self, form: FormId) {
        if let Some(c) = self.cf.last_mut() {
            c.word.form = form;
        }
    }

    fn branch(&mut self, then: &[Step], other: &[Step]) {
        let empty = |s: &[Step], e: &Emit<'_>| {
            let n = count_leaves(s);
            s.iter().all(|x| matches!(x, Step::Code(_))) && n == 0 || s.iter().all(|x| matches!(x, Step::Code(_))) && e.upcoming_empty(n)
        };
        self.set_last(cf_alu::ALU_PUSH_BEFORE);
        let (no_then, skip) = (empty(then, self), count_leaves(then));
        let saved = self.leaf;
        self.leaf += skip;
        let no_other = empty(other, self);
        self.leaf = saved;
        let (to_else, after) = (self.label(), self.label());
        if !no_then {
            if no_other {
                self.plain(word!(cf::JUMP { POP_COUNT: 1 }), Some(after));
            } else {
                self.plain(word!(cf::JUMP {}), Some(to_else));
            }
        }
        let body = self.cf.len();
        self.steps(then);
        if !no_then {
            self.drop_jump(body);
        }
        if !no_other {
            self.bind(to_else);
            self.plain(word!(cf::ELSE { POP_COUNT: 1 }), Some(after));
        }
        self.meet();
        self.steps(other);
        self.meet();
        // A label at this place would miss a pop that moved into the clause before it.
        let here = self.cf.len() as u32;
        let free = !self.labels.contains(&Some(here));
        let last = self.cf.last().map(|c| c.word.form);
        if free && last == Some(cf_alu::ALU) {
            self.set_last(cf_alu::ALU_POP_AFTER);
        } else if free && last == Some(cf_alu::ALU_POP_AFTER) {
            self.set_last(cf_alu::ALU_POP2_AFTER);
        } else {
            let next = self.label();
            self.plain(word!(cf::POP { POP_COUNT: 1 }), Some(next));
            self.bind(next);
        }
        self.bind(after);
    }

    /// Removes the jump before a body of one or two clauses: without active lanes these are skipped just as fast.
    fn drop_jump(&mut self, body: usize) {
        let short = self.cf.len() <= body + 2;
        let plain = |c: &Cf| matches!(c.word.form, cf_alu::ALU | cf::TEX | cf::VTX);
        let inner = self.labels.iter().flatten().any(|l| *l as usize >= body);
        if body == 0 || self.cf[body - 1].word.form != cf::JUMP || !short || inner || !self.cf[body..].iter().all(plain) {
            return;
        }
        self.cf.remove(body - 1);
        if let Some(u) = &mut self.quads_until
            && *u >= body
        {
            *u -= 1;
        }
    }

    fn upcoming_empty(&self, n: usize) -> bool {
        self.leaves[self.leaf..self.leaf + n].iter().all(|l| l.items.is_empty())
    }

    fn code(&mut self) {
        let k = self.leaf;
        self.leaf += 1;
        let leaf = &self.leaves[k];
        let mut open: Option<Open> = None;
        for (n, item) in leaf.items.iter().enumerate() {
            if !matches!(item, Item::Group(_)) {
                self.close(k, &mut open);
            }
            match item {
                Item::Group(g) => {
                    let span = leaf.ops[g.slots[0].op].span;
                    let open = open.get_or_insert_with(|| Open { groups: Vec::new(), lines: Lines::default(), span });
                    for s in &g.slots {
                        for x in &s.src {
                            if let Place::Const(b, i, _) = x.place {
                                open.lines.insert(b, i / 16);
                            }
                        }
                    }
                    open.groups.push(n);
                }
                Item::Cut => {}
                Item::Fetch(list) => self.fetch_clause(leaf, list),
                Item::Control(i) => self.control(leaf, *i),
            }
        }
        self.close(k, &mut open);
    }

    /// Encodes an ALU clause of a piece of code, now that its constant lines are known.
    fn close(&mut self, k: usize, open: &mut Option<Open>) {
        let Some(Open { groups, lines, span }) = open.take() else { return };
        let sets = lines.sets().unwrap_or_default();
        let mut clause = Clause::default();
        let leaf = &self.leaves[k];
        for n in groups {
            let Item::Group(g) = &leaf.items[n] else { continue };
            let group = self.group(k, n, g, &sets);
            self.counts.groups += 1;
            self.counts.slots += group.slots.len() as u64;
            self.counts.literals += group.literals.len().div_ceil(2) as u64 * 2;
            if g.slots.iter().any(|s| leaf.ops[s.op].kind == Kind::Kill) {
                self.kills = true;
                self.killed_at.get_or_insert(self.cf.len());
            }
            let branch = g.slots.iter().find_map(|s| leaf.ops[s.op].decides());
            match group.encode() {
                Ok(words) => clause.parts.push(Part { words, span: leaf.ops[g.slots[0].op].span, branch }),
                Err(e) => self.error = Some(e),
            }
            clause.touched.group(&group);
        }
        let mut word = word!(cf_alu::ALU { COUNT: clause.words() as u64 / 2 - 1 });
        let places = [
            [field!(cf_alu::ALU.KCACHE_BANK0), field!(cf_alu::ALU.KCACHE_MODE0), field!(cf_alu::ALU.KCACHE_ADDR0)],
            [field!(cf_alu::ALU.KCACHE_BANK1), field!(cf_alu::ALU.KCACHE_MODE1), field!(cf_alu::ALU.KCACHE_ADDR1)],
        ];
        for ((bank, first, lines), [to_bank, to_mode, to_address]) in sets.iter().zip(places) {
            (word[to_bank], word[to_mode], word[to_address]) = (*bank as u64, *lines as u64, *first as u64);
        }
        self.cf.push(Cf { word, clause: Some(self.clauses.len()), label: None, span });
        self.clauses.push(clause);
        self.counts.clauses += 1;
    }

    fn gpr(&self, w: Web) -> u8 {
        self.place.gpr[w.0 as usize].unwrap_or(0)
    }

    fn group(&self, k: usize, n: usize, g: &crate::place::sched::Group, sets: &[(u8, u16, u8)]) -> Group {
        let mut literals = g.literals.clone();
        if literals.len() % 2 == 1 {
            literals.push(0);
        }
        let mut out = Group { slots: SmallVec::new(), literals };
        for (i, s) in g.slots.iter().enumerate() {
            let mut a = Alu::new(s.form);
            let float = a.alu().operands == Number::Float;
            for (x, o) in s.src.iter().enumerate() {
                a.src[x] = self.source(s, x, o, float, sets, &g.literals);
            }
            a.chan = s.chan;
            a.bank = s.bank;
            a.omod = s.omod;
            a.clamp = s.clamp;
            a.update_exec = s.pred;
            a.update_pred = s.pred;
            let dead = self.place.dead.contains(&(k, n, i));
            match (s.dst, s.store) {
                (_, Some((local, offset, chan, rel))) => {
                    a.dst = self.place.locals[local as usize] + offset;
                    a.chan = chan;
                    a.dst_rel = rel;
                }
                (Some(w), _) if !dead => a.dst = self.gpr(w),
                _ => a.write = a.info().format == Format::Op3,
            }
            out.slots.push(a);
        }
        // A move to where its value lies already, unless the next group takes it from PV or PS, or an operation is in T because the
        // move has its channel's unit.
        let next = if let Some(Item::Group(next)) = self.leaves[k].items.get(n + 1) { &next.slots[..] } else { &[] };
        let needed = |m: &Slot| {
            next.iter().any(|s| s.forward.contains(&Some(m.unit))) || m.unit < 4 && g.slots.iter().any(|s| s.unit == 4 && s.chan == m.chan)
        };
        let mut idle: SmallVec<[bool; 5]> = out.slots.iter().zip(&g.slots).map(|(a, s)| a.is_idle() && !needed(s)).collect();
        if idle.iter().all(|i| *i) {
            idle[0] = false;
        }
        let mut idle = idle.into_iter();
        out.slots.retain(|_| idle.next() == Some(false));
        if let Some(last) = out.slots.last_mut() {
            last.last = true;
        }
        out
    }

    fn source(&self, s: &Slot, k: usize, o: &Opnd, float: bool, sets: &[(u8, u16, u8)], literals: &[u32]) -> Src {
        let mut r = match (o.place, s.forward[k]) {
            (_, Some(4)) => Src::new(sel::PS, 0),
            (_, Some(unit)) => Src::new(sel::PV, unit),
            (Place::Web(w), _) => Src::new(self.gpr(w) as u16, self.mir.webs[w.0 as usize].chan.unwrap_or(0)),
            (Place::Const(bank, index, chan), _) => {
                let line = index / 16;
                let set = sets.iter().position(|(b, l, n)| *b == bank && line >= *l && line < *l + *n as u16).unwrap_or(0);
                let base = if set == 0 { sel::KCACHE0 } else { sel::KCACHE1 };
                Src::new(base + index - sets.get(set).map_or(0, |s| s.1 * 16), chan)
            }
            (Place::Bits(b), _) => match inline_constant(b, float) {
                Some((sel, neg)) => Src { neg, ..Src::new(sel, 0) },
                None => match literals.iter().position(|l| *l == b) {
                    Some(c) => Src::new(sel::LITERAL, c as u8),
                    None => {
                        let c = literals.iter().position(|l| *l == b ^ 0x8000_0000).unwrap_or(0);
                        Src { neg: true, ..Src::new(sel::LITERAL, c as u8) }
                    }
                },
            },
            (Place::Array { local, offset, chan, rel }, _) => {
                Src { rel, ..Src::new((self.place.locals[local as usize] + offset) as u16, chan) }
            }
        };
        // Known bits carry their sign already; modifiers apply to the rest.
        if !matches!(o.place, Place::Bits(_)) {
            (r.neg, r.abs) = (o.neg, o.abs);
        }
        r
    }

    fn select(&self, c: &Coord) -> u64 {
        match c {
            Coord::Web(w) => self.mir.webs[w.0 as usize].chan.unwrap_or(0) as u64,
            Coord::Zero => 4,
            Coord::One => 5,
            Coord::Masked => 7,
        }
    }

    fn fetch_clause(&mut self, leaf: &Leaf, list: &[usize]) {
        let memory = list.iter().any(|i| TABLE.form(leaf.ops[*i].fetch_form()).ext.format == Format::MemRd);
        if memory && std::mem::take(&mut self.unacknowledged) {
            self.plain(word!(cf::WAIT_ACK {}), None);
        }
        let mut clause = Clause { fetch: true, ..Clause::default() };
        let mut textures = self.mir.emulators;
        for i in list {
            let Kind::Fetch(f) = &leaf.ops[*i].kind else { continue };
            let texture = TABLE.form(f.word.form).spaces == forms::TEX;
            textures |= texture;
            let mut w = f.word.clone();
            let src = f.src.iter().find_map(|c| if let Coord::Web(w) = c { Some(self.gpr(*w)) } else { None }).unwrap_or(0);
            // A result channel takes the component whose web lives in it.
            let mut dst = None;
            let mut picks = [7u64; 4];
            for (component, w) in f.dst.iter().enumerate() {
                if let Some(w) = w
                    && let Some(r) = self.place.gpr[w.0 as usize]
                {
                    dst = Some(r);
                    picks[self.mir.webs[w.0 as usize].chan.unwrap_or(0) as usize & 3] = component as u64;
                }
            }
            let mut values = vec![(field!(SRC_GPR), src as u64), (field!(DST_GPR), dst.unwrap_or(0) as u64)];
            values.extend(DST_SEL.into_iter().zip(picks));
            // Texture fetches take four coordinates, the others an index.
            let (count, none) = if texture { (4, 4) } else { (1, 0) };
            values.extend(SRC_SEL.into_iter().take(count).enumerate().map(|(n, at)| (at, f.src.get(n).map_or(none, |c| self.select(c)))));
            for (at, value) in values {
                if let Err(e) = TABLE.set(&mut w, at, value) {
                    self.error = Some(e);
                }
            }
            if f.whole_quad {
                self.quads_until = Some(self.cf.len() + 1);
            }
            match TABLE.encode_word(&w) {
                Ok(w) => {
                    let words = (0..4).map(|n| (w >> (32 * n)) as u32).collect();
                    clause.parts.push(Part { words, span: leaf.ops[*i].span, branch: None });
                }
                Err(e) => self.error = Some(e),
            }
            clause.touched.fetch(&w);
            self.counts.fetches += 1;
        }
        let n = list.len() as u64 - 1;
        let span = leaf.ops[list[0]].span;
        let mut word = if textures { word!(cf::TEX {}) } else { word!(cf::VTX {}) };
        (word[field!(cf::TEX.COUNT)], word[field!(cf::TEX.COUNT_3)]) = (n & 7, n >> 3);
        self.cf.push(Cf { word, clause: Some(self.clauses.len()), label: None, span });
        self.clauses.push(clause);
        self.counts.clauses += 1;
    }

    fn control(&mut self, leaf: &Leaf, i: usize) {
        match &leaf.ops[i].kind {
            Kind::Export(e) => {
                let gpr = e.src.iter().find_map(|c| if let Coord::Web(w) = c { Some(self.gpr(*w)) } else { None }).unwrap_or(0);
                let mut word = word!(exp_swiz::EXPORT { TYPE: e.kind, ARRAY_BASE: e.base, RW_GPR: gpr, ELEM_SIZE: 3 });
                for (at, c) in EXPORT_SEL.into_iter().zip(&e.src) {
                    word[at] = self.select(c);
                }
                // Consecutive registers to consecutive targets with one swizzle are a burst.
                let alone = self.mir.emulators && e.kind == PARAMETER;
                if let Some(last) = self.cf.last_mut().filter(|c| !alone && c.word.form == exp_swiz::EXPORT) {
                    let next = |at: FieldIndex| last.word[at] + last.word[BURST] + 1 == word[at];
                    let sel = EXPORT_SEL.map(|at| one_select(e.kind, last.word[at], word[at]));
                    if last.word[TYPE] == word[TYPE]
                        && next(BASE)
                        && next(field!(exp_swiz::EXPORT.RW_GPR))
                        && last.word[BURST] < 15
                        && let [Some(x), Some(y), Some(z), Some(w)] = sel
                    {
                        last.word[BURST] += 1;
                        EXPORT_SEL.into_iter().zip([x, y, z, w]).for_each(|(at, s)| last.word[at] = s);
                        return;
                    }
                }
                self.cf.push(Cf { word, clause: None, label: None, span: leaf.ops[i].span });
            }
            Kind::Write(e) => {
                let gpr = e.src.iter().flatten().next().map_or(0, |w| self.gpr(*w));
                let mask = e.src.iter().enumerate().map(|(c, w)| (w.is_some() as u64) << c).sum::<u64>();
                let mut word = word!(exp_buf::MEM_RING {
                    TYPE: e.kind,
                    ARRAY_BASE: e.base,
                    RW_GPR: gpr,
                    INDEX_GPR: e.index.map_or(0, |w| self.gpr(w)),
                    ELEM_SIZE: 3,
                    ARRAY_SIZE: 0xfff,
                    COMP_MASK: mask,
                });
                word.form = e.form;
                self.unacknowledged |= e.kind > 1;
                if mask != 0 {
                    self.cf.push(Cf { word, clause: None, label: None, span: leaf.ops[i].span });
                }
            }
            Kind::Control(form) => self.plain(Word::new(FORMS, *form, &[]), None),
            _ => {}
        }
    }

    fn finish(mut self) -> Result<Emitted, LayoutError<Span>> {
        let mut out = Emitted::default();
        // The last export of each type is marked, the last instruction ends the program.
        for kind in 0..3u64 {
            if let Some(c) = self.cf.iter_mut().rev().find(|c| c.word.form == exp_swiz::EXPORT && c.word[TYPE] == kind) {
                c.word.form = exp_swiz::EXPORT_DONE;
            }
        }
        let ends = [cf::TEX, cf::VTX, cf::EMIT_VERTEX, cf::CUT_VERTEX];
        if !self.cf.last().is_some_and(|c| c.is_export() || ends.contains(&c.word.form)) {
            self.plain(word!(cf::NOP {}), None);
        }
        if let Some(c) = self.cf.last_mut() {
            set(&mut c.word, field!(END_OF_PROGRAM), 1u64)?;
        }
        self.modes()?;
        for c in self.cf.iter().filter(|c| c.is_export()) {
            match c.word[TYPE] {
                0 if c.word[BASE] >= 61 => out.depth = true,
                0 => out.colors = out.colors.max((c.word[BASE] + c.word[BURST]) as u32 + 1),
                _ => {}
            }
        }
        if let Some(error) = self.error.take() {
            return Err(LayoutError::Encode { at: 0, error, span: Span::NONE });
        }
        for (c, wait) in self.barriers().into_iter().enumerate() {
            set(&mut self.cf[c].word, field!(BARRIER), wait)?;
        }
        let mut code: Layout<Info, Span> = Layout::new(&TABLE);
        let marks: Vec<Label> = (0..=self.cf.len()).map(|_| code.label()).collect();
        let clauses: Vec<Label> = self.clauses.iter().map(|_| code.label()).collect();
        self.counts.cf = self.cf.len() as u64;
        for (c, mark) in self.cf.iter().zip(&marks) {
            code.bind(*mark);
            let to = c.clause.map(|k| clauses[k]).or(c.label.and_then(|l| self.labels[l]).map(|at| marks[at as usize]));
            match (to, TABLE.position(c.word.form, field!(ADDR))) {
                (Some(to), Some(at)) => code.branch(c.word.clone(), Fixup::absolute(at, to, 8), c.span),
                _ => code.push(c.word.clone(), c.span),
            }
        }
        code.bind(marks[self.cf.len()]);
        let mut branches: Vec<(Label, Block)> = Vec::new();
        for k in self.order() {
            let clause = &self.clauses[k];
            if clause.fetch {
                code.align(16);
            }
            code.bind(clauses[k]);
            let mut bytes: Vec<u8> = Vec::new();
            for Part { words, span, branch } in &clause.parts {
                if let Some(block) = branch {
                    let here = code.label();
                    code.bind(here);
                    branches.push((here, *block));
                }
                bytes.clear();
                words.iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
                code.data(&bytes, *span);
            }
        }
        let done = code.finish(&Rule { align: |_| 1, filler: Filler::Zero })?;
        out.words = done.bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        out.branches = branches.into_iter().filter_map(|(at, block)| Some((done.offset(at)?, block))).collect();
        out.map = done.source_map;
        out.counts = self.counts;
        out.scratch = self.mir.scratch;
        out.kills = self.kills;
        Ok(out)
    }

    /// The valid-pixel mode of the clauses. None is in whole-quad mode, which would execute it for lanes that are in another arm: pixels that
    /// only help their quad run anyway.
    fn modes(&mut self) -> Result<(), LayoutError<Span>> {
        // Killed lanes fetch nothing any more, unless their quad needs it; but what they hold then must not steer a loop.
        let last_loop = self.cf.iter().rposition(|c| matches!(c.word.form, cf::LOOP_START_DX10 | cf::LOOP_END));
        let killed = self.killed_at.map(|k| k.max(last_loop.unwrap_or(0)));
        for (i, c) in self.cf.iter_mut().enumerate() {
            if matches!(c.word.form, cf::TEX | cf::VTX) && killed.is_some_and(|k| i > k) && self.quads_until.is_none_or(|u| i >= u) {
                set(&mut c.word, field!(VALID_PIXEL_MODE), 1u64)?;
            }
        }
        Ok(())
    }

    /// Which control-flow instructions must wait for those before them.
    fn barriers(&self) -> Vec<bool> {
        let targets: BTreeSet<u32> = self.cf.iter().filter_map(|c| self.labels[c.label?]).collect();
        let touched = |c: &Cf| match c.clause {
            // Other kinds of ALU clauses change masks or the stack.
            Some(k) if matches!(c.word.form, cf_alu::ALU | cf::TEX | cf::VTX) => Some(self.clauses[k].touched),
            None if c.is_export() => Some(Touched::export(c.get(field!(RW_GPR)), c.word[BURST])),
            _ => None,
        };
        let list: Vec<Option<Touched>> =
            self.cf.iter().enumerate().map(|(i, c)| touched(c).filter(|_| !targets.contains(&(i as u32)))).collect();
        barrier::needed(&list)
    }

    /// The order of the clauses: fetch clauses, which begin on even addresses, behind an odd-sized ALU clause where the
    /// control-flow list is odd.
    fn order(&self) -> Vec<usize> {
        let (fetches, mut rest): (Vec<usize>, Vec<usize>) = (0..self.clauses.len()).partition(|k| self.clauses[*k].fetch);
        let mut out = Vec::new();
        if !fetches.is_empty() && !self.cf.len().is_multiple_of(2) {
            let odd = rest.iter().position(|k| !(self.clauses[*k].words() / 2).is_multiple_of(2));
            out.extend(odd.map(|p| rest.remove(p)));
        }
        out.extend(fetches.into_iter().chain(rest));
        out
    }
}

/// The select that serves a lane of two exports in a burst. Parameter lanes that the program does not write may hold anything: nobody
/// reads them.
fn one_select(kind: u8, a: u64, b: u64) -> Option<u64> {
    const MASKED: u64 = 7;
    match (a, b) {
        _ if a == b => Some(a),
        (MASKED, x) | (x, MASKED) if kind == PARAMETER => Some(x),
        _ => None,
    }
}

/// Sets a field of a word that must have it.
fn set(word: &mut Word, field: FieldName, value: impl FieldValue) -> Result<(), LayoutError<Span>> {
    TABLE.set(word, field, value).map_err(|error| LayoutError::Encode { at: 0, error, span: Span::NONE })
}

fn count_leaves(steps: &[Step]) -> usize {
    steps
        .iter()
        .map(|s| match s {
            Step::Code(_) => 1,
            Step::If { then, other } => count_leaves(then) + count_leaves(other),
            Step::Loop(b, _) => count_leaves(b),
            _ => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::forms::op2;
    use crate::place::sched::Slot;
    use crate::select::mir::WebInfo;

    #[test]
    fn the_stack_holds_what_is_nested() {
        let inside = |steps: Vec<Step>| vec![Step::If { then: steps, other: Vec::new() }];
        let nested = |n: usize| (0..n).fold(Vec::new(), |steps, _| inside(steps));
        assert_eq!((0..8).map(|n| stack_entries(&nested(n), 4)).collect::<Vec<_>>(), [0, 1, 1, 2, 2, 2, 2, 3]);
        // A loop is an entry of its own.
        assert_eq!([0, 1, 3].map(|n| stack_entries(&[Step::Loop(nested(n), Block::from_u32(0))], 4)), [1, 2, 3]);
    }
    #[test]
    fn a_move_that_changes_nothing_goes_unless_the_next_group_takes_it() {
        let web = |n: u32| Opnd::web(Web(n));
        let copy = |to: u32, from: u32, unit: u8, chan: u8, forward: Option<u8>| Slot {
            op: 0,
            form: op2::MOV,
            src: SmallVec::from_slice(&[web(from)]),
            forward: [forward, None, None],
            dst: Some(Web(to)),
            store: None,
            unit,
            chan,
            bank: 0,
            pred: false,
            omod: 0,
            clamp: false,
        };
        let group = |slots: &[Slot]| crate::place::sched::Group { slots: slots.to_vec(), ..Default::default() };
        let channel = |chan| WebInfo { chan: Some(chan), ..WebInfo::default() };
        // The first two webs lie in one place.
        let mir = Mir { webs: vec![channel(0), channel(0), channel(1), channel(2)], ..Mir::default() };
        let mut place = Placement::default();
        place.gpr = vec![Some(5), Some(5), Some(5), Some(5)];
        let left = |first: &[Slot], forward: Option<u8>| {
            let (first, second) = (group(first), group(&[copy(3, 1, 2, 2, forward)]));
            let leaves = [Leaf { items: vec![Item::Group(first.clone()), Item::Group(second)], ..Leaf::default() }];
            Emit::new(&mir, &leaves, &place).group(0, 0, &first, &[]).slots.len()
        };
        let idle = copy(1, 0, 0, 0, None);
        assert_eq!(left(&[idle.clone(), copy(2, 3, 1, 1, None)], None), 1);
        assert_eq!(left(&[idle.clone(), copy(2, 3, 1, 1, None)], Some(0)), 2);
        // An operation is in T because the move has the unit of its channel.
        assert_eq!(left(&[idle, copy(0, 2, 4, 0, None)], None), 2);
    }
}
