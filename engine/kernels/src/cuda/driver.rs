//! The narrow seam to a CUDA driver: memory, launches, graphs, events.
//!
//! Everything above it (buffer plan, forward sequences, graph cache, scheduler) is plain data and arithmetic, and runs
//! in tests over [`Fake`](super::fake::Fake).

use std::fmt;

use super::launch::Launch;

/// An address in the device's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    /// The address `bytes` further on.
    pub fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

/// What a card is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number: the N of `cuda:N`.
    pub ordinal: usize,
    /// Its name as the driver gives it.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Its memory, bytes.
    pub memory: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
}

/// The oldest compute capability that the kernels run on: bf16 tensor cores and asynchronous copies.
pub const OLDEST_CAPABILITY: (u32, u32) = (8, 0);
/// The oldest driver, as `cuDriverGetVersion` counts: CUDA 13.0.
pub const OLDEST_DRIVER: i32 = 13000;

/// Device memory, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Not taken by any program.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

/// Why a device cannot be used, or a call failed; displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverError {
    /// The program was built without the CUDA decoder.
    NotBuilt,
    /// There is no driver library on this machine.
    NoDriver,
    /// The driver is older than the kernels; its version as `cuDriverGetVersion` counts.
    DriverTooOld(i32),
    /// The driver knows no card of this number.
    NoDevice {
        /// The number asked for.
        ordinal: usize,
        /// Cards that there are.
        count: usize,
    },
    /// The card is older than [`OLDEST_CAPABILITY`].
    DeviceTooOld {
        /// The card's name.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// The device's memory does not suffice; bytes.
    OutOfMemory {
        /// What was needed.
        needed: u64,
        /// What was free.
        free: u64,
    },
    /// A driver call failed.
    Failed {
        /// What was attempted, as in "could not {what}".
        what: String,
        /// The driver's words.
        reason: String,
    },
}

impl DriverError {
    /// A call that failed.
    pub fn failed(what: impl Into<String>, reason: impl fmt::Display) -> Self {
        DriverError::Failed { what: what.into(), reason: reason.to_string() }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DriverError::NotBuilt => f.write_str("this build of the program has no CUDA decoder"),
            DriverError::NoDriver => f.write_str("no CUDA driver"),
            DriverError::DriverTooOld(version) => write!(
                f,
                "the NVIDIA driver is for CUDA {}.{}, and 13.0 is needed: update it (version 580 or later)",
                version / 1000,
                version % 1000 / 10
            ),
            DriverError::NoDevice { count: 0, .. } => f.write_str("the CUDA driver finds no card"),
            DriverError::NoDevice { ordinal, count } => {
                write!(f, "there is no cuda:{ordinal}: the last card is cuda:{}", count.saturating_sub(1))
            }
            DriverError::DeviceTooOld { name, capability: (major, minor) } => write!(
                f,
                "{name} has compute capability {major}.{minor}, and {}.{} is needed",
                OLDEST_CAPABILITY.0, OLDEST_CAPABILITY.1
            ),
            DriverError::OutOfMemory { needed, free } => {
                write!(f, "the card's memory does not suffice: {} needed, {} free", Size(*needed), Size(*free))
            }
            DriverError::Failed { what, reason } => write!(f, "the CUDA driver could not {what}: {reason}"),
        }
    }
}

impl std::error::Error for DriverError {}

/// A number of bytes for people.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.0 as f64 / f64::from(1 << 20);
        if mib >= 1024.0 { write!(f, "{:.1} GiB", mib / 1024.0) } else { write!(f, "{:.0} MiB", mib.ceil()) }
    }
}

/// A captured sequence of launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Graph(pub usize);

/// A point in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event(pub usize);

/// One card, one stream: all calls take effect in the order they are made. What a driver hands out lives as long as it.
pub trait Driver: Send {
    /// The card.
    fn device(&self) -> &DeviceInfo;

    /// Its memory now.
    fn memory(&mut self) -> Result<MemoryInfo, DriverError>;

    /// Takes memory, aligned to 256 bytes; kept until the driver is dropped or [`release`](Self::release)d.
    fn alloc(&mut self, bytes: usize) -> Result<DevicePtr, DriverError>;

    /// Gives memory back that [`alloc`](Self::alloc) gave.
    fn release(&mut self, memory: DevicePtr) -> Result<(), DriverError>;

    /// Copies bytes to the device. The source may change when this returns.
    fn upload(&mut self, to: DevicePtr, bytes: &[u8]) -> Result<(), DriverError>;

    /// Fills memory with zeros.
    fn clear(&mut self, at: DevicePtr, bytes: usize) -> Result<(), DriverError>;

    /// Copies bytes from one place of the device to another that does not overlap it.
    fn copy(&mut self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<(), DriverError>;

    /// Starts copying bytes from the device; [`wait`](Self::wait) hands them over. One copy is under way at a time.
    fn download(&mut self, from: DevicePtr, bytes: usize) -> Result<(), DriverError>;

    /// Waits for the latest [`download`](Self::download) and appends its bytes. A launch that failed before it is
    /// reported here at the latest.
    fn wait(&mut self, into: &mut Vec<u8>) -> Result<(), DriverError>;

    /// Starts a kernel, or records it while a graph is captured.
    ///
    /// # Errors
    /// An unknown kernel, a shape that the card cannot run, or a fault of an earlier launch.
    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError>;

    /// Begins a graph: launches are recorded, not run, until [`end_capture`](Self::end_capture).
    fn begin_capture(&mut self) -> Result<(), DriverError>;

    /// Ends a graph. After a launch that failed inside it this fails too, and the driver is usable again.
    fn end_capture(&mut self) -> Result<Graph, DriverError>;

    /// Runs a graph.
    fn replay(&mut self, graph: Graph) -> Result<(), DriverError>;

    /// Makes an event.
    fn event(&mut self) -> Result<Event, DriverError>;

    /// Has the stream mark the time when it comes to this point; inside a graph, each time that the graph runs.
    fn record(&mut self, event: Event) -> Result<(), DriverError>;

    /// Waits for `to` and gives the milliseconds between two events that were recorded.
    fn elapsed_ms(&mut self, from: Event, to: Event) -> Result<f32, DriverError>;

    /// Waits for everything.
    fn synchronize(&mut self) -> Result<(), DriverError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_one_sentence_with_its_numbers() {
        assert_eq!(
            DriverError::DriverTooOld(12080).to_string(),
            "the NVIDIA driver is for CUDA 12.8, and 13.0 is needed: update it (version 580 or later)"
        );
        let error = DriverError::OutOfMemory { needed: 3 << 30, free: (300 << 20) + 1 };
        assert_eq!(error.to_string(), "the card's memory does not suffice: 3.0 GiB needed, 301 MiB free");
        let error = DriverError::DeviceTooOld { name: "Tesla T4".into(), capability: (7, 5) };
        assert_eq!(error.to_string(), "Tesla T4 has compute capability 7.5, and 8.0 is needed");
        assert_eq!(DriverError::NoDevice { ordinal: 0, count: 0 }.to_string(), "the CUDA driver finds no card");
        let error = DriverError::NoDevice { ordinal: 2, count: 1 };
        assert_eq!(error.to_string(), "there is no cuda:2: the last card is cuda:0");
    }
}
