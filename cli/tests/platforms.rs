//! The projects of `examples/platforms`: every shader compiles by the commands of its own build file, and what needs no console's tools is
//! built and run. With `RETROSHADE_SDKS=FOLDER`, where checkouts of libctru, citro3d, vita-headers, vitaGL, vitaShaRK and wut lie, the C of the console
//! projects is compiled, too, by Debian's compilers for ARM (with newlib) and PowerPC.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn project(name: &str) -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/platforms").join(name)).unwrap()
}

/// A folder for what is built.
fn scratch(name: &str) -> PathBuf {
    let out = std::env::temp_dir().join(format!("shaderc-platforms-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).unwrap();
    out
}

fn text(o: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr))
}

/// Whether a program is there.
fn installed(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !found {
        println!("skipped: no {program}");
    }
    found
}

fn make(name: &str, goal: &str) -> (PathBuf, String) {
    let out = scratch(name);
    let build = format!("BUILD={}", out.display());
    let shaderc = format!("SHADERC={}", env!("CARGO_BIN_EXE_shaderc"));
    let o = Command::new("make").arg("-C").arg(project(name)).args([goal, &build, &shaderc]).output().unwrap();
    assert!(o.status.success(), "{name}: {}", text(&o));
    (out, text(&o))
}

/// The commands of a `CMakeLists.txt` that call shaderc, with every value of the loop around them.
fn cmake_commands(name: &str) -> Vec<Vec<String>> {
    let folder = project(name);
    let list = fs::read_to_string(folder.join("CMakeLists.txt")).unwrap();
    let out_name =
        list.lines().find_map(|l| l.trim().strip_prefix("set(out ${CMAKE_CURRENT_BINARY_DIR}/")).map_or("", |l| l.trim_end_matches(')'));
    let of_loop = list.lines().find_map(|l| l.trim().strip_prefix("foreach(shader ")).map(|l| l.trim_end_matches(')'));
    let shaders: Vec<&str> = of_loop.unwrap_or("").split(' ').collect();
    let mut out = Vec::new();
    for line in list.lines().filter_map(|l| l.trim().strip_prefix("COMMAND ${SHADERC} ")) {
        for s in &shaders {
            let symbol = s.replace('.', "_");
            let values =
                [("${out}", out_name), ("${CMAKE_CURRENT_SOURCE_DIR}", folder.to_str().unwrap()), ("${shader}", s), ("${symbol}", &symbol)];
            let full = values.iter().fold(line.to_string(), |l, (name, value)| l.replace(name, value));
            assert!(!full.contains("${"), "{full}");
            out.push(full.split(' ').map(str::to_string).collect());
        }
    }
    assert!(!out.is_empty(), "{name}");
    out
}

/// Runs the commands; gives what they wrote, the largest file of each.
fn shaders_of_cmake(name: &str) -> Vec<Vec<u8>> {
    let mut written = Vec::new();
    for (n, c) in cmake_commands(name).iter().enumerate() {
        let out = scratch(&format!("{name}-{n}"));
        let o = Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(&out).args(c).output().unwrap();
        assert!(o.status.success() && !text(&o).contains("warning"), "{c:?}: {}", text(&o));
        let files = fs::read_dir(&out).unwrap().map(|f| fs::read(f.unwrap().path()).unwrap());
        written.push(files.max_by_key(Vec::len).unwrap_or_default());
        fs::remove_dir_all(&out).unwrap();
    }
    written
}

/// A checkout of a console's library below `RETROSHADE_SDKS`.
fn sdk(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os("RETROSHADE_SDKS").map(|f| PathBuf::from(f).join(name)).filter(|f| f.is_dir());
    if found.is_none() {
        println!("skipped: no {name} in RETROSHADE_SDKS");
    }
    found
}

/// Compiles C with all warnings as errors: its flags, folders of headers, and files.
fn compiles(compiler: &str, flags: &str, includes: &[PathBuf], files: &[PathBuf]) {
    if !installed(compiler) {
        return;
    }
    for f in files {
        let mut c = Command::new(compiler);
        c.args(["-O2", "-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null"]).args(flags.split(' '));
        for i in includes {
            c.arg("-I").arg(i);
        }
        let o = c.arg(f).output().unwrap();
        assert!(o.status.success(), "{}: {}", f.display(), text(&o));
    }
}

