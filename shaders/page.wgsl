// A tile of a page: its texture, border included, over a rectangle of the screen.

@group(0) @binding(1) var filtering: sampler;
@group(1) @binding(0) var tile: texture_2d<f32>;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec2<f32>,
};

@vertex
fn vertex(
    @builtin(vertex_index) corner: u32,
    /// Upper left and lower right, points.
    @location(0) points: vec4<f32>,
    /// Upper left and lower right, texels.
    @location(1) texels: vec4<f32>,
) -> Corner {
    let unit = vec2(f32(corner & 1u), f32(corner >> 1u));
    var out: Corner;
    out.position = clip_position(mix(points.xy, points.zw, unit));
    out.place = mix(texels.xy, texels.zw, unit) / vec2<f32>(textureDimensions(tile));
    return out;
}

@fragment
fn fragment(in: Corner) -> @location(0) vec4<f32> {
    return written(vec4(textureSample(tile, filtering, in.place).rgb, 1.0));
}
