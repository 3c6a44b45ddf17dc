//! Runs and races on the engine: starting them, waking the engine for them, and taking in what it says; and the devices
//! that it can run on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::event::Outcome;

use super::app::{Window, waker};
use super::state::{EngineState, Modal, Tone};
use super::workspace::background_task::BackgroundTask;
use super::workspace::notice::Notice;
use super::workspace::race::{Race, RaceAsk};
use super::workspace::run::Scope;
use crate::reader::Next;

impl Window {
    /// Reads what was asked for, when the engine is there; wakes it first when it is not.
    pub(super) fn recognize(&mut self, scope: Scope) {
        if self.state.is_busy() {
            self.state.tell(Tone::Warning, Notice::Busy);
            return;
        }
        let Some(reader) = &self.reader else {
            if let EngineState::Failed(_) = self.state.engine {
                self.state.engine = EngineState::Asleep; // the folder may be mended by now
            }
            self.state.pending = Some(scope);
            self.wake_engine();
            return;
        };
        let Some((document, orders)) = self.state.orders(&scope) else { return };
        let Some(job) = self.state.job(document, &orders) else { return };
        match reader.start(job, self.waker()) {
            Ok(job) => self.state.begin_run(document, orders, job),
            Err(message) => self.state.tell(Tone::Error, message),
        }
    }

    /// Does what is asked of a race.
    pub(super) fn race(&mut self, ask: RaceAsk) {
        match ask {
            RaceAsk::Start(_) if self.state.is_busy() => self.state.tell(Tone::Warning, Notice::Busy),
            RaceAsk::Start(id) => {
                let Some(key) = self.state.view.page else { return };
                let Some(job) = self.state.race_job(key, id) else { return };
                self.state.race = Some(Race::new(id, key, job));
                self.state.modal = Some(Modal::Race);
                self.wake_engine();
            }
            ask => {
                if let Some(race) = &mut self.state.race {
                    race.ask(ask);
                }
                if ask == RaceAsk::Close {
                    self.state.race = None;
                    self.state.modal.take_if(|modal| *modal == Modal::Race);
                }
            }
        }
    }

    /// Takes in what a race has to say; whether there is more.
    pub(super) fn hear_race(&mut self, until: Instant) -> bool {
        let (Some(reader), EngineState::Ready(info)) = (&self.reader, &self.state.workspace.engine) else {
            return false;
        };
        let Some(race) = &mut self.state.race else { return false };
        race.drain(&**reader, info.only_ar.as_deref(), &|| waker(&self.context), until)
    }

    /// Takes in what the run has to say; whether there is more.
    pub(super) fn hear_run(&mut self, until: Instant) -> bool {
        loop {
            let Some(run) = &mut self.state.run else { return false };
            match run.job.next(Duration::ZERO) {
                Next::Event(event) => self.state.run_event(event),
                Next::Quiet => return false,
                // An engine that was let go goes without a word.
                Next::Gone if run.cancelled => self.state.end_run(Outcome::Cancelled),
                Next::Gone => {
                    self.state.end_run(Outcome::Failed(Notice::EngineGone.to_string()));
                    self.drop_engine(); // the next recognition starts another
                }
            }
            if Instant::now() >= until {
                return true;
            }
        }
    }

    /// Asks for what the settings are going to show.
    pub(super) fn list_devices(&mut self) {
        self.state.devices.size_up(&self.state.workspace.settings);
        if self.state.devices.choices.is_empty() && self.listing.is_none() {
            let list = Arc::clone(&self.options.devices);
            self.listing = Some(BackgroundTask::start("devices", self.waker(), move || Ok(list())));
        }
    }

    /// Takes in the devices when they were found.
    pub(super) fn hear_devices(&mut self) {
        if let Some(found) = self.listing.as_ref().and_then(BackgroundTask::done) {
            self.listing = None;
            match found {
                Ok(choices) => self.state.devices.choices = choices,
                Err(message) => self.state.tell(Tone::Error, message),
            }
        }
    }
}
