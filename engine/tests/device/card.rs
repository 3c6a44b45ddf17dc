//! The checks on the cards of this machine.

use engine::checkpoint::{ModelConfig, Weights};
use engine::device::{DeviceModel, Extent, Plan};
use kernels::cuda;
use kernels::cuda::driver::Driver;

use crate::stepwise::Stepwise;
use crate::{checks, published};

/// Whether there is a card; says why not. With `GRAVITYOCR_CARD` set there has to be one.
pub(crate) fn is_there() -> bool {
    let opened = cuda::open(0).map(drop);
    if std::env::var_os("GRAVITYOCR_CARD").is_some() {
        assert_eq!(opened, Ok(()), "a card was asked for");
    }
    if let Err(reason) = &opened {
        println!("skipped: {reason}");
    }
    opened.is_ok()
}

fn first(config: &ModelConfig, weights: &Weights, ends: &[u32]) -> DeviceModel {
    on(cuda::open(0).unwrap(), config, weights, ends)
}

fn first_stepwise(config: &ModelConfig, weights: &Weights, ends: &[u32]) -> DeviceModel {
    on(Box::new(Stepwise(cuda::open(0).unwrap())), config, weights, ends)
}

fn on(driver: Box<dyn Driver>, config: &ModelConfig, weights: &Weights, ends: &[u32]) -> DeviceModel {
    let plan = Plan::new(config, Extent { sequences: 4, cache_tokens: 2048, sequence_tokens: 1024 });
    DeviceModel::planned(driver, config, weights, ends, plan).unwrap()
}

#[test]
fn a_card_reads_the_lessons() {
    if is_there() {
        checks::lessons(&first);
    }
}

#[test]
fn requests_side_by_side_on_a_card_do_not_mix() {
    if is_there() {
        checks::side_by_side(&first);
    }
}

#[test]
fn speculative_equals_autoregressive_on_a_card() {
    if is_there() {
        checks::invariant(&first, 0..40);
    }
}

#[test]
fn the_published_sizes_are_right_on_a_card() {
    if is_there() {
        published::one_layer(&first);
    }
}

#[test]
fn launches_that_overlap_on_a_card_change_no_bit() {
    if is_there() {
        published::overlap(4, &first, &first_stepwise);
    }
}
