//! Literals: constants that the loader puts into secondary attributes.

/// Literals that the program needs in secondary attributes.
#[derive(Clone, Debug, Default)]
pub struct Literals {
    /// First register that literals may take.
    pub first: u16,
    /// Values in order.
    pub values: Vec<u32>,
    /// Whether a place was asked for.
    pub asked: bool,
}

impl Literals {
    /// A place for these values in consecutive registers; the first at an even register if there are several.
    pub(super) fn place(&mut self, want: &[u32]) -> Option<u16> {
        self.asked = true;
        let n = want.len();
        let even = n > 1;
        for at in 0..self.values.len() {
            let fits = at + n <= self.values.len() && self.values[at..at + n] == *want;
            if fits && (!even || (self.first as usize + at).is_multiple_of(2)) {
                return Some(self.first + at as u16);
            }
        }
        if self.first as usize + self.values.len() + n + 1 > crate::abi::SA_LIMIT as usize {
            return None;
        }
        if even && !(self.first as usize + self.values.len()).is_multiple_of(2) {
            self.values.push(0);
        }
        let at = self.values.len();
        self.values.extend_from_slice(want);
        Some(self.first + at as u16)
    }
}
