//! The driver seam over NVIDIA's driver library, loaded when the program runs.

use std::collections::HashMap;
use std::ffi::{CString, c_void};

use cudarc::driver::{result, sys};

use super::driver::{
    DeviceInfo, DevicePtr, Driver, DriverError, Event, Graph, MemoryInfo, OLDEST_CAPABILITY, OLDEST_DRIVER,
};
use super::launch::{KERNELS, Launch};

/// A failed driver call with what it was to do.
trait Said<T> {
    fn said(self, what: &str) -> Result<T, DriverError>;
}

impl<T> Said<T> for Result<T, result::DriverError> {
    fn said(self, what: &str) -> Result<T, DriverError> {
        self.map_err(|error| {
            let reason = error.error_string().map_or_else(
                |_| format!("error {}", error.0 as i32),
                |words| format!("{} (error {})", words.to_string_lossy(), error.0 as i32),
            );
            DriverError::failed(what, reason)
        })
    }
}

/// Loads the library and checks its version; every other call of the driver comes after this.
fn start() -> Result<(), DriverError> {
    // SAFETY: loading the driver library runs its initialisers, as every CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return Err(DriverError::NoDriver);
    }
    let mut version = 0;
    // SAFETY: this call is allowed before cuInit and writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().said("tell its version")?;
    if version < OLDEST_DRIVER {
        return Err(DriverError::DriverTooOld(version));
    }
    match result::init() {
        Err(result::DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => {
            Err(DriverError::NoDevice { ordinal: 0, count: 0 })
        }
        other => other.said("start"),
    }
}

fn count() -> Result<usize, DriverError> {
    Ok(result::device::get_count().said("count the cards")?.max(0) as usize)
}

fn info(ordinal: usize) -> Result<(sys::CUdevice, DeviceInfo), DriverError> {
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT as MULTIPROCESSORS,
    };
    let device = result::device::get(ordinal as i32).said("open a card")?;
    // SAFETY: `device` was just given by the driver.
    let ask = |attribute| unsafe { result::device::get_attribute(device, attribute) }.said("describe a card");
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }.said("tell a card's memory")? as u64;
    let info = DeviceInfo {
        ordinal,
        name: result::device::get_name(device).said("name a card")?,
        capability: (ask(MAJOR)?.max(0) as u32, ask(MINOR)?.max(0) as u32),
        memory,
        multiprocessors: ask(MULTIPROCESSORS)?.max(0) as u32,
    };
    Ok((device, info))
}

/// All cards.
///
/// # Errors
/// Why there is none: no driver, an old one, no card.
pub(super) fn devices() -> Result<Vec<DeviceInfo>, DriverError> {
    start()?;
    let count = count()?;
    if count == 0 {
        return Err(DriverError::NoDevice { ordinal: 0, count });
    }
    (0..count).map(|ordinal| Ok(info(ordinal)?.1)).collect()
}

/// Opens a card with the kernels that `image` gives for its capability.
pub(super) fn open(ordinal: usize, image: Image) -> Result<Box<dyn Driver>, DriverError> {
    start()?;
    let count = count()?;
    if ordinal >= count {
        return Err(DriverError::NoDevice { ordinal, count });
    }
    let (device, info) = info(ordinal)?;
    if info.capability < OLDEST_CAPABILITY {
        return Err(DriverError::DeviceTooOld { name: info.name, capability: info.capability });
    }
    let Some(image) = image(info.capability) else {
        return Err(DriverError::failed("load the kernels", format!("there are none for {}", info.name)));
    };
    Ok(Box::new(Card::open(device, info, image)?))
}

/// Machine code (or PTX, ending with a zero byte) for a compute capability.
pub(super) type Image = fn((u32, u32)) -> Option<&'static [u8]>;

/// Host memory that the card copies into by itself.
struct Pinned {
    at: *mut c_void,
    bytes: usize,
}

