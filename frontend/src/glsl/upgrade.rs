//! Any dialect of GLSL as a text that glslang turns into SPIR-V.
//!
//! Vulkan's GLSL, OpenGL's from 3.30 and OpenGL ES's from 3.10 stay as they are. What older dialects have instead (`attribute`,
//! `texture2D`, `gl_FragColor`, the variables of the compatibility profile) is replaced word by word or declared in front, and the text
//! becomes one of version 4.40. Every word stays on its line, so that glslang's messages can be brought back to the user's text.
//!
//! glslang prepares its tables of a version when it first meets it. Those of 4.50 and 4.60 take three times as long as older ones, nearly
//! all of it for functions that no machine here has; so texts are tried first as the oldest version that can mean what they mean.

use super::builtins;
use super::lex::{Kind, Token, tokens};
use super::reserved;
use retroshade_ir::{Diagnostic, FileId, Span, Stage};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The first version of which there are profiles.
const PROFILES: u32 = 150;
/// The version that stands for all older ones.
const OLD: u32 = 440;
/// The one that stands for old texts that name something of [`LAST_NAMES`].
const LAST_OLD: u32 = 450;
/// What drivers of older versions have as an extension and glslang only in [`LAST_OLD`].
const LAST_NAMES: &[&str] = &["gl_CullDistance", "gl_MaxCullDistances", "gl_MaxCombinedClipAndCullDistances"];
/// The one that old texts are tried as: it has their rules for calls, and the least to prepare.
const FAST_OLD: u32 = 140;
/// The one that newer texts are tried as: the rules for calls are those since 4.00.
const FAST: u32 = 410;
/// How words begin that came after [`FAST_OLD`], and those of the types for which later rules for calls choose otherwise (unsigned and
/// double numbers).
const NEWER: &str = "uint uvec usampler utexture uimage double dvec dmat image iimage buffer std430 textureGather textureQuery bit find fma \
    frexp ldexp pack unpack floatBits intBits umul imul uadd usub interpolate samplerCubeArray textureCubeArray precise atomic subgroup \
    subpass gl_Layer gl_Sample gl_Primitive gl_Helper gl_Viewport component early include";
/// Whole words that did.
const NEWER_WORDS: &str = "inverse determinant sample";
/// How the names of numbers of 8 and 16 bits begin, for which only the text's own version has all functions.
const SMALL: &str = "float16 f16 int8 uint8 i8 u8 int16 uint16 i16 u16";
/// Tokens of a text for which a start that is faster by some milliseconds is nothing.
const LONG: usize = 10_000;
/// What there is to prepare for compute programs comes with 4.20 and stays the same up to this.
const FAST_COMPUTE: u32 = 440;

/// What is always defined, which glslang does not know of all of them, and the name that stands for it where a text asks.
const ALWAYS: &[&str] = &["__VERSION__", "__LINE__", "__FILE__"];
const DEFINED: &str = "defined";

/// Extensions that the version which stands for OpenGL ES's has and OpenGL ES has not, of those that have no prefix of the desktop's.
const OF_DESKTOPS: &[&str] = &["GL_EXT_gpu_shader4", "GL_EXT_texture_array", "GL_NV_gpu_shader5", "GL_NV_shader_buffer_load"];

/// What later versions have without asking.
const LATER: &[&str] = &[
    "GL_ARB_shading_language_420pack",
    "GL_ARB_separate_shader_objects",
    "GL_ARB_explicit_attrib_location",
    "GL_ARB_shader_storage_buffer_object",
    "GL_ARB_shader_image_load_store",
    "GL_ARB_enhanced_layouts",
];

/// `gl_MaxDrawBuffers`.
const MAX_DRAW_BUFFERS: u32 = 8;
/// `gl_MaxTextureCoords`.
const MAX_TEXTURE_COORDS: u32 = 8;
/// Elements of an array that the language declares, whatever a text indexes it by.
const MAX_ELEMENTS: u32 = 32;
/// Tokens of a type in front of an array's first value.
const MOST_TYPE: usize = 32;

/// What stands before a name that only the new dialect reserves.
const PREFIX: &str = "shaderc_r_";
const INPUT: &str = "shaderc_i_";
const OUTPUT: &str = "shaderc_o_";
/// Stands for the dot in the name of a structure's member that is a variable of its own.
const DOT: &str = "_shaderc_dot_";
/// What stands before the global name of what a namespace declares, and for the colons in it.
const SPACE: &str = "shaderc_n_";
const COLONS: &str = "_shaderc_in_";

/// What a text says about its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The number after `#version`: 110 where there is none, as the language says.
    version: u32,
    es: bool,
    compatibility: bool,
    /// Whether the text has a `#version` line that glslang need not see.
    stated: bool,
}

