//! The driver's side: one program as a pipeline, its resources, its results.

use crate::inputs::{Case, Plane, SIZE};
use naga::{AddressSpace, ImageClass, ImageDimension, TypeInner};
use retroshade_ir::{Binding, Module, Scalar, Stage, TexDim};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

/// A device and what it has complained about.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    errors: Arc<Mutex<Vec<String>>>,
    /// The driver's name.
    pub name: String,
}

/// What a run leaves: for fragments the words of each location's pixels, row by row; for compute the words of each storage buffer.
pub struct Output {
    /// Per location, four words a pixel; those that the format lacks repeat the first.
    pub targets: Vec<(u32, Vec<u32>)>,
    /// Per group and binding.
    pub storage: Vec<((u32, u32), Vec<u32>)>,
}

/// What no program writes: pixels that keep it were discarded.
pub const UNTOUCHED: f32 = -12345.0;

type Res<T> = Result<T, String>;

impl Gpu {
    /// The first software Vulkan driver, or why there is none.
    pub fn open() -> Res<Gpu> {
        let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
        desc.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(desc);
        let options = wgpu::RequestAdapterOptions { force_fallback_adapter: true, ..Default::default() };
        let adapter = pollster::block_on(instance.request_adapter(&options)).map_err(|e| e.to_string())?;
        let wanted = wgpu::Features::FLOAT32_FILTERABLE | wgpu::Features::CLEAR_TEXTURE;
        let desc = wgpu::DeviceDescriptor {
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&desc)).map_err(|e| e.to_string())?;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let sink = errors.clone();
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
            if let Ok(mut list) = sink.lock() {
                list.push(e.to_string());
            }
        }));
        let info = adapter.get_info();
        Ok(Gpu { device, queue, errors, name: format!("{} ({})", info.name, info.driver_info) })
    }

    fn checked<T>(&self, what: &str, v: T) -> Res<T> {
        match self.errors.lock() {
            Ok(mut e) if !e.is_empty() => {
                let first = e.remove(0);
                e.clear();
                Err(format!("{what}: {}", first.split_whitespace().collect::<Vec<_>>().join(" ")))
            }
            _ => Ok(v),
        }
    }

    fn shader(&self, text: &str) -> wgpu::ShaderModule {
        self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source: wgpu::ShaderSource::Wgsl(text.into()) })
    }

    /// Runs a program.
    pub fn run(&self, text: &str, entry: &str, m: &Module, case: &Case) -> Res<Output> {
        let naga = naga::front::wgsl::parse_str(text).map_err(|e| e.to_string())?;
        if m.stage == Stage::Compute { self.compute(text, entry, &naga, m, case) } else { self.fragment(text, entry, &naga, m, case) }
    }

    fn compute(&self, text: &str, entry: &str, naga: &naga::Module, m: &Module, case: &Case) -> Res<Output> {
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &self.shader(text),
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: None,
        });
        let pipeline = self.checked("pipeline", pipeline)?;
        let resources = Resources::new(self, naga, entry, m, case)?;
        let groups = resources.groups(self, &|g| pipeline.get_bind_group_layout(g));
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            pass.set_pipeline(&pipeline);
            for (n, g) in &groups {
                pass.set_bind_group(*n, g, &[]);
            }
            let [x, y, z] = case.env.workgroups;
            pass.dispatch_workgroups(x, y, z);
        }
        let mut reads = Vec::new();
        for (at, b, len) in &resources.storage {
            let r = self.buffer(*len, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
            encoder.copy_buffer_to_buffer(b, 0, &r, 0, *len);
            reads.push((*at, r));
        }
        self.queue.submit([encoder.finish()]);
        let storage = reads.into_iter().map(|(at, r)| Ok((at, self.read(&r)?))).collect::<Res<_>>()?;
        self.checked("dispatch", Output { targets: Vec::new(), storage })
    }

    fn fragment(&self, text: &str, entry: &str, naga: &naga::Module, m: &Module, case: &Case) -> Res<Output> {
        let outputs: Vec<(u32, Scalar, bool, u8)> = m
            .outputs
            .values()
            .filter_map(|d| match d.binding {
                Binding::Location(l) => Some((l, d.ty.scalar, d.source_type.as_deref() == Some("u32"), d.ty.lanes)),
                _ => None,
            })
            .collect();
        let count = outputs.iter().map(|(l, ..)| l + 1).max().unwrap_or(0);
        let formats: Vec<Option<wgpu::TextureFormat>> = (0..count)
            .map(|l| {
                outputs.iter().find(|(at, ..)| *at == l).map(|(_, s, unsigned, lanes)| match (s, unsigned, lanes) {
                    (Scalar::I32, true, _) => wgpu::TextureFormat::Rgba32Uint,
                    (Scalar::I32, false, _) => wgpu::TextureFormat::Rgba32Sint,
                    (_, _, 4) => wgpu::TextureFormat::Rgba32Float,
                    // No format has three lanes, and a program must give at least as many as the format has.
                    (_, _, 2 | 3) => wgpu::TextureFormat::Rg32Float,
                    _ => wgpu::TextureFormat::R32Float,
                })
            })
            .collect();
        let targets: Vec<Option<wgpu::ColorTargetState>> = formats.iter().map(|f| f.map(wgpu::ColorTargetState::from)).collect();
        let depth = m.outputs.values().any(|d| !matches!(d.binding, Binding::Location(_)));
        let vertex = vertex_program(&case.planes, &|l| any_vertex(naga, entry, l));
        let pipeline = self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: None,
            vertex: wgpu::VertexState {
                module: &self.shader(&vertex),
                entry_point: Some("vertex"),
                compilation_options: Default::default(),
                buffers: &[],
            },
            primitive: Default::default(),
            depth_stencil: depth.then(|| wgpu::DepthStencilState {
                format: wgpu::TextureFormat::Depth32Float,
                depth_write_enabled: Some(true),
                depth_compare: Some(wgpu::CompareFunction::Always),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module: &self.shader(text),
                entry_point: Some(entry),
                compilation_options: Default::default(),
                targets: &targets,
            }),
            multiview_mask: None,
            cache: None,
        });
        let pipeline = self.checked("pipeline", pipeline)?;
        let resources = Resources::new(self, naga, entry, m, case)?;
        let groups = resources.groups(self, &|g| pipeline.get_bind_group_layout(g));
        let size = wgpu::Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 };
        let image = |format| {
            self.device.create_texture(&wgpu::TextureDescriptor {
                label: None,
                size,
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
                view_formats: &[],
            })
        };
        let images: Vec<Option<wgpu::Texture>> = formats.iter().map(|f| f.map(image)).collect();
        let views: Vec<Option<wgpu::TextureView>> = images.iter().map(|t| t.as_ref().map(|t| t.create_view(&Default::default()))).collect();
        let depth_view = depth.then(|| image(wgpu::TextureFormat::Depth32Float).create_view(&Default::default()));
        let mut encoder = self.device.create_command_encoder(&Default::default());
        {
            let ops = |f: wgpu::TextureFormat| {
                let integer = matches!(f, wgpu::TextureFormat::Rgba32Uint | wgpu::TextureFormat::Rgba32Sint);
                let c = if integer { 0.0 } else { f64::from(UNTOUCHED) };
                wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color { r: c, g: c, b: c, a: c }), store: wgpu::StoreOp::Store }
            };
            let attachments: Vec<Option<wgpu::RenderPassColorAttachment<'_>>> = views
                .iter()
                .zip(&formats)
                .map(|(v, f)| {
                    v.as_ref().zip(*f).map(|(v, f)| wgpu::RenderPassColorAttachment {
                        view: v,
                        depth_slice: None,
                        resolve_target: None,
                        ops: ops(f),
                    })
                })
                .collect();
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                color_attachments: &attachments,
                depth_stencil_attachment: depth_view.as_ref().map(|v| wgpu::RenderPassDepthStencilAttachment {
                    view: v,
                    depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Store }),
                    stencil_ops: None,
                }),
                ..Default::default()
            });
            pass.set_pipeline(&pipeline);
            for (n, g) in &groups {
                pass.set_bind_group(*n, g, &[]);
            }
            pass.draw(0..3, 0..1);
        }
        let mut reads = Vec::new();
        for (l, t) in images.iter().enumerate() {
            let Some(t) = t else { continue };
            // Rows are aligned to 256 bytes.
            let r = self.buffer(256 * u64::from(SIZE), wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
            let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(256), rows_per_image: None };
            encoder.copy_texture_to_buffer(t.as_image_copy(), wgpu::TexelCopyBufferInfo { buffer: &r, layout }, size);
            reads.push((l as u32, r));
        }
        self.queue.submit([encoder.finish()]);
        let mut targets = Vec::new();
        for (l, r) in reads {
            let words = self.read(&r)?;
            // Four words a pixel, whatever the format has.
            let lanes = formats[l as usize].and_then(|f| f.block_copy_size(None)).unwrap_or(16) as usize / 4;
            let pixel = |p: &[u32]| -> [u32; 4] { std::array::from_fn(|n| p.get(n).copied().unwrap_or(p[0])) };
            targets.push((
                l,
                words.chunks(64).flat_map(|row| row[..SIZE as usize * lanes].chunks(lanes).flat_map(pixel).collect::<Vec<_>>()).collect(),
            ));
        }
        self.checked("draw", Output { targets, storage: Vec::new() })
    }

    fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    }

    fn read(&self, b: &wgpu::Buffer) -> Res<Vec<u32>> {
        b.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| e.to_string())?;
        let view = b.slice(..).get_mapped_range().map_err(|e| e.to_string())?;
        Ok(view.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
    }
}

