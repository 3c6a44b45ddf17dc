//! The model on a card.

use std::sync::Arc;

use super::lanes::{Lanes, Task};
use super::local::{Local, Prepared, guarded, milliseconds};
use super::{Abilities, Answer, Fault, Recognizer, Request, Sink, Step};
use crate::cancel::Cancel;
use crate::checkpoint::Checkpoint;
use crate::device::{DeviceError, DeviceModel};
use crate::engine::EngineError;
use crate::page::Status;

/// A checkpoint on a card. What the card has no room for, or fails on, is a fault that something else may mend.
pub struct CardRecognizer {
    lanes: Lanes,
    abilities: Abilities,
    card: Arc<DeviceModel>,
}

struct Reader {
    local: Local,
    card: Arc<DeviceModel>,
    /// The processor's threads, for what is done to pictures before they go to the card.
    pool: Arc<rayon::ThreadPool>,
}

impl CardRecognizer {
    /// A card with the checkpoint's model on it. Pictures are prepared on the threads of the pool.
    ///
    /// # Errors
    /// The system gave no threads.
    pub fn new(checkpoint: Checkpoint, card: DeviceModel, pool: Arc<rayon::ThreadPool>) -> Result<Self, EngineError> {
        let card = Arc::new(card);
        let reader = Arc::new(Reader { local: Local::new(checkpoint), card: Arc::clone(&card), pool });
        let abilities = reader.local.abilities(card.sequences());
        let lane = |_| {
            let reader = Arc::clone(&reader);
            move |task: Task| reader.read(task)
        };
        // These threads mostly wait for the card.
        let lanes = Lanes::start("card", (0..card.sequences()).map(lane).collect())?;
        Ok(Self { lanes, abilities, card })
    }
}

impl Recognizer for CardRecognizer {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    fn submit(&self, request: Arc<Request>, sink: Box<dyn Sink>, cancel: Cancel) {
        self.lanes.submit(Task { request, sink, cancel });
    }

    fn fault(&self) -> Option<String> {
        self.card.fault()
    }
}

impl Reader {
    fn read(&self, Task { request, sink, cancel }: Task) {
        if let Some(fault) = self.card.fault() {
            return sink.answer(Err(Fault(fault)));
        }
        let mut answer = Answer::nothing(Status::Cancelled);
        if !cancel.is_cancelled() {
            sink.step(Step::Started);
            match guarded(|| self.pool.install(|| self.local.prepare(&request, &cancel))) {
                Ok(None) => {}
                Ok(Some(prepared)) => {
                    if let Err(fault) = guarded(|| self.decode(&request, &prepared, &*sink, &cancel, &mut answer)) {
                        return sink.answer(Err(Fault(fault)));
                    }
                }
                Err(message) => answer.status = Status::Failed(message),
            }
        }
        sink.answer(Ok(answer));
    }

    fn decode(
        &self,
        request: &Request,
        prepared: &Prepared,
        sink: &dyn Sink,
        cancel: &Cancel,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let image = match self.card.encode_image(&prepared.patches, cancel) {
            Err(DeviceError::Cancelled) => return Ok(()),
            encoded => encoded.map_err(|e| e.to_string())?,
        };
        answer.timings.vision_ms = milliseconds(prepared.start);
        let max_tokens = Local::max_tokens(request, &image);
        let mut session = match self.card.session(&prepared.prompt, &image, max_tokens, cancel) {
            Err(DeviceError::Cancelled) => return Ok(()),
            session => session.map_err(|e| e.to_string())?,
        };
        let bounds = (self.local.checkpoint.drafter(), max_tokens);
        self.local.converse(&mut session, bounds, request, prepared.start, (sink, cancel), answer)
    }
}
