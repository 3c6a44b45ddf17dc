//! Norms, activations and rotations of a row.

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

/// `g / (1 + e^-g) * u`.
#[inline(always)]
pub(crate) unsafe fn silu_times<V: Vector>(g: V, u: V) -> V {
    // SAFETY: as the caller's.
    unsafe { g.div(V::splat(1.0).add(V::splat(0.0).sub(g).exp())).mul(u) }
}

/// The exact GELU, in place: `x * Phi(x)`.
pub(crate) fn gelu(x: &mut [f32]) {
    for v in x {
        *v = 0.5 * *v * (1.0 + libm::erff(*v * std::f32::consts::FRAC_1_SQRT_2));
    }
}

/// Rotates adjacent pairs `(x[2i], x[2i+1])` by the angle whose cosine and sine are `cos[2i]`, `sin[2i]`.
#[inline(always)]
pub(crate) fn rotate_pairs(x: &mut [f32], cos: &[f32], sin: &[f32]) {
    for ((pair, c), s) in x.chunks_exact_mut(2).zip(cos.chunks_exact(2)).zip(sin.chunks_exact(2)) {
        let (a, b) = (pair[0], pair[1]);
        pair[0] = a * c[0] - b * s[0];
        pair[1] = b * c[1] + a * s[1];
    }
}

/// Rotates pairs half a head apart, `(x[i], x[i + D/2])`.
#[inline(always)]
pub(crate) fn rotate_halves(x: &mut [f32], cos: &[f32], sin: &[f32]) {
    let half = x.len() / 2;
    let (low, high) = x.split_at_mut(half);
    for (i, (a, b)) in low.iter_mut().zip(high).enumerate() {
        let (l, h) = (*a, *b);
        *a = l * cos[i] - h * sin[i];
        *b = h * cos[half + i] + l * sin[half + i];
    }
}
