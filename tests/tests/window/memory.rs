//! Ten thousand frames of a long decode take no more memory than two thousand.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::support::{Begin, Person, Script, long_region, recorded, sample_pdf};
