//! What the device kernels take: the Rust side of `cuda/abi.h`, which says what each field means.
//!
//! Pointers are device addresses. Every structure has the layout of its C++ twin; `cuda_emulation` tests compare the sizes.

/// Most rows of a window.
pub const MAX_WINDOW: usize = 40;
/// Largest head size.
pub const MAX_HEAD: usize = 128;
/// Weight rows of a tile of the window products.
pub const WINDOW_TILE: usize = 64;
/// Keys that attention takes in one step.
pub const KEY_TILE: usize = 64;

/// A device address; 0 where `cuda/abi.h` allows null.
pub type Address = u64;

/// What may be copied to and from the device byte by byte.
///
/// # Safety
/// The type is a number, an array of numbers or `repr(C)`, has no padding, and every bit pattern is a value of it.
pub unsafe trait Pod: Copy + 'static {
    /// A value with all bits zero.
    fn zeroed() -> Self {
        // SAFETY: by the trait's contract any bits are a value.
        unsafe { std::mem::zeroed() }
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        // SAFETY: numbers.
        unsafe impl Pod for $type {}
    )*};
}

numbers! { u8 f32 i32 u32 [i32; 3] half::bf16 }

/// The bytes of values, as the device sees them.
pub fn bytes_of<T: Pod>(values: &[T]) -> &[u8] {
    // SAFETY: by the trait's contract all bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The values whose bytes these are; bytes of a value cut short are left out.
pub fn values_of<T: Pod>(bytes: &[u8]) -> Vec<T> {
    let values = bytes.chunks_exact(size_of::<T>());
    // SAFETY: a chunk is as large as the type, any bits of which are a value, and need not be aligned.
    values.map(|bits| unsafe { bits.as_ptr().cast::<T>().read_unaligned() }).collect()
}

/// A kernel's arguments: its only parameter.
pub trait Arguments: Pod {
    /// The structure's name in `cuda/abi.h`.
    const NAME: &'static str;
}

macro_rules! structures {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "cuda/abi.h documents each field")]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        // SAFETY: repr(C), numbers only, padded by hand.
        unsafe impl Pod for $name {}
        impl Default for $name {
            fn default() -> Self {
                Self::zeroed()
            }
        }
    )*};
}

macro_rules! arguments {
    ($($name:ident)*) => {$(
        impl Arguments for $name {
            const NAME: &'static str = stringify!($name);
        }
    )*};
}

/// What a slot is doing: `State` of `cuda/abi.h`.
pub mod state {
    /// Nothing.
    pub const IDLE: i32 = 0;
    /// Decoding.
    pub const RUNNING: i32 = 1;
    /// An end token was committed.
    pub const ENDED: i32 = 2;
    /// The next round would not fit the cache.
    pub const FULL: i32 = 3;
}

/// What a product does with its result: `Epilogue` of `cuda/abi.h`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// f32 planes, one for each split.
    Float = 0,
    /// bf16.
    Half = 1,
    /// Added to f32.
    Add = 2,
    /// `silu(gate) * up` in bf16.
    SwiGlu = 3,
    /// The largest two of every tile of the vocabulary.
    Peaks = 4,
}

/// What a row sees besides the cache: `Mask` of `cuda/abi.h`.
pub mod mask {
    /// The rows before it and itself.
    pub const CAUSAL: i32 = 0;
    /// Row 0 itself, the others the whole window.
    pub const DRAFT: i32 = 1;
    /// The whole window.
    pub const BLOCK: i32 = 2;
}

structures! {
    /// One request's cache and progress.
    Slot { offset: i64, capacity: i32, cached: i32, shift: i32, boundary: i32, state: i32, round: i32, }

    /// The largest logit of a row and the next one.
    Peak { id: i32, probability: f32, second: i32, gap: f32, }

    /// What one tile of the vocabulary says about a row.
    PeakPart { top: f32, id: i32, next: f32, second: i32, sum: f32, }

    /// One sequence's round.
    Record {
        slot: i32, round: i32, accepted: i32, cached: i32, state: i32, window: i32, pad: [i32; 2],
        draft: [Peak; MAX_WINDOW], verify: [Peak; MAX_WINDOW],
    }

    /// `product_8`, `product_16`, `product_40`, `product_64`, `product_bulk`.
    ProductArguments {
        x: Address, weight: Address, bias: Address, out: Address,
        rows: i32, n: i32, k: i32, x_pitch: i32, out_pitch: i32, splits: i32,
        /// An [`Epilogue`].
        epilogue: i32,
        pad: i32,
    }

    /// `pack_rows`.
    PackArguments { input: Address, out: Address, rows: i32, width: i32, pitch: i32, pad: i32, }

    /// `embed`.
    EmbedArguments {
        ids: Address, table: Address, features: Address, norm: Address, hidden: Address, out: Address,
        rows: i32, width: i32, vocabulary: i32, feature_rows: i32, eps: f32, pad: i32,
    }

    /// `rms_norm`.
    NormArguments { x: Address, weight: Address, out: Address, rows: i32, width: i32, eps: f32, pad: i32, }

    /// `add_norm`.
    AddNormArguments {
        parts: Address, post: Address, next: Address, hidden: Address, out: Address,
        rows: i32, width: i32, splits: i32, eps: f32,
    }

    /// `layer_norm_gelu`.
    LayerNormArguments {
        x: Address, weight: Address, bias: Address, out: Address, rows: i32, width: i32, eps: f32, pad: i32,
    }

    /// `vision_rotate`.
    VisionRotateArguments {
        qkv: Address, q_norm: Address, k_norm: Address, table: Address,
        rows: i32, heads: i32, head_dim: i32, columns: i32, merge: i32, eps: f32,
    }

    /// `rotate_store`.
    RotateStoreArguments {
        parts: Address, table: Address, positions: Address, slots: Address, sequence_slots: Address,
        queries: Address, keys: Address, values: Address,
        rows: i32, window: i32, heads: i32, kv_heads: i32, head_dim: i32, splits: i32,
        section_t: i32, section_h: i32, positions_limit: i32, pad: i32,
    }

    /// `attention_32`, `attention_64`, `attention_128` and `combine`.
    AttentionArguments {
        queries: Address, keys: Address, values: Address, slots: Address, sequence_slots: Address,
        out: Address, parts: Address, weights: Address,
        rows: i32, window: i32, heads: i32, kv_heads: i32, head_dim: i32, query_pitch: i32, key_pitch: i32,
        /// One of [`mask`].
        mask: i32,
        chunks: i32, chunk: i32, scale: f32, pad: i32,
    }

    /// `peak`.
    PeakArguments { parts: Address, out: Address, rows: i32, tiles: i32, }

    /// `begin`, `begin_verify`, `settle`.
    RoundArguments {
        slots: Address, sequence_slots: Address, ids: Address, draft: Address, verify: Address, records: Address,
        ends: Address, sequences: i32, window: i32, filler: i32, end_count: i32,
    }
}

arguments! {
    ProductArguments PackArguments EmbedArguments NormArguments AddNormArguments LayerNormArguments
    VisionRotateArguments RotateStoreArguments AttentionArguments PeakArguments RoundArguments
}
