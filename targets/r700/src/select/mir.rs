//! Machine code before scheduling: scalar operations over webs, in a tree of structured control flow.
//!
//! A *web* is a scalar variable: one channel of one register for its whole life. Vectors exist only as *quads*, webs that
//! one export or fetch names together and that therefore share a register, each in a channel of its own.

use crate::isa::forms::{AluInfo, Format, Number, TABLE, op2};
use crate::isa::word::sel;
use retroshade_emit::Word;
use retroshade_emit::form::FormId;
use retroshade_ir::{Block, Span};
use retroshade_lower::pattern::Fired;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A scalar variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Web(pub u32);

/// Webs that share a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quad(pub u32);

/// Where an operand's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A web.
    Web(Web),
    /// A constant of a buffer: buffer number, vec4 index, channel.
    Const(u8, u16, u8),
    /// Bits known at compile time: an inline constant or a literal.
    Bits(u32),
    /// Channel of a register of an array block, plus AR.x if relative: first register of the array, offset, channel.
    Array {
        /// The array.
        local: u8,
        /// Register within it.
        offset: u8,
        /// Channel.
        chan: u8,
        /// Whether AR.x is added.
        rel: bool,
    },
}

/// An operand with float modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Opnd {
    /// Where from.
    pub place: Place,
    /// Negated, after the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
}

impl Opnd {
    /// A web's value.
    pub const fn web(w: Web) -> Opnd {
        Opnd { place: Place::Web(w), neg: false, abs: false }
    }
    /// Known bits.
    pub const fn bits(b: u32) -> Opnd {
        Opnd { place: Place::Bits(b), neg: false, abs: false }
    }
    /// A float constant.
    pub const fn float(x: f32) -> Opnd {
        Opnd::bits(x.to_bits())
    }
    /// The negated operand; folds into known bits.
    pub fn negated(self) -> Opnd {
        match self.place {
            Place::Bits(b) => Opnd::bits(b ^ 0x8000_0000),
            _ => Opnd { neg: !self.neg, ..self },
        }
    }
    /// The absolute value; folds into known bits.
    pub fn absolute(self) -> Opnd {
        match self.place {
            Place::Bits(b) => Opnd::bits(b & 0x7fff_ffff),
            _ => Opnd { neg: false, abs: true, ..self },
        }
    }
    /// Whether a modifier is set.
    pub const fn modified(&self) -> bool {
        self.neg || self.abs
    }
    /// The web, if it is one.
    pub const fn as_web(&self) -> Option<Web> {
        match self.place {
            Place::Web(w) => Some(w),
            _ => None,
        }
    }
}

/// The inline constant for some bits, if there is one: select and whether NEG is needed (only where `float`).
pub fn inline_constant(bits: u32, float: bool) -> Option<(u16, bool)> {
    Some(match bits {
        0 => (sel::ZERO, false),
        0x3f80_0000 => (sel::ONE, false),
        0x3f00_0000 => (sel::HALF, false),
        1 => (sel::ONE_INT, false),
        u32::MAX => (sel::M_ONE_INT, false),
        0x8000_0000 if float => (sel::ZERO, true),
        0xbf80_0000 if float => (sel::ONE, true),
        0xbf00_0000 if float => (sel::HALF, true),
        _ => return None,
    })
}

/// A fetch instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The instruction, still without registers and selects.
    pub word: Word,
    /// Source of each coordinate: a web, or 0.0 or 1.0 by select 4 or 5.
    pub src: SmallVec<[Coord; 4]>,
    /// The quad that holds the coordinates' webs; `None` where all are constant.
    pub quad: Option<Quad>,
    /// For each component of the result, the web that takes it.
    pub dst: [Option<Web>; 4],
    /// Whether it must directly follow the previous fetch in its clause (gradients before their sample).
    pub joined: bool,
    /// Whether its result depends on the other lanes of the quad.
    pub whole_quad: bool,
}

/// A lane of an anchored tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coord {
    /// A web.
    Web(Web),
    /// 0.0
    Zero,
    /// 1.0
    One,
    /// Nothing.
    Masked,
}

/// The kind of exports that are parameters of the pixel program.
pub const PARAMETER: u8 = 2;
/// The kind of pixel exports.
pub const PIXEL: u8 = 0;

/// An export or memory export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// 0 pixel, 1 position, 2 parameter.
    pub kind: u8,
    /// Target.
    pub base: u16,
    /// Lanes.
    pub src: [Coord; 4],
    /// The quad of the webs among them.
    pub quad: Option<Quad>,
}

