//! The thread that reads the session at the start and writes it from then on.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Restored;
use super::store::{self, Snapshot, Store};
use crate::reader::Waker;

/// How long to wait before writing again what could not be written.
const RETRY: Duration = Duration::from_secs(5);
/// Longest time that closing the window waits for the thread.
const LAST: Duration = Duration::from_secs(10);

/// What the thread says.
pub(super) enum Told {
    Restored(Box<Restored>),
    /// Why something could not be written; said once until writing works again.
    Trouble(String),
}

/// The thread. Dropping it waits until all is written.
pub(super) struct Writer {
    queue: Arc<SaveQueue>,
    told: Receiver<Told>,
    thread: Option<JoinHandle<()>>,
}

/// Where the window leaves what is to be written.
#[derive(Default)]
struct SaveQueue {
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Default)]
struct Pending {
    snapshot: Option<Snapshot>,
    closing: bool,
}

impl Writer {
    pub(super) fn start(data_folder: PathBuf, waker: Waker) -> std::io::Result<Self> {
        let (sender, told) = sync_channel(8);
        let queue = Arc::new(SaveQueue::default());
        let work = WriterThread { queue: Arc::clone(&queue), sender, waker, troubled: false };
        let thread = std::thread::Builder::new().name("session".to_owned()).spawn(move || work.run(&data_folder))?;
        Ok(Self { queue, told, thread: Some(thread) })
    }

    /// What the thread has to say.
    pub(super) fn told(&self) -> Option<Told> {
        self.told.try_recv().ok()
    }

    /// Leaves something to be written; never waits for a file.
    pub(super) fn keep(&self, snapshot: Snapshot) {
        let mut pending = self.queue.pending.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut pending.snapshot {
            Some(waiting) => waiting.update(snapshot),
            None => pending.snapshot = Some(snapshot),
        }
        self.queue.changed.notify_one();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.pending.lock().unwrap_or_else(PoisonError::into_inner).closing = true;
        self.queue.changed.notify_one();
        let Some(thread) = self.thread.take() else { return };
        let until = Instant::now() + LAST;
        // A disk that hangs must not keep the window from closing.
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

struct WriterThread {
    queue: Arc<SaveQueue>,
    sender: SyncSender<Told>,
    waker: Waker,
    troubled: bool,
}

impl WriterThread {
    fn run(mut self, data_folder: &std::path::Path) {
        let (store, restored) = match store::claim(data_folder) {
            Ok((mut store, warnings)) => {
                let mut restored = store.restore();
                restored.warnings.extend(warnings);
                (Some(store), restored)
            }
            Err((path, error)) => {
                let warnings = vec![super::not_kept(&path, crate::output::reason(&error))];
                (None, Restored { warnings, ..Restored::default() })
            }
        };
        self.tell(Told::Restored(Box::new(restored)));
        if let Some(store) = store {
            self.write(store);
        }
    }

    fn tell(&self, told: Told) {
        // Nobody listens once the window closes; and a window that hears nothing needs no ninth word of trouble.
        let _ = self.sender.try_send(told);
        (self.waker)();
    }

    fn write(&mut self, mut store: Store) {
        let mut unwritten: Option<Snapshot> = None;
        loop {
            let (snapshot, closing) = self.wait(unwritten.is_some());
            match (&mut unwritten, snapshot) {
                (Some(waiting), Some(new)) => waiting.update(new),
                (None, Some(new)) => unwritten = Some(new),
                (_, None) => {}
            }
            if let Some(snapshot) = &mut unwritten {
                match store.save(snapshot) {
                    Ok(()) => {
                        unwritten = None;
                        self.troubled = false;
                    }
                    Err(sentence) if !self.troubled => {
                        self.troubled = true;
                        self.tell(Told::Trouble(sentence));
                    }
                    Err(_) => {}
                }
            }
            if closing {
                return;
            }
        }
    }

    /// Waits for something to write, for the end, or until it is time to try again.
    fn wait(&self, retry: bool) -> (Option<Snapshot>, bool) {
        let pending = self.queue.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |pending: &mut Pending| pending.snapshot.is_none() && !pending.closing;
        let mut pending = if retry {
            self.queue.changed.wait_timeout_while(pending, RETRY, idle).unwrap_or_else(PoisonError::into_inner).0
        } else {
            self.queue.changed.wait_while(pending, idle).unwrap_or_else(PoisonError::into_inner)
        };
        (pending.snapshot.take(), pending.closing)
    }
}
