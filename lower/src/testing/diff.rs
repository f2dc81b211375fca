//! One program on a target: source, legalised IR and machine code compared.

use super::emit::is_approximate;
use crate::error::CompileError;
use crate::isa::{SimError, TargetIsa};
use crate::options::Options;
use crate::validate::meaning::same::{same_results, shows_nan};
use retroshade_ir::interp::{Detour, InterpError, Limits, run_with};
use retroshade_ir::*;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// How a target fared with a program that is not a mismatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything agrees; `exact`: the legalised IR was also compared with the source word by word.
    Agrees {
        /// See above.
        exact: bool,
    },
    /// The target refuses the program.
    Refused {
        /// Because of a limit.
        limit: bool,
        /// What it says.
        message: String,
    },
}

/// What disagrees, or what broke.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Machine code computes something else than the legalised IR.
    #[error("the simulator differs from the legalised IR: {0}")]
    Code(String),
    /// Legalised IR computes something else than the source although nothing is approximated.
    #[error("the legalised IR differs from the source: {0}")]
    Legal(String),
    /// The legalised IR cannot be interpreted.
    #[error("the legalised IR does not run: {0}")]
    LegalRun(InterpError),
    /// Legalised IR that the verifier refuses.
    #[error("the legalised IR is not valid: {0}")]
    LegalVerify(String),
    /// The validator finds fault with the machine code.
    #[error("the validator objects: {0}")]
    Validator(String),
    /// The simulator gave up.
    #[error("the simulator stops: {0}")]
    Simulator(SimError),
    /// The compiler broke a promise.
    #[error("the compiler fails: {0}")]
    Compiler(String),
    /// The generator made an invalid program.
    #[error("the source is not valid: {0}")]
    Source(String),
}

impl Mismatch {
    /// A number per kind: a reduced program must fail in the same way.
    pub fn kind(&self) -> u8 {
        match self {
            Mismatch::Code(_) => 0,
            Mismatch::Legal(_) => 1,
            Mismatch::LegalRun(_) => 2,
            Mismatch::LegalVerify(_) => 3,
            Mismatch::Simulator(_) => 4,
            Mismatch::Compiler(_) => 5,
            Mismatch::Source(_) => 6,
            Mismatch::Validator(_) => 7,
        }
    }
}

/// Instructions that one invocation of a test program may execute.
const FUEL: u64 = 1 << 18;

/// An arithmetic, watching for values on which machines may differ: NaN, infinities, denormals, the lesser and the greater of two
/// zeros, and coordinates of four texels so large that half a texel is lost in them.
struct Watch<'a> {
    num: &'a dyn Numerics,
    gathers: bool,
    special: AtomicBool,
}

impl Watch<'_> {
    fn see(&self, ty: Scalar, w: u32) -> u32 {
        let (exponent, mantissa, top) = if ty == Scalar::F16 { (w >> 10 & 31, w & 0x3ff, 31) } else { (w >> 23 & 255, w & 0x7f_ffff, 255) };
        let far = self.gathers && ty == Scalar::F32 && exponent >= 127 + 18;
        if exponent == top || exponent == 0 && mantissa != 0 || far {
            self.special.store(true, Ordering::Relaxed);
        }
        w
    }
}

impl Numerics for Watch<'_> {
    fn name(&self) -> &'static str {
        self.num.name()
    }
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        self.see(ty, a);
        self.see(ty, self.num.unary(op, ty, a))
    }
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        self.see(ty, a);
        self.see(ty, b);
        let sign = if ty == Scalar::F16 { 0x8000 } else { 0x8000_0000 };
        if matches!(op, Opcode::Fmin | Opcode::Fmax) && a ^ b == sign && (a | b) == sign {
            self.special.store(true, Ordering::Relaxed);
        }
        self.see(ty, self.num.binary(op, ty, a, b))
    }
    fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
        self.see(ty, self.num.ternary(op, ty, a, b, c))
    }
    fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
        self.see(ty, a);
        self.see(ty, b);
        self.num.fcmp(cc, ty, a, b)
    }
    fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
        let r = self.num.convert(op, from, to, a);
        if from.is_float() {
            self.see(from, a);
        }
        if to.is_float() { self.see(to, r) } else { r }
    }
    fn load(&self, ty: Scalar, a: u32) -> u32 {
        self.num.load(ty, a)
    }
}

