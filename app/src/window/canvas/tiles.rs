//! Which tiles of which level of a page are wanted for a view of it, and which of them are kept.

use std::collections::HashMap;
use std::hash::Hash;

use eframe::egui::{Pos2, Rect, Vec2, vec2};

/// Side of a tile, texels of its level.
pub(super) const TILE: u32 = 512;
/// Most tiles of one view: with all of them at hand the cache still has room for coarser ones.
const MOST: usize = 160;
/// Bytes that tiles may take on the graphics device.
pub(super) const KEPT: usize = 192 << 20;
/// Bytes that are uploaded in one frame.
pub(super) const BUDGET: usize = 8 << 20;

/// Names a tile of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Tile {
    /// The level, 0 the finest; a texel covers 2^level page pixels each way.
    pub(super) level: u32,
    pub(super) x: u32,
    pub(super) y: u32,
}

/// Texels of a level: from (inclusive) and to (exclusive) on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Texels {
    pub(super) min: [u32; 2],
    pub(super) max: [u32; 2],
}

impl Tile {
    /// The texels it shows of a level of this size.
    pub(super) fn texels(self, [width, height]: [u32; 2]) -> Texels {
        let min = [self.x * TILE, self.y * TILE];
        Texels { min, max: [(min[0] + TILE).min(width), (min[1] + TILE).min(height)] }
    }

    /// The page pixels it covers of a page of this size.
    pub(super) fn bounds(self, size: [u32; 2]) -> Rect {
        let side = TILE << self.level;
        let edge = |at: u32, end: u32| at.saturating_mul(side).min(end) as f32;
        Rect::from_min_max(
            Pos2::new(edge(self.x, size[0]), edge(self.y, size[1])),
            Pos2::new(edge(self.x + 1, size[0]), edge(self.y + 1, size[1])),
        )
    }
}

impl Texels {
    /// Width and height with a border of one texel all around, which makes filtering seamless.
    pub(super) fn bordered(self) -> [u32; 2] {
        [self.max[0] - self.min[0] + 2, self.max[1] - self.min[1] + 2]
    }

    /// Bytes of the bordered texels.
    pub(super) fn bytes(self) -> usize {
        let [width, height] = self.bordered();
        width as usize * height as usize * 4
    }
}

/// A page as it is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct View {
    /// Pixels of the page.
    pub(super) size: [u32; 2],
    /// Levels that there are.
    pub(super) levels: u32,
    /// Page pixels that can be seen; may reach beyond the page.
    pub(super) seen: Rect,
    /// Physical screen pixels per page pixel.
    pub(super) scale: f32,
}

impl View {
    /// The level to draw: the coarsest whose texels are no larger than a screen pixel, so that nothing is lost and hardly
    /// more is drawn than the screen shows; a coarser one when that would take too many tiles.
    pub(super) fn level(&self) -> u32 {
        let last = self.levels.saturating_sub(1);
        let wanted = (1.0 / self.scale.max(1e-6)).log2() + 1e-3; // the step down is taken at a power of two itself
        let mut level = (wanted.max(0.0) as u32).min(last);
        while level < last && self.count(level) > MOST {
            level += 1;
        }
        level
    }

    /// The tiles of a level that can be seen, those in the middle first.
    pub(super) fn covering(&self, level: u32) -> Vec<Tile> {
        let [columns, rows] = self.spans(level);
        let mut tiles: Vec<_> = rows.flat_map(|y| columns.clone().map(move |x| Tile { level, x, y })).collect();
        let middle = self.seen.center();
        let distance = |tile: &Tile| tile.bounds(self.size).center().distance_sq(middle);
        tiles.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        tiles
    }

    fn count(&self, level: u32) -> usize {
        let [columns, rows] = self.spans(level);
        columns.len() * rows.len()
    }

    /// Columns and rows of a level's tiles that can be seen.
    fn spans(&self, level: u32) -> [std::ops::Range<u32>; 2] {
        let side = TILE << level;
        let span = |from: f32, to: f32, end: u32| {
            let (from, to) = (from.max(0.0) as u32, to.max(0.0).ceil().min(end as f32) as u32);
            if from >= to { 0..0 } else { from / side..to.div_ceil(side) }
        };
        [span(self.seen.min.x, self.seen.max.x, self.size[0]), span(self.seen.min.y, self.seen.max.y, self.size[1])]
    }

    /// What is wanted, in the order in which to fetch it: the coarsest level, which is small, so that there is something
    /// at once; then the level to draw.
    pub(super) fn wanted(&self) -> Vec<Tile> {
        let (level, last) = (self.level(), self.levels.saturating_sub(1));
        let mut wanted = self.covering(last);
        if level != last {
            wanted.extend(self.covering(level));
        }
        wanted
    }

    /// Levels in the order in which to draw them: the one that is wanted last, over those nearest to it, which show
    /// wherever it is not there yet. Only itself when it is complete.
    pub(super) fn layers(&self, complete: bool) -> Vec<u32> {
        let level = self.level();
        if complete {
            return vec![level];
        }
        let mut layers: Vec<_> = (0..self.levels).collect();
        layers.sort_by_key(|&layer| std::cmp::Reverse(layer.abs_diff(level)));
        layers
    }
}

