//! Random WGSL programs and what they compute: an oracle at the level of the source.
//!
//! A program is a tree that is printed as WGSL and evaluated by a plain tree walk on Rust's own numbers. Nothing of the compiler takes part in the
//! evaluation. Programs use only operations with one right result; where a NaN, an infinity or a denormal turns up, [`Program::run`] says so.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

mod eval;
mod make;
mod print;
pub mod value;

use value::{Kind, Ty, Words};

/// An expression with its type.
#[derive(Clone, Debug)]
pub struct Expr {
    pub ty: Ty,
    pub node: Node,
}

/// What an expression is.
#[derive(Clone, Debug)]
pub enum Node {
    Lit(Words),
    /// A part of a variable.
    Load(Place),
    Unary(&'static str, Box<Expr>),
    /// An operator between two values of one type, or a vector and a scalar.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A function of two values of one type.
    Pair(&'static str, Box<Expr>, Box<Expr>),
    Clamp(Box<Expr>, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    Swizzle(Box<Expr>, Vec<u8>),
    Build(Vec<Expr>),
    Cast(Box<Expr>),
    /// The bits of an integer as the other kind of integer.
    Bitcast(Box<Expr>),
    Extract(Box<Expr>, Box<Expr>, Box<Expr>),
    Insert(Box<Expr>, Box<Expr>, Box<Expr>, Box<Expr>),
    AllAny(&'static str, Box<Expr>),
    Call(usize, Vec<Arg>),
}

/// An argument: a value, or a pointer to a variable.
#[derive(Clone, Debug)]
pub enum Arg {
    Value(Expr),
    Pointer(Place),
}

/// A variable or a part of it; indices are masked to their range.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: String,
    /// Whether the variable is a pointer parameter.
    pub pointer: bool,
    pub steps: Vec<Step>,
    pub ty: Ty,
}

#[derive(Clone, Debug)]
pub enum Step {
    Member(usize),
    /// An element: the index expression and the length, a power of two.
    Element(Box<Expr>, u32),
    /// A lane by number, or computed.
    Lane(u8),
    LaneAt(Box<Expr>),
}

/// The shape of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Leaf(Ty),
    Array(Box<Shape>, u32),
    /// One of the program's structures.
    Struct(usize),
}

#[derive(Clone, Debug)]
pub enum Stmt {
    /// `let`, `var` with a value
    Let(String, Expr),
    Var(String, Shape, Option<Expr>),
    /// A whole variable as the start of another one.
    Copy(String, Shape, String),
    Assign(Place, Option<&'static str>, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A counted loop: counter, rounds, body.
    For(String, u32, Vec<Stmt>),
    /// `loop` with `continuing` and `break if`: counter, rounds, body, what is in the `continuing` block.
    Loop(String, u32, Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<(Vec<i32>, Vec<Stmt>)>, usize, Vec<Stmt>),
    Break,
    Continue,
    Return(Expr),
    CallOnly(usize, Vec<Arg>),
}

#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    /// Name, shape, whether it is a pointer.
    pub params: Vec<(String, Shape, bool)>,
    pub result: Option<Ty>,
    pub body: Vec<Stmt>,
}

/// A program: vertex inputs `a`, `b`, `c` of four lanes, uniforms, and outputs.
#[derive(Clone, Debug)]
pub struct Program {
    pub structs: Vec<Vec<Ty>>,
    pub functions: Vec<Function>,
    /// Variables of the module with their start values.
    pub private: Vec<(String, Shape, Option<Words>)>,
    pub tables: Vec<(String, Ty, Vec<Words>)>,
    pub body: Vec<Stmt>,
    pub outputs: Vec<Expr>,
    /// Whether integers of the outputs leave as floats of 16 bits each, for machines that hand on floats only.
    pub halves: bool,
}

/// What a program is given.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub a: [f32; 4],
    pub b: [i32; 4],
    pub c: [u32; 4],
}

/// A small generator of numbers, the same everywhere.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }
    pub fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ self.0 >> 33;
        (x.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 32) as u32
    }
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.bits()) * u64::from(n)) >> 32) as u32
    }
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
    /// One of some operators.
    pub fn op(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len() as u32) as usize]
    }
    pub fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len() as u32) as usize]
    }
}

impl Program {
    /// The program of a seed. `floats`: no integer arithmetic beyond counters and indices.
    pub fn new(seed: u64, floats: bool) -> Program {
        make::program(seed, floats)
    }

    /// The source.
    pub fn wgsl(&self) -> String {
        print::program(self)
    }

    /// The outputs, a word a lane, and whether a NaN, an infinity or a denormal turned up.
    pub fn run(&self, inputs: &Inputs) -> (Vec<Words>, bool) {
        eval::program(self, inputs)
    }
}

/// The kinds that values are made of.
pub const KINDS: [Kind; 4] = [Kind::F, Kind::I, Kind::U, Kind::B];
