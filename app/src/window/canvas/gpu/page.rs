//! The page's pixels, tile by tile.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use eframe::egui::{Context, PaintCallbackInfo, Rect, Ui};
use eframe::egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor};
use eframe::wgpu;
use image::RgbImage;

use super::super::placement::Placement;
use super::super::tiles::{BUDGET, Cache, KEPT, Texels, Tile, View, batch, texel};
use super::device::{Screen, instances, pipeline, shape, whole_screen};
use crate::window::pyramid::Pyramid;

const SHADER: &str =
    concat!(include_str!("../../../../../shaders/screen.wgsl"), include_str!("../../../../../shaders/page.wgsl"));
/// From this zoom on page pixels are shown as the squares they are.
const CRISP: f32 = 4.0;

/// Draws the page where it lies, as far as the canvas shows it. What is not on the graphics device yet comes within the
/// next frames; until then a coarser picture stands in.
pub(in super::super) fn page(ui: &Ui, placement: Placement, pyramid: &Arc<Pyramid>) {
    let seen = placement.page.intersect(placement.canvas).intersect(ui.clip_rect());
    if !seen.is_positive() {
        return;
    }
    let callback =
        Page { pyramid: Arc::clone(pyramid), placement, seen, context: ui.ctx().clone(), drawn: Mutex::default() };
    ui.painter().with_clip_rect(seen).add(shape(seen, callback));
}

/// Lets go of tiles whose pages are gone, where no page is drawn that would do so.
pub(crate) fn release(ui: &Ui) {
    ui.painter().add(shape(ui.clip_rect(), Release));
}

struct Release;

impl CallbackTrait for Release {
    fn prepare(
        &self,
        _: &wgpu::Device,
        _: &wgpu::Queue,
        _: &ScreenDescriptor,
        _: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        if let Some(resources) = resources.get_mut::<Resources>() {
            resources.forget_gone();
        }
        Vec::new()
    }

    fn paint(&self, _: PaintCallbackInfo, _: &mut wgpu::RenderPass<'static>, _: &CallbackResources) {}
}

/// The page in one frame.
struct Page {
    pyramid: Arc<Pyramid>,
    placement: Placement,
    /// What can be seen of it, points.
    seen: Rect,
    context: Context,
    drawn: Mutex<Option<Drawn>>,
}

/// Tiles to draw, in order, and an instance for each.
struct Drawn {
    tiles: Vec<wgpu::BindGroup>,
    instances: wgpu::Buffer,
}

/// Names a tile of any page. A page is told apart by its address, which nothing else takes as long as the tile remembers
/// the page weakly.
type Key = (usize, Tile);

/// A tile on the graphics device.
struct Kept {
    group: wgpu::BindGroup,
    page: Weak<Pyramid>,
}

/// What lasts from frame to frame.
pub(super) struct Resources {
    pipeline: wgpu::RenderPipeline,
    tile_layout: wgpu::BindGroupLayout,
    smooth: wgpu::BindGroup,
    crisp: wgpu::BindGroup,
    tiles: Cache<Key, Kept>,
}

impl Resources {
    pub(super) fn new(device: &wgpu::Device, format: wgpu::TextureFormat, screen: &Screen) -> Self {
        let layout = |label, entries: &[wgpu::BindGroupLayoutEntry]| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries })
        };
        let fragment = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty,
            count: None,
        };
        let filtering = fragment(1, wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering));
        let screen_layout = layout("canvas page", &[screen.layout(), filtering]);
        let texture = wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: true },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let tile =
            wgpu::BindGroupLayoutEntry { visibility: wgpu::ShaderStages::VERTEX_FRAGMENT, ..fragment(0, texture) };
        let tile_layout = layout("canvas tile", &[tile]);
        let group = |mag_filter, min_filter| {
            let sampler =
                device.create_sampler(&wgpu::SamplerDescriptor { mag_filter, min_filter, ..Default::default() });
            let filtering = wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&sampler) };
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("canvas page"),
                layout: &screen_layout,
                entries: &[screen.entry(), filtering],
            })
        };
        let attributes = wgpu::vertex_attr_array![0 => Float32x4, 1 => Float32x4];
        let instance = wgpu::VertexBufferLayout {
            array_stride: 32,
            step_mode: wgpu::VertexStepMode::Instance,
            attributes: &attributes,
        };
        Self {
            pipeline: pipeline(
                device,
                format,
                "canvas page",
                SHADER,
                &[Some(&screen_layout), Some(&tile_layout)],
                instance,
            ),
            smooth: group(wgpu::FilterMode::Linear, wgpu::FilterMode::Linear),
            crisp: group(wgpu::FilterMode::Nearest, wgpu::FilterMode::Nearest),
            tile_layout,
            tiles: Cache::default(),
        }
    }

    /// Drops the tiles of pages that are gone.
    fn forget_gone(&mut self) {
        self.tiles.retain(|_, tile| tile.page.strong_count() > 0);
    }

    /// Bytes of all tiles.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.tiles.bytes()
    }

    /// Brings a tile to the graphics device.
    fn upload(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, page: &Arc<Pyramid>, tile: Tile) {
        let Some(level) = page.levels().get(tile.level as usize) else { return };
        let texels = tile.texels([level.width(), level.height()]);
        let [width, height] = texels.bordered();
        let size = wgpu::Extent3d { width, height, depth_or_array_layers: 1 };
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("canvas tile"),
            size,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: wgpu::TextureFormat::Rgba8Unorm, // sRGB-encoded as they are, like egui's own textures
            usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
            view_formats: &[],
        });
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * width), rows_per_image: Some(height) };
        queue.write_texture(texture.as_image_copy(), &bordered(level, texels), layout, size);
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("canvas tile"),
            layout: &self.tile_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(&view) }],
        });
        self.tiles.keep((address(page), tile), Kept { group, page: Arc::downgrade(page) }, texels.bytes());
    }
}

