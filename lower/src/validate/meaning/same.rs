//! When two results are the same: word by word, but for NaNs, of which machines make different ones.

use retroshade_ir::interp::{Detour, Limits, run_detour};
use retroshade_ir::*;

/// Compares results word by word; any NaN equals any NaN. The error says where they differ first.
pub fn same_results(module: &Module, want: &ShaderResult, got: &ShaderResult) -> Result<(), String> {
    if want.invocations.len() != got.invocations.len() {
        return Err(format!("{} invocations, expected {}", got.invocations.len(), want.invocations.len()));
    }
    for (n, (w, g)) in want.invocations.iter().zip(&got.invocations).enumerate() {
        if w.discarded != g.discarded {
            return Err(format!("invocation {n}: discarded {}, expected {}", g.discarded, w.discarded));
        }
        same_outputs(module, &w.outputs, &g.outputs).map_err(|e| format!("invocation {n}: {e}"))?;
        let shape = |p: &Vec<Vec<Vec<Vec<u32>>>>| p.iter().map(Vec::len).collect::<Vec<_>>();
        if shape(&w.primitives) != shape(&g.primitives) {
            return Err(format!("invocation {n}: strips of {:?} vertices, expected {:?}", shape(&g.primitives), shape(&w.primitives)));
        }
        for (k, (v, u)) in w.primitives.iter().flatten().zip(g.primitives.iter().flatten()).enumerate() {
            same_outputs(module, v, u).map_err(|e| format!("invocation {n}, vertex {k}: {e}"))?;
        }
    }
    for (decl, (w, g)) in module.storage.values().zip(want.storage.iter().zip(&got.storage)) {
        if w.len() != g.len() {
            return Err(format!("buffer {} has {} words, expected {}", decl.name, g.len(), w.len()));
        }
        for (n, (a, b)) in w.iter().zip(g).enumerate() {
            if !same(decl.word(n), *a, *b) {
                return Err(format!("buffer {} word {n}: {}, expected {}", decl.name, show(decl.word(n), *b), show(decl.word(n), *a)));
            }
        }
    }
    Ok(())
}

fn same_outputs(module: &Module, want: &[Vec<u32>], got: &[Vec<u32>]) -> Result<(), String> {
    if want.len() != got.len() {
        return Err(format!("{} outputs, expected {}", got.len(), want.len()));
    }
    for (decl, (w, g)) in module.outputs.values().zip(want.iter().zip(got)) {
        if w.len() != g.len() {
            return Err(format!("output {} has {} words, expected {}", decl.name, g.len(), w.len()));
        }
        if let Some(n) = (0..w.len()).find(|n| !same(decl.ty.scalar, w[*n], g[*n])) {
            return Err(format!("output {}[{n}]: {}, expected {}", decl.name, show(decl.ty.scalar, g[n]), show(decl.ty.scalar, w[n])));
        }
    }
    Ok(())
}

fn same(ty: Scalar, a: u32, b: u32) -> bool {
    a == b || ty.is_float() && numerics::to_f32(ty, a).is_nan() && numerics::to_f32(ty, b).is_nan()
}

fn show(ty: Scalar, w: u32) -> String {
    if ty.is_float() { format!("{} ({w:#010x})", numerics::to_f32(ty, w)) } else { format!("{} ({w:#x})", w as i32) }
}

/// An arithmetic whose NaNs all have one sign. Machines and orders of operands differ in the bits of a NaN; integers made of them show that.
struct OneNan<'a> {
    num: &'a dyn Numerics,
    negative: bool,
}

impl OneNan<'_> {
    fn of(&self, ty: Scalar, w: u32) -> u32 {
        let (nan, quiet, sign) = match ty {
            Scalar::F32 => (f32::from_bits(w).is_nan(), 0x7fc0_0000, 0x8000_0000),
            Scalar::F16 => (w & 0x7fff > 0x7c00, 0x7e00, 0x8000),
            _ => return w,
        };
        if nan { quiet | if self.negative { sign } else { 0 } } else { w }
    }
}

