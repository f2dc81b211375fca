//! Selected code is made ready for scheduling: constants that a group cannot read all at once, and the shapes of control flow.

use crate::isa::forms::{op2, op3};
use crate::select::mir::*;
use retroshade_emit::form::FormId;
use retroshade_ir::{InstData, Module, Opcode, Scalar};
use smallvec::SmallVec;

/// A few different things, of which a group takes no more.
struct Few<T> {
    found: SmallVec<[T; 4]>,
    most: usize,
}

impl<T: PartialEq> Few<T> {
    fn new(most: usize) -> Few<T> {
        Few { found: SmallVec::new(), most }
    }
    /// Whether there is room for it, which then is taken.
    fn admit(&mut self, x: T) -> bool {
        if self.found.contains(&x) {
            return true;
        }
        let room = self.found.len() < self.most;
        if room {
            self.found.push(x);
        }
        room
    }
}

/// Copies constants to registers where one operation names more than a group can read: two register halves, four literals.
pub fn limit_constants(mir: &mut Mir) {
    let mut webs = std::mem::take(&mut mir.webs);
    each_leaf(&mut mir.steps, &mut |ops| {
        let old = std::mem::take(ops);
        ops.reserve(old.len());
        for mut op in old {
            let (mut halves, mut literals) = (Few::new(2), Few::new(4));
            let float = op.float_operands();
            for s in op.src.iter_mut().filter(|_| op.kind.is_alu()) {
                let fits = match s.place {
                    Place::Const(bank, index, chan) => halves.admit((bank, index, chan >> 1)),
                    // Operands carry the sign of a float.
                    Place::Bits(b) if inline_constant(b, float).is_none() => literals.admit(if float { b & 0x7fff_ffff } else { b }),
                    _ => true,
                };
                if !fits {
                    webs.push(WebInfo::default());
                    let w = Web(webs.len() as u32 - 1);
                    let mut copy = Op::alu(op2::MOV, &[Opnd { place: s.place, neg: false, abs: false }], Some(w));
                    copy.span = op.span;
                    ops.push(copy);
                    s.place = Place::Web(w);
                }
            }
            ops.push(op);
        }
    });
    mir.webs = webs;
}

/// What only asks whether a mask is zero asks so of the value that the mask was made of: truth values in uniforms, for most.
pub fn ask_directly(mir: &mut Mir) {
    let zero = |o: &Opnd| o.place == Place::Bits(0);
    if !leaves(&mir.steps).into_iter().flatten().any(|o| o.form == op2::SETNE_INT) {
        return;
    }
    // By web: definitions, and reads that ask for more.
    let (mut defs, mut other) = (vec![0u32; mir.webs.len()], vec![false; mir.webs.len()]);
    let mut source: Vec<Option<Opnd>> = vec![None; mir.webs.len()];
    for op in leaves(&mir.steps).into_iter().flatten() {
        op.writes().iter().for_each(|w| defs[w.0 as usize] += 1);
        if let (Kind::Alu, op2::SETNE_INT, [w], [x, y]) = (&op.kind, op.form, &op.dst[..], &op.src[..])
            && op.store.is_none()
            && zero(y)
            && matches!(x.place, Place::Web(_) | Place::Const(..))
        {
            source[w.0 as usize] = Some(*x);
        }
        let asked = asked(op);
        match op.is_alu() {
            true => op.src.iter().enumerate().filter(|(k, _)| Some(*k) != asked).filter_map(|(_, s)| s.as_web()).collect(),
            false => op.reads(),
        }
        .iter()
        .for_each(|w: &Web| other[w.0 as usize] = true);
    }
    let direct: Vec<Option<Opnd>> = (0..source.len())
        .map(|w| source[w].filter(|x| defs[w] == 1 && !other[w] && x.as_web().is_none_or(|x| defs[x.0 as usize] <= 1)))
        .collect();
    each_leaf(&mut mir.steps, &mut |ops| {
        for op in ops {
            if let Some(k) = asked(op)
                && let Some(x) = op.src[k].as_web().and_then(|w| direct[w.0 as usize])
            {
                op.src[k] = x;
            }
        }
    });
}

/// Comparisons that give a mask: all ones or zero.
pub(super) const MASKS: [FormId; 10] = [
    op2::SETE_DX10,
    op2::SETGT_DX10,
    op2::SETGE_DX10,
    op2::SETNE_DX10,
    op2::SETE_INT,
    op2::SETGT_INT,
    op2::SETGE_INT,
    op2::SETNE_INT,
    op2::SETGT_UINT,
    op2::SETGE_UINT,
];

