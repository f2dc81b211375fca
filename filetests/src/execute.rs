//! `; run:` lines: on the interpreter, and on a simulator held against the interpreter on legalised IR.

use crate::directives::{Directives, RunLine};
use retroshade_ir::numerics::to_f32;
use retroshade_ir::{Module, Reference, Scalar, ShaderEnv, ShaderResult, interp};
use retroshade_lower::{CompiledShader, TargetIsa, bind};
use serde_json::{Value, json};

fn environment(m: &Module, run: &RunLine) -> Result<ShaderEnv, String> {
    let inputs = match &run.inputs {
        Value::Array(list) => list.clone(),
        one => vec![one.clone()],
    };
    let mut file = run.env.clone();
    let Some(o) = file.as_object_mut() else { return Err("`env:` must be a JSON object".to_string()) };
    let invocations: Vec<Value> = inputs.into_iter().map(|i| json!({ "inputs": i })).collect();
    o.insert("invocations".to_string(), Value::Array(invocations));
    bind::env_from_json(m, &file).map_err(|e| e.to_string())
}

/// Interprets the source and compares.
pub(crate) fn interpret(m: &Module, directives: &Directives) -> Result<(), String> {
    for run in &directives.runs {
        let at = |e: String| format!("line {}: {e}", run.line);
        let env = environment(m, run).map_err(at)?;
        let r = interp::run(m, &env, &Reference).map_err(|e| at(e.to_string()))?;
        expect(m, &r, run, run.tolerance.unwrap_or(0.0)).map_err(at)?;
    }
    Ok(())
}

/// Simulates, compares with the legalised IR bit for bit and with the expectation within the tolerance.
pub(crate) fn on_machine(m: &Module, isa: &dyn TargetIsa, shader: &CompiledShader, directives: &Directives) -> Result<(), String> {
    for run in &directives.runs {
        let at = |e: String| format!("line {}: {e}", run.line);
        let env = environment(m, run).map_err(at)?;
        let machine = isa.simulate_in_every_order(shader, &env).map_err(|e| at(e.to_string()))?;
        let legal = interp::run(&shader.legal, &env, isa.numerics()).map_err(|e| at(format!("on legalised IR: {e}")))?;
        same(m, &machine, &legal).map_err(|e| at(format!("simulator and legalised IR differ: {e}")))?;
        expect(m, &machine, run, run.tolerance.unwrap_or(0.001)).map_err(at)?;
    }
    Ok(())
}

fn word_equal(ty: Scalar, a: u32, b: u32) -> bool {
    a == b || (ty.is_float() && to_f32(ty, a).is_nan() && to_f32(ty, b).is_nan())
}

/// Equality of results, any NaN equal to any NaN.
pub fn same(m: &Module, a: &ShaderResult, b: &ShaderResult) -> Result<(), String> {
    if a.invocations.len() != b.invocations.len() {
        return Err(format!("{} and {} invocations", a.invocations.len(), b.invocations.len()));
    }
    let vertex = |what: &str, x: &[Vec<u32>], y: &[Vec<u32>]| {
        for ((d, x), y) in m.outputs.values().zip(x).zip(y) {
            let equal = x.len() == y.len() && x.iter().zip(y).all(|(p, q)| word_equal(d.ty.scalar, *p, *q));
            if !equal {
                return Err(format!("{what}, output `{}`: {x:08x?} and {y:08x?}", d.name));
            }
        }
        Ok(())
    };
    for (n, (x, y)) in a.invocations.iter().zip(&b.invocations).enumerate() {
        if x.discarded != y.discarded {
            return Err(format!("invocation {n}: discarded {} and {}", x.discarded, y.discarded));
        }
        vertex(&format!("invocation {n}"), &x.outputs, &y.outputs)?;
        if x.primitives.len() != y.primitives.len() || x.primitives.iter().zip(&y.primitives).any(|(p, q)| p.len() != q.len()) {
            return Err(format!("invocation {n}: other primitives"));
        }
        for (p, q) in x.primitives.iter().flatten().zip(y.primitives.iter().flatten()) {
            vertex(&format!("a vertex of invocation {n}"), p, q)?;
        }
    }
    for (d, (x, y)) in m.storage.values().zip(a.storage.iter().zip(&b.storage)) {
        let equal = x.len() == y.len() && x.iter().zip(y).enumerate().all(|(n, (p, q))| word_equal(d.word(n), *p, *q));
        if !equal {
            return Err(format!("storage `{}`: {x:08x?} and {y:08x?}", d.name));
        }
    }
    Ok(())
}

/// Whether a value is the expected one; objects are compared by the expected keys.
fn close(want: &Value, got: &Value, tolerance: f64) -> bool {
    match (want, got) {
        (Value::Number(w), Value::Number(g)) => {
            let (w, g) = (w.as_f64().unwrap_or(f64::NAN), g.as_f64().unwrap_or(f64::NAN));
            w == g || (w - g).abs() <= tolerance * w.abs().max(1.0)
        }
        (Value::Array(w), Value::Array(g)) => w.len() == g.len() && w.iter().zip(g).all(|(w, g)| close(w, g, tolerance)),
        (Value::Object(w), Value::Object(g)) => w.iter().all(|(k, w)| g.get(k).is_some_and(|g| close(w, g, tolerance))),
        _ => want == got,
    }
}

fn expect(m: &Module, r: &ShaderResult, run: &RunLine, tolerance: f64) -> Result<(), String> {
    let all = bind::result_to_json(m, r);
    let wanted: Vec<&Value> = match &run.outputs {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    };
    for (n, w) in wanted.into_iter().enumerate() {
        let Some(w) = w.as_object() else { return Err("what is expected must be an object".to_string()) };
        let invocation = &all["invocations"][n];
        for (name, value) in w {
            let got = match name.as_str() {
                "storage" => &all["storage"],
                "discarded" | "primitives" => &invocation[name.as_str()],
                _ => &invocation["outputs"][name.as_str()],
            };
            if !close(value, got, tolerance) {
                return Err(format!("`{name}` of invocation {n} is {got}, not {value}"));
            }
        }
    }
    Ok(())
}
