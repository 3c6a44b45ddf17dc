//! Norms, activations, rotations and the arg-max of a row.

use crate::simd::Vector;

/// `out = x * w * rsqrt(mean(x^2) + eps)`.
///
/// # Safety
/// `V`'s instruction set must be present; the three slices have one length.
#[inline(always)]
pub(crate) unsafe fn rms_norm<V: Vector>(x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    // SAFETY: as the caller's; chunks hold LANES values.
    unsafe {
        let mut sum = V::splat(0.0);
        let chunks = x.chunks_exact(V::LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            let v = V::load(chunk.as_ptr());
            sum = v.mul_add(v, sum);
        }
        let sum = sum.reduce_add() + rest.iter().map(|v| v * v).sum::<f32>();
        let scale = 1.0 / (sum / x.len() as f32 + eps).sqrt();
        for ((o, v), w) in out.iter_mut().zip(x).zip(weight) {
            *o = v * scale * w;
        }
    }
}

/// Layer normalisation with weight and bias.
pub(crate) fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
    let n = x.len() as f32;
    let mean = x.iter().sum::<f32>() / n;
    let variance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / n;
    let scale = 1.0 / (variance + eps).sqrt();
    for (((o, v), w), b) in out.iter_mut().zip(x).zip(weight).zip(bias) {
        *o = (v - mean) * scale * w + b;
    }
}

/// `out = silu(gate) * up`.
///
/// # Safety
/// `V`'s instruction set must be present; the three slices have one length.
#[inline(always)]
pub(crate) unsafe fn silu_product<V: Vector>(gate: &[f32], up: &[f32], out: &mut [f32]) {
    let whole = out.len() / V::LANES * V::LANES;
    // SAFETY: as the caller's; offsets stay inside the slices.
    unsafe {
        let mut at = 0;
        while at < whole {
            silu_times(V::load(gate.as_ptr().add(at)), V::load(up.as_ptr().add(at))).store(out.as_mut_ptr().add(at));
            at += V::LANES;
        }
        let rest = out.len() - whole;
        if rest > 0 {
            let (g, u) = (gate.as_ptr().add(at), up.as_ptr().add(at));
            silu_times(V::load_partial(g, rest), V::load_partial(u, rest))
                .store_partial(out.as_mut_ptr().add(at), rest);
        }
    }
}

/// `g / (1 + e^-g) * u`.
#[inline(always)]
unsafe fn silu_times<V: Vector>(g: V, u: V) -> V {
    // SAFETY: as the caller's.
    unsafe { g.div(V::splat(1.0).add(V::splat(0.0).sub(g).exp())).mul(u) }
}

/// The exact GELU, in place: `x * Phi(x)`.
pub(crate) fn gelu(x: &mut [f32]) {
    for v in x {
        *v = (f64::from(*v) * 0.5 * (1.0 + erf(f64::from(*v) * std::f64::consts::FRAC_1_SQRT_2))) as f32;
    }
}

/// The error function, absolute error under 1e-13: its series near zero, the continued fraction of `erfc` further out
/// (Abramowitz and Stegun 7.1.6 and 7.1.14).
fn erf(x: f64) -> f64 {
    let a = x.abs();
    let value = if a < 2.5 {
        let (mut term, mut sum, mut n) = (a, a, 1.0);
        while term > 1e-17 * sum {
            term *= 2.0 * a * a / (2.0 * n + 1.0);
            sum += term;
            n += 1.0;
        }
        std::f64::consts::FRAC_2_SQRT_PI * (-a * a).exp() * sum
    } else if a < 6.0 {
        let mut tail = a;
        for n in (1..=60).rev() {
            tail = a + 0.5 * f64::from(n) / tail;
        }
        1.0 - (-a * a).exp() / (std::f64::consts::PI.sqrt() * tail)
    } else {
        1.0
    };
    value.copysign(x)
}

/// The largest value's index (the first of equals) and its softmax probability. NaN counts as least.
///
/// # Safety
/// `V`'s instruction set must be present.
#[inline(always)]
pub(crate) unsafe fn peak<V: Vector>(row: &[f32]) -> (usize, f32) {
    let (mut index, mut max) = (0, f32::NEG_INFINITY);
    for (i, &v) in row.iter().enumerate() {
        if v > max {
            (index, max) = (i, v);
        }
    }
    // SAFETY: as the caller's; chunks hold LANES values.
    unsafe {
        let mut sum = V::splat(0.0);
        let chunks = row.chunks_exact(V::LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            sum = sum.add(V::load(chunk.as_ptr()).sub(V::splat(max)).exp());
        }
        let sum = sum.reduce_add() + rest.iter().map(|v| (v - max).exp()).sum::<f32>();
        (index, 1.0 / sum)
    }
}

/// Rotates adjacent pairs `(x[2i], x[2i+1])` by the angle whose cosine and sine are `cos[2i]`, `sin[2i]`.
pub(crate) fn rotate_pairs(x: &mut [f32], cos: &[f32], sin: &[f32]) {
    for ((pair, c), s) in x.chunks_exact_mut(2).zip(cos.chunks_exact(2)).zip(sin.chunks_exact(2)) {
        let (a, b) = (pair[0], pair[1]);
        pair[0] = a * c[0] - b * s[0];
        pair[1] = b * c[1] + a * s[1];
    }
}

/// Rotates pairs half a head apart, `(x[i], x[i + D/2])`.
pub(crate) fn rotate_halves(x: &mut [f32], cos: &[f32], sin: &[f32]) {
    let half = x.len() / 2;
    let (low, high) = x.split_at_mut(half);
    for (i, (a, b)) in low.iter_mut().zip(high).enumerate() {
        let (l, h) = (*a, *b);
        *a = l * cos[i] - h * sin[i];
        *b = h * cos[half + i] + l * sin[half + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erf_has_tabulated_values() {
        // Abramowitz and Stegun, table 7.1.
        for (x, y) in [
            (0.0, 0.0),
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.0, 0.995_322_265_018_952_7),
            (2.5, 0.999_593_047_982_555),
            (3.0, 0.999_977_909_503_001_4),
            (-1.0, -0.842_700_792_949_714_9),
            (9.0, 1.0),
        ] {
            assert!((erf(x) - y).abs() < 1e-13, "erf({x}) = {}", erf(x));
        }
    }
}
