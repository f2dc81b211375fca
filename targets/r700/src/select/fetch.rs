//! Selection of fetches: textures, derivatives and buffers read by index.

use crate::isa::forms;
use crate::select::Lower;
use crate::select::mir::*;
use cranelift_entity::EntityRef;
use retroshade_ir::{Imm, InstData, Opcode, Scalar, TexDim, TexInfo, TexLod, TexOp, Type, Value};
use retroshade_lower::CompileError;
use smallvec::{SmallVec, smallvec};

type Fields = SmallVec<[(&'static str, u64); 12]>;

/// The data format of so many raw words.
pub fn format(lanes: u8) -> u64 {
    [13, 29, 47, 34][(lanes as usize).clamp(1, 4) - 1]
}

/// Fields of a vertex fetch from a buffer: resource, byte offset, bytes - 1, data format.
pub fn buffer_fields(resource: u64, offset: u32, bytes: u64, format: u64) -> Fields {
    smallvec![
        ("FETCH_TYPE", 2),
        ("BUFFER_ID", resource),
        ("MEGA_FETCH_COUNT", bytes),
        ("DATA_FORMAT", format),
        ("NUM_FORMAT_ALL", 1),
        ("OFFSET", offset as u64),
        ("MEGA_FETCH", 1),
    ]
}

/// Fields of the fetch of an attribute: its format follows from its type, the host's buffer has the stride.
pub fn attribute_fields(resource: u64, ty: Type) -> Fields {
    let float = ty.is_float() || ty.scalar == Scalar::I1;
    let lanes = ty.lanes as usize;
    let format = if float { [14, 30, 48, 35][lanes.clamp(1, 4) - 1] } else { format(ty.lanes) };
    smallvec![
        ("BUFFER_ID", resource),
        ("MEGA_FETCH_COUNT", lanes as u64 * 4 - 1),
        ("DATA_FORMAT", format),
        ("NUM_FORMAT_ALL", !float as u64),
        ("MEGA_FETCH", 1),
    ]
}

/// A fetch of `value`'s lanes from a buffer; result component `shift + lane` is lane `lane`.
pub fn buffer(l: &mut Lower<'_>, value: Value, index: Opnd, fields: &Fields, shift: u8) {
    if fields.iter().any(|(n, v)| *n == "OFFSET" && *v > 0xffff) {
        let span = l.span();
        return l.fail(CompileError::limit("R0305", span, "the buffer offset does not fit the fetch", 1 << 17, 1 << 16));
    }
    let index = l.plain(index);
    // A fetch cannot take 0.0 or 1.0 as its index, so constants are moved to a register here.
    let w = l.mir.web();
    l.emit_to("OP2:MOV", &[index], w);
    let quad = l.quad(vec![w]);
    let mut dst = [None; 4];
    for lane in 0..l.func.ty(value).lanes {
        if l.wants(value, lane) {
            dst[(shift + lane) as usize & 3] = Some(lane);
        }
    }
    let src = smallvec![Coord::Web(w)];
    finish(l, value, "VTX_GPR:FETCH", fields.clone(), src, quad, dst, false, false);
}

/// A fetch of four whole words.
pub fn whole(l: &mut Lower<'_>, index: Opnd, fields: Fields) -> [Web; 4] {
    let w = l.mir.web();
    l.emit_to("OP2:MOV", &[index], w);
    let quad = l.quad(vec![w]);
    let webs: [Web; 4] = std::array::from_fn(|k| {
        let w = l.mir.web();
        l.mir.webs[w.0 as usize].chan = Some(k as u8);
        w
    });
    l.quad(webs.to_vec());
    let (form, src) = (forms::id("VTX_GPR:FETCH"), smallvec![Coord::Web(w)]);
    l.push(Op::other(Kind::Fetch(Box::new(Fetch { form, fields, src, quad, dst: webs.map(Some), joined: false, whole_quad: false }))));
    webs
}

/// A read of `value`'s lanes from scratch memory.
pub fn memory(l: &mut Lower<'_>, value: Value, fields: Fields, src: SmallVec<[Coord; 4]>, quad: Option<Quad>) {
    let dst = result_lanes(l, value);
    finish(l, value, "MEM_RD:MEM_OP", fields, src, quad, dst, false, false);
}

/// Pushes a fetch whose result component `k` is lane `dst[k]` of `value`.
#[allow(clippy::too_many_arguments)]
fn finish(
    l: &mut Lower<'_>,
    value: Value,
    form: &str,
    fields: Fields,
    src: SmallVec<[Coord; 4]>,
    quad: Option<Quad>,
    dst: [Option<u8>; 4],
    joined: bool,
    whole_quad: bool,
) {
    let mut webs = [None; 4];
    let mut members = Vec::new();
    for k in 0..4 {
        if dst[k].is_some() {
            let w = l.mir.web();
            l.mir.webs[w.0 as usize].chan = Some(k as u8);
            webs[k] = Some(w);
            members.push(w);
        }
    }
    l.quad(members);
    let attribute = form == "VTX_GPR:FETCH" && !fields.iter().any(|(n, _)| *n == "FETCH_TYPE");
    l.push(Op::other(Kind::Fetch(Box::new(Fetch { form: forms::id(form), fields, src, quad, dst: webs, joined, whole_quad }))));
    for (lane, w) in dst.iter().zip(webs) {
        if let (Some(lane), Some(w)) = (lane, w) {
            let o = Opnd::web(w);
            let o = if l.is_bool(value) && !attribute { l.emit("OP2:SETNE_INT", &[o, Opnd::bits(0)]) } else { o };
            l.set(value, *lane, o);
        }
    }
}

fn result_lanes(l: &Lower<'_>, value: Value) -> [Option<u8>; 4] {
    let n = l.func.ty(value).lanes;
    std::array::from_fn(|k| ((k as u8) < n && l.wants(value, k as u8)).then_some(k as u8))
}

/// `ddx` and `ddy`: GET_GRADIENTS_H and _V.
pub fn derivative(l: &mut Lower<'_>, d: &InstData) {
    let r = d.results[0];
    let lanes = l.func.ty(r).lanes;
    let src: SmallVec<[Opnd; 4]> = (0..lanes).map(|k| if l.wants(r, k) { l.lane(d.args[0], k) } else { Opnd::bits(0) }).collect();
    let (src, quad) = l.tuple(&src);
    let form = if d.op == Opcode::Ddx { "TEX:GET_GRADIENTS_H" } else { "TEX:GET_GRADIENTS_V" };
    let fields = coord_types(0);
    let dst = result_lanes(l, r);
    finish(l, r, form, fields, src, quad, dst, false, true);
}

/// The COORD_TYPE fields: 1 = normalised, by bit.
fn coord_types(mask: u8) -> Fields {
    ["COORD_TYPE_X", "COORD_TYPE_Y", "COORD_TYPE_Z", "COORD_TYPE_W"].iter().enumerate().map(|(k, n)| (*n, (mask >> k & 1) as u64)).collect()
}

/// An array layer as the float that samples take. The rounding is done before: the unit gets a whole number.
fn layer_number(l: &mut Lower<'_>, layer: Value) -> Opnd {
    let (v, _) = l.root(layer, 0);
    if let Some(c) = l.func.def_if(v, Opcode::F2s) {
        let (whole, lane) = l.root(c.args[0], 0);
        if l.func.def_if(whole, Opcode::Ffloor).is_some() {
            return l.lane(whole, lane);
        }
    }
    let o = l.lane(layer, 0);
    l.emit("OP2:INT_TO_FLT", &[o])
}

/// A texture operation.
pub fn texture(l: &mut Lower<'_>, d: &InstData) {
    let Imm::Tex(info) = &d.imm else { return };
    let r = d.results[0];
    let span = l.span();
    let decl = &l.module.textures[info.texture];
    let unit = info.texture.index() as u64;
    let mut args = d.args.iter().copied();
    let resource = |f: &mut Fields| f.extend([("RESOURCE_ID", unit), ("SAMPLER_ID", unit)]);
    if matches!(info.op, TexOp::Size | TexOp::Levels) {
        let level = match args.next() {
            Some(v) => l.lane(v, 0),
            None => Opnd::bits(0),
        };
        let (src, quad) = l.tuple(&[level]);
        let mut fields = coord_types(0);
        resource(&mut fields);
        let mut dst = result_lanes(l, r);
        if info.op == TexOp::Levels {
            dst = [None, None, None, Some(0)];
        } else if decl.arrayed {
            // The number of layers stands third whatever the dimension; the IR lists it after the sizes.
            let last = l.func.ty(r).lanes - 1;
            let taken = dst[last as usize].take();
            dst[2] = taken;
        }
        return finish(l, r, "TEX:GET_TEXTURE_RESINFO", fields, src, quad, dst, false, false);
    }
    if decl.multisampled {
        return l.fail(CompileError::unsupported("R0108", span, "multisampled textures are not supported on r700"));
    }
    let dims = match decl.dim {
        TexDim::D1 => 1,
        TexDim::D2 => 2,
        TexDim::D3 | TexDim::Cube => 3,
    };
    let coords = args.next();
    let layer = if decl.arrayed { args.next() } else { None };
    let reference = if info.compare { args.next() } else { None };
    let mut xyzw: SmallVec<[Opnd; 4]> = smallvec![Opnd::bits(0); 4];
    let fetch = info.op == TexOp::Fetch;
    let mut normal = 0u8;
    if let Some(c) = coords {
        for k in 0..dims {
            xyzw[k] = l.lane(c, k as u8);
            normal |= (!fetch as u8) << k;
        }
    }
    let cube = decl.dim == TexDim::Cube;
    if cube {
        normal = 0xf;
    }
    let mut joined = false;
    if let (true, Some(v)) = (cube, layer) {
        // The layer of a cube map has an instruction of its own.
        let o = layer_number(l, v);
        let (src, quad) = l.tuple(&[o]);
        let mut f = coord_types(0);
        resource(&mut f);
        let set = Fetch { form: forms::id("TEX:SET_CUBEMAP_INDEX"), fields: f, src, quad, dst: [None; 4], joined, whole_quad: false };
        l.push(Op::other(Kind::Fetch(Box::new(set))));
        joined = true;
    } else if let Some(v) = layer {
        xyzw[dims] = if fetch { l.lane(v, 0) } else { layer_number(l, v) };
    }
    let taken_z = dims > 2 || decl.arrayed && dims == 2;
    let (form, third): (&str, Option<Opnd>) = match info.op {
        TexOp::Fetch => {
            let level = if info.lod == TexLod::Level { args.next().map(|v| l.lane(v, 0)) } else { None };
            xyzw[3] = level.unwrap_or(Opnd::bits(0));
            ("TEX:LD", None)
        }
        TexOp::Gather => {
            if info.component != 0 && !info.compare {
                return l.fail(CompileError::unsupported(
                    "R0110",
                    span,
                    "FETCH4 delivers the first component only: no gather of others on r700",
                ));
            }
            if let Some(v) = reference {
                xyzw[3] = l.lane(v, 0);
                return l.fail(CompileError::unsupported("R0110", span, "FETCH4 does not compare: no comparison gather on r700"));
            }
            ("TEX:FETCH4", None)
        }
        _ => match select_sample(l, info, &mut args, reference, &mut xyzw, taken_z) {
            Ok(form) => (form, None),
            Err(()) => {
                return l.fail(CompileError::unsupported(
                    "R0111",
                    span,
                    "R700 has no coordinate left for both reference and level of detail of this texture",
                ));
            }
        },
    };
    let _ = third;
    let mut fields = coord_types(normal);
    resource(&mut fields);
    for (k, name) in ["OFFSET_X", "OFFSET_Y", "OFFSET_Z"].iter().enumerate() {
        if info.offset[k] != 0 {
            fields.push((name, (info.offset[k] as i64 * 2) as u64 & 31));
        }
    }
    if info.lod == TexLod::Grad && info.op == TexOp::Sample {
        for (n, v) in [("TEX:SET_GRADIENTS_H", args.next()), ("TEX:SET_GRADIENTS_V", args.next())] {
            let Some(v) = v else { continue };
            let g: SmallVec<[Opnd; 4]> = (0..l.func.ty(v).lanes).map(|k| l.lane(v, k)).collect();
            let (src, quad) = l.tuple(&g);
            let mut f = coord_types(normal);
            resource(&mut f);
            let set = Fetch { form: forms::id(n), fields: f, src, quad, dst: [None; 4], joined, whole_quad: false };
            l.push(Op::other(Kind::Fetch(Box::new(set))));
            joined = true;
        }
    }
    let whole = info.op == TexOp::Sample && matches!(info.lod, TexLod::Implicit | TexLod::Bias);
    let (mut src, quad) = l.tuple(&xyzw);
    while src.last() == Some(&Coord::Zero) && src.len() > 1 {
        src.pop();
    }
    let dst = result_lanes(l, r);
    let _ = Scalar::F32;
    finish(l, r, form, fields, src, quad, dst, joined, whole);
}

/// The sample opcode; puts reference, bias and level into their coordinates.
fn select_sample(
    l: &mut Lower<'_>,
    info: &TexInfo,
    args: &mut impl Iterator<Item = Value>,
    reference: Option<Value>,
    xyzw: &mut SmallVec<[Opnd; 4]>,
    taken_z: bool,
) -> Result<&'static str, ()> {
    let reference = reference.map(|v| l.lane(v, 0));
    let mut operand = |l: &mut Lower<'_>| args.next().map_or(Opnd::bits(0), |v| l.lane(v, 0));
    Ok(match (info.lod, reference) {
        (TexLod::Implicit, None) => "TEX:SAMPLE",
        (TexLod::Zero, None) => "TEX:SAMPLE_LZ",
        (TexLod::Grad, None) => "TEX:SAMPLE_G",
        (TexLod::Bias, None) => {
            xyzw[3] = operand(l);
            "TEX:SAMPLE_LB"
        }
        (TexLod::Level, None) => {
            let lod = operand(l);
            if lod == Opnd::bits(0) {
                return Ok("TEX:SAMPLE_LZ");
            }
            xyzw[3] = lod;
            "TEX:SAMPLE_L"
        }
        (lod, Some(reference)) => {
            let extra = match lod {
                TexLod::Bias | TexLod::Level => Some(operand(l)),
                _ => None,
            };
            match (lod, extra) {
                (TexLod::Level, Some(e)) if e != Opnd::bits(0) => {
                    if taken_z {
                        return Err(());
                    }
                    (xyzw[2], xyzw[3]) = (reference, e);
                    "TEX:SAMPLE_C_L"
                }
                (TexLod::Bias, Some(e)) => {
                    if taken_z {
                        return Err(());
                    }
                    (xyzw[2], xyzw[3]) = (reference, e);
                    "TEX:SAMPLE_C_LB"
                }
                _ => {
                    xyzw[3] = reference;
                    match lod {
                        TexLod::Implicit => "TEX:SAMPLE_C",
                        TexLod::Grad => "TEX:SAMPLE_C_G",
                        _ => "TEX:SAMPLE_C_LZ",
                    }
                }
            }
        }
    })
}

/// Fetches whose results reach the coordinates of a fetch that compares its quad's lanes fetch for lanes that do not run, too.
pub fn whole_quads(mir: &mut Mir) {
    let (mut needed, mut arrays) = (vec![false; mir.webs.len()], vec![false; mir.locals.len()]);
    let mut found = false;
    for op in leaves(&mir.steps).into_iter().flatten() {
        if matches!(&op.kind, Kind::Fetch(f) if f.whole_quad) {
            op.reads().iter().for_each(|w| needed[w.0 as usize] = true);
            found = true;
        }
    }
    while std::mem::take(&mut found) {
        each_leaf(&mut mir.steps, &mut |ops| {
            for op in ops.iter_mut().rev() {
                let wanted = op.writes().iter().any(|w| needed[w.0 as usize]) || op.store.is_some_and(|s| arrays[s.0 as usize]);
                if !wanted {
                    continue;
                }
                if let Kind::Fetch(f) = &mut op.kind
                    && !f.fields.iter().any(|x| x.0 == "FETCH_WHOLE_QUAD")
                {
                    f.fields.push(("FETCH_WHOLE_QUAD", 1));
                }
                for w in op.reads() {
                    found |= !std::mem::replace(&mut needed[w.0 as usize], true);
                }
                for s in &op.src {
                    if let Place::Array { local, .. } = s.place {
                        found |= !std::mem::replace(&mut arrays[local as usize], true);
                    }
                }
            }
        });
    }
}
