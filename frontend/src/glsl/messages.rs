//! What glslang says, as messages in the user's text: `ERROR: 0:12:5: '=' :  cannot convert from …`.

use super::lex::tokens;
use super::places::Files;
use super::upgrade::plain;
use retroshade_ir::{Diagnostic, Span};

/// Errors worth showing.
const MAX_ERRORS: usize = 20;

/// One line of the log.
struct Line<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    /// The token that it names.
    token: &'a str,
    text: &'a str,
}

/// Takes `0:12:5: 'x' : what` apart; lines without a place (of the linker) have line 0.
fn parse(s: &str) -> Line<'_> {
    let bare = Line { file: "", line: 0, column: 0, token: "", text: s };
    // A file's name may have colons, so the place ends at the first `: '` or `: `.
    let Some((place, rest)) = s.split_once(": ") else { return bare };
    let mut parts = place.rsplitn(3, ':');
    let (last, middle, first) = (parts.next(), parts.next(), parts.next());
    let number = |s: Option<&str>| s.and_then(|s| s.parse::<u32>().ok());
    let (file, line, column) = match (first, number(middle), number(last)) {
        (Some(file), Some(line), Some(column)) => (file, line, column),
        (None, _, Some(line)) => (middle.unwrap_or(""), line, 0),
        _ => return bare,
    };
    let (token, text) = match rest.strip_prefix('\'').and_then(|r| r.split_once("' : ")) {
        Some((token, text)) => (token, text),
        None => ("", rest),
    };
    Line { file, line, column, token, text: text.trim() }
}

/// The errors of a log. `at` is the place of a global or function by its name.
pub(crate) fn errors(log: &str, code: &'static str, files: &Files, at: &dyn Fn(&str) -> Option<Span>, start: Span) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    let mut before: Option<(String, u32)> = None;
    // A list of names has a line for each.
    let mut joined: Vec<String> = Vec::new();
    for l in log.lines() {
        match joined.last_mut() {
            Some(list) if l.starts_with("GL_") => list.push_str(&format!(" {l}")),
            _ => joined.push(l.to_string()),
        }
    }
    for l in joined.iter().filter_map(|l| l.strip_prefix("ERROR: ")) {
        if l.contains("compilation errors.  No code generated") || l.contains("compilation terminated") {
            continue;
        }
        let l = parse(l);
        let here = (l.file.to_string(), l.line);
        // What glslang cannot make sense of it takes for a float and goes on: not the user's mistake.
        let follows = l.token == "constructor" || l.text.contains("' const float'") || l.text.starts_with("cannot construct");
        if before.as_ref() == Some(&here) && follows {
            continue;
        }
        let (message, span) = if let Some(at) = files.open_condition().filter(|_| l.text.contains("missing #endif")) {
            ("a conditional block (`#if`, `#ifdef`) is not closed by `#endif`".to_string(), at)
        } else if l.line > 0 {
            let span = files.word(l.file, l.line, l.column, l.token);
            // The user may have written an older word.
            let token = if files.is(span, l.token) { files.text(span).unwrap_or(l.token) } else { l.token };
            (reason(token, l.text), span)
        } else {
            let (what, place) = linked(l.text, log, at);
            (what, place.unwrap_or(start))
        };
        before = Some(here);
        let d = Diagnostic::error(code, span, message);
        if out.len() < MAX_ERRORS && !out.contains(&d) {
            out.push(d);
        }
    }
    if out.is_empty() {
        out.push(Diagnostic::error(code, start, "glslang refuses the program and does not say why"));
    }
    out
}

/// Whether glslang wants a later version of SPIR-V.
pub(crate) fn needs_later(log: &str) -> bool {
    log.contains("requires SPIR-V 1.") || log.contains("requires at least SPIR-V 1.")
}

fn reason(token: &str, text: &str) -> String {
    let text = quoted(text);
    let text = match text.split_once("syntax error, unexpected ") {
        Some((_, tokens)) => syntax(tokens),
        None => text.replace("syntax error", "this makes no sense here"),
    };
    let text = text.replace("Could not process include directive for header name", "no file of this name is found");
    // HLSL's front end: `'declaration' : Expected`.
    if text == "Expected" {
        return format!("expected {token}");
    }
    let token = match plain(token) {
        "assign" => "=".to_string(),
        t => type_name(t),
    };
    let said = token.is_empty() || text.contains(&format!("`{token}`")) || text.starts_with("expected ") || text.ends_with("sense here");
    if said { text } else { format!("`{token}`: {text}") }
}

/// Names of tokens in the grammar of GLSL that are not their own.
const TOKENS: &[(&str, &str)] = &[
    ("SEMICOLON", ";"),
    ("COMMA", ","),
    ("COLON", ":"),
    ("EQUAL", "="),
    ("DOT", "."),
    ("QUESTION", "?"),
    ("LEFT_PAREN", "("),
    ("RIGHT_PAREN", ")"),
    ("LEFT_BRACE", "{"),
    ("RIGHT_BRACE", "}"),
    ("LEFT_BRACKET", "["),
    ("RIGHT_BRACKET", "]"),
    ("LEFT_ANGLE", "<"),
    ("RIGHT_ANGLE", ">"),
    ("PLUS", "+"),
    ("DASH", "-"),
    ("STAR", "*"),
    ("SLASH", "/"),
    ("PERCENT", "%"),
    ("BANG", "!"),
    ("TILDE", "~"),
    ("AMPERSAND", "&"),
    ("VERTICAL_BAR", "|"),
    ("CARET", "^"),
    ("AND_OP", "&&"),
    ("OR_OP", "||"),
    ("XOR_OP", "^^"),
    ("EQ_OP", "=="),
    ("NE_OP", "!="),
    ("LE_OP", "<="),
    ("GE_OP", ">="),
    ("LEFT_OP", "<<"),
    ("RIGHT_OP", ">>"),
    ("INC_OP", "++"),
    ("DEC_OP", "--"),
    ("ADD_ASSIGN", "+="),
    ("SUB_ASSIGN", "-="),
    ("MUL_ASSIGN", "*="),
    ("DIV_ASSIGN", "/="),
];

