//! Which operation becomes what: the list of patterns, first match wins, and a table of those that are one machine operation.

use crate::isa::forms::Op;
use crate::isa::registers::FLOAT_UNIFORMS;
use crate::isa::word::{Cond, CondOp};
use crate::legal::tables::{self, Table};
use crate::select::Lowering;
use crate::select::mir::*;
use retroshade_ir::*;
use retroshade_lower::CompileError;
use retroshade_lower::pattern::{Fired, Pattern, Selects, one_to_one};
use smallvec::{SmallVec, smallvec};

/// Operations lane by lane that are one machine operation.
static ELEMENTWISE: [Option<Op>; Opcode::ALL.len()] = one_to_one(&[
    (Opcode::Fadd, Op::Add),
    (Opcode::Fmul, Op::Mul),
    (Opcode::Fmad, Op::Mad),
    (Opcode::Fmin, Op::Min),
    (Opcode::Fmax, Op::Max),
    (Opcode::Ffloor, Op::Flr),
]);

/// Functions of one component: an instruction for each lane.
static SCALAR: [Option<Op>; Opcode::ALL.len()] =
    one_to_one(&[(Opcode::Frcp, Op::Rcp), (Opcode::Frsqrt, Op::Rsq), (Opcode::Fexp2, Op::Ex2), (Opcode::Flog2, Op::Lg2)]);

/// What packing and placement note beside the patterns of selection: name and meaning.
pub const NOTES: &[(&str, &str)] = &[
    ("dots.form", "a sum of products with one register becomes a dot product"),
    ("dots.split", "dot products with a column across registers become sums over all columns"),
    ("lanes.copied", "a product joins a sum of which an operand is copied"),
    ("lanes.mad", "a product joins its sum"),
    ("lanes.stored", "a result is computed in the output register"),
    ("rows", "lanes that read the same register are one instruction, not those of one operation"),
    ("signs.negate", "a value is made negated, so that the lanes that read it agree in sign"),
    ("vertices", "vertices that are made alike share a procedure"),
];

impl Selects for Lowering<'_> {
    fn fired(&mut self) -> &mut Fired {
        &mut self.p.fired
    }
}

type Done = Result<bool, CompileError>;

