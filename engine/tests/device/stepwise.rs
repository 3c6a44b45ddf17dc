//! A driver that waits for each launch before the next, so that none overlaps another, and makes no graphs.

use kernels::cuda::driver::{DeviceInfo, DevicePtr, Driver, DriverError, Event, Graph, MemoryInfo};
use kernels::cuda::launch::Launch;

pub(crate) struct Stepwise(pub(crate) Box<dyn Driver>);

impl Driver for Stepwise {
    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError> {
        self.0.launch(launch)?;
        self.0.synchronize()
    }

    fn begin_capture(&mut self) -> Result<(), DriverError> {
        Err(DriverError::failed("begin a graph", "each launch is waited for"))
    }

    fn device(&self) -> &DeviceInfo {
        self.0.device()
    }

    fn memory(&mut self) -> Result<MemoryInfo, DriverError> {
        self.0.memory()
    }

    fn alloc(&mut self, bytes: usize) -> Result<DevicePtr, DriverError> {
        self.0.alloc(bytes)
    }

    fn release(&mut self, memory: DevicePtr) -> Result<(), DriverError> {
        self.0.release(memory)
    }

    fn upload(&mut self, to: DevicePtr, bytes: &[u8]) -> Result<(), DriverError> {
        self.0.upload(to, bytes)
    }

    fn clear(&mut self, at: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.0.clear(at, bytes)
    }

    fn copy(&mut self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.0.copy(from, to, bytes)
    }

    fn download(&mut self, from: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.0.download(from, bytes)
    }

    fn wait(&mut self, into: &mut Vec<u8>) -> Result<(), DriverError> {
        self.0.wait(into)
    }

    fn end_capture(&mut self) -> Result<Graph, DriverError> {
        self.0.end_capture()
    }

    fn replay(&mut self, graph: Graph) -> Result<(), DriverError> {
        self.0.replay(graph)
    }

    fn event(&mut self) -> Result<Event, DriverError> {
        self.0.event()
    }

    fn record(&mut self, event: Event) -> Result<(), DriverError> {
        self.0.record(event)
    }

    fn elapsed_ms(&mut self, from: Event, to: Event) -> Result<f32, DriverError> {
        self.0.elapsed_ms(from, to)
    }

    fn synchronize(&mut self) -> Result<(), DriverError> {
        self.0.synchronize()
    }
}
