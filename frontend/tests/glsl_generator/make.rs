//! The dice: how a program comes to be.
// `pick` finds the type of its elements by the star in front of it.
#![allow(clippy::explicit_auto_deref)]

use super::*;
use std::collections::BTreeSet;

/// Something that expressions may read or write: a place that is seen here.
#[derive(Clone)]
struct Root {
    place: Place,
    writable: bool,
}

/// What the unsequenced parts of the current expression have read and written so far.
#[derive(Clone, Default)]
struct Touched {
    reads: BTreeSet<VarId>,
    writes: BTreeSet<VarId>,
}

struct Maker {
    d: Dice,
    p: Program,
    roots: Vec<Root>,
    touched: Touched,
    /// Whether integers are used for more than counting (a machine may have none).
    ints: bool,
    names: usize,
    /// Expressions may have effects.
    effects: bool,
    /// Loops around, and whether a `switch` is nearer than the nearest of them.
    loops: usize,
    breakable: bool,
    /// What the function returns, if a `return` may stand here.
    result: Option<Ty>,
    discards: bool,
    /// Statements left for the current function.
    budget: usize,
    /// What the function under construction touches outside itself.
    outside: Touched,
    /// Variables up to here are outside the function.
    first_local: VarId,
    /// Variables up to here are outside the scope.
    scope_start: VarId,
}

fn lit(n: Num) -> Expr {
    let base = match n {
        Num::B(_) => Base::Bool,
        Num::I(_) => Base::Int,
        Num::U(_) => Base::Uint,
        Num::F(_) => Base::Float,
    };
    Expr { ty: Ty::Scalar(base), node: Node::Lit(vec![n]) }
}

fn int(n: i32) -> Expr {
    lit(Num::I(n))
}

fn builtin(ty: Ty, name: &'static str, args: Vec<Expr>) -> Expr {
    Expr { ty, node: Node::Builtin(name, args, Vec::new()) }
}

fn binary(ty: Ty, op: &'static str, x: Expr, y: Expr) -> Expr {
    Expr { ty, node: Node::Binary(op, Box::new(x), Box::new(y)) }
}

fn load(p: &Place) -> Expr {
    Expr { ty: p.ty.clone(), node: Node::Load(p.clone()) }
}

fn assign(p: &Place, op: &'static str, e: Expr) -> Expr {
    Expr { ty: p.ty.clone(), node: Node::Assign(p.clone(), op, Box::new(e)) }
}

/// A float expression as a multiple of 1/4 from 0 up to 32.
fn q(e: Expr) -> Expr {
    builtin(e.ty.clone(), "q", vec![e])
}

// ---- Types, variables, names.
impl Maker {
    fn base(&mut self) -> Base {
        if !self.ints {
            return *self.d.pick(&[Base::Float, Base::Float, Base::Float, Base::Float, Base::Bool]);
        }
        *self.d.pick(&[Base::Float, Base::Float, Base::Int, Base::Int, Base::Int, Base::Uint, Base::Uint, Base::Bool])
    }
    fn simple(&mut self) -> Ty {
        let n = *self.d.pick(&[1, 1, 1, 2, 3, 4]);
        Ty::lanes_of(self.base(), n)
    }
    fn ty(&mut self, depth: usize) -> Ty {
        match self.d.below(if depth == 0 { 14 } else { 20 }) {
            14..=17 => {
                let n = 2 + self.d.below(3);
                self.ty(depth - 1).array(n)
            }
            18 | 19 if !self.p.structs.is_empty() => Ty::Struct(self.d.below(self.p.structs.len())),
            12 | 13 => Ty::Matrix(2 + self.d.below(3), 2 + self.d.below(3)),
            _ => self.simple(),
        }
    }
    fn var(&mut self, prefix: &str, ty: Ty, space: Space) -> VarId {
        self.names += 1;
        self.p.vars.push(Var { name: format!("{prefix}{}", self.names), ty, space });
        self.p.vars.len() - 1
    }
    fn plain(&self, v: VarId) -> Place {
        Place { var: v, hops: Vec::new(), ty: self.p.vars[v].ty.clone() }
    }
    fn see(&mut self, v: VarId, writable: bool) {
        let place = self.plain(v);
        self.roots.push(Root { place, writable });
    }
    fn local(&mut self, ty: Ty) -> VarId {
        self.var("v", ty, Space::Own)
    }
    /// Makes a new variable visible; now and then it takes the name of another one, which it hides.
    fn shadow(&mut self, v: VarId) {
        if self.d.one_in(6) && !self.roots.is_empty() {
            let n = self.d.below(self.roots.len());
            let other = self.roots[n].place.var;
            // Counters stay: the body of a loop is in their scope. So do parameters and the body of their function.
            let hides = self.p.vars[other].space == Space::Own && self.roots[n].writable && self.roots[n].place.hops.is_empty();
            if hides && other < self.scope_start {
                self.p.vars[v].name = self.p.vars[other].name.clone();
                self.roots.retain(|r| r.place.var != other);
            }
        }
        self.see(v, true);
    }
}

// ---- Places.
impl Maker {
    fn read(&mut self, v: VarId) {
        self.touched.reads.insert(v);
        if v < self.first_local {
            self.outside.reads.insert(v);
        }
    }
    fn wrote(&mut self, v: VarId) {
        self.touched.writes.insert(v);
        if v < self.first_local {
            self.outside.writes.insert(v);
        }
    }
    fn may_read(&self, v: VarId) -> bool {
        !self.touched.writes.contains(&v)
    }
    fn may_write(&self, v: VarId) -> bool {
        self.effects && !self.touched.writes.contains(&v) && !self.touched.reads.contains(&v)
    }
    /// An index within `n`.
    fn index(&mut self, n: usize, depth: usize) -> Expr {
        if depth == 0 || !self.ints || self.d.one_in(3) {
            return if self.ints && self.d.one_in(3) { lit(Num::U(self.d.below(n) as u32)) } else { int(self.d.below(n) as i32) };
        }
        if n.is_power_of_two() && self.d.one_in(2) {
            let e = self.scalar(Base::Int, depth - 1);
            return binary(INT, "&", e, int(n as i32 - 1));
        }
        let e = self.scalar(Base::Uint, depth - 1);
        binary(UINT, if n.is_power_of_two() { "&" } else { "%" }, e, lit(Num::U(if n.is_power_of_two() { n as u32 - 1 } else { n as u32 })))
    }
    /// A place of the type in what is seen, if the dice find one.
    fn find(&mut self, want: &Ty, write: bool, depth: usize) -> Option<Place> {
        for _ in 0..14 {
            if self.roots.is_empty() {
                return None;
            }
            let n = self.d.below(self.roots.len());
            let root = self.roots[n].clone();
            let v = root.place.var;
            if !(self.may_read(v) && (!write || root.writable && self.may_write(v))) {
                continue;
            }
            // The variable counts as used before its indices are made.
            let before = (self.touched.clone(), self.outside.clone());
            self.read(v);
            if write {
                self.wrote(v);
            }
            if let Some(p) = self.walk(root.place, want, depth, write) {
                return Some(p);
            }
            (self.touched, self.outside) = before;
        }
        None
    }
    fn walk(&mut self, mut p: Place, want: &Ty, depth: usize, write: bool) -> Option<Place> {
        for _ in 0..6 {
            if p.ty == *want && (self.p.parts(&p.ty) == 0 || !self.d.one_in(6)) {
                return Some(p);
            }
            let ty = p.ty.clone();
            let hop = match &ty {
                Ty::Struct(s) => Hop::Member(self.d.below(self.p.structs[*s].members.len())),
                Ty::Vector(b, n) => match want.simple() {
                    Some((base, lanes)) if base == *b && (lanes > 1 || self.d.one_in(2)) => {
                        let mut all: Vec<usize> = (0..*n).collect();
                        let mut lanes_of = Vec::new();
                        for _ in 0..lanes {
                            // A place that is written names no lane twice.
                            let k = self.d.below(all.len());
                            lanes_of.push(if write { all.swap_remove(k) } else { all[k] });
                            if all.is_empty() && lanes_of.len() < lanes {
                                return None;
                            }
                        }
                        Hop::Swizzle(lanes_of)
                    }
                    Some((base, 1)) if base == *b => Hop::Index(Box::new(self.index(*n, depth.min(1)))),
                    _ => return None,
                },
                Ty::Matrix(n, _) => Hop::Index(Box::new(self.index(*n, depth.min(1)))),
                Ty::Array(_, n) => Hop::Index(Box::new(self.index(*n, depth.min(2)))),
                _ => return None,
            };
            p.ty = self.p.after(&p.ty, &hop);
            p.hops.push(hop);
        }
        None
    }
    /// Makes parts one after the other, in an order that the language fixes: what the first touches does not bind the second.
    fn sequenced<T>(&mut self, part: impl FnOnce(&mut Self) -> T, before: &Touched) -> T {
        let all = std::mem::replace(&mut self.touched, before.clone());
        let r = part(self);
        self.touched.reads.extend(all.reads);
        self.touched.writes.extend(all.writes);
        r
    }
    /// A full expression.
    fn full<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        self.touched = Touched::default();
        part(self)
    }
}