/// Masks of the program, by web: only webs with one definition count.
struct Masks {
    defs: Vec<u32>,
    known: Vec<bool>,
    /// The mask of which a web is the complement.
    complement: Vec<Option<Web>>,
    /// (y, x) where a web is x without y.
    without: Vec<Option<(Web, Web)>>,
}

impl Masks {
    fn is_mask(&self, o: &Opnd) -> bool {
        o.as_web().is_some_and(|w| self.known[w.0 as usize])
    }

    /// Looks at an operation and makes it another one with the same result, where that saves a complement.
    fn visit(&mut self, op: &mut Op) {
        let web = |o: &Opnd| o.as_web().map(|w| w.0 as usize);
        match op.form {
            op2::AND_INT | op2::OR_INT if op.kind == Kind::Alu => {
                let found = (0..2).find_map(|k| Some((self.complement[web(&op.src[k])?]?, op.src[1 - k])));
                if let Some((y, x)) = found {
                    let (zero, ones) = (Opnd::bits(0), Opnd::bits(u32::MAX));
                    let src = if op.form == op2::AND_INT { [Opnd::web(y), x, zero] } else { [Opnd::web(y), ones, x] };
                    if let (op2::AND_INT, true, [w], Some(x)) = (op.form, self.is_mask(&x), &op.dst[..], x.as_web()) {
                        self.without[w.0 as usize] = Some((y, x)).filter(|_| self.defs[w.0 as usize] == 1);
                    }
                    (op.form, op.src) = (op3::CNDE_INT, SmallVec::from_slice(&src));
                }
            }
            // Zero is greater than all ones.
            op2::KILLNE_INT | op2::PRED_SETNE_INT if op.src[1].place == Place::Bits(0) => {
                if let Some((y, x)) = web(&op.src[0]).and_then(|w| self.without[w]) {
                    op.form = if op.kind == Kind::Kill { op2::KILLGT_INT } else { op2::PRED_SETGT_INT };
                    op.src = SmallVec::from_slice(&[Opnd::web(y), Opnd::web(x)]);
                }
            }
            _ => {}
        }
        let [w] = op.dst[..] else { return };
        if op.kind != Kind::Alu || op.store.is_some() || self.defs[w.0 as usize] != 1 {
            return;
        }
        let joined = matches!(op.form, op2::AND_INT | op2::OR_INT | op2::NOT_INT) && op.src.iter().all(|s| self.is_mask(s));
        self.known[w.0 as usize] = MASKS.contains(&op.form) || joined || self.without[w.0 as usize].is_some();
        if op.form == op2::NOT_INT && joined {
            self.complement[w.0 as usize] = op.src[0].as_web();
        }
    }
}

/// A mask without another one is a conditional move, and needs no complement.
pub fn join_masks(mir: &mut Mir) {
    let n = mir.webs.len();
    let mut masks = Masks { defs: vec![0; n], known: vec![false; n], complement: vec![None; n], without: vec![None; n] };
    for op in leaves(&mir.steps).into_iter().flatten() {
        op.writes().iter().for_each(|w| masks.defs[w.0 as usize] += 1);
    }
    each_leaf(&mut mir.steps, &mut |ops| ops.iter_mut().for_each(|op| masks.visit(op)));
}

/// The integers 1 and -1 from registers where floats are asked for: emulators have no such operand there.
pub fn hold_integers(mir: &mut Mir) {
    let mut steps = std::mem::take(&mut mir.steps);
    each_leaf(&mut steps, &mut |ops| {
        for mut op in std::mem::take(ops) {
            let asked = |s: &Opnd| matches!(s.place, Place::Bits(1 | u32::MAX));
            if op.form == op2::MOV && asked(&op.src[0]) {
                op.form = op2::OR_INT;
                op.src.push(Opnd::bits(0));
            } else if op.is_alu() && op.float_operands() {
                for s in op.src.iter_mut().filter(|s| asked(s)) {
                    let w = mir.web();
                    ops.push(Op { span: op.span, ..Op::alu(op2::OR_INT, &[*s, Opnd::bits(0)], Some(w)) });
                    s.place = Place::Web(w);
                }
            }
            ops.push(op);
        }
    });
    mir.steps = steps;
}

/// What a vertex program exports had best lie in its own lane: a vertex in the ring to a geometry program has its values there, so that one
/// program may be both.
pub fn prefer_lanes(mir: &mut Mir) {
    let Mir { steps, webs, .. } = mir;
    for op in leaves(steps).into_iter().flatten() {
        let Kind::Export(e) = &op.kind else { continue };
        for (lane, c) in e.src.iter().enumerate().filter(|_| e.kind != PIXEL) {
            if let Coord::Web(w) = c {
                webs[w.0 as usize].lane.get_or_insert(lane as u8);
            }
        }
    }
}

