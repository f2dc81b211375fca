//! What a caller binds by: names, types and places of a program's interface (`--emit reflect`).

use serde::{Deserialize, Serialize};

/// One input or output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectIo {
    /// Name as the source has it.
    pub name: String,
    /// `f32x4`, `u32`, `f32x4[3]` …
    #[serde(rename = "type")]
    pub ty: String,
    /// User location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<u32>,
    /// Builtin, by its WGSL name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub builtin: Option<String>,
    /// Interpolation of fragment inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpolation: Option<String>,
    /// Register or address in the machine's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// Whether the program reads (writes) it.
    pub used: bool,
}

/// One uniform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectUniform {
    /// Name as the source has it.
    pub name: String,
    /// `f32x4`, `mat4x4`, `f32x4[48]` …
    #[serde(rename = "type")]
    pub ty: String,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// Byte offset in the binding.
    pub offset: u32,
    /// Register or address in the machine's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// Whether the program reads it.
    pub used: bool,
}

/// One texture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectTexture {
    /// Name as the source has it.
    pub name: String,
    /// Sampler, where the source has it apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampler: Option<String>,
    /// `1d 2d 3d cube`.
    pub dim: String,
    /// Layers a test harness should supply; 1 if not an array.
    pub layers: u32,
    /// Whether it is an array.
    pub arrayed: bool,
    /// Whether it compares.
    pub depth: bool,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// The machine's unit.
    pub unit: u32,
    /// Whether the program uses it.
    pub used: bool,
}

/// One storage buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReflectStorage {
    /// Name as the source has it.
    pub name: String,
    /// Bind group.
    pub group: u32,
    /// Binding.
    pub binding: u32,
    /// `array<f32>` …
    #[serde(rename = "type")]
    pub ty: String,
    /// `read write read_write`.
    pub access: String,
    /// Place in the machine's notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub register: Option<String>,
    /// Whether the program uses it.
    pub used: bool,
}

/// A program's interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// Format version: 1.
    pub version: u32,
    /// Target.
    pub target: String,
    /// Stage.
    pub stage: String,
    /// Entry.
    pub entry: String,
    /// Workgroup size.
    pub local_size: [u32; 3],
    /// Inputs.
    pub inputs: Vec<ReflectIo>,
    /// Outputs.
    pub outputs: Vec<ReflectIo>,
    /// Uniforms, arrays of structs listed element by element.
    pub uniforms: Vec<ReflectUniform>,
    /// Textures.
    pub textures: Vec<ReflectTexture>,
    /// Storage buffers.
    pub storage: Vec<ReflectStorage>,
}
