//! A program as WGSL.

use super::value::{Kind, Ty, f};
use super::{Arg, Expr, Node, Place, Program, Shape, Step, Stmt};
use std::fmt::Write;

fn shape(s: &Shape) -> String {
    match s {
        Shape::Leaf(t) => t.name(),
        Shape::Array(e, n) => format!("array<{}, {n}>", shape(e)),
        Shape::Struct(n) => format!("S{n}"),
    }
}

fn scalar(k: Kind, w: u32) -> String {
    match k {
        Kind::F => format!("{:?}f", f(w)),
        Kind::I if w == 1 << 31 => "(-2147483647i - 1i)".to_string(),
        Kind::I => format!("{}i", w as i32),
        Kind::U => format!("{w}u"),
        Kind::B => (w != 0).to_string(),
    }
}

fn literal(t: Ty, w: &[u32]) -> String {
    if t.lanes == 1 {
        let s = scalar(t.kind, w[0]);
        return if s.starts_with('-') { format!("({s})") } else { s };
    }
    let lanes: Vec<String> = w.iter().map(|w| scalar(t.kind, *w)).collect();
    format!("{}({})", t.name(), lanes.join(", "))
}

fn place(p: &Place) -> String {
    let mut out = if p.pointer { format!("(*{})", p.root) } else { p.root.clone() };
    for s in &p.steps {
        match s {
            Step::Member(n) => write!(out, ".m{n}"),
            Step::Element(e, n) => {
                write!(out, "[{} & {}]", expr(e), if e.ty.kind == Kind::U { format!("{}u", n - 1) } else { format!("{}", n - 1) })
            }
            Step::Lane(n) => write!(out, ".{}", ["x", "y", "z", "w"][*n as usize]),
            Step::LaneAt(e) => write!(out, "[{} & 1]", expr(e)),
        }
        .unwrap();
    }
    out
}

