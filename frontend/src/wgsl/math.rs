//! Built-in functions, as instructions of GLSL.std.450 or of SPIR-V itself.

use super::builder::Id;
use super::writer::{R, Writer};
use naga::{Expression, Handle, MathFunction as M, Scalar, ScalarKind, VectorSize};
use spirv::{GlslStd450Op as G, Op};

/// What stands for a function by the kind of its first argument.
enum Way {
    Glsl(G),
    Plain(Op),
}

impl Writer<'_> {
    /// An instruction of GLSL.std.450.
    pub(super) fn glsl(&mut self, op: G, ty: Id, args: &[Id]) -> Id {
        let set = self.out.glsl;
        self.op(Op::ExtInst, ty, &[&[set, op as u32], args].concat())
    }

    /// A built-in function.
    pub(super) fn math(&mut self, h: Handle<Expression>, fun: M, handles: &[Handle<Expression>]) -> R<Id> {
        let mut args = handles.iter().map(|a| self.value(*a)).collect::<R<Vec<Id>>>()?;
        let ty = self.type_of(h);
        let (size, scalar) = self.numeric_of(handles[0])?;
        if let (Some(n), M::Mix) = (size, fun)
            && let (None, s) = self.numeric_of(handles[2])?
        {
            args[2] = self.splat(args[2], n, s);
        }
        let x = args[0];
        Ok(match fun {
            M::Abs if scalar.kind == ScalarKind::Uint => x,
            M::Saturate => {
                let one = if scalar == Scalar::F16 { 0x3c00 } else { 1f32.to_bits() };
                let (zero, one) = (self.out.filled(size, scalar, 0), self.out.filled(size, scalar, one));
                self.glsl(G::FClamp, ty, &[x, zero, one])
            }
            M::CountTrailingZeros => {
                // The place of the lowest bit is -1 where there is none, which is above 32 as an unsigned number.
                let n = self.glsl(G::FindILsb, ty, &[x]);
                let most = self.out.filled(size, scalar, 32);
                self.glsl(G::UMin, ty, &[n, most])
            }
            M::CountLeadingZeros => {
                let n = self.glsl(G::FindUMsb, ty, &[x]);
                let last = self.out.filled(size, scalar, 31);
                self.op(Op::ISub, ty, &[last, n])
            }
            M::Pack4xI8 | M::Pack4xU8 => self.pack_bytes(x, scalar),
            M::Pack4xI8Clamp | M::Pack4xU8Clamp => {
                let (clamp, low, high) = if fun == M::Pack4xI8Clamp { (G::SClamp, -128i32 as u32, 127) } else { (G::UClamp, 0, 255) };
                let (low, high) = (self.out.filled(size, scalar, low), self.out.filled(size, scalar, high));
                let of = self.out.numeric(size, scalar);
                let x = self.glsl(clamp, of, &[x, low, high]);
                self.pack_bytes(x, scalar)
            }
            M::Unpack4xI8 | M::Unpack4xU8 => {
                let (op, lane) =
                    if fun == M::Unpack4xI8 { (Op::BitFieldSExtract, Scalar::I32) } else { (Op::BitFieldUExtract, Scalar::U32) };
                let (lane, count) = (self.out.scalar(lane), self.out.word(8));
                let lanes = [0, 8, 16, 24].map(|at| {
                    let at = self.out.word(at);
                    self.op(op, lane, &[x, at, count])
                });
                self.op(Op::CompositeConstruct, ty, &lanes)
            }
            _ => match way(fun, scalar.kind) {
                Some(Way::Glsl(op)) => self.glsl(op, ty, &args),
                Some(Way::Plain(op)) => self.op(op, ty, &args),
                None => return Err(self.error("F0140", format!("{fun:?} exists on none of the machines"))),
            },
        })
    }

    /// Four lanes' low bytes in a word, the first lowest.
    fn pack_bytes(&mut self, v: Id, scalar: Scalar) -> Id {
        let (lane, word, count) = (self.out.scalar(scalar), self.out.scalar(Scalar::U32), self.out.word(8));
        let mask = self.out.number(scalar, 0xff);
        let first = self.op(Op::CompositeExtract, lane, &[v, 0]);
        let mut all = self.op(Op::BitwiseAnd, word, &[first, mask]);
        for n in 1..4 {
            let (next, at) = (self.op(Op::CompositeExtract, lane, &[v, n]), self.out.word(8 * n));
            all = self.op(Op::BitFieldInsert, word, &[all, next, at, count]);
        }
        all
    }

    /// Coordinates kept half a texel away from the edges of a texture.
    pub(super) fn clamp_to_edge(&mut self, image: Id, lanes: Option<VectorSize>, arrayed: bool, at: Id) -> Id {
        let all = lanes.map_or(1, |n| n as u32) + u32::from(arrayed);
        let word = self.out.scalar(Scalar::I32);
        let whole = if all == 1 { word } else { self.out.once(Op::TypeVector, &[word, all]) };
        let level = self.out.number(Scalar::I32, 0);
        let mut size = self.op(Op::ImageQuerySizeLod, whole, &[image, level]);
        if arrayed {
            let part = self.out.numeric(lanes, Scalar::I32);
            let mut operands = vec![size, size];
            operands.extend(0..all - 1);
            size = match lanes {
                Some(_) => self.op(Op::VectorShuffle, part, &operands),
                None => self.op(Op::CompositeExtract, part, &[size, 0]),
            };
        }
        let ty = self.out.numeric(lanes, Scalar::F32);
        let size = self.op(Op::ConvertUToF, ty, &[size]);
        let [half, one] = [0.5f32, 1.0].map(|x| self.out.filled(lanes, Scalar::F32, x.to_bits()));
        let low = self.op(Op::FDiv, ty, &[half, size]);
        let high = self.op(Op::FSub, ty, &[one, low]);
        let at = self.glsl(G::FMax, ty, &[at, low]);
        self.glsl(G::FMin, ty, &[at, high])
    }
}

