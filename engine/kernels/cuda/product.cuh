// Products `x weight^T` on the tensor cores. The weight is the left operand of `mma`, so that up to 8 rows of x cost one
// pass over it.
//
// Both operands lie in shared memory as rows of 64 inner elements (128 bytes, one step). A thread takes 16 bytes of a row
// at once, which is its share of two `mma` steps under a permutation of the inner dimension; both operands are permuted
// alike, so the sums are the same. Chunks are swizzled so that these reads and the copies meet no bank twice.
#pragma once

#include "abi.h"

constexpr int STEP = 64;        // inner elements of a step
constexpr int ROW_BYTES = 128;  // of a step

DEVICE int step_offset(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ (row & 1) << 2) << 4); }

// The weight row that row `i` of a tile's `size` rows takes, or -1. For SWIGLU 8 rows of the gate and the same 8 of the
// other half alternate, so that one thread holds both.
DEVICE int weight_row(const ProductArguments& p, int tile, int size, int i) {
    if (p.epilogue == SWIGLU) {
        int column = tile * (size / 2) + i / 16 * 8 + i % 8;
        return column >= p.n ? -1 : i % 16 < 8 ? column : p.n + column;
    }
    int row = tile * size + i;
    return row < p.n ? row : -1;
}

DEVICE float silu(float v) { return v / (1.0f + fast_exp(-v)); }

// Stores what a thread holds of a 16 x 8 result: weight rows `i` and `i + 8` of the tile (i % 16 < 8), rows `row` and
// `row + 1` of x.
DEVICE void store(const ProductArguments& p, int tile, int size, int i, int row, int split, const float (&c)[4]) {
    int low = weight_row(p, tile, size, i), high = weight_row(p, tile, size, i + 8);
    if (low < 0) return;
    bool biased = p.bias != nullptr && split == 0;
    float bias_low = biased ? p.bias[low] : 0.0f, bias_high = biased && high >= 0 ? p.bias[high] : 0.0f;
    for (int j = 0; j < 2; j++, row++) {
        if (row >= p.rows) return;
        float a = c[j] + bias_low, b = c[2 + j] + bias_high;
        if (p.epilogue == FLOAT) {
            float* out = static_cast<float*>(p.out) + (static_cast<long long>(split) * p.rows + row) * p.n;
            out[low] = a;
            if (high >= 0) out[high] = b;
        } else if (p.epilogue == ADD) {
            float* out = static_cast<float*>(p.out) + static_cast<long long>(row) * p.out_pitch;
            out[low] += a;
            if (high >= 0) out[high] += b;
        } else {
            bf16* out = static_cast<bf16*>(p.out) + static_cast<long long>(row) * p.out_pitch;
            if (p.epilogue == SWIGLU) {
                out[low] = to_bf16(silu(a) * b);
            } else {
                out[low] = to_bf16(a);
                if (high >= 0) out[high] = to_bf16(b);
            }
        }
    }
}

// Joins what two disjoint sets of columns say of a row; `sum` is not touched. Of equals the smaller id is first.
DEVICE void join_peaks(PeakPart& a, float top, int id, float next, int second) {
    if (top > a.top || (top == a.top && id < a.id)) {
        bool old = a.top > next || (a.top == next && a.id < second);
        a.next = old ? a.top : next;
        a.second = old ? a.id : second;
        a.top = top;
        a.id = id;
    } else if (top > a.next || (top == a.next && id < a.second)) {
        a.next = top;
        a.second = id;
    }
}

constexpr int NO_ID = 0x7fffffff;

// As `join_peaks` with another lane's.
DEVICE void join_lanes(PeakPart& a, int lanes) {
    float top = shuffle_xor(a.top, lanes), next = shuffle_xor(a.next, lanes);
    int id = shuffle_xor(a.id, lanes), second = shuffle_xor(a.second, lanes);
    join_peaks(a, top, id, next, second);
}