// ---- Expressions.
impl Maker {
    fn number(&mut self, b: Base) -> Num {
        match b {
            Base::Bool => Num::B(self.d.one_in(2)),
            Base::Int if self.d.one_in(8) => Num::I(*self.d.pick(&[i32::MIN, i32::MAX, -1, 65536, 0x1234_5678, -65535])),
            Base::Int => Num::I(self.d.below(24) as i32 - 8),
            Base::Uint if self.d.one_in(6) => Num::U(*self.d.pick(&[u32::MAX, 1 << 31, 0xffff, 0xdead_beef, 0x0f0f_00ff])),
            Base::Uint => Num::U(self.d.below(20) as u32),
            Base::Float => Num::F((self.d.below(33) as f32 - 16.0) * 0.25),
        }
    }
    fn literal(&mut self, t: &Ty) -> Expr {
        match t {
            Ty::Scalar(b) => lit(self.number(*b)),
            Ty::Vector(b, n) => {
                let w = (0..*n).map(|_| self.number(*b)).collect();
                Expr { ty: t.clone(), node: Node::Lit(w) }
            }
            _ => self.construct(t, 0),
        }
    }
    fn scalar(&mut self, b: Base, depth: usize) -> Expr {
        self.expr(&Ty::Scalar(b), depth)
    }
    /// A constructor of the type.
    fn construct(&mut self, t: &Ty, depth: usize) -> Expr {
        let depth = depth.saturating_sub(1);
        let args: Vec<Expr> = match t {
            Ty::Array(e, n) => (0..*n).map(|_| self.expr(e, depth.min(1))).collect(),
            Ty::Struct(s) => {
                let all: Vec<Ty> = self.p.structs[*s].members.iter().map(|m| m.1.clone()).collect();
                all.iter().map(|t| self.expr(t, depth.min(1))).collect()
            }
            Ty::Matrix(c, r) => match self.d.below(4) {
                0 => vec![self.scalar(Base::Float, depth)],
                1 if depth > 0 => {
                    let (mc, mr) = (2 + self.d.below(3), 2 + self.d.below(3));
                    if (mc, mr) == (*c, *r) {
                        return self.expr(t, depth - 1);
                    }
                    vec![self.expr(&Ty::Matrix(mc, mr), depth - 1)]
                }
                2 => (0..*c).map(|_| self.expr(&Ty::Vector(Base::Float, *r), depth.min(1))).collect(),
                _ => (0..c * r).map(|_| self.scalar(Base::Float, depth.min(1))).collect(),
            },
            Ty::Vector(b, n) => {
                if self.d.one_in(5) {
                    // One number for all lanes, of any kind.
                    let from = self.source_kind(*b);
                    vec![self.convertible(from, *b, 1, depth)]
                } else {
                    let mut left = *n;
                    let mut args = Vec::new();
                    while left > 0 {
                        let k = 1 + self.d.below(left.min(3));
                        // A single vector with all lanes would be a conversion or a copy.
                        let k = if k == *n { k - 1 } else { k };
                        let from = if self.d.one_in(4) { self.source_kind(*b) } else { *b };
                        args.push(self.convertible(from, *b, k, depth));
                        left -= k;
                    }
                    args
                }
            }
            Ty::Scalar(b) => {
                let from = self.source_kind(*b);
                vec![self.convertible(from, *b, 1, depth)]
            }
            Ty::Void => Vec::new(),
        };
        Expr { ty: t.clone(), node: Node::Make(args) }
    }
    fn source_kind(&mut self, to: Base) -> Base {
        let k = if self.ints { *self.d.pick(&[Base::Bool, Base::Int, Base::Uint, Base::Float]) } else { Base::Bool };
        if k == to { if to == Base::Float { Base::Bool } else { Base::Float } } else { k }
    }
    /// A value of kind `from` that can become `to`: floats within what an integer holds, integers that are exact as floats.
    fn convertible(&mut self, from: Base, to: Base, lanes: usize, depth: usize) -> Expr {
        let t = Ty::lanes_of(from, lanes);
        let e = self.expr(&t, depth);
        match (from, to) {
            (Base::Float, Base::Int | Base::Uint) => q(e),
            (Base::Int, Base::Float) => binary(t, "&", e, int(1023)),
            (Base::Uint, Base::Float) => binary(t, "&", e, lit(Num::U(1023))),
            _ => e,
        }
    }
    fn expr(&mut self, t: &Ty, depth: usize) -> Expr {
        if depth == 0 || self.d.one_in(4) {
            if let Some(p) = self.find(t, false, depth) {
                return load(&p);
            }
            return if depth == 0 && self.d.one_in(3) && t.simple().is_none() { self.construct(t, 0) } else { self.literal(t) };
        }
        if self.d.one_in(9)
            && let Some(e) = self.effect(t, depth - 1)
        {
            return e;
        }
        if self.d.one_in(10)
            && let Some(e) = self.call(Some(t), depth - 1)
        {
            return e;
        }
        if self.d.one_in(12) {
            // A choice: only one of the two is evaluated.
            let before = self.touched.clone();
            let c = self.scalar(Base::Bool, depth - 1);
            let x = self.sequenced(|m| m.expr(t, depth - 1), &before);
            let y = self.sequenced(|m| m.expr(t, depth - 1), &before);
            return Expr { ty: t.clone(), node: Node::Cond(Box::new(c), Box::new(x), Box::new(y)) };
        }
        match t {
            Ty::Scalar(_) | Ty::Vector(..) => self.operation(t, depth - 1),
            Ty::Matrix(c, r) => self.matrix(*c, *r, depth - 1),
            _ if self.d.one_in(2) => self.find(t, false, depth).map_or_else(|| self.construct(t, depth), |p| load(&p)),
            _ => self.construct(t, depth),
        }
    }
    /// An assignment, a step or a comma.
    fn effect(&mut self, t: &Ty, depth: usize) -> Option<Expr> {
        if !self.effects {
            return None;
        }
        if self.d.one_in(4) {
            // The first part of a comma is done before the second begins.
            let outer = self.touched.clone();
            let other = self.simple();
            let x = self.effect(&other, depth.min(1)).unwrap_or_else(|| self.literal(&other));
            let y = self.sequenced(|m| m.expr(t, depth), &outer);
            return Some(binary(t.clone(), ",", x, y));
        }
        let p = self.find(t, true, depth.min(1))?;
        let simple = t.simple();
        if let Some((Base::Int | Base::Uint, _)) = simple
            && self.d.one_in(2)
        {
            let (op, before) = (*self.d.pick(&["++", "--"]), self.d.one_in(2));
            return Some(Expr { ty: t.clone(), node: Node::Step(p, op, before) });
        }
        let (op, e) = self.right_side(t, depth);
        Some(assign(&p, op, e))
    }
    /// The operator and the right side of an assignment.
    fn right_side(&mut self, t: &Ty, depth: usize) -> (&'static str, Expr) {
        match t.simple() {
            Some((b @ (Base::Int | Base::Uint), n)) if self.d.one_in(2) => {
                let n = if self.d.one_in(3) { 1 } else { n };
                let op = *self.d.pick(&["+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"]);
                let op = if op == "%" && b == Base::Int { "/" } else { op };
                let right = Ty::lanes_of(b, n);
                let e = self.expr(&right, depth);
                let e = self.tame(op, &right, e);
                (op, e)
            }
            Some((Base::Float, n)) if self.d.one_in(2) => {
                let n = if self.d.one_in(3) { 1 } else { n };
                let op = *self.d.pick(&["+", "-", "+"]);
                let e = self.expr(&Ty::lanes_of(Base::Float, n), depth);
                (op, q(e))
            }
            Some((Base::Float, _)) => ("", q(self.expr(t, depth))),
            _ => ("", self.expr(t, depth)),
        }
    }
    /// Operands that an operator takes: shift counts below 32, divisors above zero.
    fn tame(&mut self, op: &'static str, t: &Ty, e: Expr) -> Expr {
        let n = |k: i32| if t.simple().unwrap().0 == Base::Uint { lit(Num::U(k as u32)) } else { int(k) };
        match op {
            "<<" | ">>" => binary(t.clone(), "&", e, n(31)),
            "/" | "%" => {
                let low = binary(t.clone(), "&", e, n(*self.d.pick(&[7, 15, 1023])));
                binary(t.clone(), "+", low, n(1))
            }
            _ => e,
        }
    }
    fn matrix(&mut self, c: usize, r: usize, depth: usize) -> Expr {
        let t = Ty::Matrix(c, r);
        match self.d.below(8) {
            0 => {
                let x = self.expr(&Ty::Matrix(r, c), depth);
                builtin(t, "transpose", vec![x])
            }
            1 => {
                let (x, y) = (self.expr(&Ty::Vector(Base::Float, r), depth), self.expr(&Ty::Vector(Base::Float, c), depth));
                builtin(t, "outerProduct", vec![q(x), q(y)])
            }
            2 => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                builtin(t, "matrixCompMult", vec![x, y])
            }
            3 => {
                let k = 2 + self.d.below(3);
                let (x, y) = (self.expr(&Ty::Matrix(k, r), depth), self.expr(&Ty::Matrix(c, k), depth));
                binary(t, "*", x, y)
            }
            4 => {
                let (x, y) = (self.expr(&t, depth), self.scalar(Base::Float, depth));
                let op = *self.d.pick(&["*", "+", "-"]);
                if self.d.one_in(2) { binary(t, op, x, y) } else { binary(t, op, y, x) }
            }
            5 | 6 => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                let op = *self.d.pick(&["+", "-"]);
                binary(t, op, x, y)
            }
            _ => self.construct(&t, depth),
        }
    }
    fn operation(&mut self, t: &Ty, depth: usize) -> Expr {
        let (b, n) = t.simple().unwrap();
        if self.d.one_in(7) {
            return self.construct(t, depth);
        }
        if self.d.one_in(9) {
            // A part of something that is no place.
            let m = 2 + self.d.below(3);
            let whole = Ty::Vector(b, m);
            let x = self.operation(&whole, depth.saturating_sub(1));
            let lanes = (0..n).map(|_| self.d.below(m)).collect();
            if matches!(x.node, Node::Builtin(..) | Node::Binary(..) | Node::Make(_) | Node::Unary(..)) {
                let hop = if n == 1 && self.d.one_in(2) { Hop::Index(Box::new(self.index(m, depth.min(1)))) } else { Hop::Swizzle(lanes) };
                // A name like `unpack(…) + 0.5` would take the hop for its last operand.
                let whole = matches!(x.node, Node::Builtin("unorm8" | "snorm8" | "unorm16", ..));
                if !whole {
                    return Expr { ty: t.clone(), node: Node::Part(Box::new(x), Box::new(hop)) };
                }
            }
        }
        match b {
            Base::Bool => self.truth(n, depth),
            Base::Float => self.float(n, depth),
            Base::Int | Base::Uint => self.integer(b, n, depth),
        }
    }
    fn truth(&mut self, n: usize, depth: usize) -> Expr {
        let t = Ty::lanes_of(Base::Bool, n);
        if n > 1 {
            if self.d.one_in(4) {
                let x = self.expr(&t, depth);
                return builtin(t, "not", vec![x]);
            }
            let from = self.base();
            let op = if from == Base::Bool {
                *self.d.pick(&["equal", "notEqual"])
            } else {
                *self.d.pick(&["lessThan", "lessThanEqual", "greaterThan", "greaterThanEqual", "equal", "notEqual"])
            };
            let (x, y) = (self.expr(&Ty::Vector(from, n), depth), self.expr(&Ty::Vector(from, n), depth));
            return builtin(t, op, vec![x, y]);
        }
        match self.d.below(10) {
            0 | 1 => {
                let outer = self.touched.clone();
                let x = self.scalar(Base::Bool, depth);
                let op = *self.d.pick(&["&&", "||"]);
                let y = self.sequenced(|m| m.scalar(Base::Bool, depth), &outer);
                binary(t, op, x, y)
            }
            2 => {
                let (x, y) = (self.scalar(Base::Bool, depth), self.scalar(Base::Bool, depth));
                binary(t, "^^", x, y)
            }
            3 => {
                let x = self.scalar(Base::Bool, depth);
                Expr { ty: t, node: Node::Unary("!", Box::new(x)) }
            }
            4 => {
                let lanes = 2 + self.d.below(3);
                let x = self.expr(&Ty::Vector(Base::Bool, lanes), depth);
                builtin(t, if self.d.one_in(2) { "any" } else { "all" }, vec![x])
            }
            5 => {
                // Whole composites are compared.
                let of = self.ty(1);
                let (x, y) = (self.expr(&of, depth.min(1)), self.expr(&of, depth.min(1)));
                binary(t, if self.d.one_in(2) { "==" } else { "!=" }, x, y)
            }
            _ => {
                let from = if self.ints { *self.d.pick(&[Base::Int, Base::Uint, Base::Float]) } else { Base::Float };
                let (x, y) = (self.scalar(from, depth), self.scalar(from, depth));
                binary(t, *self.d.pick(&["<", "<=", ">", ">=", "==", "!="]), x, y)
            }
        }
    }
    /// Two operands of a lane-wise operator, one of which may be a single number.
    fn operands(&mut self, b: Base, n: usize, depth: usize) -> (Expr, Expr) {
        let (i, k) = match self.d.below(5) {
            0 => (1, n),
            1 => (n, 1),
            _ => (n, n),
        };
        (self.expr(&Ty::lanes_of(b, i), depth), self.expr(&Ty::lanes_of(b, k), depth))
    }
    fn float(&mut self, n: usize, depth: usize) -> Expr {
        let t = Ty::lanes_of(Base::Float, n);
        let choice = self.d.below(if self.ints { 24 } else { 17 });
        match choice {
            0..=4 => {
                let op = *self.d.pick(&["+", "-", "*", "+", "-"]);
                let (x, y) = self.operands(Base::Float, n, depth);
                if op == "*" { binary(t, op, q(x), q(y)) } else { binary(t, op, x, y) }
            }
            5 => {
                let x = self.expr(&t, depth);
                q(x)
            }
            6 => {
                let x = self.expr(&t, depth);
                Expr { ty: t, node: Node::Unary("-", Box::new(x)) }
            }
            7 | 8 => {
                let name = *self.d.pick(&["abs", "sign", "floor", "ceil", "trunc", "roundEven", "fract"]);
                let x = self.expr(&t, depth);
                builtin(t, name, vec![x])
            }
            9 | 10 => {
                let name = *self.d.pick(&["min", "max", "step"]);
                let x = self.expr(&t, depth);
                let lanes = if self.d.one_in(3) { 1 } else { n };
                let y = self.expr(&Ty::lanes_of(Base::Float, lanes), depth);
                if name == "step" { builtin(t, name, vec![y, x]) } else { builtin(t, name, vec![x, y]) }
            }
            11 => {
                let x = self.expr(&t, depth);
                builtin(t, "clamp", vec![x, lit(Num::F(-2.0)), lit(Num::F(3.5))])
            }
            12 => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                let c = if self.d.one_in(2) {
                    self.expr(&Ty::lanes_of(Base::Bool, n), depth)
                } else {
                    lit(Num::F(*self.d.pick(&[0.0, 0.25, 0.5, 1.0])))
                };
                builtin(t, "mix", vec![x, y, c])
            }
            13 => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                let z = self.expr(&t, depth);
                builtin(t, "fma", vec![q(x), q(y), z])
            }
            14 if n == 1 => {
                let v = Ty::Vector(Base::Float, 2 + self.d.below(3));
                let (x, y) = (self.expr(&v, depth), self.expr(&v, depth));
                builtin(t, "dot", vec![q(x), q(y)])
            }
            14 if n == 3 => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                builtin(t, "cross", vec![q(x), q(y)])
            }
            15 | 16 if n > 1 => {
                // A product with a matrix.
                let m = 2 + self.d.below(3);
                let x = self.expr(&Ty::Vector(Base::Float, m), depth);
                if choice == 15 {
                    let a = self.expr(&Ty::Matrix(m, n), depth);
                    binary(t, "*", a, x)
                } else {
                    let a = self.expr(&Ty::Matrix(n, m), depth);
                    binary(t, "*", x, a)
                }
            }
            17 => {
                let k = 1 + self.d.below(4) as i32 - 2;
                let x = self.expr(&t, depth);
                let e = if n == 1 { int(k) } else { Expr { ty: Ty::Vector(Base::Int, n), node: Node::Lit(vec![Num::I(k); n]) } };
                builtin(t, "ldexp", vec![x, e])
            }
            18 if n == 2 && self.d.one_in(2) => {
                let x = self.scalar(Base::Uint, depth);
                builtin(t, "unorm16", vec![x])
            }
            18 if n == 2 => {
                let x = self.expr(&t, depth);
                let packed = builtin(UINT, "packHalf2x16", vec![q(x)]);
                builtin(t, "unpackHalf2x16", vec![packed])
            }
            18 if n == 4 => {
                let x = self.scalar(Base::Uint, depth);
                builtin(t, if self.d.one_in(2) { "unorm8" } else { "snorm8" }, vec![x])
            }
            19 => {
                // An integer without a constructor around it.
                let from = *self.d.pick(&[Base::Int, Base::Uint]);
                let e = self.convertible(from, Base::Float, n, depth);
                if self.d.one_in(2) {
                    return Expr { ty: t, node: Node::Make(vec![e]) };
                }
                let x = self.expr(&t, depth);
                let e = Expr { ty: t.clone(), node: Node::Implicit(Box::new(e)) };
                binary(t, "+", x, e)
            }
            20 => {
                let x = self.expr(&t, depth);
                let one = lit(Num::F(1.0));
                let x = binary(t.clone(), "+", q(x), one);
                let bits = builtin(Ty::lanes_of(Base::Int, n), "floatBitsToInt", vec![x]);
                builtin(t, "intBitsToFloat", vec![bits])
            }
            _ => {
                let from = self.source_kind(Base::Float);
                let e = self.convertible(from, Base::Float, n, depth);
                Expr { ty: t, node: Node::Make(vec![e]) }
            }
        }
    }
    fn integer(&mut self, b: Base, n: usize, depth: usize) -> Expr {
        let t = Ty::lanes_of(b, n);
        if !self.ints {
            return self.literal(&t);
        }
        let other = if b == Base::Int { Base::Uint } else { Base::Int };
        match self.d.below(20) {
            0..=5 => {
                let op = *self.d.pick(&["+", "-", "*", "&", "|", "^"]);
                let (x, y) = self.operands(b, n, depth);
                binary(t, op, x, y)
            }
            6 | 7 => {
                let op = *self.d.pick(&["/", "%"]);
                let (x, y) = self.operands(b, n, depth);
                let ty = y.ty.clone();
                let y = self.tame(op, &ty, y);
                // GLSL leaves the remainder of negative numbers open: constants are folded otherwise than SPIR-V computes.
                let x = if op == "%" && b == Base::Int { binary(x.ty.clone(), "&", x, int(i32::MAX)) } else { x };
                binary(t, op, x, y)
            }
            8 | 9 => {
                // The kinds of the two sides of a shift need not be the same.
                let op = *self.d.pick(&["<<", ">>"]);
                let right = Ty::lanes_of(*self.d.pick(&[b, other]), if self.d.one_in(3) { 1 } else { n });
                let (x, y) = (self.expr(&t, depth), self.expr(&right, depth));
                let y = self.tame(op, &right, y);
                binary(t, op, x, y)
            }
            10 => {
                let op = *self.d.pick(&["-", "~"]);
                let x = self.expr(&t, depth);
                Expr { ty: t, node: Node::Unary(op, Box::new(x)) }
            }
            11 => {
                let name = if b == Base::Int { *self.d.pick(&["abs", "sign", "bitfieldReverse"]) } else { "bitfieldReverse" };
                let x = self.expr(&t, depth);
                builtin(t, name, vec![x])
            }
            12 => {
                let x = self.expr(&t, depth);
                let lanes = if self.d.one_in(3) { 1 } else { n };
                let y = self.expr(&Ty::lanes_of(b, lanes), depth);
                builtin(t, *self.d.pick(&["min", "max"]), vec![x, y])
            }
            13 => {
                let x = self.expr(&t, depth);
                let k = |k| if b == Base::Int { int(k) } else { lit(Num::U(k as u32)) };
                builtin(t, "clamp", vec![x, k(2), k(100)])
            }
            14 => {
                let x = self.expr(&t, depth);
                let count = self.d.below(16) as i32;
                let o =
                    if self.d.one_in(2) { int(self.d.below(17) as i32) } else { binary(INT, "&", self.scalar(Base::Int, depth), int(15)) };
                if self.d.one_in(2) {
                    builtin(t, "bitfieldExtract", vec![x, o, int(count)])
                } else {
                    let y = self.expr(&t, depth);
                    builtin(t, "bitfieldInsert", vec![x, y, o, int(count)])
                }
            }
            15 if b == Base::Int => {
                let from = Ty::lanes_of(*self.d.pick(&[Base::Int, Base::Uint]), n);
                let name = *self.d.pick(&["bitCount", "findLSB", "findMSB"]);
                let x = self.expr(&from, depth);
                builtin(t, name, vec![x])
            }
            15 => {
                // Packed from fractions that no rounding can be in doubt about.
                let lanes = *self.d.pick(&[2, 4]);
                let c = self.expr(&Ty::Vector(Base::Bool, lanes), depth);
                let v = |m: &mut Self| {
                    let w = (0..lanes).map(|_| Num::F(*m.d.pick(&[0.0, 0.25, 0.75, 1.0, 2.0]))).collect();
                    Expr { ty: Ty::Vector(Base::Float, lanes), node: Node::Lit(w) }
                };
                let args = vec![v(self), v(self), c];
                let x = builtin(Ty::Vector(Base::Float, lanes), "mix", args);
                let name = if lanes == 4 {
                    *self.d.pick(&["packUnorm4x8", "packSnorm4x8"])
                } else {
                    *self.d.pick(&["packUnorm2x16", "packSnorm2x16", "packHalf2x16"])
                };
                let e = builtin(UINT, name, vec![x]);
                if n == 1 { e } else { Expr { ty: t, node: Node::Make(vec![e]) } }
            }
            16 if b == Base::Uint && self.effects => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                match self.find(&t, true, 0) {
                    Some(p) => Expr { ty: t, node: Node::Builtin(*self.d.pick(&["uaddCarry", "usubBorrow"]), vec![x, y], vec![p]) },
                    None => binary(t, "+", x, y),
                }
            }
            16 if b == Base::Uint => {
                let x = self.expr(&Ty::lanes_of(Base::Float, n), depth);
                let one = lit(Num::F(1.0));
                let x = binary(x.ty.clone(), "+", q(x), one);
                builtin(t, "floatBitsToUint", vec![x])
            }
            16 => {
                let sizes: Vec<Root> = self.roots.iter().filter(|r| matches!(r.place.ty, Ty::Array(..))).cloned().collect();
                match sizes.first() {
                    Some(r) if n == 1 => builtin(t, "length", vec![load(&r.place)]),
                    _ => self.literal(&t),
                }
            }
            17 => {
                let (x, y) = (self.expr(&t, depth), self.expr(&t, depth));
                let c = self.expr(&Ty::lanes_of(Base::Bool, n), depth);
                builtin(t, "mix", vec![x, y, c])
            }
            18 if b == Base::Uint => {
                // An `int` becomes a `uint` by itself.
                let (x, y) = (self.expr(&t, depth), self.expr(&Ty::lanes_of(Base::Int, n), depth));
                let y = Expr { ty: t.clone(), node: Node::Implicit(Box::new(y)) };
                binary(t, *self.d.pick(&["+", "^", "*"]), x, y)
            }
            _ => {
                let from = self.source_kind(b);
                let e = self.convertible(from, b, n, depth);
                Expr { ty: t, node: Node::Make(vec![e]) }
            }
        }
    }
    /// A call of one of the functions so far.
    fn call(&mut self, want: Option<&Ty>, depth: usize) -> Option<Expr> {
        let fits: Vec<usize> = (0..self.p.functions.len())
            .filter(|n| {
                let f = &self.p.functions[*n];
                let clear = |v: &VarId| self.may_read(*v);
                let free = |v: &VarId| !self.touched.reads.contains(v) && !self.touched.writes.contains(v);
                want.is_none_or(|t| f.result == *t)
                    && f.reads.iter().all(clear)
                    && f.writes.iter().all(free)
                    && (self.effects || f.writes.is_empty() && f.params.iter().all(|p| matches!(p.1, Mode::In | Mode::ConstIn)))
            })
            .collect();
        if fits.is_empty() {
            return None;
        }
        let n = *self.d.pick(&fits);
        let before = (self.touched.clone(), self.outside.clone());
        let params: Vec<(Ty, Mode)> = self.p.functions[n].params.iter().map(|(v, m)| (self.p.vars[*v].ty.clone(), *m)).collect();
        let mut args = Vec::new();
        // The places that are written first, so that no other argument has used them; what is read may be one of them all the same.
        let mut places: Vec<Option<Place>> = Vec::new();
        for (t, m) in &params {
            places.push(match m {
                Mode::Out | Mode::InOut => match self.find(t, true, 0) {
                    Some(p) => Some(p),
                    None => {
                        (self.touched, self.outside) = before;
                        return None;
                    }
                },
                _ => None,
            });
        }
        for ((t, m), p) in params.iter().zip(&places) {
            args.push(match p {
                Some(p) => Arg::Ref(p.clone()),
                None => {
                    // A parameter that is only read gets the very variable that another one writes.
                    let alias = places.iter().flatten().find(|p| p.ty == *t && p.hops.iter().all(|h| !matches!(h, Hop::Index(_)))).cloned();
                    match alias {
                        Some(p) if self.d.one_in(2) && *m != Mode::Out => Arg::In(load(&p)),
                        _ => Arg::In(self.expr(t, depth.min(2))),
                    }
                }
            });
        }
        let f = &self.p.functions[n];
        let (reads, writes, result) = (f.reads.clone(), f.writes.clone(), f.result.clone());
        // What the arguments did must not meet what the function does outside.
        let clash = writes.iter().any(|v| !before.0.reads.contains(v) && self.written_in_arguments(&args, *v));
        if clash || reads.iter().any(|v| self.written_in_arguments(&args, *v)) {
            (self.touched, self.outside) = before;
            return None;
        }
        reads.into_iter().for_each(|v| self.read(v));
        writes.into_iter().for_each(|v| self.wrote(v));
        Some(Expr { ty: result, node: Node::Call(n, args) })
    }
    /// Whether the arguments write a variable by an effect of their own (not by being a place that is handed over).
    fn written_in_arguments(&self, args: &[Arg], v: VarId) -> bool {
        args.iter().any(|a| match a {
            Arg::In(e) => writes(&self.p, e, v),
            Arg::Ref(p) => p.hops.iter().any(|h| matches!(h, Hop::Index(e) if writes(&self.p, e, v))),
        })
    }
}