/// A card with its context, one stream, and what was made on it.
struct Card {
    info: DeviceInfo,
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    module: sys::CUmodule,
    functions: HashMap<&'static str, Function>,
    graphs: Vec<sys::CUgraphExec>,
    events: Vec<sys::CUevent>,
    memory: Vec<sys::CUdeviceptr>,
    pinned: Pinned,
    pending: usize,
    capturing: bool,
    /// Whether the latest call started a kernel: only the next one's start may overlap it.
    after_kernel: bool,
}

#[derive(Clone, Copy)]
struct Function {
    handle: sys::CUfunction,
    /// The dynamic shared memory it was last allowed, bytes.
    shared: u32,
}

// SAFETY: the handles may be used from any thread whose current context is `context`, which every method makes so; they
// are used by one thread at a time, because every method takes `&mut self`.
unsafe impl Send for Card {}

/// From this compute capability on a kernel may start before the one before it has ended.
const OVERLAP_CAPABILITY: (u32, u32) = (9, 0);
/// Dynamic shared memory that needs no permission, bytes.
const SHARED_FREE: u32 = 48 << 10;

impl Card {
    fn open(device: sys::CUdevice, info: DeviceInfo, image: &'static [u8]) -> Result<Self, DriverError> {
        // SAFETY: `device` came from the driver; the context stays retained until `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.said("open the card")?;
        let mut card = Self {
            info,
            device,
            context,
            stream: std::ptr::null_mut(),
            module: std::ptr::null_mut(),
            functions: HashMap::new(),
            graphs: Vec::new(),
            events: Vec::new(),
            memory: Vec::new(),
            pinned: Pinned { at: std::ptr::null_mut(), bytes: 0 },
            pending: 0,
            capturing: false,
            after_kernel: false,
        };
        card.enter()?;
        card.stream = result::stream::create(result::stream::StreamKind::NonBlocking).said("make a stream")?;
        // SAFETY: `image` is a whole cubin, or PTX with its zero byte, and static.
        card.module = unsafe { result::module::load_data(image.as_ptr().cast()) }.said("load the kernels")?;
        KERNELS.iter().try_for_each(|name| card.find(name))?;
        Ok(card)
    }

    /// Makes the card's context the thread's own, for a call of any kind.
    fn enter(&mut self) -> Result<(), DriverError> {
        self.after_kernel = false;
        // SAFETY: the context is retained until `drop`.
        unsafe { result::ctx::set_current(self.context) }.said("reach the card")
    }

    /// Finds a kernel and puts its code on the card, so that no launch has to wait for that (or fails because a graph is
    /// being captured).
    fn find(&mut self, name: &'static str) -> Result<(), DriverError> {
        let text = CString::new(name).map_err(|e| DriverError::failed("find a kernel", e))?;
        // SAFETY: the module lives as long as the card.
        let handle =
            unsafe { result::module::get_function(self.module, text) }.said(&format!("find the kernel {name}"))?;
        // SAFETY: the handle was just given.
        unsafe { sys::cuFuncLoad(handle) }.result().said(&format!("load the kernel {name}"))?;
        self.functions.insert(name, Function { handle, shared: SHARED_FREE });
        Ok(())
    }

    fn function(&mut self, name: &str, shared: u32) -> Result<sys::CUfunction, DriverError> {
        let Some(function) = self.functions.get_mut(name) else {
            return Err(DriverError::failed(format!("find the kernel {name}"), "it is not in the list"));
        };
        if shared > function.shared {
            use sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as LIMIT;
            // SAFETY: the handle belongs to the loaded module.
            unsafe { result::function::set_function_attribute(function.handle, LIMIT, shared as i32) }
                .said(&format!("give {name} {shared} bytes of shared memory"))?;
            function.shared = shared;
        }
        Ok(function.handle)
    }

    /// Room for a copy of so many bytes.
    fn pin(&mut self, bytes: usize) -> Result<(), DriverError> {
        if self.pinned.bytes >= bytes {
            return Ok(());
        }
        self.synchronize()?;
        self.unpin();
        let bytes = bytes.next_power_of_two().max(1 << 16);
        // SAFETY: the memory is given back by `unpin`.
        let at = unsafe { result::malloc_host(bytes, 0) }.said("take host memory")?;
        self.pinned = Pinned { at, bytes };
        Ok(())
    }

