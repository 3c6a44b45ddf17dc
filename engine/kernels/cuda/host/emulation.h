// The kernels without a card: the threads of a block are fibers, and what a warp does together is done by its last lane.
// Slow, and meant for tests. Asynchronous copies take place as late as they may in one half of the blocks and at once in the
// other, fibers run in rising or falling order, and shared memory starts as NaN, so that a missing barrier or wait shows. So
// does a thread that ends without having waited for the launch before: the next launch counts on it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#define KERNEL(name, threads, Arguments)      \
    constexpr unsigned name##_threads = threads; \
    void name(const Arguments& p)
#define DEVICE static inline
#define __shared__ static thread_local

struct float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulation {

struct Index {
    unsigned x, y, z;
};

// The present fiber's place; set by the scheduler.
extern thread_local Index thread_index, block_index, block_size, grid_size;

unsigned char* shared();
void barrier();
// What lane `lane ^ lanes` passed.
unsigned exchange(unsigned v, int lanes);
void copy(void* to, const void* from, bool valid);
void commit();
void wait(int pending);
void wait_previous();
void multiply(float* c, const unsigned* a, const unsigned* b);
void transposed(unsigned* r, const void* row);

}  // namespace emulation

#define threadIdx emulation::thread_index
#define blockIdx emulation::block_index
#define blockDim emulation::block_size
#define gridDim emulation::grid_size

DEVICE unsigned char* shared_memory() { return emulation::shared(); }
DEVICE void block_barrier() { emulation::barrier(); }
DEVICE float as_float(unsigned bits) {
    float v;
    std::memcpy(&v, &bits, 4);
    return v;
}
DEVICE unsigned as_bits(float v) {
    unsigned bits;
    std::memcpy(&bits, &v, 4);
    return bits;
}
DEVICE float shuffle_xor(float v, int lanes) { return as_float(emulation::exchange(as_bits(v), lanes)); }
DEVICE int shuffle_xor(int v, int lanes) { return static_cast<int>(emulation::exchange(static_cast<unsigned>(v), lanes)); }
DEVICE void wait_previous() { emulation::wait_previous(); }
DEVICE void let_next() {}
DEVICE void copy16(void* to, const void* from, bool valid) { emulation::copy(to, from, valid); }
DEVICE void copy_commit() { emulation::commit(); }
template <int pending>
DEVICE void copy_wait() {
    emulation::wait(pending);
}
DEVICE void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    const unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    emulation::multiply(c, a, b);
}
DEVICE void load_transposed(unsigned (&r)[4], const void* row) { emulation::transposed(r, row); }
DEVICE unsigned round_bf16(float v) {
    unsigned bits = as_bits(v);
    if (v != v) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
DEVICE unsigned pack(float low, float high) { return round_bf16(high) << 16 | round_bf16(low); }
DEVICE float fast_exp(float v) { return std::exp(v); }
