//! `include_shader!`: a shader compiled where a program includes it, errors at the literal.
#![cfg(feature = "compiler")]
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use quote::quote;
use retroshade_core::build::Shader;
use retroshade_core::ir::Stage;
use std::path::{Path, PathBuf};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitStr, Token};

/// `"x.wgsl", target = "pica", entry = "main"`
struct Arguments {
    path: LitStr,
    settings: Vec<(Ident, LitStr)>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream) -> syn::Result<Arguments> {
        let path = input.parse()?;
        let mut settings = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            settings.push((name, input.parse()?));
        }
        Ok(Arguments { path, settings })
    }
}

/// The folder in which a relative path begins: that of the source that has the macro, or the package's where that is not known.
fn folder(path: &LitStr) -> PathBuf {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let beside = path.span().unwrap().local_file().and_then(|f| Some(f.parent()?.to_path_buf()));
    // Cargo compiles from the root of the workspace, the source's name may be relative to it.
    let candidates = beside.into_iter().flat_map(|b| [std::env::current_dir().unwrap_or_default().join(&b), package.join(&b)]);
    candidates.chain([package.clone()]).find(|f| f.join(path.value()).exists()).unwrap_or(package)
}

fn shader(a: &Arguments) -> syn::Result<Shader> {
    let path = folder(&a.path).join(a.path.value());
    if !path.exists() {
        return Err(Error::new(a.path.span(), format!("there is no file {}", path.display())));
    }
    let mut shader = Shader::new(&path);
    let mut target = false;
    for (name, value) in &a.settings {
        let text = value.value();
        shader = match name.to_string().as_str() {
            "target" => {
                target = true;
                shader.target(&text)
            }
            "entry" => shader.entry(&text),
            "chip" => shader.chip(&text),
            "stage" => {
                shader.stage(Stage::from_name(&text).ok_or_else(|| Error::new(value.span(), format!("there is no stage `{text}`")))?)
            }
            "define" => {
                let (k, v) = text.split_once('=').unwrap_or((&text, "1"));
                shader.define(k, v)
            }
            "include" => shader.include(folder(&a.path).join(&text)),
            "after" => shader.after(folder(&a.path).join(&text)),
            _ => return Err(Error::new(name.span(), "settings are target, entry, stage, chip, define, include, after")),
        };
    }
    if !target {
        return Err(Error::new(a.path.span(), "which machine? `target = \"pica\"`, usse, r700 or tesla"));
    }
    Ok(shader)
}

/// Compiles a shader and leaves its module: `CONTAINER`, `CODE`, `uniforms`, `inputs` and `textures`, as `retroshade::build` does.
///
/// ```ignore
/// mod textured { retroshade::include_shader!("textured.vert", target = "pica"); }
/// upload(textured::CONTAINER);
/// ```
/// The path begins at the source that has the macro, or else at the package. Settings: `target`, `entry`, `stage`, `chip`,
/// `define = "NAME=VALUE"`, `include = "FOLDER"`, `after = "FILE"`. What is wrong with the shader is an error at the literal, with the
/// shader's file, line and column.
#[proc_macro]
pub fn include_shader(input: TokenStream) -> TokenStream {
    let arguments = syn::parse_macro_input!(input as Arguments);
    match expand(&arguments) {
        Ok(tokens) => tokens.into(),
        Err(e) => e.into_compile_error().into(),
    }
}

fn expand(a: &Arguments) -> syn::Result<proc_macro2::TokenStream> {
    let shader = shader(a)?;
    let at_literal = |m: String| Error::new(a.path.span(), m);
    let built = shader.compile().map_err(|e| at_literal(e.to_string()))?;
    let (container, code) = (byte_string(&built.shader.container), byte_string(&built.shader.code));
    let text = built.rust_with(&container, &code);
    let module: proc_macro2::TokenStream = text.parse().map_err(|e| at_literal(format!("internal error: {e}")))?;
    // The compiler compiles again when a file changes that the program includes.
    let read: Vec<String> = built.files.iter().map(|f| absolute(f)).collect();
    Ok(quote! { #module #(const _: &[u8] = include_bytes!(#read);)* })
}

fn absolute(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

/// A literal of bytes.
fn byte_string(bytes: &[u8]) -> String {
    let mut out = String::from("*b\"");
    bytes.iter().for_each(|b| out.push_str(&format!("\\x{b:02x}")));
    out.push('"');
    out
}
