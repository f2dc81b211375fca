//! Emission: schedule and registers become encoded groups, clauses and the control-flow list.

pub mod barrier;

use crate::isa::forms::{self, Format, TABLE};
use crate::isa::word::{Alu, Group, Src, sel};
use crate::place::sched::{Item, Lines, Slot};
use crate::place::{Leaf, Placement};
use crate::select::mir::*;
use retroshade_emit::form::EncodeError;
use retroshade_ir::{Span, Stage};
use smallvec::SmallVec;

/// A clause's words and its place.
#[derive(Clone, Debug, Default)]
struct Clause {
    words: Vec<u32>,
    fetch: bool,
    /// Address in 64-bit units.
    at: u32,
}

/// A control-flow instruction before addresses are known.
#[derive(Clone, Debug)]
struct Cf {
    form: &'static str,
    fields: Vec<(&'static str, u64)>,
    clause: Option<usize>,
    label: Option<usize>,
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
}

/// An emitted program.
#[derive(Clone, Debug, Default)]
pub struct Emitted {
    /// The words.
    pub words: Vec<u32>,
    /// Sizes.
    pub counts: Counts,
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
    whole_quad_until: Option<usize>,
    loop_starts: Vec<usize>,
    kills: bool,
    /// The control-flow instruction that first kills.
    killed_at: Option<usize>,
    spans: Vec<(usize, usize, Span)>,
    /// Whether a write to scratch memory may still be on its way.
    unacknowledged: bool,
}

/// Emits a program.
pub fn emit(mir: &Mir, leaves: &[Leaf], place: &Placement, stage: Stage, fetch_shader: bool) -> Result<Emitted, EncodeError> {
    let mut e = Emit {
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
        whole_quad_until: None,
        loop_starts: Vec::new(),
        kills: false,
        killed_at: None,
        spans: Vec::new(),
        unacknowledged: false,
    };
    if fetch_shader {
        e.plain("CF:CALL_FS", vec![], None);
    }
    e.steps(&mir.steps);
    let stack = stack_entries(&mir.steps, e.whole_quad_until.is_some()).max(fetch_shader as u64);
    e.counts.stack = stack;

    e.finish(stage)
}

/// STACK_SIZE: loops take an entry of four elements, pushes one element (an entry in whole-quad mode), and the first push two more.
fn stack_entries(steps: &[Step], whole_quad: bool) -> u64 {
    fn walk(steps: &[Step], loops: u64, pushes: u64, wqm: bool, most: &mut u64) {
        let note = |loops: u64, pushes: u64, most: &mut u64| {
            let elements = if wqm { 4 * (loops + pushes) } else { 4 * loops + pushes + if pushes > 0 { 2 } else { 0 } };
            *most = (*most).max(elements.div_ceil(4));
        };
        for s in steps {
            match s {
                Step::If { then, other } => {
                    note(loops, pushes + 1, most);
                    walk(then, loops, pushes + 1, wqm, most);
                    walk(other, loops, pushes + 1, wqm, most);
                }
                Step::Loop(body) => {
                    note(loops + 1, pushes, most);
                    walk(body, loops + 1, pushes, wqm, most);
                }
                Step::BreakUnless | Step::ContinueUnless => note(loops, pushes + 1, most),
                _ => {}
            }
        }
    }
    let mut most = 0;
    walk(steps, 0, 0, whole_quad, &mut most);
    most
}

impl Emit<'_> {
    fn plain(&mut self, form: &'static str, fields: Vec<(&'static str, u64)>, label: Option<usize>) {
        self.cf.push(Cf { form, fields, clause: None, label, span: Span::NONE });
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
                Step::Loop(body) => {
                    let (end, after) = (self.label(), self.label());
                    self.plain("CF:LOOP_START_DX10", vec![], Some(after));
                    let start = self.label();
                    self.bind(start);
                    self.meet();
                    self.loops.push(end);
                    self.loop_starts.push(self.cf.len());
                    self.steps(body);
                    let first = self.loop_starts.pop().unwrap_or(0);
                    self.loops.pop();
                    self.bind(end);
                    self.plain("CF:LOOP_END", vec![], Some(start));
                    self.bind(after);
                    self.meet();
                    if self.whole_quad_until.is_some_and(|u| u >= first) {
                        self.whole_quad_until = Some(self.cf.len());
                    }
                }
                Step::BreakUnless => self.set_last("CF_ALU:ALU_BREAK"),
                Step::ContinueUnless => self.set_last("CF_ALU:ALU_CONTINUE"),
                Step::Break | Step::Continue => {
                    let end = self.loops.last().copied();
                    self.plain(if matches!(s, Step::Break) { "CF:LOOP_BREAK" } else { "CF:LOOP_CONTINUE" }, vec![], end);
                }
            }
        }
    }

    /// Where control flow meets, some path may come with a write to scratch memory.
    fn meet(&mut self) {
        self.unacknowledged |= self.mir.scratch > 0;
    }

    fn set_last(&mut self, form: &'static str) {
        if let Some(c) = self.cf.last_mut() {
            c.form = form;
        }
    }

    fn branch(&mut self, then: &[Step], other: &[Step]) {
        let empty = |s: &[Step], e: &Emit<'_>| {
            let n = count_leaves(s);
            s.iter().all(|x| matches!(x, Step::Code(_))) && n == 0 || s.iter().all(|x| matches!(x, Step::Code(_))) && e.upcoming_empty(n)
        };
        self.set_last("CF_ALU:ALU_PUSH_BEFORE");
        let (no_then, skip) = (empty(then, self), count_leaves(then));
        let saved = self.leaf;
        self.leaf += skip;
        let no_other = empty(other, self);
        self.leaf = saved;
        let (to_else, after) = (self.label(), self.label());
        if !no_then {
            if no_other {
                self.plain("CF:JUMP", vec![("POP_COUNT", 1)], Some(after));
            } else {
                self.plain("CF:JUMP", vec![], Some(to_else));
            }
        }
        let body = self.cf.len();
        self.steps(then);
        if !no_then {
            self.drop_jump(body);
        }
        if !no_other {
            self.bind(to_else);
            self.plain("CF:ELSE", vec![("POP_COUNT", 1)], Some(after));
        }
        self.meet();
        self.steps(other);
        self.meet();
        // A label at this place would miss a pop that moved into the clause before it.
        let here = self.cf.len() as u32;
        let free = !self.labels.contains(&Some(here));
        let last = self.cf.last().map_or("", |c| c.form);
        if free && last == "CF_ALU:ALU" {
            self.set_last("CF_ALU:ALU_POP_AFTER");
        } else if free && last == "CF_ALU:ALU_POP_AFTER" {
            self.set_last("CF_ALU:ALU_POP2_AFTER");
        } else {
            let next = self.label();
            self.plain("CF:POP", vec![("POP_COUNT", 1)], Some(next));
            self.bind(next);
        }
        self.bind(after);
    }

    /// Removes the jump before a body of one or two clauses: without active lanes these are skipped just as fast.
    fn drop_jump(&mut self, body: usize) {
        let short = self.cf.len() <= body + 2;
        let plain = |c: &Cf| matches!(c.form, "CF_ALU:ALU" | "CF:TEX" | "CF:VTX");
        let inner = self.labels.iter().flatten().any(|l| *l as usize >= body);
        if body == 0 || self.cf[body - 1].form != "CF:JUMP" || !short || inner || !self.cf[body..].iter().all(plain) {
            return;
        }
        self.cf.remove(body - 1);
        if let Some(u) = &mut self.whole_quad_until
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
        let mut open: Option<(Clause, Lines, Span)> = None;
        for (n, item) in leaf.items.iter().enumerate() {
            if !matches!(item, Item::Group(_)) {
                self.close(&mut open);
            }
            match item {
                Item::Group(g) => {
                    let (clause, lines, _) =
                        open.get_or_insert_with(|| (Clause::default(), Lines::default(), leaf.ops[g.slots[0].op].span));
                    for s in &g.slots {
                        for x in &s.src {
                            if let Place::Const(b, i, _) = x.place {
                                lines.insert(b, i / 16);
                            }
                        }
                    }
                    clause.words.push(k as u32);
                    clause.words.push(n as u32);
                }
                Item::Cut => {}
                Item::Fetch(list) => self.fetch_clause(leaf, list),
                Item::Control(i) => self.control(leaf, *i),
            }
        }
        self.close(&mut open);
    }

    /// Encodes an ALU clause whose groups were noted as (leaf, item), now that its constant lines are known.
    fn close(&mut self, open: &mut Option<(Clause, Lines, Span)>) {
        let Some((mut clause, lines, span)) = open.take() else { return };
        let sets = lines.sets().unwrap_or_default();
        let groups: Vec<(usize, usize)> = clause.words.as_chunks::<2>().0.iter().map(|c| (c[0] as usize, c[1] as usize)).collect();
        clause.words.clear();
        let leaves = self.leaves;
        for (k, n) in groups {
            if let Item::Group(g) = &leaves[k].items[n] {
                let group = self.group(k, n, g, &sets);
                self.counts.groups += 1;
                self.counts.slots += group.slots.len() as u64;
                self.counts.literals += group.literals.len().div_ceil(2) as u64 * 2;
                if g.slots.iter().any(|s| leaves[k].ops[s.op].kind == Kind::Kill) {
                    self.kills = true;
                    self.killed_at.get_or_insert(self.cf.len());
                }
                let at = clause.words.len();
                match group.encode() {
                    Ok(w) => clause.words.extend(w),
                    Err(e) => self.error = Some(e),
                }
                self.spans.push((self.clauses.len(), at, leaves[k].ops[g.slots[0].op].span));
            }
        }
        let mut fields = vec![("COUNT", clause.words.len() as u64 / 2 - 1)];
        for (s, names) in
            sets.iter().zip([["KCACHE_BANK0", "KCACHE_MODE0", "KCACHE_ADDR0"], ["KCACHE_BANK1", "KCACHE_MODE1", "KCACHE_ADDR1"]])
        {
            fields.extend([(names[0], s.0 as u64), (names[1], s.2 as u64), (names[2], s.1 as u64)]);
        }
        self.cf.push(Cf { form: "CF_ALU:ALU", fields, clause: Some(self.clauses.len()), label: None, span });
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
            let float = float_operands(a.info().short);
            for (x, o) in s.src.iter().enumerate() {
                a.src[x] = self.source(s, x, o, float, sets, &g.literals);
            }
            a.chan = s.chan;
            a.bank = s.bank;
            a.last = i + 1 == g.slots.len();
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
        let memory = list.iter().any(|i| TABLE.form(leaf.ops[*i].form_of_fetch()).ext.format == Format::MemRd);
        if memory && std::mem::take(&mut self.unacknowledged) {
            self.plain("CF:WAIT_ACK", vec![], None);
        }
        let mut clause = Clause { fetch: true, ..Clause::default() };
        let mut texture = true;
        for i in list {
            let Kind::Fetch(f) = &leaf.ops[*i].kind else { continue };
            texture = TABLE.form(f.form).spaces == forms::TEX;
            let mut v: Vec<(&str, u64)> = f.fields.to_vec();
            let src = f.src.iter().find_map(|c| if let Coord::Web(w) = c { Some(self.gpr(*w)) } else { None }).unwrap_or(0);
            v.push(("SRC_GPR", src as u64));
            let names: &[&str] = if texture { &["SRC_SEL_X", "SRC_SEL_Y", "SRC_SEL_Z", "SRC_SEL_W"] } else { &["SRC_SEL_X"] };
            for (n, name) in names.iter().enumerate() {
                v.push((name, f.src.get(n).map_or(if texture { 4 } else { 0 }, |c| self.select(c))));
            }
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
            v.push(("DST_GPR", dst.unwrap_or(0) as u64));
            v.extend(["DST_SEL_X", "DST_SEL_Y", "DST_SEL_Z", "DST_SEL_W"].into_iter().zip(picks));
            if f.whole_quad {
                self.whole_quad_until = Some(self.cf.len() + 1);
            }
            self.spans.push((self.clauses.len(), clause.words.len(), leaf.ops[*i].span));
            match TABLE.encode(f.form, &v) {
                Ok(w) => clause.words.extend((0..4).map(|n| (w >> (32 * n)) as u32)),
                Err(e) => self.error = Some(e),
            }
            self.counts.fetches += 1;
        }
        let n = list.len() as u64 - 1;
        let fields = vec![("COUNT", n & 7), ("COUNT_3", n >> 3)];
        let span = leaf.ops[list[0]].span;
        let form = if texture { "CF:TEX" } else { "CF:VTX" };
        self.cf.push(Cf { form, fields, clause: Some(self.clauses.len()), label: None, span });
        self.clauses.push(clause);
        self.counts.clauses += 1;
    }

    fn control(&mut self, leaf: &Leaf, i: usize) {
        match &leaf.ops[i].kind {
            Kind::Export(e) => {
                let gpr = e.src.iter().find_map(|c| if let Coord::Web(w) = c { Some(self.gpr(*w)) } else { None }).unwrap_or(0);
                let mut fields = vec![
                    ("TYPE", e.kind as u64),
                    ("ARRAY_BASE", e.base as u64),
                    ("RW_GPR", gpr as u64),
                    ("ELEM_SIZE", 3),
                    ("BURST_COUNT", 0),
                ];
                fields.extend(["SEL_X", "SEL_Y", "SEL_Z", "SEL_W"].into_iter().zip(e.src.iter().map(|c| self.select(c))));
                // Consecutive registers to consecutive targets with one swizzle are a burst.
                if let Some(last) = self.cf.last_mut().filter(|c| c.form == "EXP_SWIZ:EXPORT") {
                    let get = |c: &[(&str, u64)], n: &str| c.iter().find(|f| f.0 == n).map_or(0, |f| f.1);
                    let burst = get(&last.fields, "BURST_COUNT");
                    let same = last.fields[5..] == fields[5..] && last.fields[0] == fields[0];
                    let next = get(&last.fields, "ARRAY_BASE") + burst + 1 == e.base as u64
                        && get(&last.fields, "RW_GPR") + burst + 1 == gpr as u64;
                    if same && next && burst < 15 {
                        last.fields[4].1 += 1;
                        return;
                    }
                }
                self.cf.push(Cf { form: "EXP_SWIZ:EXPORT", fields, clause: None, label: None, span: leaf.ops[i].span });
            }
            Kind::Write(e) => {
                let gpr = e.src.iter().flatten().next().map_or(0, |w| self.gpr(*w));
                let mask = e.src.iter().enumerate().map(|(c, w)| (w.is_some() as u64) << c).sum();
                let fields = vec![
                    ("TYPE", e.kind as u64),
                    ("ARRAY_BASE", e.base as u64),
                    ("RW_GPR", gpr as u64),
                    ("INDEX_GPR", e.index.map_or(0, |w| self.gpr(w)) as u64),
                    ("ELEM_SIZE", 3),
                    ("ARRAY_SIZE", 0xfff),
                    ("COMP_MASK", mask),
                ];
                self.unacknowledged |= e.kind > 1;
                if mask != 0 {
                    self.cf.push(Cf { form: e.form, fields, clause: None, label: None, span: leaf.ops[i].span });
                }
            }
            Kind::Control(name) => self.plain(name, vec![], None),
            _ => {}
        }
    }

    fn finish(mut self, stage: Stage) -> Result<Emitted, EncodeError> {
        let mut out = Emitted::default();
        // The last export of each type is marked, the last instruction ends the program.
        for kind in 0..3u64 {
            if let Some(c) = self.cf.iter_mut().rev().find(|c| c.form == "EXP_SWIZ:EXPORT" && c.fields[0].1 == kind) {
                c.form = "EXP_SWIZ:EXPORT_DONE";
            }
        }
        let ends_well = self
            .cf
            .last()
            .is_some_and(|c| c.form.starts_with("EXP_SWIZ") || matches!(c.form, "CF:TEX" | "CF:VTX" | "CF:EMIT_VERTEX" | "CF:CUT_VERTEX"));
        if !ends_well {
            self.plain("CF:NOP", vec![], None);
        }
        if let Some(c) = self.cf.last_mut() {
            c.fields.push(("END_OF_PROGRAM", 1));
        }
        // Killed lanes fetch nothing any more, unless their quad needs it; but what they hold then must not steer a loop.
        let last_loop = self.cf.iter().rposition(|c| matches!(c.form, "CF:LOOP_START_DX10" | "CF:LOOP_END"));
        let killed = self.killed_at.map(|k| k.max(last_loop.unwrap_or(0)));
        for (i, c) in self.cf.iter_mut().enumerate() {
            c.fields.push(("BARRIER", 1));
            if matches!(c.form, "CF:TEX" | "CF:VTX") && killed.is_some_and(|k| i > k) && self.whole_quad_until.is_none_or(|u| i >= u) {
                c.fields.push(("VALID_PIXEL_MODE", 1));
            }
            let clause = c.clause.is_some();
            if clause && stage == Stage::Fragment && self.whole_quad_until.is_some_and(|u| i < u) {
                c.fields.push(("WHOLE_QUAD_MODE", 1));
            }
            if c.form.starts_with("EXP_SWIZ") {
                let (kind, base, burst) = (c.fields[0].1, c.fields[1].1 as u32, c.fields[4].1 as u32);
                match kind {
                    0 if base >= 61 => out.depth = true,
                    0 => out.colors = out.colors.max(base + burst + 1),
                    _ => {}
                }
            }
        }
        self.layout();
        let mut words = Vec::new();
        for c in &self.cf {
            let mut fields = c.fields.clone();
            if let Some(k) = c.clause {
                fields.push(("ADDR", self.clauses[k].at as u64));
            }
            if let Some(l) = c.label {
                fields.push(("ADDR", self.labels[l].unwrap_or(0) as u64));
            }
            let fields: Vec<(&str, u64)> = fields.into_iter().filter(|f| f.1 != 0).collect();
            let at = words.len() as u32 * 4;
            let w = TABLE.encode(forms::id(c.form), &fields)?;
            words.extend([w as u32, (w >> 32) as u32]);
            out.map.push((at..at + 8, c.span));
        }
        let mut starts: Vec<Vec<(usize, Span)>> = vec![Vec::new(); self.clauses.len()];
        for (k, at, span) in &self.spans {
            starts[*k].push((*at, *span));
        }
        let mut order: Vec<usize> = (0..self.clauses.len()).collect();
        order.sort_by_key(|k| self.clauses[*k].at);
        for k in order {
            words.resize(self.clauses[k].at as usize * 2, 0);
            let starts = &starts[k];
            for (n, (at, span)) in starts.iter().enumerate() {
                let end = starts.get(n + 1).map_or(self.clauses[k].words.len(), |s| s.0);
                let base = words.len();
                out.map.push(((base + at) as u32 * 4..(base + end) as u32 * 4, *span));
            }
            words.extend(&self.clauses[k].words);
        }
        if let Some(e) = self.error {
            return Err(e);
        }
        self.counts.cf = self.cf.len() as u64;
        out.counts = self.counts;
        out.scratch = self.mir.scratch;
        out.kills = self.kills;
        crate::emit::barrier::relax(&mut words);
        out.words = words;
        Ok(out)
    }

    /// Addresses: fetch clauses on even ones, behind an odd-sized ALU clause where the control-flow list is odd.
    fn layout(&mut self) {
        let mut at = self.cf.len() as u32;
        let units = |c: &Clause| c.words.len() as u32 / 2;
        let fetches: Vec<usize> = (0..self.clauses.len()).filter(|k| self.clauses[*k].fetch).collect();
        let mut rest: Vec<usize> = (0..self.clauses.len()).filter(|k| !self.clauses[*k].fetch).collect();
        if !fetches.is_empty() && !at.is_multiple_of(2) {
            match rest.iter().position(|k| !units(&self.clauses[*k]).is_multiple_of(2)) {
                Some(p) => {
                    let k = rest.remove(p);
                    self.clauses[k].at = at;
                    at += units(&self.clauses[k]);
                }
                None => at += 1,
            }
        }
        for k in fetches.into_iter().chain(rest) {
            self.clauses[k].at = at;
            at += units(&self.clauses[k]);
        }
    }
}

fn count_leaves(steps: &[Step]) -> usize {
    steps
        .iter()
        .map(|s| match s {
            Step::Code(_) => 1,
            Step::If { then, other } => count_leaves(then) + count_leaves(other),
            Step::Loop(b) => count_leaves(b),
            _ => 0,
        })
        .sum()
}
