//! Comments that direct a test.

use serde_json::Value;

/// A `test` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The command's word.
    pub command: String,
    /// What stands in its parentheses.
    pub arguments: Vec<String>,
    /// Whether the output must be exactly the expected one.
    pub precise: bool,
}

impl Test {
    /// The command as written.
    pub fn title(&self) -> String {
        if self.arguments.is_empty() { self.command.clone() } else { format!("{}({})", self.command, self.arguments.join(",")) }
    }
}

/// A `target` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetLine {
    /// The target's name.
    pub name: String,
    /// `key=value` settings.
    pub settings: Vec<(String, String)>,
}

/// A filecheck directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Command or target that it is for; all without.
    pub only: Option<String>,
    /// Text for the checker.
    pub directive: String,
}

/// An `error` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedError {
    /// Target that it is for; all without.
    pub only: Option<String>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, if given; 0: no place.
    pub column: Option<u32>,
    /// Code, if given.
    pub code: Option<String>,
    /// Part of the message.
    pub message: String,
}

/// A `run` line.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLine {
    /// Line, from 1.
    pub line: u32,
    /// The environment but for the invocations.
    pub env: Value,
    /// Inputs.
    pub inputs: Value,
    /// What must come out.
    pub outputs: Value,
    /// Allowed difference, if given.
    pub tolerance: Option<f64>,
}

/// Everything that a file's comments say.
#[derive(Clone, Debug, Default)]
pub struct Directives {
    /// What to run.
    pub tests: Vec<Test>,
    /// On which targets.
    pub targets: Vec<TargetLine>,
    /// Selection patterns that must fire in every `lower`.
    pub patterns: Vec<String>,
    /// Operations that a legalisation rule must replace.
    pub rules: Vec<String>,
    /// Filecheck directives.
    pub checks: Vec<Check>,
    /// Expected errors.
    pub errors: Vec<ExpectedError>,
    /// Runs.
    pub runs: Vec<RunLine>,
    /// Exact outputs by command and target.
    pub expected: Vec<(String, String)>,
}

const FILECHECK: &[&str] = &["check", "nextln", "sameln", "not", "unordered", "regex"];

impl Directives {
    /// Reads the comments of a text.
    pub fn parse(text: &str, comment: &str) -> Result<Directives, String> {
        let mut d = Directives::default();
        let mut env = Value::Object(serde_json::Map::new());
        let mut tolerance = None;
        let mut expected: Option<(String, String)> = None;
        for (n, line) in text.lines().enumerate() {
            let number = n as u32 + 1;
            let Some(at) = line.find(comment) else { continue };
            let body = line[at + comment.len()..].trim_start_matches(' ');
            let own_line = line[..at].trim().is_empty();
            if own_line {
                if let Some(key) = body.strip_prefix("expected ") {
                    d.expected.extend(expected.take());
                    expected = Some((key.trim().to_string(), String::new()));
                    continue;
                }
                if let Some((_, block)) = &mut expected {
                    let raw = &line[at + comment.len()..];
                    block.push_str(raw.strip_prefix(' ').unwrap_or(raw));
                    block.push('\n');
                    continue;
                }
                if let Some(rest) = body.strip_prefix("test ") {
                    d.tests.push(parse_test(rest).ok_or_else(|| format!("line {number}: a bad test line"))?);
                    continue;
                }
                if let Some(rest) = body.strip_prefix("pattern ") {
                    d.patterns.extend(rest.split_whitespace().map(str::to_string));
                    continue;
                }
                if let Some(rest) = body.strip_prefix("rule ") {
                    d.rules.extend(rest.split_whitespace().map(str::to_string));
                    continue;
                }
                if let Some(rest) = body.strip_prefix("target ") {
                    d.targets.push(parse_target(rest).ok_or_else(|| format!("line {number}: a bad target line"))?);
                    continue;
                }
            }
            let Some((word, rest)) = body.split_once(':') else { continue };
            let (word, only) = word.split_once('@').map_or((word, None), |(w, o)| (w, Some(o.to_string())));
            let json = |s: &str| serde_json::from_str::<Value>(s.trim()).map_err(|e| format!("line {number}: {e}"));
            match word {
                _ if FILECHECK.contains(&word) => d.checks.push(Check { only, directive: format!("{word}:{rest}") }),
                "error" => d.errors.push(parse_error(rest, only, number)),
                "env" => env = json(rest)?,
                "tolerance" => tolerance = rest.trim().parse().ok(),
                "run" => {
                    let (i, o) = rest.split_once("=>").ok_or_else(|| format!("line {number}: a run has the form INPUTS => OUTPUTS"))?;
                    let run = RunLine { line: number, env: env.clone(), inputs: json(i)?, outputs: json(o)?, tolerance };
                    d.runs.push(run);
                }
                // A check that is spelled as elsewhere would pass unseen.
                _ if own_line && word.to_ascii_lowercase().starts_with("check") => {
                    return Err(format!("line {number}: `{word}:` is not a directive; there are {}", FILECHECK.join(", ")));
                }
                _ => {}
            }
        }
        d.expected.extend(expected);
        Ok(d)
    }
}

