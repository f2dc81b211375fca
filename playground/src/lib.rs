//! What the playground's workers call: a source to code on every machine, and pictures of it. Everything crosses as JSON, pictures as pixels.

mod code;
mod picture;
mod source;

use picture::Scene;
use serde::Deserialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// What to compile.
#[derive(Debug, Deserialize)]
struct Request {
    /// The file's name; its ending is the language.
    name: String,
    /// The text.
    text: String,
    /// The entry point; empty for the only one.
    #[serde(default)]
    entry: String,
    /// The vertex program of a file that has both, for the picture.
    #[serde(default)]
    vertex: String,
    /// The fragment program of a file that has both, for the picture.
    #[serde(default)]
    fragment: String,
    /// How hard to optimise: `O0 O1 O2 Os`.
    #[serde(default)]
    level: String,
}

/// One source and what became of it.
#[wasm_bindgen]
#[derive(Default)]
pub struct Session {
    scene: Option<Scene>,
}

#[wasm_bindgen]
impl Session {
    /// A session without a source.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Session {
        Session::default()
    }

    /// Compiles for every machine. `words` is SPIR-V made of the text, or empty. Gives JSON: the messages, the IR, each machine's code.
    pub fn compile(&self, request: &str, words: &[u8]) -> String {
        let answer = serde_json::from_str(request).map(|r| code::answer(&r, words));
        answer.unwrap_or_else(|e| code::refusal(&format!("the page asks wrongly: {e}"))).to_string()
    }

    /// Takes the source whose pictures [`Session::draw`] draws. Gives JSON: the uniforms that it reads, or why there are no pictures.
    pub fn open(&mut self, request: &str, words: &[u8]) -> String {
        let opened = serde_json::from_str::<Request>(request).map_err(|e| e.to_string()).and_then(|r| Scene::open(&r, words));
        match opened {
            Ok(scene) => {
                let about = scene.about().to_string();
                self.scene = Some(scene);
                about
            }
            Err(e) => {
                self.scene = None;
                serde_json::json!({ "error": e }).to_string()
            }
        }
    }

    /// Draws the source on a machine (empty: the interpreter): rows of RGBA bytes.
    ///
    /// # Errors
    /// The messages of the compiler, or what stopped the simulator.
    pub fn draw(&mut self, machine: &str, view: &str) -> Result<Vec<u8>, String> {
        let view = serde_json::from_str(view).map_err(|e| format!("the page asks wrongly: {e}"))?;
        self.scene.as_mut().ok_or("nothing is open")?.draw(machine, &view).map(|image| image.rgba)
    }
}
