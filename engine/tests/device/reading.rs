//! A page read by the CPU, or by a card with the CPU behind it.

use std::sync::Arc;

use engine::checkpoint::Checkpoint;
use engine::decode::Decode;
use engine::device::{Device, DeviceModel};
use engine::document::OpenOptions;
use engine::event::Event;
use engine::job::{ImageJob, Question};
use engine::layout::BuiltInDetector;
use engine::page::RegionResult;
use engine::recognizer::{CardRecognizer, CpuRecognizer, Fallback, Recognizer};
use engine::region::Region;
use engine::{Engine, EngineInfo, EngineParts};
use image::RgbImage;
use kernels::{Format, Kernel};

fn pool() -> Arc<rayon::ThreadPool> {
    Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap())
}

/// The processor in f32.
pub(crate) fn cpu(checkpoint: Checkpoint) -> Arc<dyn Recognizer> {
    Arc::new(CpuRecognizer::new(checkpoint, Kernel::best(), Format::F32, pool()).unwrap())
}

/// A card with the checkpoint on it, and the processor for what it leaves.
pub(crate) fn card(checkpoint: Checkpoint, card: DeviceModel) -> Arc<dyn Recognizer> {
    let card = CardRecognizer::new(checkpoint.clone(), card, pool()).unwrap();
    Arc::new(Fallback::new(Arc::new(card), "the CPU", move || Ok(cpu(checkpoint.clone()))))
}

/// What a recognizer reads in regions of a picture, and what is told meanwhile.
pub(crate) fn read(
    recognizer: Arc<dyn Recognizer>,
    raster: &RgbImage,
    regions: Vec<Region>,
    (decode, max_tokens): (Decode, usize),
) -> (Vec<RegionResult>, Vec<Event>) {
    let info = EngineInfo {
        checkpoint: "test".to_owned(),
        device: Device::Cpu,
        fallback: None,
        kernel: Kernel::best().name(),
        threads: 2,
        only_ar: None,
    };
    let (detector, open) = (Arc::new(BuiltInDetector), OpenOptions::default());
    let engine = Engine::of(EngineParts { recognizer, detector, open, threads: Some(1) }, info).unwrap();
    let job =
        ImageJob { decode: Some(decode), max_tokens, ..ImageJob::new(raster.clone(), Question::Regions(regions)) };
    let handle = engine.submit_image(job, || ()).unwrap();
    let events: Vec<Event> = std::iter::from_fn(|| handle.recv()).collect();
    let page = events.iter().find_map(|event| match event {
        Event::PageFinished { page, .. } => Some(page.regions.clone()),
        _ => None,
    });
    (page.unwrap(), events)
}
