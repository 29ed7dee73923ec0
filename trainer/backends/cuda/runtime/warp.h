/* SPDX-License-Identifier: BSD-3-Clause */
/* Primitives of kernels: bfloat16, 16 bytes at a time, and only in a KERNEL_TILE asynchronous
 * copies into shared memory and products of matrices on tensor cores. GPUs before sm_80 lack the
 * instructions for most of them: the backend must not launch such kernels there.
 *
 * All threads of a warp call a function that begins with warp_ together. Each holds a part of the
 * matrices, as PTX defines it for mma.m16n8k16. With row = lane / 4 and pair = lane % 4:
 *
 * A, 16 x 16 bfloat16: a[0..3] are rows row, row + 8, row, row + 8;
 *     columns 2 pair, 2 pair + 1 in a[0..1], the same + 8 in a[2..3]
 * B, 16 x 8 bfloat16: b[0..1] are column row; rows 2 pair, 2 pair + 1, and the same + 8
 * D, 16 x 8 floats: d[0..1] are row row, d[2..3] row row + 8; columns 2 pair, 2 pair + 1 */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_WARP_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_WARP_H

#include <stdint.h>

#include "trainer/backends/cuda/runtime/gpu.h"

#define WARP 32
#define TILE_WARPS (TILE_BLOCK / WARP)

#if defined(__CUDACC__) || defined(GPU_EMULATE)

#ifdef GPU_EMULATE

#include "trainer/backends/cuda/runtime/test/emulate_warp.h"

#define UNROLL
#define NO_UNROLL
#define INLINE_DEVICE static inline
#define TILE_SHARED(name) unsigned char *name = emulate_shared

#else

#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define INLINE_DEVICE static __device__ __forceinline__
#define TILE_SHARED(name) extern __shared__ __align__(16) unsigned char name[]

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define WARP_ASM(...) __trap()
#define WARP_ARITHMETIC(...) __trap()
#else
#define WARP_ASM(...) asm volatile(__VA_ARGS__)
#define WARP_ARITHMETIC(...) asm(__VA_ARGS__)
#endif

INLINE_DEVICE float bf16_low(unsigned pair)
{
    return __uint_as_float(pair << 16);
}

INLINE_DEVICE float bf16_high(unsigned pair)
{
    return __uint_as_float(pair & 0xffff0000u);
}

INLINE_DEVICE unsigned bf16_pair(float low, float high)
{
    unsigned pair = 0;

    WARP_ARITHMETIC("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

INLINE_DEVICE struct gpu16 gpu16_load(const void *src)
{
    uint4 v = *(const uint4 *)src;
    struct gpu16 r;

    r.word[0] = v.x;
    r.word[1] = v.y;
    r.word[2] = v.z;
    r.word[3] = v.w;
    return r;
}

INLINE_DEVICE void gpu16_store(void *dst, struct gpu16 v)
{
    *(uint4 *)dst = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
}

/* 8 bytes: four numbers of 16 bits. */
INLINE_DEVICE void gpu8_load(unsigned *dst, const void *src)
{
    uint2 v = *(const uint2 *)src;

    dst[0] = v.x;
    dst[1] = v.y;
}

INLINE_DEVICE void gpu8_store(void *dst, const unsigned *src)
{
    *(uint2 *)dst = make_uint2(src[0], src[1]);
}

INLINE_DEVICE unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* Starts to copy 16 bytes to shared memory, complete after async_wait; zeros if not real, and then
 * src is not read. */
INLINE_DEVICE void async_copy(void *dst, const void *src, bool real)
{
    WARP_ASM("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(dst)), "l"(src),
             "r"(real ? 16 : 0) : "memory");
}

/* Waits for the copies that this thread has started. */
INLINE_DEVICE void async_wait(void)
{
    WARP_ASM("cp.async.wait_all;" ::: "memory");
}

INLINE_DEVICE void warp_sync(void)
{
    __syncwarp();
}

/* Loads four 8 x 8 matrices of 16 bits from shared memory; lanes 8 i to 8 i + 7 pass the addresses
 * of the rows of matrix i. r[i] gets columns 2 (lane % 4) and the next of its row lane / 4. */
INLINE_DEVICE void warp_load(unsigned *r, const void *row)
{
    WARP_ASM("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
             : "r"(shared_address(row)) : "memory");
}

/* The same with each matrix transposed. */
INLINE_DEVICE void warp_load_transposed(unsigned *r, const void *row)
{
    WARP_ASM("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
             : "r"(shared_address(row)) : "memory");
}

/* D += A B */
INLINE_DEVICE void warp_multiply(float *d, const unsigned *a, const unsigned *b)
{
    WARP_ARITHMETIC("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
#endif

#endif
