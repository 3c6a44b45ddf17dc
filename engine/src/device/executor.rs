//! A card with the model on it: uploads, launches and graphs, reads back.

use std::collections::HashMap;

use kernels::cuda::abi::{self, Pod, RoundArguments, mask, state};
use kernels::cuda::driver::{DevicePtr, Driver, DriverError, Event, Graph};
use kernels::cuda::launch::Launch;

use super::forward::{self, Caches, Pass, Picture};
use super::plan::{self, ENDS, Plan, WindowPieces, chunk_bucket};
use super::pool::Pool;
use super::weights::{self, TextWeights, VisionWeights, singles};
use super::{DeviceError, Lease, Work};
use crate::checkpoint::{ModelConfig, Weights};
use crate::decode::{Fused, Mask, Peak};
use crate::model::ImageFeatures;
use crate::model::image_processor::Patches;

/// What a window gave.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// The arg-max of each row, and all logits where they were asked for.
    Peaks(Vec<Peak>, Vec<f32>),
    /// A whole round.
    Round(Fused),
}

pub(super) struct Executor {
    driver: Box<dyn Driver>,
    config: ModelConfig,
    text: TextWeights,
    vision: VisionWeights,
    plan: Plan,
    /// Where the window's buffers begin, and their offsets.
    window: DevicePtr,
    pieces: WindowPieces,
    caches: Caches,
    /// Buffers of the tower and of prefill, and their bytes.
    bulk: (DevicePtr, usize),
    slots: Vec<abi::Slot>,
    free: Vec<usize>,
    pool: Pool,
    ends: usize,
    graphs: HashMap<Key, Known>,
    /// Before a round, between draft and verification, after it.
    marks: [Event; 3],
    /// The fault that ended the use of this card.
    broken: Option<DeviceError>,
}

/// What a graph was captured for; lengths are in the card's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    sequences: usize,
    window: usize,
    chunks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// One forward under a mask of `abi`.
    Forward(i32),
    /// Draft, verification, acceptance; with the token that fills the draft's window.
    Round(u32),
}

/// What is known of a key.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// It ran once; a shape seen once is not worth a graph.
    Once,
    /// Its graph.
    Graph(Graph),
    /// The driver made no graph of it.
    NoGraph,
}

/// A step of a sequence.
enum Step {
    Launch(Launch),
    Mark(usize),
}

impl Executor {
    /// Uploads a model and takes the memory that `plan` says.
    ///
    /// # Errors
    /// Sizes that the kernels do not have, memory that does not suffice, a failed copy.
    pub(super) fn open(
        mut driver: Box<dyn Driver>,
        config: &ModelConfig,
        weights: &Weights,
        end_tokens: &[u32],
        plan: Plan,
    ) -> Result<Self, DeviceError> {
        plan::check(config)?;
        let free = driver.memory()?.free;
        if plan.bytes() as u64 > free {
            return Err(DriverError::OutOfMemory { needed: plan.bytes() as u64, free }.into());
        }
        let extent = plan.extent;
        let (text, vision) = weights::upload(config, weights, extent.sequence_tokens, driver.as_mut())?;
        let pool = plan::layer_cache(config, extent.cache_tokens);
        let pools = driver.alloc(plan.cache)?;
        // Rows that nobody wrote are multiplied by zero; they must not be NaN.
        driver.clear(pools, plan.cache)?;
        let (pieces, layout) = plan::window_pieces(config, extent);
        let window = driver.alloc(layout.bytes())?;
        driver.clear(window, layout.bytes())?;
        let bulk = (driver.alloc(plan.bulk)?, plan.bulk);
        let ends: Vec<u8> = end_tokens.iter().take(ENDS).flat_map(|id| id.to_le_bytes()).collect();
        driver.upload(window.offset(pieces.ends), &ends)?;
        let marks = [driver.event()?, driver.event()?, driver.event()?];
        driver.synchronize()?;
        Ok(Self {
            config: config.clone(),
            text,
            vision,
            window,
            pieces,
            caches: Caches {
                slots: window.offset(pieces.slots),
                sequence_slots: window.offset(pieces.sequence_slots),
                pools,
                pool,
            },
            bulk,
            slots: vec![abi::Slot::default(); extent.sequences],
            free: (0..extent.sequences).rev().collect(),
            pool: Pool::new(extent.cache_tokens),
            ends: ends.len() / 4,
            graphs: HashMap::new(),
            marks,
            broken: None,
            driver,
            plan,
        })
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn driver(&mut self) -> &mut dyn Driver {
        self.driver.as_mut()
    }

    /// The fault that ended the use of this card.
    pub(super) fn broken(&self) -> Option<&DeviceError> {
        self.broken.as_ref()
    }

    /// Runs something; after a fault nothing runs any more, because a context that failed once fails for good.
    pub(super) fn guarded<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        if let Some(fault) = &self.broken {
            return Err(fault.clone());
        }
        let done = run(self);
        if let Err(error) = &done
            && error.is_fatal()
        {
            self.broken = Some(error.clone());
        }
        done
    }

