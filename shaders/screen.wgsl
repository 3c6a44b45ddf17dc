// Shared by all shaders of the window; stands before each of them.

struct Screen {
    /// Size in points.
    size: vec2<f32>,
    /// Physical pixels per point.
    pixels_per_point: f32,
};

@group(0) @binding(0) var<uniform> screen: Screen;

/// Whether the target turns linear colours into sRGB itself. Colours are sRGB-encoded everywhere before that, as in egui.
override linear_target: bool = false;

/// Where a point of the screen, in points from its upper left corner, lies in clip space.
fn clip_position(point: vec2<f32>) -> vec4<f32> {
    return vec4(2.0 * point.x / screen.size.x - 1.0, 1.0 - 2.0 * point.y / screen.size.y, 0.0, 1.0);
}

fn linear(encoded: vec3<f32>) -> vec3<f32> {
    let high = pow((encoded + 0.055) / 1.055, vec3(2.4));
    return select(high, encoded / 12.92, encoded <= vec3(0.04045));
}

/// A premultiplied sRGB-encoded colour as the target takes it.
fn written(colour: vec4<f32>) -> vec4<f32> {
    if !linear_target || colour.a <= 0.0 {
        return colour;
    }
    return vec4(linear(colour.rgb / colour.a) * colour.a, colour.a);
}
