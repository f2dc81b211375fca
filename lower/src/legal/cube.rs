//! Cube maps: the face and the coordinates on it by comparisons and selects, for machines that sample only flat textures
//! or want the largest coordinate divided out.

use retroshade_ir::{Builder, FloatCC, Opcode, Value, types::F32};

/// A direction on a cube.
#[derive(Clone, Copy, Debug)]
pub struct CubeCoords {
    /// Horizontal coordinate on the face, 0 … 1.
    pub s: Value,
    /// Vertical coordinate on the face, 0 … 1.
    pub t: Value,
    /// The face as a float: +x -x +y -y +z -z = 0 … 5.
    pub face: Value,
    /// Magnitude of the major coordinate.
    pub major: Value,
}

/// The direction divided by its largest coordinate: what machines with a cube lookup but no projection want.
pub fn normalise(b: &mut Builder, xyz: [Value; 3]) -> [Value; 3] {
    let a = xyz.map(|v| b.ins(Opcode::Fabs, &[v]));
    let m = b.ins(Opcode::Fmax, &[a[0], a[1]]);
    let m = b.ins(Opcode::Fmax, &[m, a[2]]);
    let r = b.ins(Opcode::Frcp, &[m]);
    xyz.map(|v| b.ins(Opcode::Fmul, &[v, r]))
}

/// Face and coordinates. Of equal magnitudes z wins over y over x, as the table in the OpenGL specification leaves open.
pub fn coords(b: &mut Builder, xyz: [Value; 3]) -> CubeCoords {
    let [x, _, z] = xyz;
    let [ax, ay, az] = xyz.map(|v| b.ins(Opcode::Fabs, &[v]));
    let k = |b: &mut Builder, v: f32| b.fconst(F32, v);
    let axy = b.ins(Opcode::Fmax, &[ax, ay]);
    let major = b.ins(Opcode::Fmax, &[axy, az]);
    let is_z = b.fcmp(FloatCC::Oge, az, axy);
    let is_y = b.fcmp(FloatCC::Oge, ay, ax);
    let zero = k(b, 0.0);
    let neg = xyz.map(|v| b.fcmp(FloatCC::Olt, v, zero));
    let minus = xyz.map(|v| b.ins(Opcode::Fneg, &[v]));
    // (sc, tc) by face: +x (-z, -y) · -x (z, -y) · +y (x, z) · -y (x, -z) · +z (x, -y) · -z (-x, -y).
    let sx = b.select(neg[0], z, minus[2]);
    let sz = b.select(neg[2], minus[0], x);
    let ty = b.select(neg[1], minus[2], z);
    let s_xy = b.select(is_y, x, sx);
    let sc = b.select(is_z, sz, s_xy);
    let t_xy = b.select(is_y, ty, minus[1]);
    let tc = b.select(is_z, minus[1], t_xy);
    let faces: Vec<Value> = (0..3)
        .map(|n| {
            let (p, q) = (k(b, 2.0 * n as f32), k(b, 2.0 * n as f32 + 1.0));
            b.select(neg[n], q, p)
        })
        .collect();
    let f_xy = b.select(is_y, faces[1], faces[0]);
    let face = b.select(is_z, faces[2], f_xy);
    let r = b.ins(Opcode::Frcp, &[major]);
    let half = k(b, 0.5);
    let h = b.ins(Opcode::Fmul, &[r, half]);
    let on_face = |b: &mut Builder, c: Value| {
        let p = b.ins(Opcode::Fmul, &[c, h]);
        b.ins(Opcode::Fadd, &[p, half])
    };
    CubeCoords { s: on_face(b, sc), t: on_face(b, tc), face, major }
}
