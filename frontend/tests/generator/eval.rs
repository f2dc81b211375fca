//! The tree walk.

use super::value::{Kind, Ty, Words, binary, cast, f, unary};
use super::{Arg, Expr, Inputs, Node, Place, Program, Shape, Step, Stmt};
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Val {
    Leaf(Words),
    Agg(Vec<Val>),
}

/// Where control goes on.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Words),
}

/// A pointer: a slot and the way into it; the last number may be a lane.
type Pointer = (usize, Vec<usize>);

struct Machine<'p> {
    program: &'p Program,
    slots: Vec<Val>,
    scopes: Vec<HashMap<String, Pointer>>,
    special: bool,
}

fn zero(p: &Program, s: &Shape) -> Val {
    match s {
        Shape::Leaf(t) => Val::Leaf(vec![0; t.lanes as usize]),
        Shape::Array(e, n) => Val::Agg((0..*n).map(|_| zero(p, e)).collect()),
        Shape::Struct(k) => Val::Agg(p.structs[*k].iter().map(|t| Val::Leaf(vec![0; t.lanes as usize])).collect()),
    }
}

impl Machine<'_> {
    fn define(&mut self, name: &str, v: Val) {
        self.slots.push(v);
        let at = self.slots.len() - 1;
        self.scopes.last_mut().unwrap().insert(name.to_string(), (at, Vec::new()));
    }

    fn lookup(&self, name: &str) -> Pointer {
        self.scopes.iter().rev().find_map(|s| s.get(name)).unwrap_or_else(|| panic!("{name}")).clone()
    }

    fn pointer(&mut self, p: &Place) -> Pointer {
        let (slot, mut path) = self.lookup(&p.root);
        for s in &p.steps {
            path.push(match s {
                Step::Member(n) => *n,
                Step::Element(e, n) => (self.expr(e)[0] & (n - 1)) as usize,
                Step::Lane(n) => *n as usize,
                Step::LaneAt(e) => (self.expr(e)[0] & 1) as usize,
            });
        }
        (slot, path)
    }

    fn read(&self, (slot, path): &Pointer) -> Val {
        let mut v = self.slots[*slot].clone();
        for n in path {
            v = match v {
                Val::Agg(mut parts) => parts.swap_remove(*n),
                Val::Leaf(words) => Val::Leaf(vec![words[*n]]),
            };
        }
        v
    }

    fn write(&mut self, (slot, path): &Pointer, new: Val) {
        let mut at = &mut self.slots[*slot];
        for n in path {
            match at {
                Val::Agg(parts) => at = &mut parts[*n],
                Val::Leaf(words) => {
                    let Val::Leaf(w) = new else { panic!("a lane is a number") };
                    words[*n] = w[0];
                    return;
                }
            }
        }
        *at = new;
    }

    fn see(&mut self, t: Ty, w: Words) -> Words {
        if t.kind == Kind::F {
            self.special |= w.iter().any(|w| !f(*w).is_finite() || f(*w).is_subnormal());
        }
        w
    }

    fn lanes(&mut self, e: &Expr, n: u8) -> Words {
        let w = self.expr(e);
        if w.len() == 1 { vec![w[0]; n as usize] } else { w }
    }

    fn expr(&mut self, e: &Expr) -> Words {
        let n = e.ty.lanes;
        let out: Words = match &e.node {
            Node::Lit(w) => w.clone(),
            Node::Load(p) => {
                let at = self.pointer(p);
                match self.read(&at) {
                    Val::Leaf(w) => w,
                    Val::Agg(_) => panic!("a composite is no value"),
                }
            }
            Node::Unary(op, x) => self.expr(x).iter().map(|a| unary(op, x.ty.kind, *a)).collect(),
            Node::Binary("&&", x, y) => {
                // The second operand is not evaluated where the first decides, and has no effect anyway.
                let a = self.expr(x)[0];
                if a == 0 { vec![0] } else { self.expr(y) }
            }
            Node::Binary("||", x, y) => {
                let a = self.expr(x)[0];
                if a == 1 { vec![1] } else { self.expr(y) }
            }
            Node::Binary(op, x, y) | Node::Pair(op, x, y) => {
                let (a, b) = (self.lanes(x, n), self.lanes(y, n));
                a.iter().zip(&b).map(|(a, b)| binary(op, x.ty.kind, *a, *b)).collect()
            }
            Node::Clamp(x, low, high) => {
                let (x, a, b, k) = (self.expr(x), self.expr(low), self.expr(high), e.ty.kind);
                (0..x.len()).map(|i| binary("min", k, binary("max", k, x[i], a[i]), b[i])).collect()
            }
            Node::Select(c, x, y) => {
                // In the order in which they are written: what is chosen where the condition is false comes first.
                let (y, x) = (self.expr(y), self.expr(x));
                let c = self.lanes(c, n);
                (0..x.len()).map(|i| if c[i] != 0 { x[i] } else { y[i] }).collect()
            }
            Node::Swizzle(x, lanes) => {
                let x = self.expr(x);
                lanes.iter().map(|l| x[*l as usize]).collect()
            }
            Node::Build(parts) => parts.iter().flat_map(|p| self.expr(p)).collect(),
            Node::Cast(x) => self.expr(x).iter().map(|a| cast(x.ty.kind, e.ty.kind, *a)).collect(),
            Node::Bitcast(x) => self.expr(x),
            Node::Extract(x, o, c) => {
                let (x, o, c) = (self.expr(x), self.expr(o)[0], self.expr(c)[0]);
                let o = o.min(32);
                let c = c.min(32 - o);
                x.iter()
                    .map(|w| {
                        if c == 0 {
                            return 0;
                        }
                        let up = w << (32 - o - c);
                        if e.ty.kind == Kind::I { (up as i32 >> (32 - c)) as u32 } else { up >> (32 - c) }
                    })
                    .collect()
            }
            Node::Insert(x, y, o, c) => {
                let (x, y, o, c) = (self.expr(x), self.expr(y), self.expr(o)[0], self.expr(c)[0]);
                let o = o.min(32);
                let c = c.min(32 - o);
                let mask = (((1u64 << c) - 1) << o) as u32;
                x.iter().zip(&y).map(|(x, y)| x & !mask | ((u64::from(*y) << o) as u32) & mask).collect()
            }
            Node::AllAny(name, x) => {
                let x = self.expr(x);
                vec![u32::from(if *name == "all" { x.iter().all(|w| *w != 0) } else { x.iter().any(|w| *w != 0) })]
            }
            Node::Call(n, args) => self.call(*n, args),
        };
        self.see(e.ty, out)
    }

    fn call(&mut self, n: usize, args: &[Arg]) -> Words {
        let function = &self.program.functions[n];
        let mut scope = HashMap::new();
        for ((name, ..), a) in function.params.iter().zip(args) {
            let at = match a {
                Arg::Pointer(p) => self.pointer(p),
                Arg::Value(e) => {
                    let v = self.expr(e);
                    self.slots.push(Val::Leaf(v));
                    (self.slots.len() - 1, Vec::new())
                }
            };
            scope.insert(name.clone(), at);
        }
        // Only the module's variables are seen from inside.
        let outer = self.scopes.split_off(1);
        self.scopes.push(scope);
        let flow = self.block(&function.body);
        self.scopes.truncate(1);
        self.scopes.extend(outer);
        match flow {
            Flow::Return(w) => w,
            _ => Vec::new(),
        }
    }

    fn block(&mut self, body: &[Stmt]) -> Flow {
        self.scopes.push(HashMap::new());
        let mut flow = Flow::Next;
        for s in body {
            flow = self.stmt(s);
            if !matches!(flow, Flow::Next) {
                break;
            }
        }
        self.scopes.pop();
        flow
    }

    fn stmt(&mut self, s: &Stmt) -> Flow {
        match s {
            Stmt::Let(n, e) => {
                let v = self.expr(e);
                self.define(n, Val::Leaf(v));
            }
            Stmt::Var(n, s, e) => {
                let v = match e {
                    Some(e) => Val::Leaf(self.expr(e)),
                    None => zero(self.program, s),
                };
                self.define(n, v);
            }
            Stmt::Copy(n, _, from) => {
                let v = self.read(&self.lookup(from));
                self.define(n, v);
            }
            Stmt::Assign(p, op, e) => {
                let at = self.pointer(p);
                let old = self.read(&at);
                let mut v = self.expr(e);
                if let Some(op) = op {
                    let Val::Leaf(old) = old else { panic!("a composite has no operators") };
                    v = old.iter().zip(&v).map(|(a, b)| binary(op, p.ty.kind, *a, *b)).collect();
                    v = self.see(p.ty, v);
                }
                self.write(&at, Val::Leaf(v));
            }
            Stmt::If(c, yes, no) => {
                let c = self.expr(c)[0];
                return self.block(if c != 0 { yes } else { no });
            }
            Stmt::For(k, n, body) => {
                self.scopes.push(HashMap::new());
                for i in 0..*n {
                    self.define(k, Val::Leaf(vec![i]));
                    match self.block(body) {
                        Flow::Break => break,
                        Flow::Return(w) => {
                            self.scopes.pop();
                            return Flow::Return(w);
                        }
                        _ => {}
                    }
                }
                self.scopes.pop();
            }
            Stmt::Loop(k, n, body, after) => {
                self.define(k, Val::Leaf(vec![0]));
                for i in 1..=*n {
                    match self.block(body) {
                        Flow::Break => break,
                        Flow::Return(w) => return Flow::Return(w),
                        _ => {}
                    }
                    self.block(after);
                    let at = self.lookup(k);
                    self.write(&at, Val::Leaf(vec![i]));
                }
            }
            Stmt::Switch(e, cases, _, default) => {
                let v = self.expr(e)[0] as i32;
                let body = cases.iter().find(|(values, _)| values.contains(&v)).map_or(default, |(_, b)| b);
                return match self.block(body) {
                    Flow::Break => Flow::Next,
                    flow => flow,
                };
            }
            Stmt::Break => return Flow::Break,
            Stmt::Continue => return Flow::Continue,
            Stmt::Return(e) => return Flow::Return(self.expr(e)),
            Stmt::CallOnly(n, args) => {
                self.call(*n, args);
            }
        }
        Flow::Next
    }
}

