//! What travels from a vertex program to a fragment program: texture coordinates, two colours and fog, by location or by name.
//!
//! Locations 0 to 9 are texture coordinates, 10 and 11 the colours, 12 is fog, in both programs. Where the source gives no
//! location the programs are matched by name, and so is what a name says: `v_color` is a colour, `fog` is fog. Facts: the ISA
//! sheet's sections 17.1, 19.4 and 19.5.
//!
//! Integers travel as floats, 16 bits each: exact for every value where the vertices of a primitive agree, since perspective
//! changes the last bits of a float of 16 bits at most. Where the vertices differ nothing gives the value of one of them.

use super::unsupported;
use retroshade_ir::words::Meaning;
use retroshade_ir::*;
use retroshade_lower::CompileError;

/// What an iterated value is, or what a vertex program's output travels as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Varying {
    /// One of two colours.
    Color(u8),
    /// Fog.
    Fog,
    /// Texture coordinate set.
    TexCoord(u8),
    /// The position of the pixel.
    Position,
    /// The position within a point sprite.
    Sprite,
}

/// Texture coordinate sets.
pub const COORDS: u32 = 10;
/// Location of the first colour.
pub const COLOR: u32 = COORDS;
/// Location of fog.
pub const FOG: u32 = COLOR + 2;

impl Varying {
    /// What a location is.
    fn at(location: u32) -> Option<Varying> {
        Some(match location {
            0..COORDS => Varying::TexCoord(location as u8),
            COLOR..FOG => Varying::Color((location - COLOR) as u8),
            FOG => Varying::Fog,
            _ => return None,
        })
    }
    /// Its place among the inputs of a published program: colours, texture coordinates in order, the position, fog.
    pub fn rank(self) -> (u8, u8) {
        match self {
            Varying::Color(n) => (0, n),
            Varying::TexCoord(t) => (1, t),
            Varying::Position => (2, 0),
            Varying::Sprite => (3, 0),
            Varying::Fog => (4, 0),
        }
    }
    /// The location that stands for it.
    pub fn location(self) -> Option<u32> {
        match self {
            Varying::TexCoord(t) => Some(u32::from(t)),
            Varying::Color(n) => Some(COLOR + u32::from(n)),
            Varying::Fog => Some(FOG),
            Varying::Position | Varying::Sprite => None,
        }
    }
    /// Output registers that it takes with this many components.
    pub fn registers(self, lanes: u8) -> u16 {
        match self {
            Varying::Color(_) | Varying::Position => 4,
            Varying::Fog => 2,
            Varying::TexCoord(_) | Varying::Sprite => lanes.max(2) as u16,
        }
    }
}

/// What the name of a variable without a location says.
fn named(d: &IoDecl) -> Option<Varying> {
    Some(match Meaning::of(&d.name, d.ty.lanes)? {
        Meaning::Colour(n) => Varying::Color(n),
        Meaning::Fog => Varying::Fog,
    })
}

/// What one element of an input or output at a location is; errors for what is not interpolated as the machine does it.
pub fn of(d: &IoDecl, element: u32) -> Result<Varying, CompileError> {
    let Binding::Location(location) = d.binding else { return Err(CompileError::Internal("a varying without a location".to_string())) };
    interpolated(d)?;
    if let Some(v) = named(d).filter(|_| d.unplaced && d.count <= 1 && d.ty.is_float()) {
        return Ok(v);
    }
    let at = location.saturating_add(element);
    match Varying::at(at) {
        Some(Varying::Color(_) | Varying::Fog) if !d.ty.is_float() => {
            Err(unsupported(d.span, format!("`{}`: integers travel as texture coordinates, locations 0 to {}", d.name, COORDS - 1)))
        }
        Some(Varying::Fog) if d.ty.lanes != 1 => Err(unsupported(d.span, format!("`{}`: fog (location {FOG}) is one float", d.name))),
        Some(v) => Ok(v),
        None => {
            let what = format!(
                "`{}` needs location {at}: there are {COORDS} texture coordinates, two colours ({COLOR} and 11) and fog ({FOG})",
                d.name
            );
            Err(CompileError::limit("U0104", d.span, what, u64::from(at) + 1, u64::from(FOG) + 1))
        }
    }
}