/// Whether an input takes the value of whichever vertex: wgpu wants both stages to say so.
fn any_vertex(m: &naga::Module, entry: &str, location: u32) -> bool {
    let either = |b: &Option<naga::Binding>| matches!(b, Some(naga::Binding::Location { location: l, sampling: Some(naga::Sampling::Either), .. }) if *l == location);
    m.entry_points.iter().filter(|e| e.name == entry).flat_map(|e| &e.function.arguments).any(|a| {
        either(&a.binding)
            || matches!(&m.types[a.ty].inner, TypeInner::Struct { members, .. } if members.iter().any(|m| either(&m.binding)))
    })
}

/// A vertex program that covers the image with one triangle and gives the planes at its corners.
fn vertex_program(planes: &[Plane], any: &dyn Fn(u32) -> bool) -> String {
    let mut fields = String::new();
    let mut body = String::new();
    for p in planes {
        let scalar = match (p.decl.ty.scalar, p.decl.source_type.as_deref()) {
            (Scalar::F32, _) => "f32",
            (_, Some("u32")) => "u32",
            _ => "i32",
        };
        let ty = if p.decl.ty.lanes == 1 { scalar.to_string() } else { format!("vec{}<{scalar}>", p.decl.ty.lanes) };
        use retroshade_ir::module::{Interpolation as I, Sampling as S};
        let sampling = match p.decl.sampling {
            S::Center => "",
            S::Centroid => ", centroid",
            S::Sample => ", sample",
        };
        let kind = match p.decl.interpolation {
            _ if any(p.location) => "@interpolate(flat, either)".to_string(),
            _ if scalar != "f32" => "@interpolate(flat)".to_string(),
            I::Flat => "@interpolate(flat)".to_string(),
            I::Linear => format!("@interpolate(linear{sampling})"),
            // Said or not said is a difference to wgpu.
            I::Perspective if sampling.is_empty() => String::new(),
            I::Perspective => format!("@interpolate(perspective{sampling})"),
        };
        let _ = writeln!(fields, "@location({}) {kind} v{0}: {ty},", p.location);
        // The triangle (-1,-1) (3,-1) (-1,3) in clip space has its corners at these pixels.
        let size = SIZE as f32;
        let corners = [(0.0, size), (2.0 * size, size), (0.0, -size)];
        let value = |(x, y): (f32, f32)| {
            let lanes: Vec<String> = (0..p.lanes.len()).map(|n| format!("{scalar}({:?})", p.at(n, x, y))).collect();
            format!("{ty}({})", lanes.join(", "))
        };
        let _ = writeln!(
            body,
            "var t{0} = array<{ty}, 3>({1}, {2}, {3}); o.v{0} = t{0}[i];",
            p.location,
            value(corners[0]),
            value(corners[1]),
            value(corners[2])
        );
    }
    format!(
        "struct Out {{ @builtin(position) p: vec4<f32>,\n{fields}}}\n@vertex fn vertex(@builtin(vertex_index) i: u32) -> Out {{\nvar o: Out;\n\
         var c = array<vec2<f32>, 3>(vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0));\no.p = vec4(c[i], 0.5, 1.0);\n{body}return o;\n}}"
    )
}