fn parse_test(rest: &str) -> Option<Test> {
    let (head, flags) = match rest.find([' ', '(']) {
        Some(i) if rest[i..].starts_with('(') => {
            let end = rest.find(')')?;
            (&rest[..=end], &rest[end + 1..])
        }
        Some(i) => (&rest[..i], &rest[i..]),
        None => (rest, ""),
    };
    let (command, arguments) = match head.trim_end_matches(')').split_once('(') {
        Some((c, a)) => (c, a.split(',').map(|s| s.trim().to_string()).collect()),
        None => (head, Vec::new()),
    };
    let mut precise = false;
    for f in flags.split_whitespace() {
        match f {
            "precise-output" => precise = true,
            _ => return None,
        }
    }
    Some(Test { command: command.trim().to_string(), arguments, precise })
}

fn parse_target(rest: &str) -> Option<TargetLine> {
    let mut words = rest.split_whitespace();
    let name = words.next()?.to_string();
    let settings = words.map(|w| w.split_once('=').map(|(k, v)| (k.to_string(), v.to_string()))).collect::<Option<_>>()?;
    Some(TargetLine { name, settings })
}

/// `[CODE][@COLUMN] TEXT`
fn parse_error(rest: &str, only: Option<String>, line: u32) -> ExpectedError {
    let rest = rest.trim();
    let (first, message) = rest.split_once(' ').unwrap_or((rest, ""));
    let (code, column) = first.split_once('@').map_or((first, None), |(c, n)| (c, n.parse().ok()));
    let is_code = code.len() == 5 && code.starts_with(|c: char| c.is_ascii_uppercase()) && code[1..].bytes().all(|b| b.is_ascii_digit());
    if is_code || (code.is_empty() && column.is_some()) {
        let code = is_code.then(|| code.to_string());
        ExpectedError { only, line, column, code, message: message.trim().to_string() }
    } else {
        ExpectedError { only, line, column: None, code: None, message: rest.to_string() }
    }
}

/// Puts a new exact output into a file's text, in place of the old one or at the end.
pub(crate) fn replace_expected(text: &mut String, comment: &str, key: &str, output: &str) {
    let head = format!("{comment} expected {key}");
    let mut kept = String::new();
    let mut skipping = false;
    for line in text.lines() {
        if line.trim_end() == head {
            skipping = true;
            continue;
        }
        if skipping && line.starts_with(comment) && !line.starts_with(&format!("{comment} expected ")) {
            continue;
        }
        skipping = false;
        kept.push_str(line);
        kept.push('\n');
    }
    kept.push_str(&head);
    kept.push('\n');
    for line in output.trim_end().lines() {
        kept.push_str(format!("{comment} {line}").trim_end());
        kept.push('\n');
    }
    *text = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_checks_that_would_not_be_made() {
        for line in ["; check-not: mul", "; CHECK: mul", "; check-next: add"] {
            assert!(Directives::parse(line, ";").is_err_and(|e| e.contains("not a directive")), "{line}");
        }
    }

    #[test]
    fn directives_are_read() {
        let d = Directives::parse(
            "; test opt(gvn, dce) precise-output\n; target tesla chip=g80\n v1 = x ; error: E0010@7 not defined\n; check@tesla: mul\n; run: {\"a\": 1} => {\"b\": 2}\n; expected opt\n; abc\n;\n;   d\n",
            ";",
        )
        .unwrap();
        assert_eq!(d.tests[0].title(), "opt(gvn,dce)");
        assert!(d.tests[0].precise);
        assert_eq!(d.targets[0].settings, [("chip".to_string(), "g80".to_string())]);
        assert_eq!((d.errors[0].line, d.errors[0].column, d.errors[0].code.as_deref()), (3, Some(7), Some("E0010")));
        assert_eq!(d.checks[0], Check { only: Some("tesla".into()), directive: "check: mul".into() });
        assert_eq!(d.runs[0].outputs["b"], 2);
        assert_eq!(d.expected, [("opt".to_string(), "abc\n\n  d\n".to_string())]);
    }

    #[test]
    fn blessing_replaces() {
        let mut t = "x\n; expected cat\n; old\n; expected emit pica\n; keep\n".to_string();
        replace_expected(&mut t, ";", "cat", "new\n\nlines\n");
        assert_eq!(t, "x\n; expected emit pica\n; keep\n; expected cat\n; new\n;\n; lines\n");
        let d = Directives::parse(&t, ";").unwrap();
        assert_eq!(d.expected[1].1.trim_end(), "new\n\nlines");
    }
}
