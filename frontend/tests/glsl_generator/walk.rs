//! What a stretch of a program touches: the variables that it reads, writes and declares, and the functions that it calls. Whoever walks may exchange them.

use super::{Arg, Expr, Hop, Node, Place, Stmt, VarId};

/// How a variable is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Read,
    Written,
    Both,
    Declared,
}

/// Who walks.
pub trait Walker {
    fn variable(&mut self, v: &mut VarId, how: Use);
    fn function(&mut self, _: &mut usize) {}
}

pub fn statements(all: &mut [Stmt], w: &mut dyn Walker) {
    all.iter_mut().for_each(|s| statement(s, w));
}

pub fn statement(s: &mut Stmt, w: &mut dyn Walker) {
    match s {
        Stmt::Declare(all) => {
            for (v, init) in all {
                init.iter_mut().for_each(|e| expr(e, w));
                w.variable(v, Use::Declared);
            }
        }
        Stmt::Expr(e) | Stmt::Return(Some(e)) => expr(e, w),
        Stmt::If(c, yes, no) => {
            expr(c, w);
            statements(yes, w);
            no.iter_mut().for_each(|no| statements(no, w));
        }
        Stmt::For(init, cond, step, body) => {
            init.iter_mut().for_each(|s| statement(s, w));
            cond.iter_mut().chain(step).for_each(|e| expr(e, w));
            statements(body, w);
        }
        Stmt::While(c, body) | Stmt::DoWhile(body, c) => {
            expr(c, w);
            statements(body, w);
        }
        Stmt::Switch(e, cases) => {
            expr(e, w);
            cases.iter_mut().for_each(|(_, body)| statements(body, w));
        }
        Stmt::Block(body) => statements(body, w),
        Stmt::Rounds(v, _, body) => {
            w.variable(v, Use::Declared);
            statements(body, w);
        }
        Stmt::Break | Stmt::Continue | Stmt::Return(None) | Stmt::Discard | Stmt::Barrier => {}
    }
}

pub fn expr(e: &mut Expr, w: &mut dyn Walker) {
    match &mut e.node {
        Node::Lit(_) => {}
        Node::Load(p) => place(p, Use::Read, w),
        Node::Unary(_, x) | Node::Implicit(x) => expr(x, w),
        Node::Binary(_, x, y) => {
            expr(x, w);
            expr(y, w);
        }
        Node::Cond(c, x, y) => [c, x, y].into_iter().for_each(|e| expr(e, w)),
        Node::Assign(p, op, x) => {
            place(p, if op.is_empty() { Use::Written } else { Use::Both }, w);
            expr(x, w);
        }
        Node::Step(p, ..) => place(p, Use::Both, w),
        Node::Make(all) => all.iter_mut().for_each(|e| expr(e, w)),
        Node::Builtin(_, all, places) => {
            all.iter_mut().for_each(|e| expr(e, w));
            places.iter_mut().for_each(|p| place(p, Use::Both, w));
        }
        Node::Call(f, args) => {
            w.function(f);
            for a in args {
                match a {
                    Arg::In(e) => expr(e, w),
                    Arg::Ref(p) => place(p, Use::Both, w),
                }
            }
        }
        Node::Part(x, hop) => {
            expr(x, w);
            step(hop, w);
        }
    }
}

pub fn place(p: &mut Place, how: Use, w: &mut dyn Walker) {
    w.variable(&mut p.var, how);
    p.hops.iter_mut().for_each(|h| step(h, w));
}

fn step(h: &mut Hop, w: &mut dyn Walker) {
    if let Hop::Index(e) = h {
        expr(e, w);
    }
}