    /// Room for a request of at most so many tokens; `None` while there is none.
    pub(super) fn claim(&mut self, tokens: usize) -> Option<Lease> {
        let slot = self.free.last().copied()?;
        let range = self.pool.take(tokens)?;
        self.free.pop();
        let t = &self.config.text;
        self.slots[slot] = abi::Slot {
            offset: (range.start * t.num_key_value_heads * t.head_dim) as i64,
            capacity: range.len() as i32,
            state: state::RUNNING,
            ..abi::Slot::default()
        };
        Some(Lease { slot, range })
    }

    /// Gives room back.
    pub(super) fn release(&mut self, lease: Lease) {
        if let Some(slot) = self.slots.get_mut(lease.slot) {
            *slot = abi::Slot::default();
            self.free.push(lease.slot);
            self.pool.give(lease.range);
        }
    }

    /// Runs the vision tower.
    pub(super) fn encode(&mut self, patches: &Patches) -> Result<ImageFeatures, DeviceError> {
        let v = &self.config.vision;
        let merge = v.spatial_merge_size;
        let grid = patches.grid;
        let count = grid[0] * grid[1];
        if grid[0].max(grid[1]) > self.vision.sides {
            return Err(DeviceError::unfit(format!(
                "the picture of {} x {} patches is too long for the card",
                grid[0], grid[1]
            )));
        }
        let (pieces, layout) = plan::vision_pieces(v, count);
        let base = self.room(layout.bytes())?;
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
        self.driver.upload(picture.pixels, &singles(&patches.values))?;
        for launch in forward::tower(&self.config.vision, &self.vision, &picture) {
            self.driver.launch(&launch)?;
        }
        let width = self.config.vision.out_hidden_size;
        let rows = self.floats(picture.features, count / (merge * merge) * width)?;
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
    ) -> Result<(Peak, Vec<f32>), DeviceError> {
        let t = self.config.text.clone();
        let rows = ids.len();
        let (pieces, layout) = plan::prompt_pieces(&self.config, rows);
        let base = self.room(layout.bytes())?;
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
        self.driver.upload(pass.ids, &words(ids))?;
        self.driver.upload(pass.positions, &words(positions.as_flattened()))?;
        self.driver.upload(pass.features, &singles(features))?;
        self.slot(lease, 0, 0, 0);
        self.control(&[lease.slot as i32])?;
        let mut launches = forward::decoder(&t, &self.text, self.caches, &pass);
        let last = pass.x.offset((rows - 1) * t.hidden_size * 2);
        let peaks = self.at(self.pieces.verify);
        launches.extend(forward::head(&t, &self.text, last, 1, self.at(self.pieces.peak_parts), peaks));
        let logits = self.at(self.pieces.logits);
        if with_logits {
            launches.push(forward::logits(&t, &self.text, last, 1, logits));
        }
        for launch in &launches {
            self.driver.launch(launch)?;
        }
        let peak = self.peaks(peaks, 1)?[0];
        let logits = if with_logits { self.floats(logits, t.vocab_size)? } else { Vec::new() };
        Ok((peak, logits))
    }

    /// Runs the windows of several requests together; all of one kind, window size and mask.
    pub(super) fn run(&mut self, batch: &[Work]) -> Result<Vec<Outcome>, DeviceError> {
        let Some(first) = batch.first() else { return Ok(Vec::new()) };
        let rows = first.rows();
        if rows == 0 || rows > abi::MAX_WINDOW {
            return Err(DeviceError::unfit(format!(
                "the card takes windows of 1 to {} tokens, not {rows}",
                abi::MAX_WINDOW
            )));
        }
        let mut longest = 0;
        for work in batch {
            let slot = self.slots.get(work.lease.slot).copied().unwrap_or_default();
            // A round writes the boundary, then a window after it.
            let end = work.cached + rows + usize::from(work.is_round());
            if end > slot.capacity.max(0) as usize {
                return Err(DeviceError::unfit("the answer is longer than the card has room for".to_owned()));
            }
            longest = longest.max(end);
            self.slot(&work.lease, work.cached, work.shift, work.ids.first().copied().unwrap_or(0));
        }
        // Few sizes of batches, so that few graphs serve all.
        let sequences = batch.len().next_power_of_two().min(self.slots.len());
        let mut control: Vec<i32> = batch.iter().map(|work| work.lease.slot as i32).collect();
        control.resize(sequences, -1);
        let kind = if first.is_round() { Kind::Round(first.filler) } else { Kind::Forward(code(first.mask)) };
        let key = Key { kind, sequences, window: rows, chunks: chunk_bucket(longest) };
        if first.is_round() {
            self.control(&control)?;
        } else {
            let ids: Vec<i32> = batch.iter().flat_map(|work| work.ids.iter().map(|&id| id as i32)).collect();
            self.control_and_ids(&control, &ids)?;
        }
        self.play(key)?;
        if first.is_round() { self.records(batch) } else { self.windows(batch, rows, first.with_logits) }
    }

