//! What a program has bound: buffers with a case's values, textures, samplers, and their layouts.

use crate::gpu::{Gpu, Program, Res};
use crate::inputs::Case;
use naga::{AddressSpace, ImageClass, ImageDimension, TypeInner};
use retroshade_ir::module::{Access, TextureDecl};
use retroshade_ir::surface::BlockKind;
use retroshade_ir::{Module, Scalar, TexDim};
use std::collections::BTreeMap;

/// What stands at a binding.
enum Kind {
    /// So many bytes.
    Uniform(u32),
    /// Its number in the module, and whether it is only read.
    Storage(usize, bool),
    /// Its number in the module.
    Texture(usize),
    /// Its name, and whether it compares.
    Sampler(String, bool),
}

/// The bindings of a module, by group and binding.
fn kinds(m: &Module) -> BTreeMap<(u32, u32), Kind> {
    let mut out = BTreeMap::new();
    for u in m.uniforms.values() {
        let end = u.offset + u.element_offset(u.elements() - 1) + u32::from(u.ty.lanes) * 4;
        let Kind::Uniform(bytes) = out.entry((u.group, u.binding)).or_insert(Kind::Uniform(0)) else { continue };
        *bytes = (*bytes).max(end);
    }
    for b in m.surface.blocks.iter().filter(|b| b.kind == BlockKind::Uniform) {
        if let Some(Kind::Uniform(bytes)) = out.get_mut(&(b.group, b.binding)) {
            *bytes = (*bytes).max(b.size);
        }
    }
    for (n, s) in m.storage.values().enumerate() {
        out.insert((s.group, s.binding), Kind::Storage(n, s.access == Access::Read));
    }
    for (n, t) in m.textures.values().enumerate() {
        out.entry((t.group, t.binding)).or_insert(Kind::Texture(n));
    }
    for s in &m.surface.samplers {
        let mut used = m.textures.values().filter(|t| t.sampler.as_ref() == Some(&s.name)).peekable();
        if used.peek().is_some() {
            let comparison = used.any(|t| t.shadow);
            out.insert((s.group, s.binding), Kind::Sampler(s.name.clone(), comparison));
        }
    }
    out
}

/// What a texture holds.
fn class(d: &TextureDecl) -> ImageClass {
    match (d.shadow, d.kind, d.signed) {
        (true, ..) => ImageClass::Depth { multi: d.multisampled },
        (_, Scalar::I32, true) => ImageClass::Sampled { kind: naga::ScalarKind::Sint, multi: d.multisampled },
        (_, Scalar::I32, false) => ImageClass::Sampled { kind: naga::ScalarKind::Uint, multi: d.multisampled },
        _ => ImageClass::Sampled { kind: naga::ScalarKind::Float, multi: d.multisampled },
    }
}

/// The layouts of what SPIR-V has bound; wgpu finds those of WGSL itself.
pub struct Layouts {
    groups: Vec<wgpu::BindGroupLayout>,
    pipeline: Option<wgpu::PipelineLayout>,
}

impl Layouts {
    /// The layouts for a program.
    pub fn new(gpu: &Gpu, p: &Program<'_>, m: &Module) -> Layouts {
        if matches!(p, Program::Wgsl(..)) {
            return Layouts { groups: Vec::new(), pipeline: None };
        }
        let kinds = kinds(m);
        let count = kinds.keys().map(|(g, _)| g + 1).max().unwrap_or(0);
        let entry = |binding: u32, kind: &Kind| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT | wgpu::ShaderStages::COMPUTE,
            ty: binding_type(m, kind),
            count: None,
        };
        let group = |n: u32| {
            let entries: Vec<_> = kinds.iter().filter(|((g, _), _)| *g == n).map(|((_, b), k)| entry(*b, k)).collect();
            gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries })
        };
        let groups: Vec<wgpu::BindGroupLayout> = (0..count).map(group).collect();
        let all: Vec<Option<&wgpu::BindGroupLayout>> = groups.iter().map(Some).collect();
        let desc = wgpu::PipelineLayoutDescriptor { label: None, bind_group_layouts: &all, immediate_size: 0 };
        Layouts { pipeline: Some(gpu.device.create_pipeline_layout(&desc)), groups }
    }

    /// The pipeline's.
    pub fn pipeline(&self) -> Option<&wgpu::PipelineLayout> {
        self.pipeline.as_ref()
    }

    /// A group's.
    pub fn group(&self, n: u32) -> Option<wgpu::BindGroupLayout> {
        self.groups.get(n as usize).cloned()
    }
}

