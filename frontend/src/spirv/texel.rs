//! Texels of storage and buffer textures as words: what a format's channels are, and how they are taken out and put in.

use super::convert::Converter;
use super::types::{Kind, Num};
use retroshade_ir::inst::Imm;
use retroshade_ir::types::{F32, I32, Scalar};
use retroshade_ir::{Opcode, Value};
use spirv::ImageFormat;

/// How a channel's bits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// A binary32, a binary16, or one of those without a sign and with less mantissa.
    Float,
    /// A fraction from 0 to 1.
    Unorm,
    /// A fraction from -1 to 1.
    Snorm,
    /// An integer.
    Uint,
    /// An integer with a sign.
    Sint,
}

/// A format: the channels of a texel from the lowest bit up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Its name as GLSL has it.
    pub(crate) name: &'static str,
    channel: Channel,
    bits: &'static [u32],
}

impl Format {
    /// A format by its number in SPIR-V; one that is not known is as wide as a texel can be.
    pub(crate) fn new(format: ImageFormat, num: Num) -> Option<Format> {
        use Channel::{Float, Sint, Snorm, Uint, Unorm};
        let of = |name, channel, bits| Some(Format { name, channel, bits });
        match format {
            ImageFormat::Unknown => match num.kind {
                Kind::Float => of("rgba32f", Float, &[32; 4]),
                Kind::Signed => of("rgba32i", Sint, &[32; 4]),
                _ => of("rgba32ui", Uint, &[32; 4]),
            },
            ImageFormat::Rgba32f => of("rgba32f", Float, &[32; 4]),
            ImageFormat::Rg32f => of("rg32f", Float, &[32; 2]),
            ImageFormat::R32f => of("r32f", Float, &[32]),
            ImageFormat::Rgba16f => of("rgba16f", Float, &[16; 4]),
            ImageFormat::Rg16f => of("rg16f", Float, &[16; 2]),
            ImageFormat::R16f => of("r16f", Float, &[16]),
            ImageFormat::R11fG11fB10f => of("r11f_g11f_b10f", Float, &[11, 11, 10]),
            ImageFormat::Rgba16 => of("rgba16", Unorm, &[16; 4]),
            ImageFormat::Rg16 => of("rg16", Unorm, &[16; 2]),
            ImageFormat::R16 => of("r16", Unorm, &[16]),
            ImageFormat::Rgba8 => of("rgba8", Unorm, &[8; 4]),
            ImageFormat::Rg8 => of("rg8", Unorm, &[8; 2]),
            ImageFormat::R8 => of("r8", Unorm, &[8]),
            ImageFormat::Rgb10A2 => of("rgb10_a2", Unorm, &[10, 10, 10, 2]),
            ImageFormat::Rgba16Snorm => of("rgba16_snorm", Snorm, &[16; 4]),
            ImageFormat::Rg16Snorm => of("rg16_snorm", Snorm, &[16; 2]),
            ImageFormat::R16Snorm => of("r16_snorm", Snorm, &[16]),
            ImageFormat::Rgba8Snorm => of("rgba8_snorm", Snorm, &[8; 4]),
            ImageFormat::Rg8Snorm => of("rg8_snorm", Snorm, &[8; 2]),
            ImageFormat::R8Snorm => of("r8_snorm", Snorm, &[8]),
            ImageFormat::Rgba32i => of("rgba32i", Sint, &[32; 4]),
            ImageFormat::Rg32i => of("rg32i", Sint, &[32; 2]),
            ImageFormat::R32i => of("r32i", Sint, &[32]),
            ImageFormat::Rgba16i => of("rgba16i", Sint, &[16; 4]),
            ImageFormat::Rg16i => of("rg16i", Sint, &[16; 2]),
            ImageFormat::R16i => of("r16i", Sint, &[16]),
            ImageFormat::Rgba8i => of("rgba8i", Sint, &[8; 4]),
            ImageFormat::Rg8i => of("rg8i", Sint, &[8; 2]),
            ImageFormat::R8i => of("r8i", Sint, &[8]),
            ImageFormat::Rgba32ui => of("rgba32ui", Uint, &[32; 4]),
            ImageFormat::Rg32ui => of("rg32ui", Uint, &[32; 2]),
            ImageFormat::R32ui => of("r32ui", Uint, &[32]),
            ImageFormat::Rgba16ui => of("rgba16ui", Uint, &[16; 4]),
            ImageFormat::Rg16ui => of("rg16ui", Uint, &[16; 2]),
            ImageFormat::R16ui => of("r16ui", Uint, &[16]),
            ImageFormat::Rgba8ui => of("rgba8ui", Uint, &[8; 4]),
            ImageFormat::Rg8ui => of("rg8ui", Uint, &[8; 2]),
            ImageFormat::R8ui => of("r8ui", Uint, &[8]),
            ImageFormat::Rgb10a2ui => of("rgb10_a2ui", Uint, &[10, 10, 10, 2]),
            _ => None,
        }
    }