/// Floats that a varying travels as: an integer is two, its low and its high half, which interpolation between equal values
/// leaves nearer to themselves than to any other whole number.
pub fn components(d: &IoDecl) -> u8 {
    if is_halves(d) { 2 * d.ty.lanes } else { d.ty.lanes }
}

/// Whether a varying is integers, which travel in halves.
pub fn is_halves(d: &IoDecl) -> bool {
    d.ty.scalar == Scalar::I32 && matches!(d.binding, Binding::Location(_))
}

/// An integer's halves as floats, the low one first.
pub fn halves(word: u32) -> [u32; 2] {
    [word & 0xffff, word >> 16].map(|h| (h as f32).to_bits())
}

/// The integer of which these are the halves.
pub fn whole(low: u32, high: u32) -> u32 {
    let half = |bits: u32| (f32::from_bits(bits) + 0.5).clamp(0.0, 65535.0) as u32;
    half(high) << 16 | half(low)
}

/// What to hear about a program: a fragment program's integers are those of one vertex only where all vertices agree, a vertex
/// program without a position draws nothing that one would expect.
pub fn warnings(m: &Module) -> Vec<Diagnostic> {
    if m.stage == Stage::Vertex && !writes_position(m) {
        let what = "the program never writes the position: all vertices are at one place";
        return vec![Diagnostic::warning("U0109", Span::NONE, what)];
    }
    let integer = |d: &&IoDecl| m.stage == Stage::Fragment && is_halves(d);
    let say = |d: &IoDecl| {
        let what = "the iterators always interpolate: the integer is right where all vertices of a primitive have the same one";
        Diagnostic::warning("U0108", d.span, format!("`{}`: {what}", d.name))
    };
    m.inputs.values().filter(integer).map(say).collect()
}

/// Whether some function of a program writes the position.
fn writes_position(m: &Module) -> bool {
    let is = |o: Output| m.outputs[o].binding == Binding::Builtin(Builtin::Position);
    let writes = |f: &Function| f.ordered().any(|(_, i)| matches!(f.insts[i].imm, Imm::Mem { var: MemRef::Output(o), .. } if is(o)));
    m.functions.values().any(writes)
}

/// The iterators interpolate floats, with perspective, at the pixel's centre or its centroid.
fn interpolated(d: &IoDecl) -> Result<(), CompileError> {
    let what = match (d.interpolation, d.sampling) {
        _ if is_halves(d) && d.ty.lanes > 2 => "an integer travels as two floats, and a location has four: hand over at most two at one",
        _ if is_halves(d) => return Ok(()),
        _ if !d.ty.is_float() => "truth values cannot be handed to a fragment program, the machine interpolates floats only",
        (Interpolation::Flat, _) => "`flat`: the iterators always interpolate, no value is that of one vertex",
        (Interpolation::Linear, _) => "`noperspective`: the iterators always interpolate with perspective",
        (_, Sampling::Sample) => "`sample`: the iterators know the centre and the centroid of a pixel, not its samples",
        _ => return Ok(()),
    };
    Err(unsupported(d.span, format!("`{}`: {what}", d.name)))
}

/// Two variables cannot travel as one.
pub fn distinct<'m>(all: impl Iterator<Item = (&'m IoDecl, Varying)>) -> Result<(), CompileError> {
    let mut seen: Vec<(&IoDecl, Varying)> = Vec::new();
    for (d, v) in all {
        if let Some((other, _)) = seen.iter().find(|s| s.1 == v) {
            let what = match v {
                Varying::TexCoord(t) => format!("texture coordinate {t}"),
                Varying::Color(n) => format!("colour {n}"),
                _ => "fog".to_string(),
            };
            return Err(unsupported(d.span, format!("`{}` and `{}` are both {what}: give them locations", other.name, d.name)));
        }
        seen.push((d, v));
    }
    Ok(())
}
