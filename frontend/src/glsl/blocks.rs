//! The layout that a block of uniforms or a buffer asks for, where naga would not give it.

use super::Rewriter;
use super::items::{Declarator, Part, Quals};
use super::names::{is_basic_type, matrix_type};
use super::tokens::Tok;
use crate::layout::{Key, Layout, Rules};
use std::collections::BTreeMap;

/// Layout keys that naga does not know; what they say stands in the block's [`Layout`].
const OWN: [&str; 6] = ["row_major", "column_major", "offset", "align", "shared", "packed"];

/// Whether matrices stand row by row, if the qualifiers say.
fn row_major(q: &Quals) -> Option<bool> {
    let last = q.layout.iter().rev().find(|(k, _)| k.is("row_major") || k.is("column_major"))?;
    Some(last.0.is("row_major"))
}

/// Whether a type is a matrix with columns of two lanes.
fn two_rows(t: &Tok) -> bool {
    matrix_type(&t.text).is_some_and(|(_, column)| column == "vec2")
}

impl Rewriter<'_> {
    /// `layout(row_major) uniform;`
    pub(super) fn block_defaults(&mut self, q: &Quals) {
        if let Some(r) = row_major(q) {
            let d = &mut self.row_major;
            *(if q.has("buffer") { &mut d.1 } else { &mut d.0 }) = r;
        }
    }

    /// Notes a block's layout if naga would not get it right; gives its qualifiers without what naga does not know.
    pub(super) fn block_layout(&mut self, q: &Quals, name: &Tok, members: Part) -> Quals {
        let mut out = q.clone();
        out.layout.retain(|(k, _)| !OWN.contains(&&*k.text));
        if !q.has("uniform") && !q.has("buffer") {
            return out;
        }
        let push = q.key("push_constant").is_some();
        let by_row = row_major(q).unwrap_or(if q.has("buffer") { self.row_major.1 } else { self.row_major.0 });
        let all = self.members(members);
        let mut keys = Vec::new();
        let mut special = by_row || out.layout.len() != q.layout.len();
        let mut matrices_of_two = false;
        for (mq, ty, d) in &all {
            let t = &self.toks[ty.start];
            let key = Key { offset: mq.number("offset"), align: mq.number("align"), row_major: row_major(mq).unwrap_or(by_row) };
            let known = is_basic_type(&t.text);
            matrices_of_two |= two_rows(t);
            let arrays = !d.array.is_empty() || ty.end > ty.start + 1;
            special |= !known || two_rows(t) || mq.layout.iter().any(|(k, _)| OWN.contains(&&*k.text)) || push && arrays;
            keys.push(key);
            for what in ["offset", "align"] {
                if let (Some(k), None) = (mq.key(what), mq.number(what)) {
                    let k = k.clone();
                    self.error("F0021", &k, format!("`{what}` of a member must be a number"));
                }
            }
        }
        for (n, (_, _, d)) in all.iter().enumerate() {
            let (before, here) = (keys[..n].iter().filter_map(|k| k.offset).max(), keys[n].offset);
            if here.is_some() && here < before {
                self.error("F0021", &d.name, format!("`{}` is placed before a member that precedes it", d.name.text));
            }
        }
        if !special {
            return out;
        }
        self.changed = true;
        let rules = match (q.key("std430").is_some(), q.key("std140").is_some()) {
            (true, _) => Rules::Std430,
            (_, true) => Rules::Std140,
            _ if push || q.has("buffer") => Rules::Std430,
            _ => Rules::Std140,
        };
        // naga's own offsets do not matter any more; by std430 it takes all matrices, by std140 a structure remains the type that it is elsewhere.
        if let Some(t) = q.layout.first().map(|(k, _)| k.clone()).or_else(|| q.words.first().cloned()) {
            out.layout.retain(|(k, _)| !k.is("std140") && !k.is("std430"));
            out.layout.push((t.like(if matrices_of_two { "std430" } else { "std140" }), Vec::new()));
        }
        self.layouts.insert(name.text.clone(), Layout { rules, keys });
        out
    }

    /// A member's qualifiers without its layout, which stands in the block's.
    pub(super) fn member_quals(q: &Quals) -> Quals {
        Quals { words: q.words.clone(), layout: Vec::new() }
    }

    /// Notes the layout of the block of loose uniforms and says by which rules naga should read it.
    pub(super) fn loose_layout(&mut self, name: &str, members: &BTreeMap<String, (Part, Declarator)>) -> &'static str {
        let two = members.values().any(|(ty, _)| two_rows(&self.toks[ty.start]));
        self.layouts.insert(name.to_string(), Layout { rules: Rules::Std140, keys: Vec::new() });
        if two { "std430" } else { "std140" }
    }
}
