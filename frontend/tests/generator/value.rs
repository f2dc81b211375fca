//! The evaluator's values and the meaning of operators and functions, lane by lane, as WGSL has them; written without the compiler's help.

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    F,
    I,
    U,
    B,
}

/// A scalar (one lane) or a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ty {
    pub kind: Kind,
    pub lanes: u8,
}

impl Ty {
    pub fn name(self) -> String {
        let scalar = match self.kind {
            Kind::F => "f32",
            Kind::I => "i32",
            Kind::U => "u32",
            Kind::B => "bool",
        };
        if self.lanes == 1 { scalar.to_string() } else { format!("vec{}<{scalar}>", self.lanes) }
    }
    pub fn lane(self) -> Ty {
        Ty { lanes: 1, ..self }
    }
    pub fn of(kind: Kind, lanes: u8) -> Ty {
        Ty { kind, lanes }
    }
}

/// A value: one word a lane; truth values are 0 and 1.
pub type Words = Vec<u32>;

pub fn f(w: u32) -> f32 {
    f32::from_bits(w)
}

/// A comparison: 1 where it holds.
fn relation<T: PartialOrd>(op: &str, x: &T, y: &T) -> u32 {
    u32::from(match op {
        "==" => x == y,
        "!=" => x != y,
        "<" => x < y,
        "<=" => x <= y,
        ">" => x > y,
        ">=" => x >= y,
        _ => panic!("{op}"),
    })
}

/// An operator on one lane.
pub fn binary(op: &str, k: Kind, a: u32, b: u32) -> u32 {
    match k {
        Kind::F => {
            let (x, y) = (f(a), f(b));
            match op {
                "+" => (x + y).to_bits(),
                "-" => (x - y).to_bits(),
                "*" => (x * y).to_bits(),
                "/" => (x / y).to_bits(),
                "min" => x.min(y).to_bits(),
                "max" => x.max(y).to_bits(),
                "step" => (if y >= x { 1.0f32 } else { 0.0 }).to_bits(),
                _ => relation(op, &x, &y),
            }
        }
        Kind::I => {
            let (x, y) = (a as i32, b as i32);
            match op {
                "+" => x.wrapping_add(y) as u32,
                "-" => x.wrapping_sub(y) as u32,
                "*" => x.wrapping_mul(y) as u32,
                // By zero the quotient is the dividend and the remainder zero; so it is where the quotient would overflow.
                "/" => (if y == 0 || x == i32::MIN && y == -1 { x } else { x / y }) as u32,
                "%" => (if y == 0 || x == i32::MIN && y == -1 { 0 } else { x % y }) as u32,
                "&" => a & b,
                "|" => a | b,
                "^" => a ^ b,
                "<<" => a << (b & 31),
                ">>" => (x >> (b & 31)) as u32,
                "min" => x.min(y) as u32,
                "max" => x.max(y) as u32,
                _ => relation(op, &x, &y),
            }
        }
        Kind::U => match op {
            "+" => a.wrapping_add(b),
            "-" => a.wrapping_sub(b),
            "*" => a.wrapping_mul(b),
            "/" => a.checked_div(b).unwrap_or(a),
            "%" => a.checked_rem(b).unwrap_or(0),
            "&" => a & b,
            "|" => a | b,
            "^" => a ^ b,
            "<<" => a << (b & 31),
            ">>" => a >> (b & 31),
            "min" => a.min(b),
            "max" => a.max(b),
            _ => relation(op, &a, &b),
        },
        Kind::B => match op {
            "&" | "&&" => a & b,
            "|" | "||" => a | b,
            _ => relation(op, &a, &b),
        },
    }
}

/// An operator or function of one lane.
pub fn unary(op: &str, k: Kind, a: u32) -> u32 {
    match (op, k) {
        ("-", Kind::F) => (-f(a)).to_bits(),
        ("-", _) => (a as i32).wrapping_neg() as u32,
        ("~", _) => !a,
        ("!", _) => 1 - a,
        ("abs", Kind::F) => f(a).abs().to_bits(),
        ("abs", Kind::I) => (a as i32).wrapping_abs() as u32,
        ("abs", _) => a,
        ("floor", _) => f(a).floor().to_bits(),
        ("ceil", _) => f(a).ceil().to_bits(),
        ("trunc", _) => f(a).trunc().to_bits(),
        ("round", _) => f(a).round_ties_even().to_bits(),
        ("sign", Kind::F) => (if f(a) > 0.0 {
            1.0f32
        } else if f(a) < 0.0 {
            -1.0
        } else {
            0.0
        })
        .to_bits(),
        ("sign", _) => (a as i32).signum() as u32,
        ("saturate", _) => f(a).clamp(0.0, 1.0).to_bits(),
        ("countOneBits", _) => a.count_ones(),
        ("countLeadingZeros", _) => a.leading_zeros(),
        ("countTrailingZeros", _) => a.trailing_zeros(),
        ("reverseBits", _) => a.reverse_bits(),
        ("firstLeadingBit", Kind::U) => {
            if a == 0 {
                u32::MAX
            } else {
                31 - a.leading_zeros()
            }
        }
        ("firstLeadingBit", _) => {
            let x = if (a as i32) < 0 { !a } else { a };
            if x == 0 { u32::MAX } else { 31 - x.leading_zeros() }
        }
        ("firstTrailingBit", _) => {
            if a == 0 {
                u32::MAX
            } else {
                a.trailing_zeros()
            }
        }
        _ => panic!("{op}"),
    }
}

/// The conversion of one lane.
pub fn cast(from: Kind, to: Kind, a: u32) -> u32 {
    match (from, to) {
        (Kind::F, Kind::I) => f(a) as i32 as u32,
        (Kind::F, Kind::U) => f(a) as u32,
        (Kind::F, Kind::B) => u32::from(f(a) != 0.0),
        (Kind::I, Kind::F) => (a as i32 as f32).to_bits(),
        (Kind::U | Kind::B, Kind::F) => (a as f32).to_bits(),
        (Kind::I | Kind::U, Kind::B) => u32::from(a != 0),
        _ => a,
    }
}