impl Numerics for OneNan<'_> {
    fn name(&self) -> &'static str {
        self.num.name()
    }
    fn unary(&self, op: Opcode, ty: Scalar, a: u32) -> u32 {
        self.of(ty, self.num.unary(op, ty, a))
    }
    fn binary(&self, op: Opcode, ty: Scalar, a: u32, b: u32) -> u32 {
        self.of(ty, self.num.binary(op, ty, a, b))
    }
    fn ternary(&self, op: Opcode, ty: Scalar, a: u32, b: u32, c: u32) -> u32 {
        self.of(ty, self.num.ternary(op, ty, a, b, c))
    }
    fn dot(&self, ty: Scalar, a: &[u32], b: &[u32]) -> u32 {
        self.of(ty, self.num.dot(ty, a, b))
    }
    fn fcmp(&self, cc: FloatCC, ty: Scalar, a: u32, b: u32) -> bool {
        self.num.fcmp(cc, ty, a, b)
    }
    fn convert(&self, op: Opcode, from: Scalar, to: Scalar, a: u32) -> u32 {
        self.of(to, self.num.convert(op, from, to, a))
    }
    fn load(&self, ty: Scalar, a: u32) -> u32 {
        self.num.load(ty, a)
    }
    fn ext(&self, name: &str, args: &[[u32; 4]]) -> Option<[u32; 4]> {
        self.num.ext(name, args)
    }
}

/// Whether what a legalised module gives, on a detour, depends on the sign of a NaN.
pub fn shows_nan(legal: &Module, env: &ShaderEnv, num: &dyn Numerics, limits: &Limits, detour: &Detour) -> bool {
    let run = |negative| run_detour(legal, env, &OneNan { num, negative }, limits, None, &mut detour.again());
    !matches!((run(false), run(true)), (Ok(a), Ok(b)) if same_results(legal, &a, &b).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_seen() {
        let m = retroshade_ir::parse("same.ir", "shader vertex \"same\"\noutput %o : f32 @location(0)\nblock0:\n    return\n").unwrap();
        let [one, two, nan, other_nan] = [1.0f32.to_bits(), 2.0f32.to_bits(), 0x7fc0_0000, 0xffc0_0001];
        let result = |w: u32, discarded: bool, strips: &[&[u32]]| {
            let primitives = strips.iter().map(|s| s.iter().map(|w| vec![vec![*w]]).collect()).collect();
            ShaderResult { invocations: vec![InvocationResult { outputs: vec![vec![w]], discarded, primitives }], storage: Vec::new() }
        };
        let same = |a: &ShaderResult, b: &ShaderResult| [same_results(&m, a, b), same_results(&m, b, a)].map(|r| r.is_ok());
        assert_eq!(same(&result(one, false, &[]), &result(one, false, &[])), [true; 2]);
        assert_eq!(same(&result(nan, false, &[]), &result(other_nan, false, &[])), [true; 2]);
        assert_eq!(same(&result(nan, false, &[]), &result(one, false, &[])), [false; 2]);
        assert_eq!(same(&result(one, false, &[]), &result(two, false, &[])), [false; 2]);
        assert_eq!(same(&result(one, false, &[]), &result(one, true, &[])), [false; 2]);
        // The same vertices in other strips, and fewer of them.
        let strips = |s: &[&[u32]]| result(one, false, s);
        assert_eq!(same(&strips(&[&[one, one], &[one]]), &strips(&[&[one], &[one, one]])), [false; 2]);
        assert_eq!(same(&strips(&[&[one, one]]), &strips(&[&[one]])), [false; 2]);
        assert_eq!(same(&strips(&[&[one, two]]), &strips(&[&[one, one]])), [false; 2]);
    }

    #[test]
    fn only_integers_show_the_sign_of_a_nan() {
        let program = |end: &str, ty: &str| {
            let start = "shader vertex \"nan\"\ninput %a : f32 @location(0)\n";
            format!("{start}output %o : {ty} @location(0)\nblock0:\n    v0 = input.f32 %a\n    v1 = flog2 v0\n{end}    return\n")
        };
        let shows = |text: &str| {
            let m = retroshade_ir::parse("nan.ir", text).unwrap();
            let minus_one = InvocationInputs { inputs: vec![vec![(-1.0f32).to_bits()]] };
            shows_nan(
                &m,
                &ShaderEnv { invocations: vec![minus_one], ..ShaderEnv::default() },
                &Reference,
                &Limits::default(),
                &Detour::default(),
            )
        };
        assert!(shows(&program("    v2 = bitcast.i32 v1\n    output %o, v2\n", "i32")));
        assert!(!shows(&program("    v2 = f2s.i32 v1\n    output %o, v2\n", "i32")));
        assert!(!shows(&program("    output %o, v1\n", "f32")));
    }
}