// Tiles of 64 weight rows by 8 * columns rows of x. Eight warps: four take 16 weight rows each, twice, for the two halves of
// every step. Each result is the same chain of operations whatever `columns` and the number of rows.
template <int columns, int stages>
DEVICE void window_product(const ProductArguments& p) {
    constexpr int ROWS = 8 * columns;
    constexpr int STAGE = (WINDOW_TILE + ROWS) * ROW_BYTES;
    constexpr int X_CHUNKS = ROWS * 8;
    unsigned char* memory = shared_memory();
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int m = warp % 4, half = warp / 4;
    const int row0 = blockIdx.x * ROWS, tile = blockIdx.y, split = blockIdx.z;
    const int steps = ceil_div(p.k, STEP);
    const int first = static_cast<int>(static_cast<long long>(steps) * split / p.splits);
    const int end = static_cast<int>(static_cast<long long>(steps) * (split + 1) / p.splits);

    // This thread's two chunks of a weight step.
    const int chunk = thread % 8;
    const bf16* weight[2];
    bool have[2];
    for (int i = 0; i < 2; i++) {
        int row = weight_row(p, tile, WINDOW_TILE, thread / 8 + 32 * i);
        have[i] = row >= 0;
        weight[i] = p.weight + static_cast<long long>(have[i] ? row : 0) * p.k + chunk * 8;
    }
    auto copy_weight = [&](int step) {
        unsigned char* to = memory + (step - first) % stages * STAGE;
        bool inside = step * STEP + chunk * 8 < p.k;
        for (int i = 0; i < 2; i++) {
            bool valid = have[i] && inside;
            copy16(to + step_offset(thread / 8 + 32 * i, chunk), valid ? weight[i] + step * STEP : p.weight, valid);
        }
    };
    auto x_chunk = [&](int step, int i, bool& valid) {
        int row = row0 + i / 8, k = step * STEP + i % 8 * 8;
        valid = row < p.rows && k < p.k;
        return valid ? p.x + static_cast<long long>(row) * p.x_pitch + k : p.x;
    };

    // Weights do not depend on the launch before; x does.
    let_next();
    for (int s = 0; s < stages - 1; s++) {
        if (first + s < end) copy_weight(first + s);
        copy_commit();
    }
    wait_previous();
    const int early = least(stages - 1, end - first);
    for (int i = thread; i < early * X_CHUNKS; i += 256) {
        int s = i / X_CHUNKS, at = i % X_CHUNKS;
        bool valid;
        const bf16* from = x_chunk(first + s, at, valid);
        uint4 v = valid ? *reinterpret_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
        *reinterpret_cast<uint4*>(memory + s * STAGE + step_offset(WINDOW_TILE + at / 8, at % 8)) = v;
    }

    float c[columns][4] = {};
    for (int step = first; step < end; step++) {
        copy_wait<stages - 2>();
        block_barrier();
        int ahead = step + stages - 1;
        if (ahead < end) {
            copy_weight(ahead);
            unsigned char* to = memory + (ahead - first) % stages * STAGE;
            for (int i = thread; i < X_CHUNKS; i += 256) {
                bool valid;
                const bf16* from = x_chunk(ahead, i, valid);
                copy16(to + step_offset(WINDOW_TILE + i / 8, i % 8), from, valid);
            }
        }
        copy_commit();
        const unsigned char* stage = memory + (step - first) % stages * STAGE;
        const int part = half * 4 + lane % 4, row = m * 16 + lane / 4;
        uint4 a = *reinterpret_cast<const uint4*>(stage + step_offset(row, part));
        uint4 b = *reinterpret_cast<const uint4*>(stage + step_offset(row + 8, part));
#pragma unroll
        for (int j = 0; j < columns; j++) {
            uint4 x = *reinterpret_cast<const uint4*>(stage + step_offset(WINDOW_TILE + j * 8 + lane / 4, part));
            mma(c[j], a.x, b.x, a.y, b.y, x.x, x.y);
            mma(c[j], a.z, b.z, a.w, b.w, x.z, x.w);
        }
    }
    copy_wait<0>();
    block_barrier();

    // The second half's sums go to the first.
    float* sums = reinterpret_cast<float*>(memory);
#pragma unroll
    for (int j = 0; j < columns; j++) {
        float* at = sums + ((m * columns + j) * 4) * 32 + lane;
        if (half == 1)
            for (int i = 0; i < 4; i++) at[32 * i] = c[j][i];
    }
    block_barrier();
    const int row_in_tile = m * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < columns; j++) {
        const float* at = sums + ((m * columns + j) * 4) * 32 + lane;
        if (half == 0)
            for (int i = 0; i < 4; i++) c[j][i] += at[32 * i];
    }
    if (p.epilogue != PEAKS) {
        if (half == 1) return;
#pragma unroll
        for (int j = 0; j < columns; j++) store(p, tile, WINDOW_TILE, row_in_tile, row0 + j * 8 + lane % 4 * 2, split, c[j]);
        return;
    }

    // The logits of the tile, [ROWS, 64], then a warp for each row.
    constexpr int PITCH = WINDOW_TILE + 1;
    block_barrier();
