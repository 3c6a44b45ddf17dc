//! Times of a frame (egui's pass and tessellation; no rasterisation) with a region of 200 rounds and 20,000 characters:
//! `cargo bench -p tests --bench frames`.

#![expect(clippy::unwrap_used, reason = "a bench may fail by panicking")]
#![expect(clippy::print_stdout, reason = "it prints its measurements")]

#[path = "../tests/window/support.rs"]
#[expect(dead_code, reason = "the tests need more of it")]
mod support;

use std::time::{Duration, Instant};

use support::{Begin, Person, Script, long_region, recorded, sample_pdf};

const FRAMES: usize = 2000;

fn main() {
    let events = long_region(200, 100);
    let total = events.len();
    let script = Script::new(move |_| events.clone());
    script.open_to(3);
    let begin = Begin { files: vec![sample_pdf()], backend: recorded(script.clone()), ..Begin::default() };
    let mut person = Person::begins(begin);
    person.wait_for("Page 1");
    person.click("Recognize page");
    person.wait_for("Cancel");

    // While it decodes: an event a frame, twice as fast as a display asks for them.
    let decoding = (3..total - 4).map(|played| {
        script.open_to(played);
        frame(&mut person)
    });
    report("decoding", decoding.collect());
    report("mid-decode, still", (0..FRAMES).map(|_| frame(&mut person)).collect());
    script.open_to(usize::MAX);
    person.wait_for("done");
    report("finished page", (0..FRAMES).map(|_| frame(&mut person)).collect());
    let region = person.name_of("Region 1: Text,").unwrap();
    person.click(&region);
    person.press(Default::default(), eframe::egui::Key::F9);
    report("with the rounds panel", (0..FRAMES).map(|_| frame(&mut person)).collect());
}

fn frame(person: &mut Person) -> Duration {
    let start = Instant::now();
    person.window.step();
    let output = person.window.output();
    let shapes = output.shapes.clone();
    let meshes = person.window.ctx.tessellate(shapes, output.pixels_per_point);
    let time = start.elapsed();
    assert!(!meshes.is_empty());
    time
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what:24} {:6} frames: median {:6.2} ms, p95 {:6.2} ms, longest {:6.2} ms",
        times.len(),
        at(0.5),
        at(0.95),
        at(1.0)
    );
}