/// Whether an expression writes a variable.
fn writes(p: &Program, e: &Expr, v: VarId) -> bool {
    let all = |list: &[Expr]| list.iter().any(|x| writes(p, x, v));
    let hops = |place: &Place| place.hops.iter().any(|h| matches!(h, Hop::Index(x) if writes(p, x, v)));
    match &e.node {
        Node::Lit(_) => false,
        Node::Load(place) => hops(place),
        Node::Unary(_, x) | Node::Implicit(x) => writes(p, x, v),
        Node::Binary(_, x, y) => writes(p, x, v) || writes(p, y, v),
        Node::Cond(c, x, y) => writes(p, c, v) || writes(p, x, v) || writes(p, y, v),
        Node::Assign(place, _, x) => place.var == v || hops(place) || writes(p, x, v),
        Node::Step(place, ..) => place.var == v || hops(place),
        Node::Make(list) => all(list),
        Node::Builtin(_, list, outs) => all(list) || outs.iter().any(|o| o.var == v || hops(o)),
        Node::Call(f, args) => {
            p.functions[*f].writes.contains(&v)
                || args.iter().any(|a| match a {
                    Arg::In(x) => writes(p, x, v),
                    Arg::Ref(o) => o.var == v || hops(o),
                })
        }
        Node::Part(x, h) => writes(p, x, v) || matches!(&**h, Hop::Index(i) if writes(p, i, v)),
    }
}

