//! Weight matrices: as they are stored, packed into panels once, or quantised to 8-bit integers.

use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;

use crate::Kernel;
use crate::memory::{Dtype, Tensor};
use crate::operand::{BLOCK, Format, encode_row, round_to_low_byte, scale_of};
use crate::panel::MOST_COLUMNS;

/// Weights `[outer, inner]`, with or without a bias.
///
/// Several stored tensors may stand one after the other as one matrix, so that what reads the same activations is one
/// product. Nothing is copied, unless the matrix is packed or quantised.
#[derive(Debug)]
pub struct Matrix {
    parts: Vec<Part>,
    outer: usize,
    inner: usize,
    bias: Option<Vec<f32>>,
    gated: bool,
    format: Format,
    dtype: Dtype,
    panels: Option<Panels>,
}

#[derive(Debug)]
struct Part {
    tensor: Tensor,
    /// Its first row in the matrix.
    start: usize,
}

/// A matrix panel by panel, word by word of all columns. Quantised, a panel's blocks follow each other; a block is the
/// words of its columns, then a scale and a correction for each column (`panel::tile_bytes`).
#[derive(Debug)]
struct Panels {
    /// Columns of a panel.
    columns: usize,
    /// Words of a panel.
    panel: usize,
    words: Vec<u32>,
}

