//! Programs of other people, built as they would build them: from C, with one machine, by a build script, by the macro, with a naga module.
//!
//! Cargo works offline with this workspace's lock file; where a package has never been downloaded, the test says that it skips.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().canonicalize().unwrap()
}

/// A folder that stays from one run to the next, so that only what has changed is built again.
fn folder(name: &str) -> PathBuf {
    let f = Path::new(env!("CARGO_TARGET_TMPDIR")).join("external").join(name);
    std::fs::create_dir_all(&f).unwrap();
    f
}

/// Copies a folder; manifests name this workspace by its full path, and belong to the one that they are copied to.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for e in std::fs::read_dir(from).unwrap() {
        let (from, to) = (e.as_ref().unwrap().path(), to.join(e.unwrap().file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else if from.file_name().is_some_and(|n| n == "Cargo.toml") {
            let text = std::fs::read_to_string(&from).unwrap();
            write(&to, &text.replace("../..", &root().display().to_string()).replace("[workspace]\n", ""));
        } else {
            write(&to, &std::fs::read_to_string(&from).unwrap());
        }
    }
}

/// Writes a file unless it is the same already: what has not changed is not built again.
fn write(path: &Path, text: &str) {
    if std::fs::read_to_string(path).ok().as_deref() != Some(text) {
        std::fs::write(path, text).unwrap();
    }
}

/// The programs of `examples/` that cargo builds.
const PROGRAMS: [&str; 4] = ["build-script", "macro", "naga", "one-target"];

/// The programs in one workspace, with this workspace's versions of everything: what they have in common is built once.
fn programs() -> PathBuf {
    let f = folder("programs");
    for name in PROGRAMS {
        copy(&root().join("examples").join(name), &f.join(name));
    }
    let members = PROGRAMS.map(|name| format!("\"{name}\"")).join(", ");
    // Without information for debuggers the build scripts' crates are the programs' own.
    write(&f.join("Cargo.toml"), &format!("[workspace]\nmembers = [{members}]\nresolver = \"2\"\n[profile.dev]\ndebug = false\n"));
    std::fs::copy(root().join("Cargo.lock"), f.join("Cargo.lock")).unwrap();
    f
}

/// What cargo says to a command in a folder; nothing where it lacks a package.
fn cargo(folder: &Path, arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(folder).args(arguments).args(["--offline", "--quiet"]);
    command.env("CARGO_TARGET_DIR", target());
    let out = command.output().unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    if text.contains("attempting to make an HTTP request")
        || text.contains("no matching package")
        || text.contains("--offline was specified")
    {
        println!("skipped: a package has never been downloaded\n{text}");
        return None;
    }
    Some(out)
}

/// Where cargo puts what it builds of them.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("external/target")
}

/// Runs an example; its output.
fn runs(name: &str) -> Option<String> {
    static BUILT: OnceLock<bool> = OnceLock::new();
    let built = *BUILT.get_or_init(|| {
        let out = cargo(&programs(), &["build", "--workspace"]);
        assert!(out.as_ref().is_none_or(|o| o.status.success()), "{}", String::from_utf8_lossy(&out.unwrap().stderr));
        out.is_some()
    });
    let program = target().join("debug").join(format!("retroshade-example-{name}"));
    built.then(|| command(program.to_str().unwrap(), &[], &root(), &[]))
}

#[test]
fn a_program_with_one_machine_and_no_command() {
    if let Some(text) = runs("one-target") {
        assert!(text.contains("mul "), "{text}");
    }
}

#[test]
fn a_build_script() {
    if let Some(text) = runs("build-script") {
        assert!(text.contains("bytes of SHBIN"), "{text}");
    }
}

#[test]
fn a_program_with_a_naga_module() {
    if let Some(text) = runs("naga") {
        assert!(text.contains("bytes of SHBIN"), "{text}");
    }
}

#[test]
fn the_macro_and_its_errors() {
    let Some(text) = runs("macro") else { return };
    assert!(text.contains("`scale` in c"), "{text}");
    // A shader that is wrong: an error at the literal, with the shader's own line.
    let (all, f) = (folder("programs"), folder("programs").join("macro"));
    std::fs::write(f.join("src/twice.wgsl"), "@vertex\nfn main() -> @builtin(position) vec4<f32> {\n    return nothing;\n}\n").unwrap();
    let out = cargo(&all, &["build", "--workspace"]).unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && text.contains("twice.wgsl:3:12: error[F0010]") && text.contains("src/main.rs:6:33"), "{text}");
    let main = std::fs::read_to_string(f.join("src/main.rs")).unwrap();
    std::fs::write(f.join("src/main.rs"), main.replace("\"pica\"", "\"pika\"")).unwrap();
    let text = String::from_utf8_lossy(&cargo(&all, &["build", "--workspace"]).unwrap().stderr).into_owned();
    assert!(text.contains("there is no target `pika`; targets are "), "{text}");
}

/// The folder in which the running test's build has its libraries.
fn built() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_shaderc")).parent().unwrap().to_path_buf()
}

