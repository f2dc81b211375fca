//! What a program computes: a walk over its tree. A variable is a stretch of cells; an l-value is evaluated to the numbers of the cells that it names.

use super::*;

/// Values are flat: composites are their numbers one after the other, matrices by column.
type Value = Vec<Num>;

/// A cell: in the memory of the invocation, of the workgroup or of the device.
type Cell = (u8, usize);

enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
    Discard,
}

/// What a program is given: words in the order of declaration.
pub struct Inputs {
    /// Per invocation the words of each input.
    pub invocations: Vec<Vec<Vec<u32>>>,
    /// The words of each block.
    pub blocks: Vec<Vec<u32>>,
    /// Compute: number of workgroups.
    pub groups: usize,
}

/// What a program leaves.
pub struct Outcome {
    /// Per invocation the words of each output, none where it was discarded.
    pub outputs: Vec<Option<Vec<Vec<u32>>>>,
    pub blocks: Vec<Vec<u32>>,
    /// Per invocation: whether every float was exact in 24 and in 16 bits of significand.
    pub exact: Vec<bool>,
    pub coarse: Vec<bool>,
    /// Whether it ran too long.
    pub stopped: bool,
}

struct Machine<'p> {
    p: &'p Program,
    /// The first cell of each variable.
    at: Vec<Cell>,
    memory: [Vec<Option<Num>>; 3],
    left: u64,
    exact: bool,
    coarse: bool,
}

fn int(n: Num) -> i64 {
    match n {
        Num::I(i) => i64::from(i),
        Num::U(u) => i64::from(u),
        Num::B(b) => i64::from(b),
        Num::F(f) => panic!("{f} where an integer is due"),
    }
}

fn float(n: Num) -> f64 {
    if let Num::F(f) = n { f64::from(f) } else { panic!("{n:?} where a float is due") }
}

fn truth(n: Num) -> bool {
    if let Num::B(b) = n { b } else { panic!("{n:?} where a truth value is due") }
}

/// An integer of the kind of `like`, wrapped.
fn wrap(like: Num, x: i64) -> Num {
    if let Num::U(_) = like { Num::U(x as u32) } else { Num::I(x as i32) }
}

fn bits(n: Num) -> u32 {
    int(n) as u32
}

/// Half precision of a number that has one exactly.
fn half(x: f64) -> Option<u32> {
    if x == 0.0 {
        return Some(0);
    }
    let e = x.abs().log2().floor() as i32;
    let m = x.abs() / f64::from(e).exp2() * 1024.0;
    ((-14..=15).contains(&e) && m.fract() == 0.0).then(|| u32::from(x < 0.0) << 15 | ((e + 15) as u32) << 10 | (m as u32 & 1023))
}

