//! The matcher: finds the first row that fits an instruction and builds what it becomes.

use super::{Class, Relation, Rule, Term, rules};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::{Imm, InstData};
use crate::numerics::{Numerics, from_f32, to_f32};
use crate::opcode::Opcode;
use crate::passes::rewrite::{Action, constant_lanes, fold, splat_bits};
use crate::types::{Scalar, Type};
use cranelift_entity::{EntitySet, SecondaryMap};
use smallvec::SmallVec;
use std::cell::Cell;

/// What the matcher may ask besides the function itself.
pub(in crate::passes) struct Facts<'a> {
    pub numerics: &'a dyn Numerics,
    /// Uses when the pass began; new values have none.
    pub uses: &'a SecondaryMap<Value, u32>,
    /// Whether the machine computes scalars: lanes of a vector are values of their own in the end.
    pub lanes_apart: bool,
    /// Set by what looks further than [`DEPTH`] steps.
    pub beyond: Cell<bool>,
}

/// How many steps a row looks from an instruction to what makes its operands, and theirs: a constant may be a splat of one.
pub(in crate::passes) const DEPTH: u8 = 4;

/// Rows by the operation at their root.
pub(in crate::passes) struct Table(Vec<Rows>);

/// The rows of an operation, and which of them the makers of its first two operands leave.
#[derive(Default)]
struct Rows {
    all: Vec<Row>,
    /// By the maker of an operand: its place among `left`, whose first one is for makers that no row asks for by name.
    place: Vec<u8>,
    /// The rows that take such a first operand, and such a second one.
    left: Vec<[Set; 2]>,
}

/// A set of rows, a bit each.
type Set = u128;

impl Rows {
    fn new(all: Vec<Row>) -> Rows {
        assert!(all.len() <= Set::BITS as usize, "an operation has more rows than a set has bits");
        if all.is_empty() {
            return Rows::default();
        }
        let anything = |n: usize| all.iter().enumerate().fold(0, |set, (k, row)| set | Set::from(row.needs[n] == ANYTHING) << k);
        let (mut place, mut left) = (vec![0; Makers::BITS as usize], vec![[anything(0), anything(1)]]);
        for (k, row) in all.iter().enumerate() {
            for n in [0, 1] {
                let mut makers = if row.needs[n] == ANYTHING { 0 } else { row.needs[n] };
                while makers != 0 {
                    let m = makers.trailing_zeros() as usize;
                    makers &= makers - 1;
                    if place[m] == 0 {
                        place[m] = left.len() as u8;
                        left.push(left[0]);
                    }
                    left[place[m] as usize][n] |= 1 << k;
                }
            }
        }
        Rows { all, place, left }
    }
    /// The rows that operands made like this may match, in this order or, where that is allowed, exchanged.
    fn left(&self, made: [Option<Maker>; 4], commutative: bool) -> Set {
        let rows = Set::MAX >> (Set::BITS as usize - self.all.len());
        let of = |m: Option<Maker>| m.map_or([rows; 2], |m| self.left[self.place[m as usize] as usize]);
        let (x, y) = (of(made[0]), of(made[1]));
        x[0] & y[1] | if commutative { x[1] & y[0] } else { 0 }
    }
}

/// A row and what its operands must be at least: most rows are ruled out by that.
struct Row {
    rule: &'static Rule,
    operands: usize,
    needs: [Makers; 4],
    /// The numbers that the first two must be, in each scalar type.
    numbers: [Option<[u32; SCALARS.len()]>; 2],
}

/// Every scalar type, in the order of the type's own numbers.
const SCALARS: [Scalar; 4] = [Scalar::I1, Scalar::I32, Scalar::F32, Scalar::F16];

/// Operations that may make an operand, a bit each; the highest is that of what no operation makes.
type Makers = u128;

const ANYTHING: Makers = Makers::MAX;
const _: () = assert!(Opcode::ALL.len() < Makers::BITS as usize);

