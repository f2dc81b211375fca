//! The documentation holds: every command that it shows runs and prints what stands below it, every link leads somewhere, and the book's
//! table of contents names every page.
//!
//! Commands are the lines of `sh` and `console` blocks that begin with `shaderc` (and `sed`, which shows a file); below those of `console` blocks stands their output, which
//! `SHADERC_BLESS=1` writes anew. They run in one folder for each page, where the files that the pages speak of lie ready.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

/// All pages: those of the book, and those that lie with what they are about.
fn pages() -> Vec<PathBuf> {
    let mut all = Vec::new();
    below(&root().join("docs"), &mut all);
    let beside = ["README.md", "CONTRIBUTING.md", "playground/README.md", "editors/vscode/README.md", "examples/platforms/README.md"];
    all.extend(beside.map(|p| root().join(p)));
    all.sort();
    all
}

fn below(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, out);
        } else if path.extension().is_some_and(|e| e == "md") {
            out.push(path);
        }
    }
}

fn name(page: &Path) -> String {
    page.strip_prefix(root()).unwrap().display().to_string()
}

/// The files that the pages speak of: where a name's content comes from.
const FILES: &[(&str, &str)] = &[
    ("a.geom", "examples/pica/particle.geom"),
    ("a.vert", "examples/pica/particle.vert"),
    ("b.frag", "examples/vita/cutout.frag"),
    ("ball.wgsl", "examples/gallery/toon.wgsl"),
    ("cube.frag", "examples/platforms/wiiu/shaders/cube.frag"),
    ("cube.json", "examples/platforms/wiiu/cube.json"),
    ("cube.vert", "examples/platforms/wiiu/shaders/cube.vert"),
    ("fog.json", "examples/fog.json"),
    ("fog.wgsl", "examples/fog.wgsl"),
    ("grass.frag", "examples/vita/color.frag"),
    ("grass.geom", "examples/gl/outline.geom"),
    ("grass.vert", "examples/gl/textured.vert"),
    ("lit.frag", "examples/gallery/lit.frag"),
    ("lit.vert", "examples/gallery/lit.vert"),
    ("model.obj", "examples/gallery/bottle.obj"),
    ("old.v.pica", "targets/pica/tests/hand/gauge.pica"),
    ("shader.ir", "examples/mvp.ir"),
    ("shader.vert", "examples/pica/skin.vert"),
    ("shader.wgsl", "examples/gallery/waves.wgsl"),
    ("shaders/tint.frag", "examples/vita/tint.frag"),
    ("shaders/texture.vert", "examples/vita/texture.vert"),
    ("sprites.geom", "examples/pica/particle.geom"),
    ("sprites.vert", "examples/pica/particle.vert"),
    ("textured.vert", "examples/pica/fog.vert"),
    ("waves.wgsl", "examples/gallery/waves.wgsl"),
    ("wood.png", "examples/gallery/tiles.png"),
];

/// A program with a uniform of each kind, and values for it by the names of the source and by those of a container.
const FRAGMENT: &str = "#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 colour;
layout(std140, binding = 0) uniform Scene { vec4 tint; float time; };
void main() { colour = vec4(tint.rgb * (0.5 + 0.5 * sin(time + uv.x * 9.0)), tint.a); }
";
const VALUES: &str = r#"{ "invocations": [{ "inputs": { "uv": [0.5, 0.25] } }], "uniforms": { "tint": [1, 0.5, 0.25, 1], "time": 2 } }"#;

/// A folder with the files that the pages speak of, the examples and the tests.
fn folder(page: &Path) -> PathBuf {
    let out = std::env::temp_dir().join(format!("shaderc-book-{}-{}", std::process::id(), name(page).replace(['/', '.'], "-")));
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(out.join("tests")).unwrap();
    fs::create_dir_all(out.join("shaders")).unwrap();
    for (to, from) in FILES {
        fs::copy(root().join(from), out.join(to)).unwrap_or_else(|e| panic!("{from}: {e}"));
    }
    copy(&root().join("examples"), &out.join("examples"));
    fs::copy(root().join("filetests/cases/pica/bool-uniform.ir"), out.join("tests/a.ir")).unwrap();
    fs::write(out.join("shader.frag"), FRAGMENT).unwrap();
    for command in ["shaderc -o shader.gxp shader.frag", "shaderc --target pica --emit asm -o code.s shader.vert"] {
        let (said, good) = run(command, &out);
        assert!(good, "{command}: {said}");
    }
    fs::write(out.join("shaders.jsonl"), "{\"file\": \"shader.frag\", \"target\": \"usse\"}\n").unwrap();
    out
}

/// Copies a folder's sources.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let there = to.join(path.file_name().unwrap());
        if path.is_dir() && path.file_name().is_none_or(|n| n != "target" && n != "build") {
            copy(&path, &there);
        } else if path.is_file() {
            fs::copy(&path, &there).unwrap();
        }
    }
}

