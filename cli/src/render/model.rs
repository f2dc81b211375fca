//! Meshes from files: Wavefront OBJ and glTF, moved and scaled so that the built-in camera sees all of them.

use super::Mesh;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gltf::Semantic;
use gltf::accessor::DataType::{self, F32, U8, U16, U32};
use gltf::accessor::Dimensions;
use std::collections::BTreeSet;
use thiserror::Error;

/// The most corners of a mesh.
const MAX_CORNERS: usize = 1 << 20;
/// Half the largest side of a mesh after scaling.
const EXTENT: f32 = 1.2;

/// A model that cannot be read.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct ModelError(String);

fn fail<T>(message: impl Into<String>) -> Result<T, ModelError> {
    Err(ModelError(message.into()))
}

/// Whether an attribute has a type that the format allows for it, of those that are read here.
fn readable(what: &Semantic, a: &gltf::Accessor) -> Result<(), ModelError> {
    let (shapes, types): (&[Dimensions], &[DataType]) = match what {
        Semantic::Positions | Semantic::Normals => (&[Dimensions::Vec3], &[F32]),
        Semantic::TexCoords(_) => (&[Dimensions::Vec2], &[U8, U16, F32]),
        Semantic::Colors(_) => (&[Dimensions::Vec3, Dimensions::Vec4], &[U8, U16, F32]),
        _ => return Ok(()),
    };
    if shapes.contains(&a.dimensions()) && types.contains(&a.data_type()) {
        return Ok(());
    }
    fail(format!("{} of the glTF model have a type that they cannot have: accessor {}", what.to_string(), a.index()))
}

impl Mesh {
    /// The triangles of an OBJ file. Materials are not read.
    pub fn from_obj(bytes: &[u8]) -> Result<Mesh, ModelError> {
        let options = tobj::LoadOptions { single_index: true, triangulate: true, ignore_points: true, ignore_lines: true };
        let no_materials = |_: &std::path::Path| Ok((Vec::new(), Default::default()));
        let (models, _) = tobj::load_obj_buf(&mut std::io::Cursor::new(bytes), &options, no_materials)
            .map_err(|e| ModelError(format!("not an OBJ model that can be read: {e}")))?;
        let mut mesh = Mesh::default();
        for m in models.iter().map(|m| &m.mesh) {
            let corners = m.positions.chunks_exact(3).enumerate().map(|(n, p)| Corner {
                position: [p[0], p[1], p[2]],
                normal: m.normals.get(3 * n..3 * n + 3).map(|v| [v[0], v[1], v[2]]),
                // Texture coordinates of OBJ start at the bottom.
                uv: m.texcoords.get(2 * n..2 * n + 2).map_or([0.0; 2], |v| [v[0], 1.0 - v[1]]),
                colour: m.vertex_color.get(3 * n..3 * n + 3).map_or([1.0; 3], |v| [v[0], v[1], v[2]]),
            });
            mesh.add(corners, &m.indices)?;
        }
        mesh.finished()
    }

    /// The triangles of all meshes of a glTF file (`.gltf` or `.glb`) as its first scene places them. `read` gives the files that it names.
    pub fn from_gltf(bytes: &[u8], read: &dyn Fn(&str) -> Result<Vec<u8>, String>) -> Result<Mesh, ModelError> {
        let file = gltf::Gltf::from_slice(bytes).map_err(|e| ModelError(format!("not a glTF model that can be read: {e}")))?;
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        for b in file.buffers() {
            let data = match b.source() {
                gltf::buffer::Source::Bin => file.blob.clone().unwrap_or_default(),
                gltf::buffer::Source::Uri(uri) => match uri.strip_prefix("data:").and_then(|d| d.split_once(";base64,")) {
                    Some((_, text)) => STANDARD.decode(text).map_err(|e| ModelError(format!("a buffer of the glTF model: {e}")))?,
                    None => read(uri).map_err(|e| ModelError(format!("the buffer {uri} of the glTF model: {e}")))?,
                },
            };
            if data.len() < b.length() {
                return fail(format!("a buffer of the glTF model is too short (needed {} bytes, available {})", b.length(), data.len()));
            }
            buffers.push(data);
        }
        let mut mesh = Mesh::default();
        let identity = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let Some(scene) = file.default_scene().or_else(|| file.scenes().next()) else { return fail("the glTF model has no scene") };
        let mut work: Vec<(gltf::Node, [[f32; 4]; 4])> = scene.nodes().map(|n| (n, identity)).collect();
        let mut placed = BTreeSet::new();
        while let Some((node, above)) = work.pop() {
            // The format has trees only; what stands below itself would have no end.
            if !placed.insert(node.index()) {
                return fail(format!("node {} of the glTF model stands in two places", node.index()));
            }
            let place = super::mesh::product(&above, &node.transform().matrix());
            if let Some(m) = node.mesh() {
                m.primitives().try_for_each(|p| mesh.primitive(&p, &buffers, &place))?;
            }
            work.extend(node.children().map(|c| (c, place)));
        }
        mesh.finished()
    }