/// The number of such a bit.
type Maker = u32;

fn maker_of(op: Option<Opcode>) -> Maker {
    op.map_or(Makers::BITS - 1, |op| op as Maker)
}

fn maker(op: Option<Opcode>) -> Makers {
    1 << maker_of(op)
}

/// What an operand must be at least.
fn makers(term: &Term) -> Makers {
    match term {
        Term::Whatever => ANYTHING,
        Term::Name(name) if !is_constant(name) => ANYTHING,
        Term::Name(_) | Term::Number(_) => maker(Some(Opcode::Const)) | maker(Some(Opcode::Splat)),
        Term::As(_, inner) => makers(inner),
        Term::Op { op, .. } => maker(Some(*op)),
    }
}

impl Row {
    fn new(rule: &'static Rule, args: &[Term]) -> Row {
        let (mut needs, mut numbers) = ([ANYTHING; 4], [None; 2]);
        needs.iter_mut().zip(args).for_each(|(n, a)| *n = makers(a));
        numbers.iter_mut().zip(args).for_each(|(n, a)| {
            *n = if let Term::Number(x) = a { Some(SCALARS.map(|s| number(Type::new(s, 1), *x))) } else { None };
        });
        Row { rule, operands: args.len(), needs, numbers }
    }
    /// Whether the first two operands are the numbers that they must be, in this order or, where that is allowed, exchanged.
    fn numbers_fit(&self, [x, y]: [Option<(Scalar, u32)>; 2], commutative: bool) -> bool {
        let is = |wanted: Option<[u32; 4]>, has: Option<(Scalar, u32)>| match (wanted, has) {
            (Some(wanted), Some((scalar, bits))) => wanted[scalar as usize] == bits,
            (wanted, _) => wanted.is_none(),
        };
        let [a, b] = self.numbers;
        is(a, x) && is(b, y) || commutative && is(a, y) && is(b, x)
    }
    /// Whether operands behind the first two may match that are made by these operations.
    fn rest_fits(&self, made: &[Option<Maker>; 4]) -> bool {
        made[2..].iter().zip(&self.needs[2..]).all(|(made, needs)| made.is_none_or(|m| needs >> m & 1 == 1))
    }
}

/// Scalar type and bits of a constant whose lanes are all the same.
fn splat_of(f: &Function, v: Value) -> Option<(Scalar, u32)> {
    splat_bits(f, v).map(|bits| (f.ty(v).scalar, bits))
}

impl Table {
    /// The rows of some classes.
    pub fn of(classes: &[Class]) -> Table {
        Table::with(rules().filter(|r| classes.contains(&r.class)))
    }

    /// These rows.
    pub fn with(rows: impl Iterator<Item = &'static Rule>) -> Table {
        let mut table: Vec<Vec<Row>> = Opcode::ALL.iter().map(|_| Vec::new()).collect();
        for rule in rows {
            if let Term::Op { op, args, .. } = rule.from {
                table[op as usize].push(Row::new(rule, args));
            }
        }
        Table(table.into_iter().map(Rows::new).collect())
    }