impl Dialect {
    /// The dialect of a text, by its first line.
    pub(crate) fn of(toks: &[Token<'_>]) -> Dialect {
        let plain = Dialect { version: 110, es: false, compatibility: false, stated: false };
        let Some(rest) = toks.first().and_then(|t| directive(t)).filter(|(name, _)| *name == "version").map(|(_, rest)| rest) else {
            return plain;
        };
        let words: Vec<&str> = tokens(rest).iter().map(|t| t.text).collect();
        let (number, profile) = match words[..] {
            [n] => (n, ""),
            [n, p @ ("core" | "compatibility" | "es")] => (n, p),
            _ => return plain,
        };
        match number.parse() {
            Ok(version) if KNOWN.contains(&version) => {
                let es = profile == "es" || version == 100;
                Dialect { version, es, compatibility: profile == "compatibility", stated: true }
            }
            _ => plain,
        }
    }

    /// Whether glslang makes no SPIR-V of this dialect.
    pub(crate) fn is_old(self) -> bool {
        self.compatibility || if self.es { self.version < 310 } else { self.version < 330 }
    }

    /// Whether a word of this first desktop and this first ES version (0: never) is an ordinary name here.
    fn lacks(self, desktop: u32, es: u32) -> bool {
        let first = if self.es { es } else { desktop };
        first == 0 || self.version < first
    }
}

/// Versions of the language.
const KNOWN: &[u32] = &[100, 110, 120, 130, 140, 150, 300, 310, 320, 330, 400, 410, 420, 430, 440, 450, 460];

/// What the variables of the compatibility profile are to a program that declares them itself: a vertex input, a uniform, or a value
/// handed on (`varying`); type; elements of an array.
fn compatibility(name: &str, stage: Stage) -> Option<(&'static str, &'static str, u32)> {
    let handed = match stage {
        Stage::Vertex => "out",
        _ => "in",
    };
    let vertex = stage == Stage::Vertex;
    Some(match name {
        "gl_Vertex" | "gl_Color" | "gl_SecondaryColor" | "gl_MultiTexCoord0" | "gl_MultiTexCoord1" | "gl_MultiTexCoord2"
        | "gl_MultiTexCoord3" | "gl_MultiTexCoord4" | "gl_MultiTexCoord5" | "gl_MultiTexCoord6" | "gl_MultiTexCoord7"
            if vertex =>
        {
            ("in", "vec4", 0)
        }
        "gl_Normal" if vertex => ("in", "vec3", 0),
        "gl_FogCoord" if vertex => ("in", "float", 0),
        "gl_Color" | "gl_SecondaryColor" => ("in", "vec4", 0),
        "gl_FrontColor" | "gl_BackColor" | "gl_FrontSecondaryColor" | "gl_BackSecondaryColor" if vertex => ("out", "vec4", 0),
        "gl_FogFragCoord" => (handed, "float", 0),
        "gl_ModelViewProjectionMatrix"
        | "gl_ModelViewMatrix"
        | "gl_ProjectionMatrix"
        | "gl_ModelViewMatrixInverse"
        | "gl_ProjectionMatrixInverse"
        | "gl_ModelViewProjectionMatrixInverse"
        | "gl_ModelViewMatrixTranspose"
        | "gl_ProjectionMatrixTranspose"
        | "gl_ModelViewProjectionMatrixTranspose"
        | "gl_ModelViewMatrixInverseTranspose"
        | "gl_ProjectionMatrixInverseTranspose"
        | "gl_ModelViewProjectionMatrixInverseTranspose" => ("uniform", "mat4", 0),
        "gl_NormalMatrix" => ("uniform", "mat3", 0),
        "gl_TextureMatrix" | "gl_TextureMatrixInverse" | "gl_TextureMatrixTranspose" | "gl_TextureMatrixInverseTranspose" => {
            ("uniform", "mat4", 8)
        }
        "gl_ObjectPlaneS" | "gl_ObjectPlaneT" | "gl_ObjectPlaneR" | "gl_ObjectPlaneQ" => ("uniform", "vec4", 8),
        "gl_EyePlaneS" | "gl_EyePlaneT" | "gl_EyePlaneR" | "gl_EyePlaneQ" => ("uniform", "vec4", 8),
        "gl_ClipPlane" => ("uniform", "vec4", 6),
        "gl_TextureEnvColor" => ("uniform", "vec4", 8),
        "gl_NormalScale" => ("uniform", "float", 0),
        // Clipping by planes belongs to the machine.
        "gl_ClipVertex" if vertex => ("", "vec4", 0),
        "gl_DepthRange" => ("uniform", "gl_DepthRangeParameters", 0),
        "gl_Fog" => ("uniform", "gl_FogParameters", 0),
        "gl_Point" => ("uniform", "gl_PointParameters", 0),
        "gl_LightModel" => ("uniform", "gl_LightModelParameters", 0),
        "gl_LightSource" => ("uniform", "gl_LightSourceParameters", LIGHTS),
        "gl_FrontMaterial" | "gl_BackMaterial" => ("uniform", "gl_MaterialParameters", 0),
        "gl_FrontLightModelProduct" | "gl_BackLightModelProduct" => ("uniform", "gl_LightModelProducts", 0),
        "gl_FrontLightProduct" | "gl_BackLightProduct" => ("uniform", "gl_LightProducts", LIGHTS),
        "gl_MaxLights" | "gl_MaxTextureUnits" | "gl_MaxTextureCoords" => ("const", "int", LIGHTS),
        _ => return None,
    })
}

/// Lights, and what else there are eight of.
const LIGHTS: u32 = 8;

/// Structures of the compatibility profile.
const STRUCTURES: &[(&str, &str)] = &[
    ("gl_DepthRangeParameters", "float near, far, diff;"),
    ("gl_FogParameters", "vec4 color; float density, start, end, scale;"),
    (
        "gl_PointParameters",
        "float size, sizeMin, sizeMax, fadeThresholdSize, distanceConstantAttenuation, distanceLinearAttenuation, \
         distanceQuadraticAttenuation;",
    ),
    ("gl_LightModelParameters", "vec4 ambient;"),
    (
        "gl_LightSourceParameters",
        "vec4 ambient, diffuse, specular, position, halfVector; vec3 spotDirection; float spotExponent, spotCutoff, spotCosCutoff, \
         constantAttenuation, linearAttenuation, quadraticAttenuation;",
    ),
    ("gl_MaterialParameters", "vec4 emission, ambient, diffuse, specular; float shininess;"),
    ("gl_LightModelProducts", "vec4 sceneColor;"),
    ("gl_LightProducts", "vec4 ambient, diffuse, specular;"),
];

/// Old texture functions that return a vector where today's return a number: everywhere, and with a bias in fragment programs.
const SHADOWS: &[(&str, &str, &str)] = &[
    (
        "shadow1D",
        "vec4 shadow1D(sampler1DShadow s, vec3 p) { return vec4(texture(s, p)); }",
        "vec4 shadow1D(sampler1DShadow s, vec3 p, float b) { return vec4(texture(s, p, b)); }",
    ),
    (
        "shadow2D",
        "vec4 shadow2D(sampler2DShadow s, vec3 p) { return vec4(texture(s, p)); }",
        "vec4 shadow2D(sampler2DShadow s, vec3 p, float b) { return vec4(texture(s, p, b)); }",
    ),
    (
        "shadow1DProj",
        "vec4 shadow1DProj(sampler1DShadow s, vec4 p) { return vec4(textureProj(s, p)); }",
        "vec4 shadow1DProj(sampler1DShadow s, vec4 p, float b) { return vec4(textureProj(s, p, b)); }",
    ),
    (
        "shadow2DProj",
        "vec4 shadow2DProj(sampler2DShadow s, vec4 p) { return vec4(textureProj(s, p)); }",
        "vec4 shadow2DProj(sampler2DShadow s, vec4 p, float b) { return vec4(textureProj(s, p, b)); }",
    ),
    ("shadow1DLod", "vec4 shadow1DLod(sampler1DShadow s, vec3 p, float l) { return vec4(textureLod(s, p, l)); }", ""),
    ("shadow2DLod", "vec4 shadow2DLod(sampler2DShadow s, vec3 p, float l) { return vec4(textureLod(s, p, l)); }", ""),
    ("shadow1DProjLod", "vec4 shadow1DProjLod(sampler1DShadow s, vec4 p, float l) { return vec4(textureProjLod(s, p, l)); }", ""),
    ("shadow2DProjLod", "vec4 shadow2DProjLod(sampler2DShadow s, vec4 p, float l) { return vec4(textureProjLod(s, p, l)); }", ""),
    ("shadow2DRect", "vec4 shadow2DRect(sampler2DRectShadow s, vec3 p) { return vec4(texture(s, p)); }", ""),
    ("shadow2DRectProj", "vec4 shadow2DRectProj(sampler2DRectShadow s, vec4 p) { return vec4(textureProj(s, p)); }", ""),
    (
        "shadow1DArray",
        "vec4 shadow1DArray(sampler1DArrayShadow s, vec3 p) { return vec4(texture(s, p)); }",
        "vec4 shadow1DArray(sampler1DArrayShadow s, vec3 p, float b) { return vec4(texture(s, p, b)); }",
    ),
    ("shadow2DArray", "vec4 shadow2DArray(sampler2DArrayShadow s, vec4 p) { return vec4(texture(s, p)); }", ""),
    ("shadow1DArrayLod", "vec4 shadow1DArrayLod(sampler1DArrayShadow s, vec3 p, float l) { return vec4(textureLod(s, p, l)); }", ""),
    ("shadow1DGradARB", "vec4 shadow1DGradARB(sampler1DShadow s, vec3 p, float x, float y) { return vec4(textureGrad(s, p, x, y)); }", ""),
    ("shadow2DGradARB", "vec4 shadow2DGradARB(sampler2DShadow s, vec3 p, vec2 x, vec2 y) { return vec4(textureGrad(s, p, x, y)); }", ""),
    (
        "shadow1DProjGradARB",
        "vec4 shadow1DProjGradARB(sampler1DShadow s, vec4 p, float x, float y) { return vec4(textureProjGrad(s, p, x, y)); }",
        "",
    ),
    (
        "shadow2DProjGradARB",
        "vec4 shadow2DProjGradARB(sampler2DShadow s, vec4 p, vec2 x, vec2 y) { return vec4(textureProjGrad(s, p, x, y)); }",
        "",
    ),
    ("shadow2DEXT", "float shadow2DEXT(sampler2DShadow s, vec3 p) { return texture(s, p); }", ""),
    ("shadow2DProjEXT", "float shadow2DProjEXT(sampler2DShadow s, vec4 p) { return textureProj(s, p); }", ""),
];

/// Symbols by which old programs ask for what 4.50 has anyway.
const SYMBOLS: &[&str] = &[
    "GL_OES_standard_derivatives",
    "GL_OES_texture_3D",
    "GL_OES_EGL_image_external",
    "GL_EXT_shader_texture_lod",
    "GL_EXT_frag_depth",
    "GL_EXT_shadow_samplers",
    "GL_EXT_draw_buffers",
    "GL_ARB_draw_buffers",
    "GL_ARB_draw_instanced",
    "GL_EXT_texture_array",
    "GL_ARB_shader_texture_lod",
    "GL_ARB_uniform_buffer_object",
    "GL_ARB_explicit_attrib_location",
    "GL_ARB_shading_language_420pack",
    "GL_ARB_texture_rectangle",
    "GL_EXT_gpu_shader4",
    "GL_EXT_shader_framebuffer_fetch",
    "GL_ARM_shader_framebuffer_fetch",
];

/// Extensions of old texts whose functions later versions have only on request.
const ASKED: &[&str] = &["GL_EXT_shader_integer_mix", "GL_ARB_derivative_control"];

/// The frame buffer's colour in a program that reads it under another name.
const LAST_COLOUR: &str = "gl_LastFragColorARM";

/// Today's name of an old texture function with the same result.
fn texture_function(name: &str) -> Option<&'static str> {
    let rest = name.strip_prefix("texture")?;
    let rest = ["1DArray", "1D", "2DArray", "2DRect", "2D", "3D", "Cube"].iter().find_map(|d| rest.strip_prefix(d))?;
    let rest = rest.strip_suffix("EXT").or(rest.strip_suffix("ARB")).unwrap_or(rest);
    Some(match rest {
        "" => "texture",
        "Lod" => "textureLod",
        "Grad" => "textureGrad",
        "Offset" => "textureOffset",
        "LodOffset" => "textureLodOffset",
        "Proj" => "textureProj",
        "ProjLod" => "textureProjLod",
        "ProjGrad" => "textureProjGrad",
        _ => return None,
    })
}

