//! How each kernel is launched: pure functions from its arguments to grid, block and shared memory.
//!
//! Every kernel waits for the launch before it in its stream (`griddepcontrol.wait`) before it reads what that wrote, so
//! on compute capability 9.0 and later all of them may be launched with programmatic stream serialization; before 9.0
//! that attribute does not exist and is not needed.

use std::slice;

use super::abi::*;

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name in the module.
    pub kernel: &'static str,
    /// Blocks in x, y and z. With a zero in it there is nothing to do.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory; above 48 KiB the function's limit must be raised once (to [`SHARED_LIMIT`]).
    pub shared: u32,
    /// The bytes of the kernel's only parameter, a structure of [`abi`](super::abi).
    pub argument: Vec<u8>,
}

impl Launch {
    fn new(kernel: &'static str, grid: [u32; 3], block: u32, shared: u32, argument: &impl Arguments) -> Self {
        Self { kernel, grid, block: [block, 1, 1], shared, argument: bytes_of(slice::from_ref(argument)).to_vec() }
    }
}

/// Most dynamic shared memory that any launch asks for, bytes: what every card from compute capability 8.0 on gives.
pub const SHARED_LIMIT: u32 = 99 << 10;

/// Every kernel of the module.
pub const KERNELS: [&str; 20] = [
    "product_8",
    "product_16",
    "product_40",
    "product_64",
    "product_bulk",
    "pack_rows",
    "embed",
    "rms_norm",
    "add_norm",
    "layer_norm_gelu",
    "vision_rotate",
    "rotate_store",
    "attention_32",
    "attention_64",
    "attention_128",
    "combine",
    "peak",
    "begin",
    "begin_verify",
    "settle",
];

/// Processors that the fixed splits aim to fill. Not the card's own count: a result must not depend on the card.
const PROCESSORS: usize = 132;
/// Most splits of a product.
pub const MAX_SPLITS: usize = 8;
/// Inner elements that a product takes in one step.
const STEP: usize = 64;
/// Keys of a part when attention over a cache is cut into parts.
pub const CHUNK: usize = 64;

/// Into how many parts a window product `[n, k]` cuts `k` so that enough blocks stream the weight. The same for every
/// number of rows, so that a row's result is too. Only for [`Epilogue::Float`]; the others take 1.
pub fn splits(n: usize, k: usize) -> usize {
    let tiles = n.div_ceil(WINDOW_TILE).max(1);
    ((PROCESSORS + tiles / 2) / tiles).clamp(1, MAX_SPLITS.min(k.div_ceil(STEP).max(1)))
}

/// Tiles of a vocabulary: [`PeakPart`]s of a row.
pub fn peak_tiles(vocabulary: usize) -> usize {
    vocabulary.div_ceil(WINDOW_TILE)
}

/// Parts that attention over caches of at most `keys` tokens (the window included) is cut into.
pub fn chunks(keys: usize) -> usize {
    keys.div_ceil(CHUNK).max(1)
}

fn blocks(count: i32, size: usize) -> u32 {
    (count.max(0) as usize).div_ceil(size) as u32
}

impl ProductArguments {
    fn weight_rows(&self) -> i32 {
        if self.epilogue == Epilogue::SwiGlu as i32 { 2 * self.n } else { self.n }
    }

    /// As a window product: any number of rows, a row's result independent of the others.
    pub fn window(&self) -> Launch {
        let (kernel, rows) = match self.rows {
            ..=8 => ("product_8", 8),
            9..=16 => ("product_16", 16),
            17..=40 => ("product_40", 40),
            _ => ("product_64", 64),
        };
        let stages = if rows == 64 { 6 } else { 7 };
        let grid = [blocks(self.rows, rows), blocks(self.weight_rows(), WINDOW_TILE), self.splits.max(1) as u32];
        Launch::new(kernel, grid, 256, (stages * (WINDOW_TILE + rows) * STEP * 2) as u32, self)
    }

    /// As a product of many rows (vision tower, prefill), tiled for arithmetic. Not for [`Epilogue::Peaks`]; `splits` is
    /// 1.
    pub fn bulk(&self) -> Launch {
        const TILE: usize = 128;
        const STAGES: usize = 3;
        let grid = [blocks(self.rows, TILE), blocks(self.weight_rows(), TILE), 1];
        if (grid[0] * grid[1]) as usize >= PROCESSORS {
            Launch::new("product_bulk", grid, 128, (STAGES * 2 * TILE * STEP * 2) as u32, self)
        } else {
            self.window() // smaller tiles fill more processors
        }
    }
}

impl PackArguments {
    /// Its launch.
    pub fn launch(&self) -> Launch {
        Launch::new("pack_rows", [blocks(self.rows * (self.pitch / 8), 256), 1, 1], 256, 0, self)
    }
}

/// One block for each row.
fn by_row(kernel: &'static str, rows: i32, argument: &impl Arguments) -> Launch {
    Launch::new(kernel, [rows.max(0) as u32, 1, 1], 256, 0, argument)
}

impl EmbedArguments {
    /// Its launch.
    pub fn launch(&self) -> Launch {
        by_row("embed", self.rows, self)
    }
}

impl NormArguments {
    /// Its launch.
    pub fn launch(&self) -> Launch {
        by_row("rms_norm", self.rows, self)
    }
}