/// The instruction of a function whose arguments are its operands.
fn way(fun: M, kind: ScalarKind) -> Option<Way> {
    use ScalarKind::{Float, Sint};
    use Way::{Glsl, Plain};
    Some(match (fun, kind) {
        (M::Abs, Float) => Glsl(G::FAbs),
        (M::Abs, _) => Glsl(G::SAbs),
        (M::Min, Float) => Glsl(G::FMin),
        (M::Min, Sint) => Glsl(G::SMin),
        (M::Min, _) => Glsl(G::UMin),
        (M::Max, Float) => Glsl(G::FMax),
        (M::Max, Sint) => Glsl(G::SMax),
        (M::Max, _) => Glsl(G::UMax),
        (M::Clamp, Float) => Glsl(G::FClamp),
        (M::Clamp, Sint) => Glsl(G::SClamp),
        (M::Clamp, _) => Glsl(G::UClamp),
        (M::Sign, Float) => Glsl(G::FSign),
        (M::Sign, _) => Glsl(G::SSign),
        (M::Dot, Float) => Plain(Op::Dot),
        (M::Dot, Sint) | (M::Dot4I8Packed, _) => Plain(Op::SDot),
        (M::Dot, _) | (M::Dot4U8Packed, _) => Plain(Op::UDot),
        (M::FirstLeadingBit, Sint) => Glsl(G::FindSMsb),
        (M::FirstLeadingBit, _) => Glsl(G::FindUMsb),
        (M::ExtractBits, Sint) => Plain(Op::BitFieldSExtract),
        (M::ExtractBits, _) => Plain(Op::BitFieldUExtract),
        _ => return plain(fun),
    })
}

/// The instruction of a function that has one for all kinds of numbers.
fn plain(fun: M) -> Option<Way> {
    use Way::{Glsl, Plain};
    Some(match fun {
        M::Cos => Glsl(G::Cos),
        M::Cosh => Glsl(G::Cosh),
        M::Sin => Glsl(G::Sin),
        M::Sinh => Glsl(G::Sinh),
        M::Tan => Glsl(G::Tan),
        M::Tanh => Glsl(G::Tanh),
        M::Acos => Glsl(G::Acos),
        M::Asin => Glsl(G::Asin),
        M::Atan => Glsl(G::Atan),
        M::Atan2 => Glsl(G::Atan2),
        M::Asinh => Glsl(G::Asinh),
        M::Acosh => Glsl(G::Acosh),
        M::Atanh => Glsl(G::Atanh),
        M::Radians => Glsl(G::Radians),
        M::Degrees => Glsl(G::Degrees),
        M::Ceil => Glsl(G::Ceil),
        M::Floor => Glsl(G::Floor),
        M::Round => Glsl(G::RoundEven),
        M::Fract => Glsl(G::Fract),
        M::Trunc => Glsl(G::Trunc),
        M::Modf => Glsl(G::ModfStruct),
        M::Frexp => Glsl(G::FrexpStruct),
        M::Ldexp => Glsl(G::Ldexp),
        M::Exp => Glsl(G::Exp),
        M::Exp2 => Glsl(G::Exp2),
        M::Log => Glsl(G::Log),
        M::Log2 => Glsl(G::Log2),
        M::Pow => Glsl(G::Pow),
        M::Outer => Plain(Op::OuterProduct),
        M::Cross => Glsl(G::Cross),
        M::Distance => Glsl(G::Distance),
        M::Length => Glsl(G::Length),
        M::Normalize => Glsl(G::Normalize),
        M::FaceForward => Glsl(G::FaceForward),
        M::Reflect => Glsl(G::Reflect),
        M::Refract => Glsl(G::Refract),
        M::Fma => Glsl(G::Fma),
        M::Mix => Glsl(G::FMix),
        M::Step => Glsl(G::Step),
        M::SmoothStep => Glsl(G::SmoothStep),
        M::Sqrt => Glsl(G::Sqrt),
        M::InverseSqrt => Glsl(G::InverseSqrt),
        M::Inverse => Glsl(G::MatrixInverse),
        M::Determinant => Glsl(G::Determinant),
        M::Transpose => Plain(Op::Transpose),
        M::QuantizeToF16 => Plain(Op::QuantizeToF16),
        M::CountOneBits => Plain(Op::BitCount),
        M::ReverseBits => Plain(Op::BitReverse),
        M::InsertBits => Plain(Op::BitFieldInsert),
        M::FirstTrailingBit => Glsl(G::FindILsb),
        M::Pack4x8snorm => Glsl(G::PackSnorm4x8),
        M::Pack4x8unorm => Glsl(G::PackUnorm4x8),
        M::Pack2x16snorm => Glsl(G::PackSnorm2x16),
        M::Pack2x16unorm => Glsl(G::PackUnorm2x16),
        M::Pack2x16float => Glsl(G::PackHalf2x16),
        M::Unpack4x8snorm => Glsl(G::UnpackSnorm4x8),
        M::Unpack4x8unorm => Glsl(G::UnpackUnorm4x8),
        M::Unpack2x16snorm => Glsl(G::UnpackSnorm2x16),
        M::Unpack2x16unorm => Glsl(G::UnpackUnorm2x16),
        M::Unpack2x16float => Glsl(G::UnpackHalf2x16),
        _ => return None,
    })
}