/// Emulators know integers in registers where some operation is one on integers: a program that only hands them on gets one whose result
/// nobody reads.
pub fn show_integers(mir: &mut Mir, legal: &Module) {
    let operation = |op: &&Op| op.is_alu() && !op.float_operands();
    if leaves(&mir.steps).into_iter().flatten().any(|op| operation(&op)) {
        return;
    }
    let f = legal.main();
    let arrives = |d: &InstData| matches!(d.op, Opcode::Input | Opcode::Tex) && d.results.iter().any(|r| f.ty(*r).scalar == Scalar::I32);
    if f.ordered().any(|(_, i)| arrives(&f.insts[i])) {
        let zero = Opnd::bits(0);
        let op = Op::alu(op2::OR_INT, &[zero, zero], Some(mir.web()));
        match mir.steps.first_mut() {
            Some(Step::Code(ops)) => ops.insert(0, op),
            _ => mir.steps.insert(0, Step::Code(vec![op])),
        }
    }
}

/// Shifts to the right as emulators do them, which fill with the sign whatever the instruction says: what came in goes again.
pub fn shift_with_signs(mir: &mut Mir) {
    let mut steps = std::mem::take(&mut mir.steps);
    each_leaf(&mut steps, &mut |ops| {
        for op in std::mem::take(ops) {
            if op.form != op2::LSHR_INT || op.kind != Kind::Alu {
                ops.push(op);
                continue;
            }
            let (x, n) = (op.src[0], op.src[1]);
            let mut put = |form, src: &[Opnd]| {
                let w = mir.web();
                ops.push(Op { span: op.span, ..Op::alu(form, src, Some(w)) });
                Opnd::web(w)
            };
            let mask = match n.place {
                Place::Bits(k) => Opnd::bits(u32::MAX >> (k & 31)),
                // The ones that come in are two less than nothing, shifted by 31 - n.
                _ => {
                    let left = put(op2::SUB_INT, &[Opnd::bits(31), n]);
                    let gone = put(op2::LSHL_INT, &[Opnd::bits(-2i32 as u32), left]);
                    put(op2::NOT_INT, &[gone])
                }
            };
            let shifted = put(op2::ASHR_INT, &[x, n]);
            ops.push(Op { form: op2::AND_INT, src: SmallVec::from_slice(&[shifted, mask]), ..op });
        }
    });
    mir.steps = steps;
}

/// The operand of which an operation asks only whether it is zero.
fn asked(op: &Op) -> Option<usize> {
    let compares = [op2::SETE_INT, op2::SETNE_INT, op2::PRED_SETE_INT, op2::PRED_SETNE_INT, op2::KILLE_INT, op2::KILLNE_INT];
    let with_zero = compares.contains(&op.form) && op.src.get(1).is_some_and(|o| o.place == Place::Bits(0));
    (op.is_alu() && (with_zero || op.form == op3::CNDE_INT)).then_some(0)
}

/// Brings control flow into the shapes that the machine has: an arm that only leaves the loop becomes ALU_BREAK, one that only
/// ends its round ALU_CONTINUE; empty pieces of code vanish.
///
/// Lanes leave a loop only where no branch is open within it. Where the source leaves out of a branch, a flag is set there and
/// asked behind the branch, so nothing depends on what ELSE and POP do to lanes that have left.
pub fn shape_control_flow(mir: &mut Mir) {
    let steps = std::mem::take(&mut mir.steps);
    mir.steps = level(mir, steps);
}

/// What the flag says: go on, leave the loop, wait for its next round.
const GO_ON: u32 = 0;
const LEAVE: u32 = 1;
const WAIT: u32 = u32::MAX;

/// Whether lanes may leave the loop around, and whether they may end their round.
fn leaves_loop(steps: &[Step]) -> (bool, bool) {
    steps.iter().fold((false, false), |(leave, wait), s| match s {
        Step::Break | Step::BreakUnless => (true, wait),
        Step::Continue | Step::ContinueUnless => (leave, true),
        Step::If { then, other } => {
            let (a, b) = (leaves_loop(then), leaves_loop(other));
            (leave | a.0 | b.0, wait | a.1 | b.1)
        }
        Step::Code(_) | Step::Loop(..) => (leave, wait),
    })
}