/// Takes from the front of what is missing as much as a budget of bytes allows, but at least one; the rest is for later.
pub(super) fn batch(missing: &[Tile], budget: usize, bytes: impl Fn(Tile) -> usize) -> (&[Tile], &[Tile]) {
    let mut spent = 0;
    let fit = missing.iter().take_while(|tile| {
        spent += bytes(**tile);
        spent <= budget
    });
    let count = fit.count().max(1).min(missing.len());
    missing.split_at(count)
}

/// A texel place inside a tile's texture for a page point: texels from the texture's corner, border included.
pub(super) fn texel(tile: Tile, page: Pos2) -> Vec2 {
    let texel = (1u32 << tile.level) as f32;
    let corner = vec2((tile.x * TILE) as f32, (tile.y * TILE) as f32);
    page.to_vec2() / texel - corner + Vec2::splat(1.0)
}

/// Things with a size in bytes, of which the ones that were not used for longest go when there are too many.
pub(super) struct Cache<K, T> {
    kept: HashMap<K, Kept<T>>,
    bytes: usize,
    clock: u64,
}

struct Kept<T> {
    thing: T,
    bytes: usize,
    used: u64,
}

impl<K, T> Default for Cache<K, T> {
    fn default() -> Self {
        Self { kept: HashMap::new(), bytes: 0, clock: 0 }
    }
}

impl<K: Copy + Eq + Hash, T> Cache<K, T> {
    /// Begins a frame: what is used from now on is safe from going until the next one.
    pub(super) fn tick(&mut self) {
        self.clock += 1;
    }

    /// Finds a thing and notes that it is used.
    pub(super) fn find(&mut self, key: K) -> Option<&T> {
        let kept = self.kept.get_mut(&key)?;
        kept.used = self.clock;
        Some(&kept.thing)
    }

    /// Keeps a thing.
    pub(super) fn keep(&mut self, key: K, thing: T, bytes: usize) {
        let old = self.kept.insert(key, Kept { thing, bytes, used: self.clock });
        self.bytes = self.bytes + bytes - old.map_or(0, |old| old.bytes);
    }

    /// Drops what is not wanted at all any more.
    pub(super) fn retain(&mut self, wanted: impl Fn(&K, &T) -> bool) {
        let bytes = &mut self.bytes;
        self.kept.retain(|key, kept| {
            let stays = wanted(key, &kept.thing);
            if !stays {
                *bytes -= kept.bytes;
            }
            stays
        });
    }

    /// Drops the things that were not used for longest until the rest takes no more than so many bytes. What is used in
    /// this frame stays.
    pub(super) fn shrink(&mut self, most: usize) {
        if self.bytes <= most {
            return;
        }
        let idle = self.kept.iter().filter(|(_, kept)| kept.used < self.clock);
        let mut idle: Vec<_> = idle.map(|(key, kept)| (kept.used, *key)).collect();
        idle.sort_by_key(|(used, _)| *used);
        for (_, key) in idle {
            if self.bytes <= most {
                break;
            }
            if let Some(gone) = self.kept.remove(&key) {
                self.bytes -= gone.bytes;
            }
        }
    }

    /// Bytes of all that is kept.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::pos2;

    use super::*;

    const STRIP: [u32; 2] = [30_000, 4_000];

    /// A view of the strip: 30 000 px are seven levels down to 469.
    fn view(scale: f32, seen: Rect) -> View {
        View { size: STRIP, levels: 7, seen, scale }
    }

    #[test]
    fn texels_are_no_larger_than_a_screen_pixel() {
        let all = Rect::from_min_max(Pos2::ZERO, pos2(30_000.0, 4_000.0));
        let near = Rect::from_min_size(Pos2::ZERO, vec2(100.0, 100.0));
        let level = |scale, seen| view(scale, seen).level();
        assert_eq!(level(8.0, near), 0);
        assert_eq!(level(1.0, near), 0);
        assert_eq!(level(0.75, near), 0, "half-size texels would be larger than a pixel");
        assert_eq!(level(0.5, near), 1);
        assert_eq!(level(0.26, near), 1);
        assert_eq!(level(0.25, near), 2);
        assert_eq!(level(0.026, all), 5, "fitted into 800 pixels");
        assert_eq!(level(0.001, all), 6, "there is none coarser");
    }

