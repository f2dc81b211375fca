//! Encoding tables as Markdown, generated from the form table (`docs/encodings/<target>.md`).

use crate::form::{FormTable, Kind};

impl<X> FormTable<X> {
    /// One section a form: size, fixed bits, a table of fields.
    pub fn markdown(&self) -> String {
        let mut out = format!("# Encoding tables: {}\n\nGenerated from the form table; do not edit.\n", self.target);
        for f in self.forms {
            let digits = f.size as usize * 2;
            out.push_str(&format!("\n## `{}`\n\n", f.name));
            if !f.doc.is_empty() {
                out.push_str(&format!("{}\n\n", f.doc));
            }
            let spaces: Vec<_> = (0..self.spaces.len()).filter(|i| f.spaces >> i & 1 == 1).map(|i| self.spaces[i]).collect();
            out.push_str(&format!("{} bytes, in {}; mask `{:0digits$x}`, fixed `{:0digits$x}`", f.size, spaces.join(", "), f.mask, f.bits));
            if let Some(r) = f.refines {
                out.push_str(&format!("; special case of `{r}`"));
            }
            out.push_str("\n\n");
            if f.fields().next().is_some() {
                out.push_str("| field | bits | values |\n|---|---|---|\n");
            }
            for field in f.fields() {
                let at: Vec<_> = field
                    .bits
                    .iter()
                    .rev()
                    .map(|b| if b.width == 1 { format!("{}", b.lo) } else { format!("{}:{}", b.lo + b.width - 1, b.lo) })
                    .collect();
                let values = match field.kind {
                    Kind::Unsigned => String::new(),
                    Kind::Signed => "signed".to_string(),
                    Kind::Names(n) => {
                        n.iter().enumerate().filter(|(_, s)| !s.is_empty()).map(|(i, s)| format!("{i} {s}")).collect::<Vec<_>>().join(", ")
                    }
                };
                out.push_str(&format!("| `{}` | {} | {} |\n", field.name, at.join(" ++ "), values));
            }
        }
        out
    }
}