fn binding_type(m: &Module, kind: &Kind) -> wgpu::BindingType {
    let buffer = |ty| wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None };
    match kind {
        Kind::Uniform(_) => buffer(wgpu::BufferBindingType::Uniform),
        Kind::Storage(_, read_only) => buffer(wgpu::BufferBindingType::Storage { read_only: *read_only }),
        Kind::Sampler(_, true) => wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison),
        Kind::Sampler(_, false) => wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
        Kind::Texture(n) => {
            let d = m.textures.values().nth(*n);
            let sample_type = match d.map(class) {
                Some(ImageClass::Depth { .. }) => wgpu::TextureSampleType::Depth,
                Some(ImageClass::Sampled { kind: naga::ScalarKind::Sint, .. }) => wgpu::TextureSampleType::Sint,
                Some(ImageClass::Sampled { kind: naga::ScalarKind::Uint, .. }) => wgpu::TextureSampleType::Uint,
                _ => wgpu::TextureSampleType::Float { filterable: true },
            };
            let view_dimension = match d.map(|d| (d.dim, d.arrayed)) {
                Some((TexDim::D1, _)) => wgpu::TextureViewDimension::D1,
                Some((TexDim::D2, true)) => wgpu::TextureViewDimension::D2Array,
                Some((TexDim::D3, _)) => wgpu::TextureViewDimension::D3,
                Some((TexDim::Cube, false)) => wgpu::TextureViewDimension::Cube,
                Some((TexDim::Cube, true)) => wgpu::TextureViewDimension::CubeArray,
                _ => wgpu::TextureViewDimension::D2,
            };
            wgpu::BindingType::Texture { sample_type, view_dimension, multisampled: false }
        }
    }
}

enum Bound {
    Buffer(wgpu::Buffer),
    View(wgpu::TextureView),
    Sampler(wgpu::Sampler),
}

/// What an entry point has bound.
pub struct Resources {
    bound: Vec<((u32, u32), Bound)>,
    /// Storage buffers: group and binding, buffer, bytes.
    pub storage: Vec<((u32, u32), wgpu::Buffer, u64)>,
}

impl Resources {
    /// What a program has bound, with a case's values in it.
    pub fn new(gpu: &Gpu, p: &Program<'_>, entry: &str, m: &Module, case: &Case) -> Res<Resources> {
        match p {
            Program::Wgsl(_, naga) => Resources::of_naga(gpu, naga, entry, m, case),
            Program::Spirv(_) => Resources::of_module(gpu, m, case),
        }
    }

