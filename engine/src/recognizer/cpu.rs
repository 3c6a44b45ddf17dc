//! The model on the processor.

use std::sync::Arc;

use kernels::{Format, Kernel};

use super::lanes::{Lanes, Task};
use super::local::{Local, guarded, milliseconds};
use super::{Abilities, Answer, Recognizer, Request, Sink, Step};
use crate::cancel::Cancel;
use crate::checkpoint::{Checkpoint, Unit};
use crate::decode::{Decode, Drafter};
use crate::engine::{EngineError, thread_pool};
use crate::model::Model;
use crate::page::Status;

/// A checkpoint on the processor. Lines are read side by side, each on one thread; a region keeps all threads busy.
pub struct CpuRecognizer {
    lanes: Lanes,
    abilities: Abilities,
}

struct Reader {
    local: Local,
    model: Model,
}

impl CpuRecognizer {
    /// Loads a checkpoint's weights for the given kernels, to compute in the given format ([`Model::load`]) on the threads
    /// of a pool.
    ///
    /// # Errors
    /// Weights that cannot be used, or no threads.
    pub fn new(
        checkpoint: Checkpoint,
        kernel: Kernel<'static>,
        format: Format,
        pool: Arc<rayon::ThreadPool>,
    ) -> Result<Self, EngineError> {
        let model = pool.install(|| Model::load(&checkpoint, kernel, format))?;
        let reader = Arc::new(Reader { model, local: Local::new(checkpoint) });
        // A line on a pool of its own single thread: no kernel waits for another thread's share, and picks up nothing
        // else in the meantime.
        let pools = match reader.local.checkpoint.traits.unit {
            Unit::Region => vec![pool],
            Unit::Line { .. } => {
                (0..pool.current_num_threads()).map(|_| thread_pool(Some(1)).map(Arc::new)).collect::<Result<_, _>>()?
            }
        };
        let abilities = reader.local.abilities(pools.len());
        let lane = |pool: Arc<rayon::ThreadPool>| {
            let reader = Arc::clone(&reader);
            move |task: Task| pool.install(|| reader.read(task))
        };
        let lanes = Lanes::start("reader", pools.into_iter().map(lane).collect())?;
        Ok(Self { lanes, abilities })
    }
}

impl Recognizer for CpuRecognizer {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        self.lanes.submit(Task { request, sink, cancel });
    }
}

impl Reader {
    /// Never fails: what went wrong is the answer's status.
    fn read(&self, Task { request, sink, cancel }: Task) {
        let mut answer = Answer::nothing(Status::Cancelled);
        if !cancel.is_cancelled() {
            sink.step(Step::Started);
            if let Err(message) = guarded(|| self.decode(&request, &*sink, &cancel, &mut answer)) {
                answer.status = Status::Failed(message);
            }
        }
        sink.answer(Ok(answer));
    }

    fn decode(&self, request: &Request, sink: &dyn Sink, cancel: &Cancel, answer: &mut Answer) -> Result<(), String> {
        let Some(prepared) = self.local.prepare(request, cancel)? else { return Ok(()) };
        let Ok(image) = self.model.encode_image(&prepared.patches, cancel) else { return Ok(()) };
        answer.timings.vision_ms = milliseconds(prepared.start);
        let mut session = self.model.session(&prepared.prompt, &image, cancel);
        let drafter = self.local.checkpoint.drafter().map(|drafter| match request.options.decode {
            Decode::Spec { .. } => Drafter { block: self.model.draft_length(drafter.block), ..drafter },
            Decode::Ar | Decode::Diffusion { .. } => drafter,
        });
        let bounds = (drafter, Local::max_tokens(request, &image));
        self.local.converse(&mut session, bounds, request, prepared.start, (sink, cancel), answer)
    }
}