/// Whether no operation of a module may be approximated or contracted.
pub fn is_exact(module: &Module) -> bool {
    // Machines divide a cube's coordinates by the largest, and compute the level that gradients or a bias ask for.
    let texture = |imm: &Imm| match imm {
        Imm::Tex(t) => {
            let cube = module.textures[t.texture].dim == TexDim::Cube && matches!(t.op, TexOp::Sample | TexOp::Gather | TexOp::Lod);
            cube || matches!(t.lod, TexLod::Bias | TexLod::Grad)
        }
        _ => false,
    };
    module.functions.values().all(|f| f.ordered().all(|(_, i)| !is_approximate(f.insts[i].op) && !texture(&f.insts[i].imm)))
}

/// Whether a module reads four texels at once. A machine that cannot reads them one by one, at the centres of their places.
fn gathers(module: &Module) -> bool {
    let four = |imm: &Imm| matches!(imm, Imm::Tex(t) if t.op == TexOp::Gather);
    module.functions.values().any(|f| f.ordered().any(|(_, i)| four(&f.insts[i].imm)))
}

/// Compares a target with the interpreter on one program, with default options.
pub fn diff(isa: &dyn TargetIsa, module: &Module, env: &ShaderEnv) -> Result<(), Mismatch> {
    diff_with(isa, module, env, &Options::default()).map(drop)
}

/// Compares a target with the interpreter on one program.
pub fn diff_with(isa: &dyn TargetIsa, module: &Module, env: &ShaderEnv, options: &Options) -> Result<Verdict, Mismatch> {
    if let Err(e) = verify(module) {
        return Err(Mismatch::Source(e.first().map(ToString::to_string).unwrap_or_default()));
    }
    let limits = Limits { fuel: FUEL, ..Limits::default() };
    // A machine with narrower floats rounds exact operations in its own way: the source is run with that rounding.
    let num = isa.numerics();
    let third = (1.0f32 / 3.0).to_bits();
    let wide = num.load(Scalar::F32, third) == third;
    let watch = Watch { num: if wide { &Reference } else { num }, gathers: gathers(module), special: AtomicBool::new(false) };
    let source = match run_with(module, env, &watch, &limits) {
        Ok(r) => r,
        // The shrinker may make programs that never end or that do not fit their environment; they prove nothing.
        Err(e) => return Ok(Verdict::Refused { limit: true, message: format!("the source does not run: {e}") }),
    };
    let refused = |e: CompileError| match e {
        CompileError::Internal(m) => Err(Mismatch::Compiler(m)),
        e @ CompileError::Unsound(_) => {
            Err(Mismatch::Validator(e.diagnostics().iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")))
        }
        CompileError::Wrong(m) => Err(Mismatch::Code(m)),
        e => Ok(Verdict::Refused { limit: e.exit_status() == 3, message: e.to_string() }),
    };
    let shader = match isa.compile(module, options) {
        Ok(s) => s,
        Err(e) => return refused(e),
    };
    let legal = match isa.legalise(module, options) {
        Ok(l) => l,
        Err(e) => return refused(e),
    };
    if let Err(e) = verify_legal(&legal) {
        return Err(Mismatch::LegalVerify(e.first().map(ToString::to_string).unwrap_or_default()));
    }
    let want = run_with(&legal, env, num, &limits).map_err(Mismatch::LegalRun)?;
    let got = isa.simulate_in_every_order(&shader, env).map_err(Mismatch::Simulator)?;
    if let Err(e) = same_results(module, &want, &got) {
        if shows_nan(&legal, env, num, &limits, &Detour::default()) {
            return Ok(Verdict::Refused { limit: true, message: "the results depend on the bits of a NaN".to_string() });
        }
        return Err(Mismatch::Code(e));
    }

    // The source is compared where its operations have one right result: nothing approximated, no contraction, no NaN,
    // infinity or denormal and no choice between two zeros on the way.
    let exact = !options.fp_contract && !options.relaxed_precision && is_exact(module) && !watch.special.load(Ordering::Relaxed);
    if exact {
        same_results(module, &source, &want).map_err(Mismatch::Legal)?;
    }
    Ok(Verdict::Agrees { exact })
}