#pragma unroll
    for (int j = 0; j < columns; j++) {
        if (half == 1) continue;
        float* at = sums + (j * 8 + lane % 4 * 2) * PITCH + row_in_tile;
        at[0] = c[j][0];
        at[PITCH] = c[j][1];
        at[8] = c[j][2];
        at[PITCH + 8] = c[j][3];
    }
    block_barrier();
    for (int i = warp; i < ROWS && row0 + i < p.rows; i += 8) {
        float v[2];
        for (int j = 0; j < 2; j++) {
            v[j] = sums[i * PITCH + lane + 32 * j];
            if (!(v[j] == v[j]) || tile * WINDOW_TILE + lane + 32 * j >= p.n) v[j] = -INFINITY;
        }
        const int id = tile * WINDOW_TILE + lane;
        PeakPart part{v[0], id, -INFINITY, NO_ID, 0.0f};
        join_peaks(part, v[1], id + 32, -INFINITY, NO_ID);
        for (int lanes = 16; lanes > 0; lanes /= 2) join_lanes(part, lanes);
        float sum = 0.0f;
        if (part.top > -INFINITY) sum = fast_exp(v[0] - part.top) + fast_exp(v[1] - part.top);
        part.sum = warp_sum(sum);
        if (lane == 0) static_cast<PeakPart*>(p.out)[static_cast<long long>(row0 + i) * gridDim.y + tile] = part;
    }
}

KERNEL(product_8, 256, ProductArguments) { window_product<1, 7>(p); }
KERNEL(product_16, 256, ProductArguments) { window_product<2, 7>(p); }
KERNEL(product_40, 256, ProductArguments) { window_product<5, 7>(p); }
KERNEL(product_64, 256, ProductArguments) { window_product<8, 6>(p); }

