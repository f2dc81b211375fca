//! The file assembler, the container and their robustness.
#![allow(clippy::unwrap_used)]

use retroshade_lower::TextOptions;
use retroshade_lower::testing::beside;
use retroshade_pica::container::{Constant, Shbin};

const SAMPLE: &str = "
.fvec projection[4], modelView[4]
.bool lit
.constf k(0.0, 1.0, -1.0, 0.5)
.consti n(3, 0, 1, 0)
.alias ones k.yyyy
.out outpos position
.out outclr color
.out outtc0 texcoord0.st
.out -      texcoord0w outtc0.p
.in inpos v0
.in inclr
.proc helper
    add r3, ones, r3
.end
.proc main
    dph r1.x, inpos, projection[0]
    mova a0.xy, r1
    mov r3, inclr
    for n
        mad r3, r3, r3, modelView[aL]
    .end
    cmp r3, lt, ge, r1
    ifc cmp.x && !cmp.y
        mov r3.x, -k.z
    .else
        ifu lit
            call helper
        .end
    .end
    jmpc !cmp.x, skip
    mov r3.w, projection[a0.x + 2].wzyx
skip:
    mov outclr, r3
    mov outpos, r1.x
    mov outtc0.stp, r3
    end
.end
";

fn asm(text: &str) -> Vec<u8> {
    retroshade_pica::isa().assemble(text, &TextOptions::default()).unwrap().container.unwrap()
}

#[test]
fn sample_survives_disassembly() {
    let bytes = asm(SAMPLE);
    let bin = Shbin::read(&bytes).unwrap();
    assert_eq!(bin.write(), bytes);
    let isa = retroshade_pica::isa();
    let text = isa.disassemble(&bytes, &TextOptions::default()).unwrap();
    let again = Shbin::read(&asm(&text)).unwrap();
    assert_eq!(again.code.len(), bin.code.len(), "{text}");
    assert_eq!(isa.disassemble(&again.write(), &TextOptions::default()).unwrap(), text);
    assert_eq!(isa.lint(&bytes, &TextOptions::default()).unwrap(), vec![], "{text}");
}

#[test]
fn padding_follows_the_rules() {
    // The call is last in its block, and two blocks end together: two NOPs.
    let text = retroshade_pica::isa().disassemble(&asm(SAMPLE), &TextOptions::default()).unwrap();
    assert_eq!(text.matches("nop").count(), 2, "{text}");
}

#[test]
fn errors_have_places() {
    let e = retroshade_pica::isa()
        .assemble(".proc main\n  add r0, c1, c2\n  mov o0, o1\n  add r0, v1, v2\n  jmpc cmp.x, nowhere\n.end\n", &TextOptions::default())
        .unwrap_err();
    let lines: Vec<u32> = e.iter().map(|e| e.line).collect();
    assert_eq!(lines, [2, 3, 4, 5], "{e:?}");
    // A wrong head of a block is one error: what belongs to it stays where it is.
    let text = ".proc main\n  ifu !b0\n  nop\n  .else\n  for c1\n  nop\n  .end\n  .end\n  end\n.end\n";
    let e = retroshade_pica::isa().assemble(text, &TextOptions::default()).unwrap_err();
    assert_eq!(e.iter().map(|e| e.line).collect::<Vec<_>>(), [2, 5], "{e:?}");
}

