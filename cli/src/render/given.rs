//! What a picture's programs read: the values that somebody gave, and stand-ins for the rest.

use super::standins::{Picture, test_pattern};
use crate::ir::{Module, Scalar, ShaderEnv, TexDim, TextureData};
use crate::lower::bind::{self, BindError};
use crate::lower::reflect::{Reflection, uniform_leaves};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything that somebody gave a value.
#[derive(Clone, Debug)]
pub struct Given {
    /// A bind file's content but for its invocations.
    file: Map<String, Value>,
    /// Textures, by their whole names; they come before those of the file.
    images: Vec<(String, TextureData)>,
}

/// Why a program cannot be given what somebody gave.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum GivenError {
    /// The values do not fit.
    #[error("{0}")]
    Bind(#[from] BindError),
    /// An image for a texture that takes none.
    #[error("texture `{name}` is {dim}; an image can only be a 2d texture of floats")]
    Image {
        /// The texture.
        name: String,
        /// Its dimensions.
        dim: &'static str,
    },
}

impl Default for Given {
    fn default() -> Given {
        Given::new(Map::new())
    }
}

impl Given {
    /// The values of a bind file; what it says of invocations does not count.
    pub fn new(mut file: Map<String, Value>) -> Given {
        file.insert("invocations".to_string(), json!([]));
        Given { file, images: Vec::new() }
    }

    /// Gives a uniform, by its whole name, a value.
    pub fn uniform(&mut self, name: String, value: Value) {
        insert(&mut self.file, "uniforms", name, value);
    }

    /// Gives a texture, by its whole name, an image.
    pub fn image(&mut self, name: String, image: TextureData) {
        if let Some(section) = self.file.get_mut("textures").and_then(Value::as_object_mut) {
            section.remove(&name);
        }
        self.images.push((name, image));
    }

    /// The environment of one program but for its invocations. `notes` learns what stands in for what nobody gave.
    pub fn environment(&self, module: &Module, picture: &Picture, notes: &mut BTreeMap<String, String>) -> Result<ShaderEnv, GivenError> {
        let reflection = Reflection::from_module(module);
        let lacks = |section: &str, name: &str| self.file.get(section).and_then(|s| s.get(name)).is_none();
        let mut file = self.file.clone();
        for decl in module.uniforms.values() {
            for leaf in uniform_leaves(decl).into_iter().filter(|l| lacks("uniforms", &l.name)) {
                let value = picture.uniform(decl, &leaf.name, leaf.count);
                if reflection.uniforms.iter().any(|u| u.used && u.name == leaf.name) {
                    notes.entry(leaf.name.clone()).or_insert_with(|| picture.said(decl, &leaf.name, &value));
                }
                insert(&mut file, "uniforms", leaf.name, value);
            }
        }
        for decl in module.storage.values().filter(|d| lacks("storage", &d.name)) {
            let words = decl.head.len() + ELEMENTS * decl.repeat.len();
            notes.entry(decl.name.clone()).or_insert_with(|| format!("{words} words of zero"));
            insert(&mut file, "storage", decl.name.clone(), json!(vec![0; words]));
        }
        // A texel each, so that the names count as bound; the images follow below.
        let unbound: Vec<_> = module.textures.iter().filter(|(_, d)| lacks("textures", &d.name)).collect();
        for (_, d) in &unbound {
            let texels = vec![json!([0, 0, 0, 1]); if d.dim == TexDim::Cube { 6 } else { 1 }];
            insert(&mut file, "textures", d.name.clone(), json!({ "dim": d.dim.name(), "size": [1, 1, 1], "texels": texels }));
        }
        let mut env = bind::env_from_json(module, &Value::Object(file))?;
        for (id, d) in unbound {
            let image = self.images.iter().rfind(|(name, _)| *name == d.name);
            if image.is_some() && (d.dim != TexDim::D2 || d.kind != Scalar::F32) {
                return Err(GivenError::Image { name: d.name.clone(), dim: d.dim.name() });
            }
            if image.is_none() && reflection.textures.iter().any(|t| t.used && t.name == d.name) {
                notes.entry(d.name.clone()).or_insert_with(|| "a test pattern".to_string());
            }
            env.textures[id.as_u32() as usize] = image.map_or_else(|| test_pattern(d), |(_, t)| t.clone());
        }
        Ok(env)
    }
}

/// Elements of a storage buffer that nobody gave, behind those that it always has.
const ELEMENTS: usize = 64;

fn insert(top: &mut Map<String, Value>, section: &str, name: String, value: Value) {
    if let Some(map) = top.entry(section).or_insert_with(|| Value::Object(Map::new())).as_object_mut() {
        map.insert(name, value);
    }
}