/// The name that a directive defines.
pub(super) fn definition<'t>(t: &Token<'t>) -> Option<&'t str> {
    let (_, rest) = directive(t).filter(|(name, _)| *name == "define")?;
    tokens(rest).first().map(|name| name.text)
}

/// Texture functions of old dialects that a text defines.
fn defined<'t>(toks: &[Token<'t>]) -> BTreeSet<&'t str> {
    toks.iter().filter_map(definition).filter(|name| texture_function(name).is_some()).collect()
}

/// The name and the rest of a directive.
pub(crate) fn directive<'a>(t: &Token<'a>) -> Option<(&'a str, &'a str)> {
    if t.kind != Kind::Directive {
        return None;
    }
    let rest = t.text[1..].trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    Some((&rest[..end], &rest[end..]))
}

/// The replacement of words in a text of one dialect.
#[derive(Debug)]
pub(crate) struct Upgrade {
    dialect: Dialect,
    stage: Stage,
    /// Words that are the user's names and reserved in the new dialect, or functions that take the place of the language's.
    names: BTreeSet<String>,
    /// Whether the text is another language's.
    foreign: bool,
    /// Functions of the language whose names the user's took, for other types.
    beside: String,
    /// Outputs that begin as the frame buffer's colour: `inout` variables of GL_EXT_shader_framebuffer_fetch.
    blended: Vec<String>,
    /// Whether functions of the language are the program's own.
    redefines: bool,
    /// Texture functions of old dialects that the text defines itself.
    macros: BTreeSet<String>,
    /// What the text or the command line defines.
    given: BTreeSet<String>,
    /// Structures without a name so far.
    structures: Cell<u32>,
}