#[test]
fn lint_names_what_freezes_the_chip() {
    let lint = |text: &str| {
        let all = retroshade_pica::isa().lint(text.as_bytes(), &TextOptions::default()).unwrap();
        all.into_iter().map(|e| e.message).collect::<Vec<_>>().join("\n")
    };
    let head = ".constf k(0.0, 1.0, 0.0, 0.0)\n.proc main\n";
    assert!(lint(&format!("{head} mova a0.x, v0\n mova a0.y, v0\n end\n.end")).contains("two MOVA"));
    assert!(lint(&format!("{head} mov r0, v0\n.end")).contains("END is missing"));
    assert!(lint(".proc main\n end\n.end").contains("no constant"));
    assert!(lint(&format!("{head} break\n end\n.end")).contains("BREAK outside"));
    assert!(lint(&format!(".out p position\n{head} mov p.xyz, v0\n end\n.end")).contains("component w of o0"));
    assert!(lint(&format!(".out p position o1\n{head} mov p, v0\n end\n.end")).contains("without a gap"));
    // What the assembler refuses, in a file.
    let damaged = |change: &dyn Fn(&mut Shbin)| {
        let mut bin = Shbin::read(&asm(&format!(".out p position\n.out q color\n{head} mov p, v0\n mov q, v0\n end\n.end"))).unwrap();
        change(&mut bin);
        let all = retroshade_pica::isa().lint(&bin.write(), &TextOptions::default()).unwrap();
        all.into_iter().map(|e| e.message).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(damaged(&|_| ()), "");
    assert!(damaged(&|b| b.executables[0].outputs[1].reg = 0).contains("o0 has two meanings: position and color"));
    assert!(damaged(&|b| b.executables[0].outputs[1].reg = 7).contains("o7 has a meaning (color), but only o0 to o6 can"));
    let late = format!(".out p position\n{head} mov p, v0\n mov o8, v0\n end\n.end");
    let mut bin = Shbin::read(&asm(&late)).unwrap();
    bin.executables[0].geometry = true;
    let found = retroshade_pica::isa().lint(&bin.write(), &TextOptions::default()).unwrap();
    assert!(found.iter().any(|e| e.message.contains("write o0 to o6, not o8")), "{found:?}");
    assert_eq!(lint(&format!(".out p position\n{head} mov p, v0\n end\n.end")), "");
}

/// Where picasso puts outputs without a register: the lowest that no output has, whatever stands before.
#[test]
fn outputs_take_the_lowest_free_register() {
    let end = ".proc main\n mov o0, v0\n end\n.end\n";
    let places = |outputs: &str| {
        let bin = Shbin::read(&asm(&format!("{outputs}{end}"))).unwrap();
        bin.executables[0].outputs.iter().map(|o| (o.kind, o.reg)).collect::<Vec<_>>()
    };
    assert_eq!(places(".out b color o1\n.out a position\n"), [(2, 1), (0, 0)]);
    assert_eq!(places(".out a position o2\n.out b color\n.out c texcoord0\n"), [(0, 2), (2, 0), (3, 1)]);
    assert_eq!(places(".out p dummy o7\n.out q position\n"), [(9, 7), (0, 0)]);
    assert_eq!(places(".out p position\n.out t texcoord0.xy\n.out - texcoord0w t.z\n.out u color\n"), [(0, 0), (3, 1), (4, 1), (2, 2)]);
    let refused = |text: &str, what: &str| {
        let e = retroshade_pica::isa().assemble(&format!("{text}{end}"), &TextOptions::default()).unwrap_err();
        assert!(e.iter().any(|e| e.message.contains(what)), "{e:?} does not say `{what}`");
    };
    refused(".out a position\n.out b color o0\n", "o0 has a type already");
    refused(".out a position\n.out b texcoord0 o1.xy\n.out c texcoord1 o1.yz\n", "o1.y has a type already");
    refused(".out a position o7\n", "o7 can only be a dummy");
    refused(".gsh point c0\n.out a position o7\n", "they are o0 to o6");
    let eight: String = (0..8).map(|n| format!(".out a{n} dummy\n")).collect();
    refused(&format!(".gsh point c0\n{eight}"), "too many outputs: there are 7 registers");
    assert_eq!(places(&eight).len(), 8);
    refused(".gsh point c0\n.proc p\n mov o8, v0\n.end\n", "geometry programs write o0 to o6, not o8");
    // The last boolean is the machine's; the array of vertices ends before the uniforms begin.
    refused(".gsh point c0\n.bool b[16]\n", "15 registers are left");
    assert_eq!(places(".bool b[16]\n.out a position\n"), [(0, 0)]);
    refused(".gsh fixed c4 c4 4\n", "where uniforms are allocated");
}

/// Headers as picasso writes them: in the order of the declarations, those of files without an entry included, hidden names left out.
#[test]
fn headers_list_what_was_declared() {
    let header = |text: &str| {
        let all = retroshade_pica::isa().assemble(text, &TextOptions::default()).unwrap().header.unwrap();
        all.lines().skip(2).map(str::to_string).collect::<Vec<_>>()
    };
    let library = ".nodvle\n.fvec lights[4], _hidden\n.bool fog\n.ivec cnt\n.proc light\n mov r0, lights[2]\n.end\n";
    let main = ".fvec proj$x[4]\n.out p position\n.proc main\n call light\n mov p, r0\n end\n.end\n";
    let want = [
        "#define VSH_FVEC_lights 0x00",
        "#define VSH_ULEN_lights 4",
        "#define VSH_FLAG_fog BIT(0)",
        "#define VSH_ULEN_fog 1",
        "#define VSH_IVEC_cnt 0x00",
        "#define VSH_ULEN_cnt 1",
        "#define VSH_FVEC_proj$x 0x05",
        "#define VSH_ULEN_proj$x 4",
    ];
    assert_eq!(header(&format!("{library};;;; file\n{main}")), want);
    // A geometry program's own uniforms have names of their own; what vertex programs share has the first file's prefix.
    let vertex = ".fvec x, m\n.out p position\n.proc main\n mov p, m\n end\n.end\n";
    let geometry = ".gsh point c10\n.fvec m, n\n.out p position\n.entry gm\n.proc gm\n mov p, m\n end\n.end\n";
    let fvec = |text: String| header(&text).into_iter().filter(|l| l.contains("FVEC")).collect::<Vec<_>>();
    let behind = ["#define VSH_FVEC_x 0x00", "#define VSH_FVEC_m 0x01", "#define GSH_FVEC_m 0x0A", "#define GSH_FVEC_n 0x0B"];
    assert_eq!(fvec(format!("{vertex};;;; file\n{geometry}")), behind);
    let before = ["#define GSH_FVEC_x 0x00", "#define GSH_FVEC_m 0x01", "#define GSH_FVEC_n 0x0B"];
    assert_eq!(fvec(format!("{geometry};;;; file\n{vertex}")), before);
}

/// Small things that picasso's sources have.
#[test]
fn names_and_numbers_as_picasso_reads_them() {
    let text = ".in _a\n.bool bb[3]\n.setb bb[2] true\n.consti k(300, -1, 2, 0)\n.out p position\n.proc main\n mov p, _a\n end\n.end\n";
    let bin = Shbin::read(&asm(text)).unwrap();
    let e = &bin.executables[0];
    // Inputs are in the table whatever their names.
    assert_eq!(e.uniforms.iter().map(|u| u.name.as_str()).collect::<Vec<_>>(), ["_a", "bb"]);
    assert_eq!(e.constants, [Constant::Bool(2, true), Constant::Int(3, [44, 255, 2, 0])]);
}

#[test]
fn damaged_files_give_errors() {
    let bytes = asm(SAMPLE);
    let isa = retroshade_pica::isa();
    let all = |b: &[u8]| {
        let _ = isa.disassemble(b, &TextOptions::default());
        let _ = isa.lint(b, &TextOptions::default());
        Shbin::read(b)
    };
    for n in 0..bytes.len() {
        // Only padding behind the last symbol may go unnoticed.
        assert!(all(&bytes[..n]).is_err() || n + 4 > bytes.len(), "cut at {n}");
    }
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..100_000 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let mut b = bytes.clone();
        let at = (seed >> 8) as usize % b.len();
        b[at] ^= 1 << (seed & 7);
        if seed >> 60 == 0 {
            let at = (seed >> 30) as usize % b.len();
            b[at] = (seed >> 20) as u8;
        }
        let _ = all(&b);
    }
}

