//! What only the random programs draw.

use crate::rng::Rng;

impl Rng {
    /// An index by weights.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let sum: u32 = weights.iter().sum();
        let mut at = self.below(sum as usize) as u32;
        weights
            .iter()
            .position(|w| {
                let here = at < *w;
                at = at.wrapping_sub(*w);
                here
            })
            .unwrap_or(0)
    }
    /// An integer: usually small, sometimes a pattern.
    pub fn int(&mut self) -> u32 {
        match self.below(10) {
            0..=5 => self.range(-8, 16) as u32,
            6..=7 => self.bits(),
            8 => 1u32 << self.below(32),
            _ => self.of(&[0, 1, u32::MAX, 0x7fff_ffff, 0x8000_0000, 0xff, 0xffff_0000]),
        }
    }
}
