//! What a card cannot do, something else does, and it is said.

use engine::checkpoint::Checkpoint;
use engine::decode::{Decode, Mask, Target};
use engine::device::{DeviceModel, Extent, Plan};
use engine::event::Event;
use engine::model::ImageFeatures;
use engine::model::image_processor::ImageProcessor;
use engine::page::Status;
use engine::region::{Label, Rect, Region};
use kernels::cuda::fake::{Call, Fake};

use crate::checks::{NEVER, fixtures};
use crate::emulated::{GIB, available};
use crate::reading;

/// A request that is too long for the card is read by the CPU, and only that one.
#[test]
fn the_cpu_reads_what_does_not_fit_and_the_card_the_rest() {
    if !available() {
        return;
    }
    let folder = fixtures().join("block_diffusion_cases/trained_receipt");
    let lesson = image::open(folder.join("image.png")).unwrap().to_rgb8();
    let (width, height) = lesson.dimensions();
    // The lesson, and below it a region that makes a much longer prompt.
    let mut raster = image::RgbImage::from_pixel(8 * width, 4 * height, image::Rgb([255; 3]));
    let large = image::imageops::resize(&lesson, 8 * width, 3 * height, image::imageops::FilterType::Nearest);
    image::imageops::replace(&mut raster, &lesson, 0, 0);
    image::imageops::replace(&mut raster, &large, 0, height.into());
    let boxes = [Rect::new(0, 0, width, height), Rect::new(0, height, 8 * width, 4 * height)];
    let regions = || boxes.map(|bounds| Region::new(Label::Text, bounds)).to_vec();
    let checkpoint = || Checkpoint::open(&fixtures().join("glm_ocr_tiny_trained")).unwrap();
    let how = (Decode::SPEC, 40);
    let (want, _) = reading::read(reading::cpu(checkpoint()), &raster, regions(), how);

    let (config, ends) = (checkpoint().config, checkpoint().end_tokens);
    let patches = |bounds: &Rect| (bounds.width() / 28 * (bounds.height() / 28)) as usize;
    let room = patches(&boxes[0]) + 150;
    assert!(room < patches(&boxes[1]), "{room} tokens are too few for the second");
    let plan = Plan::new(&config, Extent { sequences: 2, cache_tokens: 2 * room, sequence_tokens: room });
    let card =
        DeviceModel::planned(Box::new(Fake::emulated(GIB)), &config, &checkpoint().weights, &ends, plan).unwrap();
    let (got, events) = reading::read(reading::card(checkpoint(), card), &raster, regions(), how);

    let texts = |regions: &[engine::page::RegionResult]| -> Vec<(String, Status)> {
        regions.iter().map(|region| (region.text.clone(), region.status.clone())).collect()
    };
    assert_eq!(texts(&got), texts(&want));
    let restarted: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::RequestRestarted { id, reason, .. } => Some((id.region, reason.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(restarted.len(), 1, "{restarted:?}");
    assert_eq!(restarted[0].0, 1);
    assert!(restarted[0].1.ends_with("does not fit the card's cache; the CPU reads this part"), "{restarted:?}");
    for (region, _) in boxes.iter().enumerate() {
        let of = |id: &engine::event::RequestId| id.region == region;
        let started = events.iter().filter(|e| matches!(e, Event::RequestStarted { id, .. } if of(id))).count();
        let finished = events.iter().filter(|e| matches!(e, Event::RequestFinished { id, .. } if of(id))).count();
        assert_eq!((started, finished), (1, 1), "region {region}");
    }
}

/// A picture for which there is no memory is refused, and the card is of use for the next.
#[test]
fn a_picture_that_finds_no_memory_leaves_the_card_well() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    let (config, ends) = (&checkpoint.config, &checkpoint.end_tokens);
    let plan = Plan::new(config, Extent { sequences: 1, cache_tokens: 512, sequence_tokens: 512 });
    let mut card = Fake::new(GIB);
    card.fragment((plan.bulk + 256) as u64);
    let device = DeviceModel::planned(Box::new(card), config, &checkpoint.weights, ends, plan).unwrap();
    let patches = |side: u32| {
        let picture = image::RgbImage::new(28 * side, 28 * side);
        ImageProcessor::new(checkpoint.processor.clone()).process(&picture).unwrap()
    };
    let refused = device.encode_image(&patches(80), &NEVER).unwrap_err().to_string();
    assert!(refused.starts_with("the card's memory does not suffice: "), "{refused}");
    assert_eq!(device.encode_image(&patches(10), &NEVER).unwrap().grid, [10, 10]);
    assert_eq!(device.fault(), None);
}

/// A driver that makes no graphs runs launch by launch, and the reason can be told.
#[test]
fn a_driver_without_graphs_is_slower_and_not_wrong() {
    let checkpoint = Checkpoint::open(&fixtures().join("glm_ocr_tiny")).unwrap();
    let (config, ends) = (&checkpoint.config, &checkpoint.end_tokens);
    let mut card = Fake::new(GIB);
    card.refuse_graphs();
    let log = card.log();
    let plan = Plan::new(config, Extent { sequences: 1, cache_tokens: 512, sequence_tokens: 512 });
    let device = DeviceModel::planned(Box::new(card), config, &checkpoint.weights, ends, plan).unwrap();
    let image = ImageFeatures { grid: [0, 0], rows: Vec::new() };
    let mut session = device.session(&[1; 10], &image, 100, &NEVER).unwrap();
    let launches = || log.count(|call| matches!(call, Call::Launch(_)));
    session.prefill().unwrap();
    assert_eq!(device.why_no_graphs(), None, "none was tried");
    let mut each = Vec::new();
    for _ in 0..4 {
        let before = launches();
        session.forward(&[1], Mask::Causal, &mut Vec::new()).unwrap();
        each.push(launches() - before);
    }
    assert!(each[0] > 0 && each.iter().all(|n| *n == each[0]), "{each:?}");
    let reason = "the CUDA driver could not end a graph: operation not supported";
    assert_eq!((device.why_no_graphs().as_deref(), device.fault()), (Some(reason), None));
}
