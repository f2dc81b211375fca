//! Rules about operands, immediates and results (V0020 to V0026, V0062 to V0064).

use super::{At, Verifier};
use crate::inst::Imm;
use crate::opcode::{Opcode, ResultRule};
use crate::types::{F32, I1, I32, Scalar, Type};
use Opcode::*;

/// The classes of lanes that an operation takes.
fn accepts(op: Opcode, s: Scalar) -> bool {
    match op {
        Iand | Ior | Ixor | Inot => matches!(s, Scalar::I32 | Scalar::I1),
        _ if op.group() == "Float" => s.is_float(),
        _ if op.group() == "Integer" => s == Scalar::I32,
        _ => true,
    }
}

impl Verifier<'_> {
    fn wrong_type(&mut self, at: &At, n: usize, wanted: &str) {
        let found = at.arg(n).map_or_else(|| "nothing".to_string(), |t| t.to_string());
        let name = at.d.op.name();
        self.error("V0021", at.span, format!("operand {n} of `{name}` is {found}; it must be {wanted}"));
    }

    /// Operand and target counts (V0020).
    pub(super) fn operand_count(&mut self, at: &At) -> bool {
        let (op, n) = (at.d.op, at.args.len());
        let wanted = match op {
            _ if op.arity() >= 0 => (op.arity() as usize, op.arity() as usize),
            Build => (2, 4),
            Input | Uniform | LocalLoad | SharedLoad | StorageLoad => (0, 1),
            Output | LocalStore | SharedStore | StorageStore => (1, 2),
            Atomic => match &at.d.imm {
                Imm::Atomic { op: crate::AtomicOp::Cas, .. } => (2, 3),
                _ => (1, 2),
            },
            _ => (0, usize::MAX),
        };
        if n < wanted.0 || n > wanted.1 {
            let how = if wanted.0 == wanted.1 { wanted.0.to_string() } else { format!("{} to {}", wanted.0, wanted.1) };
            self.error("V0020", at.span, format!("`{}` takes {how} operands, not {n}", op.name()));
            return false;
        }
        let targets = at.d.targets.len();
        let right = match op {
            Jump => targets == 1,
            BrIf => targets == 2,
            Switch => targets >= 1,
            _ => targets == 0,
        };
        if !right {
            self.error("V0020", at.span, format!("`{}` has {targets} branch targets", op.name()));
        }
        right
    }

    /// The immediate's kind (V0023) and contents (V0024, V0025, V0026, V0063).
    pub(super) fn immediate(&mut self, at: &At) -> bool {
        let d = at.d;
        let right = match (&d.imm, d.op) {
            (Imm::Const(_), Const)
            | (Imm::FloatCC(_), Fcmp)
            | (Imm::IntCC(_), Icmp)
            | (Imm::Lane(_), Extract | Insert)
            | (Imm::Lanes(_), Shuffle)
            | (Imm::Atomic { .. }, Atomic)
            | (Imm::Tex(_), Tex)
            | (Imm::Hint(_), Ddx | Ddy)
            | (Imm::Func(_), Call)
            | (Imm::Stream(_), EmitVertex | EndPrimitive)
            | (Imm::Cases(_), Switch)
            | (Imm::Ext(_), Ext) => true,
            (Imm::None, Ddx | Ddy | EmitVertex | EndPrimitive) => true,
            (
                Imm::Mem { .. },
                Input | Output | Uniform | LocalLoad | LocalStore | SharedLoad | SharedStore | StorageLoad | StorageStore | StorageLen,
            ) => true,
            (
                Imm::None,
                Const | Fcmp | Icmp | Extract | Insert | Shuffle | Atomic | Tex | Call | Switch | Ext | Input | Output | Uniform
                | LocalLoad | LocalStore | SharedLoad | SharedStore | StorageLoad | StorageStore | StorageLen,
            ) => false,
            (Imm::None, _) => true,
            _ => false,
        };
        if !right {
            self.error("V0023", at.span, format!("`{}` carries the wrong kind of immediate data", d.op.name()));
            return false;
        }
        match &d.imm {
            Imm::Const(bits) => {
                let ty = at.result().unwrap_or(I32);
                let wrong = bits.iter().take(ty.lanes as usize).any(|b| match ty.scalar {
                    Scalar::I1 => *b > 1,
                    Scalar::F16 => *b > 0xffff,
                    _ => false,
                });
                if wrong {
                    self.error("V0026", at.span, format!("the constant's bits do not fit {}", ty.scalar.name()));
                }
            }
            Imm::Lane(l) => {
                let lanes = at.arg(0).map_or(0, |t| t.lanes);
                if *l >= lanes {
                    self.error("V0024", at.span, format!("lane {l} does not exist in a vector of {lanes}"));
                }
            }
            Imm::Lanes(mask) => {
                let lanes = at.arg(0).map_or(0, |t| t.lanes) + at.arg(1).map_or(0, |t| t.lanes);
                if !(1..=4).contains(&mask.len()) {
                    self.error("V0024", at.span, format!("a mask has 1 to 4 entries, not {}", mask.len()));
                }
                for l in mask.iter().filter(|l| **l >= lanes) {
                    self.error("V0024", at.span, format!("lane {l} does not exist in two vectors of {lanes} lanes together"));
                }
            }
            Imm::Cases(cases) => {
                if cases.len() + 1 != d.targets.len() {
                    let m = format!("{} cases need {} targets, not {}", cases.len(), cases.len() + 1, d.targets.len());
                    self.error("V0025", at.span, m);
                }
                let mut sorted = cases.to_vec();
                sorted.sort_unstable();
                for w in sorted.windows(2).filter(|w| w[0] == w[1]) {
                    self.error("V0025", at.span, format!("the case {} appears twice", w[0] as i32));
                }
            }
            Imm::Stream(s) if *s > 3 => self.error("V0063", at.span, format!("there is no stream {s}; streams are 0 to 3")),
            _ => {}
        }
        true
    }

    /// Types of operands and results (V0021, V0022, V0062).
    pub(super) fn operand_types(&mut self, at: &At) {
        let d = at.d;
        let op = d.op;
        match op {
            Select => {
                let (c, a, b) = (at.args[0], at.args[1], at.args[2]);
                if c.scalar != Scalar::I1 || (c.lanes != 1 && c.lanes != a.lanes) {
                    self.wrong_type(at, 0, &format!("i1, or i1 with the lanes of {a}"));
                }
                if a != b {
                    self.wrong_type(at, 2, &a.to_string());
                }
            }
            Fcmp | Icmp => {
                let a = at.args[0];
                let fine = if op == Fcmp {
                    a.is_float()
                } else {
                    let equality = matches!(d.imm, Imm::IntCC(crate::IntCC::Eq | crate::IntCC::Ne));
                    a.scalar == Scalar::I32 || (a.scalar == Scalar::I1 && equality)
                };
                if !fine {
                    self.wrong_type(at, 0, if op == Fcmp { "a float" } else { "i32 (i1 only for eq and ne)" });
                }
                if at.args[1] != a {
                    self.wrong_type(at, 1, &a.to_string());
                }
            }
            Any | All if (at.args[0].scalar != Scalar::I1 || !at.args[0].is_vector()) => {
                self.wrong_type(at, 0, "a vector of i1");
            }
            Dot => {
                if !at.args[0].is_float() || !at.args[0].is_vector() {
                    self.wrong_type(at, 0, "a vector of floats");
                }
                if at.args[1] != at.args[0] {
                    self.wrong_type(at, 1, &at.args[0].to_string());
                }
            }
            Ubfe | Sbfe | Bfi => {
                let value = if op == Bfi { 2 } else { 1 };
                self.same(at, |s| s == Scalar::I32, value);
                // Offset and count: per lane, or one for all.
                for n in value..at.args.len() {
                    if at.args[n] != I32 && at.args[n] != at.args[0] {
                        self.wrong_type(at, n, &format!("i32 or {}", at.args[0]));
                    }
                }
            }
            Ddx | Ddy => self.same(at, Scalar::is_float, 1),
            F2s | F2u => self.conversion(at, Scalar::is_float, |s| s == Scalar::I32),
            S2f | U2f => self.conversion(at, |s| s == Scalar::I32, Scalar::is_float),
            Fcvt => self.conversion(at, Scalar::is_float, Scalar::is_float),
            Bitcast => self.bitcast(at),
            PackUnorm4x8 | PackSnorm4x8 => self.exact(at, &[F32.with_lanes(4)], I32),
            PackUnorm2x16 | PackSnorm2x16 | PackHalf2x16 => self.exact(at, &[F32.with_lanes(2)], I32),
            UnpackUnorm4x8 | UnpackSnorm4x8 => self.exact(at, &[I32], F32.with_lanes(4)),
            UnpackUnorm2x16 | UnpackSnorm2x16 | UnpackHalf2x16 => self.exact(at, &[I32], F32.with_lanes(2)),
            Splat => {
                let a = at.args[0];
                if a.is_vector() {
                    self.wrong_type(at, 0, "a scalar");
                }
                if at.result().is_none_or(|r| r.scalar != a.scalar || !r.is_vector()) {
                    self.wrong_result(at, &format!("a vector of {}", a.scalar.name()));
                }
            }
            Build => {
                let first = at.args[0].lane();
                for n in 0..at.args.len() {
                    if at.args[n] != first {
                        self.wrong_type(at, n, &first.to_string());
                    }
                }
            }
            Extract => {}
            Insert if at.args[1] != at.args[0].lane() => {
                self.wrong_type(at, 1, &at.args[0].lane().to_string());
            }
            Shuffle if at.args[0].scalar != at.args[1].scalar => {
                self.wrong_type(at, 1, &format!("of {} lanes", at.args[0].scalar.name()));
            }
            Discard | BrIf if at.args[0] != I1 => {
                self.wrong_type(at, 0, "i1");
            }
            Switch if at.args[0] != I32 => {
                self.wrong_type(at, 0, "i32");
            }
            Return => {
                let wanted = &at.f.results;
                if at.args != *wanted {
                    let list = |t: &[Type]| t.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
                    let m = format!("`return` gives ({}), but the results are ({})", list(&at.args), list(wanted));
                    self.error("V0062", at.span, m);
                }
            }
            Call => self.call(at),
            _ if matches!(op.group(), "Float" | "Integer") => self.same(at, |s| accepts(op, s), at.args.len()),
            _ => {}
        }
        self.results(at);
    }

    fn results(&mut self, at: &At) {
        let d = at.d;
        if d.relaxed && !at.result().is_some_and(|t| t.is_number()) {
            self.error("V0064", at.span, format!("`{}` gives no number that could be relaxed", d.op.name()));
        }
        let wanted = match d.op.rule() {
            ResultRule::None => 0,
            ResultRule::Call => return,
            ResultRule::Explicit if d.op == Ext => d.results.len().min(1),
            _ => 1,
        };
        // An operation that is not appended yet has a type, but no results.
        let found = d.results.len().max(usize::from(at.result.is_some()));
        if found != wanted {
            self.error("V0022", at.span, format!("`{}` has {wanted} results, not {found}", d.op.name()));
            return;
        }
        let mask = if let Imm::Lanes(l) = &d.imm { l.len() } else { 0 };
        if let (Some(w), Some(r)) = (d.op.infer(&at.args, mask), at.result())
            && w != r
        {
            self.wrong_result(at, &w.to_string());
        }
        if at.result().is_some_and(|r| !(1..=4).contains(&r.lanes)) {
            self.wrong_result(at, "of 1 to 4 lanes");
        }
    }

    pub(super) fn wrong_result(&mut self, at: &At, wanted: &str) {
        let found = at.result().map_or_else(|| "nothing".to_string(), |t| t.to_string());
        self.error("V0022", at.span, format!("the result of `{}` is {found}; it must be {wanted}", at.d.op.name()));
    }

    /// The first `n` operands have one type, whose scalar is accepted.
    fn same(&mut self, at: &At, fine: impl Fn(Scalar) -> bool, n: usize) {
        let first = at.args[0];
        if !fine(first.scalar) {
            let wanted = match at.d.op.group() {
                "Float" | "Fragment" => "a float",
                _ if accepts(at.d.op, Scalar::I1) => "i32 or i1",
                _ => "i32",
            };
            self.wrong_type(at, 0, &format!("{wanted}, or a vector of it"));
        }
        for k in 1..n.min(at.args.len()) {
            // A shift's count may be one for all lanes.
            let count = matches!(at.d.op, Ishl | Ushr | Sshr) && at.args[k] == I32;
            if at.args[k] != first && !count {
                self.wrong_type(at, k, &first.to_string());
            }
        }
    }

    fn exact(&mut self, at: &At, args: &[Type], result: Type) {
        for (n, t) in args.iter().enumerate() {
            if at.arg(n) != Some(*t) {
                self.wrong_type(at, n, &t.to_string());
            }
        }
        if at.result().is_some_and(|r| r != result) {
            self.wrong_result(at, &result.to_string());
        }
    }

    fn conversion(&mut self, at: &At, from: impl Fn(Scalar) -> bool, to: impl Fn(Scalar) -> bool) {
        let a = at.args[0];
        if !from(a.scalar) {
            self.wrong_type(at, 0, if from(Scalar::I32) { "an integer" } else { "a float" });
        }
        if at.result().is_some_and(|r| !to(r.scalar) || r.lanes != a.lanes) {
            self.wrong_result(at, &format!("{} with {} lanes", if to(Scalar::I32) { "i32" } else { "a float" }, a.lanes));
        }
    }

    fn bitcast(&mut self, at: &At) {
        let bits = |t: Type| match t.scalar {
            Scalar::I1 => None,
            Scalar::F16 => Some(16 * u32::from(t.lanes)),
            _ => Some(32 * u32::from(t.lanes)),
        };
        let a = at.args[0];
        match (bits(a), at.result().map(bits)) {
            (None, _) => self.wrong_type(at, 0, "a type other than i1"),
            (x, Some(y)) if x != y => self.wrong_result(at, &format!("of the same size as {a}")),
            _ => {}
        }
    }

    fn call(&mut self, at: &At) {
        let Imm::Func(c) = at.d.imm else { return };
        let Some(callee) = self.m.functions.get(c) else { return };
        let params: Vec<Type> = callee.entry().map_or(&[][..], |b| &callee.blocks[b].params).iter().map(|v| callee.ty(*v)).collect();
        if params.len() != at.args.len() {
            let m = format!("`@{}` takes {} operands, not {}", callee.name, params.len(), at.args.len());
            return self.error("V0020", at.span, m);
        }
        for (n, p) in params.iter().enumerate() {
            if at.args[n] != *p {
                self.wrong_type(at, n, &p.to_string());
            }
        }
        let results: Vec<Type> = at.d.results.iter().map(|v| at.f.ty(*v)).collect();
        if results != callee.results {
            self.error("V0022", at.span, format!("the results of the call are not those of `@{}`", callee.name));
        }
    }
}