enum Bound {
    Buffer(wgpu::Buffer),
    View(wgpu::TextureView),
    Sampler(wgpu::Sampler),
}

/// What an entry point has bound.
struct Resources {
    bound: Vec<((u32, u32), Bound)>,
    storage: Vec<((u32, u32), wgpu::Buffer, u64)>,
}

impl Resources {
    fn new(gpu: &Gpu, naga: &naga::Module, entry: &str, m: &Module, case: &Case) -> Res<Resources> {
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
                (AddressSpace::Uniform, _) => {
                    let mut words = vec![0u32; (bytes as usize).div_ceil(16) * 4];
                    for (u, data) in m.uniforms.values().zip(&case.env.uniforms).filter(|(u, _)| (u.group, u.binding) == at) {
                        let lanes = usize::from(u.ty.lanes);
                        for n in 0..u.elements() {
                            let to = (u.offset + u.element_offset(n)) as usize / 4;
                            words[to..to + lanes].copy_from_slice(&data[n as usize * lanes..][..lanes]);
                        }
                    }
                    Bound::Buffer(gpu.filled(&words, wgpu::BufferUsages::UNIFORM))
                }
                (AddressSpace::Storage { .. }, _) => {
                    let n = m.storage.values().position(|s| (s.group, s.binding) == at).ok_or("a storage buffer that the module lacks")?;
                    let words = &case.env.storage[n];
                    let b = gpu.filled(words, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
                    out.storage.push((at, b.clone(), words.len() as u64 * 4));
                    Bound::Buffer(b)
                }
                (AddressSpace::Handle, TypeInner::Sampler { comparison }) => Bound::Sampler(gpu.sampler(naga, m, case, g, *comparison)),
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

    fn groups(&self, gpu: &Gpu, layout: &dyn Fn(u32) -> wgpu::BindGroupLayout) -> Vec<(u32, wgpu::BindGroup)> {
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

    /// A sampler with the filter that the textures it is used with have in the environment.
    fn sampler(&self, naga: &naga::Module, m: &Module, case: &Case, g: &naga::GlobalVariable, comparison: bool) -> wgpu::Sampler {
        let _ = naga;
        let mut pairs = m.textures.values().zip(&case.env.textures).filter(|(d, _)| d.sampler == g.name).map(|(_, t)| t.filter);
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