    /// Applies the first row that fits.
    pub fn apply(&self, b: &mut Builder, i: Inst, facts: &Facts) -> Action {
        let d = &b.func.insts[i];
        let (op, precise) = (d.op, d.precise);
        let rows = &self.0[op as usize];
        let mut made = [None; 4];
        if rows.all.is_empty() || d.args.len() > made.len() {
            return Action::Keep;
        }
        let [result] = d.results[..] else { return Action::Keep };
        for (m, v) in made.iter_mut().zip(&d.args) {
            *m = Some(maker_of(b.func.def_inst(*v).map(|i| b.func.insts[i].op)));
        }
        let (operands, commutative) = (d.args.len(), op.is_commutative());
        let mut left = rows.left(made, commutative);
        if left == 0 {
            return Action::Keep;
        }
        let mut splats = None;
        while left != 0 {
            let row = &rows.all[left.trailing_zeros() as usize];
            left &= left - 1;
            let rule = row.rule;
            let loose = !matches!(rule.class, Class::Exact);
            if row.operands != operands || loose && precise || operands > 2 && !row.rest_fits(&made) {
                continue;
            }
            if row.numbers.iter().any(Option::is_some) {
                let f = &*b.func;
                let args = &f.insts[i].args;
                let splats = *splats.get_or_insert_with(|| [0, 1].map(|n| args.get(n).and_then(|v| splat_of(f, *v))));
                if !row.numbers_fit(splats, commutative) {
                    continue;
                }
            }
            let ty = b.func.ty(result);
            let mut m = Match { func: b.func, facts, names: Names::new(), result: ty, relation: None, precise, turns: Turns::default() };
            if !m.solve(&rule.from, result) || loose && m.precise || rule.when.is_some_and(|when| !when(&m)) {
                continue;
            }
            let (names, relation, precise) = (m.names, m.relation, m.precise);
            let was = std::mem::replace(&mut b.precise, precise);
            let made = Make { b, names, relation, numerics: facts.numerics }.term(&rule.to, ty);
            b.precise = was;
            match made {
                Some(v) if v != result => return Action::Replace(v),
                _ => {}
            }
        }
        Action::Keep
    }
}

/// Values by their names, which are letters.
type Names = SmallVec<[(u8, Value); 8]>;

fn letter(name: &str) -> u8 {
    name.as_bytes().first().copied().unwrap_or_default()
}

/// Which commutative operations that match in both orders are taken with their operands exchanged.
#[derive(Default)]
struct Turns {
    /// By the order in which they are met.
    turned: SmallVec<[bool; 8]>,
    /// How many were met.
    met: usize,
}

impl Turns {
    /// Whether the next one is exchanged: at first none is.
    fn next(&mut self) -> bool {
        if self.met == self.turned.len() {
            self.turned.push(false);
        }
        self.met += 1;
        self.turned[self.met - 1]
    }
    /// The next way, the last one met first; whether there is one.
    fn step(&mut self) -> bool {
        self.met = 0;
        while self.turned.last() == Some(&true) {
            self.turned.pop();
        }
        self.turned.last_mut().map(|turned| *turned = true).is_some()
    }
}

/// A pattern's values.
pub(in crate::passes) struct Match<'a> {
    func: &'a Function,
    facts: &'a Facts<'a>,
    names: Names,
    /// The type of what the row replaces.
    result: Type,
    /// The comparison that `any` stands for.
    relation: Option<Imm>,
    /// Whether an instruction that was looked at is `precise`.
    precise: bool,
    turns: Turns,
}

