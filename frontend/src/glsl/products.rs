//! `*` and `*=` of two matrices that are not square. HLSL multiplies their elements; glslang has no such operator, or takes two that fit for the product
//! of linear algebra. The text divides by the result of a function instead, since glslang divides element by element, and behind glslang that division is
//! the product.

use super::edit::{Edit, edited};
use super::hlsl::is_statement;
use super::lex::{Kind, Token, open, tokens};
use super::lists::Mistake;
use super::mark::{instructions, op, text};
use super::scopes::Scopes;
use super::shapes::{Size, Type};
use super::typed::Typed;
use std::collections::BTreeSet;
use std::ops::Range;

/// The beginning of the names of the functions.
const NAME: &str = "shaderc_times";

/// A preprocessed text whose products by elements are divisions.
pub(super) fn divided(text: &str) -> Result<String, Mistake> {
    let all = tokens(text);
    let toks: Vec<Token<'_>> = all.into_iter().filter(|t| t.kind != Kind::Directive).collect();
    let oblong = |t: &Token<'_>| t.is("matrix") || matches!(t.text.as_bytes(), [.., a, b'x', b] if a != b);
    if !toks.iter().any(|t| t.is_word() && oblong(t)) {
        return Ok(text.to_string());
    }
    let scopes = Scopes::new(&toks);
    let typed = Typed { scopes: &scopes };
    let (mut edits, mut functions): (Vec<Edit>, BTreeSet<(usize, usize)>) = Default::default();
    for n in 1..toks.len() {
        let assigns = toks[n].is("*=");
        let operand = &toks[n - 1];
        if !assigns && !(toks[n].is("*") && (operand.is_word() || operand.kind == Kind::Number || matches!(operand.text, ")" | "]"))) {
            continue;
        }
        let right = if assigns {
            let value = n + 1..expression(&scopes, n + 1);
            typed.of(&value).map(|ty| (ty, value.end))
        } else {
            typed.operand(n + 1)
        };
        let Some((Type::Numbers("float" | "half" | "min16float", Size::Matrix(rows, columns)), behind)) = right else { continue };
        match typed.of(&left(&toks, n)) {
            Some(Type::Numbers(_, Size::Matrix(r, c))) if (r, c) != (rows, columns) => {
                let sign = toks[n].text;
                let m = format!(
                    "`{sign}` multiplies the elements of two matrices of one size, not {r}x{c} and {rows}x{columns}: `mul` is the product"
                );
                return Err((n, m));
            }
            Some(ty) if ty.is_scalar() => continue,
            _ if rows == columns => continue,
            _ => {}
        }
        let (at, end) = (toks[n + 1].at, toks[behind - 1].end());
        edits.push((toks[n].at..toks[n].end(), toks[n].text.replace('*', "/")));
        edits.push((at..at, format!("{NAME}{rows}x{columns}(")));
        edits.push((end..end, ")".to_string()));
        functions.insert((rows, columns));
    }
    if edits.is_empty() {
        return Ok(text.to_string());
    }
    let functions = functions.iter().map(|(r, c)| format!("float{r}x{c} {NAME}{r}x{c}(float{r}x{c} m) {{ return m; }}\n"));
    // No line begins before the first directive.
    Ok(functions.collect::<String>() + &edited(text, edits))
}

/// Where the expression ends that begins at `n`.
fn expression(scopes: &Scopes<'_, '_>, mut n: usize) -> usize {
    while n < scopes.toks.len() && !matches!(scopes.toks[n].text, ";" | "," | ")" | "]" | "}") {
        n = if matches!(scopes.toks[n].text, "(" | "[" | "{") { scopes.end(n) } else { n + 1 };
    }
    n
}

/// What stands before an operator and binds as tightly.
fn left(toks: &[Token<'_>], n: usize) -> Range<usize> {
    let mut first = n;
    while let Some(k) = first.checked_sub(1) {
        let t = &toks[k];
        first = match t.text {
            ")" | "]" => match open(toks, k) {
                Some(k) => k,
                None => break,
            },
            "*" | "/" | "%" | "." => k,
            text if t.kind == Kind::Number || t.is_word() && !is_statement(text) => k,
            _ => break,
        };
    }
    first..n
}

/// A module in which what is divided by the result of such a function is multiplied instead.
pub(super) fn multiplied(words: &[u32]) -> Vec<u32> {
    let mut out = words.get(..5).unwrap_or_default().to_vec();
    // The functions, their results, and the columns of those.
    let (mut functions, mut results, mut columns): (BTreeSet<u32>, BTreeSet<u32>, BTreeSet<u32>) = Default::default();
    for (opcode, inst) in instructions(words) {
        match (opcode, inst) {
            (op::NAME, [_, id, name @ ..]) if text(name).starts_with(NAME) => {
                functions.insert(*id);
            }
            (op::FUNCTION_CALL, [_, _, id, f, _]) if functions.contains(f) => {
                results.insert(*id);
            }
            (op::COMPOSITE_EXTRACT, [_, _, id, of, _]) if results.contains(of) => {
                columns.insert(*id);
            }
            _ => {}
        }
        match (opcode, inst) {
            // Arguments are variables.
            (op::FUNCTION_CALL, [_, ty, id, _, argument]) if results.contains(id) => out.extend([4 << 16 | op::LOAD, *ty, *id, *argument]),
            (op::F_DIV, [head, operands @ ..]) if operands.last().is_some_and(|by| columns.contains(by)) => {
                out.push(head & 0xffff_0000 | op::F_MUL);
                out.extend(operands);
            }
            _ => out.extend(inst),
        }
    }
    out
}