/// Steps where no branch is open within the loop around, or outside of loops.
fn level(mir: &mut Mir, steps: Vec<Step>) -> Vec<Step> {
    let mut out = Vec::new();
    for mut s in steps {
        if let Step::If { other, .. } = &mut s {
            other.retain(|s| !matches!(s, Step::Code(c) if c.is_empty()));
        }
        match s {
            Step::If { then, other } if matches!(other.as_slice(), [Step::Break | Step::Continue]) => {
                out.push(if matches!(other[0], Step::Break) { Step::BreakUnless } else { Step::ContinueUnless });
                out.append(&mut level(mir, then));
            }
            Step::If { then, other } => {
                let (a, b) = (leaves_loop(&then), leaves_loop(&other));
                let (leave, wait) = (a.0 | b.0, a.1 | b.1);
                if !leave && !wait {
                    branch(mir, then, other, &mut out);
                    continue;
                }
                let flag = mir.web();
                let ask = |form, value| Op { kind: Kind::Pred(None), ..Op::alu(form, &[Opnd::web(flag), Opnd::bits(value)], None) };
                if let Some(Step::Code(c)) = out.last_mut() {
                    c.insert(0, set(flag, GO_ON));
                }
                let (then, other) = (arm(mir, then, flag), arm(mir, other, flag));
                out.push(Step::If { then, other });
                if leave {
                    out.push(Step::Code(vec![ask(op2::PRED_SETNE_INT, LEAVE)]));
                    out.push(Step::BreakUnless);
                }
                if wait {
                    out.push(Step::Code(vec![ask(op2::PRED_SETNE_INT, WAIT)]));
                    out.push(Step::ContinueUnless);
                }
            }
            other => plain(mir, other, &mut out),
        }
    }
    out
}

fn set(flag: Web, value: u32) -> Op {
    Op::alu(op2::MOV, &[Opnd::bits(value)], Some(flag))
}

/// Steps within a branch that lanes leave by the flag.
fn arm(mir: &mut Mir, steps: Vec<Step>, flag: Web) -> Vec<Step> {
    let mut out = Vec::new();
    let mut steps = steps.into_iter();
    while let Some(s) = steps.next() {
        match s {
            Step::Break | Step::Continue => {
                code(vec![set(flag, if matches!(s, Step::Break) { LEAVE } else { WAIT })], &mut out);
                return out;
            }
            Step::If { then, other } if leaves_loop(&then) != (false, false) || leaves_loop(&other) != (false, false) => {
                let (then, other) = (arm(mir, then, flag), arm(mir, other, flag));
                out.push(Step::If { then, other });
                // The rest is for the lanes that go on.
                let rest = arm(mir, steps.collect(), flag);
                if !rest.is_empty() {
                    let ask = Op::alu(op2::PRED_SETE_INT, &[Opnd::web(flag), Opnd::bits(GO_ON)], None);
                    out.push(Step::Code(vec![Op { kind: Kind::Pred(None), ..ask }]));
                    out.push(Step::If { then: rest, other: Vec::new() });
                }
                return out;
            }
            other => plain(mir, other, &mut out),
        }
    }
    out
}

/// A step that leaves no loop around it.
fn plain(mir: &mut Mir, s: Step, out: &mut Vec<Step>) {
    match s {
        Step::If { then, other } => branch(mir, then, other, out),
        Step::Loop(body, from) => {
            let body = level(mir, body);
            out.push(Step::Loop(body, from));
        }
        Step::Code(c) => code(c, out),
        other => out.push(other),
    }
}

/// A branch out of which nothing leaves; without arms the predicate goes, too.
fn branch(mir: &mut Mir, then: Vec<Step>, other: Vec<Step>, out: &mut Vec<Step>) {
    let (then, other) = (level(mir, then), level(mir, other));
    if !then.is_empty() || !other.is_empty() {
        return out.push(Step::If { then, other });
    }
    if let Some(Step::Code(c)) = out.last_mut()
        && c.last().is_some_and(|o| matches!(o.kind, Kind::Pred(_)))
    {
        c.pop();
    }
}

/// Two pieces without control flow between them are one, unless the first writes something out: that is done last in a piece.
fn code(c: Vec<Op>, out: &mut Vec<Step>) {
    let goes_on = |o: &Op| o.is_alu() && !matches!(o.kind, Kind::Pred(_)) || matches!(o.kind, Kind::Fetch(_));
    match out.last_mut() {
        Some(Step::Code(before)) if before.iter().all(goes_on) => before.extend(c),
        _ if c.is_empty() => {}
        _ => out.push(Step::Code(c)),
    }
}