impl AddNormArguments {
    /// Its launch. The summed row is kept in shared memory, so `width` is at most 24576.
    pub fn launch(&self) -> Launch {
        Launch { shared: 4 * self.width.max(0) as u32, ..by_row("add_norm", self.rows, self) }
    }
}

impl LayerNormArguments {
    /// Its launch.
    pub fn launch(&self) -> Launch {
        by_row("layer_norm_gelu", self.rows, self)
    }
}

impl VisionRotateArguments {
    /// Its launch: one warp for each head of a query or key.
    pub fn launch(&self) -> Launch {
        let warps = 2 * self.heads.max(0) as usize * self.rows.max(0) as usize;
        Launch::new("vision_rotate", [warps.div_ceil(8) as u32, 1, 1], 256, 0, self)
    }
}

impl RotateStoreArguments {
    /// Its launch.
    pub fn launch(&self) -> Launch {
        let pairs = (self.heads + 2 * self.kv_heads) * self.head_dim / 2;
        Launch::new("rotate_store", [self.rows.max(0) as u32, blocks(pairs, 256), 1], 256, 0, self)
    }
}

impl AttentionArguments {
    /// Its launch; to be followed by [`AttentionArguments::combine`] when `chunks` is above 1.
    pub fn launch(&self) -> Launch {
        let (kernel, width) = match self.head_dim {
            ..=32 => ("attention_32", 32),
            33..=64 => ("attention_64", 64),
            _ => ("attention_128", 128),
        };
        // A warp takes 16 pairs of a row and a head of the group.
        let pairs = self.window * (self.heads / self.kv_heads.max(1));
        let warps = if pairs > 64 && pairs <= 80 { 5 } else { 4 };
        let sequences = self.rows / self.window.max(1);
        let grid = [
            self.chunks.max(1) as u32,
            self.kv_heads.max(0) as u32,
            sequences.max(0) as u32 * blocks(pairs, 16 * warps),
        ];
        Launch::new(kernel, grid, 32 * warps as u32, (4 * KEY_TILE * width * 2) as u32, self)
    }

    /// The launch that joins the parts: one warp for each row and head.
    pub fn combine(&self) -> Launch {
        Launch::new("combine", [blocks(self.rows * self.heads, 4), 1, 1], 128, 0, self)
    }
}

impl PeakArguments {
    /// Its launch.
    pub fn launch(&self) -> Launch {
        by_row("peak", self.rows, self)
    }
}

impl RoundArguments {
    fn each(&self, kernel: &'static str) -> Launch {
        Launch::new(kernel, [self.sequences.max(0) as u32, 1, 1], 32, 0, self)
    }

    /// Assembles the draft's window, or with `window` 1 the AR window.
    pub fn begin(&self) -> Launch {
        self.each("begin")
    }

    /// Assembles the verifier's window.
    pub fn begin_verify(&self) -> Launch {
        self.each("begin_verify")
    }

    /// Accepts and writes the records.
    pub fn settle(&self) -> Launch {
        self.each("settle")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_fill_the_processors_and_leave_each_part_a_step() {
        // Weight tiles of the published sizes times their splits: near 132 blocks, never more parts than steps.
        assert_eq!((splits(4096, 1536), splits(1536, 2048), splits(1536, 4608)), (2, 6, 6));
        assert_eq!((splits(59392, 1536), splits(64, 64), splits(64, 8), splits(64, 1 << 16)), (1, 1, 1, MAX_SPLITS));
    }

    #[test]
    fn a_product_takes_the_tile_that_its_rows_need() {
        let of = |rows, n| ProductArguments { rows, n, k: 64, splits: 1, ..Default::default() };
        for (rows, kernel, blocks) in [
            (1, "product_8", 1),
            (9, "product_16", 1),
            (33, "product_40", 1),
            (41, "product_64", 1),
            (594, "product_64", 10),
        ] {
            let launch = of(rows, 4096).window();
            assert_eq!((launch.kernel, launch.grid), (kernel, [blocks, 64, 1]));
            assert!(launch.shared <= SHARED_LIMIT);
        }
        // 8 row tiles by 8 weight tiles would leave half the processors idle.
        assert_eq!(of(1000, 1024).bulk().kernel, "product_64");
        assert_eq!((of(1000, 4096).bulk().kernel, of(1000, 4096).bulk().grid), ("product_bulk", [8, 32, 1]));
        let halves = ProductArguments { epilogue: Epilogue::SwiGlu as i32, ..of(33, 4608) };
        assert_eq!(halves.window().grid, [1, 144, 1]);
    }

    #[test]
    fn attention_covers_every_pair_of_row_and_head() {
        let of = |rows, window, chunks| AttentionArguments {
            rows,
            window,
            heads: 16,
            kv_heads: 8,
            head_dim: 128,
            chunks,
            ..Default::default()
        };
        // 33 rows by two heads of a group are 66 pairs: five warps of 16 and one block.
        let launch = of(66, 33, 9).launch();
        assert_eq!((launch.grid, launch.block[0], launch.kernel), ([9, 8, 2], 160, "attention_128"));
        let launch = of(1000, 1000, 1).launch();
        assert_eq!((launch.grid, launch.block[0]), ([1, 8, 32], 128)); // 2000 pairs by 64
        assert!(launch.shared <= SHARED_LIMIT);
        assert_eq!((chunks(1), chunks(CHUNK), chunks(CHUNK + 1)), (1, 1, 2));
    }
}
