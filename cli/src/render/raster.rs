//! A plain rasteriser: vertex program, clipping, perspective-correct interpolation in quads, fragment program, depth test.

use super::{Image, Mesh, colour, colour_output, fill};
use crate::ir::{Binding, Builtin, Interpolation, InvocationInputs, Module, Scalar, ShaderEnv, ShaderResult};

/// The least w of a vertex that is drawn.
const NEAR: f32 = 1e-4;
/// Invocations executed at once.
const BATCH: usize = 1 << 14;

/// A vertex after the vertex program: clip position and all output words.
#[derive(Clone)]
struct Vertex {
    clip: [f32; 4],
    outputs: Vec<Vec<u32>>,
}

/// A vertex on the screen.
struct Corner<'a> {
    x: f32,
    y: f32,
    z: f32,
    /// 1 / w.
    q: f32,
    vertex: &'a Vertex,
}

/// How each fragment input is fed.
enum Feed {
    /// By an output of the vertex program: its number, and how it is interpolated.
    Output(usize, Interpolation),
    Position,
    FrontFacing,
    Nothing,
}

/// A mesh through a vertex and a fragment program. The environments give everything but the invocations.
pub fn mesh_image<E>(
    (vertex, vertex_env): (&Module, &ShaderEnv),
    (fragment, fragment_env): (&Module, &ShaderEnv),
    mesh: &Mesh,
    (width, height): (u32, u32),
    run_vertex: &mut dyn FnMut(&ShaderEnv) -> Result<ShaderResult, E>,
    run_fragment: &mut dyn FnMut(&ShaderEnv) -> Result<ShaderResult, E>,
) -> Result<Image, E> {
    let mut image = Image::new(width, height);
    let mut env = vertex_env.clone();
    env.invocations = (0..mesh.position.len())
        .map(|n| InvocationInputs { inputs: vertex.inputs.values().map(|d| fill(d, mesh.attribute(d, n))).collect() })
        .collect();
    let result = run_vertex(&env)?;
    let position = vertex.outputs.iter().position(|(_, d)| d.binding == Binding::Builtin(Builtin::Position));
    let (Some(position), Some(output)) = (position, colour_output(fragment)) else { return Ok(image) };
    let vertices: Vec<Vertex> = result
        .invocations
        .into_iter()
        .map(|r| {
            let p = r.outputs.get(position).map_or(&[][..], |w| w);
            Vertex { clip: [0, 1, 2, 3].map(|n| p.get(n).map_or(0.0, |w| f32::from_bits(*w))), outputs: r.outputs }
        })
        .collect();
    let feeds: Vec<Feed> = fragment
        .inputs
        .values()
        .map(|d| match d.binding {
            Binding::Builtin(Builtin::Position) => Feed::Position,
            Binding::Builtin(Builtin::FrontFacing) => Feed::FrontFacing,
            b => vertex.outputs.values().position(|o| o.binding == b).map_or(Feed::Nothing, |n| Feed::Output(n, d.interpolation)),
        })
        .collect();
    let own_depth = fragment.outputs.values().position(|d| d.binding == Binding::Builtin(Builtin::FragDepth));
    let mut depth = vec![f32::INFINITY; width as usize * height as usize];
    let mut env = fragment_env.clone();
    let mut pending: Vec<(u32, u32, f32, bool)> = Vec::new();
    let mut flush = |env: &mut ShaderEnv, pending: &mut Vec<(u32, u32, f32, bool)>, image: &mut Image| -> Result<(), E> {
        if pending.is_empty() {
            return Ok(());
        }
        let result = run_fragment(env)?;
        for ((x, y, z, covered), r) in pending.drain(..).zip(&result.invocations) {
            if !covered || r.discarded {
                continue;
            }
            let written = own_depth.and_then(|n| r.outputs.get(n)).and_then(|w| w.first());
            let z = written.map_or(z, |w| f32::from_bits(*w));
            let at = y as usize * width as usize + x as usize;
            if z < depth[at] {
                depth[at] = z;
                image.set((x, y), colour(r.outputs.get(output.as_u32() as usize).map_or(&[], |w| w)));
            }
        }
        env.invocations.clear();
        Ok(())
    };
    for t in &mesh.triangles {
        let corners: Option<Vec<Vertex>> = t.iter().map(|n| vertices.get(*n as usize).cloned()).collect();
        let polygon = clip(corners.unwrap_or_default());
        for n in 2..polygon.len() {
            let corner = |v: &'_ Vertex| {
                let q = 1.0 / v.clip[3];
                ((v.clip[0] * q * 0.5 + 0.5) * width as f32, (0.5 - v.clip[1] * q * 0.5) * height as f32, v.clip[2] * q, q)
            };
            let [a, b, c] = [&polygon[0], &polygon[n - 1], &polygon[n]].map(|vertex| {
                let (x, y, z, q) = corner(vertex);
                Corner { x, y, z, q, vertex }
            });
            // What is flat comes from the triangle's first corner, also where that one was cut off.
            let first = vertices.get(t[0] as usize).map_or(&[][..], |v| &v.outputs);
            triangle([a, b, c], first, fragment, &feeds, (width, height), &mut |place, z, covered, inputs| {
                env.invocations.push(InvocationInputs { inputs });
                pending.push((place.0, place.1, z, covered));
            });
            if env.invocations.len() >= BATCH {
                flush(&mut env, &mut pending, &mut image)?;
            }
        }
    }
    flush(&mut env, &mut pending, &mut image)?;
    Ok(image)
}

