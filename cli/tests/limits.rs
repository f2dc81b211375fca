//! `--limit`, and the library's limits and flag: refused with a code, what was needed and what there is; within them nothing changes.
#![allow(clippy::unwrap_used)]

mod support;

use retroshade::ir::Stage;
use retroshade::lower::{Cancel, Limits, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::Folder;

const SOURCE: &str = "#version 450
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 o;
void main() { vec4 x = a; if (a.x > 0.5) { x = a.yzwx * 2.0; } o = x + a; gl_Position = a; }
";

#[test]
fn each_limit_refuses_with_its_code() {
    let f = Folder::new("limits").with("a.vert", SOURCE);
    let plain = f.succeeds(&["-t", "tesla", "--emit", "bin", "-o", "plain", "a.vert"]);
    assert!(plain.status.success());
    for (limit, code) in [("instructions=3", "C0013"), ("blocks=0", "C0031"), ("code=8", "C0032"), ("input=20", "C0004")] {
        let o = f.run(&["-t", "tesla", "--limit", limit, "--emit", "bin", "-o", "no", "a.vert"]);
        let text = String::from_utf8_lossy(&o.stderr).to_string();
        assert_eq!(o.status.code(), Some(3), "{limit}: {text}");
        assert!(text.contains(&format!("error[{code}]")) && text.contains("needed") && text.contains("available"), "{limit}: {text}");
        assert!(!f.0.join("no").exists(), "{limit}");
    }
    for target in ["tesla", "usse", "r700", "pica"] {
        f.succeeds(&["-t", target, "--emit", "bin", "-o", "one", "a.vert"]);
        f.succeeds(&[
            "-t",
            target,
            "--limit",
            "time=100000",
            "--limit",
            "memory=100000",
            "--limit",
            "code=4000",
            "--emit",
            "bin",
            "-o",
            "two",
            "a.vert",
        ]);
        assert_eq!(f.bytes("one"), f.bytes("two"), "{target}");
    }
    let o = f.run(&["-t", "tesla", "--limit", "patience=1", "a.vert"]);
    assert!(o.status.code() == Some(2) && String::from_utf8_lossy(&o.stderr).contains("instructions"), "{o:?}");
}

#[test]
fn the_library_has_limits_and_a_flag() {
    let m = retroshade::frontend::glsl(
        "a.vert",
        SOURCE,
        &retroshade::frontend::FrontOptions { stage: Some(Stage::Vertex), ..Default::default() },
    )
    .unwrap();
    for isa in retroshade::targets() {
        let flag = Arc::new(AtomicBool::new(false));
        let options = Options { cancel: Cancel::when(flag.clone()), ..Options::default() };
        assert!(isa.compile(&m, &options).is_ok(), "{}", isa.name());
        flag.store(true, Ordering::Relaxed);
        let e = isa.compile(&m, &options).unwrap_err();
        assert_eq!((e.exit_status(), e.diagnostics()[0].code), (3, "C0033"), "{}", isa.name());
        let few = Options { limits: Limits { instructions: 2, ..Limits::default() }, ..Options::default() };
        assert_eq!(isa.compile(&m, &few).unwrap_err().diagnostics()[0].code, "C0013");
        // A search that may try nothing more still has its first way.
        let one = Options { limits: Limits { trials: 1, ..Limits::default() }, ..Options::default() };
        assert!(isa.compile(&m, &one).is_ok(), "{}", isa.name());
    }
}
