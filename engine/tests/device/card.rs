//! The checks on the cards of this machine.

use engine::checkpoint::{ModelConfig, Weights};
use engine::device::{DeviceModel, Extent, Plan};
use kernels::cuda;

use crate::checks;

/// The first card; `None`, with a word on why, where there is none.
pub(crate) fn available() -> Option<()> {
    match cuda::open(0) {
        Ok(_) => Some(()),
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

fn first(config: &ModelConfig, weights: &Weights, ends: &[u32]) -> DeviceModel {
    let plan = Plan::new(config, Extent { sequences: 4, cache_tokens: 2048, sequence_tokens: 1024 });
    DeviceModel::planned(cuda::open(0).unwrap(), config, weights, ends, plan).unwrap()
}

#[test]
fn a_card_reads_the_lessons() {
    if available().is_some() {
        checks::lessons(&first);
    }
}

#[test]
fn requests_side_by_side_on_a_card_do_not_mix() {
    if available().is_some() {
        checks::side_by_side(&first);
    }
}

#[test]
fn speculative_equals_autoregressive_on_a_card() {
    if available().is_some() {
        checks::invariant(&first, 0..40);
    }
}