/// Cuts off what lies behind the eye.
fn clip(corners: Vec<Vertex>) -> Vec<Vertex> {
    let mut out = Vec::with_capacity(4);
    for (n, b) in corners.iter().enumerate() {
        let a = &corners[(n + corners.len() - 1) % corners.len()];
        let (wa, wb) = (a.clip[3] - NEAR, b.clip[3] - NEAR);
        if (wa > 0.0) != (wb > 0.0) {
            let t = wa / (wa - wb);
            let mix = |x: f32, y: f32| x + (y - x) * t;
            out.push(Vertex {
                clip: [0, 1, 2, 3].map(|k| mix(a.clip[k], b.clip[k])),
                outputs: (a.outputs.iter().zip(&b.outputs))
                    .map(|(x, y)| x.iter().zip(y).map(|(x, y)| mix(f32::from_bits(*x), f32::from_bits(*y)).to_bits()).collect())
                    .collect(),
            });
        }
        if wb > 0.0 {
            out.push(b.clone());
        }
    }
    out
}

/// Takes a pixel: place, depth, whether it is covered, fragment inputs.
type Emit<'a> = dyn FnMut((u32, u32), f32, bool, Vec<Vec<u32>>) + 'a;

/// Calls `emit` with four pixels for every quad that a triangle touches.
#[allow(clippy::too_many_arguments)]
fn triangle(corners: [Corner; 3], first: &[Vec<u32>], fragment: &Module, feeds: &[Feed], (width, height): (u32, u32), emit: &mut Emit) {
    let [a, b, c] = &corners;
    let edge = |p: (f32, f32), q: (f32, f32), x: f32, y: f32| (q.0 - p.0) * (y - p.1) - (q.1 - p.1) * (x - p.0);
    let (pa, pb, pc) = ((a.x, a.y), (b.x, b.y), (c.x, c.y));
    let area = edge(pa, pb, c.x, c.y);
    if area == 0.0 || !area.is_finite() {
        return;
    }
    // y points down on the screen, so a counter-clockwise triangle has a negative area.
    let front = area < 0.0;
    let bound = |low: f32, high: f32, limit: u32| (low.clamp(0.0, limit as f32) as u32 & !1, high.clamp(0.0, limit as f32) as u32);
    let min3 = |x: f32, y: f32, z: f32| x.min(y).min(z);
    let max3 = |x: f32, y: f32, z: f32| x.max(y).max(z);
    let (x0, x1) = bound(min3(a.x, b.x, c.x), max3(a.x, b.x, c.x) + 1.0, width);
    let (y0, y1) = bound(min3(a.y, b.y, c.y), max3(a.y, b.y, c.y) + 1.0, height);
    // A pixel on an edge belongs to the triangle for which the edge is a top or left one.
    let owns = |p: (f32, f32), q: (f32, f32)| {
        let (dx, dy) = if front { (p.0 - q.0, p.1 - q.1) } else { (q.0 - p.0, q.1 - p.1) };
        dy < 0.0 || dy == 0.0 && dx > 0.0
    };
    let owned = [owns(pb, pc), owns(pc, pa), owns(pa, pb)];
    for y in (y0..y1).step_by(2) {
        for x in (x0..x1).step_by(2) {
            let quad = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| {
                let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
                let w = [edge(pb, pc, px, py) / area, edge(pc, pa, px, py) / area, edge(pa, pb, px, py) / area];
                let inside = w.iter().zip(owned).all(|(w, o)| *w > 0.0 || *w == 0.0 && o);
                ((x, y), w, inside && x < width && y < height)
            });
            if quad.iter().all(|(_, _, inside)| !inside) {
                continue;
            }
            for ((px, py), w, inside) in quad {
                let z = w[0] * a.z + w[1] * b.z + w[2] * c.z;
                let q = w[0] * a.q + w[1] * b.q + w[2] * c.q;
                let place = [px as f32 + 0.5, py as f32 + 0.5, z, q];
                let inputs = fragment.inputs.values().zip(feeds).map(|(d, feed)| match feed {
                    Feed::Position => fill(d, place),
                    Feed::FrontFacing => fill(d, [if front { 1.0 } else { 0.0 }; 4]),
                    Feed::Nothing => fill(d, [0.0; 4]),
                    Feed::Output(n, mode) => {
                        let weights = match mode {
                            Interpolation::Flat => None,
                            Interpolation::Linear => Some(w),
                            Interpolation::Perspective => Some([w[0] * a.q / q, w[1] * b.q / q, w[2] * c.q / q]),
                        };
                        interpolate(d.ty.scalar, d.count.max(1) as usize * d.ty.lanes as usize, weights, &corners, first, *n)
                    }
                });
                emit((px, py), z, inside, inputs.collect());
            }
        }
    }
}

/// Words of one output between three corners; without weights the first corner's.
fn interpolate(ty: Scalar, want: usize, weights: Option<[f32; 3]>, corners: &[Corner; 3], first: &[Vec<u32>], output: usize) -> Vec<u32> {
    let at = |words: &[Vec<u32>], k: usize| words.get(output).and_then(|w| w.get(k)).copied().unwrap_or(0);
    let word = |c: &Corner, k: usize| at(&c.vertex.outputs, k);
    (0..want)
        .map(|k| match weights {
            Some(w) if ty == Scalar::F32 => {
                let sum: f32 = corners.iter().zip(w).map(|(c, w)| f32::from_bits(word(c, k)) * w).sum();
                sum.to_bits()
            }
            _ => at(first, k),
        })
        .collect()
}
