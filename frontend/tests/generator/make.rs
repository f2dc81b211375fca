//! The dice: programs that always end, index inside their arrays and have one right result.

use super::value::{Kind, Ty, Words};
use super::{Arg, Dice, Expr, Function, Node, Place, Program, Shape, Step, Stmt};

/// A variable that can be used.
#[derive(Clone)]
struct Var {
    name: String,
    shape: Shape,
    writable: bool,
    pointer: bool,
    /// Whether a pointer to it can be handed on: a `var` of the function.
    local: bool,
}

struct Maker {
    d: Dice,
    p: Program,
    vars: Vec<Var>,
    count: u32,
    floats: bool,
    /// Depth of loops, and whether a `break` would leave a `switch`.
    loops: u32,
    in_continuing: bool,
    result: Option<Ty>,
    depth: u32,
    size: u32,
    callable: usize,
}

const FLOAT_OPS: [&str; 4] = ["+", "-", "*", "/"];
const INT_OPS: [&str; 8] = ["+", "-", "*", "/", "%", "&", "|", "^"];
const COMPARE: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

fn lit(ty: Ty, w: Words) -> Expr {
    Expr { ty, node: Node::Lit(w) }
}

fn int(n: i32) -> Expr {
    lit(Ty::of(Kind::I, 1), vec![n as u32])
}