    fn of_naga(gpu: &Gpu, naga: &naga::Module, entry: &str, m: &Module, case: &Case) -> Res<Resources> {
        let mut validator = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all());
        let info = validator.validate(naga).map_err(|e| e.into_inner().to_string())?;
        let index = naga.entry_points.iter().position(|e| e.name == entry).ok_or("no such entry point")?;
        let used = info.get_entry_point(index);
        let mut out = Resources { bound: Vec::new(), storage: Vec::new() };
        for (h, g) in naga.global_variables.iter() {
            if used[h].is_empty() {
                continue;
            }
            let Some(b) = g.binding else { continue };
            let at = (b.group, b.binding);
            let bytes = naga.types[g.ty].inner.try_size(naga.to_ctx()).unwrap_or(0);
            let bound = match (g.space, &naga.types[g.ty].inner) {
                (AddressSpace::Uniform, _) => Bound::Buffer(gpu.uniforms(m, case, at, bytes)),
                (AddressSpace::Storage { .. }, _) => {
                    let n = m.storage.values().position(|s| (s.group, s.binding) == at).ok_or("a storage buffer that the module lacks")?;
                    Bound::Buffer(out.storage(gpu, case, n, at))
                }
                (AddressSpace::Handle, TypeInner::Sampler { comparison }) => {
                    Bound::Sampler(gpu.sampler(m, case, g.name.as_deref().unwrap_or_default(), *comparison))
                }
                (AddressSpace::Handle, TypeInner::Image { dim, arrayed, class }) => {
                    let n = m.textures.values().position(|t| (t.group, t.binding) == at).ok_or("a texture that the module lacks")?;
                    Bound::View(gpu.texture(&case.env.textures[n], *dim, *arrayed, *class)?)
                }
                (space, _) => return Err(format!("a resource in {space:?}")),
            };
            out.bound.push((at, bound));
        }
        gpu.checked("resources", out)
    }

    /// The resources by what the front end says of them.
    fn of_module(gpu: &Gpu, m: &Module, case: &Case) -> Res<Resources> {
        let mut out = Resources { bound: Vec::new(), storage: Vec::new() };
        for (at, kind) in kinds(m) {
            let bound = match kind {
                Kind::Uniform(bytes) => Bound::Buffer(gpu.uniforms(m, case, at, bytes)),
                Kind::Storage(n, _) => Bound::Buffer(out.storage(gpu, case, n, at)),
                Kind::Texture(n) => {
                    let d = m.textures.values().nth(n).ok_or("a texture that the module lacks")?;
                    let dim = match d.dim {
                        TexDim::D1 => ImageDimension::D1,
                        TexDim::D2 => ImageDimension::D2,
                        TexDim::D3 => ImageDimension::D3,
                        TexDim::Cube => ImageDimension::Cube,
                    };
                    Bound::View(gpu.texture(&case.env.textures[n], dim, d.arrayed, class(d))?)
                }
                Kind::Sampler(name, comparison) => Bound::Sampler(gpu.sampler(m, case, &name, comparison)),
            };
            out.bound.push((at, bound));
        }
        gpu.checked("resources", out)
    }

    fn storage(&mut self, gpu: &Gpu, case: &Case, n: usize, at: (u32, u32)) -> wgpu::Buffer {
        let words = &case.env.storage[n];
        let b = gpu.filled(words, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
        self.storage.push((at, b.clone(), words.len() as u64 * 4));
        b
    }

    /// Bind groups with their numbers.
    pub fn groups(&self, gpu: &Gpu, layout: &dyn Fn(u32) -> wgpu::BindGroupLayout) -> Vec<(u32, wgpu::BindGroup)> {
        let mut numbers: Vec<u32> = self.bound.iter().map(|((g, _), _)| *g).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
            .into_iter()
            .map(|n| {
                let entries: Vec<wgpu::BindGroupEntry<'_>> = self
                    .bound
                    .iter()
                    .filter(|((g, _), _)| *g == n)
                    .map(|((_, binding), b)| wgpu::BindGroupEntry {
                        binding: *binding,
                        resource: match b {
                            Bound::Buffer(b) => b.as_entire_binding(),
                            Bound::View(v) => wgpu::BindingResource::TextureView(v),
                            Bound::Sampler(s) => wgpu::BindingResource::Sampler(s),
                        },
                    })
                    .collect();
                (n, gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout(n), entries: &entries }))
            })
            .collect()
    }
}

impl Gpu {
    fn filled(&self, words: &[u32], usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let b = self.buffer(words.len() as u64 * 4, usage | wgpu::BufferUsages::COPY_DST);
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.queue.write_buffer(&b, 0, &bytes);
        b
    }

