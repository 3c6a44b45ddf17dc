// Attention without a score matrix: keys in steps of 64, online softmax (Milakov and Gimelshein 2018; Dao 2023).
//
// A warp holds 16 pairs of a row and one of the query heads that share a key-value head. Every mask lets a row see a prefix
// of the keys. A step that a row sees nothing of leaves its numbers as they were, bit by bit, so a row's result depends on
// the keys it sees alone. Over a long cache the keys are cut into parts at fixed places, joined by `combine`.
#pragma once

#include "abi.h"

constexpr float LOG2_E = 1.4426950408889634f;

DEVICE int visible_keys(int mask, int past, int window, int row) {
    if (mask == CAUSAL) return past + row + 1;
    return mask == DRAFT && row == 0 ? past + 1 : past + window;
}

// Offsets in a tile of keys or values, `width` elements a row: keys are read 16 bytes a thread, 2 rows at once; values 8 rows at
// once by `ldmatrix`.
template <int width>
DEVICE int key_offset(int row, int chunk) {
    return row * (2 * width) + ((width == 32 ? chunk : chunk ^ (row & 1) << 2) << 4);
}
template <int width>
DEVICE int value_offset(int row, int chunk) {
    return row * (2 * width) + ((width == 32 ? chunk ^ (row >> 1 & 3) : chunk ^ (row & 7)) << 4);
}

// The slot of a sequence that takes part; null for an idle one, and one in which the window would not fit.
DEVICE const Slot* slot_of(const AttentionArguments& p, int sequence) {
    const int which = p.sequence_slots[sequence];
    if (which < 0) return nullptr;
    const Slot& slot = p.slots[which];
    return slot.state == RUNNING && slot.cached + p.window <= slot.capacity ? &slot : nullptr;
}

template <int width>
DEVICE void attend(const AttentionArguments& p) {
    constexpr int CHUNKS = width / 8;                   // of 16 bytes in a row
    constexpr int TILE_BYTES = KEY_TILE * width * 2;    // keys or values of a step
    unsigned char* memory = shared_memory();
    const int thread = threadIdx.x, lane = thread % 32, threads = blockDim.x;
    const int group = p.heads / p.kv_heads, pairs = p.window * group, in_block = threads / 2;
    const int blocks = ceil_div(pairs, in_block);
    const int sequence = blockIdx.z / blocks, kv = blockIdx.y, part = blockIdx.x;
    const int block_pair = blockIdx.z % blocks * in_block;
    const int pair0 = block_pair + thread / 32 * 16;
    let_next();
    wait_previous();

    const bf16 *keys = p.keys, *values = p.values;
    int past = 0;
    long long pitch = p.key_pitch;
    if (p.slots != nullptr) {
        const Slot* slot = slot_of(p, sequence);
        if (slot == nullptr) return;
        past = slot->cached;
        pitch = p.head_dim;
        const long long start = slot->offset + static_cast<long long>(kv) * slot->capacity * p.head_dim;
        keys += start;
        values += start;
    } else {
        keys += kv * p.head_dim;
        values += kv * p.head_dim;
    }
    const int last = least(block_pair + in_block, pairs) - 1;
    const int limit = visible_keys(p.mask, past, p.window, last / group);
    const int begin = p.chunks > 1 ? part * p.chunk : 0;
    const int end = p.chunks > 1 ? least(limit, begin + p.chunk) : limit;
    if (begin >= end) return;

    auto copy_step = [&](int key0, int buffer) {
        unsigned char* to = memory + buffer * 2 * TILE_BYTES;
        for (int i = thread; i < KEY_TILE * CHUNKS; i += threads) {
            int row = i / CHUNKS, chunk = i % CHUNKS;
            bool valid = key0 + row < end && chunk * 8 < p.head_dim;
            long long from = valid ? (key0 + row) * pitch + chunk * 8 : 0;
            copy16(to + key_offset<width>(row, chunk), keys + from, valid);
            copy16(to + TILE_BYTES + value_offset<width>(row, chunk), values + from, valid);
        }
    };
    copy_step(begin, 0);
    copy_commit();

    // The queries of pairs lane / 4 and lane / 4 + 8, permuted as in `product.cuh`.
    uint4 query[2][width / 32];
    int seen[2];
    for (int h = 0; h < 2; h++) {
        const int pair = pair0 + lane / 4 + 8 * h;
        const bool have = pair < pairs;
        const int row = have ? pair / group : 0, head = kv * group + (have ? pair % group : 0);
        seen[h] = have ? visible_keys(p.mask, past, p.window, row) : 0;
        const bf16* from = p.queries + (static_cast<long long>(sequence) * p.window + row) * p.query_pitch + head * p.head_dim;
#pragma unroll
        for (int i = 0; i < width / 32; i++) {
            const int at = i * 32 + lane % 4 * 8;
            const bool inside = have && at < p.head_dim;
            query[h][i] = inside ? *reinterpret_cast<const uint4*>(from + at) : make_uint4(0, 0, 0, 0);
        }
    }

    float out[width / 8][4] = {};
    float most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    const float scale = p.scale * LOG2_E;
    for (int key0 = begin, buffer = 0; key0 < end; key0 += KEY_TILE, buffer ^= 1) {
        if (key0 + KEY_TILE < end) copy_step(key0 + KEY_TILE, buffer ^ 1);
        copy_commit();
        copy_wait<1>();
        block_barrier();
        const unsigned char* key_tile = memory + buffer * 2 * TILE_BYTES;
        const unsigned char* value_tile = key_tile + TILE_BYTES;

        float s[KEY_TILE / 8][4] = {};
#pragma unroll
        for (int i = 0; i < width / 32; i++) {
#pragma unroll
            for (int j = 0; j < KEY_TILE / 8; j++) {
                uint4 k = *reinterpret_cast<const uint4*>(key_tile + key_offset<width>(j * 8 + lane / 4, i * 4 + lane % 4));
                mma(s[j], query[0][i].x, query[1][i].x, query[0][i].y, query[1][i].y, k.x, k.y);
                mma(s[j], query[0][i].z, query[1][i].z, query[0][i].w, query[1][i].w, k.z, k.w);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float top = most[h];
#pragma unroll
            for (int j = 0; j < KEY_TILE / 8; j++)
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float& v = s[j][2 * h + i];
                    v = key0 + j * 8 + lane % 4 * 2 + i < seen[h] ? v * scale : -INFINITY;
                    top = fmaxf(top, v);
                }
            top = fmaxf(top, shuffle_xor(top, 1));
            top = fmaxf(top, shuffle_xor(top, 2));
            const float base = top == -INFINITY ? 0.0f : top;
            const float shrink = exp2f(most[h] - base);
            most[h] = top;
            float total = 0.0f;
#pragma unroll
            for (int j = 0; j < KEY_TILE / 8; j++)
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float& v = s[j][2 * h + i];
                    v = exp2f(v - base);
                    total += v;
                }
            sum[h] = sum[h] * shrink + total;
#pragma unroll
            for (int j = 0; j < width / 8; j++) {
                out[j][2 * h] *= shrink;
                out[j][2 * h + 1] *= shrink;
            }
        }
#pragma unroll
        for (int i = 0; i < KEY_TILE / 16; i++) {
            const float(&low)[4] = s[2 * i];
            const float(&high)[4] = s[2 * i + 1];
            const unsigned a0 = pack(low[0], low[1]), a1 = pack(low[2], low[3]);
            const unsigned a2 = pack(high[0], high[1]), a3 = pack(high[2], high[3]);
            const int row = i * 16 + (lane / 8 & 1) * 8 + lane % 8;
#pragma unroll
            for (int j = 0; j < width / 16; j++) {
                unsigned v[4];
                load_transposed(v, value_tile + value_offset<width>(row, 2 * j + lane / 16));
                mma(out[2 * j], a0, a1, a2, a3, v[0], v[1]);
                mma(out[2 * j + 1], a0, a1, a2, a3, v[2], v[3]);
            }
        }
        block_barrier();
    }

