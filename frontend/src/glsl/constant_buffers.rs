//! `ConstantBuffer<S> c;` of HLSL as a `cbuffer` with the one member `S c`, which lies the same. glslang makes the members of `S` uniforms, wherever it is
//! used: its variables could not be set then, and the buffer's value would be none of its type.

use super::edit::{Edit, edited};
use super::lex::{Kind, Token, close, tokens};
use super::lists::Mistake;
use super::outside::declarations;

/// A preprocessed text whose single constant buffers are blocks. Arrays of them stay: their elements have a register each.
pub(super) fn blocks(text: &str) -> Result<String, Mistake> {
    let toks: Vec<Token<'_>> = tokens(text).into_iter().filter(|t| t.kind != Kind::Directive).collect();
    if !toks.iter().any(|t| t.is("ConstantBuffer")) {
        return Ok(text.to_string());
    }
    let edits = declarations(&toks).into_iter().filter_map(|d| block(&toks[..(d.tokens.end + 1).min(toks.len())], d.tokens.start));
    Ok(edited(text, edits.flatten().collect()))
}

/// What is written for the declaration that begins at a token and ends with the last one.
fn block(toks: &[Token<'_>], first: usize) -> Option<[Edit; 2]> {
    let [template, "<", ty, ">", name, rest @ .., ";"] = &*toks[first..].iter().map(|t| t.text).collect::<Vec<_>>() else { return None };
    let register = match rest {
        [] => true,
        [":", "register", "(", ..] => close(toks, first + 7) == toks.len() - 1,
        _ => false,
    };
    if *template != "ConstantBuffer" || !toks[first + 2].is_word() || !toks[first + 4].is_word() || !register {
        return None;
    }
    let (start, end) = (&toks[first], toks.last()?);
    let head = (start.at..toks[first + 4].at, "cbuffer ".to_string());
    Some([head, (end.at..end.end(), format!(" {{ {ty} {name}; }}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_buffers_are_blocks() {
        let all = |text: &str| blocks(text).map_err(|m| m.1);
        assert_eq!(
            all("struct S { float4 a; };\nConstantBuffer<S> c : register(b0, space1);\nConstantBuffer< S >\nd;"),
            Ok("struct S { float4 a; };\ncbuffer c : register(b0, space1) { S c; }\ncbuffer d { S d; }".to_string())
        );
        for same in ["ConstantBuffer<S> c[2] : register(b0);", "ConstantBuffer<S> c, d;", "ConstantBuffer c;", "cbuffer c { float4 a; }"] {
            assert_eq!(all(same).as_deref(), Ok(same));
        }
    }
}