/// Runs a command as a reader would, in a folder: what it says, and whether it succeeds.
fn run(command: &str, folder: &Path) -> (String, bool) {
    let bin = Path::new(env!("CARGO_BIN_EXE_shaderc")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([bin.to_path_buf()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let o = Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).env("COLUMNS", "100").output().unwrap();
    (format!("{}{}", String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr)), o.status.success())
}

/// Writes the values that a command binds.
fn bind(command: &str, folder: &Path) {
    let program = command.split('#').next().unwrap().trim().rsplit(' ').next().unwrap();
    let values = match program.rsplit('.').next() {
        Some("gxp") => VALUES.replace("uv", "texcoord0"),
        Some("ir") => fs::read_to_string(root().join("examples/mvp.json")).unwrap(),
        _ => VALUES.to_string(),
    };
    fs::write(folder.join("in.json"), values).unwrap();
}

/// A page's text with the output of its commands as it is now, and what is wrong with the commands.
fn told(page: &Path, text: &str) -> (String, Vec<String>, usize) {
    let (mut out, mut wrong, mut count) = (String::new(), Vec::new(), 0);
    let mut here = None;
    let mut block = None;
    // Within a `console` block, behind a command: what stands there is its output.
    let mut skipping = false;
    for line in text.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_none() { Some(language.to_string()) } else { None };
            skipping = false;
        } else if let Some(language) = block.as_deref().filter(|l| ["sh", "console"].contains(l)) {
            let console = language == "console";
            let command = if console { line.strip_prefix("$ ") } else { Some(line) };
            let ours = command.filter(|c| c.starts_with("shaderc ") || console && c.starts_with("sed "));
            if command.is_some() {
                skipping = false;
            }
            if let Some(c) = ours {
                let folder = here.get_or_insert_with(|| folder(page));
                bind(c, folder);
                // What would be installed stays here.
                let c = c.split(" > /").next().unwrap();
                let (said, good) = run(c, folder);
                count += 1;
                // A page may show an error; then it says so.
                if good == c.ends_with("# refused") {
                    wrong.push(format!("{}: {c}\n{said}", name(page)));
                }
                if console {
                    out.push_str(&format!("{line}\n{said}"));
                    if !said.is_empty() && !said.ends_with('\n') {
                        out.push('\n');
                    }
                    skipping = true;
                    continue;
                }
            }
        }
        if !skipping {
            out.push_str(line);
            out.push('\n');
        }
    }
    if let Some(f) = here {
        fs::remove_dir_all(f).unwrap();
    }
    (out, wrong, count)
}

#[test]
fn every_shown_command_works() {
    if run("true", &root()).1 {
        let bless = std::env::var_os("SHADERC_BLESS").is_some();
        let (mut wrong, mut count) = (Vec::new(), 0);
        for page in pages() {
            let text = fs::read_to_string(&page).unwrap();
            let (now, bad, n) = told(&page, &text);
            count += n;
            wrong.extend(bad);
            if now.trim_end() != text.trim_end() {
                if bless {
                    fs::write(&page, &now).unwrap();
                } else {
                    let at = now.lines().zip(text.lines()).position(|(a, b)| a != b).unwrap_or(0);
                    let line = |t: &str| t.lines().nth(at).unwrap_or("").to_string();
                    let said = format!("the command says\n  {}\nthe page\n  {}", line(&now), line(&text));
                    wrong.push(format!("{}:{}: {said}\nSHADERC_BLESS=1 writes it anew", name(&page), at + 1));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(count > 60, "{count} commands");
    } else {
        println!("skipped: there is no sh to run the commands with");
    }
}

/// A heading's name in links.
fn anchor(heading: &str) -> String {
    let plain = heading.trim_start_matches('#').trim().replace('`', "");
    let kept = plain.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

/// The lines of a page that are no code.
fn prose(text: &str) -> String {
    let mut code = false;
    let mut keep = |l: &&str| {
        let fence = l.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    };
    text.lines().filter(|l| keep(l)).collect::<Vec<_>>().join("\n")
}

/// The targets of a page's links and pictures.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let mut out = Vec::new();
    for (at, _) in prose.match_indices("](") {
        let rest = &prose[at + 2..];
        let Some(end) = rest.find(')') else { continue };
        // `[a](b)` within a span of code is none: an odd number of ticks stands before it on its line.
        let begin = prose[..at].rfind('\n').map_or(0, |n| n + 1);
        if prose[begin..at].matches('`').count().is_multiple_of(2) {
            out.push(rest[..end].split(' ').next().unwrap().to_string());
        }
    }
    out
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        for link in links(&text).into_iter().filter(|l| !l.starts_with("http")) {
            count += 1;
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let there = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            if !there.exists() {
                wrong.push(format!("{}: {link}", name(&page)));
            } else if !heading.is_empty() && there.extension().is_some_and(|e| e == "md") {
                let text = fs::read_to_string(&there).unwrap();
                if !prose(&text).lines().any(|l| l.starts_with('#') && anchor(l) == heading) {
                    wrong.push(format!("{}: {link}: there is no such heading", name(&page)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 100);
}

#[test]
fn the_contents_name_every_page() {
    let docs = root().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let named = links(&summary);
    let unique: BTreeSet<&String> = named.iter().collect();
    assert_eq!(unique.len(), named.len(), "a page stands twice in SUMMARY.md");
    for page in pages().iter().filter_map(|p| p.strip_prefix(&docs).ok()).filter(|p| *p != Path::new("SUMMARY.md")) {
        assert!(named.contains(&page.display().to_string()), "SUMMARY.md lacks {}", page.display());
    }
}
