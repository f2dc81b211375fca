//! Changes of a text before naga reads it, and the way back from its places to the source's.

use std::ops::Range;

/// What is to be changed in a text. Places are the text's own, in bytes.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Whole tokens, and the shorter word that stands at their beginning, with blanks behind it.
    pub(super) over: Vec<(Range<usize>, &'static str)>,
    /// What comes in front of a place; of the same place in this order.
    pub(super) add: Vec<(usize, String)>,
}

impl Edits {
    /// The changed text; none where nothing is to be changed.
    pub(super) fn apply(mut self, text: &str) -> Option<Edited> {
        if self.over.is_empty() && self.add.is_empty() {
            return None;
        }
        let mut bytes = text.as_bytes().to_vec();
        for (range, word) in self.over {
            let (at, end) = (range.start, range.end);
            bytes[range].iter_mut().filter(|b| !b.is_ascii_whitespace()).for_each(|b| *b = b' ');
            bytes[at..end.min(at + word.len())].copy_from_slice(word.as_bytes());
        }
        self.add.sort_by_key(|a| a.0);
        let (mut out, mut more, mut from) = (Vec::with_capacity(bytes.len()), Vec::new(), 0);
        for (at, added) in &self.add {
            out.extend_from_slice(&bytes[from..*at]);
            more.extend(out.len()..out.len() + added.len());
            out.extend_from_slice(added.as_bytes());
            from = *at;
        }
        out.extend_from_slice(&bytes[from..]);
        // Whole tokens have come and gone, so that this is text still.
        Some(Edited { text: String::from_utf8(out).unwrap_or_else(|_| text.to_string()), more })
    }
}

/// A changed text.
#[derive(Clone, Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    /// The places of the bytes that were added, in order.
    more: Vec<usize>,
}

impl Edited {
    /// The place in the text before. What was added is at the place that it stands in front of.
    pub(super) fn back(&self, at: usize) -> usize {
        at - self.more.partition_point(|added| *added < at)
    }
}

#[cfg(test)]
mod tests {
    use super::Edits;

    #[test]
    fn places_lead_back_to_the_text_before() {
        let add = vec![(2, "xy".to_string()), (2, "z".to_string()), (4, "!".to_string())];
        let edited = Edits { over: vec![(0..2, "")], add }.apply("ab cd").unwrap();
        assert_eq!(edited.text, "  xyz c!d");
        assert_eq!((0..10).map(|at| edited.back(at)).collect::<Vec<_>>(), [0, 1, 2, 2, 2, 2, 3, 4, 4, 5]);
    }
}
