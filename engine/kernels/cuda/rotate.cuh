// Rotary positions, with what goes before and after: per-head norms of the vision tower, cache writes of the decoder.
#pragma once

#include "abi.h"

// A warp for each (row, query or key, head).
KERNEL(vision_rotate, 256, VisionRotateArguments) {
    let_next();
    wait_previous();
    const int task = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (task >= p.rows * 2 * p.heads) return;
    const int row = task / (2 * p.heads), head = task % (2 * p.heads);  // queries, then keys
    const int half = p.head_dim / 2, quarter = half / 2;
    bf16* x = p.qkv + (static_cast<long long>(row) * 3 * p.heads + head) * p.head_dim;
    const float* weight = head < p.heads ? p.q_norm : p.k_norm;

    float low[2] = {}, high[2] = {}, sum = 0.0f;
    for (int j = 0; j < 2; j++) {
        int i = lane + 32 * j;
        if (i >= half) continue;
        low[j] = to_float(x[i]);
        high[j] = to_float(x[half + i]);
        sum += low[j] * low[j] + high[j] * high[j];
    }
    const float scale = 1.0f / sqrtf(warp_sum(sum) / static_cast<float>(p.head_dim) + p.eps);

    // Where the patch is: merge windows row by row, then the patches inside.
    const int inside = row % (p.merge * p.merge), window = row / (p.merge * p.merge), across = p.columns / p.merge;
    const int y = window / across * p.merge + inside / p.merge, x_place = window % across * p.merge + inside % p.merge;
    for (int j = 0; j < 2; j++) {
        int i = lane + 32 * j;
        if (i >= half) continue;
        float2 turn = p.table[i < quarter ? y * quarter + i : x_place * quarter + i - quarter];
        float a = low[j] * scale * weight[i], b = high[j] * scale * weight[half + i];
        x[i] = to_bf16(a * turn.x - b * turn.y);
        x[half + i] = to_bf16(b * turn.x + a * turn.y);
    }
}

// A thread for each adjacent pair of a row of queries, keys and values.
KERNEL(rotate_store, 256, RotateStoreArguments) {
    let_next();
    wait_previous();
    const int row = blockIdx.x, sequence = row / p.window, index = row % p.window;
    const int pair = blockIdx.y * 256 + threadIdx.x, half = p.head_dim / 2;
    if (pair >= (p.heads + 2 * p.kv_heads) * half) return;
    const int which = p.sequence_slots[sequence];
    if (which < 0) return;
    const Slot& slot = p.slots[which];
    const int at = slot.cached + index;
    if (slot.state != RUNNING || at >= slot.capacity) return;

    const int width = (p.heads + 2 * p.kv_heads) * p.head_dim;
    const float2* parts = reinterpret_cast<const float2*>(p.parts + static_cast<long long>(row) * width) + pair;
    float2 v = *parts;
#pragma unroll 8
    for (int s = 1; s < p.splits; s++) {
        float2 more = parts[static_cast<long long>(s) * p.rows * (width / 2)];
        v = make_float2(v.x + more.x, v.y + more.y);
    }

    const int head = pair / half, i = pair % half;
    if (head < p.heads + p.kv_heads) {
        int axis = i < p.section_t ? 0 : i < p.section_t + p.section_h ? 1 : 2;
        int position = p.positions != nullptr ? p.positions[row * 3 + axis] : at + slot.shift;
        position = position < 0 ? 0 : least(position, p.positions_limit - 1);
        float2 turn = p.table[position * half + i];
        v = make_float2(v.x * turn.x - v.y * turn.y, v.y * turn.x + v.x * turn.y);
    }
    unsigned* to;
    if (head < p.heads) {
        to = reinterpret_cast<unsigned*>(p.queries + (static_cast<long long>(row) * p.heads + head) * p.head_dim);
    } else {
        int kv = head - p.heads;
        bf16* pool = kv < p.kv_heads ? p.keys : p.values;
        to = reinterpret_cast<unsigned*>(pool + slot.offset +
                                         (static_cast<long long>(kv % p.kv_heads) * slot.capacity + at) * p.head_dim);
    }
    to[i] = pack(v.x, v.y);
}
