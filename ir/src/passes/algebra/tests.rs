//! Every row on random values of its class, against the interpreter.

use super::apply::{Facts, Table, number};
use super::*;
use crate::builder::Builder;
use crate::entities::{Block, Value};
use crate::function::Function;
use crate::inst::Imm;
use crate::numerics::{Reference, to_f32};
use crate::passes::rewrite::{Action, rewrite};
use crate::types::{Scalar, Type};
use std::cell::Cell;
use std::collections::BTreeMap;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 32) as u32
    }

    /// A value of a type: edge cases, small and arbitrary ones; with `tame`, floats that are finite and of a moderate size.
    fn value(&mut self, ty: Scalar, tame: bool) -> u32 {
        const EDGES: [f32; 14] = [0.0, 1.0, 0.5, 2.0, -1.0, 3.0, 4.0, 5.0, 8.0, 16.0, 1.5, 0.25, -0.5, 6.0];
        const WILD: [f32; 6] = [-0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 3.0e38, 1.0e-30];
        const WORDS: [u32; 12] = [0, 1, 2, 4, 31, 32, 33, 255, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff_0000];
        let random = (self.next() as f32 / u32::MAX as f32 - 0.5) * 20.0;
        match ty {
            Scalar::I1 => self.next() & 1,
            Scalar::I32 => match self.next() % 4 {
                0 => WORDS[self.next() as usize % WORDS.len()],
                1 => self.next() % 40,
                2 => self.next() >> (self.next() % 32),
                _ => 1 << (self.next() % 32),
            },
            Scalar::F32 | Scalar::F16 => {
                let x = match self.next() % 4 {
                    0 => EDGES[self.next() as usize % EDGES.len()],
                    1 if !tame => WILD[self.next() as usize % WILD.len()],
                    _ => random,
                };
                crate::numerics::from_f32(ty, x)
            }
        }
    }
}

/// The type of operand `n` of an operation with this result.
fn operand(op: Opcode, n: usize, result: Type, compared: Scalar) -> Type {
    match op {
        Opcode::Fcmp | Opcode::F2s | Opcode::F2u => result.with_scalar(Scalar::F32),
        Opcode::S2f | Opcode::U2f => result.with_scalar(Scalar::I32),
        Opcode::Icmp => result.with_scalar(compared),
        Opcode::Select if n == 0 => result.with_scalar(Scalar::I1),
        Opcode::Splat => result.lane(),
        Opcode::Dot | Opcode::Any | Opcode::All => Type::new(result.scalar, 3),
        Opcode::Bitcast => result.with_scalar(if result.scalar == Scalar::I32 { Scalar::F32 } else { Scalar::I32 }),
        _ => result,
    }
}

/// The types of the names in a pattern, if they agree.
fn types(term: &Term, ty: Type, compared: Scalar, found: &mut BTreeMap<&'static str, Type>) -> bool {
    match term {
        Term::Whatever | Term::Number(_) => true,
        Term::Name(name) => *found.entry(name).or_insert(ty) == ty,
        Term::As(_, inner) => types(inner, ty, compared, found),
        Term::Op { op, args, .. } => {
            produces(*op, ty.scalar) && args.iter().enumerate().all(|(n, a)| types(a, operand(*op, n, ty, compared), compared, found))
        }
    }
}

/// Whether an operation may have a result of this type.
fn produces(op: Opcode, ty: Scalar) -> bool {
    use Opcode::*;
    match op {
        Fcmp | Icmp | Any | All => ty == Scalar::I1,
        F2s | F2u => ty == Scalar::I32,
        S2f | U2f => ty == Scalar::F32,
        Select | Splat => true,
        Bitcast => matches!(ty, Scalar::I32 | Scalar::F32),
        Iand | Ior | Ixor | Inot => !ty.is_float(),
        _ if op.group() == "Integer" => ty == Scalar::I32,
        _ => ty.is_float(),
    }
}

/// The source of a row as instructions.
fn build(b: &mut Builder, term: &Term, ty: Type, compared: Scalar, any: &Imm, names: &BTreeMap<&str, Value>, rng: &mut Rng) -> Value {
    match term {
        Term::Whatever => {
            let word = rng.value(ty.scalar, true);
            b.splat_const(ty, word)
        }
        Term::Name(name) => names[name],
        Term::As(_, inner) => build(b, inner, ty, compared, any, names, rng),
        Term::Number(n) => b.splat_const(ty, number(ty, *n)),
        Term::Op { op, relation, args, .. } => {
            let values: Vec<Value> =
                args.iter().enumerate().map(|(n, a)| build(b, a, operand(*op, n, ty, compared), compared, any, names, rng)).collect();
            let imm = match relation {
                Relation::Float(cc) => Imm::FloatCC(*cc),
                Relation::Int(cc) => Imm::IntCC(*cc),
                Relation::None => Imm::None,
                _ => any.clone(),
            };
            b.typed(*op, ty, &values, imm)
        }
    }
}