impl Export {
    /// Whether another export may follow in the same burst, if registers and selects turn out that way: as quads.
    pub fn burst(&self, next: &Export) -> Option<(Quad, Quad)> {
        let quads = self.quad.zip(next.quad).filter(|(a, b)| a != b);
        quads.filter(|_| self.kind == next.kind && self.base + 1 == next.base)
    }
}

/// A memory export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Its form.
    pub form: FormId,
    /// 0 write, 1 indexed write, 2 and 3 the same with acknowledgement.
    pub kind: u8,
    /// Address, in the opcode's unit.
    pub base: u16,
    /// The web in each channel; they have these channels.
    pub src: [Option<Web>; 4],
    /// The quad of the webs.
    pub quad: Option<Quad>,
    /// The index, in channel X.
    pub index: Option<Web>,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scalar ALU operation.
    Alu,
    /// Four slots at once: operands 2k and 2k+1 belong to slot k.
    Reduce,
    /// PRED_SET* that updates the execute mask: the last group of its clause. The IR's block whose branch it decides, if it decides one.
    Pred(Option<Block>),
    /// KILL*.
    Kill,
    /// MOVA_INT to AR.x.
    Mova,
    /// A fetch.
    Fetch(Box<Fetch>),
    /// An export.
    Export(Box<Export>),
    /// A memory export.
    Write(Box<Write>),
    /// Emits a vertex or ends a strip (geometry): a control-flow form.
    Control(FormId),
}

impl Kind {
    /// Whether it occupies ALU slots.
    pub fn is_alu(&self) -> bool {
        matches!(self, Kind::Alu | Kind::Reduce | Kind::Pred(_) | Kind::Kill | Kind::Mova)
    }
}

/// An operation.
#[derive(Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// Its form (ALU).
    pub form: FormId,
    /// Operands (ALU).
    pub src: SmallVec<[Opnd; 8]>,
    /// Result (ALU): one web; CUBE has four, one per channel.
    pub dst: SmallVec<[Web; 4]>,
    /// Array element written instead of a web: local, offset, channel, relative.
    pub store: Option<(u8, u8, u8, bool)>,
    /// Output modifier.
    pub omod: u8,
    /// Clamp to 0…1.
    pub clamp: bool,
    /// Where it comes from.
    pub span: Span,
}

// By hand: lists are copied at once, which the derived implementation does one by one. Ways of compiling clone a lot.
impl Clone for Op {
    fn clone(&self) -> Op {
        Op { kind: self.kind.clone(), src: SmallVec::from_slice(&self.src), dst: SmallVec::from_slice(&self.dst), ..*self }
    }
}

impl Op {
    /// An ALU operation.
    pub fn alu(form: FormId, src: &[Opnd], dst: Option<Web>) -> Op {
        Op {
            kind: Kind::Alu,
            form,
            src: SmallVec::from_slice(src),
            dst: dst.into_iter().collect(),
            store: None,
            omod: 0,
            clamp: false,
            span: Span::NONE,
        }
    }
    /// An operation that is not in the ALU.
    pub fn other(kind: Kind) -> Op {
        Op { kind, ..Op::alu(op2::NOP, &[], None) }
    }
    /// Whether it occupies ALU slots.
    pub fn is_alu(&self) -> bool {
        self.kind.is_alu()
    }
    /// Whether the form has three operands.
    pub fn is_op3(&self) -> bool {
        TABLE.form(self.form).ext.format == Format::Op3
    }
    /// The IR's block whose branch the operation decides.
    pub fn decides(&self) -> Option<Block> {
        if let Kind::Pred(from) = self.kind { from } else { None }
    }
    /// The short opcode name.
    pub fn name(&self) -> &'static str {
        TABLE.form(self.form).ext.short
    }
    /// What the table says of the ALU operation.
    pub fn info(&self) -> &'static AluInfo {
        &TABLE.form(self.form).ext.alu
    }
    /// Whether its operands take float modifiers.
    pub fn float_operands(&self) -> bool {
        self.info().operands == Number::Float
    }
    /// The form of a fetch, or the operation's own.
    pub fn fetch_form(&self) -> FormId {
        match &self.kind {
            Kind::Fetch(f) => f.word.form,
            _ => self.form,
        }
    }
    /// Webs read.
    pub fn reads(&self) -> SmallVec<[Web; 8]> {
        let mut out = SmallVec::new();
        self.each_read(|w| out.push(w));
        out
    }
    /// Calls a function with each web read.
    #[inline]
    pub fn each_read(&self, mut f: impl FnMut(Web)) {
        match &self.kind {
            Kind::Fetch(x) => x.src.iter().filter_map(coord_web).for_each(f),
            Kind::Export(x) => x.src.iter().filter_map(coord_web).for_each(f),
            Kind::Write(x) => x.src.iter().flatten().copied().chain(x.index).for_each(f),
            _ => {
                for s in &self.src {
                    if let Place::Web(w) = s.place {
                        f(w);
                    }
                }
            }
        }
    }
    /// Calls a function with each web written.
    #[inline]
    pub fn each_write(&self, f: impl FnMut(Web)) {
        match &self.kind {
            Kind::Fetch(x) => x.dst.iter().flatten().copied().for_each(f),
            _ => self.dst.iter().copied().for_each(f),
        }
    }
    /// Webs written.
    pub fn writes(&self) -> SmallVec<[Web; 4]> {
        match &self.kind {
            Kind::Fetch(f) => f.dst.iter().flatten().copied().collect(),
            _ => SmallVec::from_slice(&self.dst),
        }
    }
    /// Renames every web.
    pub fn rename(&mut self, f: &dyn Fn(Web) -> Web) {
        let coord = |c: &mut Coord| {
            if let Coord::Web(w) = c {
                *w = f(*w);
            }
        };
        match &mut self.kind {
            Kind::Fetch(x) => {
                x.src.iter_mut().for_each(coord);
                x.dst.iter_mut().flatten().for_each(|w| *w = f(*w));
            }
            Kind::Export(x) => x.src.iter_mut().for_each(coord),
            Kind::Write(x) => x.src.iter_mut().flatten().chain(&mut x.index).for_each(|w| *w = f(*w)),
            _ => {}
        }
        for s in &mut self.src {
            if let Place::Web(w) = &mut s.place {
                *w = f(*w);
            }
        }
        self.dst.iter_mut().for_each(|w| *w = f(*w));
    }
}

