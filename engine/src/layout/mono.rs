//! Monospaced type: letters stand on a grid of one pitch.

use super::lines::Segment;

/// The pitch of a segment set in a monospaced face; `None` when it is too short to tell or proportional.
pub(super) fn pitch(segment: &Segment) -> Option<f32> {
    let middles = middles(segment);
    if middles.len() < 8 {
        return None;
    }
    let steps: Vec<f32> = middles.windows(2).map(|w| w[1] - w[0]).collect();
    let mut sorted = steps.clone();
    sorted.sort_by(f32::total_cmp);
    let rough = sorted.get(sorted.len() / 2).copied()?;
    if rough < 3.0 {
        return None;
    }
    // Refine on the steps that are one pitch.
    let near: Vec<f32> = steps.iter().copied().filter(|s| (s / rough - 1.0).abs() < 0.2).collect();
    let pitch = near.iter().sum::<f32>() / near.len().max(1) as f32;
    let single = steps.iter().filter(|&&s| (s / pitch - 1.0).abs() < 0.17).count();
    let agree = coherence(&middles, pitch) >= 0.75;
    (single * 100 >= steps.len() * 50 && agree).then_some(pitch)
}

/// Whether `right` continues the grid of `left` with this pitch.
pub(super) fn same_grid(left: &Segment, right: &Segment, pitch: f32) -> bool {
    let (Some(&a), Some(&b)) = (middles(left).last(), middles(right).first()) else { return false };
    let cells = (b - a) / pitch;
    (cells - cells.round()).abs() < 0.25 && (left.baseline - right.baseline).abs() < 0.35 * left.size.max(right.size)
}

fn middles(segment: &Segment) -> Vec<f32> {
    spans(segment).iter().map(|s| (s.0 + s.1) as f32 / 2.0).collect()
}

/// Left and right ends of the letters, parts of one letter (dots, quotes, equal signs) taken together.
fn spans(segment: &Segment) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for letter in &segment.letters {
        let b = letter.bounds;
        match spans.last_mut() {
            Some(last) if b.x0 < last.1 => last.1 = last.1.max(b.x1),
            _ => spans.push((b.x0, b.x1)),
        }
    }
    spans
}

/// Whether a segment stands on a grid of the given pitch; `None` when it has too few letters to tell.
pub(super) fn fits(segment: &Segment, pitch: f32) -> Option<bool> {
    let middles = single(segment, 1.3 * pitch);
    if middles.len() < 5 {
        return None;
    }
    Some(coherence(&middles, pitch) >= if middles.len() < WINDOW { 0.85 } else { 0.72 })
}

/// Letters looked at together: few enough that a slightly wrong pitch does not add up.
const WINDOW: usize = 10;

/// How well centres agree on their phase in a grid, from 0 (none) to 1, averaged over windows of letters. Proportional
/// type comes out near 0.35.
fn coherence(middles: &[f32], pitch: f32) -> f32 {
    let windows: Vec<&[f32]> =
        if middles.len() < WINDOW { vec![middles] } else { middles.windows(WINDOW).step_by(3).collect() };
    let of = |window: &&[f32]| {
        let (mut cosine, mut sine) = (0.0f32, 0.0f32);
        for middle in *window {
            let phase = middle / pitch * std::f32::consts::TAU;
            cosine += phase.cos();
            sine += phase.sin();
        }
        cosine.hypot(sine) / window.len() as f32
    };
    windows.iter().map(of).sum::<f32>() / windows.len().max(1) as f32
}

/// Centres of the letters that are not several which touch.
fn single(segment: &Segment, widest: f32) -> Vec<f32> {
    spans(segment).iter().filter(|s| (s.1 - s.0) as f32 <= widest).map(|s| (s.0 + s.1) as f32 / 2.0).collect()
}