    fn windows(&mut self, batch: &[Work], rows: usize, with_logits: bool) -> Result<Vec<Outcome>, DeviceError> {
        let peaks = self.peaks(self.at(self.pieces.verify), batch.len() * rows)?;
        let mut logits = Vec::new();
        if with_logits {
            let out = self.at(self.pieces.logits);
            let launch = forward::logits(&self.config.text, &self.text, self.at(self.pieces.x), rows, out);
            self.driver.launch(&launch)?;
            logits = self.floats(out, rows * self.config.text.vocab_size)?;
        }
        Ok(peaks.chunks_exact(rows).map(|peaks| Outcome::Peaks(peaks.to_vec(), logits.clone())).collect())
    }

    fn records(&mut self, batch: &[Work]) -> Result<Vec<Outcome>, DeviceError> {
        let size = size_of::<abi::Record>();
        let bytes = self.read(self.at(self.pieces.records), batch.len() * size)?;
        let [start, middle, end] = self.marks;
        let draft_ms = f64::from(self.driver.elapsed_ms(start, middle)?);
        let verify_ms = f64::from(self.driver.elapsed_ms(middle, end)?);
        bytes
            .chunks_exact(size)
            .map(|record| {
                let number = |at: usize| int(&record[4 * at..]);
                let (accepted, state, window) = (number(2), number(4), number(5));
                let (accepted, window) = (accepted.max(0) as usize, (window.max(0) as usize).min(abi::MAX_WINDOW));
                if state == state::FULL || accepted >= window {
                    return Err(DeviceError::unfit("the answer is longer than the card has room for".to_owned()));
                }
                let peaks = |at: usize| -> Vec<Peak> { record[at..].chunks_exact(16).take(window).map(peak).collect() };
                let (draft, verify) = (peaks(32), peaks(32 + 16 * abi::MAX_WINDOW));
                Ok(Outcome::Round(Fused { draft, verify, accepted, draft_ms, verify_ms }))
            })
            .collect()
    }

    /// Runs what `key` says: launch by launch the first time, from then on as a graph.
    fn play(&mut self, key: Key) -> Result<(), DeviceError> {
        let known = match self.graphs.get(&key).copied() {
            Some(Known::Graph(graph)) => return Ok(self.driver.replay(graph)?),
            Some(Known::NoGraph) => Known::NoGraph,
            Some(Known::Once) => match self.capture(key) {
                Ok(graph) => {
                    self.graphs.insert(key, Known::Graph(graph));
                    return Ok(self.driver.replay(graph)?);
                }
                // Slower, but right; what ails the card itself shows when it is tried.
                Err(_) => Known::NoGraph,
            },
            None => Known::Once,
        };
        self.graphs.insert(key, known);
        let steps = self.steps(key);
        self.issue(&steps)
    }

    fn capture(&mut self, key: Key) -> Result<Graph, DeviceError> {
        let steps = self.steps(key);
        self.driver.begin_capture()?;
        let issued = self.issue(&steps);
        let graph = self.driver.end_capture();
        issued?;
        Ok(graph?)
    }

    fn issue(&mut self, steps: &[Step]) -> Result<(), DeviceError> {
        for step in steps {
            match step {
                Step::Launch(launch) => self.driver.launch(launch)?,
                &Step::Mark(mark) => self.driver.record(self.marks[mark])?,
            }
        }
        Ok(())
    }

