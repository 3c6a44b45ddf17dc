// Norms, and what is done to a row on its way: embedding, residual add, activation. One block of 256 threads for each row; a
// thread takes four elements at a time.
#pragma once

#include "abi.h"

DEVICE float4 times(float4 v, float s, float4 w) { return make_float4(v.x * s * w.x, v.y * s * w.y, v.z * s * w.z, v.w * s * w.w); }
DEVICE float squares(float4 v) { return v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }
DEVICE uint2 packed(float4 v) { return make_uint2(pack(v.x, v.y), pack(v.z, v.w)); }
DEVICE float4 load4(const float* from, int i) { return reinterpret_cast<const float4*>(from)[i]; }
DEVICE float inverse_rms(float sum, int width, float eps) { return 1.0f / sqrtf(sum / static_cast<float>(width) + eps); }

KERNEL(rms_norm, 256, NormArguments) {
    let_next();
    wait_previous();
    const long long start = static_cast<long long>(blockIdx.x) * p.width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < p.width / 4; i += 256) sum += squares(load4(p.x + start, i));
    const float scale = inverse_rms(block_sum(sum), p.width, p.eps);
    for (int i = threadIdx.x; i < p.width / 4; i += 256)
        reinterpret_cast<uint2*>(p.out + start)[i] = packed(times(load4(p.x + start, i), scale, load4(p.weight, i)));
}

KERNEL(embed, 256, EmbedArguments) {
    let_next();
    wait_previous();
    const long long start = static_cast<long long>(blockIdx.x) * p.width;
    const int id = p.ids[blockIdx.x];
    const bool feature = id < 0 && -1 - id < p.feature_rows;
    const int row = feature ? -1 - id : id < 0 ? 0 : least(id, p.vocabulary - 1);
    const long long from = static_cast<long long>(row) * p.width;
    auto element = [&](int i) {
        if (feature) return load4(p.features + from, i);
        uint2 v = reinterpret_cast<const uint2*>(p.table + from)[i];
        return make_float4(low_float(v.x), high_float(v.x), low_float(v.y), high_float(v.y));
    };
    float sum = 0.0f;
    for (int i = threadIdx.x; i < p.width / 4; i += 256) {
        float4 v = element(i);
        reinterpret_cast<float4*>(p.hidden + start)[i] = v;
        sum += squares(v);
    }
    const float scale = inverse_rms(block_sum(sum), p.width, p.eps);
    for (int i = threadIdx.x; i < p.width / 4; i += 256)
        reinterpret_cast<uint2*>(p.out + start)[i] = packed(times(element(i), scale, load4(p.norm, i)));
}

KERNEL(add_norm, 256, AddNormArguments) {
    let_next();
    wait_previous();
    float4* row = reinterpret_cast<float4*>(shared_memory());
    const long long start = static_cast<long long>(blockIdx.x) * p.width;
    const long long plane = static_cast<long long>(p.rows) * p.width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < p.width / 4; i += 256) {
        float4 v = load4(p.parts + start, i);
#pragma unroll 8
        for (int s = 1; s < p.splits; s++) {
            float4 more = load4(p.parts + s * plane + start, i);
            v = make_float4(v.x + more.x, v.y + more.y, v.z + more.z, v.w + more.w);
        }
        row[i] = v;
        sum += squares(v);
    }
    float scale = inverse_rms(block_sum(sum), p.width, p.eps);
    sum = 0.0f;
    for (int i = threadIdx.x; i < p.width / 4; i += 256) {
        float4 v = times(row[i], scale, load4(p.post, i)), h = load4(p.hidden + start, i);
        h = make_float4(h.x + v.x, h.y + v.y, h.z + v.z, h.w + v.w);
        reinterpret_cast<float4*>(p.hidden + start)[i] = h;
        row[i] = h;
        sum += squares(h);
    }
    scale = inverse_rms(block_sum(sum), p.width, p.eps);
    for (int i = threadIdx.x; i < p.width / 4; i += 256)
        reinterpret_cast<uint2*>(p.out + start)[i] = packed(times(row[i], scale, load4(p.next, i)));
}

KERNEL(layer_norm_gelu, 256, LayerNormArguments) {
    let_next();
    wait_previous();
    const float* x = p.x + static_cast<long long>(blockIdx.x) * p.width;
    bf16* out = p.out + static_cast<long long>(blockIdx.x) * p.width;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < p.width; i += 256) sum += x[i];
    const float mean = block_sum(sum) / static_cast<float>(p.width);
    sum = 0.0f;
    for (int i = threadIdx.x; i < p.width; i += 256) sum += (x[i] - mean) * (x[i] - mean);
    const float scale = inverse_rms(block_sum(sum), p.width, p.eps);
    for (int i = threadIdx.x; i < p.width; i += 256) {
        float v = (x[i] - mean) * scale * p.weight[i] + p.bias[i];
        out[i] = to_bf16(v * 0.5f * (1.0f + erff(v * 0.70710678f)));
    }
}
