//! A picture read by an engine.

use engine::Engine;
use engine::decode::Decode;
use engine::event::Event;
use engine::job::{ImageJob, Question};
use engine::page::RegionResult;
use engine::region::Region;
use image::RgbImage;

/// What an engine reads in regions of a picture.
pub(crate) fn read(engine: &Engine, page: &RgbImage, regions: Vec<Region>, decode: Decode) -> Vec<RegionResult> {
    let job = ImageJob { decode: Some(decode), ..ImageJob::new(page.clone(), Question::Regions(regions)) };
    let handle = engine.submit_image(job, || ()).unwrap();
    let page = std::iter::from_fn(|| handle.recv()).find_map(|event| match event {
        Event::PageFinished { page, .. } => Some(page),
        _ => None,
    });
    page.unwrap().regions
}