    fn steps(&self, key: Key) -> Vec<Step> {
        let p = &self.pieces;
        let (draft, verify) = (self.at(p.draft), self.at(p.verify));
        let window = |mask, peaks| {
            let pass = Pass {
                rows: key.sequences * key.window,
                window: key.window,
                mask,
                chunks: key.chunks,
                bulk: false,
                ids: self.at(p.ids),
                positions: DevicePtr(0),
                features: DevicePtr(0),
                feature_rows: 0,
                hidden: self.at(p.hidden),
                x: self.at(p.x),
                parts: self.at(p.parts),
                queries: self.at(p.queries),
                attention: self.at(p.attention),
                attention_parts: self.at(p.attention_parts),
                attention_weights: self.at(p.attention_weights),
                inner: self.at(p.inner),
            };
            let t = &self.config.text;
            let mut launches = forward::decoder(t, &self.text, self.caches, &pass);
            launches.extend(forward::head(t, &self.text, pass.x, pass.rows, self.at(p.peak_parts), peaks));
            launches.into_iter().map(Step::Launch)
        };
        match key.kind {
            Kind::Forward(mask) => window(mask, verify).collect(),
            Kind::Round(filler) => {
                let round = RoundArguments {
                    slots: self.caches.slots.0,
                    sequence_slots: self.caches.sequence_slots.0,
                    ids: self.at(p.ids).0,
                    draft: draft.0,
                    verify: verify.0,
                    records: self.at(p.records).0,
                    ends: self.at(p.ends).0,
                    sequences: key.sequences as i32,
                    window: key.window as i32,
                    filler: filler as i32,
                    end_count: self.ends as i32,
                };
                let mut steps = vec![Step::Mark(0), Step::Launch(round.begin())];
                steps.extend(window(mask::DRAFT, draft));
                steps.extend([Step::Mark(1), Step::Launch(round.begin_verify())]);
                steps.extend(window(mask::CAUSAL, verify));
                steps.extend([Step::Launch(round.settle()), Step::Mark(2)]);
                steps
            }
        }
    }

    fn at(&self, piece: usize) -> DevicePtr {
        self.window.offset(piece)
    }

    /// Notes where a request stands.
    fn slot(&mut self, lease: &Lease, cached: usize, shift: i32, boundary: u32) {
        if let Some(slot) = self.slots.get_mut(lease.slot) {
            slot.cached = cached as i32;
            slot.shift = shift;
            slot.boundary = boundary as i32;
            slot.state = state::RUNNING;
        }
    }

    /// Uploads all slots, and which of them takes part.
    fn control(&mut self, sequence_slots: &[i32]) -> Result<(), DeviceError> {
        self.control_and_ids(sequence_slots, &[])
    }

    fn control_and_ids(&mut self, sequence_slots: &[i32], ids: &[i32]) -> Result<(), DeviceError> {
        // The three pieces follow each other: one copy.
        let start = self.pieces.slots;
        let mut bytes: Vec<u8> = self.slots.iter().flat_map(|slot| slot.bytes().to_vec()).collect();
        bytes.resize(self.pieces.sequence_slots - start, 0);
        bytes.extend(words(sequence_slots));
        if !ids.is_empty() {
            bytes.resize(self.pieces.ids - start, 0);
            bytes.extend(words(ids));
        }
        Ok(self.driver.upload(self.at(start), &bytes)?)
    }

    /// Buffers of so many bytes for the tower or for prefill.
    fn room(&mut self, bytes: usize) -> Result<DevicePtr, DeviceError> {
        if bytes > self.bulk.1 {
            let free = self.driver.memory()?.free + self.bulk.1 as u64;
            if bytes as u64 > free {
                let error = DriverError::OutOfMemory { needed: bytes as u64, free };
                return Err(DeviceError::unfit(error.to_string()));
            }
            self.driver.release(self.bulk.0)?;
            self.bulk = (DevicePtr(0), 0);
            self.bulk = (self.driver.alloc(bytes)?, bytes);
        }
        Ok(self.bulk.0)
    }

    fn read(&mut self, from: DevicePtr, bytes: usize) -> Result<Vec<u8>, DeviceError> {
        let mut read = Vec::with_capacity(bytes);
        self.driver.download(from, bytes)?;
        self.driver.wait(&mut read)?;
        Ok(read)
    }

    fn floats(&mut self, from: DevicePtr, count: usize) -> Result<Vec<f32>, DeviceError> {
        let bytes = self.read(from, count * 4)?;
        Ok(bytes.chunks_exact(4).map(float).collect())
    }

    fn peaks(&mut self, from: DevicePtr, rows: usize) -> Result<Vec<Peak>, DeviceError> {
        let bytes = self.read(from, rows * size_of::<abi::Peak>())?;
        Ok(bytes.chunks_exact(size_of::<abi::Peak>()).map(peak).collect())
    }
}

fn code(mask: Mask) -> i32 {
    match mask {
        Mask::Causal => mask::CAUSAL,
        Mask::Draft => mask::DRAFT,
        Mask::Block => mask::BLOCK,
    }
}

/// The beginning of an `abi::Peak`.
fn peak(bytes: &[u8]) -> Peak {
    Peak { id: int(bytes).max(0) as u32, probability: float(&bytes[4..]) }
}

fn int(bytes: &[u8]) -> i32 {
    bytes.first_chunk().map_or(0, |word| i32::from_le_bytes(*word))
}

fn float(bytes: &[u8]) -> f32 {
    bytes.first_chunk().map_or(0.0, |word| f32::from_le_bytes(*word))
}

fn words(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