impl Machine<'_> {
    /// A float result: noted where it is not exact.
    fn f(&mut self, x: f64) -> Num {
        let f = x as f32;
        if f64::from(f) != x || x != 0.0 && !(1e-6..=16_777_216.0).contains(&x.abs()) {
            self.exact = false;
        }
        if f.to_bits() & 0x7f != 0 {
            self.coarse = false;
        }
        Num::F(f)
    }
    fn get(&self, c: Cell) -> Num {
        self.memory[c.0 as usize][c.1].expect("a cell without a value is read")
    }
    fn read(&self, cells: &[Cell]) -> Value {
        cells.iter().map(|c| self.get(*c)).collect()
    }
    fn write(&mut self, cells: &[Cell], v: &[Num]) {
        assert_eq!(cells.len(), v.len());
        for (c, n) in cells.iter().zip(v) {
            self.memory[c.0 as usize][c.1] = Some(*n);
        }
    }
    fn var(&self, v: VarId) -> Vec<Cell> {
        let (m, at) = self.at[v];
        (0..self.p.cells(&self.p.vars[v].ty)).map(|k| (m, at + k)).collect()
    }
    /// Which elements of something a hop keeps.
    fn hop<T: Clone>(&mut self, t: &Ty, all: &[T], h: &Hop) -> Vec<T> {
        let n = match h {
            Hop::Swizzle(lanes) => return lanes.iter().map(|l| all[*l].clone()).collect(),
            Hop::Member(n) => *n,
            Hop::Index(e) => int(self.expr(e)[0]) as usize,
        };
        assert!(n < self.p.parts(t), "index {n} of {t:?}");
        let (part, at) = self.p.part(t, n);
        all[at..at + self.p.cells(&part)].to_vec()
    }
    fn place(&mut self, p: &Place) -> Vec<Cell> {
        let mut t = self.p.vars[p.var].ty.clone();
        let mut cells = self.var(p.var);
        for h in &p.hops {
            cells = self.hop(&t, &cells, h);
            t = self.p.after(&t, h);
        }
        cells
    }

    fn cast(&mut self, n: Num, to: Base) -> Num {
        match (to, n) {
            (Base::Float, Num::B(b)) => Num::F(f32::from(u8::from(b))),
            (Base::Float, Num::F(_)) => n,
            (Base::Float, _) => self.f(int(n) as f64),
            (Base::Bool, Num::F(f)) => Num::B(f != 0.0),
            (Base::Bool, _) => Num::B(int(n) != 0),
            (Base::Int, Num::F(f)) => Num::I(f as i32),
            (Base::Uint, Num::F(f)) => {
                assert!(f > -1.0, "a negative float becomes unsigned");
                Num::U(f as u32)
            }
            (Base::Int, _) => Num::I(int(n) as i32),
            (Base::Uint, _) => Num::U(int(n) as u32),
        }
    }

    /// An operator on one pair of numbers.
    fn pair(&mut self, op: &str, a: Num, b: Num) -> Num {
        if let Num::F(_) = a {
            let (x, y) = (float(a), float(b));
            return match op {
                "+" => self.f(x + y),
                "-" => self.f(x - y),
                "*" => self.f(x * y),
                "/" => self.f(x / y),
                "<" => Num::B(x < y),
                ">" => Num::B(x > y),
                "<=" => Num::B(x <= y),
                ">=" => Num::B(x >= y),
                "==" => Num::B(x == y),
                "!=" => Num::B(x != y),
                _ => panic!("{op}"),
            };
        }
        let (x, y) = (int(a), int(b));
        match op {
            "+" => wrap(a, x + y),
            "-" => wrap(a, x - y),
            "*" => wrap(a, x.wrapping_mul(y)),
            "/" => wrap(a, x / y),
            // SPIR-V's remainder has the sign of the divisor.
            "%" => wrap(a, x.rem_euclid(y)),
            "&" => wrap(a, x & y),
            "|" => wrap(a, x | y),
            "^" => wrap(a, x ^ y),
            "<<" => wrap(a, i64::from((x as u32) << y)),
            ">>" => wrap(a, x >> y),
            "<" => Num::B(x < y),
            ">" => Num::B(x > y),
            "<=" => Num::B(x <= y),
            ">=" => Num::B(x >= y),
            "==" => Num::B(x == y),
            "!=" | "^^" => Num::B(x != y),
            _ => panic!("{op}"),
        }
    }
    fn sum(&mut self, terms: impl Iterator<Item = (Num, Num)>) -> Num {
        let mut sum = 0.0;
        for (a, b) in terms {
            let t = float(a) * float(b);
            self.f(t);
            sum += t;
            self.f(sum);
        }
        self.f(sum)
    }
    fn binary(&mut self, op: &str, ta: &Ty, a: &[Num], tb: &Ty, b: &[Num]) -> Value {
        match (op, ta, tb) {
            ("==", ..) => return vec![Num::B(a.iter().zip(b).all(|(x, y)| x == y))],
            ("!=", ..) => return vec![Num::B(a.iter().zip(b).any(|(x, y)| x != y))],
            ("*", Ty::Matrix(c, r), Ty::Vector(..)) => {
                return (0..*r).map(|i| self.sum((0..*c).map(|k| (a[k * r + i], b[k])))).collect();
            }
            ("*", Ty::Vector(..), Ty::Matrix(c, r)) => {
                return (0..*c).map(|j| self.sum((0..*r).map(|k| (a[k], b[j * r + k])))).collect();
            }
            ("*", Ty::Matrix(c, r), Ty::Matrix(d, _)) => {
                return (0..d * r).map(|n| self.sum((0..*c).map(|k| (a[k * r + n % r], b[n / r * c + k])))).collect();
            }
            _ => {}
        }
        let n = a.len().max(b.len());
        (0..n).map(|k| self.pair(op, a[if a.len() == 1 { 0 } else { k }], b[if b.len() == 1 { 0 } else { k }])).collect()
    }

    fn make(&mut self, t: &Ty, args: &[Expr]) -> Value {
        let values: Vec<Value> = args.iter().map(|e| self.expr(e)).collect();
        match t {
            Ty::Array(..) | Ty::Struct(_) => values.concat(),
            Ty::Matrix(c, r) => match (&args[0].ty, args.len()) {
                // A scalar goes to the diagonal, a matrix to what both have; the rest is the unit matrix.
                (Ty::Scalar(_), 1) => {
                    let x = self.cast(values[0][0], Base::Float);
                    (0..c * r).map(|k| if k / r == k % r { x } else { Num::F(0.0) }).collect()
                }
                (Ty::Matrix(mc, mr), 1) => (0..c * r)
                    .map(|k| {
                        let (col, row) = (k / r, k % r);
                        let unit = Num::F(if col == row { 1.0 } else { 0.0 });
                        if col < *mc && row < *mr { values[0][col * mr + row] } else { unit }
                    })
                    .collect(),
                _ => {
                    let flat = values.concat();
                    (0..c * r).map(|k| self.cast(flat[k], Base::Float)).collect()
                }
            },
            _ => {
                let (base, n) = t.simple().unwrap();
                let flat = values.concat();
                (0..n).map(|k| self.cast(flat[if flat.len() == 1 { 0 } else { k }], base)).collect()
            }
        }
    }

    fn expr(&mut self, e: &Expr) -> Value {
        match &e.node {
            Node::Lit(w) => w.clone(),
            Node::Load(p) => {
                let cells = self.place(p);
                self.read(&cells)
            }
            Node::Unary(op, x) => {
                let v = self.expr(x);
                v.into_iter()
                    .map(|n| match (*op, n) {
                        ("!", _) => Num::B(!truth(n)),
                        ("~", _) => wrap(n, !int(n)),
                        ("-", Num::F(f)) => Num::F(0.0 - f),
                        ("-", _) => wrap(n, -int(n)),
                        _ => n,
                    })
                    .collect()
            }
            Node::Binary(op, x, y) => match *op {
                "&&" => vec![Num::B(truth(self.expr(x)[0]) && truth(self.expr(y)[0]))],
                "||" => vec![Num::B(truth(self.expr(x)[0]) || truth(self.expr(y)[0]))],
                "," => {
                    self.expr(x);
                    self.expr(y)
                }
                _ => {
                    let (a, b) = (self.expr(x), self.expr(y));
                    self.binary(op, &x.ty, &a, &y.ty, &b)
                }
            },
            Node::Cond(c, x, y) => {
                let c = truth(self.expr(c)[0]);
                self.expr(if c { x } else { y })
            }
            Node::Assign(p, op, x) => {
                let cells = self.place(p);
                let mut v = self.expr(x);
                if !op.is_empty() {
                    let old = self.read(&cells);
                    v = self.binary(op, &p.ty, &old, &x.ty, &v);
                }
                self.write(&cells, &v);
                v
            }
            Node::Step(p, op, before) => {
                let cells = self.place(p);
                let old = self.read(&cells);
                let by = if *op == "++" { 1 } else { -1 };
                let new: Value = old
                    .iter()
                    .map(|n| if let Num::F(f) = n { self.f(f64::from(*f) + f64::from(by)) } else { wrap(*n, int(*n) + i64::from(by)) })
                    .collect();
                self.write(&cells, &new);
                if *before { new } else { old }
            }
            Node::Make(args) => self.make(&e.ty, args),
            Node::Implicit(x) => {
                let v = self.expr(x);
                let base = e.ty.simple().unwrap().0;
                v.into_iter().map(|n| self.cast(n, base)).collect()
            }
            Node::Builtin(name, args, outs) => self.builtin(name, &e.ty, args, outs),
            Node::Call(n, args) => self.call(*n, args),
            Node::Part(x, h) => {
                let v = self.expr(x);
                self.hop(&x.ty, &v, h)
            }
        }
    }

    fn call(&mut self, n: usize, args: &[Arg]) -> Value {
        let f = &self.p.functions[n];
        let mut given: Vec<(Vec<Cell>, Option<Value>)> = Vec::new();
        for (a, (_, mode)) in args.iter().zip(&f.params) {
            given.push(match a {
                Arg::In(e) => (Vec::new(), Some(self.expr(e))),
                Arg::Ref(p) => {
                    let cells = self.place(p);
                    let value = (*mode == Mode::InOut).then(|| self.read(&cells));
                    (cells, value)
                }
            });
        }
        for ((_, value), (v, _)) in given.iter().zip(&f.params) {
            let cells = self.var(*v);
            match value {
                Some(value) => self.write(&cells, value),
                None => cells.iter().for_each(|c| self.memory[c.0 as usize][c.1] = None),
            }
        }
        let result = match self.block(&f.body) {
            Flow::Return(v) => v,
            _ => Vec::new(),
        };
        if self.left == 0 {
            // It never came to its end: any value will do.
            let bases = self.p.bases(&f.result);
            return bases.iter().map(|b| Num::of(*b, 0)).collect();
        }
        for ((cells, _), (v, _)) in given.iter().zip(&f.params) {
            if !cells.is_empty() {
                let value = self.read(&self.var(*v));
                self.write(cells, &value);
            }
        }
        result
    }

    fn block(&mut self, body: &[Stmt]) -> Flow {
        for s in body {
            match self.stmt(s) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        Flow::Next
    }
    fn holds(&mut self, e: &Expr) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0 && truth(self.expr(e)[0])
    }
    fn stmt(&mut self, s: &Stmt) -> Flow {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Flow::Discard;
        }
        match s {
            Stmt::Declare(all) => {
                for (v, init) in all {
                    let cells = self.var(*v);
                    match init {
                        Some(e) => {
                            let v = self.expr(e);
                            self.write(&cells, &v);
                        }
                        None => cells.iter().for_each(|c| self.memory[c.0 as usize][c.1] = None),
                    }
                }
            }
            Stmt::Expr(e) => {
                self.expr(e);
            }
            Stmt::If(c, yes, no) => {
                if truth(self.expr(c)[0]) {
                    return self.block(yes);
                } else if let Some(no) = no {
                    return self.block(no);
                }
            }
            Stmt::For(init, cond, step, body) => {
                if let Some(s) = init {
                    self.stmt(s);
                }
                loop {
                    self.left = self.left.saturating_sub(1);
                    if self.left == 0 || cond.as_ref().is_some_and(|c| !truth(self.expr(c)[0])) {
                        break;
                    }
                    match self.block(body) {
                        Flow::Break => break,
                        Flow::Next | Flow::Continue => {}
                        flow => return flow,
                    }
                    if let Some(e) = step {
                        self.expr(e);
                    }
                }
            }
            Stmt::While(c, body) => {
                while self.holds(c) {
                    match self.block(body) {
                        Flow::Break => break,
                        Flow::Next | Flow::Continue => {}
                        flow => return flow,
                    }
                }
            }
            Stmt::DoWhile(body, c) => loop {
                match self.block(body) {
                    Flow::Break => break,
                    Flow::Next | Flow::Continue => {}
                    flow => return flow,
                }
                if !self.holds(c) {
                    break;
                }
            },
            Stmt::Switch(e, cases) => {
                let v = bits(self.expr(e)[0]) as i32;
                let labelled = |l: Option<i32>| cases.iter().position(|(labels, _)| labels.contains(&l));
                let Some(from) = labelled(Some(v)).or_else(|| labelled(None)) else { return Flow::Next };
                for (_, body) in &cases[from..] {
                    match self.block(body) {
                        Flow::Next => {}
                        Flow::Break => break,
                        flow => return flow,
                    }
                }
            }
            Stmt::Break => return Flow::Break,
            Stmt::Continue => return Flow::Continue,
            Stmt::Return(e) => return Flow::Return(e.as_ref().map_or(Vec::new(), |e| self.expr(e))),
            Stmt::Discard => return Flow::Discard,
            Stmt::Block(body) => return self.block(body),
            Stmt::Barrier | Stmt::Rounds(..) => panic!("a barrier within a statement"),
        }
        Flow::Next
    }
}