/// Published shaders: instruction counts exactly, descriptors no more than the reference assembler's.
#[test]
fn published_shaders_where_present() {
    let Some(dir) = beside("density/pica") else { return };
    let table = std::fs::read_to_string(dir.join("picasso.tsv")).unwrap();
    let mut seen = 0;
    for row in table.lines().filter(|l| !l.starts_with('#')) {
        let cells: Vec<&str> = row.split('\t').collect();
        let Ok(source) = std::fs::read_to_string(dir.join(format!("{}.pica", cells[0]))) else { continue };
        let bin = Shbin::read(&asm(&source)).unwrap();
        assert_eq!(bin.code.len().to_string(), cells[1], "{}", cells[0]);
        assert!(bin.descriptors.len() <= cells[3].parse().unwrap(), "{}: {} descriptors", cells[0], bin.descriptors.len());
        let text = retroshade_pica::isa().disassemble(&bin.write(), &TextOptions::default()).unwrap();
        assert_eq!(Shbin::read(&asm(&text)).unwrap().code.len(), bin.code.len(), "{text}");
        println!("{}: {} words, {} descriptors", cells[0], bin.code.len(), bin.descriptors.len());
        seen += 1;
    }
    assert_eq!(seen, 14);
}

/// Hand-written shaders run in the simulator with recorded results.
#[test]
fn published_shaders_run_where_present() {
    use retroshade_pica::isa::dis::decode_all;
    use retroshade_pica::sim::Machine;
    let Some(dir) = beside("density/pica") else { return };
    let number = |v: &serde_json::Value| v.as_f64().map(|x| x as f32);
    let mut seen = 0;
    for file in std::fs::read_dir(dir.join("results")).unwrap() {
        let c: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
        let name = c["file"].as_str().unwrap().trim_end_matches(".vert").to_string();
        let Ok(source) = std::fs::read_to_string(dir.join(format!("{name}.pica"))) else { continue };
        let twin = std::fs::read_to_string(dir.join(format!("{name}.vert"))).unwrap();
        let bin = Shbin::read(&asm(&source)).unwrap();
        let code = decode_all(&bin).unwrap();
        let exe = &bin.executables[0];
        // Names to registers by the conventions of the twins: location = input register and output type, uniforms from c0.
        let location = |word: &str, name: &str| {
            let line = twin.lines().find(|l| l.contains(&format!(" {word} ")) && l.contains(&format!(" {name};")))?;
            line.split("location = ").nth(1)?.split(')').next()?.parse::<u16>().ok()
        };
        let mut start = Machine::default();
        let mut at = 0;
        let uniforms = twin.split("uniform U {").nth(1).and_then(|t| t.split("};").next()).unwrap_or("");
        for line in uniforms.lines().filter_map(|l| l.split(';').next()).map(str::trim).filter(|l| !l.is_empty()) {
            let Some((ty, name)) = line.split_once(' ') else { continue };
            let (name, count) =
                name.trim().split_once('[').map_or((name.trim(), 1), |(n, r)| (n, r.trim_end_matches(']').parse().unwrap()));
            let rows = if ty == "mat4" { 4 } else { count };
            let value = &c["bind"]["uniforms"][name];
            for k in 0..rows {
                let row = if ty == "mat4" || count > 1 { &value[k] } else { value };
                for l in 0..4 {
                    if let Some(x) = number(&row[l]) {
                        start.c[at + k][l] = retroshade_pica::legal::numerics::round(x as f64);
                    }
                }
            }
            at += rows;
        }
        start.load_constants(&exe.constants);
        for (inv, want) in c["bind"]["invocations"].as_array().unwrap().iter().zip(c["expect"].as_array().unwrap()) {
            let mut m = start.clone();
            for (n, v) in inv["inputs"].as_object().unwrap() {
                let reg = location("in", n).unwrap() as usize;
                for l in 0..4 {
                    m.v[reg][l] = number(&v[l]).unwrap_or(m.v[reg][l]);
                }
            }
            m.run(&code, exe.entry as usize).unwrap();
            let mut dummies = exe.outputs.iter().filter(|o| o.kind == 9);
            for (n, w) in want.as_object().unwrap() {
                let kind = if n == "position" { 0 } else { location("out", n).unwrap() };
                let entry = exe.outputs.iter().find(|o| o.kind == kind).or_else(|| dummies.next());
                let Some(entry) = entry.filter(|o| o.kind != 9) else { continue };
                for (l, w) in w.as_array().unwrap().iter().enumerate() {
                    let Some(w) = number(w) else { continue };
                    let g = m.o[entry.reg as usize][l];
                    assert!((g - w).abs() <= 1e-3 + 4e-3 * w.abs().max(g.abs()), "{name} {n}[{l}]: {g} for {w}");
                }
            }
        }
        seen += 1;
    }
    assert!(seen >= 14, "{seen}");
}