    /// Words of a texel. One that is smaller than a word has a word of its own, so that a store touches no other.
    pub(crate) fn words(self) -> u32 {
        self.bits.iter().sum::<u32>().div_ceil(32)
    }

    /// What the words hold, as far as that is more than bits.
    pub(crate) fn scalar(self) -> Scalar {
        if self.channel == Channel::Float && self.bits[0] == 32 { Scalar::F32 } else { Scalar::I32 }
    }

    /// Whether a texel is one integer.
    pub(crate) fn is_integer_word(self) -> bool {
        self.bits == [32] && matches!(self.channel, Channel::Uint | Channel::Sint)
    }

    /// Whether a texel is one float.
    pub(crate) fn is_float_word(self) -> bool {
        self.bits == [32] && self.channel == Channel::Float
    }

    /// Whether its channels are read as floats.
    pub(crate) fn is_float(self) -> bool {
        matches!(self.channel, Channel::Float | Channel::Unorm | Channel::Snorm)
    }
}

impl Converter<'_> {
    /// The four channels of a texel in words: missing ones are 0, the last 1.
    pub(crate) fn unpack_texel(&mut self, f: Format, words: &[Value]) -> Vec<Value> {
        let mut out: Vec<Value> = Vec::new();
        let mut at = 0;
        for bits in f.bits {
            let v = self.channel(f, words[(at / 32) as usize], at % 32, *bits);
            out.push(v);
            at += bits;
        }
        while out.len() < 4 {
            let one = u32::from(out.len() == 3);
            out.push(if f.is_float() { self.fconst(F32, one as f32) } else { self.iconst(one) });
        }
        out
    }

    fn channel(&mut self, f: Format, word: Value, shift: u32, bits: u32) -> Value {
        let four = F32.with_lanes(4);
        let two = F32.with_lanes(2);
        let packed = |c: &mut Self, op, ty, each: u32| {
            let all = c.b().typed(op, ty, &[word], Imm::None);
            c.lane(all, (shift / each) as u8)
        };
        match (f.channel, bits) {
            (_, 32) => word,
            (Channel::Float, 16) => packed(self, Opcode::UnpackHalf2x16, two, 16),
            (Channel::Unorm, 8) => packed(self, Opcode::UnpackUnorm4x8, four, 8),
            (Channel::Snorm, 8) => packed(self, Opcode::UnpackSnorm4x8, four, 8),
            (Channel::Unorm, 16) => packed(self, Opcode::UnpackUnorm2x16, two, 16),
            (Channel::Snorm, 16) => packed(self, Opcode::UnpackSnorm2x16, two, 16),
            _ => {
                let (at, count) = (self.iconst(shift), self.iconst(bits));
                let op = if f.channel == Channel::Sint { Opcode::Sbfe } else { Opcode::Ubfe };
                let v = self.b().ins(op, &[word, at, count]);
                match f.channel {
                    // A float without sign: the upper bits of a half's.
                    Channel::Float => {
                        let up = self.iconst(15 - bits);
                        let half = self.op2(Opcode::Ishl, v, up);
                        let both = self.b().typed(Opcode::UnpackHalf2x16, two, &[half], Imm::None);
                        self.lane(both, 0)
                    }
                    Channel::Unorm | Channel::Snorm => {
                        let v = self.b().typed(Opcode::U2f, F32, &[v], Imm::None);
                        let scale = self.fconst(F32, 1.0 / ((1u32 << bits) - 1) as f32);
                        self.op2(Opcode::Fmul, v, scale)
                    }
                    Channel::Uint | Channel::Sint => v,
                }
            }
        }
    }

    /// The words of a texel of at most four channels.
    pub(crate) fn pack_texel(&mut self, f: Format, channels: &[Value]) -> Vec<Value> {
        let zero = if f.is_float() { self.fconst(F32, 0.0) } else { self.iconst(0) };
        let channel = |n: usize| channels.get(n).copied().unwrap_or(zero);
        let lanes = |first: usize, each: usize| -> Vec<Value> {
            (first..first + each).map(|n| if n < f.bits.len() { channel(n) } else { zero }).collect()
        };
        let pack = match (f.channel, f.bits[0]) {
            (_, 32) => return (0..f.bits.len()).map(channel).collect(),
            (Channel::Float, 16) => Some((Opcode::PackHalf2x16, 2)),
            (Channel::Unorm, 8) => Some((Opcode::PackUnorm4x8, 4)),
            (Channel::Snorm, 8) => Some((Opcode::PackSnorm4x8, 4)),
            (Channel::Unorm, 16) => Some((Opcode::PackUnorm2x16, 2)),
            (Channel::Snorm, 16) => Some((Opcode::PackSnorm2x16, 2)),
            _ => None,
        };
        if let Some((op, each)) = pack {
            let words = (0..f.words() as usize).map(|w| {
                let all = lanes(w * each, each);
                let v = self.vector(&all);
                self.b().typed(op, I32, &[v], Imm::None)
            });
            return words.collect();
        }
        let mut words: Vec<Option<Value>> = vec![None; f.words() as usize];
        let mut at = 0;
        for (n, bits) in f.bits.iter().enumerate() {
            let v = self.channel_bits(f, channel(n), *bits);
            let up = self.iconst(at % 32);
            let v = if at % 32 == 0 { v } else { self.op2(Opcode::Ishl, v, up) };
            let word = &mut words[(at / 32) as usize];
            *word = Some(match *word {
                None => v,
                Some(w) => self.op2(Opcode::Ior, w, v),
            });
            at += bits;
        }
        words.into_iter().flatten().collect()
    }

    fn channel_bits(&mut self, f: Format, v: Value, bits: u32) -> Value {
        let most = (1u32 << bits) - 1;
        match f.channel {
            Channel::Float => {
                let zero = self.fconst(F32, 0.0);
                let v = self.op2(Opcode::Fmax, v, zero);
                let both = self.vector(&[v, zero]);
                let half = self.b().typed(Opcode::PackHalf2x16, I32, &[both], Imm::None);
                let down = self.iconst(15 - bits);
                self.op2(Opcode::Ushr, half, down)
            }
            Channel::Unorm | Channel::Snorm => {
                let v = self.op1(Opcode::Fsaturate, v);
                let scale = self.fconst(F32, most as f32);
                let v = self.op2(Opcode::Fmul, v, scale);
                let v = self.op1(Opcode::Fround, v);
                self.b().typed(Opcode::F2u, I32, &[v], Imm::None)
            }
            Channel::Uint | Channel::Sint => {
                let mask = self.iconst(most);
                self.op2(Opcode::Iand, v, mask)
            }
        }
    }
}