fn address(page: &Arc<Pyramid>) -> usize {
    Arc::as_ptr(page) as usize
}

/// The texels of a tile as RGBA, with their neighbours all around; at the page's edge the edge itself goes on.
fn bordered(level: &RgbImage, texels: Texels) -> Vec<u8> {
    let stride = level.width() as usize * 3;
    let mut rgba = Vec::with_capacity(texels.bytes());
    let mut put = |texel: &[u8]| {
        if let [r, g, b] = *texel {
            rgba.extend_from_slice(&[r, g, b, u8::MAX]);
        }
    };
    let [left, right] = [texels.min[0], texels.max[0]].map(|x| x as usize * 3);
    let before = left.saturating_sub(3);
    let after = right.min(stride - 3);
    let inner = texels.min[1]..texels.max[1];
    let first = inner.start.saturating_sub(1);
    let last = inner.end.min(level.height() - 1);
    for y in std::iter::once(first).chain(inner).chain(std::iter::once(last)) {
        let row = &level.as_raw()[y as usize * stride..][..stride];
        put(&row[before..before + 3]);
        row[left..right].chunks_exact(3).for_each(&mut put);
        put(&row[after..after + 3]);
    }
    rgba
}

impl Page {
    fn view(&self) -> View {
        View {
            size: self.pyramid.size(),
            levels: self.pyramid.levels().len() as u32,
            seen: Rect::from_min_max(self.placement.to_page(self.seen.min), self.placement.to_page(self.seen.max)),
            scale: self.placement.scale(),
        }
    }

    /// A tile's rectangles on the screen and in its texture.
    fn instance(&self, tile: Tile) -> [u32; 8] {
        let bounds = tile.bounds(self.pyramid.size());
        let (min, max) = (self.placement.to_screen(bounds.min), self.placement.to_screen(bounds.max));
        let (from, to) = (texel(tile, bounds.min), texel(tile, bounds.max));
        [min.x, min.y, max.x, max.y, from.x, from.y, to.x, to.y].map(f32::to_bits)
    }
}

impl CallbackTrait for Page {
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
        let Some(resources) = resources.get_mut::<Resources>() else { return Vec::new() };
        resources.tiles.tick();
        resources.forget_gone();

        let (view, page) = (self.view(), address(&self.pyramid));
        let mut missing = view.wanted();
        missing.retain(|&tile| resources.tiles.find((page, tile)).is_none());
        let size = |tile: Tile| {
            let level = self.pyramid.levels().get(tile.level as usize);
            level.map_or(0, |level| tile.texels([level.width(), level.height()]).bytes())
        };
        let (now, later) = batch(&missing, BUDGET, size);
        for &tile in now {
            resources.upload(device, queue, &self.pyramid, tile);
        }
        if !later.is_empty() {
            self.context.request_repaint();
        }

        let layers = view.layers(later.is_empty());
        let tiles = layers.into_iter().flat_map(|level| view.covering(level));
        let (groups, places): (Vec<_>, Vec<_>) = tiles
            .filter_map(|tile| Some((resources.tiles.find((page, tile))?.group.clone(), self.instance(tile))))
            .unzip();
        resources.tiles.shrink(KEPT);
        let drawn = Drawn { tiles: groups, instances: instances(device, "canvas tiles", places.as_flattened()) };
        *self.drawn.lock().unwrap_or_else(PoisonError::into_inner) = Some(drawn);
        Vec::new()
    }

    fn paint(&self, info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        let drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(drawn), Some(resources)) = (&*drawn, resources.get::<Resources>()) else { return };
        if drawn.tiles.is_empty() {
            return;
        }
        whole_screen(&info, pass);
        pass.set_pipeline(&resources.pipeline);
        let crisp = self.placement.scale() > CRISP;
        pass.set_bind_group(0, if crisp { &resources.crisp } else { &resources.smooth }, &[]);
        pass.set_vertex_buffer(0, drawn.instances.slice(..));
        for (at, tile) in (0..).zip(&drawn.tiles) {
            pass.set_bind_group(1, tile, &[]);
            pass.draw(0..4, at..at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_carries_its_neighbours_and_the_edge_goes_on() {
        let level = RgbImage::from_fn(600, 520, |x, y| image::Rgb([(x % 251) as u8, (y % 241) as u8, 7]));
        let texels = Tile { level: 0, x: 1, y: 0 }.texels([600, 520]);
        let rgba = bordered(&level, texels);
        let [width, height] = texels.bordered();
        assert_eq!((width, height), (90, 514));
        assert_eq!(rgba.len(), texels.bytes());
        let at = |x: u32, y: u32| &rgba[(y * width + x) as usize * 4..][..4];
        assert_eq!(at(0, 0), [(511 % 251) as u8, 0, 7, 255], "left neighbour, top edge repeated");
        assert_eq!(at(1, 1), [(512 % 251) as u8, 0, 7, 255]);
        assert_eq!(at(88, 513), [(599 % 251) as u8, (512 % 241) as u8, 7, 255], "row below");
        assert_eq!(at(89, 512), [(599 % 251) as u8, (511 % 241) as u8, 7, 255], "right edge repeated");
    }
}