/// What the language's functions give.
impl Machine<'_> {
    fn lanes(&mut self, n: usize, args: &[Value], mut one: impl FnMut(&mut Self, &[Num]) -> Num) -> Value {
        (0..n)
            .map(|k| {
                let lane: Vec<Num> = args.iter().map(|a| a[if a.len() == 1 { 0 } else { k }]).collect();
                one(self, &lane)
            })
            .collect()
    }
    fn builtin(&mut self, name: &str, ty: &Ty, args: &[Expr], outs: &[Place]) -> Value {
        if name == "length" {
            return vec![Num::I(self.p.parts(&args[0].ty) as i32)];
        }
        // In the order in which they are written.
        let mut cells: Vec<Vec<Cell>> = Vec::new();
        if name.starts_with("atomic") {
            cells.push(self.place(&outs[0]));
        }
        let a: Vec<Value> = args.iter().map(|e| self.expr(e)).collect();
        if cells.is_empty() {
            cells = outs.iter().map(|p| self.place(p)).collect();
        }
        let n = ty.simple().map_or(1, |t| t.1);
        match name {
            "any" => vec![Num::B(a[0].iter().any(|n| truth(*n)))],
            "all" => vec![Num::B(a[0].iter().all(|n| truth(*n)))],
            "dot" => vec![self.sum(a[0].iter().copied().zip(a[1].iter().copied()))],
            "cross" => {
                let (x, y) = (&a[0], &a[1]);
                [(1, 2), (2, 0), (0, 1)]
                    .map(|(i, j)| {
                        let (p, q) = (float(x[i]) * float(y[j]), float(x[j]) * float(y[i]));
                        self.f(p);
                        self.f(q);
                        self.f(p - q)
                    })
                    .to_vec()
            }
            "transpose" => {
                let Ty::Matrix(c, r) = ty else { panic!("{ty:?}") };
                (0..c * r).map(|k| a[0][k % r * c + k / r]).collect()
            }
            "outerProduct" => {
                let r = a[0].len();
                (0..r * a[1].len()).map(|k| self.pair("*", a[0][k % r], a[1][k / r])).collect()
            }
            "matrixCompMult" => a[0].iter().zip(&a[1]).map(|(x, y)| self.pair("*", *x, *y)).collect(),
            "packUnorm4x8" => vec![Num::U((0..4).fold(0, |w, k| w | ((float(a[0][k]).clamp(0.0, 1.0) * 255.0).round() as u32) << (8 * k)))],
            "packSnorm4x8" => {
                let one = |x: f64| (x.clamp(-1.0, 1.0) * 127.0).round() as i32 as u32 & 255;
                vec![Num::U((0..4).fold(0, |w, k| w | one(float(a[0][k])) << (8 * k)))]
            }
            "packUnorm2x16" => {
                vec![Num::U((0..2).fold(0, |w, k| w | ((float(a[0][k]).clamp(0.0, 1.0) * 65535.0).round() as u32) << (16 * k)))]
            }
            "packSnorm2x16" => {
                let one = |x: f64| (x.clamp(-1.0, 1.0) * 32767.0).round() as i32 as u32 & 0xffff;
                vec![Num::U((0..2).fold(0, |w, k| w | one(float(a[0][k])) << (16 * k)))]
            }
            "packHalf2x16" => {
                let one = |m: &mut Self, n: Num| {
                    half(float(n)).unwrap_or_else(|| {
                        m.exact = false;
                        0
                    })
                };
                let (low, high) = (one(self, a[0][0]), one(self, a[0][1]));
                vec![Num::U(low | high << 16)]
            }
            "unpackHalf2x16" => (0..2)
                .map(|k| {
                    let h = bits(a[0][0]) >> (16 * k) & 0xffff;
                    let m = f64::from(h & 1023) / 1024.0 + 1.0;
                    let x = if h & 0x7fff == 0 { 0.0 } else { m * f64::from((h >> 10 & 31) as i32 - 15).exp2() };
                    self.f(if h >> 15 == 1 { -x } else { x })
                })
                .collect(),
            "unorm8" => (0..4).map(|k| Num::F((bits(a[0][0]) >> (8 * k) & 255) as f32)).collect(),
            "snorm8" => (0..4).map(|k| Num::F(f32::from(((bits(a[0][0]) >> (8 * k)) as i8).max(-127)))).collect(),
            "unorm16" => (0..2).map(|k| Num::F((bits(a[0][0]) >> (16 * k) & 0xffff) as f32)).collect(),
            "uaddCarry" | "usubBorrow" => {
                let add = name == "uaddCarry";
                let over = self
                    .lanes(n, &a, |_, x| Num::U(u32::from(if add { int(x[0]) + int(x[1]) > 0xffff_ffff } else { int(x[0]) < int(x[1]) })));
                self.write(&cells[0], &over);
                self.lanes(n, &a, |_, x| wrap(x[0], if add { int(x[0]) + int(x[1]) } else { int(x[0]) - int(x[1]) }))
            }
            "umulExtended" | "imulExtended" => {
                let lanes = a[0].len();
                let product = |x: &[Num]| (i128::from(int(x[0])) * i128::from(int(x[1]))) as i64;
                let high = self.lanes(lanes, &a, |_, x| wrap(x[0], ((product(x) as u64) >> 32) as i64));
                let low = self.lanes(lanes, &a, |_, x| wrap(x[0], product(x)));
                self.write(&cells[0], &high);
                self.write(&cells[1], &low);
                Vec::new()
            }
            "modf" => {
                let whole = self.lanes(n, &a, |m, x| m.f(float(x[0]).trunc()));
                self.write(&cells[0], &whole);
                self.lanes(n, &a, |m, x| m.f(float(x[0]) - float(x[0]).trunc()))
            }
            "frexp" => {
                let exponent = |x: f64| if x == 0.0 { 0 } else { x.abs().log2().floor() as i32 + 1 };
                let e = self.lanes(n, &a, |_, x| Num::I(exponent(float(x[0]))));
                self.write(&cells[0], &e);
                self.lanes(n, &a, |m, x| m.f(float(x[0]) / f64::from(exponent(float(x[0]))).exp2()))
            }
            _ if name.starts_with("atomic") => {
                let (old, x) = (self.get(cells[0][0]), a[0][0]);
                let new = match name {
                    "atomicAdd" => self.pair("+", old, x),
                    "atomicOr" => self.pair("|", old, x),
                    "atomicAnd" => self.pair("&", old, x),
                    "atomicXor" => self.pair("^", old, x),
                    "atomicMin" => wrap(old, int(old).min(int(x))),
                    _ => wrap(old, int(old).max(int(x))),
                };
                self.write(&cells[0], &[new]);
                vec![old]
            }
            _ => self.lanes(n, &a, |m, x| m.lane(name, ty, x)),
        }
    }

    /// A function that works lane by lane.
    fn lane(&mut self, name: &str, ty: &Ty, x: &[Num]) -> Num {
        let compare = match name {
            "lessThan" => "<",
            "lessThanEqual" => "<=",
            "greaterThan" => ">",
            "greaterThanEqual" => ">=",
            "equal" => "==",
            "notEqual" => "!=",
            _ => "",
        };
        if !compare.is_empty() {
            return self.pair(compare, x[0], x[1]);
        }
        if name == "not" {
            return Num::B(!truth(x[0]));
        }
        if name == "mix" && matches!(x[2], Num::B(_)) {
            return if truth(x[2]) { x[1] } else { x[0] };
        }
        if let Num::F(f) = x[0] {
            if name.starts_with("floatBitsTo") {
                return Num::of(ty.simple().unwrap().0, f.to_bits());
            }
            let v = f64::from(f);
            let second = |n: usize| float(x[n]);
            let r = match name {
                "q" => {
                    self.f(v * 4.0);
                    let v = (v * 4.0).floor() * 0.25;
                    v - 32.0 * (v * 0.03125).floor()
                }
                "quarter" => v * 0.25,
                "abs" => v.abs(),
                "sign" => f64::from(i8::from(v > 0.0) - i8::from(v < 0.0)),
                "floor" => v.floor(),
                "ceil" => v.ceil(),
                "trunc" => v.trunc(),
                "roundEven" => v.round_ties_even(),
                "fract" => v - v.floor(),
                "min" => v.min(second(1)),
                "max" => v.max(second(1)),
                "clamp" => v.max(second(1)).min(second(2)),
                "step" => f64::from(u8::from(second(1) >= v)),
                "mix" => {
                    let t = second(2);
                    // However it is computed, each step must be exact.
                    self.f(v * (1.0 - t));
                    self.f(second(1) * t);
                    self.f((second(1) - v) * t);
                    v * (1.0 - t) + second(1) * t
                }
                "fma" => {
                    self.f(v * second(1));
                    v * second(1) + second(2)
                }
                "ldexp" => v * (int(x[1]) as f64).exp2(),
                _ => panic!("{name}"),
            };
            return self.f(r);
        }
        let (v, like, w) = (int(x[0]), x[0], bits(x[0]));
        let signed = matches!(like, Num::I(_));
        match name {
            "abs" => wrap(like, v.abs()),
            "sign" => wrap(like, v.signum()),
            "min" => wrap(like, v.min(int(x[1]))),
            "max" => wrap(like, v.max(int(x[1]))),
            "clamp" => wrap(like, v.max(int(x[1])).min(int(x[2]))),
            "bitCount" => Num::I((0..32).filter(|k| w >> k & 1 == 1).count() as i32),
            "bitfieldReverse" => wrap(like, (0..32).fold(0, |r, k| r | i64::from(w >> k & 1) << (31 - k))),
            "findLSB" => Num::I((0..32).find(|k| w >> k & 1 == 1).unwrap_or(-1)),
            "findMSB" => {
                let w = if signed && v < 0 { !w } else { w };
                Num::I((0..32).rev().find(|k| w >> k & 1 == 1).unwrap_or(-1))
            }
            "bitfieldExtract" => {
                let (o, c) = (int(x[1]), int(x[2]));
                let field = i64::from(w) >> o & ((1 << c) - 1);
                wrap(like, if signed && c > 0 && field >> (c - 1) & 1 == 1 { field - (1 << c) } else { field })
            }
            "bitfieldInsert" => {
                let (o, c) = (int(x[2]), int(x[3]));
                let mask = ((1i64 << c) - 1) << o;
                wrap(like, i64::from(w) & !mask | i64::from(bits(x[1])) << o & mask)
            }
            "intBitsToFloat" | "uintBitsToFloat" => self.f(f64::from(f32::from_bits(w))),
            _ => panic!("{name}"),
        }
    }
}

