//! Products of matrices that only multiply vectors: `(A × B) × v` becomes `A × (B × v)`, through variables, calls and array
//! elements, since all of these are values by now.
//!
//! A product of a matrix and a vector is a sum of columns times scalars. Where the columns are such sums over the same vectors
//! themselves, and nobody else wants them, the scalars are summed first: 8 products of vectors instead of 20 for two matrices of
//! four columns. Reassociates: only where the rest of `relax` is allowed, never on `precise`.

use super::rewrite::{Action, rewrite};
use crate::builder::Builder;
use crate::entities::{Inst, Value};
use crate::function::Function;
use crate::inst::Imm;
use crate::opcode::Opcode;
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

/// A column and its scalar; none is 1.
type Part = (Value, Option<Value>);
type Sum = SmallVec<[Part; 4]>;

/// The most parts of a sum: a matrix has at most four columns, the last may be a sum of four itself (its scalar is 1), and a bias may
/// follow.
const MOST: usize = 8;

/// A product of more than this many vectors by one matrix is left alone: the product of the matrices pays by then.
const MOST_VECTORS: u32 = 3;

/// Runs the pass.
pub fn run(func: &mut Function) -> bool {
    let mut any = false;
    // Each round takes the outermost pair of a chain apart.
    for _ in 0..4 {
        func.resolve_aliases();
        let found = products(func);
        if found.values().all(Option::is_none) {
            break;
        }
        let changed = rewrite(func, |b, i| match &found[i] {
            Some(p) => Action::Replace(p.build(b)),
            None => Action::Keep,
        });
        if !changed {
            break;
        }
        any = true;
        super::dce::run(func);
    }
    any
}

/// `Σ v_j × (Σ P_i × n_ij)`.
#[derive(Clone)]
struct Product {
    /// The P_i.
    columns: SmallVec<[Value; 4]>,
    /// For each j the n_ij and v_j.
    inner: Vec<(SmallVec<[Option<Value>; 4]>, Option<Value>)>,
    /// What is added as it is.
    rest: Sum,
}

impl Product {
    /// `Σ P_i × (Σ n_ij × v_j)`.
    fn build(&self, b: &mut Builder) -> Value {
        let mut total: Option<Value> = None;
        let add = |b: &mut Builder, total: &mut Option<Value>, v: Value| {
            *total = Some(match *total {
                None => v,
                Some(t) => b.ins(Opcode::Fadd, &[t, v]),
            });
        };
        let weights = self.weights(b);
        for (p, w) in self.columns.iter().zip(weights) {
            let lanes = b.func.ty(*p).lanes;
            let v = match w {
                Some(w) => {
                    let w = b.splat(w, lanes);
                    b.ins(Opcode::Fmul, &[*p, w])
                }
                None => *p,
            };
            add(b, &mut total, v);
        }
        for (v, scale) in &self.rest {
            let lanes = b.func.ty(*v).lanes;
            let v = match scale {
                Some(s) => {
                    let s = b.splat(*s, lanes);
                    b.ins(Opcode::Fmul, &[*v, s])
                }
                None => *v,
            };
            add(b, &mut total, v);
        }
        total.unwrap_or(self.columns[0])
    }

    /// The sums of scalars: at once where they are the lanes of vectors.
    fn weights(&self, b: &mut Builder) -> Vec<Option<Value>> {
        let vectors: Option<Vec<Part>> = self.inner.iter().map(|(n, v)| Some((lanes_of(b.func, n)?, *v))).collect();
        if let Some(vectors) = vectors {
            let sum = sum_of(b, &vectors);
            return (0..self.columns.len()).map(|n| sum.map(|s| b.extract(s, n as u8))).collect();
        }
        let parts = |i: usize| self.inner.iter().map(move |(n, v)| (n[i], *v));
        (0..self.columns.len())
            .map(|i| {
                let mut total: Option<Value> = None;
                for (n, v) in parts(i) {
                    let product = match (n, v) {
                        (Some(n), Some(v)) => b.ins(Opcode::Fmul, &[n, v]),
                        (Some(x), None) | (None, Some(x)) => x,
                        (None, None) => b.fconst(b.func.ty(self.columns[0]).lane(), 1.0),
                    };
                    total = Some(total.map_or(product, |t| b.ins(Opcode::Fadd, &[t, product])));
                }
                total
            })
            .collect()
    }
}

/// `Σ x_j × v_j` of vectors and scalars.
fn sum_of(b: &mut Builder, parts: &[Part]) -> Option<Value> {
    let mut total: Option<Value> = None;
    for (x, v) in parts {
        let product = match v {
            Some(v) => {
                let lanes = b.func.ty(*x).lanes;
                let v = b.splat(*v, lanes);
                b.ins(Opcode::Fmul, &[*x, v])
            }
            None => *x,
        };
        total = Some(total.map_or(product, |t| b.ins(Opcode::Fadd, &[t, product])));
    }
    total
}

