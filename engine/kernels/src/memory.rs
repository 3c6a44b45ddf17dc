//! Memory that weights live in: mapped files and aligned buffers, shared and never written.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use memmap2::Mmap;

#[cfg(target_endian = "big")]
compile_error!("checkpoints are little-endian and are read in place");

/// Alignment of owned buffers, bytes: a cache line, and the widest vector load.
const ALIGNMENT: usize = 64;

/// Where bytes live.
enum Storage {
    Mapped(Mmap),
    /// The bytes start at the first multiple of `ALIGNMENT` in the vector.
    Owned(Vec<u8>, usize),
    Static(&'static [u8]),
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Storage::Mapped(map) => map,
            Storage::Owned(buffer, start) => buffer.get(*start..).unwrap_or_default(),
            Storage::Static(bytes) => bytes,
        }
    }
}

/// Shared read-only bytes: a mapped file, an owned 64-byte-aligned buffer, or a part of either. Cloning is cheap.
#[derive(Clone)]
pub struct Bytes {
    storage: Arc<Storage>,
    range: Range<usize>,
}

impl Bytes {
    fn whole(storage: Storage) -> Self {
        let range = 0..storage.bytes().len();
        Self { storage: Arc::new(storage), range }
    }

    /// Maps a file. An empty file gives no bytes.
    ///
    /// Nobody may shorten or rewrite the file while the bytes are in use; write a new file beside it and rename it.
    pub fn map_file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::copy_from(&[]));
        }
        // SAFETY: the mapping is private to `Storage`, read-only, and handed out as shared slices only. The file is not
        // changed by this process; that no other process does while it is open is the condition stated above, as for
        // every reader of mapped files.
        let map = unsafe { Mmap::map(&file)? };
        Ok(Self::whole(Storage::Mapped(map)))
    }

    /// Copies bytes into a buffer that starts at a multiple of 64.
    pub fn copy_from(bytes: &[u8]) -> Self {
        let mut buffer: Vec<u8> = Vec::with_capacity(bytes.len() + ALIGNMENT);
        let start = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        buffer.resize(start, 0);
        buffer.extend_from_slice(bytes);
        Self::whole(Storage::Owned(buffer, start))
    }

    /// A buffer of `length` bytes that starts at a multiple of 64, zero until `fill` has written into it.
    pub fn filled(length: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        // Zeroed pages come from the system as they are touched, so filling in parallel also spreads that cost.
        let mut buffer = vec![0; length + ALIGNMENT];
        let start = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        buffer.truncate(start + length);
        fill(buffer.get_mut(start..).unwrap_or_default());
        Self::whole(Storage::Owned(buffer, start))
    }

    /// Bytes that are part of the program.
    pub fn from_static(bytes: &'static [u8]) -> Self {
        Self::whole(Storage::Static(bytes))
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.storage.bytes().get(self.range.clone()).unwrap_or_default()
    }

    /// A part that shares the memory; `None` when it is not inside.
    pub fn slice(&self, range: Range<usize>) -> Option<Self> {
        if range.start > range.end || range.end > self.len() {
            return None;
        }
        let range = self.range.start + range.start..self.range.start + range.end;
        Some(Self { storage: self.storage.clone(), range })
    }

    /// The bytes as little-endian f32; `None` when misaligned or not a whole number of them.
    pub fn as_f32(&self) -> Option<&[f32]> {
        // SAFETY: every bit pattern is an f32.
        unsafe { self.cast() }
    }

    /// The bytes as little-endian bf16; `None` when misaligned or not a whole number of them.
    pub fn as_bf16(&self) -> Option<&[bf16]> {
        // SAFETY: bf16 is a transparent u16, and every bit pattern is one.
        unsafe { self.cast() }
    }

    /// The bytes as little-endian f16; `None` when misaligned or not a whole number of them.
    pub fn as_f16(&self) -> Option<&[f16]> {
        // SAFETY: f16 is a transparent u16, and every bit pattern is one.
        unsafe { self.cast() }
    }

    /// The bytes as numbers, when they are aligned and fit exactly.
    ///
    /// # Safety
    /// Every bit pattern must be a valid `T`.
    unsafe fn cast<T>(&self) -> Option<&[T]> {
        // SAFETY: `align_to` keeps to alignment and length by itself; the caller promises that any bits are a `T`.
        let (before, numbers, after) = unsafe { self.as_slice().align_to::<T>() };
        (before.is_empty() && after.is_empty()).then_some(numbers)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len())
    }
}