impl<'a> Lowering<'a> {
    /// All of them.
    pub const PATTERNS: &'a [Pattern<Lowering<'a>>] = &[
        Pattern {
            name: "test.constant",
            doc: "a test that turned out to be none: 0 = 0, or not",
            ops: &[Opcode::Const],
            apply: Lowering::constant_test,
        },
        Pattern {
            name: "constant",
            doc: "components of a constant register",
            ops: &[Opcode::Const, Opcode::Undef],
            apply: Lowering::constants,
        },
        Pattern {
            name: "elementwise",
            doc: "one operation over all lanes",
            ops: &[Opcode::Fadd, Opcode::Fmul, Opcode::Fmad, Opcode::Fmin, Opcode::Fmax, Opcode::Ffloor],
            apply: Lowering::vector,
        },
        Pattern { name: "difference", doc: "ADD of the negated operand", ops: &[Opcode::Fsub], apply: Lowering::difference },
        Pattern { name: "sign", doc: "the operand's sign bit", ops: &[Opcode::Fneg], apply: Lowering::sign },
        Pattern {
            name: "function",
            doc: "an instruction for each lane",
            ops: &[Opcode::Frcp, Opcode::Frsqrt, Opcode::Fexp2, Opcode::Flog2],
            apply: Lowering::function_of_one,
        },
        Pattern { name: "dot.dph", doc: "DPH where a fourth component is 1", ops: &[Opcode::Dot], apply: Lowering::dot_with_one },
        Pattern { name: "dot", doc: "DP3 or DP4", ops: &[Opcode::Dot], apply: Lowering::dot },
        Pattern { name: "table", doc: "constant registers behind an address register", ops: &[Opcode::Ext], apply: Lowering::table },
        Pattern { name: "comparison", doc: "SGE or SLT: 0 or 1", ops: &[Opcode::Ext], apply: Lowering::comparison },
        Pattern {
            name: "lanes",
            doc: "nothing: lanes under other names",
            ops: &[Opcode::Splat, Opcode::Build, Opcode::Extract, Opcode::Insert, Opcode::Shuffle],
            apply: Lowering::renamed,
        },
        Pattern {
            name: "conversion",
            doc: "nothing: integers live as floats, MOVA truncates",
            ops: &[Opcode::S2f, Opcode::U2f, Opcode::F2s, Opcode::F2u],
            apply: Lowering::conversion,
        },
        Pattern { name: "input", doc: "an input register, or a vertex in uniforms", ops: &[Opcode::Input], apply: Lowering::load_input },
        Pattern { name: "uniform.flag", doc: "a boolean uniform as a test", ops: &[Opcode::Uniform], apply: Lowering::flag },
        Pattern {
            name: "uniform",
            doc: "a float uniform, by a0 or aL where its index is computed",
            ops: &[Opcode::Uniform],
            apply: Lowering::load_uniform,
        },
        Pattern { name: "output", doc: "moves to an output register", ops: &[Opcode::Output], apply: Lowering::store },
        Pattern {
            name: "test",
            doc: "up to two comparisons of one CMP",
            ops: &[Opcode::Fcmp, Opcode::Iand, Opcode::Ior, Opcode::Inot],
            apply: Lowering::comparison_test,
        },
        Pattern { name: "select", doc: "a move, and another one under the test", ops: &[Opcode::Select], apply: Lowering::choice },
        Pattern { name: "branch", doc: "the block's test", ops: &[Opcode::BrIf], apply: Lowering::branch },
        Pattern { name: "call", doc: "CALL of a procedure", ops: &[Opcode::Call], apply: Lowering::call_of },
        Pattern { name: "return", doc: "results to where the callers look for them", ops: &[Opcode::Return], apply: Lowering::give_back },
        Pattern { name: "emit", doc: "SETEMIT and EMIT", ops: &[Opcode::EmitVertex, Opcode::EndPrimitive], apply: Lowering::strip },
        Pattern {
            name: "flow",
            doc: "nothing: the structure says it",
            ops: &[Opcode::Jump, Opcode::Return, Opcode::Unreachable],
            apply: Lowering::flow,
        },
    ];

    fn data(&self, i: Inst) -> &'a InstData {
        &self.f.insts[i]
    }

    fn args(&self, i: Inst) -> Result<SmallVec<[Tuple; 4]>, CompileError> {
        self.data(i).args.iter().map(|a| self.get(*a)).collect()
    }

    /// Notes the lanes of a result.
    fn made(&mut self, i: Inst, lanes: Tuple) -> Done {
        if let Some(v) = self.data(i).results.first() {
            self.set(*v, lanes);
        }
        Ok(true)
    }

    fn lanes_of(&self, i: Inst) -> u8 {
        self.data(i).results.first().map_or(1, |v| self.f.ty(*v).lanes)
    }

    fn constant_test(&mut self, i: Inst) -> Done {
        let (Imm::Const(bits), Some(v)) = (&self.data(i).imm, self.data(i).results.first()) else { return Ok(false) };
        if self.f.ty(*v).scalar != Scalar::I1 {
            return Ok(false);
        }
        let (zero, code) = (Ref::constant(0), u8::from(bits[0] & 1 == 0));
        self.tests.insert(*v, Test::Flags(vec![(zero, code, zero)], Cond { op: CondOp::X, x: true, y: true }));
        self.made(i, SmallVec::new())
    }

    fn constants(&mut self, i: Inst) -> Done {
        let n = self.lanes_of(i);
        let lanes = match (&self.data(i).imm, self.data(i).results.first()) {
            (Imm::Const(bits), Some(v)) => (0..n as usize).map(|l| self.constant(self.f.ty(*v).scalar, bits[l])).collect(),
            _ => (0..n).map(|_| Ref::constant(0)).collect(),
        };
        self.made(i, lanes)
    }

    fn vector(&mut self, i: Inst) -> Done {
        let Some(op) = ELEMENTWISE[self.data(i).op as usize] else { return Ok(false) };
        let lanes = self.elementwise(op, &self.args(i)?);
        self.made(i, lanes)
    }

    fn difference(&mut self, i: Inst) -> Done {
        let args = self.args(i)?;
        let negated: Tuple = args[1].iter().map(|r| r.negated()).collect();
        let lanes = self.elementwise(Op::Add, &[args[0].clone(), negated]);
        self.made(i, lanes)
    }

    fn sign(&mut self, i: Inst) -> Done {
        let lanes = self.args(i)?[0].iter().map(|r| r.negated()).collect();
        self.made(i, lanes)
    }

    fn function_of_one(&mut self, i: Inst) -> Done {
        let Some(op) = SCALAR[self.data(i).op as usize] else { return Ok(false) };
        let lanes = self.args(i)?[0].iter().map(|r| self.scalar(op, &[&[*r]])).collect();
        self.made(i, lanes)
    }

    fn dot_with_one(&mut self, i: Inst) -> Done {
        let args = self.args(i)?;
        let one = |t: &Tuple| t.len() == 4 && t[3].leaf == Leaf::Const(1f32.to_bits());
        let Some(k) = (0..2).find(|k| one(&args[*k])) else { return Ok(false) };
        let r = self.scalar(Op::Dph, &[&args[k][..3], &args[1 - k]]);
        self.made(i, smallvec![r])
    }

    fn dot(&mut self, i: Inst) -> Done {
        let args = self.args(i)?;
        let op = match args[0].len() {
            3 => Op::Dp3,
            4 => Op::Dp4,
            n => return self.internal(format!("a dot product of {n} lanes")),
        };
        let r = self.scalar(op, &[&args[0], &args[1]]);
        self.made(i, smallvec![r])
    }

    fn table(&mut self, i: Inst) -> Done {
        let Some(t) = Table::of(&self.data(i).imm) else { return Ok(false) };
        let (at, first) = tables::place(&mut self.p.tables, &t.registers());
        let row = u8::from(t.guards.0) as usize;
        let Some(reg) = (FLOAT_UNIFORMS as usize + row).checked_sub(at + 1) else {
            let needed = self.p.tables.len() as u64;
            let what = "a constant array does not fit the float registers";
            return Err(CompileError::limit("P0303", self.span, what, needed, u64::from(FLOAT_UNIFORMS)));
        };
        let x = self.args(i)?[0][0];
        let index = Some(self.index_number(x));
        let lanes = t.rows.first().map_or(1, Vec::len) as u8;
        let lanes = (0..lanes).map(|l| Ref { leaf: Leaf::Uni { reg: reg as u8, comp: first + l, index }, neg: false }).collect();
        self.made(i, lanes)
    }

    fn comparison(&mut self, i: Inst) -> Done {
        let op = match &self.data(i).imm {
            Imm::Ext(n) if &**n == "pica.sge" => Op::Sge,
            Imm::Ext(n) if &**n == "pica.slt" => Op::Slt,
            _ => return Ok(false),
        };
        let lanes = self.elementwise(op, &self.args(i)?);
        self.made(i, lanes)
    }

    fn renamed(&mut self, i: Inst) -> Done {
        let d = self.data(i);
        // Vectors of truth values exist only to be stored.
        if d.op == Opcode::Build && self.f.ty(d.args[0]).scalar == Scalar::I1 {
            return self.made(i, SmallVec::new());
        }
        let args = self.args(i)?;
        let lanes: Tuple = match (d.op, &d.imm) {
            (Opcode::Splat, _) => (0..self.lanes_of(i)).map(|_| args[0][0]).collect(),
            (Opcode::Build, _) => args.iter().map(|a| a[0]).collect(),
            (Opcode::Extract, Imm::Lane(n)) => smallvec![args[0][*n as usize]],
            (Opcode::Insert, Imm::Lane(n)) => {
                let mut t = args[0].clone();
                t[*n as usize] = args[1][0];
                t
            }
            (Opcode::Shuffle, Imm::Lanes(mask)) => {
                let all: SmallVec<[Ref; 8]> = args[0].iter().chain(&args[1]).copied().collect();
                mask.iter().map(|k| all[*k as usize]).collect()
            }
            _ => return Ok(false),
        };
        self.made(i, lanes)
    }

    fn conversion(&mut self, i: Inst) -> Done {
        let lanes = self.args(i)?[0].clone();
        self.made(i, lanes)
    }

    fn load_input(&mut self, i: Inst) -> Done {
        let lanes = self.input(self.data(i))?;
        self.made(i, lanes)
    }

    fn flag(&mut self, i: Inst) -> Done {
        let d = self.data(i);
        let (Imm::Mem { var: MemRef::Uniform(k), .. }, Some(v)) = (&d.imm, d.results.first()) else { return Ok(false) };
        let crate::abi::Place::Bool(b) = self.abi.uniforms[*k] else { return Ok(false) };
        self.tests.insert(*v, Test::Bool(b, true));
        self.made(i, SmallVec::new())
    }

    fn load_uniform(&mut self, i: Inst) -> Done {
        let lanes = self.uniform(self.data(i))?;
        self.made(i, lanes)
    }

    fn store(&mut self, i: Inst) -> Done {
        let d = self.data(i);
        // A truth value is stored as the number that was compared with zero.
        let truth = self.f.ty(d.args[0]).scalar == Scalar::I1;
        let value = if truth { self.numbers(d.args[0])? } else { self.get(d.args[0])? };
        self.output(d, &value).map(|()| true)
    }

    fn comparison_test(&mut self, i: Inst) -> Done {
        let Some(v) = self.data(i).results.first() else { return Ok(false) };
        let t = self.test_of(self.data(i))?;
        self.tests.insert(*v, t);
        self.made(i, SmallVec::new())
    }

    fn choice(&mut self, i: Inst) -> Done {
        let lanes = self.select(self.data(i))?;
        self.made(i, lanes)
    }

    fn branch(&mut self, i: Inst) -> Done {
        let t = self.test(self.data(i).args[0])?;
        let block = &mut self.p.blocks[self.at];
        (block.span, block.test) = (self.span, Some(t));
        Ok(true)
    }

    fn call_of(&mut self, i: Inst) -> Done {
        self.call(self.data(i)).map(|()| true)
    }

    fn give_back(&mut self, i: Inst) -> Done {
        match self.procedure {
            Some(_) => self.results(self.data(i)).map(|()| true),
            None => Ok(false),
        }
    }

    fn strip(&mut self, i: Inst) -> Done {
        if self.data(i).op == Opcode::EmitVertex {
            self.emit_vertex();
        } else {
            self.strip = 1;
            self.place_is(0);
        }
        Ok(true)
    }

    fn flow(&mut self, _: Inst) -> Done {
        Ok(true)
    }
}