fn coord_web(c: &Coord) -> Option<Web> {
    match c {
        Coord::Web(w) => Some(*w),
        _ => None,
    }
}

/// A piece of structured code.
#[derive(Clone, Debug)]
pub enum Step {
    /// Operations in program order. A trailing [`Kind::Pred`] belongs to the step that follows.
    Code(Vec<Op>),
    /// Runs `then` in the lanes that passed the preceding predicate, `other` in the rest.
    If {
        /// Lanes that passed.
        then: Vec<Step>,
        /// The others.
        other: Vec<Step>,
    },
    /// Repeats until every lane has left; the IR's block that it began with.
    Loop(Vec<Step>, Block),
    /// The lanes that failed the preceding predicate leave the loop (ALU_BREAK).
    BreakUnless,
    /// The lanes that failed the preceding predicate wait for the end of the loop's body (ALU_CONTINUE).
    ContinueUnless,
    /// The active lanes leave the loop.
    Break,
    /// The active lanes wait for the end of the loop's body.
    Continue,
}

/// What is known about a web.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebInfo {
    /// Channel, once settled.
    pub chan: Option<u8>,
    /// Register, where the interface fixes it.
    pub fixed: Option<u8>,
    /// The quad that it belongs to.
    pub quad: Option<Quad>,
    /// Whether the channel was settled before scheduling.
    pub settled: bool,
    /// The channel that it had best have otherwise.
    pub lane: Option<u8>,
}

/// A program before scheduling.
#[derive(Clone, Debug, Default)]
pub struct Mir {
    /// The code.
    pub steps: Vec<Step>,
    /// Webs.
    pub webs: Vec<WebInfo>,
    /// Members of each quad.
    pub quads: Vec<Vec<Web>>,
    /// Local arrays: number of registers each.
    pub locals: Vec<u8>,
    /// Elements of scratch memory in use, of 16 bytes each.
    pub scratch: u32,
    /// The patterns that fired when it was selected.
    pub fired: Fired,
    /// Whether the code keeps to what emulators execute: vertex fetches stand in texture clauses beside texture fetches, parameters are
    /// exported one by one, a predicate comes behind its clause's other groups, PS is no operand, and CUBE writes all channels.
    pub emulators: bool,
    /// Loops that count by constants.
    pub trips: Trips,
}

/// By the IR's block that a loop begins with: how often it comes round, and whether nothing else leaves it.
pub type Trips = BTreeMap<Block, (u64, bool)>;

impl Mir {
    /// A fresh web.
    pub fn web(&mut self) -> Web {
        self.webs.push(WebInfo::default());
        Web(self.webs.len() as u32 - 1)
    }
}