/// Number format of a tensor's elements, little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dtype {
    /// IEEE single.
    F32,
    /// IEEE half.
    F16,
    /// The upper half of a single.
    Bf16,
}

impl Dtype {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::Bf16 => 2,
        }
    }
}

/// A dense row-major array of numbers in shared memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Format of the elements.
    pub dtype: Dtype,
    /// Extent of each axis, the last one contiguous.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Bytes,
}

impl Tensor {
    /// A tensor over existing bytes; `None` when they do not fit the shape or are not aligned to the element.
    pub fn new(dtype: Dtype, shape: &[usize], data: Bytes) -> Option<Self> {
        let bytes = shape.iter().try_fold(dtype.size(), |product, &extent| product.checked_mul(extent))?;
        let aligned = data.is_empty() || data.as_slice().as_ptr().align_offset(dtype.size()) == 0;
        (aligned && bytes == data.len()).then(|| Self { dtype, shape: shape.to_vec(), data })
    }

    /// A tensor of f32 that owns a copy of the values; `None` when their number does not fit the shape.
    pub fn from_f32(shape: &[usize], values: &[f32]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(Dtype::F32, shape, Bytes::copy_from(&bytes))
    }

    /// A tensor of bf16 that owns the values rounded to it; `None` when their number does not fit the shape.
    pub fn from_f32_as_bf16(shape: &[usize], values: &[f32]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|&value| bf16::from_f32(value).to_le_bytes()).collect();
        Self::new(Dtype::Bf16, shape, Bytes::copy_from(&bytes))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len() / self.dtype.size()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The elements in f32, which holds each of them exactly.
    pub fn to_f32_vec(&self) -> Vec<f32> {
        // The constructor checked alignment and length; fields changed by hand to misfit give no elements.
        match self.dtype {
            Dtype::F32 => self.data.as_f32().unwrap_or_default().to_vec(),
            Dtype::F16 => self.data.as_f16().unwrap_or_default().to_f32_vec(),
            Dtype::Bf16 => self.data.as_bf16().unwrap_or_default().to_f32_vec(),
        }
    }

    /// Index of the first element that is not finite.
    pub fn first_non_finite(&self) -> Option<usize> {
        match self.dtype {
            Dtype::F32 => self.data.as_f32()?.iter().position(|value| !value.is_finite()),
            Dtype::F16 => self.data.as_f16()?.iter().position(|value| !value.is_finite()),
            Dtype::Bf16 => self.data.as_bf16()?.iter().position(|value| !value.is_finite()),
        }
    }
}

