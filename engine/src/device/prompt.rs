//! The beginning of a request: its picture through the vision tower, its prompt into a cache.

use kernels::cuda::abi::{bytes_of, mask};
use kernels::cuda::driver::{DevicePtr, DriverError};
use kernels::cuda::launch::Launch;

use super::executor::Executor;
use super::forward::{self, Pass, Picture};
use super::{DeviceError, Lease, plan};
use crate::cancel::Cancel;
use crate::decode::Peak;
use crate::model::ImageFeatures;
use crate::model::image_processor::Patches;

/// Rows, added up over the launches, after which a cancel is looked at: a small region's tower in three parts, a page's
/// launch by launch, each part a few hundredths of a second on a slow card. A wait takes far less.
const ROWS_AHEAD: usize = 1 << 16;

impl Executor {
    /// Runs the vision tower.
    pub(super) fn encode(&mut self, patches: &Patches, cancel: &Cancel) -> Result<ImageFeatures, DeviceError> {
        let v = &self.config.vision;
        let merge = v.spatial_merge_size;
        let grid = patches.grid;
        let count = grid[0] * grid[1];
        if grid[0].max(grid[1]) > self.vision.sides {
            return Err(DeviceError::Unfit(format!(
                "the picture of {} x {} patches is too long for the card",
                grid[0], grid[1]
            )));
        }
        cancel.check()?;
        let (pieces, bytes) = plan::vision_pieces(v, count);
        let base = self.room(bytes)?;
        let at = |piece: usize| base.offset(piece);
        let picture = Picture {
            grid,
            pixels: at(pieces.pixels),
            packed: at(pieces.packed),
            hidden: at(pieces.hidden),
            x: at(pieces.x),
            qkv: at(pieces.qkv),
            attention: at(pieces.attention),
            inner: at(pieces.inner),
            merged: at(pieces.merged),
            projected: at(pieces.projected),
            wide: at(pieces.wide),
            features: at(pieces.features),
        };
        self.driver.upload(picture.pixels, bytes_of(&patches.values))?;
        let launches = forward::tower(&self.config.vision, &self.vision, &picture);
        self.launch_all(&launches, count, cancel)?;
        let width = self.config.vision.out_hidden_size;
        let rows = self.read(picture.features, count / (merge * merge) * width)?;
        Ok(ImageFeatures { grid: grid.map(|side| side / merge), rows })
    }

    /// Runs a prompt into a cache. `ids`: `-1 - n` is row `n` of `features`. Gives the last row's arg-max, and its logits
    /// where they are asked for.
    pub(super) fn prefill(
        &mut self,
        lease: &Lease,
        ids: &[i32],
        positions: &[[i32; 3]],
        features: &[f32],
        with_logits: bool,
        cancel: &Cancel,
    ) -> Result<(Peak, Vec<f32>), DeviceError> {
        cancel.check()?;
        let t = self.config.text.clone();
        let rows = ids.len();
        let (pieces, bytes) = plan::prompt_pieces(&self.config, rows);
        let base = self.room(bytes)?;
        let at = |piece: usize| base.offset(piece);
        let pass = Pass {
            rows,
            window: rows,
            mask: mask::CAUSAL,
            chunks: 1,
            bulk: true,
            ids: at(pieces.ids),
            positions: at(pieces.positions),
            features: at(pieces.features),
            feature_rows: features.len() / t.hidden_size,
            hidden: at(pieces.hidden),
            x: at(pieces.x),
            parts: at(pieces.parts),
            queries: at(pieces.queries),
            attention: at(pieces.attention),
            attention_parts: DevicePtr(0),
            attention_weights: DevicePtr(0),
            inner: at(pieces.inner),
        };
        self.driver.upload(pass.ids, bytes_of(ids))?;
        self.driver.upload(pass.positions, bytes_of(positions))?;
        self.driver.upload(pass.features, bytes_of(features))?;
        self.set_slot(lease, 0, 0, 0);
        self.control(&[lease], 1, &[])?;
        let mut launches = forward::decoder(&t, &self.text, self.caches, &pass);
        let last = pass.x.offset((rows - 1) * t.hidden_size * 2);
        let peaks = self.at(self.pieces.verify);
        launches.extend(forward::head(&t, &self.text, last, 1, self.at(self.pieces.peak_parts), peaks));
        let logits = self.at(self.pieces.logits);
        if with_logits {
            launches.push(forward::logits(&t, &self.text, last, 1, logits));
        }
        self.launch_all(&launches, rows, cancel)?;
        let peak = self.peaks(peaks, 1)?[0];
        let logits = if with_logits { self.read(logits, t.vocab_size)? } else { Vec::new() };
        Ok((peak, logits))
    }

    /// Runs launches over so many rows. What was launched cannot be taken back, so where there are many rows the card is
    /// waited for now and then, before it gets more.
    fn launch_all(&mut self, launches: &[Launch], rows: usize, cancel: &Cancel) -> Result<(), DeviceError> {
        for (n, launches) in launches.chunks((ROWS_AHEAD / rows.max(1)).max(1)).enumerate() {
            if n > 0 {
                self.driver.synchronize()?;
                cancel.check()?;
            }
            launches.iter().try_for_each(|launch| self.driver.launch(launch))?;
        }
        Ok(())
    }

    /// Buffers of so many bytes for the tower or for prefill.
    fn room(&mut self, bytes: usize) -> Result<DevicePtr, DeviceError> {
        if bytes > self.bulk.1 {
            let free = self.driver.memory()?.free + self.bulk.1 as u64;
            if bytes as u64 > free {
                let error = DriverError::OutOfMemory { needed: bytes as u64, free };
                return Err(DeviceError::Unfit(error.to_string()));
            }
            // Given back first, so that there is room; what is in it is of no more use.
            if self.bulk.1 > 0 {
                self.driver.release(self.bulk.0)?;
                self.bulk = (DevicePtr(0), 0);
            }
            self.bulk = (self.driver.alloc(bytes)?, bytes);
        }
        Ok(self.bulk.0)
    }
}
