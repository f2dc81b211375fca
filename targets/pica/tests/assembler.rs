//! The file assembler, the container and their robustness.

use retroshade_lower::TextOptions;
use retroshade_pica::container::Shbin;
use std::path::Path;

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
    assert_eq!(lint(&format!(".out p position\n{head} mov p, v0\n end\n.end")), "");
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
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/density/pica");
    let Ok(table) = std::fs::read_to_string(dir.join("picasso.tsv")) else {
        println!("skipped: the published shaders are not at hand");
        return;
    };
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