impl Match<'_> {
    /// Matches a row's pattern; what has two ways of matching tries both.
    fn solve(&mut self, pattern: &Term, root: Value) -> bool {
        let precise = self.precise;
        loop {
            if self.matches(pattern, root, true) {
                return true;
            }
            if !self.turns.step() {
                return false;
            }
            self.names.clear();
            (self.relation, self.precise) = (None, precise);
        }
    }

    fn matches(&mut self, term: &Term, v: Value, root: bool) -> bool {
        match term {
            Term::Whatever => true,
            Term::Name(name) => self.bind(name, v),
            Term::As(name, inner) => self.bind(name, v) && self.matches(inner, v, root),
            Term::Number(n) => splat_bits(self.func, v) == Some(number(self.func.ty(v), *n)),
            Term::Op { op, relation, only, args } => {
                let func = self.func;
                let Some(i) = func.def_inst(v) else { return false };
                let d = &func.insts[i];
                if d.op != *op || *only && !root && self.facts.uses[v] > 1 || d.args.len() != args.len() {
                    return false;
                }
                if !self.relate(*relation, &d.imm) {
                    return false;
                }
                self.precise |= d.precise;
                let a = &d.args[..];
                if let ([x, y, rest @ ..], [p, q, others @ ..]) = (a, args)
                    && op.is_commutative()
                    && x != y
                {
                    let turned = match (self.may_be(p, *x) && self.may_be(q, *y), self.may_be(p, *y) && self.may_be(q, *x)) {
                        (false, false) => return false,
                        (true, true) => self.turns.next(),
                        (_, turned) => turned,
                    };
                    let (x, y) = if turned { (y, x) } else { (x, y) };
                    self.matches(p, *x, false) && self.matches(q, *y, false) && self.all_match(others, rest)
                } else {
                    self.all_match(args, a)
                }
            }
        }
    }

    fn all_match(&mut self, terms: &[Term], values: &[Value]) -> bool {
        terms.iter().zip(values).all(|(term, v)| self.matches(term, *v, false))
    }

    /// Whether a value is made by an operation that a term begins with: most orders of operands are ruled out by that.
    fn may_be(&self, term: &Term, v: Value) -> bool {
        let made = || self.func.def_inst(v).map(|i| self.func.insts[i].op);
        match term {
            Term::Whatever => true,
            Term::Name(name) if !is_constant(name) => true,
            Term::Name(_) | Term::Number(_) => matches!(made(), Some(Opcode::Const | Opcode::Splat)),
            Term::As(_, inner) => self.may_be(inner, v),
            Term::Op { op, .. } => made() == Some(*op),
        }
    }

    fn bind(&mut self, name: &str, v: Value) -> bool {
        if let Some(old) = self.value(name) {
            let same_type = self.func.ty(old) == self.func.ty(v);
            return old == v || same_type && self.func.const_bits(v).is_some_and(|b| self.func.const_bits(old) == Some(b));
        }
        if is_constant(name) && constant_lanes(self.func, v).is_none() {
            return false;
        }
        self.names.push((letter(name), v));
        true
    }

    fn relate(&mut self, wanted: Relation, imm: &Imm) -> bool {
        match (wanted, imm) {
            (Relation::None, Imm::None) => true,
            (Relation::Float(cc), Imm::FloatCC(has)) => cc == *has,
            (Relation::Int(cc), Imm::IntCC(has)) => cc == *has,
            (Relation::Any, Imm::FloatCC(_) | Imm::IntCC(_)) => {
                let fits = self.relation.as_ref().is_none_or(|r| r == imm);
                self.relation = Some(imm.clone());
                fits
            }
            _ => false,
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let name = letter(name);
        self.names.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// Whether the lanes of some constants are such, lane by lane; a scalar goes with every lane.
    pub fn lanes(&self, names: &[&str], is: impl Fn(&[u32]) -> bool) -> bool {
        let mut columns: SmallVec<[([u32; 4], usize); 4]> = SmallVec::new();
        for name in names {
            let Some(v) = self.value(name) else { return false };
            let Some(bits) = constant_lanes(self.func, v) else { return false };
            columns.push((bits, self.func.ty(v).lanes as usize));
        }
        let count = columns.iter().map(|(_, n)| *n).max().unwrap_or(0);
        (0..count).all(|k| {
            let row: SmallVec<[u32; 4]> = columns.iter().map(|(bits, n)| bits[k.min(n - 1)]).collect();
            is(&row)
        })
    }

    /// Whether all lanes of a constant are such integers.
    pub fn ints(&self, name: &str, is: impl Fn(u32) -> bool) -> bool {
        self.lanes(&[name], |k| is(k[0]))
    }

    /// Whether all lanes of two constants are such pairs of integers.
    pub fn int_pairs(&self, x: &str, y: &str, is: impl Fn(u32, u32) -> bool) -> bool {
        self.lanes(&[x, y], |k| is(k[0], k[1]))
    }

    /// Whether all lanes of a constant are such floats.
    pub fn floats(&self, name: &str, is: impl Fn(f32) -> bool) -> bool {
        let ty = self.scalar(name).unwrap_or(Scalar::F32);
        self.ints(name, |w| is(to_f32(ty, w)))
    }

    /// Whether all lanes of two constants are such pairs of floats.
    pub fn float_pairs(&self, x: &str, y: &str, is: impl Fn(f32, f32) -> bool) -> bool {
        let ty = self.scalar(x).unwrap_or(Scalar::F32);
        self.int_pairs(x, y, |p, q| is(to_f32(ty, p), to_f32(ty, q)))
    }

    /// Whether something that was matched is `precise`.
    pub fn is_precise(&self) -> bool {
        self.precise
    }

    /// Whether the result has the type of a value.
    pub fn result_like(&self, name: &str) -> bool {
        self.value(name).is_some_and(|v| self.func.ty(v) == self.result)
    }

    /// Whether two values have equally many lanes.
    pub fn same_lanes(&self, x: &str, y: &str) -> bool {
        self.value(x).zip(self.value(y)).is_some_and(|(p, q)| self.func.ty(p).lanes == self.func.ty(q).lanes)
    }

    /// The scalar type of a value.
    pub fn scalar(&self, name: &str) -> Option<Scalar> {
        self.value(name).map(|v| self.func.ty(v).scalar)
    }

    /// Whether a value is a product, by itself or as the last part of a sum of products.
    pub fn is_product(&self, name: &str) -> bool {
        let made = self.value(name).and_then(|v| self.func.def_inst(v)).map(|i| self.func.insts[i].op);
        matches!(made, Some(Opcode::Fmul | Opcode::Fma | Opcode::Fmad | Opcode::Dot))
    }

    /// Whether a value comes from no operation that makes infinities of ordinary numbers.
    pub fn bounded(&self, name: &str) -> bool {
        self.facts.beyond.set(true);
        self.value(name).is_some_and(|v| bounded(self.func, v))
    }
}

/// Names in capitals are constants.
fn is_constant(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// The most values that are looked at before one counts as unbounded.
const BOUNDED: usize = 256;

/// Whether a value is a sum of squares, as `normalize` makes it.
fn is_sum_of_squares(f: &Function, v: Value) -> bool {
    let mut v = v;
    for _ in 0..4 {
        let Some(i) = f.def_inst(v) else { return false };
        let d = &f.insts[i];
        let square = |v: Value| f.def_if(v, Opcode::Fmul).is_some_and(|d| d.args[0] == d.args[1]);
        v = match d.op {
            Opcode::Dot | Opcode::Fmul => return d.args[0] == d.args[1],
            Opcode::Fma | Opcode::Fmad if d.args[0] == d.args[1] => d.args[2],
            Opcode::Fadd if square(d.args[1]) => d.args[0],
            Opcode::Fadd if square(d.args[0]) => d.args[1],
            _ => return false,
        }
    }
    false
}

/// A divisor of 0 is a thing that programs are given (a size that is not set yet): what is a NaN in the source must not become
/// a number. A vector without a length is none: to normalise it means nothing.
fn bounded(f: &Function, v: Value) -> bool {
    use Opcode::*;
    let (mut seen, mut work) = (EntitySet::new(), vec![v]);
    let mut left = BOUNDED;
    while let Some(v) = work.pop() {
        let Some(i) = f.def_inst(v).filter(|_| seen.insert(v)) else { continue };
        let d = &f.insts[i];
        match d.op {
            Frsqrt if is_sum_of_squares(f, d.args[0]) => work.extend(&d.args),
            Fdiv | Frcp | Frsqrt | Fexp2 | Flog2 | Fpow | Ext => return false,
            Fadd | Fsub | Fmul | Fma | Fmad | Fneg | Fabs | Fmin | Fmax | Splat | Build | Extract | Insert | Shuffle | Select | Dot => {
                if left == 0 {
                    return false;
                }
                left -= 1;
                work.extend(&d.args);
            }
            _ => {}
        }
    }
    true
}

/// A number as a constant of a type.
pub(super) fn number(ty: Type, n: f64) -> u32 {
    match ty.scalar {
        Scalar::I1 => n as i64 as u32 & 1,
        Scalar::I32 => n as i64 as u32,
        Scalar::F16 | Scalar::F32 => from_f32(ty.scalar, n as f32),
    }
}

/// Builds a replacement.
struct Make<'a, 'f> {
    b: &'a mut Builder<'f>,
    names: Names,
    relation: Option<Imm>,
    numerics: &'a dyn Numerics,
}

impl Make<'_, '_> {
    fn value(&self, name: &str) -> Option<Value> {
        let name = letter(name);
        self.names.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }
    /// The value of a term, of type `ty` where the term does not say it itself.
    fn term(&mut self, term: &Term, ty: Type) -> Option<Value> {
        match term {
            Term::Whatever => None,
            Term::As(name, inner) => {
                let v = self.term(inner, ty)?;
                self.names.push((letter(name), v));
                Some(v)
            }
            Term::Name(name) => self.value(name),
            Term::Number(n) => Some(self.b.splat_const(ty, number(ty, *n))),
            Term::Op { op, relation, args, .. } => {
                let mut values: SmallVec<[Value; 4]> = SmallVec::new();
                for (n, a) in args.iter().enumerate() {
                    let ty = self.operand_type(*op, n, args, ty);
                    values.push(self.term(a, ty)?);
                }
                let imm = match (relation, &self.relation) {
                    (Relation::Float(cc), _) => Imm::FloatCC(*cc),
                    (Relation::Int(cc), _) => Imm::IntCC(*cc),
                    (Relation::Any, Some(imm)) => imm.clone(),
                    (Relation::Swapped, Some(Imm::FloatCC(cc))) => Imm::FloatCC(cc.swapped()),
                    (Relation::Swapped, Some(Imm::IntCC(cc))) => Imm::IntCC(cc.swapped()),
                    (Relation::Inverse, Some(Imm::FloatCC(cc))) => Imm::FloatCC(cc.inverse()),
                    (Relation::Inverse, Some(Imm::IntCC(cc))) => Imm::IntCC(cc.inverse()),
                    _ => Imm::None,
                };
                let types: SmallVec<[Type; 4]> = values.iter().map(|v| self.b.func.ty(*v)).collect();
                let result = op.infer(&types, 0).unwrap_or(ty);
                let data = InstData::new(*op, &values, imm);
                if let Some(bits) = fold(self.b.func, self.numerics, &data, result) {
                    return Some(self.b.constant(result, bits));
                }
                let i = self.b.push(data, &[result]);
                self.b.func.result(i)
            }
        }
    }

    /// The type of an operand that is a bare number: that of the operands beside it, or of the result.
    fn operand_type(&self, op: Opcode, n: usize, args: &[Term], result: Type) -> Type {
        let beside = args.iter().enumerate().filter(|(k, _)| op != Opcode::Select || *k > 0 && n > 0);
        let known = beside.filter_map(|(_, a)| self.known_type(a)).next();
        match op {
            Opcode::Select if n == 0 => result.with_scalar(Scalar::I1),
            _ => known.unwrap_or(result),
        }
    }

    /// The type of a term that names a value somewhere.
    fn known_type(&self, term: &Term) -> Option<Type> {
        match term {
            Term::Name(name) => self.value(name).map(|v| self.b.func.ty(v)),
            Term::Op { op: Opcode::Fcmp | Opcode::Icmp, args, .. } => {
                args.iter().find_map(|a| self.known_type(a)).map(|t| t.with_scalar(Scalar::I1))
            }
            Term::Op { op: Opcode::Select, args, .. } => args[1..].iter().find_map(|a| self.known_type(a)),
            Term::Op { args, .. } => args.iter().find_map(|a| self.known_type(a)),
            _ => None,
        }
    }
}