/// The vector whose first lanes the scalars are, in order.
fn lanes_of(func: &Function, scalars: &[Option<Value>]) -> Option<Value> {
    let lane = |v: Value| {
        let d = func.def_if(v, Opcode::Extract)?;
        if let Imm::Lane(n) = d.imm { Some((d.args[0], n)) } else { None }
    };
    let (vector, _) = lane((*scalars.first()?)?)?;
    let all = scalars.iter().enumerate().all(|(n, s)| s.and_then(lane) == Some((vector, n as u8)));
    all.then_some(vector)
}

/// The products of the function that are to be reassociated, by their last instruction.
fn products(func: &Function) -> SecondaryMap<Inst, Option<Product>> {
    let uses = func.use_counts();
    let mut found: SecondaryMap<Inst, Option<Product>> = SecondaryMap::new();
    // How many products each column serves.
    let mut served: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut roots: Vec<(Inst, Sum)> = Vec::new();
    let mut inside: SecondaryMap<Value, bool> = SecondaryMap::new();
    let order: Vec<Inst> = func.ordered().map(|(_, i)| i).collect();
    for i in order.into_iter().rev() {
        let Some(r) = func.result(i).filter(|r| func.ty(*r).is_vector() && func.ty(*r).is_float() && !inside[*r]) else { continue };
        let mut parts = Sum::new();
        if !decompose(func, r, &uses, true, &mut parts, &mut inside) || parts.len() < 2 || parts.iter().all(|p| p.1.is_none()) {
            continue;
        }
        parts.reverse();
        parts.iter().for_each(|(v, _)| served[*v] += 1);
        roots.push((i, parts));
    }
    for (i, parts) in roots {
        found[i] = product(func, &parts, &uses, &served);
    }
    found
}

/// Takes a sum of scaled vectors apart, the last part first. `inside` marks the sums on the way.
fn decompose(
    func: &Function,
    v: Value,
    uses: &SecondaryMap<Value, u32>,
    root: bool,
    parts: &mut Sum,
    inside: &mut SecondaryMap<Value, bool>,
) -> bool {
    let own = |op: Opcode| func.def_if(v, op).filter(|d| !d.precise && (root || uses[v] == 1));
    if let Some(d) = own(Opcode::Fadd) {
        let (x, y) = (d.args[0], d.args[1]);
        if !root {
            inside[v] = true;
        }
        return decompose(func, y, uses, false, parts, inside) && decompose(func, x, uses, false, parts, inside);
    }
    if parts.len() == MOST {
        return false;
    }
    let scaled = own(Opcode::Fmul).and_then(|d| {
        let scalar = |v: Value| func.def_if(v, Opcode::Splat).map(|s| s.args[0]);
        let (x, y) = (d.args[0], d.args[1]);
        scalar(y).map(|s| (x, s)).or_else(|| scalar(x).map(|s| (y, s)))
    });
    match scaled {
        Some((x, s)) => parts.push((x, Some(s))),
        None => parts.push((v, None)),
    }
    true
}

/// The product that a sum is, if some of its parts are sums over the same vectors and serve such products only.
fn product(func: &Function, parts: &Sum, uses: &SecondaryMap<Value, u32>, served: &SecondaryMap<Value, u32>) -> Option<Product> {
    let mut columns: SmallVec<[Value; 4]> = SmallVec::new();
    let mut inner = Vec::new();
    let mut rest = Sum::new();
    for (x, v) in parts {
        let mut terms = Sum::new();
        let mut unused = SecondaryMap::new();
        let matrix = served[*x] == uses[*x]
            && uses[*x] <= MOST_VECTORS
            && func.def_if(*x, Opcode::Fadd).is_some_and(|d| !d.precise)
            && decompose(func, *x, uses, true, &mut terms, &mut unused)
            && terms.iter().all(|(_, n)| n.is_some());
        if !matrix {
            rest.push((*x, *v));
            continue;
        }
        terms.reverse();
        if columns.is_empty() {
            columns = terms.iter().map(|t| t.0).collect();
        }
        if terms.iter().map(|t| t.0).ne(columns.iter().copied()) {
            return None;
        }
        inner.push((terms.iter().map(|t| t.1).collect(), *v));
    }
    // A column whose scalar is 1 has come apart.
    let own = |c: &Value| rest.iter().position(|(x, n)| x == c && n.is_some());
    if let Some(at) = columns.iter().map(own).collect::<Option<SmallVec<[usize; 4]>>>().filter(|at| !at.is_empty()) {
        inner.push((at.iter().map(|k| rest[*k].1).collect(), None));
        rest = rest.iter().enumerate().filter(|(k, _)| !at.contains(k)).map(|(_, p)| *p).collect();
    }
    (inner.len() >= 2).then_some(Product { columns, inner, rest })
}