/// Statements of a workgroup's main function, each for all invocations in turn; those that are done take no part.
fn together(m: &mut Machine, own: &mut [Vec<Option<Num>>], live: &mut [Option<bool>], marks: &mut [(bool, bool)], body: &[Stmt]) {
    for s in body {
        match s {
            Stmt::Barrier => {}
            Stmt::Rounds(v, n, body) => {
                for k in 0..*n {
                    let (_, at) = m.at[*v];
                    own.iter_mut().for_each(|o| o[at] = Some(Num::I(k)));
                    together(m, own, live, marks, body);
                }
            }
            _ => {
                for l in 0..own.len() {
                    if live[l] != Some(true) {
                        continue;
                    }
                    std::mem::swap(&mut m.memory[0], &mut own[l]);
                    (m.exact, m.coarse) = marks[l];
                    match m.stmt(s) {
                        Flow::Return(_) => live[l] = Some(false),
                        Flow::Discard => live[l] = None,
                        _ => {}
                    }
                    marks[l] = (m.exact, m.coarse);
                    std::mem::swap(&mut m.memory[0], &mut own[l]);
                }
            }
        }
    }
}

/// Runs a program.
pub fn run(p: &Program, inputs: &Inputs) -> Outcome {
    let mut sizes = [0; 3];
    let mut at: Vec<Cell> = vec![(0, 0); p.vars.len()];
    let mut place = |v: VarId, m: usize| {
        at[v] = (m as u8, sizes[m]);
        sizes[m] += p.cells(&p.vars[v].ty);
    };
    for b in &p.blocks {
        b.members.iter().for_each(|(v, _)| place(*v, 2));
    }
    for (v, var) in p.vars.iter().enumerate() {
        match var.space {
            Space::Own => place(v, 0),
            Space::Shared => place(v, 1),
            Space::Block(_) => {}
        }
    }
    let memory = sizes.map(|n| vec![None; n]);
    let mut m = Machine { p, at, memory, left: 0, exact: true, coarse: true };
    // Blocks from their words.
    let layouts: Vec<(Vec<usize>, usize)> = p.blocks.iter().map(|b| layout::block(p, b)).collect();
    let cells_of = |m: &Machine, b: &Block| -> Vec<(Cell, Base)> {
        b.members.iter().flat_map(|(v, _)| m.var(*v).into_iter().zip(p.bases(&p.vars[*v].ty))).collect()
    };
    for (n, b) in p.blocks.iter().enumerate() {
        for ((c, base), w) in cells_of(&m, b).into_iter().zip(&layouts[n].0) {
            m.write(&[c], &[Num::of(base, inputs.blocks[n][*w])]);
        }
    }
    let mut out = Outcome { outputs: Vec::new(), blocks: Vec::new(), exact: Vec::new(), coarse: Vec::new(), stopped: false };
    let (groups, lanes) = if p.stage == Stage::Compute { (inputs.groups, p.group) } else { (inputs.invocations.len(), 1) };
    for g in 0..groups {
        m.memory[1].fill(None);
        m.left = 20_000 * lanes as u64;
        let mut own = Vec::new();
        for l in 0..lanes {
            m.memory[0] = vec![None; sizes[0]];
            if p.stage == Stage::Compute {
                m.write(&m.var(p.lane), &[Num::I(l as i32)]);
                m.write(&m.var(p.group_number), &[Num::I(g as i32)]);
            } else {
                for (v, words) in p.inputs.iter().zip(&inputs.invocations[g]) {
                    let values: Value = words.iter().zip(p.bases(&p.vars[*v].ty)).map(|(w, b)| Num::of(b, *w)).collect();
                    m.write(&m.var(*v), &values);
                }
            }
            for (v, _, init) in &p.globals {
                let value = m.expr(init);
                m.write(&m.var(*v), &value);
            }
            own.push(std::mem::take(&mut m.memory[0]));
        }
        let mut live = vec![Some(true); lanes];
        let mut marks = vec![(true, true); lanes];
        together(&mut m, &mut own, &mut live, &mut marks, &p.main);
        out.stopped |= m.left == 0;
        for l in 0..lanes {
            m.memory[0] = std::mem::take(&mut own[l]);
            let words = |v: &VarId| m.var(*v).iter().map(|c| m.memory[c.0 as usize][c.1].map_or(0, Num::word)).collect();
            out.outputs.push(live[l].map(|_| p.outputs.iter().map(words).collect()));
            out.exact.push(marks[l].0);
            out.coarse.push(marks[l].1);
        }
    }
    for (n, b) in p.blocks.iter().enumerate() {
        let mut words = inputs.blocks[n].clone();
        for ((c, _), w) in cells_of(&m, b).into_iter().zip(&layouts[n].0) {
            words[*w] = m.get(c).word();
        }
        out.blocks.push(words);
    }
    out
}
