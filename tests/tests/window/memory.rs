//! Ten thousand frames of a long decode take no more memory than one thousand.

use super::support::{Begin, Person, Script, long_region, recorded, sample_pdf};

/// Bytes that one thing or another may still keep.
const SLACK: i64 = 64 << 10;

#[test]
fn frames_keep_no_memory() {
    let events = long_region(200, 100);
    let half = events.len() / 2;
    let script = Script::new(move |_| events.clone());
    script.open_to(half);
    let begin = Begin { files: vec![sample_pdf()], backend: recorded(script.clone()), ..Begin::default() };
    let mut person = Person::begins(begin);
    person.wait_for("Page 1");
    person.click("Recognize page");
    person.wait_for("Cancel");
    let kept = |person: &mut Person, frames: usize| {
        person.window.run_steps(frames);
        allocation_counter::measure(|| person.window.run_steps(5 * frames)).bytes_current
    };
    // While a draft stands, in the middle of the text.
    let growth = kept(&mut person, 800);
    assert!(growth < SLACK, "{growth} bytes more after 4000 frames in mid-decode");
    // And when all is read.
    script.open_to(usize::MAX);
    person.wait_for("done");
    let growth = kept(&mut person, 800);
    assert!(growth < SLACK, "{growth} bytes more after 4000 frames of the finished page");
}