// ---- Statements.
impl Maker {
    fn condition(&mut self) -> Expr {
        for _ in 0..4 {
            let e = self.full(|m| {
                let depth = 1 + m.d.below(3);
                m.scalar(Base::Bool, depth)
            });
            // What is known beforehand is of little use.
            if !matches!(e.node, Node::Lit(_)) {
                return e;
            }
        }
        self.full(|m| binary(BOOL, "<", m.scalar(Base::Float, 0), m.scalar(Base::Float, 2)))
    }
    /// Statements in a scope of their own.
    fn scope(&mut self, n: usize) -> Vec<Stmt> {
        let (roots, start) = (self.roots.clone(), self.scope_start);
        self.scope_start = self.p.vars.len();
        let mut out = Vec::new();
        for _ in 0..n {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            out.extend(self.stmt());
        }
        self.roots = roots;
        self.scope_start = start;
        out
    }
    fn body(&mut self) -> Vec<Stmt> {
        let n = 1 + self.d.below(4);
        self.scope(n)
    }
    fn declare(&mut self) -> Stmt {
        let t = self.ty(2);
        let e = self.full(|m| {
            let depth = 1 + m.d.below(3);
            let e = m.expr(&t, depth);
            if let Some((Base::Float, _)) = t.simple() { q(e) } else { e }
        });
        let v = self.local(t);
        self.shadow(v);
        Stmt::Declare(vec![(v, Some(e))])
    }
    fn assignment(&mut self) -> Option<Stmt> {
        let t = if self.d.one_in(2) { self.simple() } else { self.ty(1) };
        self.full(|m| {
            if matches!(t, Ty::Matrix(..)) {
                // Elements are brought back to small numbers one column at a time.
                let p = m.find(&t, true, 1)?;
                let Ty::Matrix(c, r) = t else { return None };
                let columns = (0..c).map(|_| q(m.expr(&Ty::Vector(Base::Float, r), 2))).collect();
                let e = Expr { ty: t.clone(), node: Node::Make(columns) };
                return Some(Stmt::Expr(assign(&p, *m.d.pick(&["", "+", "-"]), e)));
            }
            let p = m.find(&t, true, 2)?;
            // The right side may read what the statement writes.
            m.touched.writes.remove(&p.var);
            m.touched.reads.insert(p.var);
            let depth = 1 + m.d.below(3);
            let (op, e) = m.right_side(&t, depth);
            m.wrote(p.var);
            Some(Stmt::Expr(assign(&p, op, e)))
        })
    }
    fn stmt(&mut self) -> Option<Stmt> {
        let nested = self.loops < 2;
        match self.d.below(30) {
            0..=5 => Some(self.declare()),
            6..=12 => self.assignment(),
            13 => {
                let t = self.simple();
                self.full(|m| m.effect(&t, 2)).map(Stmt::Expr)
            }
            14 => self.full(|m| m.call(None, 2)).map(Stmt::Expr),
            15..=17 => {
                let c = self.condition();
                let yes = self.body();
                let no = if self.d.one_in(2) { Some(self.body()) } else { None };
                Some(Stmt::If(c, yes, no))
            }
            18 | 19 if nested => Some(self.for_loop()),
            20 | 21 if nested => Some(self.while_loop()),
            22 | 23 => self.switch(),
            24 if self.breakable || self.loops > 0 => {
                let c = self.condition();
                let s = if self.breakable && self.d.one_in(2) || self.loops == 0 { Stmt::Break } else { Stmt::Continue };
                Some(Stmt::If(c, vec![s], None))
            }
            25 if self.result.is_some() => {
                let c = self.condition();
                let s = self.return_now();
                Some(Stmt::If(c, vec![s], None))
            }
            26 if self.discards && self.d.one_in(3) => {
                let c = self.condition();
                let c2 = self.condition();
                Some(Stmt::If(c, vec![Stmt::If(c2, vec![Stmt::Discard], None)], None))
            }
            27 => Some(Stmt::Block(self.body())),
            28 if self.ints => self.extended(),
            29 => self.parts(),
            _ => self.assignment(),
        }
    }
    fn return_now(&mut self) -> Stmt {
        match self.result.clone() {
            Some(Ty::Void) | None => Stmt::Return(None),
            Some(t) => Stmt::Return(Some(self.full(|m| {
                let e = m.expr(&t, 2);
                if let Some((Base::Float, _)) = t.simple() { q(e) } else { e }
            }))),
        }
    }
    /// Functions that give two results.
    fn extended(&mut self) -> Option<Stmt> {
        let n = 1 + self.d.below(4);
        let b = *self.d.pick(&[Base::Int, Base::Uint]);
        self.full(|m| {
            let t = Ty::lanes_of(b, n);
            let (x, y) = (m.expr(&t, 2), m.expr(&t, 2));
            let (high, low) = (m.find(&t, true, 1)?, m.find(&t, true, 1)?);
            let name = if b == Base::Int { "imulExtended" } else { "umulExtended" };
            Some(Stmt::Expr(Expr { ty: Ty::Void, node: Node::Builtin(name, vec![x, y], vec![high, low]) }))
        })
    }
    fn parts(&mut self) -> Option<Stmt> {
        let n = 1 + self.d.below(4);
        let t = Ty::lanes_of(Base::Float, n);
        let whole = self.ints && self.d.one_in(2);
        self.full(|m| {
            let x = m.expr(&t, 2);
            let p = m.find(&t, true, 1)?;
            let second = m.find(&if whole { Ty::lanes_of(Base::Int, n) } else { t.clone() }, true, 1)?;
            let e = Expr { ty: t, node: Node::Builtin(if whole { "frexp" } else { "modf" }, vec![q(x)], vec![second]) };
            Some(Stmt::Expr(assign(&p, "", e)))
        })
    }
    /// A counter that only the loop writes; its body reads it.
    fn counter(&mut self) -> VarId {
        let t = if self.ints && self.d.one_in(4) { UINT } else { INT };
        let v = self.local(t);
        let place = self.plain(v);
        self.roots.push(Root { place, writable: false });
        v
    }
    fn count(&mut self, v: VarId, n: usize) -> Expr {
        lit(if self.p.vars[v].ty == UINT { Num::U(n as u32) } else { Num::I(n as i32) })
    }
    fn in_loop(&mut self, body: impl FnOnce(&mut Self) -> Vec<Stmt>) -> Vec<Stmt> {
        self.loops += 1;
        let before = std::mem::replace(&mut self.breakable, true);
        let out = body(self);
        self.breakable = before;
        self.loops -= 1;
        out
    }
    /// A condition that ends the loop after the bound at the latest; what it has besides may have effects.
    fn ends(&mut self, bound: Expr) -> Expr {
        if !self.d.one_in(3) {
            return bound;
        }
        let c = self.full(|m| m.scalar(Base::Bool, 2));
        // The other part may take over only where the bound holds.
        if self.d.one_in(2) { binary(BOOL, "&&", bound, c) } else { binary(BOOL, "&&", c, bound) }
    }
    fn for_loop(&mut self) -> Stmt {
        let roots = self.roots.clone();
        let v = self.counter();
        let n = 1 + self.d.below(4);
        let (zero, most) = (self.count(v, 0), self.count(v, n));
        let init = Stmt::Declare(vec![(v, Some(zero))]);
        let read = load(&self.plain(v));
        let step = Expr { ty: self.p.vars[v].ty.clone(), node: Node::Step(self.plain(v), "++", self.d.one_in(2)) };
        let bare = self.d.one_in(4);
        let cond = binary(BOOL, *self.d.pick(&["<", "!=", "<"]), read.clone(), most.clone());
        let cond = if bare { cond } else { self.ends(cond) };
        // A second effect in the step, behind a comma.
        let step = match self.full(|m| if m.d.one_in(4) { m.effect(&INT, 1) } else { None }) {
            Some(e) => binary(e.ty.clone(), ",", step, e),
            None => step,
        };
        let mut body = self.in_loop(Self::body);
        let s = if bare {
            // The condition stands in the body.
            let over = binary(BOOL, ">=", read, most);
            body.insert(0, Stmt::If(over, vec![Stmt::Break], None));
            Stmt::For(Some(Box::new(init)), None, Some(step), body)
        } else {
            Stmt::For(Some(Box::new(init)), Some(cond), Some(step), body)
        };
        self.roots = roots;
        s
    }
    fn while_loop(&mut self) -> Stmt {
        let roots = self.roots.clone();
        let v = self.counter();
        let n = 1 + self.d.below(4);
        let (zero, most) = (self.count(v, 0), self.count(v, n));
        let step = |m: &Self, before| Expr { ty: m.p.vars[v].ty.clone(), node: Node::Step(m.plain(v), "++", before) };
        let declared = Stmt::Declare(vec![(v, Some(zero))]);
        let s = match self.d.below(3) {
            0 => {
                // The counter moves in the condition, which must come first: `&&` would leave it out.
                let c = binary(BOOL, "<", step(self, false), most);
                let c = if self.d.one_in(3) { binary(BOOL, "&&", c, self.condition()) } else { c };
                Stmt::While(c, self.in_loop(Self::body))
            }
            1 => {
                let c = binary(BOOL, "<", step(self, true), most);
                let c = if self.d.one_in(3) { binary(BOOL, "&&", c, self.condition()) } else { c };
                Stmt::DoWhile(self.in_loop(Self::body), c)
            }
            _ => {
                let c = binary(BOOL, "<", load(&self.plain(v)), most);
                let c = self.ends(c);
                let mut body = self.in_loop(Self::body);
                body.insert(0, Stmt::Expr(step(self, true)));
                if self.d.one_in(2) { Stmt::DoWhile(body, c) } else { Stmt::While(c, body) }
            }
        };
        self.roots = roots;
        Stmt::Block(vec![declared, s])
    }
    fn switch(&mut self) -> Option<Stmt> {
        let e = if self.ints {
            self.full(|m| {
                let x = m.scalar(Base::Int, 2);
                let k = *m.d.pick(&[3, 7]);
                binary(INT, "&", x, int(k))
            })
        } else {
            self.full(|m| {
                let x = m.scalar(Base::Float, 2);
                let x = builtin(FLOAT, "min", vec![q(x), lit(Num::F(5.0))]);
                Expr { ty: INT, node: Node::Make(vec![x]) }
            })
        };
        let n = 1 + self.d.below(4);
        let default = self.d.below(n + 2);
        let mut free: Vec<i32> = (0..9).collect();
        let before = std::mem::replace(&mut self.breakable, true);
        let mut cases = Vec::new();
        for k in 0..n {
            let mut labels = Vec::new();
            for _ in 0..1 + usize::from(self.d.one_in(4)) {
                let at = self.d.below(free.len());
                labels.push(Some(free.swap_remove(at)));
            }
            if k == default {
                let at = self.d.below(labels.len() + 1);
                labels.insert(at, None);
                if self.d.one_in(3) {
                    labels.retain(Option::is_none);
                }
            }
            // Declarations need a scope of their own: a label could jump over them.
            let mut body = self.body();
            if body.iter().any(|s| matches!(s, Stmt::Declare(_))) || self.d.one_in(6) {
                body = vec![Stmt::Block(body)];
            }
            if self.d.one_in(2) {
                body.push(Stmt::Break);
            }
            // Something must stand behind the last label.
            if body.is_empty() && k + 1 == n {
                body.push(Stmt::Break);
            }
            cases.push((labels, body));
        }
        self.breakable = before;
        Some(Stmt::Switch(e, cases))
    }
}