/// Keeps freed memory in few places. glibc gives each new thread a heap of its own; page rasters that pass from thread to
/// thread leave holes in all of them, and over a long document the process grows by a third. Two heaps keep it flat, and
/// their locks are not felt. Call it before threads are started; other systems need nothing.
pub fn limit_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt may be called at any time; it only changes where later allocations come from.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn owned_bytes_are_aligned_and_equal() {
        for length in [0, 1, 63, 64, 65, 1000] {
            let source: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let bytes = Bytes::copy_from(&source);
            assert_eq!(bytes.as_slice(), source);
            assert_eq!(bytes.as_slice().as_ptr() as usize % ALIGNMENT, 0);
            let filled = Bytes::filled(length, |bytes| bytes.copy_from_slice(&source));
            assert_eq!(filled.as_slice(), source);
            assert_eq!(filled.as_slice().as_ptr() as usize % ALIGNMENT, 0);
        }
    }

    #[test]
    fn slices_stay_inside_their_parent() {
        let bytes = Bytes::copy_from(&[0, 1, 2, 3, 4, 5, 6, 7]);
        let middle = bytes.slice(2..6).unwrap();
        assert_eq!(middle.as_slice(), [2, 3, 4, 5]);
        assert_eq!(middle.slice(1..3).unwrap().as_slice(), [3, 4]);
        assert!(middle.slice(0..5).is_none(), "byte 6 belongs to the parent only");
        assert!(middle.slice(usize::MAX - 1..usize::MAX).is_none());
        #[expect(clippy::reversed_empty_ranges, reason = "the fault under test")]
        let reversed = middle.slice(3..1);
        assert!(reversed.is_none());
        assert!(middle.slice(4..4).unwrap().is_empty());
    }

    #[test]
    fn numbers_need_alignment_and_whole_elements() {
        // 1.0 and -2.0 in little-endian f32; their upper halves are the same numbers in bf16.
        let bytes = Bytes::copy_from(&[0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!(bytes.as_f32().unwrap(), [1.0, -2.0]);
        assert_eq!(bytes.as_bf16().unwrap().iter().map(|x| x.to_f32()).collect::<Vec<_>>(), [0.0, 1.0, 0.0, -2.0]);
        assert!(bytes.slice(2..6).unwrap().as_f32().is_none(), "misaligned");
        assert!(bytes.slice(0..6).unwrap().as_f32().is_none(), "one and a half elements");
        assert_eq!(bytes.slice(2..4).unwrap().as_bf16().unwrap(), [bf16::ONE]);
        assert_eq!(Bytes::copy_from(&[0, 0x3c]).as_f16().unwrap(), [f16::ONE]);
    }

    #[test]
    fn tensor_refuses_what_does_not_fit() {
        let bytes = Bytes::copy_from(&[0; 24]);
        assert!(Tensor::new(Dtype::F32, &[2, 3], bytes.clone()).is_some());
        assert!(Tensor::new(Dtype::Bf16, &[2, 3], bytes.clone()).is_none());
        assert!(Tensor::new(Dtype::F32, &[usize::MAX, 3], bytes.clone()).is_none(), "the product overflows");
        assert!(Tensor::new(Dtype::F32, &[5], bytes.slice(1..21).unwrap()).is_none(), "misaligned");
        assert!(Tensor::new(Dtype::F32, &[0, 7], Bytes::copy_from(&[])).unwrap().is_empty());
    }

    #[test]
    fn half_formats_widen_exactly() {
        let bf = Tensor::new(Dtype::Bf16, &[2], Bytes::copy_from(&[0x80, 0x3f, 0x49, 0x40])).unwrap();
        assert_eq!(bf.to_f32_vec(), [1.0, 3.140625]);
        let half = Tensor::new(Dtype::F16, &[2], Bytes::copy_from(&[0x00, 0x3c, 0x48, 0x42])).unwrap();
        assert_eq!(half.to_f32_vec(), [1.0, 3.140625]);
        assert_eq!(Tensor::from_f32(&[2], &[0.5, -1.5]).unwrap().to_f32_vec(), [0.5, -1.5]);
        assert_eq!(Tensor::from_f32_as_bf16(&[1], &[std::f32::consts::PI]).unwrap().to_f32_vec(), [3.140625]);
    }

    #[test]
    fn non_finite_values_are_found_in_each_format() {
        assert_eq!(Tensor::from_f32(&[3], &[0.0, f32::MAX, f32::NAN]).unwrap().first_non_finite(), Some(2));
        assert_eq!(Tensor::from_f32(&[2], &[0.0, f32::MAX]).unwrap().first_non_finite(), None);
        let infinite = Tensor::new(Dtype::F16, &[2], Bytes::copy_from(&[0, 0, 0x00, 0x7c])).unwrap();
        assert_eq!(infinite.first_non_finite(), Some(1));
        let infinite = Tensor::new(Dtype::Bf16, &[1], Bytes::copy_from(&[0x80, 0xff])).unwrap();
        assert_eq!(infinite.first_non_finite(), Some(0));
    }

    #[test]
    fn mapped_file_equals_its_content() {
        let path = std::env::temp_dir().join(format!("kernels-memory-{}", std::process::id()));
        std::fs::write(&path, [7, 8, 9]).unwrap();
        let bytes = Bytes::map_file(&path).unwrap();
        assert_eq!(bytes.as_slice(), [7, 8, 9]);
        drop(bytes);
        std::fs::write(&path, []).unwrap();
        assert!(Bytes::map_file(&path).unwrap().is_empty());
        std::fs::remove_file(&path).unwrap();
        assert!(Bytes::map_file(&path).is_err());
    }
}
