//! Every CUDA kernel against plain references in f64, over the driver seam: on the emulation (a build without a C++ compiler
//! has none; the tests say so and check nothing), or with `GRAVITYOCR_CARD` set on the card `cuda:0`.

#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

#[path = "cuda/attention.rs"]
mod attention;
#[path = "cuda/harness.rs"]
mod harness;
#[path = "cuda/norm.rs"]
mod norm;
#[path = "cuda/product.rs"]
mod product;
#[path = "cuda/rotate.rs"]
mod rotate;
#[path = "cuda/round.rs"]
mod round;
#[path = "../../../tests/skipped.rs"]
mod skipped;
#[path = "cuda/speed.rs"]
mod speed;

use kernels::cuda::abi::*;
use kernels::cuda::{emulation, launch};

#[test]
fn each_argument_is_as_large_on_both_sides() {
    if !emulation::AVAILABLE {
        return skipped::skipped("no C++ compiler was there to compile the CUDA kernels for this processor");
    }
    let sizes = [
        ("product_8", size_of::<ProductArguments>()),
        ("product_16", size_of::<ProductArguments>()),
        ("product_40", size_of::<ProductArguments>()),
        ("product_64", size_of::<ProductArguments>()),
        ("product_bulk", size_of::<ProductArguments>()),
        ("pack_rows", size_of::<PackArguments>()),
        ("embed", size_of::<EmbedArguments>()),
        ("rms_norm", size_of::<NormArguments>()),
        ("add_norm", size_of::<AddNormArguments>()),
        ("layer_norm_gelu", size_of::<LayerNormArguments>()),
        ("vision_rotate", size_of::<VisionRotateArguments>()),
        ("rotate_store", size_of::<RotateStoreArguments>()),
        ("attention_32", size_of::<AttentionArguments>()),
        ("attention_64", size_of::<AttentionArguments>()),
        ("attention_128", size_of::<AttentionArguments>()),
        ("combine", size_of::<AttentionArguments>()),
        ("peak", size_of::<PeakArguments>()),
        ("begin", size_of::<RoundArguments>()),
        ("begin_verify", size_of::<RoundArguments>()),
        ("settle", size_of::<RoundArguments>()),
    ];
    assert_eq!(sizes.map(|(name, _)| name), launch::KERNELS);
    for (name, size) in sizes {
        assert_eq!(emulation::argument_size(name), Some(size), "{name}");
    }
    assert_eq!(emulation::argument_size("no_such_kernel"), None);
}