// ---- Whole programs.
impl Maker {
    fn structs(&mut self) {
        for n in 0..1 + self.d.below(3) {
            let count = 1 + self.d.below(4);
            let members = (0..count).map(|k| (format!("m{k}"), self.ty(1))).collect();
            self.p.structs.push(Struct { name: format!("S{n}"), members });
        }
    }
    /// A type that a block can have: truth values are left to the host's fancy, so there are none.
    fn block_ty(&mut self, depth: usize) -> Ty {
        loop {
            let t = self.ty(depth);
            if !self.p.bases(&t).contains(&Base::Bool) {
                return t;
            }
        }
    }
    fn block(&mut self, name: &'static str, instance: &'static str, binding: u32, uniform: bool) {
        let mut members = Vec::new();
        for _ in 0..2 + self.d.below(4) {
            let t = self.block_ty(2);
            let n = self.p.blocks.len();
            let v = self.var("u", t.clone(), Space::Block(n));
            if !instance.is_empty() {
                self.p.vars[v].name = format!("{instance}.{}", self.p.vars[v].name);
            }
            self.see(v, false);
            let row_major = self.d.one_in(4) && !matches!(t, Ty::Scalar(_) | Ty::Vector(..));
            members.push((v, row_major));
        }
        self.p.blocks.push(Block { name, instance, binding, uniform, writable: false, members });
    }
    fn global(&mut self, constant: bool) {
        let t = self.ty(2);
        let effects = std::mem::replace(&mut self.effects, false);
        let hidden = std::mem::take(&mut self.roots);
        // Constants are made of constants.
        self.roots = hidden.iter().filter(|r| self.p.globals.iter().any(|g| g.0 == r.place.var && g.1)).cloned().collect();
        let functions = std::mem::take(&mut self.p.functions);
        let e = self.full(|m| if constant { m.literal(&t) } else { m.expr(&t, 1) });
        let e = if let (Some((Base::Float, _)), false) = (t.simple(), constant) { q(e) } else { e };
        self.p.functions = functions;
        self.roots = hidden;
        self.effects = effects;
        let v = self.var(if constant { "K" } else { "g" }, t, Space::Own);
        self.p.globals.push((v, constant, e));
        self.see(v, !constant);
    }
    fn function(&mut self) {
        let roots = self.roots.clone();
        self.first_local = self.p.vars.len();
        self.outside = Touched::default();
        let result = if self.d.one_in(5) { Ty::Void } else { self.ty(1) };
        let mut params = Vec::new();
        for _ in 0..self.d.below(4) {
            let t = self.ty(1);
            let mode = *self.d.pick(&[Mode::In, Mode::In, Mode::ConstIn, Mode::InOut, Mode::InOut, Mode::Out]);
            let v = self.var("p", t, Space::Own);
            params.push((v, mode));
        }
        // Overloads: the name of a function whose parameters are others.
        let types: Vec<Ty> = params.iter().map(|p| self.p.vars[p.0].ty.clone()).collect();
        let taken = |f: &Function| -> Vec<Ty> { f.params.iter().map(|p| self.p.vars[p.0].ty.clone()).collect() };
        let far = |f: &Function| f.params.len() != types.len();
        let other = self.p.functions.last().map(|f| f.name.clone());
        let other = other.filter(|n| self.p.functions.iter().filter(|f| f.name == *n).all(|f| far(f) && taken(f) != types));
        self.names += 1;
        let name = match other {
            Some(n) if self.d.one_in(2) => n,
            _ => format!("f{}", self.names),
        };
        self.scope_start = self.first_local;
        let mut body = Vec::new();
        for (v, mode) in &params {
            if *mode == Mode::Out {
                // Written before anything else, whatever way the function ends.
                let t = self.p.vars[*v].ty.clone();
                let e = self.full(|m| m.expr(&t, 1));
                let p = self.plain(*v);
                body.push(Stmt::Expr(assign(&p, "", e)));
            }
        }
        for (v, mode) in &params {
            self.see(*v, *mode != Mode::ConstIn);
        }
        self.result = Some(result.clone());
        self.budget = 7;
        let n = 2 + self.d.below(4);
        for _ in 0..n {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            body.extend(self.stmt());
        }
        if result != Ty::Void {
            body.push(self.return_now());
        }
        self.result = None;
        self.roots = roots;
        let (reads, writes) = (self.outside.reads.iter().copied().collect(), self.outside.writes.iter().copied().collect());
        self.p.functions.push(Function { name, result, params, body, reads, writes });
    }

