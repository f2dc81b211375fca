//! Programs far beyond the machine's limits are refused by name, whatever overflows first.
#![allow(clippy::unwrap_used)]

use retroshade_ir::parse;
use retroshade_lower::{CompileError, Options};
use std::fmt::Write;

/// Sequential if/else, each with constants of its own: too many words, and too many constants for the float uniforms.
fn branches(n: usize) -> String {
    let mut s = String::from("shader vertex \"t\"\ninput %a : f32x4 @location(0)\noutput %o : f32x4 @position\n");
    s.push_str("block0:\n    v0 = input.f32x4 %a\n    v1 = extract v0, 0\n    v2 = extract v0, 1\n    jump block1(v1)\n");
    for k in 0..n {
        let (b, v) = (3 * k + 1, 10 * k + 10);
        let _ = write!(
            s,
            "block{b}(v{v}: f32):\n    v{} = fconst.f32 {k}.25\n    v{} = fcmp ogt v{v}, v{}\n    br_if v{}, block{}, block{}\n",
            v + 1,
            v + 2,
            v + 1,
            v + 2,
            b + 1,
            b + 2
        );
        let _ = write!(
            s,
            "block{}:\n    v{} = fmul v{v}, v2\n    v{} = fsin v{}\n    jump block{}(v{})\n",
            b + 1,
            v + 3,
            v + 4,
            v + 3,
            b + 3,
            v + 4
        );
        let _ = write!(
            s,
            "block{}:\n    v{} = fadd v{v}, v2\n    v{} = fcos v{}\n    jump block{}(v{})\n",
            b + 2,
            v + 5,
            v + 6,
            v + 5,
            b + 3,
            v + 6
        );
    }
    let (b, v) = (3 * n + 1, 10 * n + 10);
    let _ = write!(s, "block{b}(v{v}: f32):\n    v{} = splat.f32x4 v{v}\n    output %o, v{}\n    return\n", v + 1, v + 1);
    s
}

#[test]
fn long_programs_are_refused_by_name() {
    for n in [100, 1200] {
        let module = parse("t.ir", &branches(n)).unwrap();
        let error = retroshade_pica::isa().compile(&module, &Options::default()).map(|s| s.stats).unwrap_err();
        assert!(matches!(&error, CompileError::Limit { .. }), "{n}: {error:?}");
        let text = format!("{error:?}");
        assert!(text.contains("P0306"), "{n}: {text}");
    }
}