fn list(all: &[Expr]) -> String {
    all.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn args(all: &[Arg]) -> String {
    let one = |a: &Arg| match a {
        Arg::Value(e) => expr(e),
        Arg::Pointer(p) if p.pointer && p.steps.is_empty() => p.root.clone(),
        Arg::Pointer(p) => format!("&{}", place(p)),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn expr(e: &Expr) -> String {
    match &e.node {
        Node::Lit(w) => literal(e.ty, w),
        Node::Load(p) => place(p),
        Node::Unary(op @ ("-" | "~" | "!"), x) => format!("({op}{})", expr(x)),
        Node::Unary(op, x) => format!("{op}({})", expr(x)),
        Node::Binary(op, x, y) => format!("({} {op} {})", expr(x), expr(y)),
        Node::Pair(name, x, y) => format!("{name}({}, {})", expr(x), expr(y)),
        Node::Clamp(x, a, b) => format!("clamp({}, {}, {})", expr(x), expr(a), expr(b)),
        Node::Select(c, x, y) => format!("select({}, {}, {})", expr(y), expr(x), expr(c)),
        Node::Swizzle(x, lanes) => {
            let lanes: String = lanes.iter().map(|n| ["x", "y", "z", "w"][*n as usize]).collect();
            format!("{}.{lanes}", expr(x))
        }
        Node::Build(parts) => format!("{}({})", e.ty.name(), list(parts)),
        Node::Cast(x) => format!("{}({})", e.ty.name(), expr(x)),
        Node::Bitcast(x) => format!("bitcast<{}>({})", e.ty.name(), expr(x)),
        Node::Extract(x, o, n) => format!("extractBits({}, {}, {})", expr(x), expr(o), expr(n)),
        Node::Insert(x, y, o, n) => format!("insertBits({}, {}, {}, {})", expr(x), expr(y), expr(o), expr(n)),
        Node::AllAny(name, x) => format!("{name}({})", expr(x)),
        Node::Call(n, a) => format!("f{n}({})", args(a)),
    }
}

fn block(out: &mut String, body: &[Stmt], depth: usize) {
    for s in body {
        stmt(out, s, depth);
    }
}

fn stmt(out: &mut String, s: &Stmt, depth: usize) {
    let pad = "  ".repeat(depth);
    match s {
        Stmt::Let(n, e) => writeln!(out, "{pad}let {n} = {};", expr(e)).unwrap(),
        Stmt::Var(n, t, Some(e)) => writeln!(out, "{pad}var {n}: {} = {};", shape(t), expr(e)).unwrap(),
        Stmt::Var(n, t, None) => writeln!(out, "{pad}var {n}: {};", shape(t)).unwrap(),
        Stmt::Copy(n, t, from) => writeln!(out, "{pad}var {n}: {} = {from};", shape(t)).unwrap(),
        Stmt::Assign(p, op, e) => writeln!(out, "{pad}{} {}= {};", place(p), op.unwrap_or(""), expr(e)).unwrap(),
        Stmt::If(c, yes, no) => {
            writeln!(out, "{pad}if ({}) {{", expr(c)).unwrap();
            block(out, yes, depth + 1);
            if !no.is_empty() {
                writeln!(out, "{pad}}} else {{").unwrap();
                block(out, no, depth + 1);
            }
            writeln!(out, "{pad}}}").unwrap();
        }
        Stmt::For(k, n, body) => {
            writeln!(out, "{pad}for (var {k} = 0; {k} < {n}; {k}++) {{").unwrap();
            block(out, body, depth + 1);
            writeln!(out, "{pad}}}").unwrap();
        }
        Stmt::Loop(k, n, body, after) => {
            writeln!(out, "{pad}var {k} = 0;\n{pad}loop {{").unwrap();
            block(out, body, depth + 1);
            writeln!(out, "{pad}  continuing {{").unwrap();
            block(out, after, depth + 2);
            writeln!(out, "{pad}    {k} += 1;\n{pad}    break if {k} >= {n};\n{pad}  }}\n{pad}}}").unwrap();
        }
        Stmt::Switch(e, cases, at, default) => {
            writeln!(out, "{pad}switch {} {{", expr(e)).unwrap();
            for n in 0..=cases.len() {
                if n == *at {
                    writeln!(out, "{pad}  default: {{").unwrap();
                    block(out, default, depth + 2);
                    writeln!(out, "{pad}  }}").unwrap();
                }
                if let Some((values, body)) = cases.get(n) {
                    let values: Vec<String> = values.iter().map(|v| format!("{v}i")).collect();
                    writeln!(out, "{pad}  case {}: {{", values.join(", ")).unwrap();
                    block(out, body, depth + 2);
                    writeln!(out, "{pad}  }}").unwrap();
                }
            }
            writeln!(out, "{pad}}}").unwrap();
        }
        Stmt::Break => writeln!(out, "{pad}break;").unwrap(),
        Stmt::Continue => writeln!(out, "{pad}continue;").unwrap(),
        Stmt::Return(e) => writeln!(out, "{pad}return {};", expr(e)).unwrap(),
        Stmt::CallOnly(n, a) => writeln!(out, "{pad}f{n}({});", args(a)).unwrap(),
    }
}

/// The whole text.
pub fn program(p: &Program) -> String {
    let mut out = String::new();
    for (n, members) in p.structs.iter().enumerate() {
        let members: Vec<String> = members.iter().enumerate().map(|(k, t)| format!("m{k}: {}", t.name())).collect();
        writeln!(out, "struct S{n} {{ {} }}", members.join(", ")).unwrap();
    }
    for (name, t, values) in &p.tables {
        let all: Vec<String> = values.iter().map(|w| literal(*t, w)).collect();
        writeln!(out, "const {name} = array<{}, {}>({});", t.name(), values.len(), all.join(", ")).unwrap();
    }
    for (name, s, init) in &p.private {
        match (init, s) {
            (Some(w), Shape::Leaf(t)) => writeln!(out, "var<private> {name}: {} = {};", shape(s), literal(*t, w)).unwrap(),
            _ => writeln!(out, "var<private> {name}: {};", shape(s)).unwrap(),
        }
    }
    for f in &p.functions {
        let params: Vec<String> = f
            .params
            .iter()
            .map(|(n, s, pointer)| if *pointer { format!("{n}: ptr<function, {}>", shape(s)) } else { format!("{n}: {}", shape(s)) })
            .collect();
        let result = f.result.map_or(String::new(), |t| format!(" -> {}", t.name()));
        writeln!(out, "fn {}({}){result} {{", f.name, params.join(", ")).unwrap();
        block(&mut out, &f.body, 1);
        writeln!(out, "}}").unwrap();
    }
    writeln!(out, "struct Out {{\n  @builtin(position) position: vec4<f32>,").unwrap();
    let mut body = String::new();
    block(&mut body, &p.body, 1);
    writeln!(body, "  var o: Out;\n  o.position = vec4(0.0);").unwrap();
    let mut at = 0;
    for (n, e) in p.outputs.iter().enumerate() {
        if p.halves && e.ty.kind != Kind::F {
            let float = Ty::of(Kind::F, e.ty.lanes).name();
            let (low, shift) = match (e.ty.kind, e.ty.lanes) {
                (Kind::I, 1) => ("65535i".to_string(), "16u".to_string()),
                (_, 1) => ("65535u".to_string(), "16u".to_string()),
                (k, l) => (format!("{}({})", e.ty.name(), if k == Kind::I { "65535i" } else { "65535u" }), format!("vec{l}<u32>(16u)")),
            };
            writeln!(out, "  @location({at}) o{n}: {float},\n  @location({}) p{n}: {float},", at + 1).unwrap();
            writeln!(body, "  let r{n} = {};\n  o.o{n} = {float}(r{n} & {low});\n  o.p{n} = {float}(r{n} >> {shift});", expr(e)).unwrap();
            at += 2;
        } else {
            let flat = if e.ty.kind == Kind::F { "" } else { "@interpolate(flat) " };
            writeln!(out, "  @location({at}) {flat}o{n}: {},", e.ty.name()).unwrap();
            writeln!(body, "  o.o{n} = {};", expr(e)).unwrap();
            at += 1;
        }
    }
    writeln!(out, "}}\n@vertex fn main(@location(0) a: vec4<f32>, @location(1) b: vec4<i32>, @location(2) c: vec4<u32>) -> Out {{")
        .unwrap();
    out.push_str(&body);
    out.push_str("  return o;\n}\n");
    out
}
