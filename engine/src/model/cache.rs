//! The keys and values of committed tokens.

/// Keys and values of one layer, for each key-value head `[tokens, head_dim]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerCache {
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
}

impl LayerCache {
    /// An empty cache for `heads` key-value heads.
    pub(crate) fn new(heads: usize) -> Self {
        Self { keys: vec![Vec::new(); heads], values: vec![Vec::new(); heads] }
    }

    /// Appends rows: `keys` and `values` are `[rows, heads, head_dim]`.
    pub(crate) fn append(&mut self, keys: &[f32], values: &[f32], head_dim: usize) {
        for (stored, new) in [(&mut self.keys, keys), (&mut self.values, values)] {
            let heads = stored.len();
            for (at, head) in new.chunks_exact(head_dim).enumerate() {
                stored[at % heads].extend_from_slice(head);
            }
        }
    }

    /// Forgets all but the first `tokens` tokens.
    pub(crate) fn truncate(&mut self, tokens: usize, head_dim: usize) {
        for head in self.keys.iter_mut().chain(&mut self.values) {
            head.truncate(tokens * head_dim);
        }
    }

    /// The keys by head.
    pub(crate) fn keys(&self) -> Vec<&[f32]> {
        self.keys.iter().map(Vec::as_slice).collect()
    }

    /// The values by head.
    pub(crate) fn values(&self) -> Vec<&[f32]> {
        self.values.iter().map(Vec::as_slice).collect()
    }
}
