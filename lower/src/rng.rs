//! A small generator of random numbers: xorshift64* seeded through splitmix64.

/// Random numbers that depend on nothing but the seed.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator; close seeds give unrelated sequences.
    pub fn new(seed: u64) -> Rng {
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Rng((z ^ (z >> 31)) | 1)
    }
    /// 32 random bits.
    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
    /// A number below `n` (0 if `n` is 0).
    pub fn below(&mut self, n: usize) -> usize {
        ((self.bits() as u64 * n as u64) >> 32) as usize
    }
    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.bits() % 100 < percent
    }
    /// One of a list that is not empty.
    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
    /// A number from `low` to `high`, both included.
    pub fn range(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1).max(1) as usize) as i32
    }
    /// A tame float: usually an eighth between -4 and 4, sometimes any of that size, rarely large or small.
    pub fn float(&mut self) -> f32 {
        match self.below(20) {
            0..=12 => self.range(-32, 32) as f32 / 8.0,
            13..=17 => self.bits() as f32 / u32::MAX as f32 * 4.0 - 2.0,
            18 => self.range(-2000, 2000) as f32,
            _ => self.range(-100, 100) as f32 / 4096.0,
        }
    }
}