    fn unpin(&mut self) {
        if !self.pinned.at.is_null() {
            // SAFETY: `malloc_host` gave it, and no copy into it is under way.
            let _ = unsafe { result::free_host(self.pinned.at) };
            self.pinned = Pinned { at: std::ptr::null_mut(), bytes: 0 };
        }
    }

    fn known(&self, event: Event) -> Result<sys::CUevent, DriverError> {
        let known = self.events.get(event.0).copied();
        known.ok_or_else(|| DriverError::failed("find an event", "it was never recorded"))
    }
}

impl Driver for Card {
    fn device(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&mut self) -> Result<MemoryInfo, DriverError> {
        self.enter()?;
        let (free, total) = result::mem_get_info().said("tell its free memory")?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }

    fn alloc(&mut self, bytes: usize) -> Result<DevicePtr, DriverError> {
        self.enter()?;
        // SAFETY: the memory is written before kernels read it, which is the callers' order of calls.
        match unsafe { result::malloc_sync(bytes.max(1)) } {
            Ok(at) => {
                self.memory.push(at);
                Ok(DevicePtr(at))
            }
            Err(result::DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let free = self.memory().map_or(0, |memory| memory.free);
                Err(DriverError::OutOfMemory { needed: bytes as u64, free })
            }
            Err(error) => Err(error).said("take memory"),
        }
    }

    fn release(&mut self, memory: DevicePtr) -> Result<(), DriverError> {
        self.enter()?;
        let Some(at) = self.memory.iter().position(|&at| at == memory.0) else {
            return Err(DriverError::failed("release memory", "it was never taken"));
        };
        self.synchronize()?;
        self.memory.swap_remove(at);
        // SAFETY: `alloc` gave it, nothing runs any more, and it is forgotten above.
        unsafe { result::free_sync(memory.0) }.said("release memory")
    }

