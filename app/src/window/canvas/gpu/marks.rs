//! Marks under characters, thousands in one draw.

use std::sync::OnceLock;

use eframe::egui::{PaintCallbackInfo, Rect};
use eframe::egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor};
use eframe::wgpu;

use super::device::{Screen, instances, pipeline, whole_screen};
use crate::window::colours::Pattern;
use crate::window::highlight::{Highlight, MarkKind};

const SHADER: &str =
    concat!(include_str!("../../../../../shaders/screen.wgsl"), include_str!("../../../../../shaders/highlight.wgsl"));

impl Highlight {
    /// As `highlight.wgsl` takes it.
    fn instance(&self) -> [u32; 6] {
        let Rect { min, max } = self.rect;
        let [x0, y0, x1, y1] = [min.x, min.y, max.x, max.y].map(f32::to_bits);
        let kind = match self.kind {
            MarkKind::Round => 0,
            MarkKind::Rejected => 1,
            MarkKind::Ghost => 2,
        };
        let pattern = match self.pattern {
            Pattern::Solid => 0,
            Pattern::Dashed => 1,
            Pattern::Dotted => 2,
            Pattern::Double => 3,
            Pattern::Wavy => 4,
            Pattern::DashDot => 5,
        };
        [x0, y0, x1, y1, u32::from_le_bytes(self.colour.to_array()), kind | pattern << 8]
    }
}

/// The marks of one call.
pub(super) struct Marks {
    words: Vec<u32>,
    buffer: OnceLock<wgpu::Buffer>,
}

impl Marks {
    /// None when there are none.
    pub(super) fn new<'a>(marks: impl Iterator<Item = &'a Highlight>) -> Option<Self> {
        let words: Vec<u32> = marks.flat_map(Highlight::instance).collect();
        (!words.is_empty()).then_some(Self { words, buffer: OnceLock::new() })
    }
}

/// What lasts from frame to frame.
pub(super) struct Resources {
    pipeline: wgpu::RenderPipeline,
    screen: wgpu::BindGroup,
}

impl Resources {
    pub(super) fn new(device: &wgpu::Device, format: wgpu::TextureFormat, screen: &Screen) -> Self {
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("canvas highlights"),
            entries: &[screen.layout()],
        });
        let attributes = wgpu::vertex_attr_array![0 => Float32x4, 1 => Unorm8x4, 2 => Uint32];
        let instance = wgpu::VertexBufferLayout {
            array_stride: 24,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &attributes,
        };
        Self {
            pipeline: pipeline(device, format, "canvas highlights", SHADER, &[Some(&layout)], instance),
            screen: device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("canvas highlights"),
                layout: &layout,
                entries: &[screen.entry()],
            }),
        }
    }
}

impl CallbackTrait for Marks {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        _: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(uniform) = resources.get::<Screen>() {
            uniform.write(queue, screen);
        }
        self.buffer.get_or_init(|| instances(device, "canvas highlights", &self.words));
        Vec::new()
    }

    fn paint(&self, info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        let (Some(buffer), Some(resources)) = (self.buffer.get(), resources.get::<Resources>()) else { return };
        whole_screen(&info, pass);
        pass.set_pipeline(&resources.pipeline);
        pass.set_bind_group(0, &resources.screen, &[]);
        pass.set_vertex_buffer(0, buffer.slice(..));
        pass.draw(0..4, 0..(self.words.len() / 6) as u32);
    }
}
