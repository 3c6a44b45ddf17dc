//! The number of threads that was asked for holds for everything: nothing computes on threads of its own. Alone in its
//! process, because whatever strays to the process's own pool of threads is noticed by that pool being there.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::Arc;

use engine::checkpoint::Checkpoint;
use engine::device::{Device, DeviceModel, Extent, Plan};
use engine::document::OpenOptions;
use engine::event::{Event, Outcome};
use engine::job::{Job, JobHandle, LayoutMode, Source};
use engine::layout::BuiltInDetector;
use engine::recognizer::CardRecognizer;
use engine::{CheckpointSource, Engine, EngineInfo, EngineOptions, EngineParts};
use kernels::cuda::fake::Fake;

fn finish(handle: &JobHandle) {
    let last = std::iter::from_fn(|| handle.recv()).last();
    assert_eq!(last, Some(Event::Finished { outcome: Outcome::Completed }));
}

#[test]
fn nothing_computes_on_threads_that_were_not_asked_for() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let job = || Job::new(Source::Path(fixtures.join("glm_ocr_cases/paragraph/image.png")));
    let options = EngineOptions { threads: Some(2), ..EngineOptions::new(CheckpointSource::Bundled) };
    let on_processor = Engine::start(options).unwrap();
    finish(&on_processor.submit(job(), || ()).unwrap());

    // A card that computes nothing, behind everything that is done for it here.
    let checkpoint = Checkpoint::open(&fixtures.join("glm_ocr_tiny_trained")).unwrap();
    let plan = Plan::new(&checkpoint.config, Extent { sequences: 2, cache_tokens: 4096, sequence_tokens: 2048 });
    let (config, weights, ends) = (&checkpoint.config, &checkpoint.weights, &checkpoint.end_tokens);
    let card = DeviceModel::planned(Box::new(Fake::new(1 << 30)), config, weights, ends, plan).unwrap();
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let recognizer = Arc::new(CardRecognizer::new(checkpoint.clone(), card, pool).unwrap());
    let info = EngineInfo { device: Device::Cuda(0), ..on_processor.info().clone() };
    let (detector, open) = (Arc::new(BuiltInDetector), OpenOptions::default());
    let on_card = Engine::of(EngineParts { recognizer, detector, open, threads: Some(1) }, info).unwrap();
    finish(&on_card.submit(Job { layout: LayoutMode::None, max_tokens: 5, ..job() }, || ()).unwrap());

    let unused = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    assert!(unused.is_ok(), "something computed on the process's own pool");
}
