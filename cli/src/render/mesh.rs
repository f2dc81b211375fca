//! Built-in meshes, and the matrices of a camera that looks at them.

use crate::ir::{Binding, Builtin, IoDecl};

/// A mesh of triangles, counter-clockwise from the front.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Positions, with w = 1.
    pub position: Vec<[f32; 4]>,
    /// Unit normals.
    pub normal: Vec<[f32; 4]>,
    /// Texture coordinates, v downwards.
    pub uv: Vec<[f32; 4]>,
    /// Colours.
    pub colour: Vec<[f32; 4]>,
    /// Triangles.
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// The names that [`Mesh::named`] knows.
    pub const NAMES: &'static [&'static str] = &["triangle", "quad", "cube", "sphere"];

    /// A built-in mesh.
    pub fn named(name: &str) -> Option<Mesh> {
        match name {
            "triangle" => Some(Mesh::triangle()),
            "quad" => Some(Mesh::quad()),
            "cube" => Some(Mesh::cube()),
            "sphere" => Some(Mesh::sphere(24, 12)),
            _ => None,
        }
    }

    pub(super) fn vertex(&mut self, p: [f32; 3], n: [f32; 3], uv: [f32; 2], colour: [f32; 3]) -> u32 {
        self.position.push([p[0], p[1], p[2], 1.0]);
        self.normal.push([n[0], n[1], n[2], 0.0]);
        self.uv.push([uv[0], uv[1], 0.0, 1.0]);
        self.colour.push([colour[0], colour[1], colour[2], 1.0]);
        self.position.len() as u32 - 1
    }

    fn triangle() -> Mesh {
        let mut m = Mesh::default();
        let up = [0.0, 0.0, 1.0];
        m.vertex([-0.9, -0.8, 0.0], up, [0.0, 1.0], [1.0, 0.0, 0.0]);
        m.vertex([0.9, -0.8, 0.0], up, [1.0, 1.0], [0.0, 1.0, 0.0]);
        m.vertex([0.0, 0.9, 0.0], up, [0.5, 0.0], [0.0, 0.0, 1.0]);
        m.triangles.push([0, 1, 2]);
        m
    }

    /// A face of four corners, spanned by two half axes around a centre.
    fn face(&mut self, centre: [f32; 3], right: [f32; 3], up: [f32; 3], colour: [f32; 3]) {
        let normal = [right[1] * up[2] - right[2] * up[1], right[2] * up[0] - right[0] * up[2], right[0] * up[1] - right[1] * up[0]];
        let at = |x: f32, y: f32| [0, 1, 2].map(|k| centre[k] + x * right[k] + y * up[k]);
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let v = corners.map(|(x, y)| self.vertex(at(x, y), normal, [x * 0.5 + 0.5, 0.5 - y * 0.5], colour));
        self.triangles.extend([[v[0], v[1], v[2]], [v[0], v[2], v[3]]]);
    }

    fn quad() -> Mesh {
        let mut m = Mesh::default();
        m.face([0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0; 3]);
        m
    }

    fn cube() -> Mesh {
        let mut m = Mesh::default();
        let (x, y, z) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        let minus = |v: [f32; 3]| v.map(|c| -c);
        m.face(z, x, y, [0.9, 0.3, 0.3]);
        m.face(minus(z), minus(x), y, [0.3, 0.9, 0.9]);
        m.face(x, minus(z), y, [0.3, 0.9, 0.3]);
        m.face(minus(x), z, y, [0.9, 0.3, 0.9]);
        m.face(y, x, minus(z), [0.3, 0.3, 0.9]);
        m.face(minus(y), x, z, [0.9, 0.9, 0.3]);
        m
    }

    fn sphere(around: u32, down: u32) -> Mesh {
        let mut m = Mesh::default();
        for j in 0..=down {
            for i in 0..=around {
                let (u, v) = (i as f32 / around as f32, j as f32 / down as f32);
                let (a, b) = (u * std::f32::consts::TAU, v * std::f32::consts::PI);
                let ring = libm::sinf(b);
                let n = [libm::sinf(a) * ring, libm::cosf(b), libm::cosf(a) * ring];
                m.vertex(n, n, [u, v], n.map(|c| c * 0.5 + 0.5));
            }
        }
        let at = |i: u32, j: u32| j * (around + 1) + i;
        for j in 0..down {
            for i in 0..around {
                m.triangles.extend([[at(i, j), at(i, j + 1), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i + 1, j)]]);
            }
        }
        m
    }

    /// What a vertex input receives: by its name if that says position, normal, texture coordinate or colour, else by location.
    pub fn attribute(&self, d: &IoDecl, vertex: usize) -> [f32; 4] {
        let name = d.name.to_lowercase();
        let named = |parts: &[&str]| parts.iter().any(|p| name.contains(p));
        let list = match d.binding {
            Binding::Builtin(Builtin::VertexIndex) => return [vertex as f32; 4],
            Binding::Builtin(_) => return [0.0; 4],
            _ if named(&["pos"]) => &self.position,
            _ if named(&["norm", "nrm"]) => &self.normal,
            _ if named(&["uv", "tex", "tc"]) => &self.uv,
            _ if named(&["col", "clr"]) => &self.colour,
            Binding::Location(1) => &self.normal,
            Binding::Location(2) => &self.uv,
            Binding::Location(3) => &self.colour,
            Binding::Location(_) => &self.position,
        };
        list.get(vertex).copied().unwrap_or([0.0; 4])
    }
}

/// A 4×4 matrix by columns.
type Matrix = [[f32; 4]; 4];

/// Matrices of a fixed camera.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// Width divided by height.
    pub aspect: f32,
}

impl Camera {
    /// The names that [`Camera::matrix`] knows.
    pub const NAMES: &'static [&'static str] = &["identity", "model", "view", "projection", "model_view", "mvp"];

    /// A matrix by name: the model is turned a little, the camera stands 4 units away, depth goes from 0 to 1.
    pub fn matrix(&self, name: &str) -> Option<Matrix> {
        let identity = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let (sy, cy, sx, cx) = (libm::sinf(0.6), libm::cosf(0.6), libm::sinf(0.45), libm::cosf(0.45));
        let turn_y = [[cy, 0.0, -sy, 0.0], [0.0, 1.0, 0.0, 0.0], [sy, 0.0, cy, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let turn_x = [[1.0, 0.0, 0.0, 0.0], [0.0, cx, sx, 0.0], [0.0, -sx, cx, 0.0], [0.0, 0.0, 0.0, 1.0]];
        let model = product(&turn_x, &turn_y);
        let mut view = identity;
        view[3][2] = -4.0;
        let (near, far, f) = (0.5, 20.0, 2.2);
        let projection = [
            [f / self.aspect.max(1e-3), 0.0, 0.0, 0.0],
            [0.0, f, 0.0, 0.0],
            [0.0, 0.0, far / (near - far), -1.0],
            [0.0, 0.0, near * far / (near - far), 0.0],
        ];
        Some(match name {
            "identity" => identity,
            "model" => model,
            "view" => view,
            "projection" => projection,
            "model_view" => product(&view, &model),
            "mvp" => product(&projection, &product(&view, &model)),
            _ => return None,
        })
    }
}

pub(super) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    b.map(|column| [0, 1, 2, 3].map(|r| (0..4).map(|k| a[k][r] * column[k]).sum()))
}
