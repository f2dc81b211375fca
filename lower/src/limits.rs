//! Limits of a compilation, as data: what a program may ask for before it is refused, and a flag by which a caller ends the work.
//!
//! Whoever goes beyond a limit ends with an error that says how much was needed and how much there is; no limit changes code that is
//! within it. Time is no limit here: results never depend on a clock. A caller that has one sets the [flag](crate::Cancel).

/// What a compilation may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of the IR, in all functions together (C0013).
    pub instructions: u64,
    /// Blocks of the IR, in all functions together (C0031).
    pub blocks: u64,
    /// Bytes of code (C0032).
    pub code: u64,
    /// Ways of building a program that a search tries; a search that may try no more keeps the best so far.
    pub trials: u64,
}

impl Default for Limits {
    /// Beyond any program that a machine could hold.
    fn default() -> Limits {
        Limits { instructions: 1 << 16, blocks: 1 << 14, code: 4 << 20, trials: u64::MAX }
    }
}

impl Limits {
    /// The names that [`Limits::set`] takes, each with what it bounds.
    pub const NAMES: [(&'static str, &'static str); 4] = [
        ("instructions", "instructions of the IR"),
        ("blocks", "blocks of the IR"),
        ("code", "bytes of code"),
        ("trials", "ways that a search tries"),
    ];

    /// Sets a limit by its name; whether there is one of that name.
    pub fn set(&mut self, name: &str, value: u64) -> bool {
        let at = match name {
            "instructions" => &mut self.instructions,
            "blocks" => &mut self.blocks,
            "code" => &mut self.code,
            "trials" => &mut self.trials,
            _ => return false,
        };
        *at = value;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_its_own_limit() {
        let mut seen = Vec::new();
        for (n, (name, _)) in Limits::NAMES.iter().enumerate() {
            let mut l = Limits::default();
            assert!(l.set(name, n as u64) && l != Limits::default(), "{name}");
            assert!(!seen.contains(&l), "{name}");
            seen.push(l);
        }
        assert!(!Limits::default().set("nothing", 1));
    }
}