    fn upload(&mut self, to: DevicePtr, bytes: &[u8]) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the destination is the caller's own allocation. The source is pageable memory, which the driver has
        // read when this returns.
        unsafe { result::memcpy_htod_async(to.0, bytes, self.stream) }.said("copy to the card")
    }

    fn clear(&mut self, at: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: as for `upload`.
        unsafe { result::memset_d8_async(at.0, 0, bytes, self.stream) }.said("clear memory")
    }

    fn copy(&mut self, from: DevicePtr, to: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: as for `upload`, for both ends.
        unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.stream) }.said("copy on the card")
    }

    fn download(&mut self, from: DevicePtr, bytes: usize) -> Result<(), DriverError> {
        self.enter()?;
        self.pin(bytes)?;
        // SAFETY: the pinned block holds at least `bytes`, and nothing reads it before `wait` has waited for the stream.
        let into = unsafe { std::slice::from_raw_parts_mut(self.pinned.at.cast::<u8>(), bytes) };
        // SAFETY: as above; the source is the caller's own allocation.
        unsafe { result::memcpy_dtoh_async(into, from.0, self.stream) }.said("copy from the card")?;
        self.pending = bytes;
        Ok(())
    }

    fn wait(&mut self, into: &mut Vec<u8>) -> Result<(), DriverError> {
        self.synchronize()?;
        let bytes = std::mem::take(&mut self.pending);
        if bytes > 0 {
            // SAFETY: the copy into the block's first `bytes` bytes is done.
            into.extend_from_slice(unsafe { std::slice::from_raw_parts(self.pinned.at.cast::<u8>(), bytes) });
        }
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError> {
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        if launch.grid.contains(&0) {
            return Ok(());
        }
        // Every kernel waits for the one before it by itself, so that its start may overlap that one's end.
        let overlaps = self.after_kernel && self.info.capability >= OVERLAP_CAPABILITY;
        self.enter()?;
        let function = self.function(launch.kernel, launch.shared)?;
        let mut arguments = [launch.argument.as_ptr().cast_mut().cast::<c_void>()];
        // SAFETY: all bits zero are a value of this plain C structure.
        let mut overlap: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
        overlap.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        overlap.value.programmaticStreamSerializationAllowed = 1;
        let config = sys::CUlaunchConfig {
            gridDimX: gx,
            gridDimY: gy,
            gridDimZ: gz,
            blockDimX: bx,
            blockDimY: by,
            blockDimZ: bz,
            sharedMemBytes: launch.shared,
            hStream: self.stream,
            attrs: &mut overlap,
            numAttrs: u32::from(overlaps),
        };
        self.after_kernel = true;
        // SAFETY: the argument is the kernel's own structure (its description is the only maker of a `Launch`), and the
        // driver copies it before it returns.
        unsafe { sys::cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), std::ptr::null_mut()) }
            .result()
            .said(&format!("run {}", launch.kernel))
    }

    fn begin_capture(&mut self) -> Result<(), DriverError> {
        self.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as the card.
        unsafe { result::stream::begin_capture(self.stream, mode) }.said("begin a graph")?;
        self.capturing = true;
        Ok(())
    }

    fn end_capture(&mut self) -> Result<Graph, DriverError> {
        self.enter()?;
        self.capturing = false;
        // SAFETY: as above.
        let graph = unsafe { result::stream::end_capture(self.stream) }.said("end a graph")?;
        if graph.is_null() {
            return Err(DriverError::failed("end a graph", "a launch in it failed"));
        }
        // SAFETY: the graph was just made; the executable form does not need it any more.
        let made = unsafe {
            let made = result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0));
            let _ = result::graph::destroy(graph);
            made
        };
        self.graphs.push(made.said("prepare a graph")?);
        Ok(Graph(self.graphs.len() - 1))
    }

    fn replay(&mut self, graph: Graph) -> Result<(), DriverError> {
        self.enter()?;
        let known = self.graphs.get(graph.0).copied();
        let graph = known.ok_or_else(|| DriverError::failed("run a graph", "it was never captured"))?;
        // SAFETY: the executable graph lives as long as the card.
        unsafe { result::graph::launch(graph, self.stream) }.said("run a graph")
    }

    fn event(&mut self) -> Result<Event, DriverError> {
        self.enter()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).said("make an event")?;
        self.events.push(event);
        Ok(Event(self.events.len() - 1))
    }

    fn record(&mut self, event: Event) -> Result<(), DriverError> {
        self.enter()?;
        let handle = self.known(event)?;
        let flags = match self.capturing {
            true => sys::CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL,
            false => sys::CUevent_record_flags::CU_EVENT_RECORD_DEFAULT,
        };
        // SAFETY: both live as long as the card.
        unsafe { sys::cuEventRecordWithFlags(handle, self.stream, flags as u32) }.result().said("record an event")
    }

    fn elapsed_ms(&mut self, from: Event, to: Event) -> Result<f32, DriverError> {
        self.enter()?;
        let (from, to) = (self.known(from)?, self.known(to)?);
        // SAFETY: both live as long as the card.
        unsafe {
            result::event::synchronize(to).said("wait for an event")?;
            result::event::elapsed(from, to).said("compare events")
        }
    }

    fn synchronize(&mut self) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the stream lives as long as the card.
        unsafe { result::stream::synchronize(self.stream) }.said("finish its work")
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        // Faults were reported by the call that met them; a card that is gone cannot be tidied.
        let _ = self.synchronize();
        self.unpin();
        // SAFETY: the handles were made by this card, are destroyed once, and nothing runs any more.
        unsafe {
            for &graph in &self.graphs {
                let _ = result::graph::exec_destroy(graph);
            }
            for &event in &self.events {
                let _ = result::event::destroy(event);
            }
            for &memory in &self.memory {
                let _ = result::free_sync(memory);
            }
            if !self.module.is_null() {
                let _ = result::module::unload(self.module);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
            let _ = result::primary_ctx::release(self.device);
        }
    }
}
