//! A driver without a card: host memory, a record of every call, launches done by a function or not at all, faults on
//! demand. Tests of everything above the driver run on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::driver::{DeviceInfo, DevicePtr, Driver, DriverError, Event, Graph, MemoryInfo};
use super::launch::Launch;

/// One call as it was made.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Memory was taken, bytes.
    Alloc(usize),
    /// Bytes went to the device.
    Upload(DevicePtr, usize),
    /// Memory was zeroed.
    Clear(DevicePtr, usize),
    /// Bytes came back.
    Download(DevicePtr, usize),
    /// A kernel was started by itself.
    Launch(&'static str),
    /// A graph was captured, so many launches.
    Capture(usize),
    /// A graph ran.
    Replay(Graph),
}

/// The calls of a [`Fake`], readable while somebody else holds it.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<Mutex<Vec<Call>>>);

impl Log {
    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().clone()
    }

    /// How many calls so far are of a kind.
    pub fn count(&self, is_one: impl Fn(&Call) -> bool) -> usize {
        self.lock().iter().filter(|call| is_one(call)).count()
    }

    fn push(&self, call: Call) {
        self.lock().push(call);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does a launch on host memory: the addresses in it are host addresses. The error says why it could not.
pub type Execute = Box<dyn FnMut(&Launch) -> Result<(), String> + Send>;

/// A step of a graph.
enum Node {
    Launch(Launch),
    Record(Event),
}

/// Blocks that a fake card runs in a millisecond.
const BLOCKS_PER_MS: f32 = 1000.0;

/// The driver. Its addresses are those of host memory that it owns.
pub struct Fake {
    info: DeviceInfo,
    capacity: u64,
    blocks: BTreeMap<u64, Vec<u128>>,
    graphs: Vec<Vec<Node>>,
    capture: Option<Vec<Node>>,
    pending: Vec<u8>,
    /// Blocks that had run when each event was recorded.
    events: Vec<u64>,
    /// Blocks that have run: the time of this card.
    blocks_run: u64,
    calls: Log,
    execute: Option<Execute>,
    /// Successful launches and replays before each one fails.
    runs_left: Option<usize>,
    refuses_graphs: bool,
    /// Called whenever the host waits for the card.
    when_waited_for: Option<Box<dyn FnMut() + Send>>,
    /// Bytes that there are in one piece at most.
    largest: u64,
}

impl Fake {
    /// A card with so many bytes of memory that runs nothing.
    pub fn new(capacity: u64) -> Self {
        let info = DeviceInfo {
            ordinal: 0,
            name: "Fake".to_owned(),
            capability: (9, 0),
            memory: capacity,
            multiprocessors: 132,
        };
        Self {
            info,
            capacity,
            blocks: BTreeMap::new(),
            graphs: Vec::new(),
            capture: None,
            pending: Vec::new(),
            events: Vec::new(),
            blocks_run: 0,
            calls: Log::default(),
            execute: None,
            runs_left: None,
            refuses_graphs: false,
            when_waited_for: None,
            largest: u64::MAX,
        }
    }

    /// Has every launch done by `execute`, also those of replayed graphs.
    pub fn executing(mut self, execute: Execute) -> Self {
        self.execute = Some(execute);
        self
    }

    /// A card that runs the kernels themselves, compiled for this processor: slow, and right. It trusts the addresses in the
    /// launches, as a card does.
    #[cfg(feature = "cuda-emulation")]
    pub fn emulated(capacity: u64) -> Self {
        // SAFETY: the addresses are those of this driver's own blocks, which nobody else touches during a launch. That
        // they are the right ones is what a test with this driver is about.
        Self::new(capacity).executing(Box::new(|launch| unsafe { super::emulation::run(launch) }))
    }

    /// Lets so many launches and replays succeed and fails the rest, as a card does that fell off the bus.
    pub fn fail_after(&mut self, runs: usize) {
        self.runs_left = Some(runs);
    }

    /// Makes no graphs, as an old driver does that does not know what is captured.
    pub fn refuse_graphs(&mut self) {
        self.refuses_graphs = true;
    }

    /// Calls this whenever the host waits for the card to finish.
    pub fn when_waited_for(&mut self, call: impl FnMut() + Send + 'static) {
        self.when_waited_for = Some(Box::new(call));
    }

    /// Has no more bytes than so many in one piece, whatever is free altogether.
    pub fn fragment(&mut self, largest: u64) {
        self.largest = largest;
    }

    /// The calls, also those still to come.
    pub fn log(&self) -> Log {
        self.calls.clone()
    }

    /// Bytes taken.
    pub fn taken(&self) -> u64 {
        self.blocks.values().map(|block| size_of_val(block.as_slice()) as u64).sum()
    }

    /// The bytes at an address.
    ///
    /// # Errors
    /// When they do not lie inside one allocation.
    pub fn bytes(&mut self, at: DevicePtr, length: usize) -> Result<&mut [u8], DriverError> {
        let outside = || DriverError::failed("reach the device's memory", "the address is outside every allocation");
        let (&start, block) = self.blocks.range_mut(..=at.0).next_back().ok_or_else(outside)?;
        let offset = (at.0 - start) as usize;
        if offset.checked_add(length).is_none_or(|end| end > size_of_val(block.as_slice())) {
            return Err(outside());
        }
        // SAFETY: the range was just checked to lie inside the block, any bytes are u8, and `self` is borrowed.
        Ok(unsafe { std::slice::from_raw_parts_mut(block.as_mut_ptr().cast::<u8>().add(offset), length) })
    }

    /// Does a launch, which takes its time.
    fn execute(&mut self, launch: &Launch) -> Result<(), DriverError> {
        self.blocks_run += launch.grid.iter().map(|&n| u64::from(n)).product::<u64>();
        match &mut self.execute {
            Some(execute) => execute(launch).map_err(|reason| DriverError::failed("run a kernel", reason)),
            None => Ok(()),
        }
    }

    /// Counts a launch or replay.
    fn run(&mut self) -> Result<(), DriverError> {
        match &mut self.runs_left {
            Some(0) => Err(DriverError::failed("run a kernel", "unspecified launch failure")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Driver for Fake {
    fn device(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&mut self) -> Result<MemoryInfo, DriverError> {
        Ok(MemoryInfo { free: self.capacity - self.taken(), total: self.capacity })
    }

    fn alloc(&mut self, bytes: usize) -> Result<DevicePtr, DriverError> {
        let free = self.capacity - self.taken();
        let units = bytes.div_ceil(256).max(1) * 16;
        if (units * 16) as u64 > free.min(self.largest) {
            return Err(DriverError::OutOfMemory { needed: bytes as u64, free });
        }
        self.calls.push(Call::Alloc(bytes));
        let block = vec![0u128; units];
        let at = block.as_ptr() as u64;
        self.blocks.insert(at, block);
        Ok(DevicePtr(at))
    }

    fn release(&mut self, memory: DevicePtr) -> Result<(), DriverError> {
        let known = self.blocks.remove(&memory.0).is_some();
        if known { Ok(()) } else { Err(DriverError::failed("release memory", "it was never taken")) }
    }

    fn upload(&mut self, to: DevicePtr, bytes: &[u8]) -> Result<(), DriverError> {
        self.calls.push(Call::Upload(to, bytes.len()));
        self.bytes(to, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    fn clear(&mut self, at: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.calls.push(Call::Clear(at, bytes));
        self.bytes(at, bytes)?.fill(0);
        Ok(())
    }

    fn copy(&mut self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        let read = self.bytes(from, bytes)?.to_vec();
        self.bytes(to, bytes)?.copy_from_slice(&read);
        Ok(())
    }

    fn download(&mut self, from: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.calls.push(Call::Download(from, bytes));
        self.pending = self.bytes(from, bytes)?.to_vec();
        Ok(())
    }

    fn wait(&mut self, into: &mut Vec<u8>) -> Result<(), DriverError> {
        into.append(&mut self.pending);
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError> {
        if launch.grid.contains(&0) {
            return Ok(());
        }
        if let Some(capture) = &mut self.capture {
            capture.push(Node::Launch(launch.clone()));
            return Ok(());
        }
        self.run()?;
        self.calls.push(Call::Launch(launch.kernel));
        self.execute(launch)
    }

    fn begin_capture(&mut self) -> Result<(), DriverError> {
        self.capture = Some(Vec::new());
        Ok(())
    }

    fn end_capture(&mut self) -> Result<Graph, DriverError> {
        let nodes = self.capture.take().ok_or_else(|| DriverError::failed("end a graph", "none was begun"))?;
        if self.refuses_graphs {
            return Err(DriverError::failed("end a graph", "operation not supported"));
        }
        let launches = nodes.iter().filter(|node| matches!(node, Node::Launch(_))).count();
        self.calls.push(Call::Capture(launches));
        self.graphs.push(nodes);
        Ok(Graph(self.graphs.len() - 1))
    }

    fn replay(&mut self, graph: Graph) -> Result<(), DriverError> {
        self.run()?;
        self.calls.push(Call::Replay(graph));
        let captured = self.graphs.get_mut(graph.0).map(std::mem::take);
        let nodes = captured.ok_or_else(|| DriverError::failed("run a graph", "it was never captured"))?;
        let done = nodes.iter().try_for_each(|node| match node {
            Node::Launch(launch) => self.execute(launch),
            &Node::Record(event) => self.record(event),
        });
        self.graphs[graph.0] = nodes;
        done
    }

    fn event(&mut self) -> Result<Event, DriverError> {
        self.events.push(0);
        Ok(Event(self.events.len() - 1))
    }

    fn record(&mut self, event: Event) -> Result<(), DriverError> {
        if let Some(capture) = &mut self.capture {
            capture.push(Node::Record(event));
        } else if let Some(at) = self.events.get_mut(event.0) {
            *at = self.blocks_run;
        }
        Ok(())
    }

    /// As if a card ran one block after the other, [`BLOCKS_PER_MS`] in a millisecond.
    fn elapsed_ms(&mut self, from: Event, to: Event) -> Result<f32, DriverError> {
        let at = |event: Event| self.events.get(event.0).copied().unwrap_or_default();
        Ok(at(to).saturating_sub(at(from)) as f32 / BLOCKS_PER_MS)
    }

    fn synchronize(&mut self) -> Result<(), DriverError> {
        if let Some(call) = &mut self.when_waited_for {
            call();
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_checked() {
        let mut card = Fake::new(4096);
        let a = card.alloc(1000).unwrap();
        assert_eq!(a.0 % 16, 0);
        assert_eq!(card.memory().unwrap(), MemoryInfo { free: 3072, total: 4096 });
        assert_eq!(card.alloc(3073), Err(DriverError::OutOfMemory { needed: 3073, free: 3072 }));
        card.upload(a.offset(900), &[7; 100]).unwrap();
        assert!(card.upload(a.offset(1000), &[7; 100]).is_err(), "past the block's 1024 bytes");
        card.download(a.offset(899), 2).unwrap();
        let mut got = Vec::new();
        card.wait(&mut got).unwrap();
        assert_eq!(got, [0, 7]);
        card.release(a).unwrap();
        assert!(card.release(a).is_err());
        assert_eq!(card.taken(), 0);
    }
}