/// What a text seems to define and the preprocessor skips: the language's own is meant.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    /// Texture functions of old dialects.
    macros: BTreeSet<String>,
    /// Functions of the language.
    functions: bool,
}

impl Upgrade {
    /// What has to be done for a text with some definitions from outside.
    pub(crate) fn new(dialect: Dialect, stage: Stage, toks: &[Token<'_>], defines: &[(String, String)], skipped: &Skipped) -> Upgrade {
        let mut names = reserved::names(toks, |desktop, es| dialect.lacks(desktop, es));
        let redefined = match skipped.functions {
            true => builtins::Redefined::default(),
            false => builtins::redefined(toks, (stage, dialect.es), |desktop, es| dialect.lacks(desktop, es), free),
        };
        let redefines = !redefined.names.is_empty();
        names.extend(redefined.names);
        let blended = if dialect.es && stage == Stage::Fragment { blended(toks) } else { Vec::new() };
        // What glslang does not know stands in the text of an old dialect.
        let dialect = Dialect { version: if blended.is_empty() { dialect.version } else { dialect.version.min(300) }, ..dialect };
        Upgrade {
            dialect,
            stage,
            names,
            foreign: false,
            redefines,
            beside: redefined.beside,
            blended,
            macros: defined(toks).into_iter().filter(|name| !skipped.macros.contains(*name)).map(str::to_string).collect(),
            given: toks.iter().filter_map(definition).map(str::to_string).chain(defines.iter().map(|d| d.0.clone())).collect(),
            structures: Cell::new(0),
        }
    }

    /// Whether a name says of an extension or a precision that the version has it which stands for this dialect, and the dialect itself has not.
    fn is_of_others(&self, name: &str) -> bool {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
        match name {
            // Without a version it may be either.
            _ if !self.dialect.stated || self.given.contains(name) => false,
            _ if self.dialect.es => begins(&["GL_ARB_", "GL_AMD_", "GL_ATI_", "GL_3DL_"]) || OF_DESKTOPS.contains(&name),
            "GL_FRAGMENT_PRECISION_HIGH" => self.dialect.version < 130,
            _ => begins(&["GL_OES_"]),
        }
    }

    /// Whether the preprocessor may skip something that the text seems to define.
    pub(crate) fn may_skip(&self) -> bool {
        self.redefines || !self.macros.is_empty()
    }

    /// What it has skipped, for all that its result shows.
    pub(crate) fn skipped(&self, preprocessed: &str) -> Skipped {
        let left = tokens(preprocessed).into_iter().filter(|t| self.macros.contains(t.text)).map(|t| t.text.to_string());
        Skipped { macros: left.collect(), functions: self.redefines }
    }

    /// Nothing: for languages that glslang takes as they are.
    pub(crate) fn none(stage: Stage) -> Upgrade {
        let dialect = Dialect { version: 450, es: false, compatibility: false, stated: true };
        Upgrade {
            dialect,
            stage,
            names: BTreeSet::new(),
            foreign: true,
            redefines: false,
            beside: String::new(),
            blended: Vec::new(),
            macros: BTreeSet::new(),
            given: BTreeSet::new(),
            structures: Cell::new(0),
        }
    }

    /// What stands for a word of the user's; `next` is the text behind it, `within` says that it stands in a directive, `later` are names that the
    /// text defines behind it.
    fn word<'w>(&self, w: &'w str, next: &str, within: bool, later: &BTreeSet<&str>) -> std::borrow::Cow<'w, str> {
        if self.names.contains(w) {
            return format!("{PREFIX}{w}").into();
        }
        if self.macros.contains(w) && !later.contains(w) {
            return w.into();
        }
        if w == "__VERSION__" {
            return self.dialect.version.to_string().into();
        }
        if !self.dialect.is_old() {
            // Drivers keep what 3.30 only deprecated. A texture of Vulkan's types is never called.
            let old = if self.dialect.es || !next.trim_start().starts_with('(') { None } else { texture_function(w) };
            return old.unwrap_or(w).into();
        }
        match w {
            // The program's own entry is called by one that reads the colour first.
            "main" if !self.blended.is_empty() => format!("{PREFIX}main").into(),
            "attribute" if self.stage == Stage::Vertex => "in".into(),
            "varying" if self.stage == Stage::Vertex => "out".into(),
            "varying" => "in".into(),
            "samplerExternalOES" => "sampler2D".into(),
            // Versions before 4.20 have them built in, of another size.
            "gl_FragColor" | "gl_FragData" if self.stage == Stage::Fragment => format!("{PREFIX}{w}").into(),
            "gl_FragDepthEXT" => "gl_FragDepth".into(),
            "gl_InstanceIDARB" | "gl_InstanceIDEXT" => "gl_InstanceID".into(),
            // Before there was a function of this name it was a favourite for samplers.
            "texture" if self.dialect.lacks(130, 300) && !next.trim_start().starts_with('(') => format!("{PREFIX}{w}").into(),
            _ if STRUCTURES.iter().any(|(name, _)| *name == w) => format!("{PREFIX}{w}").into(),
            // A variable may have such a name; in a definition what is called stands behind it.
            _ if self.dialect.lacks(130, 300) || within || next.trim_start().starts_with('(') => texture_function(w).unwrap_or(w).into(),
            _ => w.into(),
        }
    }

    /// A text with its words replaced, each on the line where it was. Directives that matter to nobody are left out.
    pub(crate) fn text(&self, text: &str, toks: &[Token<'_>]) -> String {
        let mut out = String::with_capacity(text.len() + 64);
        let mut line = 0;
        let mut to = 0;
        let mut depth = Depth::default();
        let mut body = false;
        // glslang counts from where the text begins by rules that differ between versions.
        let mut counted = Counted { at: 0, number: 1, file: 0 };
        let counts = |t: &Token<'_>| directive(t).is_some_and(|(name, _)| name == "line");
        let numbers = if toks.iter().any(counts) { Numbers::new(toks) } else { Numbers::default() };
        let mut later = if self.macros.is_empty() { BTreeSet::new() } else { defined(toks) };
        for (n, t) in toks.iter().enumerate() {
            while line < t.line {
                out.push('\n');
                line += 1;
                to = 0;
            }
            if t.kind == Kind::Directive {
                self.directive(&mut out, t, &later);
                if let Some(name) = definition(t) {
                    later.remove(name);
                }
                line += t.text.bytes().filter(|c| *c == b'\n').count() as u32;
                if let Some(("line", rest)) = directive(t) {
                    counted = Counted::from(rest, line + 1, &numbers).unwrap_or(counted);
                }
                continue;
            }
            // Two tokens that touched still do: `a.b`, `1.0f`.
            if to != 0 && t.at != to {
                out.push(' ');
            }
            to = t.end();
            let before = n.checked_sub(1).map(|n| &toks[n]);
            if t.is("{") && depth.is_outside() {
                body = !self.foreign && before.is_some_and(|b| b.is(")"));
            }
            depth.token(t);
            // Drivers take a semicolon behind a function's body for nothing, as 4.60 does.
            if t.is(";") && body && depth.is_outside() && before.is_some_and(|b| b.is("}")) {
                continue;
            }
            if t.is("]")
                && depth.is_outside()
                && let Some(count) = initial_elements(toks, n)
            {
                let _ = write!(out, "{count}");
            }
            let outer = t.is("inout") && depth.is_outside() && !self.blended.is_empty();
            out.push_str(&if outer {
                "out".into()
            } else if t.is("__LINE__") {
                counted.number.saturating_add(line - counted.at).to_string().into()
            } else if t.is("__FILE__") {
                counted.file.to_string().into()
            } else if t.is("struct") && !self.foreign && toks.get(n + 1).is_some_and(|t| t.is("{")) {
                // glslang takes textures out of structures by the structure's name.
                let number = self.structures.replace(self.structures.get() + 1);
                format!("struct {PREFIX}{number}").into()
            } else if t.is_word() {
                self.word(t.text, &text[to..], false, &later)
            } else {
                t.text.into()
            });
        }
        out.push('\n');
        out
    }

    /// Outputs that begin as the colours of several targets.
    pub(crate) fn refused(&self, toks: &[Token<'_>], file: FileId) -> Option<Diagnostic> {
        let is_array = |n: &usize| toks[*n..].iter().take_while(|t| !t.is(";")).any(|t| t.is("["));
        let n = inouts(toks).filter(|_| !self.blended.is_empty()).find(is_array)?;
        let m = "a program can read the colour of its first target only, and not an array of them";
        Some(Diagnostic::error("F0124", Span::new(file, toks[n].at as u32, toks[n].end() as u32), m))
    }

    /// What stands behind the text.
    pub(crate) fn footer(&self) -> String {
        if self.blended.is_empty() {
            return String::new();
        }
        let first: String = self.blended.iter().map(|name| format!("{name} = {LAST_COLOUR}; ")).collect();
        format!("void main() {{ {first}{PREFIX}main(); }}\n")
    }

    fn directive(&self, out: &mut String, t: &Token<'_>, later: &BTreeSet<&str>) {
        let Some((name, rest)) = directive(t) else { return };
        let lines = t.text.bytes().filter(|c| *c == b'\n').count();
        let keep = match name {
            "version" => !self.dialect.stated,
            "extension" => !self.dialect.is_old(),
            // Only this pragma means anything here; glslang is particular about the form of others, and of this one where it is not whole.
            "pragma" => tokens(rest).iter().map(|t| t.text).eq(["STDGL", "invariant", "(", "all", ")"]),
            "line" => false,
            _ => true,
        };
        if !keep {
            out.push_str(&"\n".repeat(lines));
            return;
        }
        let _ = write!(out, "#{name}");
        if matches!(name, "include" | "error" | "version" | "extension") {
            let line: String = rest.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
            out.push_str(line.trim_end());
            return;
        }
        let mut to = 0;
        let inner = tokens(rest);
        let mut at = 0;
        // In its own definition a name is the language's: `#define texture2D(s, p) texture2D(s, p, -1.0)`.
        let own = inner.first().filter(|t| name == "define" && self.macros.contains(t.text)).map(|t| t.text);
        let condition = self.dialect.is_old() && matches!(name, "if" | "elif" | "ifdef" | "ifndef");
        for (n, i) in inner.iter().enumerate() {
            // A line of a definition ends where the next one begins.
            while at < i.line {
                out.push_str("\\\n");
                at += 1;
            }
            // glslang leaves out the whole of `#define NAME;`.
            let behind_name = name == "define" && n == 1 && !i.is("(");
            if i.at != to || to == 0 || behind_name {
                out.push(' ');
            }
            // `#define F(x)` and `#define F (x)` differ.
            to = i.end();
            let asked = matches!(name, "ifdef" | "ifndef")
                || matches!(inner[..n], [.., ref d] if d.is("defined"))
                || matches!(inner[..n], [.., ref d, ref open] if d.is("defined") && open.is("("));
            out.push_str(&match i.text {
                // Nobody asks for a function by its name, or defines one.
                text if (asked || name == "define" && n == 0) && texture_function(text).is_some() => text.into(),
                text if asked && ALWAYS.contains(&text) => format!("{PREFIX}{DEFINED}").into(),
                text if own.is_some_and(|own| n > 0 && own == text) => texture_function(text).unwrap_or(text).into(),
                text if condition && self.is_of_others(text) => format!("{PREFIX}{text}").into(),
                text if i.is_word() => self.word(text, &rest[to..], true, later),
                text => text.into(),
            });
        }
        out.push_str(&"\n".repeat(lines - at.min(lines as u32) as usize));
    }

    /// Older versions that the text may be tried as, for which glslang starts faster.
    pub(crate) fn faster(&self, toks: &[Token<'_>]) -> Vec<u32> {
        let d = self.dialect;
        let versions: &[u32] = match self.stage {
            // They need all of the version that stands for old ones.
            Stage::Geometry | Stage::Compute if d.is_old() => &[],
            _ if d.is_old() && mentions(toks, &is_last) => &[],
            _ if d.is_old() => &[FAST_OLD],
            _ if mentions(toks, &is_small) => &[],
            Stage::Compute => &[FAST_COMPUTE],
            Stage::Vertex | Stage::Fragment if !d.es && toks.len() < LONG && !mentions(toks, &is_newer) => &[FAST_OLD, FAST],
            _ => &[FAST],
        };
        versions.iter().copied().filter(|v| d.is_old() || d.stated && !d.es && d.version > *v).collect()
    }

    /// What stands before the text: the version, or that of [`Upgrade::faster`], and what the old dialect had built in.
    pub(crate) fn header(&self, toks: &[Token<'_>], defines: &[(String, String)], faster: Option<u32>) -> String {
        let d = self.dialect;
        let mut out = String::new();
        let version = match faster {
            Some(v) => v,
            None if d.is_old() && mentions(toks, &is_last) => LAST_OLD,
            None if d.is_old() => OLD,
            // Drivers of older versions have compute programs as an extension.
            None if self.stage == Stage::Compute && !d.es => d.version.max(FAST_COMPUTE),
            None => d.version,
        };
        let profile = if d.es && !d.is_old() { " es" } else { "" };
        let _ = writeln!(out, "#version {version}{profile}");
        // Drivers of 3.30 take locations of varyings and lines that end in a backslash, too.
        let missing = match faster {
            Some(_) if version < OLD => LATER,
            None if !d.es && version < 420 => &LATER[..2],
            _ => &[],
        };
        for extension in missing {
            let _ = writeln!(out, "#extension {extension} : enable");
        }
        if d.is_old() {
            out.push_str("#extension GL_EXT_spirv_intrinsics : enable\n#undef VULKAN\n");
            let extensions =
                || toks.iter().filter_map(directive).filter(|(name, _)| *name == "extension").map(|(_, rest)| rest.trim_start());
            for extension in ASKED.iter().filter(|e| extensions().any(|rest| rest.starts_with(**e))) {
                let _ = writeln!(out, "#extension {extension} : enable");
            }
            if d.es {
                out.push_str("#define GL_ES 1\n#define GL_FRAGMENT_PRECISION_HIGH 1\n");
            }
        }
        // glslang defines it itself for what it takes for a version that has profiles.
        if !d.es && d.version >= PROFILES && (d.is_old() || version < PROFILES) {
            let profile = if d.compatibility { "compatibility" } else { "core" };
            let _ = writeln!(out, "#define GL_{profile}_profile 1");
        }
        out.push_str("#extension GL_GOOGLE_include_directive : enable\n");
        for (k, v) in defines {
            let _ = writeln!(out, "#define {k} {v}");
        }
        if d.is_old() {
            self.declarations(&mut out, toks);
        }
        if toks.iter().any(|t| t.kind == Kind::Directive && ALWAYS.iter().any(|a| t.text.contains(a))) {
            let _ = writeln!(out, "#define {PREFIX}{DEFINED} 1");
        }
        // glslang adds a signed number here, which OpenGL ES does not convert.
        if d.es && toks.iter().any(|t| t.is("atomicCounterDecrement")) {
            out.push_str("#define atomicCounterDecrement(c) (atomicAdd(c, 0xffffffffu) - 1u)\n");
        }
        out.push_str(&self.beside);
        out.push_str("#line 1\n");
        out
    }

    fn declarations(&self, out: &mut String, toks: &[Token<'_>]) {
        // OpenGL ES's, also where no `#version` says that it is.
        if self.dialect.es || !self.dialect.stated && toks.iter().any(|t| t.is("precision")) {
            out.push_str("precision lowp sampler2D;\nprecision lowp samplerCube;\n");
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut words = Vec::new();
        for (n, t) in toks.iter().enumerate() {
            let inner = if t.kind == Kind::Directive { tokens(&t.text[1..]) } else { vec![*t] };
            for i in inner.iter().filter(|i| i.is_word()) {
                if seen.insert(i.text) {
                    // `out vec4 gl_FragColor;` of the program's own counts.
                    let declared = n > 0 && t.kind != Kind::Directive && is_basic_type(toks[n - 1].text);
                    words.push((i.text, declared));
                }
            }
        }
        for s in SYMBOLS.iter().filter(|s| seen.contains(**s)) {
            let _ = writeln!(out, "#define {s} 1");
        }
        if seen.contains("ftransform") && self.stage == Stage::Vertex {
            words.extend(["gl_ModelViewProjectionMatrix", "gl_Vertex"].into_iter().filter(|w| !seen.contains(w)).map(|w| (w, false)));
        }
        let of_state = |ty: &str| words.iter().any(|(w, _)| *w == ty || compatibility(w, self.stage).is_some_and(|c| c.1 == ty));
        for (name, members) in STRUCTURES.iter().filter(|(name, _)| of_state(name)) {
            let _ = writeln!(out, "struct {PREFIX}{name} {{ {members} }};");
        }
        let direction = if self.stage == Stage::Vertex { "out" } else { "in" };
        let numbers = Numbers::new(toks);
        for (word, declared) in &words {
            match *word {
                _ if *declared => {}
                "gl_FragColor" if self.stage == Stage::Fragment => {
                    let _ = writeln!(out, "out vec4 {PREFIX}{word};");
                }
                "gl_FragData" if self.stage == Stage::Fragment => {
                    let _ = writeln!(out, "out vec4 {PREFIX}{word}[{}];", elements(word, toks, &numbers, MAX_DRAW_BUFFERS));
                }
                "gl_LastFragData" if self.stage == Stage::Fragment => {
                    let _ = writeln!(out, "in vec4 gl_LastFragData[{}];", elements(word, toks, &numbers, MAX_DRAW_BUFFERS));
                }
                LAST_COLOUR if self.stage == Stage::Fragment && self.blended.is_empty() => {
                    let _ = writeln!(out, "in vec4 {LAST_COLOUR};");
                }
                "gl_TexCoord" => {
                    let _ = writeln!(out, "{direction} vec4 gl_TexCoord[{}];", elements(word, toks, &numbers, MAX_TEXTURE_COORDS));
                }
                _ => {
                    if let Some((storage, ty, count)) = compatibility(word, self.stage) {
                        let prefix = if STRUCTURES.iter().any(|(name, _)| *name == ty) { PREFIX } else { "" };
                        let behind = match (storage, count) {
                            ("const", n) => format!(" = {n}"),
                            (_, 0) => String::new(),
                            // No more than the text looks at, where that can be told.
                            _ => format!("[{}]", if prefix.is_empty() { count } else { elements(word, toks, &numbers, count).min(count) }),
                        };
                        let _ = writeln!(out, "{storage} {prefix}{ty} {word}{behind};");
                    }
                }
            }
        }
        if !self.blended.is_empty() {
            let _ = writeln!(out, "in vec4 {LAST_COLOUR};");
        }
        for (_, text, biased) in SHADOWS.iter().filter(|(name, ..)| seen.contains(name) && !self.names.contains(*name)) {
            let biased = if self.stage == Stage::Fragment { biased } else { "" };
            let _ = writeln!(out, "{text} {biased}");
        }
        if seen.contains("ftransform") && self.stage == Stage::Vertex && !self.names.contains("ftransform") {
            out.push_str("vec4 ftransform() { return gl_ModelViewProjectionMatrix * gl_Vertex; }\n");
        }
    }
}

/// Whether a text has a token that is so, within its directives or outside.
fn mentions(toks: &[Token<'_>], is: &dyn Fn(&Token<'_>) -> bool) -> bool {
    toks.iter().any(|t| if t.kind == Kind::Directive { mentions(&tokens(&t.text[1..]), is) } else { is(t) })
}

/// Whether a token is one of [`NEWER`] or [`NEWER_WORDS`].
fn is_newer(t: &Token<'_>) -> bool {
    if t.is_word() {
        NEWER.split_ascii_whitespace().any(|n| t.text.starts_with(n)) || NEWER_WORDS.split_ascii_whitespace().any(|n| t.is(n))
    } else {
        t.text.starts_with(|c: char| c.is_ascii_digit()) && t.text.ends_with(['u', 'U'])
    }
}

/// Whether a token is a type of [`SMALL`] numbers.
fn is_small(t: &Token<'_>) -> bool {
    t.is_word() && SMALL.split(' ').any(|s| t.text.starts_with(s))
}

/// Whether a token is one of [`LAST_NAMES`].
fn is_last(t: &Token<'_>) -> bool {
    LAST_NAMES.contains(&t.text)
}

/// How deep in brackets a token stands.
#[derive(Default)]
struct Depth(u32);

impl Depth {
    fn token(&mut self, t: &Token<'_>) {
        match t.text {
            "{" | "(" => self.0 += 1,
            "}" | ")" => self.0 = self.0.saturating_sub(1),
            _ => {}
        }
    }
    fn is_outside(&self) -> bool {
        self.0 == 0
    }
}

/// The number of a line of the text, from 0, and of its file: what `__LINE__` and `__FILE__` count from. Messages keep to the text.
struct Counted {
    at: u32,
    number: u32,
    file: u32,
}

impl Counted {
    /// What `#line` says of the line behind it, which is `at`.
    fn from(rest: &str, at: u32, numbers: &Numbers<'_>) -> Option<Counted> {
        let inner = tokens(rest);
        let file = inner.get(1).and_then(|f| numbers.of(f)).unwrap_or(0);
        Some(Counted { at, number: numbers.of(inner.first()?)?, file })
    }
}

/// Elements of an array that has no length but a first value, `a[] = float[](1.0, 2.0)`, by the bracket that ends its length: a uniform's value
/// is taken apart from it.
fn initial_elements(toks: &[Token<'_>], n: usize) -> Option<usize> {
    if !toks.get(n.checked_sub(1)?)?.is("[") || !toks.get(n + 1)?.is("=") {
        return None;
    }
    // Behind the type: `float[2](`.
    let behind = toks[n + 1..].iter().take(MOST_TYPE).position(|t| matches!(t.text, "(" | "{" | ";"))?;
    let mut depth = 0u32;
    let mut count = 0;
    for (n, t) in toks[n + 1 + behind..].iter().enumerate() {
        match t.text {
            ";" if depth == 0 => return None,
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" if depth <= 1 => return Some(if n == 1 { 0 } else { count + 1 }).filter(|n| *n > 0),
            ")" | "}" | "]" => depth -= 1,
            "," if depth == 1 => count += 1,
            _ => {}
        }
    }
    None
}

/// The names of `inout` variables outside functions.
fn blended(toks: &[Token<'_>]) -> Vec<String> {
    let name = |n: usize| toks[n + 1..].iter().take_while(|t| t.is_word()).last().map(|t| t.text.to_string());
    inouts(toks).filter_map(name).collect()
}

/// Where variables are declared `inout`.
fn inouts(toks: &[Token<'_>]) -> impl Iterator<Item = usize> {
    let mut depth = Depth::default();
    toks.iter().enumerate().filter_map(move |(n, t)| {
        depth.token(t);
        (t.is("inout") && depth.is_outside()).then_some(n)
    })
}

/// Elements of an array that the language declares: one more than the greatest index, macros included, and at least `all` where an index is no number.
fn elements(name: &str, toks: &[Token<'_>], numbers: &Numbers<'_>, all: u32) -> u32 {
    let mut count = 1;
    let mut uses = |toks: &[Token<'_>]| {
        for (n, _) in toks.iter().enumerate().filter(|(_, t)| t.is(name)) {
            let index = match &toks[n + 1..] {
                [open, index, close, ..] if open.is("[") && close.is("]") => numbers.of(index),
                _ => None,
            };
            count = count.max(index.map_or(all, |i| i.min(MAX_ELEMENTS - 1) + 1));
        }
    };
    uses(toks);
    toks.iter().filter(|t| t.kind == Kind::Directive).for_each(|t| uses(&tokens(&t.text[1..])));
    count
}

/// The names that stand for numbers, `#define N 2` or `const int n = 2;`; `None` where something else has the name, too.
#[derive(Default)]
struct Numbers<'t>(BTreeMap<&'t str, Option<u32>>);

impl<'t> Numbers<'t> {
    fn new(toks: &[Token<'t>]) -> Numbers<'t> {
        let mut out = Numbers::default();
        for (n, t) in toks.iter().enumerate() {
            if t.kind == Kind::Directive {
                match &tokens(&t.text[1..])[..] {
                    [define, name, value] if define.is("define") => out.add(name, value.text.parse().ok()),
                    [define, name, ..] if matches!(define.text, "define" | "undef") => out.add(name, None),
                    _ => {}
                }
            } else if t.is_word() && n > 0 && toks[n - 1].is_word() {
                let constant = n > 1 && toks[n - 2].is("const");
                out.add(
                    t,
                    match &toks[n + 1..] {
                        [set, value, end, ..] if constant && set.is("=") && end.is(";") => value.text.parse().ok(),
                        _ => None,
                    },
                );
            }
        }
        out
    }

    fn add(&mut self, name: &Token<'t>, value: Option<u32>) {
        self.0.entry(name.text).and_modify(|v| *v = None).or_insert(value);
    }

    /// A number, or the one that a name stands for.
    fn of(&self, t: &Token<'_>) -> Option<u32> {
        if t.is_word() { self.0.get(t.text).copied().flatten() } else { t.text.parse().ok() }
    }
}

pub(super) fn is_basic_type(name: &str) -> bool {
    matches!(name, "float" | "int" | "uint" | "bool") || name.strip_prefix("vec").is_some_and(|n| matches!(n, "2" | "3" | "4"))
}

/// A name that no language reserves.
pub(crate) fn free(name: &str) -> String {
    format!("{PREFIX}{name}")
}

/// The name of an entry point's parameter, of which an input and an output may be called the same.
pub(crate) fn parameter(name: &str, input: bool) -> String {
    format!("{}{name}", if input { INPUT } else { OUTPUT })
}

/// The name of a variable that stands for a structure's member.
pub(crate) fn member(of: &str, name: &str) -> String {
    format!("{of}{DOT}{}", plain(name))
}

/// A name as the user wrote it, that of a member with the structure's.
pub(crate) fn written(name: &str) -> String {
    name.split('.').map(plain).collect::<Vec<_>>().join(".").replace(DOT, ".").replace(COLONS, "::")
}

/// The global name of what a namespace declares.
pub(crate) fn within(path: &[&str], name: &str) -> String {
    format!("{SPACE}{}{COLONS}{name}", path.join(COLONS))
}

/// The global name of what a path as `A::f` names.
pub(crate) fn global(path: &str) -> String {
    path.rsplit_once("::").map_or(path.to_string(), |(of, name)| within(&of.split("::").collect::<Vec<_>>(), name))
}

/// A name as it stands in its namespace.
pub(crate) fn inmost(name: &str) -> &str {
    if name.starts_with(SPACE) { name.rsplit(COLONS).next().unwrap_or(name) } else { name }
}

/// A message in which what namespaces declare is called as the user knows it.
pub(crate) fn readable(message: &str) -> String {
    message.replace(SPACE, "").replace(COLONS, "::")
}

/// A name as the user wrote it.
pub(crate) fn plain(name: &str) -> &str {
    [PREFIX, INPUT, OUTPUT, SPACE].iter().find_map(|p| name.strip_prefix(p)).unwrap_or(name)
}
