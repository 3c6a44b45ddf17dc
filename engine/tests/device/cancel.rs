//! Requests on a card that are no longer wanted.

use engine::cancel::Cancel;
use engine::checkpoint::Checkpoint;
use engine::decode::{Target, TargetError};
use engine::device::{DeviceError, DeviceModel, Extent, Plan};
use engine::model::ImageFeatures;
use engine::model::image_processor::Patches;
use kernels::cuda::fake::{Call, Fake};

use crate::checks::{NEVER, fixtures};
use crate::emulated::GIB;

/// The tiny model on a card that runs nothing and waits for nothing, with room for one request.
fn device(checkpoint: &Checkpoint, card: Fake) -> DeviceModel {
    let config = &checkpoint.config;
    let plan = Plan::new(config, Extent { sequences: 1, cache_tokens: 8000, sequence_tokens: 8000 });
    DeviceModel::planned(Box::new(card), config, &checkpoint.weights, &[], plan).unwrap()
}

fn tiny() -> Checkpoint {
    Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap()
}

/// A request that waits for another's room gives up when it is cancelled; were it to wait on, this test would not end.
#[test]
fn a_request_that_waits_for_room_gives_up() {
    let checkpoint = tiny();
    let device = device(&checkpoint, Fake::new(GIB));
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let first = device.session(&[1], &image, 10, &NEVER).unwrap();
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| device.session(&[1], &image, 10, &cancel).err());
        cancel.cancel();
        assert_eq!(waiting.join().unwrap(), Some(DeviceError::Cancelled));
    });
    drop(first);
    assert!(device.session(&[1], &image, 10, &NEVER).is_ok(), "it left nothing behind");
}

/// The tower on a large picture and a long prompt are launched part by part; a cancel keeps the next part from the card,
/// which stays of use.
#[test]
fn a_cancel_keeps_the_rest_of_a_tower_and_of_a_prompt_from_the_card() {
    let checkpoint = tiny();
    let (rows, columns) = (64, 128);
    let values = vec![0.0; rows * columns * checkpoint.config.vision.in_channels * 14 * 14];
    let patches = Patches { grid: [rows, columns], values, resized: (14 * 128, 14 * 64) };
    let prompt = vec![1; 7000];
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let launches = |run: &dyn Fn(&DeviceModel, &Cancel), cancelled_at: Option<usize>| {
        let mut card = Fake::new(GIB);
        let (log, cancel) = (card.log(), Cancel::new());
        if let Some(wait) = cancelled_at {
            let (cancel, mut waits) = (cancel.clone(), 0);
            card.when_waited_for(move || {
                waits += 1;
                if waits == wait {
                    cancel.cancel();
                }
            });
        }
        let device = device(&checkpoint, card);
        run(&device, &cancel);
        assert_eq!(device.fault(), None);
        log.count(|call| matches!(call, Call::Launch(_)))
    };
    let tower = |device: &DeviceModel, cancel: &Cancel| {
        let encoded = device.encode_image(&patches, cancel);
        assert_eq!(encoded.err(), cancel.is_cancelled().then_some(DeviceError::Cancelled));
    };
    let prefill = |device: &DeviceModel, cancel: &Cancel| {
        let mut session = device.session(&prompt, &image, 10, cancel).unwrap();
        assert_eq!(session.prefill().err(), cancel.is_cancelled().then_some(TargetError::Cancelled));
    };
    for run in [&tower as &dyn Fn(&DeviceModel, &Cancel), &prefill] {
        let all = launches(run, None);
        // The first wait is for the weights.
        let some = launches(run, Some(2));
        assert!(0 < some && some < all, "{some} of {all} launches");
    }
}

/// What is cancelled beforehand does not get to the card at all.
#[test]
fn what_is_cancelled_before_it_begins_is_not_launched() {
    let checkpoint = tiny();
    let card = Fake::new(GIB);
    let log = card.log();
    let device = device(&checkpoint, card);
    let before = log.calls().len();
    let cancel = Cancel::new();
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let mut session = device.session(&[1, 2, 3], &image, 10, &cancel).unwrap();
    cancel.cancel();
    assert_eq!(session.prefill(), Err(TargetError::Cancelled));
    let patches = Patches { grid: [2, 2], values: vec![0.0; 4 * 3 * 14 * 14], resized: (28, 28) };
    assert_eq!(device.encode_image(&patches, &cancel).err(), Some(DeviceError::Cancelled));
    assert_eq!(log.calls().len(), before);
}
