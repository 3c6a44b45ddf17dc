//! The middle and the ends of a list of figures.

/// Median, minimum and maximum; all 0 where there is no figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) count: usize,
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = match (values.get(middle), values.len() % 2) {
            (None, _) => return Self::default(),
            (Some(&above), 1) => above,
            (Some(&above), _) => (values[middle - 1] + above) / 2.0,
        };
        Self { median, min: values[0], max: values[values.len() - 1], count: values.len() }
    }

    /// How many of something a second, where each of these milliseconds gives so many.
    pub(crate) fn per_second(&self, each: f64) -> Self {
        let &Self { median, min, max, count } = self;
        match count {
            0 => Self::default(),
            _ => Self { median: each * 1e3 / median, min: each * 1e3 / max, max: each * 1e3 / min, count },
        }
    }

    /// The median as a share of another's; `None` when either was not measured.
    pub(crate) fn share(&self, whole: &Self) -> Option<f64> {
        (self.count > 0 && whole.median > 0.0).then(|| self.median / whole.median)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_middles() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0, count: 3 });
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!(Spread::of([]).count, 0);
    }

    #[test]
    fn the_longest_time_is_the_slowest() {
        let rate = Spread::of([20.0, 25.0, 50.0]).per_second(2.0);
        assert_eq!(rate, Spread { median: 80.0, min: 40.0, max: 100.0, count: 3 });
        assert_eq!(Spread::default().per_second(2.0).count, 0);
    }
}