    #[test]
    fn a_strip_of_thirty_thousand_pixels_takes_few_tiles_at_any_zoom() {
        let fit = view(0.026, Rect::from_min_max(pos2(-600.0, -12_000.0), pos2(30_600.0, 16_000.0)));
        let tiles = fit.covering(fit.level());
        assert_eq!(tiles.len(), 2, "938 × 125 texels: {tiles:?}");
        assert!(tiles.contains(&Tile { level: 5, x: 0, y: 0 }) && tiles.contains(&Tile { level: 5, x: 1, y: 0 }));

        let near = view(8.0, Rect::from_min_size(pos2(29_900.0, 500.0), vec2(240.0, 135.0)));
        let mut tiles = near.covering(near.level());
        tiles.sort();
        assert_eq!(tiles, [Tile { level: 0, x: 58, y: 0 }, Tile { level: 0, x: 58, y: 1 }]);
        assert_eq!(near.wanted()[0], Tile { level: 6, x: 0, y: 0 }, "something coarse first");

        // 32 × 8 tiles of level 0 are too many; a quarter of that at level 1 is not.
        let huge = view(1.0, Rect::from_min_size(pos2(100.0, 0.0), vec2(16_000.0, 4_000.0)));
        assert!(huge.level() > 0 && huge.covering(huge.level()).len() <= MOST);
    }

    #[test]
    fn tiles_at_the_edge_end_with_the_page() {
        let last = Tile { level: 1, x: 29, y: 3 };
        let texels = last.texels([15_000, 2_000]);
        assert_eq!((texels.min, texels.max), ([14_848, 1_536], [15_000, 2_000]));
        assert_eq!(texels.bordered(), [154, 466]);
        let bounds = last.bounds(STRIP);
        assert_eq!((bounds.min, bounds.max), (pos2(29_696.0, 3_072.0), pos2(30_000.0, 4_000.0)));
        assert_eq!(texel(last, bounds.min), vec2(1.0, 1.0));
        assert_eq!(texel(last, bounds.max), vec2(153.0, 465.0));
        assert!(view(1.0, Rect::from_min_size(pos2(-500.0, 0.0), vec2(400.0, 400.0))).covering(0).is_empty());
    }

    #[test]
    fn a_frame_uploads_a_budget_and_the_middle_comes_first() {
        let view = view(1.0, Rect::from_min_size(pos2(2_048.0, 0.0), vec2(4_096.0, 2_048.0)));
        let missing = view.covering(0);
        assert_eq!(missing.len(), 32);
        let size = |tile: Tile| tile.texels(STRIP).bytes();
        let (now, later) = batch(&missing, BUDGET, size);
        assert_eq!((now.len(), later.len()), (7, 25), "514 × 514 × 4 bytes each");
        assert!(now.iter().map(|tile| size(*tile)).sum::<usize>() <= BUDGET);
        assert!(now.iter().take(4).all(|tile| (7..=8).contains(&tile.x) && (1..=2).contains(&tile.y)), "{now:?}");
        assert_eq!(batch(&missing[..1], BUDGET, |_| BUDGET + 1).0.len(), 1, "one always goes");
        assert!(batch(&[], BUDGET, size).0.is_empty());
    }

    #[test]
    fn a_walk_over_a_large_page_keeps_within_the_bound() {
        let full = Tile { level: 0, x: 1, y: 1 }.texels(STRIP).bytes();
        assert!((MOST + 1) * full <= KEPT, "the largest view and its coarsest level");
        let mut cache = Cache::<Tile, ()>::default();
        for step in 0..280 {
            // Along the strip at full size, on a screen of 3840 × 2160.
            let view = view(1.0, Rect::from_min_size(pos2(step as f32 * 100.0, 900.0), vec2(3840.0, 2160.0)));
            cache.tick();
            let wanted = view.wanted();
            for tile in &wanted {
                if cache.find(*tile).is_none() {
                    let scale = 1 << tile.level;
                    cache.keep(*tile, (), tile.texels(STRIP.map(|side| side.div_ceil(scale))).bytes());
                }
            }
            cache.shrink(KEPT);
            assert!(cache.bytes() <= KEPT && wanted.iter().all(|tile| cache.find(*tile).is_some()));
        }
        assert!(cache.bytes() > KEPT / 2, "what was passed is kept while there is room");
        assert!(cache.find(Tile { level: 0, x: 0, y: 2 }).is_none(), "where the walk began is gone");
    }

    #[test]
    fn what_is_missing_shows_the_nearest_level_that_there_is() {
        let view = view(0.25, Rect::from_min_size(Pos2::ZERO, vec2(100.0, 100.0)));
        assert_eq!(view.layers(true), [2]);
        let layers = view.layers(false);
        assert_eq!((layers.first(), layers.last()), (Some(&6), Some(&2)));
        assert_eq!(layers.len(), 7);
    }

    #[test]
    fn the_cache_drops_what_was_not_used_for_longest() {
        let mut cache = Cache::<u32, &str>::default();
        for (key, name) in [(1, "a"), (2, "b"), (3, "c")] {
            cache.tick();
            cache.keep(key, name, 100);
        }
        cache.tick();
        assert_eq!(cache.find(1), Some(&"a"));
        cache.shrink(200);
        assert_eq!((cache.bytes(), cache.find(2)), (200, None));
        assert_eq!(cache.find(3), Some(&"c"));
        cache.shrink(0);
        assert_eq!(cache.bytes(), 200, "both are used in this frame");
        cache.keep(3, "d", 50);
        assert_eq!(cache.bytes(), 150, "in the place of the old one");
        cache.retain(|key, _| *key != 1);
        assert_eq!(cache.bytes(), 50);
    }
}