    /// Integers as a hash, floats as a sum, of the numbers that are seen.
    fn digest(&mut self) -> (VarId, VarId) {
        let (h, s) = (self.var("hash", UINT, Space::Own), self.var("sum", FLOAT, Space::Own));
        let mut out = vec![Stmt::Declare(vec![(h, Some(lit(Num::U(2_166_136_261))))]), Stmt::Declare(vec![(s, Some(lit(Num::F(0.0))))])];
        let mut leaves = Vec::new();
        for r in self.roots.clone() {
            if self.p.blocks.iter().any(|b| b.members.iter().any(|m| m.0 == r.place.var)) && !r.writable {
                continue;
            }
            self.leaves(r.place, &mut leaves);
        }
        // A spread of them where there are many.
        let step = leaves.len().div_ceil(28).max(1);
        for p in leaves.into_iter().step_by(step) {
            let (b, _) = p.ty.simple().unwrap();
            let (hp, sp) = (self.plain(h), self.plain(s));
            match b {
                Base::Float => {
                    let sum = binary(FLOAT, "*", load(&sp), lit(Num::F(3.0)));
                    out.push(Stmt::Expr(assign(&sp, "", q(binary(FLOAT, "+", sum, q(load(&p)))))));
                }
                _ if !self.ints => {
                    let x = Expr { ty: FLOAT, node: Node::Make(vec![load(&p)]) };
                    let x = if b == Base::Bool { x } else { q(x) };
                    out.push(Stmt::Expr(assign(&sp, "", q(binary(FLOAT, "+", binary(FLOAT, "*", load(&sp), lit(Num::F(3.0))), x)))));
                }
                _ => {
                    let x = if b == Base::Uint { load(&p) } else { Expr { ty: UINT, node: Node::Make(vec![load(&p)]) } };
                    let mixed = binary(UINT, "*", binary(UINT, "^", load(&hp), x), lit(Num::U(16_777_619)));
                    out.push(Stmt::Expr(assign(&hp, "", mixed)));
                }
            }
        }
        self.p.main.extend(out);
        (h, s)
    }
    /// The numbers of a place, at constant indices.
    fn leaves(&self, p: Place, out: &mut Vec<Place>) {
        if let Ty::Scalar(_) = p.ty {
            out.push(p);
            return;
        }
        for n in 0..self.p.parts(&p.ty) {
            let hop = match p.ty {
                Ty::Struct(_) => Hop::Member(n),
                Ty::Vector(..) => Hop::Swizzle(vec![n]),
                _ => Hop::Index(Box::new(int(n as i32))),
            };
            let mut part = p.clone();
            part.ty = self.p.after(&p.ty, &hop);
            part.hops.push(hop);
            self.leaves(part, out);
        }
    }
    fn main_statements(&mut self, n: usize) {
        self.budget = 2 * n + 4;
        for _ in 0..n {
            let s = self.stmt();
            self.p.main.extend(s);
        }
    }
    fn outputs(&mut self, h: VarId, s: VarId, halves: bool) {
        let hash = load(&self.plain(h));
        let part = |shift: u32| {
            let x = binary(UINT, ">>", hash.clone(), lit(Num::U(shift)));
            let x = binary(UINT, "&", x, lit(Num::U(0xffff)));
            Expr { ty: FLOAT, node: Node::Make(vec![x]) }
        };
        let sum = load(&self.plain(s));
        let mut wanted: Vec<Expr> = Vec::new();
        if !self.ints {
            wanted.push(Expr { ty: Ty::Vector(Base::Float, 4), node: Node::Make(vec![sum]) });
        } else if halves {
            wanted.push(Expr { ty: Ty::Vector(Base::Float, 4), node: Node::Make(vec![part(0), part(16), sum, lit(Num::F(1.0))]) });
        } else {
            wanted
                .push(Expr { ty: Ty::Vector(Base::Uint, 4), node: Node::Make(vec![hash, lit(Num::U(1)), lit(Num::U(2)), lit(Num::U(3))]) });
            wanted.push(Expr { ty: Ty::Vector(Base::Float, 4), node: Node::Make(vec![sum]) });
            for _ in 0..2 {
                let b = *self.d.pick(&[Base::Int, Base::Uint]);
                let t = Ty::Vector(b, 4);
                wanted.push(self.full(|m| m.expr(&t, 2)));
            }
        }
        let t = Ty::Vector(Base::Float, 4);
        let e = self.full(|m| m.expr(&t, 2));
        wanted.push(q(e));
        for e in wanted {
            let v = self.var("out_", e.ty.clone(), Space::Own);
            self.p.outputs.push(v);
            let p = self.plain(v);
            self.p.main.push(Stmt::Expr(assign(&p, "", e)));
        }
    }
    fn own(&self, array: Place, index: VarId) -> Place {
        let hop = Hop::Index(Box::new(load(&self.plain(index))));
        let ty = self.p.after(&array.ty, &hop);
        Place { var: array.var, hops: array.hops.iter().cloned().chain([hop]).collect(), ty }
    }
    fn compute(&mut self) {
        let lanes = self.p.group;
        // What each invocation writes of the buffer: its own element.
        let n = self.p.blocks.len();
        let element = self.block_ty(1);
        let data = self.var("data", element.clone().array(2 * lanes), Space::Block(n));
        self.p.vars[data].name = "o.data".into();
        let mut members = vec![(data, false)];
        let (hashes, sums) =
            (self.var("o.h", UINT.array(2 * lanes), Space::Block(n)), self.var("o.s", FLOAT.array(2 * lanes), Space::Block(n)));
        members.extend([(hashes, false), (sums, false)]);
        self.p.blocks.push(Block { name: "Out", instance: "o", binding: 2, uniform: false, writable: true, members });
        let global = self.var("id", INT, Space::Own);
        let at =
            binary(INT, "+", binary(INT, "*", load(&self.plain(self.p.group_number)), int(lanes as i32)), load(&self.plain(self.p.lane)));
        self.p.main.push(Stmt::Declare(vec![(global, Some(at))]));
        let slot = self.own(self.plain(data), global);
        self.roots.push(Root { place: slot, writable: true });
        for v in [self.p.lane, self.p.group_number, global] {
            self.see(v, false);
        }
        // Shared variables: each invocation writes its own element, then all read all of them.
        let mut arrays = Vec::new();
        for _ in 0..1 + self.d.below(2) {
            let t = self.ty(1).array(lanes);
            let v = self.var("sh", t, Space::Shared);
            self.p.shared.push(v);
            arrays.push(v);
        }
        let total = self.var("total", UINT, Space::Shared);
        self.p.shared.push(total);
        self.main_statements(2);
        let phases = |m: &mut Self| {
            // Before the barrier: own elements only.
            let roots = m.roots.clone();
            let mut out = Vec::new();
            let first = binary(BOOL, "==", load(&m.plain(m.p.lane)), int(0));
            let clear = Stmt::Expr(assign(&m.plain(total), "", lit(Num::U(0))));
            out.push(Stmt::If(first, vec![clear], None));
            for v in &arrays {
                let slot = m.own(m.plain(*v), m.p.lane);
                let e = m.full(|m| m.expr(&slot.ty.clone(), 2));
                out.push(Stmt::Expr(assign(&slot, "", e)));
            }
            for v in &arrays {
                let slot = m.own(m.plain(*v), m.p.lane);
                m.roots.push(Root { place: slot, writable: true });
            }
            m.budget = 5;
            out.push(Stmt::Block(m.scope(2)));
            m.roots = roots.clone();
            out.push(Stmt::Barrier);
            // Behind it everybody's are read.
            for v in &arrays {
                m.see(*v, false);
            }
            m.budget = 5;
            out.push(Stmt::Block(m.scope(3)));
            let e = m.full(|m| m.scalar(Base::Uint, 2));
            let name = *m.d.pick(&["atomicAdd", "atomicOr", "atomicXor", "atomicMax"]);
            let atomic = Expr { ty: UINT, node: Node::Builtin(name, vec![e], vec![m.plain(total)]) };
            out.push(Stmt::Expr(atomic));
            out.push(Stmt::Barrier);
            m.roots = roots;
            out
        };
        let statements = if self.d.one_in(3) {
            let v = self.var("round", INT, Space::Own);
            let before = self.roots.clone();
            self.see(v, false);
            let body = phases(self);
            self.roots = before;
            vec![Stmt::Rounds(v, 2, body)]
        } else {
            phases(self)
        };
        self.p.main.extend(statements);
        self.see(total, false);
        for v in arrays {
            self.see(v, false);
        }
        self.main_statements(3);
        let (h, s) = self.digest();
        for (array, from) in [(hashes, h), (sums, s)] {
            let (to, from) = (self.own(self.plain(array), global), self.plain(from));
            self.p.main.push(Stmt::Expr(assign(&to, "", load(&from))));
        }
        // No barrier follows: from here on an invocation may end early, its element being complete.
        self.result = Some(Ty::Void);
        self.main_statements(3);
        self.result = None;
    }
}

