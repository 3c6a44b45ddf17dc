//! What the pipelines of this folder share.

use eframe::egui_wgpu::ScreenDescriptor;
use eframe::{egui_wgpu, wgpu};

/// The uniform that all shaders share; `Screen` in `screen.wgsl`.
pub(super) struct Screen {
    buffer: wgpu::Buffer,
}

impl Screen {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("canvas screen"),
            size: 16,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { buffer }
    }

    /// Writes what the screen of this frame is like.
    pub(super) fn write(&self, queue: &wgpu::Queue, screen: &ScreenDescriptor) {
        let [width, height] = screen.size_in_pixels.map(|pixels| pixels as f32 / screen.pixels_per_point);
        let uniform = [width, height, screen.pixels_per_point, 0.0];
        queue.write_buffer(&self.buffer, 0, bytemuck::cast_slice(&uniform));
    }

    pub(super) fn layout(&self) -> wgpu::BindGroupLayoutEntry {
        wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        }
    }

    pub(super) fn entry(&self) -> wgpu::BindGroupEntry<'_> {
        wgpu::BindGroupEntry { binding: 0, resource: self.buffer.as_entire_binding() }
    }
}

/// Makes a pipeline that draws instances of a quad, blended as egui blends.
pub(super) fn pipeline(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
    label: &str,
    source: &str,
    groups: &[Option<&wgpu::BindGroupLayout>],
    instance: wgpu::VertexBufferLayout<'_>,
) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(label),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(label),
        bind_group_layouts: groups,
        immediate_size: 0,
    });
    let constants = [("linear_target", f64::from(u8::from(format.is_srgb())))];
    let compilation_options =
        wgpu::PipelineCompilationOptions { constants: &constants, ..wgpu::PipelineCompilationOptions::default() };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(label),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("vertex"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(instance)],
        },
        primitive: wgpu::PrimitiveState {
            topology: wgpu::PrimitiveTopology::TriangleStrip,
            ..wgpu::PrimitiveState::default()
        },
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("fragment"),
            compilation_options,
            targets: &[Some(wgpu::ColorTargetState {
                format,
                blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Instances in a buffer of their own.
pub(super) fn instances(device: &wgpu::Device, label: &str, words: &[u32]) -> wgpu::Buffer {
    use wgpu::util::DeviceExt as _;
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some(label),
        contents: bytemuck::cast_slice(words),
        usage: wgpu::BufferUsages::VERTEX,
    })
}

/// Lets shaders count from the upper left corner of the whole screen; egui restricts what is seen to the clip rectangle.
pub(super) fn whole_screen(info: &eframe::egui::PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>) {
    let [width, height] = info.screen_size_px;
    pass.set_viewport(0.0, 0.0, width as f32, height as f32, 0.0, 1.0);
}

/// A paint callback over a rectangle of the screen.
pub(super) fn shape(
    rect: eframe::egui::Rect,
    callback: impl egui_wgpu::CallbackTrait + 'static,
) -> eframe::egui::epaint::PaintCallback {
    egui_wgpu::Callback::new_paint_callback(rect, callback)
}
