//! The unpacked records of finished regions, shared by all views and kept while they are looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use eframe::egui::{Context, Id};

use super::workspace::detail::Detail;
use super::workspace::log::{RequestLog, RequestText};

/// Passes after which what was not looked at is forgotten.
const KEPT: u64 = 120;
/// Packed bytes that are unpacked on the spot, within a few milliseconds; more of them on a thread.
const AT_ONCE: usize = 32 << 10;
/// Threads that unpack at a time.
const THREADS: usize = 2;

/// A finished region's requests in reading order, with the text of each.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) requests: Vec<(RequestLog, RequestText)>,
}

impl From<&Detail> for Record {
    fn from(detail: &Detail) -> Self {
        let requests = detail.logs().into_iter().map(|log| {
            let text = RequestText::after(&log.steps);
            (log, text)
        });
        Self { requests: requests.collect() }
    }
}

/// What is unpacked, by the address of what it was unpacked from.
type Kept = Arc<Mutex<HashMap<usize, Entry>>>;

struct Entry {
    /// Held, so that nothing else can come to lie at its address.
    _detail: Detail,
    /// None while a thread unpacks it.
    record: Option<Arc<Record>>,
    used: u64,
}

/// A record; none while a large one is being unpacked, after which the window is drawn again.
pub(crate) fn record(context: &Context, detail: &Detail) -> Option<Arc<Record>> {
    let kept =
        context.data_mut(|data| Arc::clone(data.get_temp_mut_or_default::<Kept>(Id::unique("unpacked records"))));
    let mut entries = kept.lock().unwrap_or_else(PoisonError::into_inner);
    let (now, address) = (context.cumulative_pass_nr(), detail.bytes().as_ptr() as usize);
    if let Some(entry) = entries.get_mut(&address) {
        entry.used = now;
        return entry.record.clone();
    }
    // What a thread still works on stays, so that it is not begun again.
    entries.retain(|_, entry| entry.record.is_none() || now.saturating_sub(entry.used) < KEPT);
    let mut entry = Entry { _detail: detail.clone(), record: None, used: now };
    if detail.bytes().len() > AT_ONCE {
        if entries.values().filter(|entry| entry.record.is_none()).count() >= THREADS {
            return None; // The next one begins when one of them is done and the window is drawn.
        }
        if unpack_behind(context.clone(), Arc::clone(&kept), detail.clone()) {
            entries.insert(address, entry);
            return None;
        }
    }
    let record = Arc::new(Record::from(detail));
    entry.record = Some(Arc::clone(&record));
    entries.insert(address, entry);
    Some(record)
}

/// Unpacks on a thread; whether there is one.
fn unpack_behind(context: Context, kept: Kept, detail: Detail) -> bool {
    let unpack = move || {
        let record = Arc::new(Record::from(&detail));
        let mut entries = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get_mut(&(detail.bytes().as_ptr() as usize)) {
            entry.record = Some(record);
        }
        drop(entries);
        context.request_repaint();
    };
    std::thread::Builder::new().name("unpack record".to_owned()).spawn(unpack).is_ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::workspace::detail::Contents;
    use super::super::workspace::log::{Step, What};
    use super::*;

    /// A record of so many rounds, whose text packs badly.
    fn detail(rounds: u32) -> Detail {
        let drafted = |round: u32| {
            let text = format!("{:x}", u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            Step { at_ms: f64::from(round), what: What::Drafted { round, text } }
        };
        let log = RequestLog { steps: (0..rounds).map(drafted).collect(), ..RequestLog::default() };
        Detail::pack(&Contents { logs: vec![log], ..Contents::default() })
    }

    #[test]
    fn small_records_are_there_at_once_and_only_once() {
        let (context, detail) = (Context::default(), detail(20));
        let first = record(&context, &detail).unwrap();
        assert_eq!(first.requests[0].0.steps.len(), 20);
        assert!(Arc::ptr_eq(&first, &record(&context, &detail.clone()).unwrap()));
    }

    #[test]
    fn large_records_come_from_a_thread() {
        let (context, details) = (Context::default(), [(); 4].map(|()| detail(5000)));
        assert!(details[0].bytes().len() > AT_ONCE);
        assert!(details.iter().all(|detail| record(&context, detail).is_none()));
        let end = Instant::now() + Duration::from_secs(20);
        while !details.iter().all(|detail| record(&context, detail).is_some()) {
            assert!(Instant::now() < end);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(record(&context, &details[3]).unwrap().requests[0].0.steps.len(), 5000);
        assert!(context.has_requested_repaint());
    }
}