    /// A uniform buffer with a case's values.
    fn uniforms(&self, m: &Module, case: &Case, at: (u32, u32), bytes: u32) -> wgpu::Buffer {
        let mut words = vec![0u32; (bytes as usize).div_ceil(16) * 4];
        for (u, data) in m.uniforms.values().zip(&case.env.uniforms).filter(|(u, _)| (u.group, u.binding) == at) {
            let lanes = usize::from(u.ty.lanes);
            for n in 0..u.elements() {
                let to = (u.offset + u.element_offset(n)) as usize / 4;
                words[to..to + lanes].copy_from_slice(&data[n as usize * lanes..][..lanes]);
            }
        }
        self.filled(&words, wgpu::BufferUsages::UNIFORM)
    }

    /// A sampler with the filter that the textures it is used with have in the environment.
    fn sampler(&self, m: &Module, case: &Case, name: &str, comparison: bool) -> wgpu::Sampler {
        let of = |d: &TextureDecl| d.sampler.as_deref() == Some(name);
        let mut pairs = m.textures.values().zip(&case.env.textures).filter(|(d, _)| of(d)).map(|(_, t)| t.filter);
        let linear = !comparison && pairs.all(|f| f == retroshade_ir::env::Filter::Linear);
        let filter = if linear { wgpu::FilterMode::Linear } else { wgpu::FilterMode::Nearest };
        self.device.create_sampler(&wgpu::SamplerDescriptor {
            address_mode_u: wgpu::AddressMode::Repeat,
            address_mode_v: wgpu::AddressMode::Repeat,
            address_mode_w: wgpu::AddressMode::Repeat,
            mag_filter: filter,
            min_filter: filter,
            compare: comparison.then_some(wgpu::CompareFunction::LessEqual),
            ..Default::default()
        })
    }

    fn texture(&self, t: &retroshade_ir::TextureData, dim: ImageDimension, arrayed: bool, class: ImageClass) -> Res<wgpu::TextureView> {
        let (format, bytes): (_, Vec<u8>) = match class {
            ImageClass::Sampled { multi: false, kind } => {
                let f = match kind {
                    naga::ScalarKind::Sint => wgpu::TextureFormat::Rgba32Sint,
                    naga::ScalarKind::Uint => wgpu::TextureFormat::Rgba32Uint,
                    _ => wgpu::TextureFormat::Rgba32Float,
                };
                (f, t.texels.iter().flatten().flat_map(|w| w.to_le_bytes()).collect())
            }
            ImageClass::Depth { multi: false } => {
                let sixteen = |w: u32| (f32::from_bits(w) * 65535.0).round() as u16;
                (wgpu::TextureFormat::Depth16Unorm, t.texels.iter().flat_map(|x| sixteen(x[0]).to_le_bytes()).collect())
            }
            _ => return Err(format!("a texture of class {class:?}")),
        };
        let faces = if t.dim == TexDim::Cube { 6 } else { 1 };
        let layers = if dim == ImageDimension::D3 { t.size[2] } else { t.layers * faces };
        let size = wgpu::Extent3d { width: t.size[0], height: t.size[1], depth_or_array_layers: layers };
        let texture = self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: match dim {
                ImageDimension::D1 => wgpu::TextureDimension::D1,
                ImageDimension::D3 => wgpu::TextureDimension::D3,
                _ => wgpu::TextureDimension::D2,
            },
            format,
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let texel = if format == wgpu::TextureFormat::Depth16Unorm { 2 } else { 16 };
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(t.size[0] * texel), rows_per_image: Some(t.size[1]) };
        self.queue.write_texture(texture.as_image_copy(), &bytes, layout, size);
        Ok(texture.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(match (dim, arrayed) {
                (ImageDimension::D1, _) => wgpu::TextureViewDimension::D1,
                (ImageDimension::D2, false) => wgpu::TextureViewDimension::D2,
                (ImageDimension::D2, true) => wgpu::TextureViewDimension::D2Array,
                (ImageDimension::D3, _) => wgpu::TextureViewDimension::D3,
                (ImageDimension::Cube, false) => wgpu::TextureViewDimension::Cube,
                (ImageDimension::Cube, true) => wgpu::TextureViewDimension::CubeArray,
            }),
            ..Default::default()
        }))
    }
}
