// Marks under characters. Everything is measured in physical pixels; patterns count from the screen's left edge, so that
// those of neighbouring runs join.

// Kinds; as in `gpu/marks.rs`.
const ROUND: u32 = 0u;
const REJECTED: u32 = 1u;
const GHOST: u32 = 2u;

// Patterns, in the order of `colours::Pattern`.
const SOLID: u32 = 0u;
const DASHED: u32 = 1u;
const DOTTED: u32 = 2u;
const DOUBLE: u32 = 3u;
const WAVY: u32 = 4u;
const DASH_DOT: u32 = 5u;

/// How much of the colour the ground under characters takes.
const ROUND_FILL: f32 = 0.13;
const GHOST_FILL: f32 = 0.05;
const GHOST_HATCH: f32 = 0.22;
const TAU: f32 = 6.2831853;

struct Mark {
    @builtin(position) position: vec4<f32>,
    @location(0) @interpolate(flat) bounds: vec4<f32>,
    @location(1) @interpolate(flat) colour: vec4<f32>,
    @location(2) @interpolate(flat) kind: u32,
    @location(3) @interpolate(flat) pattern: u32,
};

@vertex
fn vertex(
    @builtin(vertex_index) corner: u32,
    /// Upper left and lower right, points.
    @location(0) points: vec4<f32>,
    @location(1) colour: vec4<f32>,
    /// Kind, and pattern times 256.
    @location(2) style: u32,
) -> Mark {
    let unit = vec2(f32(corner & 1u), f32(corner >> 1u));
    let rim = 1.0 / screen.pixels_per_point; // room for the soft edge
    let point = mix(points.xy - rim, points.zw + rim, unit);
    var out: Mark;
    out.position = clip_position(point);
    out.bounds = points * screen.pixels_per_point;
    out.colour = colour;
    out.kind = style & 255u;
    out.pattern = style >> 8u;
    return out;
}

/// How much of a pixel lies inside an edge this far away; inside is negative.
fn inside(distance: f32) -> f32 {
    return clamp(0.5 - distance, 0.0, 1.0);
}

/// Distance to a box with rounded corners.
fn rounded(place: vec2<f32>, bounds: vec4<f32>, radius: f32) -> f32 {
    let half = 0.5 * (bounds.zw - bounds.xy);
    let corner = min(radius, min(half.x, half.y));
    let beyond = abs(place - 0.5 * (bounds.xy + bounds.zw)) - half + corner;
    return length(max(beyond, vec2(0.0))) + min(max(beyond.x, beyond.y), 0.0) - corner;
}

/// Distance to strokes of this half length that stand in the middle of each period.
fn strokes(x: f32, period: f32, half: f32) -> f32 {
    return abs(fract(x / period) - 0.5) * period - half;
}

/// Distance to an underline `y` below whose middle the place lies, `weight` thick.
fn underline(x: f32, y: f32, weight: f32, pattern: u32) -> f32 {
    let line = abs(y) - 0.5 * weight;
    switch pattern {
        case DASHED: {
            return max(line, strokes(x, 7.0 * weight, 2.25 * weight));
        }
        case DOTTED: {
            let dot = strokes(x, 3.0 * weight, 0.0);
            return length(vec2(dot, y)) - 0.8 * weight;
        }
        case DOUBLE: {
            return abs(abs(y) - weight) - 0.4 * weight;
        }
        case WAVY: {
            let step = TAU / (8.0 * weight);
            let slope = step * weight * cos(step * x);
            return abs(y - weight * sin(step * x)) / sqrt(1.0 + slope * slope) - 0.45 * weight;
        }
        case DASH_DOT: {
            let period = 12.0 * weight;
            let dot = strokes(x + 0.5 * period, period, 0.0);
            return min(max(line, strokes(x, period, 2.75 * weight)), length(vec2(dot, y)) - 0.8 * weight);
        }
        default: {
            return line;
        }
    }
}

@fragment
fn fragment(in: Mark) -> @location(0) vec4<f32> {
    let ppp = screen.pixels_per_point;
    let place = in.position.xy;
    let height = in.bounds.w - in.bounds.y;
    var cover = inside(rounded(place, in.bounds, 2.0 * ppp));
    if in.kind == ROUND {
        cover *= ROUND_FILL;
        let weight = clamp(0.07 * height, 1.0, 2.0 * ppp);
        // Cut sharply left and right, so that a pixel between two runs belongs to exactly one.
        if place.x >= in.bounds.x && place.x < in.bounds.z {
            let middle = in.bounds.w - 1.5 * weight;
            let line = inside(underline(place.x, place.y - middle, weight, in.pattern));
            cover = line + cover * (1.0 - line);
        }
    } else if in.kind == GHOST {
        let hatch = inside(strokes((place.x + place.y) * 0.70710678, 5.0 * ppp, 0.5 * ppp));
        cover *= GHOST_FILL + GHOST_HATCH * hatch;
    }
    return written(in.colour * cover);
}