/// The value of the block's last result for these values of its parameters, and the largest magnitude on the way.
fn run(func: &Function, block: Block, result: Value, params: &[[u32; 4]]) -> ([u32; 4], f32) {
    let mut values: BTreeMap<Value, [u32; 4]> = func.blocks[block].params.iter().copied().zip(params.iter().copied()).collect();
    let mut largest = 0f32;
    for i in &func.blocks[block].insts {
        let d = &func.insts[*i];
        let [r] = d.results[..] else { continue };
        let ty = func.ty(r);
        let args: Vec<[u32; 4]> = d.args.iter().map(|a| values[&func.resolve(*a)]).collect();
        let types: Vec<Type> = d.args.iter().map(|a| func.ty(*a)).collect();
        let bits = match d.imm {
            Imm::Const(bits) => bits,
            _ => crate::interp::eval(&Reference, d.op, &d.imm, ty, &types, &args).unwrap(),
        };
        // A power of what is not positive is not defined, or no number behind a logarithm.
        if d.op == Opcode::Fpow && (0..ty.lanes as usize).any(|n| to_f32(ty.scalar, args[0][n]) <= 0.0) {
            largest = f32::INFINITY;
        }
        if ty.is_float() {
            let sizes = bits[..ty.lanes as usize].iter().map(|w| to_f32(ty.scalar, *w).abs());
            largest = sizes.fold(largest, |a, x| if x.is_nan() { f32::INFINITY } else { a.max(x) });
        }
        values.insert(r, bits);
    }
    (values[&func.resolve(result)], largest)
}

/// Whether two results are the same in the row's class.
fn same(class: Class, ty: Type, before: [u32; 4], after: [u32; 4], largest: f32) -> bool {
    (0..ty.lanes as usize).all(|n| {
        if !ty.is_float() {
            return before[n] == after[n];
        }
        let (x, y) = (to_f32(ty.scalar, before[n]), to_f32(ty.scalar, after[n]));
        match class {
            Class::Exact => before[n] == after[n] || x.is_nan() && y.is_nan(),
            Class::Close | Class::Finite => (x - y).abs() <= 1e-5 * largest.max(1e-3),
        }
    })
}

/// Whether truth values are compared by order, which no machine does and the verifier refuses.
fn orders_truths(func: &Function) -> bool {
    func.ordered().any(|(_, i)| {
        let d = &func.insts[i];
        let equality = matches!(d.imm, Imm::IntCC(IntCC::Eq | IntCC::Ne));
        d.op == Opcode::Icmp && !equality && func.ty(d.args[0]).scalar == Scalar::I1
    })
}

/// Tries a row with one assignment of types, constants and relation: what went wrong. `None` where its condition does not hold.
fn attempt(rule: &'static Rule, ty: Type, compared: Scalar, any: &Imm, rng: &mut Rng) -> Option<Result<(), String>> {
    let mut named = BTreeMap::new();
    if !types(&rule.from, ty, compared, &mut named) {
        return None;
    }
    let mut func = Function::new("row");
    let block = func.add_block();
    let mut names: BTreeMap<&str, Value> = BTreeMap::new();
    let mut params = Vec::new();
    for (name, ty) in &named {
        if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            // Small constants are those that fit together.
            let small = ty.scalar == Scalar::I32 && rng.next().is_multiple_of(3);
            let word = if small { rng.next() % 4 } else { rng.value(ty.scalar, true) };
            let mut b = Builder::new(&mut func, block);
            names.insert(name, b.splat_const(*ty, word));
        } else {
            params.push(*ty);
            names.insert(name, func.add_param(block, *ty));
        }
    }
    let mut b = Builder::new(&mut func, block);
    let result = build(&mut b, &rule.from, ty, compared, any, &names, rng);
    b.ret(&[result]);
    let before = func.clone();
    let uses = func.use_counts();
    let table = Table::with(std::iter::once(rule));
    let facts = Facts { numerics: &Reference, uses: &uses, lanes_apart: false, beyond: Cell::new(false) };
    let last = func.def_inst(result)?;
    let changed = rewrite(&mut func, |b, i| if i == last { table.apply(b, i, &facts) } else { Action::Keep });
    if !changed {
        return None;
    }
    if orders_truths(&func) && !orders_truths(&before) {
        return Some(Err(format!("{}: truth values are equal or not, and have no order", rule.text)));
    }
    let loose = matches!(rule.class, Class::Close | Class::Finite);
    for _ in 0..32 {
        let row: Vec<[u32; 4]> = params.iter().map(|ty| std::array::from_fn(|_| rng.value(ty.scalar, loose))).collect();
        let (x, largest) = run(&before, block, result, &row);
        let (y, _) = run(&func, block, result, &row);
        // Where the source overflows or leaves the numbers nothing is promised; nor right beside where a comparison tips.
        if loose && (!largest.is_finite() || largest > 1e6) || loose && !ty.is_float() && near_tie(&before, block, &row) {
            continue;
        }
        if !same(rule.class, ty, x, y, largest) {
            return Some(Err(format!("{}: {row:x?} gives {x:x?}, then {y:x?}", rule.text)));
        }
    }
    Some(Ok(()))
}

