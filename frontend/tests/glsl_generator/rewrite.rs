//! Rewrites of a program that change nothing of what it computes: opaque predicates, dead branches, loops that go round once, first rounds in front of their loops, exchanged arms,
//! operands and statements, statements that become functions and calls that become statements. Compilers have to see through them or carry them out; the right results are those of
//! the program before.

use super::walk::{Use, Walker, statement, statements};
use super::{Arg, BOOL, Base, Dice, Expr, Function, Hop, Mode, Node, Num, Place, Program, Space, Stmt, Ty, Var, VarId, eval, layout};
use std::collections::{BTreeMap, BTreeSet};

/// Rewrites of one program at most: dead copies make it longer.
const MOST: usize = 16;

/// Rewrites a program in place; `inputs` are those that it will run on. Gives the number of rewrites.
pub fn rewrite(p: &mut Program, inputs: &eval::Inputs, seed: u64) -> usize {
    let members = p.blocks.iter().flat_map(|b| b.members.iter().map(|m| m.0));
    let globals = p.globals.iter().map(|g| g.0).chain(p.shared.iter().copied()).chain(members);
    let mut r = Rewriter {
        dice: Dice::new(seed ^ 0x6d65_7461),
        yes: opaque(p, inputs),
        done: 0,
        globals: globals.chain(p.inputs.iter().chain(&p.outputs).copied()).collect(),
        vars: std::mem::take(&mut p.vars),
        functions: Vec::new(),
    };
    // Functions of the program before by their places among those that are written so far: what becomes a function stands in front of what it was part of.
    let mut places = Vec::new();
    for mut f in std::mem::take(&mut p.functions) {
        statements(&mut f.body, &mut Renumbered(&places));
        r.list(&mut f.body);
        r.functions.push(f);
        places.push(r.functions.len() - 1);
    }
    statements(&mut p.main, &mut Renumbered(&places));
    r.list(&mut p.main);
    (p.functions, p.vars) = (r.functions, r.vars);
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
            // A small one: PICA200's numbers have no more than 17 bits.
            if let Ty::Scalar(base @ (Base::Int | Base::Uint)) = ty
                && (words[cells[first]] as i32).unsigned_abs() < 1 << 15
            {
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

/// Calls find their functions where these stand now.
struct Renumbered<'a>(&'a [usize]);

impl Walker for Renumbered<'_> {
    fn variable(&mut self, _: &mut VarId, _: Use) {}
    fn function(&mut self, f: &mut usize) {
        *f = self.0[*f];
    }
}

/// What a statement uses, itself and by calls.
struct Touched<'a> {
    functions: &'a [Function],
    reads: BTreeSet<VarId>,
    writes: BTreeSet<VarId>,
    declares: BTreeSet<VarId>,
    calls: BTreeSet<usize>,
}

impl Walker for Touched<'_> {
    fn variable(&mut self, v: &mut VarId, how: Use) {
        if matches!(how, Use::Read | Use::Both) {
            self.reads.insert(*v);
        }
        if matches!(how, Use::Written | Use::Both) {
            self.writes.insert(*v);
        }
        if how == Use::Declared {
            self.declares.insert(*v);
        }
    }
    fn function(&mut self, f: &mut usize) {
        self.reads.extend(&self.functions[*f].reads);
        self.writes.extend(&self.functions[*f].writes);
        self.calls.insert(*f);
    }
}

/// Variables under other names.
struct Renamed(BTreeMap<VarId, VarId>);

impl Walker for Renamed {
    fn variable(&mut self, v: &mut VarId, _: Use) {
        *v = *self.0.get(v).unwrap_or(v);
    }
}