// Tiles of 128 by 128; four warps of 64 by 64.
KERNEL(product_bulk, 128, ProductArguments) {
    constexpr int TILE = 128, STAGES = 3, STAGE = 2 * TILE * ROW_BYTES;
    unsigned char* memory = shared_memory();
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const int m = warp % 2 * 64, n = warp / 2 * 64;
    const int row0 = blockIdx.x * TILE, tile = blockIdx.y;
    const int steps = ceil_div(p.k, STEP);
    const int chunk = thread % 8;
    let_next();
    wait_previous();

    // This thread copies every 16th row of both tiles: of the weight, every 16th row, or every 8th of one half.
    const int base = thread / 8, stride = p.epilogue == SWIGLU ? 8 : 16;
    const int column = p.epilogue == SWIGLU ? tile * (TILE / 2) + base % 8 : tile * TILE + base;
    const bf16* weight = p.weight + static_cast<long long>(p.epilogue == SWIGLU && base >= 8 ? p.n + column : column) * p.k;
    const bf16* x = p.x + static_cast<long long>(row0 + base) * p.x_pitch;
    auto copy_step = [&](int step) {
        unsigned char* to = memory + step % STAGES * STAGE;
        const int k = step * STEP + chunk * 8;
#pragma unroll
        for (int i = 0; i < TILE / 16; i++) {
            bool valid = column + stride * i < p.n && k < p.k;
            copy16(to + step_offset(base + 16 * i, chunk), valid ? weight + static_cast<long long>(stride * i) * p.k + k : p.weight,
                   valid);
            valid = row0 + base + 16 * i < p.rows && k < p.k;
            copy16(to + step_offset(TILE + base + 16 * i, chunk),
                   valid ? x + static_cast<long long>(16 * i) * p.x_pitch + k : p.x, valid);
        }
    };

    float c[4][8][4] = {};
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) copy_step(s);
        copy_commit();
    }
    for (int step = 0; step < steps; step++) {
        copy_wait<STAGES - 2>();
        block_barrier();
        if (step + STAGES - 1 < steps) copy_step(step + STAGES - 1);
        copy_commit();
        const unsigned char* stage = memory + step % STAGES * STAGE;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int part = half * 4 + lane % 4;
            uint4 a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i] = *reinterpret_cast<const uint4*>(stage + step_offset(m + i * 16 + lane / 4, part));
                b[i] = *reinterpret_cast<const uint4*>(stage + step_offset(m + i * 16 + lane / 4 + 8, part));
            }
#pragma unroll
            for (int j = 0; j < 8; j++) {
                uint4 x = *reinterpret_cast<const uint4*>(stage + step_offset(TILE + n + j * 8 + lane / 4, part));
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    mma(c[i][j], a[i].x, b[i].x, a[i].y, b[i].y, x.x, x.y);
                    mma(c[i][j], a[i].z, b[i].z, a[i].w, b[i].w, x.z, x.w);
                }
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) store(p, tile, TILE, m + i * 16 + lane / 4, row0 + n + j * 8 + lane % 4 * 2, 0, c[i][j]);
}

// Joins the tiles of a row of an LM head.
KERNEL(peak, 256, PeakArguments) {
    __shared__ PeakPart parts[8];
    let_next();
    wait_previous();
    const int thread = threadIdx.x;
    const PeakPart* row = p.parts + static_cast<long long>(blockIdx.x) * p.tiles;
    PeakPart best{-INFINITY, NO_ID, -INFINITY, NO_ID, 0.0f};
#pragma unroll 4
    for (int i = thread; i < p.tiles; i += 256) {
        PeakPart part = row[i];
        join_peaks(best, part.top, part.id, part.next, part.second);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) join_lanes(best, lanes);
    if (thread % 32 == 0) parts[thread / 32] = best;
    block_barrier();
    best = parts[0];
    for (int i = 1; i < 8; i++) join_peaks(best, parts[i].top, parts[i].id, parts[i].next, parts[i].second);
    float sum = 0.0f;
    if (best.top > -INFINITY)
        for (int i = thread; i < p.tiles; i += 256) sum += row[i].sum * fast_exp(row[i].top - best.top);
    sum = block_sum(sum);
    if (thread != 0) return;
    // A row of nothing but NaN has token 0, as on the CPU.
    bool none = !(best.top > -INFINITY);
    p.out[blockIdx.x] = Peak{none ? 0 : best.id, none ? 0.0f : 1.0f / sum, best.second == NO_ID ? 0 : best.second,
                             none ? 0.0f : best.top - best.next};
}

// float to bf16 with padded rows: 8 elements a thread.
KERNEL(pack_rows, 256, PackArguments) {
    let_next();
    wait_previous();
    const int chunks = p.pitch / 8;
    const int at = blockIdx.x * 256 + threadIdx.x;
    if (at >= p.rows * chunks) return;
    const int row = at / chunks, column = at % chunks * 8;
    const float* in = p.in + static_cast<long long>(row) * p.width;
    float v[8];
    for (int i = 0; i < 8; i++) v[i] = column + i < p.width ? in[column + i] : 0.0f;
    *reinterpret_cast<uint4*>(p.out + static_cast<long long>(row) * p.pitch + column) =
        make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
}
