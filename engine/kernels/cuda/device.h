// What the kernels need of the hardware, under names of our own: inline PTX here, `host/emulation.h` without a card.
#pragma once

struct bf16 {
    unsigned short bits;
};

#ifndef __CUDACC__
#include "host/emulation.h"
#else

#define KERNEL(name, threads, Arguments) \
    extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Arguments p)
#define DEVICE __device__ __forceinline__

// The block's dynamic shared memory.
DEVICE unsigned char* shared_memory() {
    extern __shared__ uint4 dynamic_shared[];
    return reinterpret_cast<unsigned char*>(dynamic_shared);
}

DEVICE void block_barrier() { __syncthreads(); }

DEVICE float shuffle_xor(float v, int lanes) { return __shfl_xor_sync(~0u, v, lanes); }
DEVICE int shuffle_xor(int v, int lanes) { return __shfl_xor_sync(~0u, v, lanes); }

// Waits until the launch before this one in the stream is complete and its writes are visible.
DEVICE void wait_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next launch in the stream start its prologue.
DEVICE void let_next() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

DEVICE unsigned shared_address(const void* at) { return static_cast<unsigned>(__cvta_generic_to_shared(at)); }

// Starts copying 16 bytes to shared memory; zeros where not `valid` (then nothing is read).
DEVICE void copy16(void* to, const void* from, bool valid) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}

// Ends a group of copies.
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all of this thread's groups but the latest `pending`.
template <int pending>
DEVICE void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// c (16 x 8) += a (16 x 16) b (16 x 8), in the fragment layouts of mma.m16n8k16.
DEVICE void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices from shared memory, transposed; lane l gives the address of row l % 8 of matrix l / 8.
DEVICE void load_transposed(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// Two floats as bf16, rounded to nearest even; `low` in the low half.
DEVICE unsigned pack(float low, float high) {
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

DEVICE float as_float(unsigned bits) { return __uint_as_float(bits); }

// Two units in the last place or so; for what is rounded to bf16 or shown.
DEVICE float fast_exp(float v) { return __expf(v); }

#endif

DEVICE bf16 to_bf16(float v) { return bf16{static_cast<unsigned short>(pack(v, 0.0f))}; }
DEVICE float low_float(unsigned pair) { return as_float(pair << 16); }
DEVICE float high_float(unsigned pair) { return as_float(pair & 0xffff0000u); }
DEVICE float to_float(bf16 v) { return low_float(v.bits); }

DEVICE int ceil_div(int a, int b) { return (a + b - 1) / b; }
DEVICE int least(int a, int b) { return a < b ? a : b; }

DEVICE float warp_sum(float v) {
    for (int lanes = 16; lanes > 0; lanes /= 2) v += shuffle_xor(v, lanes);
    return v;
}

// Sum over a block of 256 threads, the same on every thread.
DEVICE float block_sum(float v) {
    __shared__ float sums[8];
    v = warp_sum(v);
    block_barrier();  // an earlier call's sums have been read
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    block_barrier();
    v = 0.0f;
    for (int i = 0; i < 8; i++) v += sums[i];
    return v;
}
