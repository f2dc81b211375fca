//! Random GLSL programs: their tree ([`make`], [`walk`]), their text ([`print`]), their layout in buffers ([`layout`]) and what they compute ([`eval`]); [`rewrite`] changes
//! programs without changing that.
//!
//! Nothing here shares code or ideas with the front end or the interpreter: values are flat lists of numbers that carry their kind, a variable is a stretch of
//! cells, an l-value is a list of cell numbers. Programs always end, index inside their arrays, never divide by zero and have one right result: the effects of
//! an expression touch no variable that an unsequenced part of it reads or writes; floats are small dyadic fractions, so that sums and products are exact.
#![allow(dead_code)]

pub mod eval;
pub mod judge;
pub mod layout;
pub mod make;
pub mod print;
pub mod rewrite;
pub mod walk;

/// A stream of pseudo-random numbers (SplitMix64).
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 16) as u32
    }
    pub fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.bits()) * n as u64) >> 32) as usize
    }
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Base {
    Bool,
    Int,
    Uint,
    Float,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    Void,
    Scalar(Base),
    Vector(Base, usize),
    /// Columns, rows.
    Matrix(usize, usize),
    Array(Box<Ty>, usize),
    Struct(usize),
}

pub const BOOL: Ty = Ty::Scalar(Base::Bool);
pub const INT: Ty = Ty::Scalar(Base::Int);
pub const UINT: Ty = Ty::Scalar(Base::Uint);
pub const FLOAT: Ty = Ty::Scalar(Base::Float);

impl Ty {
    pub fn array(self, n: usize) -> Ty {
        Ty::Array(Box::new(self), n)
    }
    /// A scalar or vector with so many lanes.
    pub fn lanes_of(base: Base, n: usize) -> Ty {
        if n == 1 { Ty::Scalar(base) } else { Ty::Vector(base, n) }
    }
    /// Base and number of lanes of a scalar or vector.
    pub fn simple(&self) -> Option<(Base, usize)> {
        match self {
            Ty::Scalar(b) => Some((*b, 1)),
            Ty::Vector(b, n) => Some((*b, *n)),
            _ => None,
        }
    }
}

/// One number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    B(bool),
    I(i32),
    U(u32),
    F(f32),
}

impl Num {
    pub fn word(self) -> u32 {
        match self {
            Num::B(b) => u32::from(b),
            Num::I(i) => i as u32,
            Num::U(u) => u,
            Num::F(f) => f.to_bits(),
        }
    }
    pub fn of(base: Base, word: u32) -> Num {
        match base {
            Base::Bool => Num::B(word != 0),
            Base::Int => Num::I(word as i32),
            Base::Uint => Num::U(word),
            Base::Float => Num::F(f32::from_bits(word)),
        }
    }
}

pub struct Struct {
    pub name: String,
    pub members: Vec<(String, Ty)>,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// A variable of one invocation, wherever it is declared.
    Own,
    /// Of the workgroup.
    Shared,
    /// A member of a block.
    Block(usize),
}

pub struct Var {
    /// As it is written where it is used.
    pub name: String,
    pub ty: Ty,
    pub space: Space,
}

pub type VarId = usize;

#[derive(Clone, Debug)]
pub struct Expr {
    pub ty: Ty,
    pub node: Node,
}

/// One step from an aggregate to a part of it.
#[derive(Clone, Debug)]
pub enum Hop {
    Member(usize),
    Index(Box<Expr>),
    Swizzle(Vec<usize>),
}

