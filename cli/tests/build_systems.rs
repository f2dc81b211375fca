//! The rules of `docs/build-systems.md`, as they stand there: the second build does nothing, and touching an include builds what includes it.
//! And those of `docs/targets/pica-3ds.md`: a geometry program gets into the file, its uniforms into the header.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

const VERTEX: &str = "#version 330\n#include \"common.glsl\"\nin vec4 p; void main() { gl_Position = twice(p); }\n";
const FRAGMENT: &str = "#version 330\nout vec4 c; void main() { c = vec4(1.0); }\n";
const COMMON: &str = "vec4 twice(vec4 v) { return v * 2.0; }\n";

/// The first block of a language on a page.
fn block(page: &str, language: &str) -> String {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page)).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_string()
}

fn rule(language: &str) -> String {
    block("build-systems.md", language)
}

/// A project with two shaders, one of which includes a file.
fn project(name: &str) -> PathBuf {
    let f = std::env::temp_dir().join(format!("shaderc-build-systems-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&f);
    std::fs::create_dir_all(f.join("shaders")).unwrap();
    for (file, text) in [("a.vert", VERTEX), ("b.frag", FRAGMENT), ("common.glsl", COMMON)] {
        std::fs::write(f.join("shaders").join(file), text).unwrap();
    }
    f
}

fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        println!("skipped: no {program}");
    }
    found
}

/// Runs a program with the command in its path.
fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let command = Path::new(env!("CARGO_BIN_EXE_shaderc")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([command.to_path_buf()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let o = Command::new(program).args(arguments).current_dir(folder).env("PATH", path).output().unwrap();
    assert!(o.status.success(), "{program}: {}{}", String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr));
}

/// When a file was written.
fn written(path: &Path) -> std::time::SystemTime {
    std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).modified().unwrap()
}

/// Gives a file a time that is later than that of everything built so far.
fn touch(path: &Path) {
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
}

/// Builds three times: everything, nothing, what includes the touched file.
fn three_builds(folder: &Path, out: &Path, build: &dyn Fn()) {
    let (vertex, fragment) = (out.join("a.vert.usse.gxp"), out.join("b.frag.usse.gxp"));
    build();
    let first = [written(&vertex), written(&fragment)];
    build();
    assert_eq!(first, [written(&vertex), written(&fragment)], "the second build did something");
    touch(&folder.join("shaders/common.glsl"));
    build();
    assert!(written(&vertex) > first[0], "an include was touched and its dependant not built");
    assert_eq!(first[1], written(&fragment), "what does not include it was built");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn make() {
    if !installed("make") {
        return;
    }
    let f = project("make");
    std::fs::write(f.join("Makefile"), rule("make")).unwrap();
    three_builds(&f, &f.join("out"), &|| run(&f, "make", &["--no-print-directory"]));
}

#[test]
fn ninja() {
    if !installed("ninja") {
        return;
    }
    let f = project("ninja");
    std::fs::create_dir_all(f.join("out")).unwrap();
    std::fs::write(f.join("build.ninja"), rule("ninja")).unwrap();
    three_builds(&f, &f.join("out"), &|| run(&f, "ninja", &[]));
}

#[test]
fn cmake_with_ninja() {
    if !installed("cmake") || !installed("ninja") {
        return;
    }
    let f = project("cmake");
    std::fs::write(f.join("CMakeLists.txt"), rule("cmake")).unwrap();
    run(&f, "cmake", &["-S", ".", "-B", "build", "-G", "Ninja"]);
    three_builds(&f, &f.join("build"), &|| run(&f, "cmake", &["--build", "build"]));
}

/// What a distributed engine does with an action: an empty folder with the inputs alone, an empty environment, another place.
#[test]
fn a_hermetic_leaf() {
    let f = project("leaf");
    let compile = |folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shaderc"));
        command.current_dir(folder).env_clear().args(["--target", "usse", "-o", "a.gxp", "shaders/a.vert"]);
        let o = command.output().unwrap();
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
        std::fs::read(folder.join("a.gxp")).unwrap()
    };
    let other = f.join("another/place");
    std::fs::create_dir_all(other.join("shaders")).unwrap();
    for file in ["a.vert", "common.glsl"] {
        std::fs::copy(f.join("shaders").join(file), other.join("shaders").join(file)).unwrap();
    }
    assert_eq!(compile(&f), compile(&other));
    std::fs::remove_dir_all(&f).unwrap();
}

/// A project for the 3DS: one program alone, and one with a geometry program of the same name.
fn pica_project(name: &str) -> PathBuf {
    let f = std::env::temp_dir().join(format!("shaderc-build-systems-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&f);
    std::fs::create_dir_all(&f).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/pica");
    for (from, to) in [("particle.vert", "sprites.vert"), ("particle.geom", "sprites.geom"), ("toon.vert", "toon.vert")] {
        std::fs::copy(examples.join(from), f.join(to)).unwrap();
    }
    f
}

/// The file has its entry points, the header the uniforms of all of them.
fn pica_built(f: &Path, name: &str, stages: &[&str]) {
    let bytes = std::fs::read(f.join(format!("{name}.shbin"))).unwrap();
    assert_eq!(bytes[4] as usize, stages.len(), "entry points of {name}");
    let header = std::fs::read_to_string(f.join(format!("{name}_shader.h"))).unwrap();
    for stage in ["VSH", "GSH"] {
        assert_eq!(header.contains(&format!("#define {stage}_FVEC_")), stages.contains(&stage), "{name}: {header}");
    }
}

#[test]
fn make_for_the_3ds() {
    if !installed("make") {
        return;
    }
    let f = pica_project("make-3ds");
    // `bin2o` is devkitPro's, and its template keeps the files.
    let makefile =
        format!("all: sprites.shbin.o toon.shbin.o\n.PRECIOUS: %.shbin\nbin2o = touch $@\n{}", block("targets/pica-3ds.md", "make"));
    std::fs::write(f.join("Makefile"), makefile).unwrap();
    run(&f, "make", &["--no-print-directory"]);
    pica_built(&f, "sprites", &["VSH", "GSH"]);
    pica_built(&f, "toon", &["VSH"]);
    std::fs::remove_dir_all(&f).unwrap();
}