#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int pair = pair0 + lane / 4 + 8 * h;
        sum[h] += shuffle_xor(sum[h], 1);
        sum[h] += shuffle_xor(sum[h], 2);
        if (pair >= pairs) continue;
        const long long place = (static_cast<long long>(sequence) * p.window + pair / group) * p.heads + kv * group + pair % group;
        const long long to = (p.chunks > 1 ? place * p.chunks + part : place) * p.head_dim;
        const float inverse = 1.0f / sum[h];
#pragma unroll
        for (int j = 0; j < width / 8; j++) {
            const int at = j * 8 + lane % 4 * 2;
            if (at >= p.head_dim) continue;
            const float a = out[j][2 * h], b = out[j][2 * h + 1];
            if (p.chunks > 1) *reinterpret_cast<float2*>(p.parts + to + at) = make_float2(a, b);
            else *reinterpret_cast<unsigned*>(p.out + to + at) = pack(a * inverse, b * inverse);
        }
        if (p.chunks > 1 && lane % 4 == 0) p.weights[place * p.chunks + part] = make_float2(most[h], sum[h]);
    }
}

KERNEL(attention_32, 160, AttentionArguments) { attend<32>(p); }
KERNEL(attention_64, 160, AttentionArguments) { attend<64>(p); }
KERNEL(attention_128, 160, AttentionArguments) { attend<128>(p); }

// A warp for each row and head.
KERNEL(combine, 128, AttentionArguments) {
    let_next();
    wait_previous();
    const int place = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (place >= p.rows * p.heads) return;
    const int row = place / p.heads, sequence = row / p.window;
    int past = 0;
    if (p.slots != nullptr) {
        const Slot* slot = slot_of(p, sequence);
        if (slot == nullptr) return;
        past = slot->cached;
    }
    const int count = least(p.chunks, ceil_div(visible_keys(p.mask, past, p.window, row % p.window), p.chunk));
    const float2* weights = p.weights + static_cast<long long>(place) * p.chunks;
    const float* parts = p.parts + static_cast<long long>(place) * p.chunks * p.head_dim;
    float most = -INFINITY;
    for (int i = lane; i < count; i += 32) most = fmaxf(most, weights[i].x);
    for (int lanes = 16; lanes > 0; lanes /= 2) most = fmaxf(most, shuffle_xor(most, lanes));
    float out[MAX_HEAD / 32] = {}, sum = 0.0f;
#pragma unroll 4
    for (int i = 0; i < count; i++) {
        const float2 weight = weights[i];
        const float share = exp2f(weight.x - most);
        sum += weight.y * share;
        for (int j = 0; j < MAX_HEAD / 32; j++)
            if (lane + 32 * j < p.head_dim) out[j] += parts[static_cast<long long>(i) * p.head_dim + lane + 32 * j] * share;
    }
    for (int j = 0; j < MAX_HEAD / 32; j++)
        if (lane + 32 * j < p.head_dim)
            p.out[static_cast<long long>(place) * p.head_dim + lane + 32 * j] = to_bf16(out[j] / sum);
}
