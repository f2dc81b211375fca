//! Rewrites of a program that change nothing of what it computes: opaque predicates, dead branches, loops that go round once, exchanged arms and operands,
//! peeled tests. Compilers have to see through them or carry them out; the right results are those of the program before.

use super::{BOOL, Base, Dice, Expr, Node, Num, Place, Program, Stmt, Ty, eval, layout};

/// Rewrites of one program at most: dead copies make it longer.
const MOST: usize = 16;

/// Rewrites a program in place; `inputs` are those that it will run on. Gives the number of rewrites.
pub fn rewrite(p: &mut Program, inputs: &eval::Inputs, seed: u64) -> usize {
    let mut r = Rewriter { dice: Dice::new(seed ^ 0x6d65_7461), yes: opaque(p, inputs), done: 0 };
    let (mut main, mut functions) = (std::mem::take(&mut p.main), std::mem::take(&mut p.functions));
    r.list(&mut main);
    functions.iter_mut().for_each(|f| r.list(&mut f.body));
    (p.main, p.functions) = (main, functions);
    r.done
}

fn truth(node: Node) -> Expr {
    Expr { ty: BOOL, node }
}

/// What is true and shows only when the program runs: that a uniform has the value that it will have.
fn opaque(p: &Program, inputs: &eval::Inputs) -> Expr {
    for (b, words) in p.blocks.iter().zip(&inputs.blocks).filter(|(b, _)| b.uniform) {
        let (cells, _) = layout::block(p, b);
        let mut first = 0;
        for (var, _) in &b.members {
            let ty = &p.vars[*var].ty;
            if let Ty::Scalar(base @ (Base::Int | Base::Uint)) = ty {
                let value = Num::of(*base, words[cells[first]]);
                let load = Expr { ty: ty.clone(), node: Node::Load(Place { var: *var, hops: Vec::new(), ty: ty.clone() }) };
                let known = Expr { ty: ty.clone(), node: Node::Lit(vec![value]) };
                return truth(Node::Binary("==", Box::new(load), Box::new(known)));
            }
            first += p.cells(ty);
        }
    }
    truth(Node::Lit(vec![Num::B(true)]))
}

struct Rewriter {
    dice: Dice,
    yes: Expr,
    done: usize,
}

impl Rewriter {
    fn now(&mut self, n: usize) -> bool {
        let now = self.done < MOST && self.dice.one_in(n);
        self.done += usize::from(now);
        now
    }

    fn no(&self) -> Expr {
        truth(Node::Unary("!", Box::new(self.yes.clone())))
    }

    fn list(&mut self, all: &mut Vec<Stmt>) {
        for s in std::mem::take(all) {
            let s = self.inside(s);
            // What is declared must stay in its scope, barriers in the flow that all invocations share.
            if matches!(s, Stmt::Declare(_)) || has(&s, &|s| matches!(s, Stmt::Barrier | Stmt::Rounds(..))) {
                all.push(s);
                continue;
            }
            if self.now(8) {
                all.push(Stmt::If(self.no(), vec![s.clone()], None));
            }
            all.push(self.wrapped(s));
        }
    }

    /// The same statement in another frame. Functions end in a `return` that glslang sees.
    fn wrapped(&mut self, s: Stmt) -> Stmt {
        if matches!(s, Stmt::Return(_)) || !self.now(6) {
            return s;
        }
        match self.dice.below(5) {
            0 => Stmt::If(self.yes.clone(), vec![s], None),
            1 => Stmt::If(self.yes.clone(), vec![s.clone()], Some(vec![s])),
            2 => Stmt::If(self.no(), vec![s.clone()], Some(vec![s])),
            3 if !leaves(&s) => Stmt::DoWhile(vec![s], self.no()),
            _ => Stmt::Block(vec![s]),
        }
    }

    fn inside(&mut self, s: Stmt) -> Stmt {
        match s {
            Stmt::If(c, mut yes, no) => {
                self.list(&mut yes);
                let no = no.map(|mut no| {
                    self.list(&mut no);
                    no
                });
                let c = self.exchanged(c);
                match no {
                    Some(no) if self.now(3) => Stmt::If(truth(Node::Unary("!", Box::new(c))), no, Some(yes)),
                    no => Stmt::If(c, yes, no),
                }
            }
            Stmt::For(init, cond, step, mut body) => {
                self.list(&mut body);
                Stmt::For(init, cond, step, body)
            }
            Stmt::While(c, mut body) => {
                self.list(&mut body);
                // `continue` asks the same condition in both.
                if self.now(2) {
                    Stmt::If(c.clone(), vec![Stmt::DoWhile(body, c)], None)
                } else if self.now(2) {
                    Stmt::For(None, Some(c), None, body)
                } else {
                    Stmt::While(c, body)
                }
            }
            Stmt::DoWhile(mut body, c) => {
                self.list(&mut body);
                Stmt::DoWhile(body, c)
            }
            Stmt::Switch(e, mut cases) => {
                cases.iter_mut().for_each(|(_, body)| self.list(body));
                Stmt::Switch(e, cases)
            }
            Stmt::Block(mut body) => {
                self.list(&mut body);
                Stmt::Block(body)
            }
            Stmt::Rounds(v, n, mut body) => {
                self.list(&mut body);
                Stmt::Rounds(v, n, body)
            }
            Stmt::Expr(e) => Stmt::Expr(self.exchanged(e)),
            Stmt::Declare(all) => Stmt::Declare(all.into_iter().map(|(v, e)| (v, e.map(|e| self.exchanged(e)))).collect()),
            other => other,
        }
    }

    /// Sums and products of numbers and vectors with their operands exchanged.
    fn exchanged(&mut self, e: Expr) -> Expr {
        let node = match e.node {
            Node::Binary(op @ ("+" | "*"), a, b) if a.ty.simple().is_some() && b.ty.simple().is_some() && self.now(3) => {
                Node::Binary(op, b, a)
            }
            Node::Assign(place, op, value) => Node::Assign(place, op, Box::new(self.exchanged(*value))),
            node => node,
        };
        Expr { ty: e.ty, node }
    }
}

/// Whether a statement or one in it is such a one.
fn has(s: &Stmt, what: &dyn Fn(&Stmt) -> bool) -> bool {
    let any = |body: &[Stmt]| body.iter().any(|s| has(s, what));
    what(s)
        || match s {
            Stmt::If(_, yes, no) => any(yes) || no.as_ref().is_some_and(|no| any(no)),
            Stmt::For(_, _, _, body) | Stmt::While(_, body) | Stmt::DoWhile(body, _) | Stmt::Block(body) | Stmt::Rounds(_, _, body) => {
                any(body)
            }
            Stmt::Switch(_, cases) => cases.iter().any(|(_, body)| any(body)),
            _ => false,
        }
}

/// Whether a loop around a statement would catch its `break` or `continue`.
fn leaves(s: &Stmt) -> bool {
    has(s, &|s| matches!(s, Stmt::Break | Stmt::Continue))
}