/// An l-value.
#[derive(Clone, Debug)]
pub struct Place {
    pub var: VarId,
    pub hops: Vec<Hop>,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub enum Node {
    Lit(Vec<Num>),
    Load(Place),
    Unary(&'static str, Box<Expr>),
    /// Also `&&`, `||`, `^^` and the comma.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `=` with the operator before it, or none.
    Assign(Place, &'static str, Box<Expr>),
    /// `++` or `--`, before or behind.
    Step(Place, &'static str, bool),
    /// A constructor.
    Make(Vec<Expr>),
    /// A conversion that is not written.
    Implicit(Box<Expr>),
    /// A function of the language with its arguments and the places that it writes.
    Builtin(&'static str, Vec<Expr>, Vec<Place>),
    Call(usize, Vec<Arg>),
    /// A part of something that is no place.
    Part(Box<Expr>, Box<Hop>),
}

#[derive(Clone, Debug)]
pub enum Arg {
    In(Expr),
    /// `out` and `inout`.
    Ref(Place),
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Declare(Vec<(VarId, Option<Expr>)>),
    Expr(Expr),
    If(Expr, Vec<Stmt>, Option<Vec<Stmt>>),
    For(Option<Box<Stmt>>, Option<Expr>, Option<Expr>, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    DoWhile(Vec<Stmt>, Expr),
    /// Groups of labels (`None`: default) and what follows them, up to the next label.
    Switch(Expr, Vec<(Vec<Option<i32>>, Vec<Stmt>)>),
    Break,
    Continue,
    Return(Option<Expr>),
    Discard,
    Block(Vec<Stmt>),
    /// Only in the main function's outermost statements and uniform loops there.
    Barrier,
    /// A loop with barriers, which all invocations run together: counter and number of rounds.
    Rounds(VarId, i32, Vec<Stmt>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    In,
    ConstIn,
    Out,
    InOut,
}

pub struct Function {
    pub name: String,
    pub result: Ty,
    pub params: Vec<(VarId, Mode)>,
    pub body: Vec<Stmt>,
    /// Variables outside that it reads or writes, itself or through calls.
    pub reads: Vec<VarId>,
    pub writes: Vec<VarId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Vertex,
    Fragment,
    Compute,
}

/// A uniform or storage block.
pub struct Block {
    pub name: &'static str,
    /// Empty: members are named alone.
    pub instance: &'static str,
    pub binding: u32,
    pub uniform: bool,
    pub writable: bool,
    /// Members and whether each is `row_major`.
    pub members: Vec<(VarId, bool)>,
}

pub struct Program {
    pub stage: Stage,
    pub structs: Vec<Struct>,
    pub vars: Vec<Var>,
    /// Constant and plain global variables with their initial values, in order.
    pub globals: Vec<(VarId, bool, Expr)>,
    pub shared: Vec<VarId>,
    pub blocks: Vec<Block>,
    pub functions: Vec<Function>,
    pub main: Vec<Stmt>,
    /// Inputs and outputs in the order of their locations.
    pub inputs: Vec<VarId>,
    pub outputs: Vec<VarId>,
    /// The index of an invocation in its group (compute), an `int`.
    pub lane: VarId,
    /// The number of the workgroup (compute), an `int`.
    pub group_number: VarId,
    /// Invocations of a workgroup.
    pub group: usize,
}

impl Program {
    pub fn cells(&self, t: &Ty) -> usize {
        match t {
            Ty::Void => 0,
            Ty::Scalar(_) => 1,
            Ty::Vector(_, n) => *n,
            Ty::Matrix(c, r) => c * r,
            Ty::Array(e, n) => n * self.cells(e),
            Ty::Struct(s) => self.structs[*s].members.iter().map(|m| self.cells(&m.1)).sum(),
        }
    }
    /// The kind of each cell.
    pub fn bases(&self, t: &Ty) -> Vec<Base> {
        match t {
            Ty::Void => Vec::new(),
            Ty::Scalar(b) => vec![*b],
            Ty::Vector(b, n) => vec![*b; *n],
            Ty::Matrix(c, r) => vec![Base::Float; c * r],
            Ty::Array(e, n) => self.bases(e).repeat(*n),
            Ty::Struct(s) => self.structs[*s].members.iter().flat_map(|m| self.bases(&m.1)).collect(),
        }
    }
    /// Type, first cell and number of cells of a part by its number.
    pub fn part(&self, t: &Ty, n: usize) -> (Ty, usize) {
        match t {
            Ty::Vector(b, _) => (Ty::Scalar(*b), n),
            Ty::Matrix(_, r) => (Ty::Vector(Base::Float, *r), n * r),
            Ty::Array(e, _) => ((**e).clone(), n * self.cells(e)),
            Ty::Struct(s) => {
                let m = &self.structs[*s].members;
                (m[n].1.clone(), m[..n].iter().map(|m| self.cells(&m.1)).sum())
            }
            _ => panic!("{t:?} has no parts"),
        }
    }
    /// Number of parts.
    pub fn parts(&self, t: &Ty) -> usize {
        match t {
            Ty::Vector(_, n) | Ty::Array(_, n) => *n,
            Ty::Matrix(c, _) => *c,
            Ty::Struct(s) => self.structs[*s].members.len(),
            _ => 0,
        }
    }
    /// The type that one hop leads to.
    pub fn after(&self, t: &Ty, hop: &Hop) -> Ty {
        match hop {
            Hop::Member(n) => self.part(t, *n).0,
            Hop::Index(_) => self.part(t, 0).0,
            Hop::Swizzle(lanes) => Ty::lanes_of(t.simple().unwrap().0, lanes.len()),
        }
    }
}

impl Program {
    /// Random inputs for some invocations.
    pub fn inputs_for(&self, seed: u64, invocations: usize) -> eval::Inputs {
        let mut d = Dice::new(seed + 77_000_000);
        let mut number = |b: Base| match b {
            Base::Float => ((d.below(65) as f32 - 32.0) * 0.25).to_bits(),
            Base::Int if d.one_in(8) => d.bits(),
            Base::Int => d.below(40) as u32,
            Base::Uint if d.one_in(8) => d.bits(),
            Base::Uint => d.below(40) as u32,
            Base::Bool => d.below(2) as u32,
        };
        let blocks = self.blocks.iter().map(|b| {
            let (cells, words) = layout::block(self, b);
            // What is between the members is never read.
            let mut all = vec![0xdead_beef; words];
            let bases = b.members.iter().flat_map(|(v, _)| self.bases(&self.vars[*v].ty));
            cells.iter().zip(bases).for_each(|(at, base)| all[*at] = number(base));
            all
        });
        let blocks = blocks.collect();
        let one = |number: &mut dyn FnMut(Base) -> u32| {
            self.inputs.iter().map(|v| self.bases(&self.vars[*v].ty).iter().map(|b| number(*b)).collect()).collect()
        };
        eval::Inputs { blocks, invocations: (0..invocations).map(|_| one(&mut number)).collect(), groups: 2 }
    }
}