impl Maker {
    fn name(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    fn kind(&mut self) -> Kind {
        if self.floats {
            return if self.d.one_in(8) { Kind::B } else { Kind::F };
        }
        *self.d.pick(&[Kind::F, Kind::F, Kind::I, Kind::I, Kind::U, Kind::U, Kind::B])
    }

    fn ty(&mut self) -> Ty {
        let lanes = *self.d.pick(&[1, 1, 2, 3, 4]);
        Ty::of(self.kind(), lanes)
    }

    /// A type that can be stored and handed on as it is.
    fn number(&mut self) -> Ty {
        loop {
            let t = self.ty();
            if t.kind != Kind::B {
                return t;
            }
        }
    }

    fn word(&mut self, k: Kind) -> u32 {
        match k {
            Kind::F => ((self.d.below(33) as f32 - 16.0) * 0.25).to_bits(),
            Kind::I if self.d.one_in(5) => *self.d.pick(&[i32::MIN as u32, i32::MAX as u32, -1i32 as u32, 65536, 1 << 30]),
            Kind::I => (self.d.below(21) as i32 - 10) as u32,
            Kind::U if self.d.one_in(5) => *self.d.pick(&[u32::MAX, 1 << 31, 0xffff, 0x1234_5678]),
            Kind::U => self.d.below(12),
            Kind::B => self.d.below(2),
        }
    }

    fn literal(&mut self, t: Ty) -> Expr {
        let w = (0..t.lanes).map(|_| self.word(t.kind)).collect();
        lit(t, w)
    }

    /// All places of a type that variables have, with indices chosen.
    fn places(&mut self, t: Ty, writable: bool) -> Vec<Place> {
        let mut out = Vec::new();
        for v in self.vars.clone() {
            if writable && !v.writable {
                continue;
            }
            let root = |steps: Vec<Step>| Place { root: v.name.clone(), pointer: v.pointer, steps, ty: t };
            let mut leaf = |m: &mut Self, have: Ty, steps: Vec<Step>| {
                if have == t {
                    out.push(root(steps));
                } else if have.kind == t.kind && t.lanes == 1 && have.lanes > 1 {
                    let last = if m.d.one_in(3) && m.depth < 3 && !m.floats {
                        Step::LaneAt(Box::new(m.index()))
                    } else {
                        Step::Lane(m.d.below(u32::from(have.lanes)) as u8)
                    };
                    out.push(root([steps, vec![last]].concat()));
                }
            };
            match &v.shape {
                Shape::Leaf(have) => leaf(self, *have, Vec::new()),
                Shape::Struct(n) => {
                    for (k, have) in self.p.structs[*n].clone().into_iter().enumerate() {
                        leaf(self, have, vec![Step::Member(k)]);
                    }
                }
                Shape::Array(e, n) => {
                    let index = self.index();
                    match &**e {
                        Shape::Leaf(have) => leaf(self, *have, vec![Step::Element(Box::new(index), *n)]),
                        Shape::Struct(s) => {
                            for (k, have) in self.p.structs[*s].clone().into_iter().enumerate() {
                                leaf(self, have, vec![Step::Element(Box::new(index.clone()), *n), Step::Member(k)]);
                            }
                        }
                        Shape::Array(inner, m) => {
                            if let Shape::Leaf(have) = **inner {
                                let second = self.index();
                                leaf(self, have, vec![Step::Element(Box::new(index), *n), Step::Element(Box::new(second), *m)]);
                            }
                        }
                    }
                }
            }
        }
        out
    }

    /// An index: a counter, a number, or an expression.
    fn index(&mut self) -> Expr {
        let counters: Vec<Var> = self.vars.iter().filter(|v| !v.writable && v.shape == Shape::Leaf(Ty::of(Kind::I, 1))).cloned().collect();
        if !counters.is_empty() && !self.d.one_in(3) {
            let v = self.d.pick(&counters).clone();
            return Expr {
                ty: Ty::of(Kind::I, 1),
                node: Node::Load(Place { root: v.name, pointer: v.pointer, steps: Vec::new(), ty: Ty::of(Kind::I, 1) }),
            };
        }
        if self.floats || self.depth > 2 {
            return int(self.d.below(8) as i32);
        }
        self.depth += 1;
        let kind = *self.d.pick(&[Kind::I, Kind::U]);
        let e = self.nonconst(Ty::of(kind, 1), 1);
        self.depth -= 1;
        e
    }

    /// An expression that is not known when the program is compiled: constants overflow with an error.
    fn nonconst(&mut self, t: Ty, fuel: u32) -> Expr {
        let e = self.expr(t, fuel);
        if !constant(&e) {
            return e;
        }
        if let Some(l) = self.load(t).filter(|l| !constant(l)) {
            return l;
        }
        // A lane of an input.
        let name = match t.kind {
            Kind::F | Kind::B => "a",
            Kind::I => "b",
            Kind::U => "c",
        };
        let kind = if t.kind == Kind::B { Kind::F } else { t.kind };
        // Functions do not see the inputs; their parameters hold some value of each kind.
        let root = if self.vars.iter().any(|v| v.name == name) { name.to_string() } else { format!("g{name}") };
        let from = Expr { ty: Ty::of(kind, 4), node: Node::Load(Place { root, pointer: false, steps: Vec::new(), ty: Ty::of(kind, 4) }) };
        let lanes: Vec<u8> = (0..t.lanes).map(|_| self.d.below(4) as u8).collect();
        let cut = Expr { ty: Ty::of(kind, t.lanes), node: Node::Swizzle(Box::new(from), lanes) };
        if t.kind == Kind::B {
            let zero = lit(cut.ty, vec![0; t.lanes as usize]);
            return Expr { ty: t, node: Node::Binary("<", Box::new(cut), Box::new(zero)) };
        }
        cut
    }

    fn load(&mut self, t: Ty) -> Option<Expr> {
        let all = self.places(t, false);
        if all.is_empty() {
            return None;
        }
        let p = self.d.pick(&all).clone();
        Some(Expr { ty: t, node: Node::Load(p) })
    }

    fn expr(&mut self, t: Ty, fuel: u32) -> Expr {
        if fuel == 0 || self.d.one_in(5) {
            if !self.d.one_in(4)
                && let Some(l) = self.load(t)
            {
                return l;
            }
            return self.literal(t);
        }
        let fuel = fuel - 1;
        let node = match self.d.below(12) {
            0 if t.lanes > 1 => {
                // Parts of one to three lanes.
                let mut parts = Vec::new();
                let mut left = t.lanes;
                while left > 0 {
                    let n = 1 + self.d.below(u32::from(left.min(3))) as u8;
                    parts.push(self.expr(Ty::of(t.kind, n), fuel));
                    left -= n;
                }
                Node::Build(parts)
            }
            1 => {
                let lanes = 2 + self.d.below(3) as u8;
                let from = self.nonconst(Ty::of(t.kind, lanes), fuel);
                Node::Swizzle(Box::new(from), (0..t.lanes).map(|_| self.d.below(u32::from(lanes)) as u8).collect())
            }
            2 => {
                let c = if self.d.one_in(2) { Ty::of(Kind::B, t.lanes) } else { Ty::of(Kind::B, 1) };
                let c = self.nonconst(c, fuel);
                let (x, y) = (self.expr(t, fuel), self.expr(t, fuel));
                Node::Select(Box::new(c), Box::new(x), Box::new(y))
            }
            3 if self.callable > 0 && self.depth == 0 => {
                let fits: Vec<usize> = (0..self.callable).filter(|n| self.p.functions[*n].result == Some(t)).collect();
                if fits.is_empty() {
                    return self.expr(t, fuel);
                }
                let n = *self.d.pick(&fits);
                match self.args(n) {
                    Some(a) => Node::Call(n, a),
                    None => return self.expr(t, fuel),
                }
            }
            4 if !self.floats => {
                let from = match t.kind {
                    Kind::F => *self.d.pick(&[Kind::I, Kind::U, Kind::B]),
                    Kind::I => *self.d.pick(&[Kind::F, Kind::U, Kind::B]),
                    Kind::U => *self.d.pick(&[Kind::F, Kind::I, Kind::B]),
                    Kind::B => *self.d.pick(&[Kind::F, Kind::I, Kind::U]),
                };
                let x = self.nonconst(Ty::of(from, t.lanes), fuel);
                Node::Cast(Box::new(x))
            }
            _ => self.operation(t, fuel),
        };
        Expr { ty: t, node }
    }

    fn operation(&mut self, t: Ty, fuel: u32) -> Node {
        let one = |m: &mut Self, t: Ty| Box::new(m.nonconst(t, fuel));
        match t.kind {
            Kind::F => match self.d.below(9) {
                0 => Node::Unary(self.d.op(&["-", "abs", "floor", "ceil", "trunc", "sign", "saturate", "round"]), one(self, t)),
                1 => Node::Pair(self.d.op(&["min", "max", "step"]), one(self, t), one(self, t)),
                2 => {
                    let (low, high) = (vec![(-1.5f32).to_bits(); t.lanes as usize], vec![2.25f32.to_bits(); t.lanes as usize]);
                    Node::Clamp(one(self, t), Box::new(lit(t, low)), Box::new(lit(t, high)))
                }
                _ => {
                    let op = self.d.op(&FLOAT_OPS);
                    let x = one(self, t);
                    let side = if t.lanes > 1 && self.d.one_in(4) { t.lane() } else { t };
                    let y = if op == "/" { Box::new(self.literal_above_zero(side)) } else { Box::new(self.expr(side, fuel)) };
                    Node::Binary(op, x, y)
                }
            },
            Kind::I | Kind::U => {
                let word = Ty::of(Kind::U, 1);
                match self.d.below(10) {
                    0 => {
                        let mut all = vec!["~", "abs", "countOneBits", "countLeadingZeros", "countTrailingZeros", "reverseBits"];
                        all.extend(["firstLeadingBit", "firstTrailingBit"]);
                        if t.kind == Kind::I {
                            all.extend(["-", "sign"]);
                        }
                        let op = *self.d.pick(&all);
                        Node::Unary(op, one(self, t))
                    }
                    1 => Node::Pair(self.d.op(&["min", "max"]), one(self, t), one(self, t)),
                    2 => {
                        let by = Ty::of(Kind::U, t.lanes);
                        // Amounts beyond 31 are an error where they are constant.
                        let amount = if self.d.one_in(2) { (0..t.lanes).map(|_| self.d.below(32)).collect() } else { Vec::new() };
                        let amount = if amount.is_empty() { self.nonconst(by, fuel) } else { lit(by, amount) };
                        let mask = lit(by, vec![31; t.lanes as usize]);
                        let amount = Expr { ty: by, node: Node::Binary("&", Box::new(amount), Box::new(mask)) };
                        Node::Binary(self.d.op(&["<<", ">>"]), one(self, t), Box::new(amount))
                    }
                    3 => {
                        let (o, n) = (self.d.below(33), self.d.below(33));
                        let (o, n) = (lit(word, vec![o]), lit(word, vec![n.min(32 - o)]));
                        if self.d.one_in(2) {
                            Node::Extract(one(self, t), Box::new(o), Box::new(n))
                        } else {
                            Node::Insert(one(self, t), one(self, t), Box::new(o), Box::new(n))
                        }
                    }
                    4 => {
                        let other = if t.kind == Kind::I { Kind::U } else { Kind::I };
                        Node::Bitcast(one(self, Ty::of(other, t.lanes)))
                    }
                    _ => {
                        let op = self.d.op(&INT_OPS);
                        let x = one(self, t);
                        // Division by a constant zero is an error, and so is a constant that overflows.
                        let divides = matches!(op, "/" | "%");
                        let side = if t.lanes > 1 && self.d.one_in(4) && !matches!(op, "&" | "|" | "^") { t.lane() } else { t };
                        let y = if divides { self.nonconst(side, fuel) } else { self.expr(side, fuel) };
                        Node::Binary(op, x, Box::new(y))
                    }
                }
            }
            Kind::B => {
                let k = if self.floats { Kind::F } else { *self.d.pick(&[Kind::F, Kind::I, Kind::U]) };
                match self.d.below(6) {
                    0 => Node::Unary("!", one(self, t)),
                    1 if t.lanes == 1 => Node::Binary(self.d.op(&["&&", "||"]), one(self, t), one(self, t)),
                    1 => Node::Binary(self.d.op(&["&", "|"]), one(self, t), one(self, t)),
                    2 if t.lanes == 1 => {
                        let lanes = 2 + self.d.below(3) as u8;
                        Node::AllAny(self.d.op(&["all", "any"]), one(self, Ty::of(Kind::B, lanes)))
                    }
                    _ => {
                        let side = Ty::of(k, t.lanes);
                        let x = one(self, side);
                        let y = self.expr(side, fuel);
                        Node::Binary(self.d.op(&COMPARE), x, Box::new(y))
                    }
                }
            }
        }
    }

    fn literal_above_zero(&mut self, t: Ty) -> Expr {
        let w = (0..t.lanes).map(|_| (2.0f32.powi(self.d.below(7) as i32 - 3)).to_bits()).collect();
        lit(t, w)
    }

    /// Arguments for a function, if there is a variable for every pointer; no variable twice, since pointers may not overlap.
    fn args(&mut self, n: usize) -> Option<Vec<Arg>> {
        let params = self.p.functions[n].params.clone();
        let mut used: Vec<String> = Vec::new();
        let mut out = Vec::new();
        for (_, s, pointer) in params {
            let Shape::Leaf(t) = s else { return None };
            if !pointer {
                let depth = self.depth;
                self.depth = 1;
                out.push(Arg::Value(self.expr(t, 1)));
                self.depth = depth;
                continue;
            }
            let fits: Vec<Var> =
                self.vars.iter().filter(|v| v.local && v.shape == Shape::Leaf(t) && !used.contains(&v.name)).cloned().collect();
            if fits.is_empty() {
                return None;
            }
            let v = self.d.pick(&fits).clone();
            used.push(v.name.clone());
            out.push(Arg::Pointer(Place { root: v.name, pointer: v.pointer, steps: Vec::new(), ty: t }));
        }
        // A pointed-to variable is not read by another argument: the order would matter to a reader, not to WGSL.
        Some(out)
    }

    fn declare(&mut self, name: String, shape: Shape, writable: bool, local: bool) {
        self.vars.push(Var { name, shape, writable, pointer: false, local });
    }

    fn stmts(&mut self, n: u32) -> Vec<Stmt> {
        let known = self.vars.len();
        let mut out = Vec::new();
        for _ in 0..n {
            if self.size == 0 {
                break;
            }
            self.size -= 1;
            let s = self.stmt();
            let ends = matches!(s, Stmt::Break | Stmt::Continue | Stmt::Return(_));
            out.push(s);
            if ends {
                break;
            }
        }
        self.vars.truncate(known);
        out
    }

    fn condition(&mut self) -> Expr {
        self.nonconst(Ty::of(Kind::B, 1), 2)
    }

    fn stmt(&mut self) -> Stmt {
        match self.d.below(20) {
            0 | 1 => {
                let t = self.ty();
                let e = self.nonconst(t, 3);
                let n = self.name("l");
                self.declare(n.clone(), Shape::Leaf(t), false, false);
                Stmt::Let(n, e)
            }
            2..=4 => {
                let t = self.number();
                let e = self.nonconst(t, 3);
                let n = self.name("v");
                self.declare(n.clone(), Shape::Leaf(t), true, true);
                Stmt::Var(n, Shape::Leaf(t), Some(e))
            }
            5 => {
                let s = self.composite();
                let n = self.name("w");
                self.declare(n.clone(), s.clone(), true, false);
                Stmt::Var(n, s, None)
            }
            6 => {
                let fits: Vec<Var> =
                    self.vars.iter().filter(|v| !v.pointer && v.writable && !matches!(v.shape, Shape::Leaf(_))).cloned().collect();
                if fits.is_empty() {
                    return self.assign();
                }
                let from = self.d.pick(&fits).clone();
                let n = self.name("w");
                self.declare(n.clone(), from.shape.clone(), true, false);
                Stmt::Copy(n, from.shape, from.name)
            }
            7 | 8 if self.loops < 3 => {
                let c = self.condition();
                let (n, k) = (1 + self.d.below(3), self.d.below(3));
                let yes = self.stmts(n);
                Stmt::If(c, yes, self.stmts(k))
            }
            9 if self.loops < 2 && !self.in_continuing => {
                let k = self.name("i");
                let known = self.vars.len();
                self.declare(k.clone(), Shape::Leaf(Ty::of(Kind::I, 1)), false, false);
                self.loops += 1;
                let n = 1 + self.d.below(4);
                let body = self.stmts(3);
                self.loops -= 1;
                self.vars.truncate(known);
                Stmt::For(k, n, body)
            }
            10 if self.loops < 2 && !self.in_continuing => {
                let k = self.name("i");
                self.declare(k.clone(), Shape::Leaf(Ty::of(Kind::I, 1)), false, false);
                self.loops += 1;
                let n = 1 + self.d.below(4);
                let body = self.stmts(3);
                self.in_continuing = true;
                let after = self.stmts(2);
                self.in_continuing = false;
                self.loops -= 1;
                Stmt::Loop(k, n, body, after)
            }
            11 if !self.floats && self.loops < 3 => {
                let e = self.nonconst(Ty::of(Kind::I, 1), 2);
                let masked = Expr { ty: e.ty, node: Node::Binary("&", Box::new(e), Box::new(int(7))) };
                let mut values: Vec<i32> = (0..8).collect();
                let mut cases = Vec::new();
                for _ in 0..1 + self.d.below(3) {
                    let many = 1 + self.d.below(2);
                    let some = (0..many).map(|_| values.remove(self.d.below(values.len() as u32) as usize)).collect();
                    cases.push((some, self.stmts(2)));
                }
                let at = self.d.below(cases.len() as u32 + 1) as usize;
                let default = self.stmts(1);
                Stmt::Switch(masked, cases, at, default)
            }
            12 if self.loops > 0 && !self.in_continuing && self.d.one_in(2) => {
                let c = self.condition();
                let leave = if self.d.one_in(2) { Stmt::Break } else { Stmt::Continue };
                Stmt::If(c, vec![leave], Vec::new())
            }
            13 if self.result.is_some() && !self.in_continuing && self.d.one_in(2) => {
                let c = self.condition();
                let t = self.result.unwrap();
                let e = self.expr(t, 2);
                Stmt::If(c, vec![Stmt::Return(e)], Vec::new())
            }
            14 if self.callable > 0 => {
                let fits: Vec<usize> = (0..self.callable).filter(|n| self.p.functions[*n].result.is_none()).collect();
                if fits.is_empty() {
                    return self.assign();
                }
                let n = *self.d.pick(&fits);
                match self.args(n) {
                    Some(a) => Stmt::CallOnly(n, a),
                    None => self.assign(),
                }
            }
            _ => self.assign(),
        }
    }

    fn composite(&mut self) -> Shape {
        let t = self.number();
        match self.d.below(4) {
            0 => Shape::Struct(self.d.below(self.p.structs.len() as u32) as usize),
            1 => Shape::Array(Box::new(Shape::Struct(self.d.below(self.p.structs.len() as u32) as usize)), 1 << (1 + self.d.below(3))),
            2 => Shape::Array(Box::new(Shape::Array(Box::new(Shape::Leaf(t)), 2)), 1 << (1 + self.d.below(2))),
            _ => Shape::Array(Box::new(Shape::Leaf(t)), 1 << (1 + self.d.below(3))),
        }
    }

    fn assign(&mut self) -> Stmt {
        for _ in 0..8 {
            let t = self.number();
            let all = self.places(t, true);
            if all.is_empty() {
                continue;
            }
            let p = self.d.pick(&all).clone();
            let op = match t.kind {
                Kind::F => *self.d.pick(&[None, None, Some("+"), Some("-")]),
                _ => *self.d.pick(&[None, None, Some("+"), Some("*"), Some("^")]),
            };
            let e = self.nonconst(t, 3);
            return Stmt::Assign(p, op, e);
        }
        let t = self.number();
        let e = self.nonconst(t, 2);
        let n = self.name("v");
        self.declare(n.clone(), Shape::Leaf(t), true, true);
        Stmt::Var(n, Shape::Leaf(t), Some(e))
    }

    fn function(&mut self, n: usize) {
        let globals = self.vars.clone();
        let mut params = Vec::new();
        for k in 0..1 + self.d.below(3) {
            let t = self.number();
            let pointer = self.d.one_in(3);
            let name = format!("p{n}_{k}");
            self.vars.push(Var { name: name.clone(), shape: Shape::Leaf(t), writable: pointer, pointer, local: pointer });
            params.push((name, Shape::Leaf(t), pointer));
        }
        self.result = if self.d.one_in(4) { None } else { Some(self.number()) };
        self.size = 6;
        let known = self.vars.len();
        let mut body = Vec::new();
        while self.size > 0 {
            self.size -= 1;
            body.push(self.stmt());
        }
        if let Some(t) = self.result {
            let e = self.expr(t, 2);
            body.push(Stmt::Return(e));
        }
        self.vars.truncate(known);
        self.vars = globals;
        self.p.functions.push(Function { name: format!("f{n}"), params, result: self.result, body });
        self.callable = n + 1;
    }
}

/// Whether an expression is made of numbers only.
fn constant(e: &Expr) -> bool {
    match &e.node {
        Node::Lit(_) => true,
        // An element of the constant table by a constant index is a number too.
        Node::Load(p) if p.root == "table" => p.steps.iter().all(|s| match s {
            Step::Element(e, _) => constant(e),
            Step::LaneAt(e) => constant(e),
            _ => true,
        }),
        Node::Load(_) | Node::Call(..) => false,
        Node::Unary(_, x) | Node::Swizzle(x, _) | Node::Cast(x) | Node::Bitcast(x) | Node::AllAny(_, x) => constant(x),
        Node::Binary(_, x, y) | Node::Pair(_, x, y) => constant(x) && constant(y),
        Node::Clamp(x, y, z) | Node::Select(x, y, z) | Node::Extract(x, y, z) => constant(x) && constant(y) && constant(z),
        Node::Insert(x, y, z, w) => constant(x) && constant(y) && constant(z) && constant(w),
        Node::Build(parts) => parts.iter().all(constant),
    }
}

/// The program of a seed.
pub fn program(seed: u64, floats: bool) -> Program {
    let p = Program {
        structs: Vec::new(),
        functions: Vec::new(),
        private: Vec::new(),
        tables: Vec::new(),
        body: Vec::new(),
        outputs: Vec::new(),
        halves: false,
    };
    let mut m = Maker {
        d: Dice::new(seed),
        p,
        vars: Vec::new(),
        count: 0,
        floats,
        loops: 0,
        in_continuing: false,
        result: None,
        depth: 0,
        size: 0,
        callable: 0,
    };
    for _ in 0..2 {
        let members = (0..2 + m.d.below(3)).map(|_| m.number()).collect();
        m.p.structs.push(members);
    }
    // What functions see of the inputs: copies that `main` makes first.
    for (name, k) in [("ga", Kind::F), ("gb", Kind::I), ("gc", Kind::U)] {
        if floats && k != Kind::F {
            continue;
        }
        let s = Shape::Leaf(Ty::of(k, 4));
        m.p.private.push((name.to_string(), s.clone(), None));
        m.declare(name.to_string(), s, false, false);
    }
    for k in 0..1 + m.d.below(3) {
        let s = if m.d.one_in(2) { m.composite() } else { Shape::Leaf(m.number()) };
        let init = match &s {
            Shape::Leaf(t) => {
                let t = *t;
                Some((0..t.lanes).map(|_| m.word(t.kind)).collect())
            }
            _ => None,
        };
        let name = format!("g{k}");
        m.p.private.push((name.clone(), s.clone(), init));
        m.declare(name, s, true, false);
    }
    let t = m.number();
    let count = 4 << m.d.below(2);
    let table = (0..count).map(|_| (0..t.lanes).map(|_| m.word(t.kind)).collect()).collect();
    m.p.tables.push(("table".to_string(), t, table));
    m.declare("table".to_string(), Shape::Array(Box::new(Shape::Leaf(t)), count), false, false);
    let functions = m.d.below(4) as usize;
    for n in 0..functions {
        m.function(n);
    }
    m.result = None;
    m.declare("a".to_string(), Shape::Leaf(Ty::of(Kind::F, 4)), false, false);
    let mut body = Vec::new();
    for (g, name, k) in [("ga", "a", Kind::F), ("gb", "b", Kind::I), ("gc", "c", Kind::U)] {
        if floats && k != Kind::F {
            continue;
        }
        if k != Kind::F {
            m.declare(name.to_string(), Shape::Leaf(Ty::of(k, 4)), false, false);
        }
        let t = Ty::of(k, 4);
        let place = |root: &str| Place { root: root.to_string(), pointer: false, steps: Vec::new(), ty: t };
        body.push(Stmt::Assign(place(g), None, Expr { ty: t, node: Node::Load(place(name)) }));
    }
    m.size = 14 + m.d.below(16);
    while m.size > 0 {
        m.size -= 1;
        body.push(m.stmt());
    }
    m.p.body = body;
    for k in if floats { vec![Kind::F, Kind::F, Kind::F] } else { vec![Kind::F, Kind::I, Kind::U] } {
        let e = m.nonconst(Ty::of(k, 4), 3);
        m.p.outputs.push(e);
    }
    m.p
}
