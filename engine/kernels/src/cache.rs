//! The keys and values of attention, laid out as the panels that its two products read.

use rayon::prelude::*;

use crate::Kernel;
use crate::operand::{Format, Operand, SHARE_FROM, bf16_bits};
use crate::sharing::threads;

/// Keys and values of one layer, by key-value head. Grows at the end and is cut at the end.
///
/// Keys are columns of the product with queries: panels of as many keys as the kernel's panels have columns, word by word
/// of the head. Values are rows of the product with probabilities: word by word of keys, all columns of the head.
#[derive(Clone, Debug)]
pub struct KeyValues {
    format: Format,
    head_dim: usize,
    /// Keys of a panel.
    columns: usize,
    len: usize,
    heads: Vec<Head>,
}

#[derive(Clone, Debug, Default)]
struct Head {
    keys: Vec<u32>,
    values: Vec<u32>,
}

impl KeyValues {
    /// None yet, for `heads` heads of `head_dim` numbers, kept as f32 or bf16 ([`Format::Int8`] keeps bf16).
    pub fn new(kernel: &Kernel, format: Format, heads: usize, head_dim: usize) -> Self {
        let format = if format == Format::F32 { Format::F32 } else { Format::Bf16 };
        Self { format, head_dim, columns: kernel.columns(), len: 0, heads: vec![Head::default(); heads] }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its number format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Appends rows. `keys` has a row of `head_dim` numbers for each row and head, `values` rows of at least
    /// `heads * head_dim` numbers, `stride` apart.
    ///
    /// # Panics
    /// When the sizes do not fit together.
    pub fn append(&mut self, keys: &Operand, values: &[f32], stride: usize) {
        let (heads, width) = (self.heads.len(), self.head_dim);
        assert!(keys.width() == width && keys.format() == self.format && heads > 0, "append: keys");
        assert!(keys.rows().is_multiple_of(heads), "append: heads");
        let rows = keys.rows() / heads;
        assert!(rows == 0 || values.len() >= (rows - 1) * stride + heads * width, "append: values");
        let end = self.len + rows;
        let (first, format, columns) = (self.len, self.format, self.columns);
        let (key_words, value_words) = (self.key_words(), self.value_words());
        let each = |(n, head): (usize, &mut Head)| {
            head.keys.resize(end.div_ceil(columns) * key_words * columns, 0);
            head.values.resize(end.div_ceil(format.per_word()) * value_words, 0);
            for row in 0..rows {
                let at = first + row;
                let panel = at / columns * key_words * columns + at % columns;
                let from = &keys.words()[(row * heads + n) * keys.stride()..][..key_words];
                let to = head.keys[panel..].iter_mut().step_by(columns);
                to.zip(from).for_each(|(to, from)| *to = *from);

                let from = &values[row * stride + n * width..][..width];
                let to = &mut head.values[at / format.per_word() * value_words..][..width];
                match format {
                    Format::F32 => to.iter_mut().zip(from).for_each(|(to, v)| *to = v.to_bits()),
                    _ if at % 2 == 0 => to.iter_mut().zip(from).for_each(|(to, v)| *to = bf16_bits(*v)),
                    _ => to.iter_mut().zip(from).for_each(|(to, v)| *to = *to & 0xffff | bf16_bits(*v) << 16),
                }
            }
        };
        if threads() == 1 || rows * heads * width < SHARE_FROM {
            self.heads.iter_mut().enumerate().for_each(each);
        } else {
            self.heads.par_iter_mut().enumerate().for_each(each);
        }
        self.len = end;
    }

    /// Forgets all but the first `len` keys.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.len = len;
        let words = self.value_words();
        let whole = len / self.format.per_word() * words;
        for head in &mut self.heads {
            // What is behind the end is multiplied by zero, which must give zero.
            let mut half = !len.is_multiple_of(self.format.per_word());
            for row in head.values[whole..].chunks_exact_mut(words) {
                row.iter_mut().for_each(|word| *word = if half { *word & 0xffff } else { 0 });
                half = false;
            }
        }
    }

    pub(crate) fn head_dim(&self) -> usize {
        self.head_dim
    }

    pub(crate) fn head_count(&self) -> usize {
        self.heads.len()
    }

    /// Words of one key.
    pub(crate) fn key_words(&self) -> usize {
        self.head_dim.div_ceil(self.format.per_word())
    }

    /// Words from one word of keys to the next among the values: the head's width, padded to whole panels.
    pub(crate) fn value_words(&self) -> usize {
        self.head_dim.next_multiple_of(self.columns)
    }

    pub(crate) fn keys(&self, head: usize) -> &[u32] {
        &self.heads[head].keys
    }

    pub(crate) fn values(&self, head: usize) -> &[u32] {
        &self.heads[head].values
    }
}