/// How often each of a tree's `webs` webs is written, and how often it is read.
pub fn counts(steps: &[Step], webs: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut writes, mut reads) = (vec![0; webs], vec![0; webs]);
    for op in leaves(steps).into_iter().flatten() {
        op.each_write(|w| writes[w.0 as usize] += 1);
        op.each_read(|w| reads[w.0 as usize] += 1);
    }
    (writes, reads)
}

/// The pieces of code of a tree, in order.
pub fn leaves(steps: &[Step]) -> Vec<&Vec<Op>> {
    let mut out = Vec::new();
    for s in steps {
        match s {
            Step::Code(c) => out.push(c),
            Step::If { then, other } => {
                out.extend(leaves(then));
                out.extend(leaves(other));
            }
            Step::Loop(b, _) => out.extend(leaves(b)),
            _ => {}
        }
    }
    out
}

/// Neighbouring exports of a piece of code that may become a burst.
pub fn bursts(ops: &[Op]) -> impl Iterator<Item = (&Export, &Export)> {
    ops.windows(2).filter_map(|w| match (&w[0].kind, &w[1].kind) {
        (Kind::Export(a), Kind::Export(b)) => a.burst(b).map(|_| (&**a, &**b)),
        _ => None,
    })
}

/// Applies a function to every piece of code, in order.
pub fn each_leaf(steps: &mut [Step], f: &mut dyn FnMut(&mut Vec<Op>)) {
    for s in steps {
        match s {
            Step::Code(c) => f(c),
            Step::If { then, other } => {
                each_leaf(then, f);
                each_leaf(other, f);
            }
            Step::Loop(b, _) => each_leaf(b, f),
            _ => {}
        }
    }
}

/// The operations as text.
pub fn describe(mir: &Mir) -> String {
    fn opnd(o: &Opnd) -> String {
        let base = match o.place {
            Place::Web(w) => format!("w{}", w.0),
            Place::Const(b, i, c) => format!("c{b}[{i}].{}", b"xyzw"[c as usize & 3] as char),
            Place::Bits(b) => format!("{b:#x}"),
            Place::Array { local, offset, chan, rel } => {
                format!("array{local}[{offset}{}].{}", if rel { "+AR" } else { "" }, b"xyzw"[chan as usize & 3] as char)
            }
        };
        let base = if o.abs { format!("|{base}|") } else { base };
        if o.neg { format!("-{base}") } else { base }
    }
    fn walk(steps: &[Step], depth: usize, out: &mut String) {
        let pad = "  ".repeat(depth);
        for s in steps {
            match s {
                Step::Code(ops) => {
                    for o in ops {
                        let mut dst: Vec<String> = o.writes().iter().map(|w| format!("w{}", w.0)).collect();
                        dst.extend(o.store.map(|(local, offset, chan, rel)| {
                            opnd(&Opnd { place: Place::Array { local, offset, chan, rel }, neg: false, abs: false })
                        }));
                        let src: Vec<String> = match &o.kind {
                            Kind::Fetch(_) | Kind::Export(_) | Kind::Write(_) => o.reads().iter().map(|w| format!("w{}", w.0)).collect(),
                            _ => o.src.iter().map(opnd).collect(),
                        };
                        let name = match &o.kind {
                            Kind::Fetch(f) => TABLE.form(f.word.form).name,
                            Kind::Export(_) => "EXPORT",
                            Kind::Write(w) => TABLE.form(w.form).name,
                            Kind::Control(form) => TABLE.form(*form).name,
                            _ => o.name(),
                        };
                        let equals = if dst.is_empty() { "" } else { " = " };
                        let scale = ["", " *2", " *4", " /2"][o.omod as usize & 3];
                        let clamp = if o.clamp { " clamped" } else { "" };
                        out.push_str(&format!("{pad}{}{equals}{name} {}{scale}{clamp}\n", dst.join(", "), src.join(", ")));
                    }
                }
                Step::If { then, other } => {
                    out.push_str(&format!("{pad}if\n"));
                    walk(then, depth + 1, out);
                    out.push_str(&format!("{pad}else\n"));
                    walk(other, depth + 1, out);
                }
                Step::Loop(b, _) => {
                    out.push_str(&format!("{pad}loop\n"));
                    walk(b, depth + 1, out);
                }
                Step::BreakUnless => out.push_str(&format!("{pad}break unless\n")),
                Step::ContinueUnless => out.push_str(&format!("{pad}continue unless\n")),
                Step::Break => out.push_str(&format!("{pad}break\n")),
                Step::Continue => out.push_str(&format!("{pad}continue\n")),
            }
        }
    }
    let mut out = format!("{}\n", mir.fired);
    walk(&mir.steps, 0, &mut out);
    out
}
