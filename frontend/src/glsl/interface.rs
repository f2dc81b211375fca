//! HLSL's entry point of a Cg program: a parameter for each input and output, at its location, and the call of the program's own.

use super::declared::{Leaf, semantic, take};
use super::upgrade::{parameter, plain};
use retroshade_ir::Stage;
use std::collections::BTreeSet;

/// The function that HLSL calls.
pub(super) const ENTRY: &str = "shaderc_entry";
/// Locations between vertex and fragment programs by semantic: `TEXCOORDn` and then `COLORn` and `FOG`, as on the Vita.
const TEXTURE_COORDINATES: u32 = 10;

/// What HLSL's entry point meets its caller and the other stage by.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Location(u32),
    /// A semantic of HLSL.
    System(String),
    PointSize,
    Face,
    /// The next free location.
    Free,
}

impl Place {
    fn of(written: Option<&str>, stage: Stage, input: bool) -> Place {
        let Some(written) = written else { return Place::Free };
        let (name, n) = semantic(written);
        let system = |s: &str| Place::System(s.to_string());
        match (&*name, stage, input) {
            (name, ..) if name.starts_with("SV_") => system(written),
            ("INSTANCE" | "INSTANCEID", Stage::Vertex, true) => system("SV_InstanceID"),
            ("INDEX" | "VERTEXID", Stage::Vertex, true) => system("SV_VertexID"),
            (_, Stage::Vertex, true) => Place::Free,
            ("POSITION", Stage::Vertex, _) | ("POSITION" | "WPOS", Stage::Fragment, true) if n == 0 => system("SV_Position"),
            ("PSIZE", Stage::Vertex, _) => Place::PointSize,
            ("FACE", Stage::Fragment, true) => Place::Face,
            ("DEPTH", Stage::Fragment, false) => system("SV_Depth"),
            ("COLOR", Stage::Fragment, false) => Place::Location(n),
            ("TEXCOORD", ..) if n < TEXTURE_COORDINATES => Place::Location(n),
            ("COLOR", ..) if n < 2 => Place::Location(TEXTURE_COORDINATES + n),
            ("FOG", ..) => Place::Location(TEXTURE_COORDINATES + 2),
            _ => Place::Free,
        }
    }
}

/// A parameter of HLSL's entry point.
struct Meeting {
    input: bool,
    place: Place,
    semantic: Option<(String, u32)>,
    size: u32,
    ty: String,
    name: String,
    dims: String,
}

/// HLSL's entry point.
#[derive(Default)]
pub(super) struct Wrapper {
    meetings: Vec<Meeting>,
    pub(super) before: String,
    pub(super) arguments: Vec<String>,
    pub(super) result: Option<String>,
    inputs: Vec<(usize, String)>,
    outputs: Vec<(usize, String)>,
}

impl Wrapper {
    pub(super) fn input(&mut self, stage: Stage, l: &Leaf<'_>, to: &str) {
        let n = self.meet(stage, l, true);
        self.inputs.push((n, to.to_string()));
    }

    pub(super) fn output(&mut self, stage: Stage, l: &Leaf<'_>, from: &str) {
        let n = self.meet(stage, l, false);
        self.outputs.push((n, from.to_string()));
    }

    fn meet(&mut self, stage: Stage, l: &Leaf<'_>, input: bool) -> usize {
        let place = Place::of(l.semantic, stage, input);
        let meaning = l.semantic.map(semantic);
        // Inputs of one semantic are one; the one with the most components has all.
        let wide = |ty: &str| ty.bytes().last().filter(u8::is_ascii_digit).unwrap_or(b'1');
        let shared = |m: &Meeting| {
            m.input && input && m.dims == l.dims && (meaning.is_some() && m.semantic == meaning || place == m.place && place != Place::Free)
        };
        if let Some(n) = self.meetings.iter().position(shared) {
            let m = &mut self.meetings[n];
            if wide(l.ty) > wide(&m.ty) {
                m.ty = l.ty.to_string();
            }
            return n;
        }
        let last = match (plain(l.path[l.path.len() - 1]), &place) {
            ("shaderc_result", Place::Location(n)) => format!("location{n}"),
            ("shaderc_result", _) => "location0".to_string(),
            (name, _) => name.to_string(),
        };
        let taken = |name: &str| self.meetings.iter().any(|m| m.name == name);
        let mut name = parameter(&last, input);
        if taken(&name) {
            name = parameter(&l.path.iter().map(|p| plain(p)).collect::<Vec<_>>().join("_"), input);
        }
        while taken(&name) {
            name.push('_');
        }
        self.meetings.push(Meeting { input, place, semantic: meaning, size: l.size(), ty: l.ty.to_string(), name, dims: l.dims.clone() });
        self.meetings.len() - 1
    }

    /// Gives the ones that are left locations that nothing else has.
    fn settle(&mut self) {
        for input in [true, false] {
            let mut taken = BTreeSet::new();
            for m in self.meetings.iter().filter(|m| m.input == input) {
                if let Place::Location(n) = m.place {
                    taken.extend(n..n + m.size);
                }
            }
            for m in self.meetings.iter_mut().filter(|m| m.input == input && m.place == Place::Free) {
                m.place = Place::Location(take(&mut taken, m.size));
            }
        }
    }

    pub(super) fn text(mut self, function: &str, stage: Stage) -> String {
        self.settle();
        let mut parameters = Vec::new();
        for m in &self.meetings {
            let way = if m.input { "in" } else { "out" };
            let declared = format!("{way} {} {}{}", m.ty, m.name, m.dims);
            parameters.push(match &m.place {
                Place::Location(n) if stage == Stage::Fragment && !m.input => format!("{declared} : SV_Target{n}"),
                Place::Location(n) => format!("[[vk::location({n})]] {declared}"),
                Place::System(s) => format!("{declared} : {s}"),
                Place::PointSize => format!("[[vk::builtin(\"PointSize\")]] {declared}"),
                Place::Face => format!("in bool {} : SV_IsFrontFace", m.name),
                Place::Free => declared,
            });
        }
        let value = |m: &Meeting| if m.place == Place::Face { format!("({} ? 1 : -1)", m.name) } else { m.name.clone() };
        let inputs: String = self.inputs.iter().map(|(n, to)| format!("{to} = {}; ", value(&self.meetings[*n]))).collect();
        let outputs: String = self.outputs.iter().map(|(n, from)| format!("{} = {from}; ", self.meetings[*n].name)).collect();
        let call = format!("{function}({}); ", self.arguments.join(", "));
        let call = self.result.map_or(call.clone(), |ty| format!("{ty} shaderc_result = {call}"));
        format!("\nvoid {ENTRY}({}) {{ {}{inputs}{call}{outputs}}}\n", parameters.join(", "), self.before)
    }
}
