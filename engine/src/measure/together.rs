//! Rounds of several requests side by side, each on a thread of its own.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::backend::{Backend, Session};
use super::{MeasureError, Prepared, stages};
use crate::cancel::Cancel;
use crate::decode::{Drafter, TargetError};
use crate::model::ImageFeatures;

/// Rounds of a request that are timed together: those of all requests have to fall into step.
const ROUNDS: u32 = 8;

/// Tokens that a request decodes at most while it is timed.
pub(super) fn tokens(drafter: Drafter) -> usize {
    (ROUNDS as usize + 1) * (drafter.block + 2)
}

/// Requests that decode side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Together {
    /// How many.
    pub requests: usize,
    /// Milliseconds of a round in which each of them has one, one figure a run.
    pub round_ms: Vec<f64>,
}

/// Milliseconds of a round when so many equal requests decode side by side.
pub(super) fn run(
    backend: &Backend,
    request: &Prepared,
    image: &ImageFeatures,
    drafter: Drafter,
    requests: usize,
    cancel: &Cancel,
) -> Result<f64, MeasureError> {
    let sessions = (0..requests).map(|_| {
        let mut session = backend.session(&request.prompt, image, tokens(drafter), cancel)?;
        let first = session.prefill()?.id;
        Ok((session, first))
    });
    // All have their prompt behind them before any thread waits for another.
    let sessions = sessions.collect::<Result<Vec<_>, MeasureError>>()?;
    let barrier = Barrier::new(requests);
    let rounds = |(mut session, first): (Session<'_>, u32)| -> Result<Duration, TargetError> {
        barrier.wait();
        // Nothing is done ahead of the first round.
        let mut boundary = stages::round(session.as_mut(), first, drafter)?.map_or(first, |round| round.1);
        let start = Instant::now();
        for _ in 0..ROUNDS {
            boundary = stages::round(session.as_mut(), boundary, drafter)?.map_or(first, |round| round.1);
        }
        Ok(start.elapsed())
    };
    let spent = std::thread::scope(|scope| {
        let threads: Vec<_> = sessions.into_iter().map(|session| scope.spawn(|| rounds(session))).collect();
        let stopped = |_| Err(TargetError::failed("an internal error stopped the measurement"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(stopped)).collect::<Result<Vec<_>, _>>()
    })?;
    let longest = spent.into_iter().max().unwrap_or_default();
    Ok(longest.as_secs_f64() * 1e3 / f64::from(ROUNDS))
}
