//! The driver's side: one program as a pipeline, its resources, its results.

use crate::inputs::{Case, Plane, SIZE};
use crate::resources::{Layouts, Resources};
use naga::TypeInner;
use retroshade_ir::{Binding, Module, Scalar, Stage};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

/// A device and what it has complained about.
pub struct Gpu {
    /// The device.
    pub device: wgpu::Device,
    /// Its queue.
    pub queue: wgpu::Queue,
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

/// A result whose error is a message.
pub type Res<T> = Result<T, String>;

/// A program in a form that the driver takes.
pub enum Program<'a> {
    /// WGSL, by way of wgpu's own compiler: its text, and naga's reading of it.
    Wgsl(&'a str, naga::Module),
    /// SPIR-V, which goes to the driver as it is.
    Spirv(&'a [u32]),
}

impl Gpu {
    /// The first software Vulkan driver, or why there is none.
    pub fn open() -> Res<Gpu> {
        let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
        desc.backends = wgpu::Backends::VULKAN;
        let instance = wgpu::Instance::new(desc);
        let options = wgpu::RequestAdapterOptions { force_fallback_adapter: true, ..Default::default() };
        let adapter = pollster::block_on(instance.request_adapter(&options)).map_err(|e| e.to_string())?;
        let wanted = wgpu::Features::FLOAT32_FILTERABLE | wgpu::Features::CLEAR_TEXTURE | wgpu::Features::PASSTHROUGH_SHADERS;
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

    /// What was made, unless wgpu has complained about it.
    pub fn checked<T>(&self, what: &str, v: T) -> Res<T> {
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

    /// A module of words that glslang has written; naga does not see them.
    #[allow(unsafe_code)]
    fn passthrough(&self, words: &[u32], entry: &str, m: &Module) -> wgpu::ShaderModule {
        let [x, y, z] = m.workgroup_size;
        let point = wgpu::PassthroughShaderEntryPoint { name: entry.into(), workgroup_size: (x, y, z) };
        let desc =
            wgpu::ShaderModuleDescriptorPassthrough { entry_points: vec![point].into(), spirv: Some(words.into()), ..Default::default() };
        // SAFETY: the words are what glslang makes of a program that it has checked, and the resources are those that they declare.
        unsafe { self.device.create_shader_module_passthrough(desc) }
    }

    fn program(&self, p: &Program<'_>, entry: &str, m: &Module) -> wgpu::ShaderModule {
        match p {
            Program::Wgsl(text, _) => self.shader(text),
            Program::Spirv(words) => self.passthrough(words, entry, m),
        }
    }

    /// Runs a program.
    pub fn run(&self, p: &Program<'_>, entry: &str, m: &Module, case: &Case) -> Res<Output> {
        if m.stage == Stage::Compute { self.compute(p, entry, m, case) } else { self.fragment(p, entry, m, case) }
    }

    fn compute(&self, p: &Program<'_>, entry: &str, m: &Module, case: &Case) -> Res<Output> {
        let layouts = Layouts::new(self, p, m);
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: layouts.pipeline(),
            module: &self.program(p, entry, m),
            entry_point: Some(entry),
            compilation_options: Default::default(),
            cache: None,
        });
        let pipeline = self.checked("pipeline", pipeline)?;
        let resources = Resources::new(self, p, entry, m, case)?;
        let groups = resources.groups(self, &|g| layouts.group(g).unwrap_or_else(|| pipeline.get_bind_group_layout(g)));
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

    fn fragment(&self, p: &Program<'_>, entry: &str, m: &Module, case: &Case) -> Res<Output> {
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
        let vertex = vertex_program(&case.planes, &|l| matches!(p, Program::Wgsl(_, naga) if any_vertex(naga, entry, l)));
        let layouts = Layouts::new(self, p, m);
        let pipeline = self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: None,
            layout: layouts.pipeline(),
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
                module: &self.program(p, entry, m),
                entry_point: Some(entry),
                compilation_options: Default::default(),
                targets: &targets,
            }),
            multiview_mask: None,
            cache: None,
        });
        let pipeline = self.checked("pipeline", pipeline)?;
        let resources = Resources::new(self, p, entry, m, case)?;
        let groups = resources.groups(self, &|g| layouts.group(g).unwrap_or_else(|| pipeline.get_bind_group_layout(g)));
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

    /// A buffer of bytes.
    pub fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
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
