//! Measures how long a cancelled request takes to end, at the published sizes on two threads.
//!
//!     cargo run --profile profiling --example cancel_latency -- FOLDER [TRIALS]
//!
//! The folder has the configuration of a model; its weights are random. One block of the tower and one layer of the decoder are
//! enough, because all are alike. Each trial cancels at a random moment of the stage.
#![allow(clippy::print_stdout, reason = "a measuring program talks to its terminal")]
#![allow(clippy::unwrap_used, reason = "a measuring program may stop at the first fault")]

use std::path::Path;
use std::time::{Duration, Instant};

use engine::cancel::Cancel;
use engine::checkpoint::Synthetic;
use engine::decode::Target;
use engine::model::image_processor::ImageProcessor;
use engine::model::{ImageFeatures, Model};
use image::RgbImage;
use kernels::{Format, Kernel};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap();
    let trials: usize = arguments.next().map_or(40, |trials| trials.parse().unwrap());
    let mut subject = Synthetic::open(Path::new(&folder)).unwrap();
    (subject.config.vision.depth, subject.config.text.num_hidden_layers) = (1, 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let weights = subject.weights(2.0).unwrap();
        let model = Model::from_weights(&subject.config, &weights, Kernel::best(), Format::Bf16).unwrap();
        println!("{}, {} threads, {trials} trials", model.kernel().name(), rayon::current_num_threads());
        let processor = ImageProcessor::new(subject.processor.clone());
        for (width, height) in [(800, 300), (1700, 2200)] {
            let picture = RgbImage::from_fn(width, height, |x, y| image::Rgb([(x % 251) as u8, (y % 241) as u8, 128]));
            let start = Instant::now();
            let patches = processor.process(&picture).unwrap();
            let tokens = patches.tokens(subject.processor.merge_size);
            println!("{width} x {height}: {tokens} image tokens, made in {:.0} ms", milliseconds(start));

            let encode = |cancel: &Cancel| model.encode_image(&patches, cancel).is_ok();
            report("tower", trials, encode);
            let grid = patches.grid.map(|side| side / subject.processor.merge_size);
            let image = ImageFeatures { grid, rows: vec![0.1; tokens * subject.config.text.hidden_size] };
            let prompt = subject.prompt(tokens);
            let prefill = |cancel: &Cancel| model.session(&prompt, &image, cancel).prefill().is_ok();
            report("prefill", trials, prefill);
        }
    });
}

/// Runs a stage once to its end, then cancels it at random moments, and tells how long it went on after that.
fn report(name: &str, trials: usize, stage: impl Fn(&Cancel) -> bool) {
    let start = Instant::now();
    assert!(stage(&Cancel::new()), "nobody cancelled");
    let whole = start.elapsed();
    let mut random = fastrand::Rng::with_seed(1);
    let mut latencies: Vec<f64> = (0..trials)
        .filter_map(|_| {
            let (cancel, delay) = (Cancel::new(), whole.mul_f64(random.f64()));
            let canceller = std::thread::spawn({
                let cancel = cancel.clone();
                move || cancel_after(&cancel, delay)
            });
            let finished = stage(&cancel);
            let end = Instant::now();
            let asked = canceller.join().unwrap();
            (!finished).then(|| (end - asked).as_secs_f64() * 1e3)
        })
        .collect();
    latencies.sort_by(f64::total_cmp);
    let (Some(most), at) = (latencies.last(), latencies.len() * 95 / 100) else { return };
    let whole = whole.as_secs_f64() * 1e3;
    println!(
        "  {name}: {whole:.0} ms uncancelled; ended {:.0} ms after a cancel in the middle, {:.0} ms at the 95th percentile, \
         {most:.0} ms at most ({} trials)",
        latencies[latencies.len() / 2],
        latencies[at.min(latencies.len() - 1)],
        latencies.len()
    );
}

/// Cancels after a while; gives the moment.
fn cancel_after(cancel: &Cancel, delay: Duration) -> Instant {
    std::thread::sleep(delay);
    let moment = Instant::now();
    cancel.cancel();
    moment
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