struct Rewriter {
    dice: Dice,
    yes: Expr,
    done: usize,
    vars: Vec<Var>,
    /// What functions may name.
    globals: BTreeSet<VarId>,
    functions: Vec<Function>,
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
            let s = self.inlined(s);
            let s = self.wrapped(s);
            all.push(self.outlined(s));
        }
        for n in 1..all.len() {
            if self.independent(&all[n - 1], &all[n]) && self.now(6) {
                all.swap(n - 1, n);
            }
        }
    }

    fn touched(&self, s: &Stmt) -> Touched<'_> {
        let none = BTreeSet::new;
        let mut t = Touched { functions: &self.functions, reads: none(), writes: none(), declares: none(), calls: none() };
        statement(&mut s.clone(), &mut t);
        t
    }

    /// Whether a statement, or a function that it calls, may end the invocation.
    fn discards(&self, s: &Stmt) -> bool {
        has(s, &|s| matches!(s, Stmt::Discard))
            || self.touched(s).calls.iter().any(|f| self.functions[*f].body.iter().any(|s| self.discards(s)))
    }

    /// Whether two statements can change places.
    fn independent(&self, one: &Stmt, other: &Stmt) -> bool {
        let stays = |s: &Stmt| {
            matches!(s, Stmt::Declare(_))
                || escapes(s, false, false)
                || has(s, &|s| matches!(s, Stmt::Barrier | Stmt::Rounds(..)))
                || self.discards(s)
        };
        let (a, b) = (self.touched(one), self.touched(other));
        let apart = |a: &Touched, b: &Touched| a.writes.is_disjoint(&b.reads) && a.writes.is_disjoint(&b.writes);
        !stays(one) && !stays(other) && apart(&a, &b) && apart(&b, &a)
    }

    fn fresh(&mut self, prefix: &str, ty: Ty) -> VarId {
        let name = format!("{prefix}{}", self.vars.len());
        self.vars.push(Var { name, ty, space: Space::Own });
        self.vars.len() - 1
    }

    fn plain(&self, var: VarId) -> Place {
        Place { var, hops: Vec::new(), ty: self.vars[var].ty.clone() }
    }

    /// A statement as a call of a function of its own: what it reads of its surroundings are parameters, and what it writes comes back through them.
    fn outlined(&mut self, mut s: Stmt) -> Stmt {
        if escapes(&s, false, false) || !self.now(8) {
            return s;
        }
        let touched = self.touched(&s);
        let local = |v: &&VarId| !self.globals.contains(v) && !touched.declares.contains(v);
        let written: BTreeSet<VarId> = touched.writes.iter().filter(local).copied().collect();
        let used: BTreeSet<VarId> = touched.reads.iter().filter(local).copied().chain(written.iter().copied()).collect();
        let global = |all: &BTreeSet<VarId>| all.intersection(&self.globals).copied().collect();
        let (reads, writes) = (global(&touched.reads), global(&touched.writes));
        let (mut params, mut args, mut names) = (Vec::new(), Vec::new(), BTreeMap::new());
        for v in used {
            let place = self.plain(v);
            let parameter = self.fresh("o", place.ty.clone());
            names.insert(v, parameter);
            let (mode, arg) = match written.contains(&v) {
                true => (Mode::InOut, Arg::Ref(place)),
                false => (Mode::In, Arg::In(Expr { ty: place.ty.clone(), node: Node::Load(place) })),
            };
            params.push((parameter, mode));
            args.push(arg);
        }
        statement(&mut s, &mut Renamed(names));
        let name = format!("outlined{}", self.functions.len());
        self.functions.push(Function { name, result: Ty::Void, params, body: vec![s], reads, writes });
        Stmt::Expr(Expr { ty: Ty::Void, node: Node::Call(self.functions.len() - 1, args) })
    }

    /// A call as the statements of its function, if that returns at its end only.
    fn inlined(&mut self, s: Stmt) -> Stmt {
        let (target, call) = match &s {
            Stmt::Expr(Expr { node: Node::Assign(place, "", value), .. }) => (Some(place), &value.node),
            Stmt::Expr(e) => (None, &e.node),
            _ => return s,
        };
        let Node::Call(f, args) = call else { return s };
        let fixed = |p: &Place| !p.hops.iter().any(|h| matches!(h, Hop::Index(_)));
        let refs = args.iter().filter_map(|a| if let Arg::Ref(p) = a { Some(p) } else { None });
        let body = &self.functions[*f].body;
        let (last, before) = match body.split_last() {
            Some((Stmt::Return(e), before)) => (e.clone(), before),
            _ => (None, body.as_slice()),
        };
        // A name of the caller's must not hide what the function means.
        let names: BTreeSet<&String> = self.globals.iter().map(|v| &self.vars[*v].name).collect();
        let hidden = (0..self.vars.len()).any(|v| !self.globals.contains(&v) && names.contains(&self.vars[v].name));
        let early = before.iter().any(|s| has(s, &|s| matches!(s, Stmt::Return(_))));
        if hidden || early || !target.into_iter().chain(refs).all(fixed) {
            return s;
        }
        let (target, args, mut inside) = (target.cloned(), args.clone(), before.to_vec());
        let (params, mut names) = (self.functions[*f].params.clone(), BTreeMap::new());
        if !self.now(2) {
            return s;
        }
        // The arguments, in the caller's names.
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for ((v, mode), arg) in params.into_iter().zip(args) {
            let own = self.fresh("i", self.vars[v].ty.clone());
            names.insert(v, own);
            let init = match arg {
                Arg::In(e) => Some(e),
                Arg::Ref(p) => {
                    let load = |p: Place| Expr { ty: p.ty.clone(), node: Node::Load(p) };
                    back.push(assigned(p.clone(), load(self.plain(own))));
                    (mode == Mode::InOut).then(|| load(p))
                }
            };
            out.push(Stmt::Declare(vec![(own, init)]));
        }
        // The result is declared where nothing of the function's can hide it.
        if let Some(e) = last {
            let result = self.fresh("i", e.ty.clone());
            out.push(Stmt::Declare(vec![(result, None)]));
            inside.push(assigned(self.plain(result), e));
            if let Some(target) = target {
                let load = Expr { ty: target.ty.clone(), node: Node::Load(self.plain(result)) };
                back.push(assigned(target, load));
            }
        }
        statements(&mut inside, &mut Renamed(names));
        out.push(Stmt::Block(inside));
        out.extend(back);
        Stmt::Block(out)
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
                // The first round stands in front of the others.
                if !body.iter().any(leaves) && cond.is_some() && self.now(4) {
                    let mut first = vec![Stmt::Block(body.clone())];
                    first.extend(step.clone().map(Stmt::Expr));
                    first.push(Stmt::For(None, cond.clone(), step, body));
                    let mut all: Vec<Stmt> = init.map(|s| *s).into_iter().collect();
                    all.extend(cond.map(|c| Stmt::If(c, first, None)));
                    return Stmt::Block(all);
                }
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

/// Whether a statement goes where only its surroundings know: out of the function, or on in a loop or `switch` around it.
fn escapes(s: &Stmt, in_loop: bool, in_switch: bool) -> bool {
    let any = |body: &[Stmt], in_loop, in_switch| body.iter().any(|s| escapes(s, in_loop, in_switch));
    match s {
        Stmt::Return(_) => true,
        Stmt::Break => !in_loop && !in_switch,
        Stmt::Continue => !in_loop,
        Stmt::If(_, yes, no) => any(yes, in_loop, in_switch) || no.as_ref().is_some_and(|no| any(no, in_loop, in_switch)),
        Stmt::Block(body) => any(body, in_loop, in_switch),
        Stmt::For(_, _, _, body) | Stmt::While(_, body) | Stmt::DoWhile(body, _) | Stmt::Rounds(_, _, body) => any(body, true, false),
        Stmt::Switch(_, cases) => cases.iter().any(|(_, body)| any(body, in_loop, true)),
        Stmt::Declare(_) | Stmt::Expr(_) | Stmt::Discard | Stmt::Barrier => false,
    }
}

fn assigned(place: Place, value: Expr) -> Stmt {
    Stmt::Expr(Expr { ty: place.ty.clone(), node: Node::Assign(place, "", Box::new(value)) })
}
