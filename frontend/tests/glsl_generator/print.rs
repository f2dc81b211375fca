//! The text of a program.

use super::*;
use std::fmt::Write;

impl Program {
    pub fn ty(&self, t: &Ty) -> String {
        let base = |b: Base| ["bool", "int", "uint", "float"][b as usize];
        match t {
            Ty::Void => "void".into(),
            Ty::Scalar(b) => base(*b).into(),
            Ty::Vector(b, n) => format!("{}vec{n}", ["b", "i", "u", ""][*b as usize]),
            Ty::Matrix(c, r) if c == r => format!("mat{c}"),
            Ty::Matrix(c, r) => format!("mat{c}x{r}"),
            Ty::Struct(s) => self.structs[*s].name.clone(),
            Ty::Array(..) => {
                let (inner, dims) = Self::dims(t);
                self.ty(inner) + &dims
            }
        }
    }
    /// The innermost element and the dimensions as they are written, outermost first.
    fn dims(t: &Ty) -> (&Ty, String) {
        match t {
            Ty::Array(e, n) => {
                let (inner, dims) = Self::dims(e);
                (inner, format!("[{n}]{dims}"))
            }
            t => (t, String::new()),
        }
    }
    /// A declaration, with the dimensions behind the name.
    fn named(&self, t: &Ty, name: &str) -> String {
        let (inner, dims) = Self::dims(t);
        format!("{} {name}{dims}", self.ty(inner))
    }
    fn lit(&self, n: Num) -> String {
        match n {
            Num::B(b) => b.to_string(),
            Num::I(i32::MIN) => "(-2147483647 - 1)".into(),
            Num::I(i) if i < 0 => format!("({i})"),
            Num::I(i) => i.to_string(),
            Num::U(u) if u > 0xffff => format!("{u:#x}u"),
            Num::U(u) => format!("{u}u"),
            Num::F(f) if f.is_sign_negative() => format!("({f:?})"),
            Num::F(f) => format!("{f:?}"),
        }
    }
    fn hop(&self, before: &Ty, h: &Hop) -> String {
        match (h, before) {
            (Hop::Member(n), Ty::Struct(s)) => format!(".{}", self.structs[*s].members[*n].0),
            (Hop::Member(n), _) => format!("[{n}]"),
            (Hop::Index(e), _) => format!("[{}]", self.expr(e)),
            (Hop::Swizzle(lanes), _) => {
                // All three sets of names are used.
                let set = ["xyzw", "rgba", "stpq"][lanes.iter().sum::<usize>() % 3];
                let names: String = lanes.iter().filter_map(|l| set.chars().nth(*l)).collect();
                format!(".{names}")
            }
        }
    }
    fn place(&self, p: &Place) -> String {
        let mut t = self.vars[p.var].ty.clone();
        let mut out = self.vars[p.var].name.clone();
        for h in &p.hops {
            out += &self.hop(&t, h);
            t = self.after(&t, h);
        }
        out
    }
    fn list(&self, all: &[Expr]) -> String {
        let all: Vec<String> = all.iter().map(|e| self.expr(e)).collect();
        all.join(", ")
    }
    pub fn expr(&self, e: &Expr) -> String {
        match &e.node {
            Node::Lit(w) if w.len() == 1 => self.lit(w[0]),
            Node::Lit(w) => {
                let all: Vec<String> = w.iter().map(|n| self.lit(*n)).collect();
                format!("{}({})", self.ty(&e.ty), all.join(", "))
            }
            Node::Load(p) => self.place(p),
            Node::Unary(op, x) => format!("({op}{})", self.expr(x)),
            Node::Binary(op, x, y) => format!("({} {op} {})", self.expr(x), self.expr(y)),
            Node::Cond(c, x, y) => format!("({} ? {} : {})", self.expr(c), self.expr(x), self.expr(y)),
            Node::Assign(p, op, x) => format!("({} {op}= {})", self.place(p), self.expr(x)),
            Node::Step(p, op, true) => format!("({op}{})", self.place(p)),
            Node::Step(p, op, false) => format!("({}{op})", self.place(p)),
            Node::Make(args) => format!("{}({})", self.ty(&e.ty), self.list(args)),
            Node::Implicit(x) => self.expr(x),
            Node::Builtin(name, args, outs) => match *name {
                "unorm8" => format!("floor(unpackUnorm4x8({}) * 255.0 + 0.5)", self.expr(&args[0])),
                "snorm8" => format!("floor(unpackSnorm4x8({}) * 127.0 + 0.5)", self.expr(&args[0])),
                "unorm16" => format!("floor(unpackUnorm2x16({}) * 65535.0 + 0.5)", self.expr(&args[0])),
                "length" => format!("{}.length()", self.expr(&args[0])),
                _ => {
                    let all: Vec<String> = args.iter().map(|e| self.expr(e)).chain(outs.iter().map(|p| self.place(p))).collect();
                    // The place comes first where the function works on it.
                    if name.starts_with("atomic") {
                        format!("{name}({}, {})", all[1], all[0])
                    } else {
                        format!("{name}({})", all.join(", "))
                    }
                }
            },
            Node::Call(f, args) => {
                let all: Vec<String> = args
                    .iter()
                    .map(|a| match a {
                        Arg::In(e) => self.expr(e),
                        Arg::Ref(p) => self.place(p),
                    })
                    .collect();
                format!("{}({})", self.functions[*f].name, all.join(", "))
            }
            Node::Part(x, h) => format!("{}{}", self.expr(x), self.hop(&x.ty, h)),
        }
    }
    fn body(&self, out: &mut String, depth: usize, all: &[Stmt]) {
        for s in all {
            self.stmt(out, depth, s);
        }
    }
    /// A declaration or expression, without the semicolon.
    fn simple(&self, s: &Stmt) -> String {
        match s {
            Stmt::Declare(all) => {
                let (inner, _) = Self::dims(&self.vars[all[0].0].ty);
                let one = |(v, init): &(VarId, Option<Expr>)| {
                    let (_, dims) = Self::dims(&self.vars[*v].ty);
                    let init = init.as_ref().map_or(String::new(), |e| format!(" = {}", self.expr(e)));
                    format!("{}{dims}{init}", self.vars[*v].name)
                };
                format!("{} {}", self.ty(inner), all.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            Stmt::Expr(e) => {
                let t = self.expr(e);
                // Without the outermost parentheses of an operator.
                match &e.node {
                    Node::Assign(..) | Node::Step(..) | Node::Binary(..) => t[1..t.len() - 1].to_string(),
                    _ => t,
                }
            }
            _ => panic!("no simple statement"),
        }
    }
    fn stmt(&self, out: &mut String, depth: usize, s: &Stmt) {
        let pad = "  ".repeat(depth);
        match s {
            Stmt::Declare(_) | Stmt::Expr(_) => writeln!(out, "{pad}{};", self.simple(s)).unwrap(),
            Stmt::If(c, yes, no) => {
                writeln!(out, "{pad}if ({}) {{", self.expr(c)).unwrap();
                self.body(out, depth + 1, yes);
                if let Some(no) = no {
                    writeln!(out, "{pad}}} else {{").unwrap();
                    self.body(out, depth + 1, no);
                }
                writeln!(out, "{pad}}}").unwrap();
            }
            Stmt::For(init, cond, step, body) => {
                let init = init.as_ref().map_or(String::new(), |s| self.simple(s));
                let cond = cond.as_ref().map_or(String::new(), |e| self.expr(e));
                let step = step.as_ref().map_or(String::new(), |e| self.simple(&Stmt::Expr(e.clone())));
                writeln!(out, "{pad}for ({init}; {cond}; {step}) {{").unwrap();
                self.body(out, depth + 1, body);
                writeln!(out, "{pad}}}").unwrap();
            }
            Stmt::While(c, body) => {
                writeln!(out, "{pad}while ({}) {{", self.expr(c)).unwrap();
                self.body(out, depth + 1, body);
                writeln!(out, "{pad}}}").unwrap();
            }
            Stmt::DoWhile(body, c) => {
                writeln!(out, "{pad}do {{").unwrap();
                self.body(out, depth + 1, body);
                writeln!(out, "{pad}}} while ({});", self.expr(c)).unwrap();
            }
            Stmt::Switch(e, cases) => {
                writeln!(out, "{pad}switch ({}) {{", self.expr(e)).unwrap();
                for (labels, body) in cases {
                    for l in labels {
                        match l {
                            Some(n) => writeln!(out, "{pad}case {n}:").unwrap(),
                            None => writeln!(out, "{pad}default:").unwrap(),
                        }
                    }
                    self.body(out, depth + 1, body);
                }
                writeln!(out, "{pad}}}").unwrap();
            }
            Stmt::Break => writeln!(out, "{pad}break;").unwrap(),
            Stmt::Continue => writeln!(out, "{pad}continue;").unwrap(),
            Stmt::Return(None) => writeln!(out, "{pad}return;").unwrap(),
            Stmt::Return(Some(e)) => writeln!(out, "{pad}return {};", self.expr(e)).unwrap(),
            Stmt::Discard => writeln!(out, "{pad}discard;").unwrap(),
            Stmt::Barrier => writeln!(out, "{pad}barrier();").unwrap(),
            Stmt::Block(body) => {
                writeln!(out, "{pad}{{").unwrap();
                self.body(out, depth + 1, body);
                writeln!(out, "{pad}}}").unwrap();
            }
            Stmt::Rounds(v, n, body) => {
                let k = &self.vars[*v].name;
                writeln!(out, "{pad}for (int {k} = 0; {k} < {n}; {k}++) {{").unwrap();
                self.body(out, depth + 1, body);
                writeln!(out, "{pad}}}").unwrap();
            }
        }
    }

    /// The program as GLSL for Vulkan.
    pub fn glsl(&self) -> String {
        let mut out = String::from("#version 450\n");
        if self.stage == Stage::Compute {
            writeln!(out, "layout(local_size_x = {}) in;", self.group).unwrap();
        }
        for s in &self.structs {
            let members: Vec<String> = s.members.iter().map(|(n, t)| format!("{};", self.named(t, n))).collect();
            writeln!(out, "struct {} {{ {} }};", s.name, members.join(" ")).unwrap();
        }
        for b in &self.blocks {
            let kind = if b.uniform { ("std140", "uniform") } else { ("std430", if b.writable { "buffer" } else { "readonly buffer" }) };
            writeln!(out, "layout({}, binding = {}) {} {} {{", kind.0, b.binding, kind.1, b.name).unwrap();
            for (v, row_major) in &b.members {
                let name = self.vars[*v].name.rsplit('.').next().unwrap();
                let row = if *row_major { "layout(row_major) " } else { "" };
                writeln!(out, "  {row}{};", self.named(&self.vars[*v].ty, name)).unwrap();
            }
            writeln!(out, "}}{}{};", if b.instance.is_empty() { "" } else { " " }, b.instance).unwrap();
        }
        for (dir, list) in [("in", &self.inputs), ("out", &self.outputs)] {
            for (n, v) in list.iter().enumerate() {
                let t = &self.vars[*v].ty;
                // What is flat in a fragment program is flat in the vertex program too.
                let between = (self.stage == Stage::Fragment) == (dir == "in");
                let flat = if between && t.simple().unwrap().0 != Base::Float { "flat " } else { "" };
                writeln!(out, "layout(location = {n}) {flat}{dir} {};", self.named(t, &self.vars[*v].name)).unwrap();
            }
        }
        for v in &self.shared {
            writeln!(out, "shared {};", self.named(&self.vars[*v].ty, &self.vars[*v].name)).unwrap();
        }
        for lanes in 1..=4 {
            let t = self.ty(&Ty::lanes_of(Base::Float, lanes));
            writeln!(out, "{t} q({t} v) {{ v = floor(v * 4.0) * 0.25; return v - 32.0 * floor(v * 0.03125); }}").unwrap();
        }
        for (v, constant, init) in &self.globals {
            let word = if *constant { "const " } else { "" };
            writeln!(out, "{word}{} = {};", self.named(&self.vars[*v].ty, &self.vars[*v].name), self.expr(init)).unwrap();
        }
        for f in &self.functions {
            let one = |(v, m): &(VarId, Mode)| {
                let mode = match m {
                    Mode::In => "",
                    Mode::ConstIn => "const in ",
                    Mode::Out => "out ",
                    Mode::InOut => "inout ",
                };
                format!("{mode}{}", self.named(&self.vars[*v].ty, &self.vars[*v].name))
            };
            let params: Vec<String> = f.params.iter().map(one).collect();
            writeln!(out, "{} {}({}) {{", self.ty(&f.result), f.name, params.join(", ")).unwrap();
            self.body(&mut out, 1, &f.body);
            out.push_str("}\n");
        }
        out.push_str("void main() {\n");
        if self.stage == Stage::Compute {
            writeln!(out, "  int {} = int(gl_LocalInvocationIndex);", self.vars[self.lane].name).unwrap();
            writeln!(out, "  int {} = int(gl_WorkGroupID.x);", self.vars[self.group_number].name).unwrap();
        }
        self.body(&mut out, 1, &self.main);
        if self.stage == Stage::Vertex {
            out.push_str("  gl_Position = vec4(0.0, 0.0, 0.0, 1.0);\n");
        }
        out.push_str("}\n");
        out
    }
}