    /// A part of a glTF mesh.
    fn primitive(&mut self, p: &gltf::Primitive, buffers: &[Vec<u8>], place: &[[f32; 4]; 4]) -> Result<(), ModelError> {
        if p.mode() != gltf::mesh::Mode::Triangles {
            return Ok(());
        }
        p.attributes().try_for_each(|(what, a)| readable(&what, &a))?;
        if let Some(a) = p.indices().filter(|a| a.dimensions() != Dimensions::Scalar || !matches!(a.data_type(), U8 | U16 | U32)) {
            return fail(format!("indices of the glTF model are no unsigned numbers: accessor {}", a.index()));
        }
        let r = p.reader(|b| buffers.get(b.index()).map(Vec::as_slice));
        let Some(positions) = r.read_positions() else { return fail("a part of the glTF model has no positions") };
        let normals: Vec<[f32; 3]> = r.read_normals().map(Iterator::collect).unwrap_or_default();
        let uvs: Vec<[f32; 2]> = r.read_tex_coords(0).map(|t| t.into_f32().collect()).unwrap_or_default();
        let colours: Vec<[f32; 3]> = r.read_colors(0).map(|c| c.into_rgb_f32().collect()).unwrap_or_default();
        let moved = |v: [f32; 3], w: f32| [0, 1, 2].map(|k| (0..3).map(|c| place[c][k] * v[c]).sum::<f32>() + place[3][k] * w);
        let corners: Vec<Corner> = positions
            .enumerate()
            .map(|(n, p)| Corner {
                position: moved(p, 1.0),
                normal: normals.get(n).map(|v| moved(*v, 0.0)),
                uv: uvs.get(n).copied().unwrap_or_default(),
                colour: colours.get(n).copied().unwrap_or([1.0; 3]),
            })
            .collect();
        let indices: Vec<u32> = match r.read_indices() {
            Some(i) => i.into_u32().collect(),
            None => (0..corners.len() as u32).collect(),
        };
        self.add(corners.into_iter(), &indices)
    }

    /// Adds corners and the triangles between them; where they have no normals, the triangles' own.
    fn add(&mut self, corners: impl Iterator<Item = Corner>, indices: &[u32]) -> Result<(), ModelError> {
        let base = self.position.len();
        let mut own = Vec::new();
        for c in corners {
            if self.position.len() >= MAX_CORNERS {
                return fail(format!("the model is too large (more than {MAX_CORNERS} corners)"));
            }
            own.push(c.normal.is_none());
            self.vertex(c.position, c.normal.unwrap_or_default(), c.uv, c.colour);
        }
        for t in indices.chunks_exact(3) {
            let Some(corner) = t.iter().map(|i| own.get(*i as usize).map(|_| base as u32 + i)).collect::<Option<Vec<u32>>>() else {
                return fail(format!("a triangle of the model names a corner that does not exist ({} corners)", own.len()));
            };
            let [a, b, c] = [corner[0], corner[1], corner[2]].map(|n| self.position[n as usize]);
            let edge = |p: [f32; 4], q: [f32; 4]| [q[0] - p[0], q[1] - p[1], q[2] - p[2]];
            let (u, v) = (edge(a, b), edge(a, c));
            let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
            for n in corner.iter().map(|n| *n as usize).filter(|n| own[n - base]) {
                (0..3).for_each(|k| self.normal[n][k] += cross[k]);
            }
            self.triangles.push([corner[0], corner[1], corner[2]]);
        }
        Ok(())
    }

    /// The mesh in the middle of the camera's view, with unit normals.
    fn finished(mut self) -> Result<Mesh, ModelError> {
        if self.triangles.is_empty() {
            return fail("the model has no triangles");
        }
        let bound = |start: f32, pick: fn(f32, f32) -> f32| [0, 1, 2].map(|k| self.position.iter().map(|p| p[k]).fold(start, pick));
        let (low, high) = (bound(f32::INFINITY, f32::min), bound(f32::NEG_INFINITY, f32::max));
        let side = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
        if !side.is_finite() {
            return fail("the model has a corner that is nowhere");
        }
        let scale = if side > 0.0 { 2.0 * EXTENT / side } else { 1.0 };
        for p in &mut self.position {
            (0..3).for_each(|k| p[k] = (p[k] - (low[k] + high[k]) * 0.5) * scale);
        }
        for n in &mut self.normal {
            let length = libm::sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
            if length > 0.0 {
                (0..3).for_each(|k| n[k] /= length);
            }
        }
        Ok(self)
    }
}

/// A corner of a triangle as a file has it.
struct Corner {
    position: [f32; 3],
    normal: Option<[f32; 3]>,
    uv: [f32; 2],
    colour: [f32; 3],
}