#[test]
fn c_for_the_3ds() {
    let (Some(ctru), Some(citro)) = (sdk("libctru"), sdk("citro3d")) else { return };
    let (out, _) = make("3ds-c", "shaders");
    // What bin2s would write.
    fs::write(out.join("lit_shbin.h"), "extern const u8 lit_shbin[];\nextern const u32 lit_shbin_size;\n").unwrap();
    let includes = [ctru.join("libctru/include"), citro.join("include"), out.clone()];
    let flags = "-mword-relocations -ffunction-sections -march=armv6k -mtune=mpcore -mfloat-abi=hard -mfpu=vfp -mtp=soft -D__3DS__";
    compiles("arm-none-eabi-gcc", flags, &includes, &[project("3ds-c").join("source/main.c")]);
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn c_for_the_vita() {
    let flags = "-mcpu=cortex-a9 -mfpu=neon -mfloat-abi=hard -mthumb -D__vita__";
    let Some(vita) = sdk("vita-headers").map(|f| f.join("include")) else { return };
    for (name, libraries) in [("vita-gxm", vec![]), ("vita-vitagl", vec!["vitaGL/source", "vitaShaRK/source"])] {
        let Some(libraries) = libraries.into_iter().map(sdk).collect::<Option<Vec<PathBuf>>>() else { return };
        let out = scratch(&format!("{name}-c"));
        for c in cmake_commands(name) {
            let o = Command::new(env!("CARGO_BIN_EXE_shaderc")).current_dir(&out).args(&c).output().unwrap();
            assert!(o.status.success(), "{}", text(&o));
        }
        // What `xxd -i` would write.
        for file in fs::read_dir(&out).unwrap().map(|f| f.unwrap().path()).filter(|f| f.extension().is_some_and(|e| e == "bin")) {
            let symbol = file.file_stem().unwrap().to_str().unwrap().to_string();
            let bytes: String = fs::read(&file).unwrap().iter().map(|b| format!("{b},")).collect();
            let code = format!("unsigned char {symbol}_bin[] = {{{bytes}}};\nunsigned int {symbol}_bin_len = sizeof {symbol}_bin;\n");
            fs::write(out.join(format!("{symbol}.h")), code).unwrap();
        }
        let includes: Vec<PathBuf> = [vita.clone(), out.clone()].into_iter().chain(libraries).collect();
        let files = fs::read_dir(project(name).join("src")).unwrap().map(|f| f.unwrap().path());
        compiles("arm-none-eabi-gcc", flags, &includes, &files.filter(|f| f.extension().is_some_and(|e| e == "c")).collect::<Vec<_>>());
        fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn c_for_the_wii_u() {
    let Some(wut) = sdk("wut") else { return };
    let newlib = Path::new("/usr/include/newlib");
    if !newlib.is_dir() || !installed("powerpc-linux-gnu-gcc") {
        println!("skipped: no C library's headers");
        return;
    }
    let own = Command::new("powerpc-linux-gnu-gcc").arg("-print-file-name=include").output().unwrap();
    let libraries = fs::read_dir(wut.join("libraries")).unwrap().map(|f| f.unwrap().path().join("include")).filter(|f| f.is_dir());
    let includes: Vec<PathBuf> = std::iter::once(wut.join("include")).chain(libraries).collect();
    let flags =
        format!("-mcpu=750 -mhard-float -D__WIIU__ -D__WUT__ -nostdinc -isystem {} -isystem {}", text(&own).trim(), newlib.display());
    compiles("powerpc-linux-gnu-gcc", &flags, &includes, &[project("wiiu").join("src/main.c")]);
}

#[test]
fn vita() {
    let headers = shaders_of_cmake("vita-gxm");
    assert_eq!(headers.len(), 2);
    let source = fs::read_to_string(project("vita-gxm").join("src/main.c")).unwrap();
    for (h, symbol) in headers.iter().zip(["cube_v_gxp", "cube_f_gxp"]) {
        assert!(String::from_utf8_lossy(h).contains(symbol) && source.contains(symbol));
    }
    let programs = shaders_of_cmake("vita-vitagl");
    assert_eq!(programs.len(), 2);
    assert!(programs.iter().all(|p| p.windows(4).any(|w| w == b"GXP\0")));
}

#[test]
fn wiiu() {
    let files = shaders_of_cmake("wiiu");
    assert!(files[0].starts_with(b"Gfx2"));
}

#[test]
fn nintendo_3ds() {
    if installed("make") {
        let (out, _) = make("3ds-c", "shaders");
        assert!(fs::read(out.join("lit.shbin")).unwrap().starts_with(b"DVLB"));
        // Every register that the program names is in the header.
        let header = fs::read_to_string(out.join("lit_shader.h")).unwrap();
        let source = fs::read_to_string(project("3ds-c").join("source/main.c")).unwrap();
        let names = source.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.starts_with("VSH_"));
        assert!(names.map(|n| assert!(header.contains(&format!("#define {n} ")), "{n}")).count() >= 6);
        fs::remove_dir_all(&out).unwrap();
    }
    let built = retroshade::build::Shader::new(project("3ds-rust").join("shaders/triangle.vert")).target("pica").compile().unwrap();
    assert!(built.rust().contains("pub const PROJECTION: Uniform<[[f32; 4]; 4]>"));
}

#[test]
fn drivers() {
    if !installed("make") || !installed("cc") {
        return;
    }
    let (out, said) = make("radeon", "run");
    assert!(said.contains("SQ_PGM_RESOURCES_PS") && said.contains("c0016900"), "{said}");
    fs::remove_dir_all(out).unwrap();
    let (out, said) = make("tesla", "run");
    // The example asks for 0x12300: every branch leads behind it.
    assert!(said.contains("branches moved") && said.contains("a thread takes"), "{said}");
    let object = fs::read(out.join("sum.o")).unwrap();
    let moved = Command::new(out.join("load")).arg(out.join("sum.o")).arg("0").output().unwrap();
    let words = |text: &str| text.lines().skip_while(|l| !l.contains("branches moved")).skip(1).map(str::to_string).collect::<Vec<_>>();
    let here = words(&said).into_iter().filter(|l| !l.starts_with("make")).collect::<Vec<_>>();
    assert_ne!(here, words(&text(&moved)));
    // At address 0 nothing changes: the words are those of the object.
    let first = u32::from_str_radix(text(&moved).lines().nth(2).unwrap().split(' ').next().unwrap(), 16).unwrap();
    assert!(object.windows(4).any(|w| w == first.to_le_bytes()));
    fs::remove_dir_all(out).unwrap();
}