/// Runs a command that must succeed.
fn command(program: &str, arguments: &[&str], folder: &Path, variables: &[(&str, &Path)]) -> String {
    let out = Command::new(program).args(arguments).current_dir(folder).envs(variables.iter().copied()).output();
    let out = out.unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(out.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

#[test]
fn a_c_program() {
    if let Some(missing) = ["cc", "make", "pkg-config"].into_iter().find(|p| !installed(p)) {
        println!("skipped: no {missing}");
        return;
    }
    // The libraries of the build that runs: the features of the whole workspace, so that nothing else is built again.
    let profile = if built().ends_with("release") { "release" } else { "test" };
    let target = built().parent().unwrap().to_path_buf();
    let libraries = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["build", "--workspace", "--lib", "--offline", "--quiet", "--profile", profile, "--target-dir"])
        .arg(&target)
        .output()
        .unwrap();
    assert!(libraries.status.success(), "{}", String::from_utf8_lossy(&libraries.stderr));
    let f = folder("c");
    let prefix = f.join("prefix");
    let (place, from) = (format!("PREFIX={}", prefix.display()), format!("BUILT={}", built().display()));
    command("make", &["--no-print-directory", "install", &place, &from], &root().join("capi"), &[]);
    let packages = prefix.join("lib/pkgconfig");
    let config = |a: &[&str]| command("pkg-config", a, &f, &[("PKG_CONFIG_PATH", &packages)]);
    assert_eq!(config(&["--modversion", "retroshade"]).trim(), env!("CARGO_PKG_VERSION"));
    let source = root().join("examples/c/compile.c").display().to_string();
    let flags = |a: &[&str]| config(a).split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let shared = flags(&["--cflags", "--libs", "retroshade"]);
    let archive = prefix.join("lib/libretroshade_c.a").display().to_string();
    let statically: Vec<String> = flags(&["--cflags", "--libs", "--static", "retroshade"])
        .into_iter()
        .map(|w| if w == "-lretroshade_c" { archive.clone() } else { w })
        .collect();
    for (name, flags) in [("shared", shared), ("static", statically)] {
        let mut arguments = vec!["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", name, source.as_str()];
        arguments.extend(flags.iter().map(String::as_str));
        command("cc", &arguments, &f, &[]);
        let wgsl = f.join("a.wgsl");
        std::fs::write(&wgsl, "@vertex fn main(@location(0) p: vec4<f32>) -> @builtin(position) vec4<f32> { return p * 2.0; }").unwrap();
        let program = f.join(name).display().to_string();
        let reflection = command(&program, &["a.wgsl", "pica", "a.shbin"], &f, &[("LD_LIBRARY_PATH", &prefix.join("lib"))]);
        let reflection: serde_json::Value = serde_json::from_str(&reflection).unwrap();
        assert_eq!((reflection["target"].as_str(), reflection["inputs"][0]["name"].as_str()), (Some("pica"), Some("p")));
        // The same bytes as the command's.
        command(env!("CARGO_BIN_EXE_shaderc"), &["-o", "b.shbin", "a.wgsl"], &f, &[]);
        assert_eq!(std::fs::read(f.join("a.shbin")).unwrap(), std::fs::read(f.join("b.shbin")).unwrap());
        let unused = "#version 450\nlayout(binding = 0) uniform U { vec4 spare; };\nvoid main() { gl_Position = vec4(1.0); }\n";
        std::fs::write(f.join("u.vert"), unused).unwrap();
        let mut warned = Command::new(&program);
        warned.args(["u.vert", "pica", "u.shbin"]).current_dir(&f).env("LD_LIBRARY_PATH", prefix.join("lib"));
        let out = warned.output().unwrap();
        let line: serde_json::Value = serde_json::from_slice(&out.stderr).unwrap();
        assert_eq!((out.status.code(), line["code"].as_str(), line["severity"].as_str()), (Some(0), Some("W0002"), Some("warning")));
        std::fs::write(&wgsl, "@vertex fn main() -> @builtin(position) vec4<f32> {\n  return nothing;\n}").unwrap();
        let mut wrong = Command::new(&program);
        wrong.args(["a.wgsl", "pica", "a.shbin"]).current_dir(&f).env("LD_LIBRARY_PATH", prefix.join("lib"));
        let out = wrong.output().unwrap();
        let line: serde_json::Value = serde_json::from_slice(&out.stderr).unwrap();
        assert_eq!((out.status.code(), line["code"].as_str(), line["line"].as_u64()), (Some(1), Some("F0010"), Some(2)));
    }
}

/// Names and parameter counts of functions in a text, each behind `mark`.
fn functions(text: &str, mark: &str) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = text
        .split(mark)
        .skip(1)
        .map(|t| {
            let (name, rest) = t.split_once('(').unwrap();
            let parameters = rest.split(')').next().unwrap().trim().trim_end_matches(',');
            let none = parameters.is_empty() || parameters == "void";
            (name.to_string(), if none { 0 } else { parameters.split(',').count() })
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_header_declares_what_the_library_has() {
    let capi = root().join("capi");
    let header = std::fs::read_to_string(capi.join("include/retroshade.h")).unwrap();
    let source = std::fs::read_to_string(capi.join("src/lib.rs")).unwrap();
    let declared: String = header.lines().filter(|l| !l.starts_with("//")).map(|l| format!("{l}\n")).collect();
    let of_source = functions(&source, "extern \"C\" fn ");
    let of_header: Vec<(String, usize)> =
        functions(&declared, "retroshade_").into_iter().map(|(n, k)| (format!("retroshade_{n}"), k)).collect();
    assert!(of_source.len() > 8);
    assert_eq!(of_source, of_header);
    // Where cbindgen is installed, every word is compared.
    if !installed("cbindgen") {
        println!("skipped: no cbindgen to make the header with");
        return;
    }
    assert_eq!(command("cbindgen", &["--quiet", "--config", "cbindgen.toml", "src/lib.rs"], &capi, &[]), header);
}