/// Whether two floats that are compared are so near that rounding may decide.
fn near_tie(func: &Function, block: Block, params: &[[u32; 4]]) -> bool {
    func.blocks[block].insts.iter().any(|i| {
        let d = &func.insts[*i];
        let value = |v: Value| {
            let (bits, _) = run(func, block, v, params);
            to_f32(func.ty(v).scalar, bits[0])
        };
        d.op == Opcode::Fcmp && func.ty(d.args[0]).lanes == 1 && (value(d.args[0]) - value(d.args[1])).abs() < 1e-4
    })
}

#[test]
fn every_row_keeps_its_promise() {
    let mut rng = Rng(0x9e37_79b9);
    let relations: Vec<Imm> = IntCC::ALL.iter().map(|c| Imm::IntCC(*c)).chain(FloatCC::ALL.iter().map(|c| Imm::FloatCC(*c))).collect();
    let mut wrong = Vec::new();
    for rule in rules() {
        let mut fired = 0;
        for n in 0..4000 {
            let ty = Type::new([Scalar::F32, Scalar::I32, Scalar::I1, Scalar::F32][n % 4], [1, 3][n / 4 % 2]);
            let compared = [Scalar::I32, Scalar::I1][n / 8 % 2];
            let any = &relations[n / 16 % relations.len()];
            // A float relation compares floats and the other way round.
            let fits = !rule.text.contains("any") || rule.text.contains("Fcmp") == matches!(any, Imm::FloatCC(_));
            match fits.then(|| attempt(rule, ty, compared, any, &mut rng)).flatten() {
                Some(Ok(())) => fired += 1,
                Some(Err(what)) => {
                    wrong.push(what);
                    fired += 60;
                }
                None => {}
            }
            if fired >= 60 {
                break;
            }
        }
        if fired == 0 {
            wrong.push(format!("{}: never fits", rule.text));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_row_stands_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for rule in rules() {
        assert!(seen.insert((rule.class == Class::Exact, rule.text.split(" => ").next())), "{}", rule.text);
    }
}

/// How many steps a row looks from what a term stands for.
fn depth(term: &Term) -> u8 {
    match term {
        Term::Whatever => 0,
        // What makes it, and what that is a splat of.
        Term::Name(_) | Term::Number(_) => 2,
        Term::As(_, inner) => depth(inner).max(2),
        Term::Op { args, .. } => 1 + args.iter().map(depth).max().unwrap_or(0),
    }
}

#[test]
fn no_row_looks_further_than_it_says() {
    for rule in rules() {
        let Term::Op { args, .. } = &rule.from else { continue };
        assert!(args.iter().all(|a| depth(a) <= DEPTH), "{}", rule.text);
    }
}

#[test]
fn names_are_letters() {
    fn check(term: &Term, rule: &Rule) {
        match term {
            Term::Name(name) | Term::As(name, _) if name.len() != 1 => panic!("{}: {name}", rule.text),
            Term::As(_, inner) => check(inner, rule),
            Term::Op { args, .. } => args.iter().for_each(|a| check(a, rule)),
            _ => {}
        }
    }
    rules().for_each(|rule| [&rule.from, &rule.to].into_iter().for_each(|term| check(term, rule)));
}
