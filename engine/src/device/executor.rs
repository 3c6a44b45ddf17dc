//! A card with the model on it: uploads, launches and graphs, reads back.

use kernels::cuda::abi::{self, Pod, RoundArguments, bytes_of, mask, state, values_of};
use kernels::cuda::driver::{DevicePtr, Driver, DriverError, Event};

use super::forward::{self, Caches, Pass};
use super::graphs::{GraphKey, GraphKind, Graphs, Node};
use super::plan::{self, ENDS, Plan, WindowPieces, chunk_bucket, sequence_bucket};
use super::pool::Pool;
use super::rounds::{Answer, Rounds};
use super::weights::{self, TextWeights, VisionWeights};
use super::{DeviceError, Lease, Step, Work};
use crate::checkpoint::{ModelConfig, Weights};
use crate::decode::{Fused, Mask, Peak};

/// What a request gets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// The arg-max of each row of its window, and all logits where they were asked for.
    Peaks(Vec<Peak>, Vec<f32>),
    /// A whole round.
    Round(Fused),
}

pub(super) struct Executor {
    pub(super) driver: Box<dyn Driver>,
    pub(super) config: ModelConfig,
    pub(super) text: TextWeights,
    pub(super) vision: VisionWeights,
    /// Where the window's buffers begin, and their offsets.
    pub(super) window: DevicePtr,
    pub(super) pieces: WindowPieces,
    pub(super) caches: Caches,
    /// Buffers of the tower and of prefill, and their bytes.
    pub(super) bulk: (DevicePtr, usize),
    pub(super) slots: Vec<abi::Slot>,
    pub(super) free: Vec<usize>,
    pub(super) pool: Pool,
    pub(super) ends: usize,
    pub(super) graphs: Graphs,
    pub(super) rounds: Rounds,
    /// Before a round, between draft and verification, after it.
    pub(super) marks: [Event; 3],
    /// The fault that ended the use of this card.
    pub(super) broken: Option<DeviceError>,
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
        plan: &Plan,
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
        let pieces = plan::window_pieces(config, extent).0;
        let window = driver.alloc(plan.window)?;
        driver.clear(window, plan.window)?;
        let bulk = (driver.alloc(plan.bulk)?, plan.bulk);
        let ends = &end_tokens[..end_tokens.len().min(ENDS)];
        driver.upload(window.offset(pieces.ends), bytes_of(ends))?;
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
            ends: ends.len(),
            graphs: Graphs::default(),
            rounds: Rounds::new(extent.sequences),
            marks,
            broken: None,
            driver,
        })
    }

    /// Runs something, after the round that is under way. After a fault nothing runs any more, because a context that
    /// failed once fails for good.
    pub(super) fn guarded<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        if let Some(fault) = &self.broken {
            return Err(fault.clone());
        }
        let done = self.finish_round().and_then(|()| run(self));
        if let Err(error) = &done
            && matches!(error, DeviceError::Failed(_))
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
            self.rounds.forget(lease.slot);
            self.free.push(lease.slot);
            self.pool.give(lease.range);
        }
    }

    /// Runs what several requests want, all of one kind, window size and mask; none for a request that is to ask again.
    /// `more`: other work waits.
    pub(super) fn run(&mut self, batch: &[Work], more: bool) -> Result<Vec<Option<Answer>>, DeviceError> {
        match batch.first().map(|work| &work.step) {
            Some(&Step::Round { drafter, .. }) => self.rounds(batch, drafter, more),
            Some(Step::Window { ids, mask, with_logits }) => self.windows(batch, ids.len(), *mask, *with_logits),
            None => Ok(Vec::new()),
        }
    }

    fn windows(
        &mut self,
        batch: &[Work],
        rows: usize,
        mask: Mask,
        with_logits: bool,
    ) -> Result<Vec<Option<Answer>>, DeviceError> {
        if rows == 0 || rows > abi::MAX_WINDOW {
            return Err(DeviceError::Unfit(format!(
                "the card takes windows of 1 to {} tokens, not {rows}",
                abi::MAX_WINDOW
            )));
        }
        let fits: Vec<bool> = batch.iter().map(|work| work.cached + rows <= self.capacity(&work.lease)).collect();
        let fitting: Vec<&Work> = batch.iter().zip(&fits).filter(|&(_, &fits)| fits).map(|(work, _)| work).collect();
        let mut outcomes = self.window(&fitting, rows, mask, with_logits)?.into_iter();
        let answer = |&fits: &bool| if fits { outcomes.next().ok_or_else(no_room) } else { Err(no_room()) };
        Ok(fits.iter().map(answer).map(Some).collect())
    }

    /// A forward of windows that fit.
    fn window(
        &mut self,
        batch: &[&Work],
        rows: usize,
        mask: Mask,
        with_logits: bool,
    ) -> Result<Vec<Outcome>, DeviceError> {
        let Some(longest) = batch.iter().map(|work| work.cached + rows).max() else { return Ok(Vec::new()) };
        let sequences = self.bucket(batch.len());
        let mut ids = Vec::with_capacity(batch.len() * rows);
        for work in batch {
            if let Step::Window { ids: window, .. } = &work.step {
                ids.extend(window.iter().map(|&id| id as i32));
            }
            self.set_slot(&work.lease, work.cached, work.shift, 0);
        }
        let leases: Vec<&Lease> = batch.iter().map(|work| &work.lease).collect();
        self.control(&leases, sequences, &ids)?;
        self.play(GraphKey {
            kind: GraphKind::Forward(code(mask)),
            sequences,
            window: rows,
            chunks: chunk_bucket(longest),
        })?;
        let peaks = self.peaks(self.at(self.pieces.verify), batch.len() * rows)?;
        let mut logits = Vec::new();
        if with_logits {
            let out = self.at(self.pieces.logits);
            let launch = forward::logits(&self.config.text, &self.text, self.at(self.pieces.x), rows, out);
            self.driver.launch(&launch)?;
            logits = self.read(out, rows * self.config.text.vocab_size)?;
        }
        // What wants logits runs alone.
        let outcome = |peaks: &[Peak]| Outcome::Peaks(peaks.to_vec(), std::mem::take(&mut logits));
        Ok(peaks.chunks_exact(rows).map(outcome).collect())
    }

    /// Sequences of a launch that serves so many requests: few sizes, so that few graphs serve all.
    pub(super) fn bucket(&self, requests: usize) -> usize {
        sequence_bucket(requests).min(self.slots.len())
    }

    /// Tokens that a request's cache holds.
    pub(super) fn capacity(&self, lease: &Lease) -> usize {
        self.slots.get(lease.slot).map_or(0, |slot| slot.capacity.max(0) as usize)
    }

    /// Starts what `key` says; says whether a graph did it.
    pub(super) fn play(&mut self, key: GraphKey) -> Result<bool, DeviceError> {
        if let Some(graph) = self.graphs.get(key) {
            self.driver.replay(graph)?;
            return Ok(true);
        }
        let nodes = self.nodes(key);
        Ok(self.graphs.start(self.driver.as_mut(), key, &nodes)?)
    }

    /// The launches of a key.
    fn nodes(&self, key: GraphKey) -> Vec<Node> {
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
            launches.into_iter().map(Node::Launch)
        };
        let round = |filler: u32| RoundArguments {
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
        let [start, middle, end] = self.marks;
        match key.kind {
            GraphKind::Forward(mask) => window(mask, verify).collect(),
            GraphKind::Token => {
                let step = round(0);
                let mut nodes = vec![Node::Mark(start), Node::Launch(step.begin())];
                nodes.extend(window(mask::CAUSAL, verify));
                nodes.extend([Node::Launch(step.settle()), Node::Mark(middle), Node::Mark(end)]);
                nodes
            }
            GraphKind::Round(filler) => {
                let round = round(filler);
                let mut nodes = vec![Node::Mark(start), Node::Launch(round.begin())];
                nodes.extend(window(mask::DRAFT, draft));
                nodes.extend([Node::Mark(middle), Node::Launch(round.begin_verify())]);
                nodes.extend(window(mask::CAUSAL, verify));
                nodes.extend([Node::Launch(round.settle()), Node::Mark(end)]);
                nodes
            }
        }
    }

    pub(super) fn at(&self, piece: usize) -> DevicePtr {
        self.window.offset(piece)
    }

    /// Notes in a request's slot how far it is.
    pub(super) fn set_slot(&mut self, lease: &Lease, cached: usize, shift: i32, boundary: u32) {
        if let Some(slot) = self.slots.get_mut(lease.slot) {
            slot.cached = cached as i32;
            slot.shift = shift;
            slot.boundary = boundary as i32;
            slot.state = state::RUNNING;
        }
    }

    /// Uploads all slots, which of them take part in a launch of so many sequences, and the ids of their windows.
    pub(super) fn control(&mut self, leases: &[&Lease], sequences: usize, ids: &[i32]) -> Result<(), DeviceError> {
        // The three pieces follow each other: one copy.
        let start = self.pieces.slots;
        let mut bytes = bytes_of(&self.slots).to_vec();
        bytes.resize(self.pieces.sequence_slots - start, 0);
        let mut taking_part: Vec<i32> = leases.iter().map(|lease| lease.slot as i32).collect();
        taking_part.resize(sequences, -1);
        bytes.extend(bytes_of(&taking_part));
        if !ids.is_empty() {
            bytes.resize(self.pieces.ids - start, 0);
            bytes.extend(bytes_of(ids));
        }
        Ok(self.driver.upload(self.at(start), &bytes)?)
    }

    /// Waits for the copy that was started, of values of this kind.
    pub(super) fn end_reading<T: Pod>(&mut self) -> Result<Vec<T>, DeviceError> {
        let mut read = Vec::new();
        self.driver.wait(&mut read)?;
        Ok(values_of(&read))
    }

    pub(super) fn read<T: Pod>(&mut self, from: DevicePtr, count: usize) -> Result<Vec<T>, DeviceError> {
        self.driver.download(from, count * size_of::<T>())?;
        self.end_reading()
    }

    pub(super) fn peaks(&mut self, from: DevicePtr, rows: usize) -> Result<Vec<Peak>, DeviceError> {
        Ok(self.read(from, rows)?.iter().map(peak).collect())
    }
}

fn code(mask: Mask) -> i32 {
    match mask {
        Mask::Causal => mask::CAUSAL,
        Mask::Draft => mask::DRAFT,
        Mask::Block => mask::BLOCK,
    }
}

/// What a request hears whose cache is full.
pub(super) fn no_room() -> DeviceError {
    DeviceError::Unfit("the answer is longer than the card has room for".to_owned())
}

pub(super) fn peak(peak: &abi::Peak) -> Peak {
    Peak { id: peak.id.max(0) as u32, probability: peak.probability }
}