/// Runs a program.
pub fn program(p: &Program, inputs: &Inputs) -> (Vec<Words>, bool) {
    let mut m = Machine { program: p, slots: Vec::new(), scopes: vec![HashMap::new()], special: false };
    for (name, _, values) in &p.tables {
        m.define(name, Val::Agg(values.iter().map(|w| Val::Leaf(w.clone())).collect()));
    }
    for (name, s, init) in &p.private {
        let v = init.as_ref().map_or_else(|| zero(p, s), |w| Val::Leaf(w.clone()));
        m.define(name, v);
    }
    m.scopes.push(HashMap::new());
    m.define("a", Val::Leaf(inputs.a.iter().map(|x| x.to_bits()).collect()));
    m.define("b", Val::Leaf(inputs.b.iter().map(|x| *x as u32).collect()));
    m.define("c", Val::Leaf(inputs.c.to_vec()));
    // The outputs see the variables of the body.
    for s in &p.body {
        m.stmt(s);
    }
    let mut out = Vec::new();
    for e in &p.outputs {
        let w = m.expr(e);
        if p.halves && e.ty.kind != Kind::F {
            out.push(w.iter().map(|w| ((w & 65535) as f32).to_bits()).collect());
            let high = |w: u32| if e.ty.kind == Kind::I { ((w as i32) >> 16) as f32 } else { (w >> 16) as f32 };
            out.push(w.iter().map(|w| high(*w).to_bits()).collect());
        } else {
            out.push(w);
        }
    }
    (out, m.special)
}