impl Matrix {
    /// From tensors whose first dimension is the output and whose others are flattened. `None` when they do not fit
    /// together, have no elements, or when the bias has another length.
    pub fn new(tensors: Vec<Tensor>, bias: Option<Vec<f32>>) -> Option<Self> {
        let mut outer = 0;
        let mut inner = None;
        let dtype = tensors.first()?.dtype;
        let mut parts = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            let rows = tensor.shape.first().copied().filter(|&rows| rows > 0)?;
            let width = tensor.len() / rows;
            if width == 0 || *inner.get_or_insert(width) != width {
                return None;
            }
            parts.push(Part { tensor, start: outer });
            outer += rows;
        }
        if bias.as_ref().is_some_and(|bias| bias.len() != outer) {
            return None;
        }
        if parts.iter().any(|part| part.tensor.dtype != dtype) {
            // A mixture, which no published checkpoint has, is widened.
            let values: Vec<f32> = parts.iter().flat_map(|part| part.tensor.to_f32_vec()).collect();
            return Self::new(vec![Tensor::from_f32(&[outer, inner?], &values)?], bias);
        }
        Some(Self { parts, outer, inner: inner?, bias, gated: false, format: Format::F32, dtype, panels: None })
    }

    /// Declares the lower half of the rows to be gates of the upper half: products give `silu(gate) * up`, half as wide.
    /// `None` when the rows are odd in number.
    pub fn gated(self) -> Option<Self> {
        self.outer.is_multiple_of(2).then_some(Self { gated: true, ..self })
    }

    /// Settles how products see it. Bf16 applies to matrices stored so, others stay with f32; Int8 quantises a copy for
    /// this kernel and lets go of the stored weights.
    pub fn with_format(mut self, kernel: &Kernel, format: Format) -> Self {
        self.format = match format {
            Format::Bf16 if self.dtype != Dtype::Bf16 => Format::F32,
            other => other,
        };
        if self.format == Format::Int8 {
            self.panels = Some(self.quantised(kernel.columns()));
            self.parts.clear();
        }
        self
    }

    /// Packs a copy for this kernel and lets go of the stored weights: for matrices that stay in the caches, where packing
    /// them in every product would be what it takes.
    pub fn packed(mut self, kernel: &Kernel) -> Self {
        if self.panels.is_none() {
            self.panels = Some(self.in_panels(kernel.columns()));
            self.parts.clear();
        }
        self
    }

    /// Outputs of a product with it.
    pub fn outputs(&self) -> usize {
        if self.gated { self.outer / 2 } else { self.outer }
    }

    /// Inputs of a product with it.
    pub fn inner(&self) -> usize {
        self.inner
    }

    /// The format that its products take.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes that a product reads.
    pub fn size(&self) -> usize {
        match &self.panels {
            Some(panels) => panels.words.len() * 4,
            None => self.outer * self.inner * self.dtype.size(),
        }
    }

    pub(crate) fn is_gated(&self) -> bool {
        self.gated
    }

    pub(crate) fn bias(&self) -> Option<&[f32]> {
        self.bias.as_deref()
    }

    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The row that is column `column` of panel `panel`, for panels of `columns` columns. A gated panel holds gates in its
    /// lower and their values in its upper half. Columns past the end repeat the last row.
    pub(crate) fn source(&self, columns: usize, panel: usize, column: usize) -> usize {
        if self.gated {
            let (half, values) = (columns / 2, self.outer / 2);
            let place = (panel * half + column % half).min(values - 1);
            if column < half { place } else { values + place }
        } else {
            (panel * columns + column).min(self.outer - 1)
        }
    }

    /// Where the stored rows start that are the columns of a panel.
    pub(crate) fn starts(&self, columns: usize, panel: usize) -> [*const u8; MOST_COLUMNS] {
        let mut starts = [std::ptr::null(); MOST_COLUMNS];
        let bytes = self.inner * self.dtype.size();
        for part in &self.parts {
            let rows = part.tensor.data.as_slice();
            for (column, start) in starts.iter_mut().take(columns).enumerate() {
                let row = self.source(columns, panel, column);
                if let Some(row) = row.checked_sub(part.start).and_then(|row| rows.get(row * bytes..(row + 1) * bytes))
                {
                    *start = row.as_ptr();
                }
            }
        }
        starts
    }

    /// The words of a panel that was packed or quantised.
    pub(crate) fn panel(&self, panel: usize) -> &[u32] {
        self.panels.as_ref().and_then(|p| p.words.get(panel * p.panel..(panel + 1) * p.panel)).unwrap_or_default()
    }

    fn in_panels(&self, columns: usize) -> Panels {
        let words_of = self.inner.div_ceil(self.format.per_word());
        let panel = words_of * columns;
        let mut words = vec![0u32; self.outer.div_ceil(columns) * panel];
        words.par_chunks_exact_mut(panel).enumerate().for_each(|(n, panel)| {
            let (mut row, mut packed) = (vec![0.0f32; self.inner], vec![0u32; words_of]);
            for column in 0..columns {
                self.widen(self.source(columns, n, column), &mut row);
                encode_row(self.format, &row, &mut packed, &mut []);
                panel[column..].iter_mut().step_by(columns).zip(&packed).for_each(|(to, word)| *to = *word);
            }
        });
        Panels { columns, panel, words }
    }

    fn quantised(&self, columns: usize) -> Panels {
        let panels = self.outer.div_ceil(columns);
        let words_of = |block: usize| block.min(self.inner).div_ceil(4);
        let panel: usize =
            (0..self.inner).step_by(BLOCK).map(|at| (words_of(BLOCK.min(self.inner - at)) + 2) * columns).sum();
        let mut words = vec![0u32; panels * panel];
        words.par_chunks_exact_mut(panel).enumerate().for_each(|(n, panel)| {
            let mut row = vec![0.0f32; self.inner];
            debug_assert!(columns <= MOST_COLUMNS);
            for column in 0..columns {
                self.widen(self.source(columns, n, column), &mut row);
                let mut at = 0;
                for block in row.chunks(BLOCK) {
                    let count = block.len().div_ceil(4);
                    let (inverse, scale) = scale_of(block);
                    let mut sum = 0i32;
                    for (k, four) in block.chunks(4).enumerate() {
                        let mut bytes = [0u8; 4];
                        for (byte, v) in bytes.iter_mut().zip(four) {
                            *byte = round_to_low_byte(v * inverse) as u8;
                            sum += i32::from(*byte as i8);
                        }
                        panel[at + k * columns + column] = u32::from_le_bytes(bytes);
                    }
                    panel[at + count * columns + column] = scale.to_bits();
                    panel[at + (count + 1) * columns + column] = (-128 * sum) as u32;
                    at += (count + 2) * columns;
                }
            }
        });
        Panels { columns, panel, words }
    }

    /// A stored row in f32.
    fn widen(&self, row: usize, out: &mut [f32]) {
        let part = self.parts.iter().rev().find(|part| part.start <= row);
        let Some(Part { tensor, start }) = part else { return };
        let range = (row - start) * self.inner..(row - start + 1) * self.inner;
        match self.dtype {
            Dtype::F32 => out.copy_from_slice(&tensor.data.as_f32().unwrap_or_default()[range]),
            Dtype::Bf16 => tensor.data.as_bf16().unwrap_or_default()[range].convert_to_f32_slice(out),
            Dtype::F16 => tensor.data.as_f16().unwrap_or_default()[range].convert_to_f32_slice(out),
        }
    }

    /// Columns of the panels that it was packed or quantised to.
    pub(crate) fn panel_columns(&self) -> Option<usize> {
        self.panels.as_ref().map(|p| p.columns)
    }
}
