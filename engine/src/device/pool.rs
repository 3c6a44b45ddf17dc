//! Room for caches: ranges of tokens in the pool that all requests share.

use std::ops::Range;

/// A pool of so many tokens, given out in ranges.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// What is free, in order, no two touching.
    free: Vec<Range<usize>>,
}

impl Pool {
    pub(super) fn new(tokens: usize) -> Self {
        Self { free: std::iter::once(0..tokens).collect() }
    }

    /// Takes the first room for so many tokens.
    pub(super) fn take(&mut self, tokens: usize) -> Option<Range<usize>> {
        let at = self.free.iter().position(|range| range.len() >= tokens)?;
        let start = self.free[at].start;
        self.free[at].start += tokens;
        if self.free[at].is_empty() {
            self.free.remove(at);
        }
        Some(start..start + tokens)
    }

    /// Gives back what was taken.
    pub(super) fn give(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let at = self.free.partition_point(|free| free.start < range.start);
        self.free.insert(at, range);
        self.free = self.free.drain(..).fold(Vec::new(), |mut joined: Vec<Range<usize>>, range| {
            match joined.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => joined.push(range),
            }
            joined
        });
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_as_one() {
        let mut pool = Pool::new(100);
        let ranges: Vec<_> = [30, 30, 40].map(|tokens| pool.take(tokens).unwrap()).into();
        assert_eq!(ranges, [0..30, 30..60, 60..100]);
        assert_eq!(pool.take(1), None);
        pool.give(ranges[0].clone());
        pool.give(ranges[2].clone());
        assert_eq!(pool.take(41), None, "70 are free, but not side by side");
        pool.give(ranges[1].clone());
        assert_eq!(pool.take(100), Some(0..100));
    }
}