/// `IDENTIFIER, expecting SEMICOLON` in words.
fn syntax(tokens: &str) -> String {
    let one = |t: &str| match t {
        "IDENTIFIER" => "a name".to_string(),
        "TYPE_NAME" => "the name of a type".to_string(),
        "INTCONSTANT" | "UINTCONSTANT" | "FLOATCONSTANT" | "BOOLCONSTANT" => "a constant".to_string(),
        "end of file" | "$end" => "the end of the text".to_string(),
        t => match TOKENS.iter().find(|(n, _)| *n == t) {
            Some((_, sign)) => format!("`{sign}`"),
            None => format!("`{}`", t.to_lowercase()),
        },
    };
    let (found, wanted) = tokens.split_once(", expecting ").unwrap_or((tokens, ""));
    let wanted: Vec<String> = wanted.split(" or ").filter(|w| !w.is_empty()).map(one).collect();
    let found = one(found.trim());
    if wanted.is_empty() { format!("{found} makes no sense here") } else { format!("expected {}, found {found}", wanted.join(" or ")) }
}

/// A text with what stands in quotes spelled as in GLSL.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    // An apostrophe (`can't`) opens nothing.
    let mut rest = text;
    while let Some(open) = rest.find('\'') {
        let word = rest[..open].ends_with(|c: char| c.is_alphanumeric());
        match rest[open + 1..].find('\'').filter(|_| !word) {
            Some(n) => {
                out.push_str(&rest[..open]);
                out.push('`');
                out.push_str(&type_name(&rest[open + 1..open + 1 + n]));
                out.push('`');
                rest = &rest[open + n + 2..];
            }
            None => {
                out.push_str(&rest[..open + 1]);
                rest = &rest[open + 1..];
            }
        }
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "`")
}

/// `temp highp 3-component vector of float` is a `vec3`.
fn type_name(text: &str) -> String {
    let trimmed = text.trim();
    if let Some((_, of)) = trimmed.split_once("-element array of ") {
        let count = trimmed.split("-element").next().unwrap_or("").rsplit(' ').next().unwrap_or("");
        return format!("{}[{count}]", type_name(of));
    }
    if let Some((_, of)) = trimmed.split_once("-sized array of ") {
        return format!("{}[]", type_name(of));
    }
    let last = trimmed.rsplit(' ').next().unwrap_or("");
    let prefix = match last {
        "int" => "i",
        "uint" => "u",
        "bool" => "b",
        "double" => "d",
        "float16_t" => "f16",
        "int8_t" => "i8",
        "uint8_t" => "u8",
        "int16_t" => "i16",
        "uint16_t" => "u16",
        "int64_t" => "i64",
        "uint64_t" => "u64",
        _ => "",
    };
    if let Some((count, _)) = trimmed.split_once("-component vector of ") {
        return format!("{prefix}vec{}", count.rsplit(' ').next().unwrap_or(""));
    }
    if let Some((size, _)) = trimmed.split_once(" matrix of ") {
        let (c, r) = size.rsplit(' ').next().unwrap_or("").split_once('X').unwrap_or(("", ""));
        return if c == r { format!("{prefix}mat{c}") } else { format!("{prefix}mat{c}x{r}") };
    }
    if let Some(n) = trimmed.find("structure{") {
        let name = trimmed.rsplit('}').next().unwrap_or("").trim();
        return if name.is_empty() { trimmed[n..].split('{').next().unwrap_or("").to_string() } else { name.to_string() };
    }
    let storage = ["temp", "global", "const", "in", "out", "uniform", "buffer", "smooth", "flat", "highp", "mediump", "lowp", "inout"];
    let words: Vec<&str> = trimmed.split(' ').filter(|w| !storage.contains(w)).collect();
    // A single word is what the user wrote, whatever it is.
    if trimmed.contains(' ') && !words.is_empty() { words.join(" ") } else { plain(trimmed).to_string() }
}

/// What the linker says, and the function that it is about.
fn linked(text: &str, log: &str, at: &dyn Fn(&str) -> Option<Span>) -> (String, Option<Span>) {
    if text.contains("Missing entry point") {
        return ("the source has no function `main`".into(), None);
    }
    // Functions are named with their parameters: `f(vf2;i1;`.
    let function = |s: &str| {
        let name = s.split('(').next().unwrap_or("");
        name.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_string()
    };
    if text.contains("Recursion detected") {
        // `f(f1; calling g(f1;` stands on the next line.
        let line = log.lines().skip_while(|l| !l.contains("Recursion detected")).nth(1).unwrap_or("");
        let name = function(line);
        return (format!("the function `{name}` calls itself, directly or through others, which GLSL does not have"), at(&name));
    }
    if text.contains("No function definition (body) found") {
        // The line behind the message names the function.
        let name = log.lines().skip_while(|l| !l.contains("No function definition (body) found")).nth(1).map_or(String::new(), function);
        return (format!("the function `{name}` is called and has no body"), at(&name));
    }
    let text = text.trim_start_matches("Linking ");
    let place = tokens(text).iter().find_map(|t| at(t.text));
    (quoted(text), place)
}