/// What a program is to be.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub stage: Stage,
    /// Whether integers are used for more than counting.
    pub ints: bool,
    /// Whether all outputs are floats.
    pub halves: bool,
}

impl Program {
    /// The wish that belongs to a seed: each stage in turn, with and without integers and outputs of all kinds.
    pub fn wish(seed: u64) -> Wish {
        let stage = [Stage::Compute, Stage::Vertex, Stage::Fragment][(seed % 3) as usize];
        let k = seed / 3 % 4;
        Wish { stage, ints: stage == Stage::Compute || k != 3, halves: k == 1 }
    }
    pub fn new(seed: u64, wish: Wish) -> Program {
        let p = Program {
            stage: wish.stage,
            structs: Vec::new(),
            vars: Vec::new(),
            globals: Vec::new(),
            shared: Vec::new(),
            blocks: Vec::new(),
            functions: Vec::new(),
            main: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            lane: 0,
            group_number: 1,
            group: 4,
        };
        let mut m = Maker {
            d: Dice::new(seed),
            p,
            roots: Vec::new(),
            touched: Touched::default(),
            ints: wish.ints,
            names: 0,
            effects: true,
            loops: 0,
            breakable: false,
            result: None,
            discards: false,
            budget: 0,
            outside: Touched::default(),
            first_local: 0,
            scope_start: 0,
        };
        m.p.lane = m.var("lane", INT, Space::Own);
        m.p.group_number = m.var("wg", INT, Space::Own);
        m.structs();
        for _ in 0..1 + m.d.below(2) {
            m.global(true);
        }
        let instance = *m.d.pick(&["", "u"]);
        m.block("U", instance, 0, true);
        if wish.stage == Stage::Compute {
            m.block("B", "b", 1, false);
        } else {
            let kinds: &[Base] = if wish.ints { &[Base::Float, Base::Int, Base::Uint] } else { &[Base::Float, Base::Float] };
            for b in kinds {
                let v = m.var("in_", Ty::Vector(*b, 4), Space::Own);
                m.p.inputs.push(v);
                m.see(v, false);
            }
        }
        for _ in 0..1 + m.d.below(2) {
            m.global(false);
        }
        for _ in 0..1 + m.d.below(3) {
            m.function();
        }
        m.first_local = m.p.vars.len();
        m.scope_start = m.first_local;
        m.discards = wish.stage == Stage::Fragment;
        if wish.stage == Stage::Compute {
            m.compute();
        } else {
            let n = 4 + m.d.below(5);
            m.main_statements(n);
            let (h, s) = m.digest();
            m.outputs(h, s, wish.halves || !wish.ints);
        }
        m.p
    }
}
