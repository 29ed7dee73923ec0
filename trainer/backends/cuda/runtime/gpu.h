/* SPDX-License-Identifier: BSD-3-Clause */
/* The language of the GPU kernels: macros and functions that mean the same to nvcc and in
 * emulation.
 *
 * nvcc compiles a .cu file as CUDA C++. The tests compile the same file as C and run its kernels
 * thread by thread on the CPU (test/emulate.h), which checks arithmetic and indexing without a GPU.
 * Therefore the files are written in what C and CUDA C++ have in common, and every kernel takes one
 * structure by value, called k.
 *
 * KERNEL defines a kernel whose threads do not wait for each other; those of a KERNEL_BLOCK meet at
 * BARRIER(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* 16 bytes. */
struct __attribute__((aligned(16))) gpu16 {
    unsigned word[4];
};

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" {
#endif
#include "trainer/core/kernel.h"

/* Keeps the error of this thread's last kernel launch for cuda_launch_error, at the end of the
 * step: a later call of the CUDA runtime or of a library may overwrite or clear it. */
void cuda_queue_note_launch(void);
#ifdef __CUDACC__
}
#endif

#ifdef GPU_EMULATE

#include "trainer/backends/cuda/runtime/test/emulate.h"

#define C_BEGIN
#define C_END
#define DEVICE static inline
#define SHARED(type, name, n) type *const name = emulate_shared((n) * sizeof(type))
#define BARRIER() emulate_barrier()
#define ATOMIC_ADD(p, n) __atomic_fetch_add(p, n, __ATOMIC_RELAXED)
#define ATOMIC_WRAP(p, most) emulate_wrap(p, most)
#define FENCE() emulate_fence()
#define KERNEL_AS(name, type, cooperative)                               \
    static void name(const struct type k);                               \
    static void name##_thunk(const void *args)                           \
    {                                                                    \
        name(*(const struct type *)args);                                \
    }                                                                    \
    static const struct emulate_kernel name##_kernel = {                 \
        #name, name##_thunk, sizeof(struct type), cooperative};            \
    static void name(const struct type k)
#define KERNEL(name, type) KERNEL_AS(name, type, false)
#define KERNEL_BLOCK(name, type) KERNEL_AS(name, type, true)
#define LAUNCH(name, nblocks, stream, args)                                \
    (emulate_launch(&name##_kernel, (unsigned)(nblocks), stream, &(args)), \
     cuda_queue_note_launch())

#else

#define GPU_BLOCK 256 /* threads of a block of other kernels */
#define GPU_MOST_BLOCKS(n) 8192 /* of gpu_blocks(); n: as many as there are elements for */

#include <cuda_runtime_api.h>

#ifdef __CUDACC__
#define C_BEGIN extern "C" {
#define C_END }
#define DEVICE static __device__ inline
#define SHARED(type, name, n) __shared__ type name[n] /* of the block's threads */
#define BARRIER() __syncthreads()
#define ATOMIC_ADD(p, n) atomicAdd(p, n)
#define ATOMIC_WRAP(p, most) atomicInc(p, most) /* behind `most` comes 0; returns the old number */
#define FENCE() __threadfence()
#ifdef __CUDACC_RTC__ /* NVRTC compiles kernels only, and leaves out static ones */
#define STATIC_KERNEL
#else
#define STATIC_KERNEL static
#endif
#define KERNEL(name, type) \
    STATIC_KERNEL __global__ void __launch_bounds__(GPU_BLOCK) name(const struct type k)
#define KERNEL_BLOCK(name, type) KERNEL(name, type)
#ifdef __CUDACC_RTC__
#define LAUNCH(name, nblocks, stream, args) ((void)(nblocks), (void)(stream), (void)(args))
#else
#define LAUNCH(name, nblocks, stream, args) \
    (name<<<(unsigned)(nblocks), GPU_BLOCK, 0, stream>>>(args), cuda_queue_note_launch())
#endif
#endif

#endif

/* The numbers of a type in 16 bytes; how many a thread has at a time, if n follow each other. */
#define GPU_CHUNK(type) ((type) == DTYPE_F32 ? 4u : 8u)
#define GPU_MOST_CHUNK 8
#define GPU_EACH(n, type) ((n) % GPU_CHUNK(type) ? 1u : GPU_CHUNK(type))

/* Define kernels NAME_f32, NAME_bf16 and NAME_f16 from DEVICE void NAME_as(const struct ARGS *k,
 * unsigned type), which is compiled with each type as a constant. LAUNCH_AS launches the one of a
 * type. */
#define TYPED_KERNEL(name, args)                                \
    KERNEL(name##_f32, args) { name##_as(&k, DTYPE_F32); }      \
    KERNEL(name##_bf16, args) { name##_as(&k, DTYPE_BF16); }    \
    KERNEL(name##_f16, args) { name##_as(&k, DTYPE_F16); }
#define TYPED_KERNEL_BLOCK(name, args)                             \
    KERNEL_BLOCK(name##_f32, args) { name##_as(&k, DTYPE_F32); }   \
    KERNEL_BLOCK(name##_bf16, args) { name##_as(&k, DTYPE_BF16); } \
    KERNEL_BLOCK(name##_f16, args) { name##_as(&k, DTYPE_F16); }
/* Calls NAME(..., type, each), where a thread has `each` numbers at a time: 16 bytes of them where
 * these divide `length`, else one. */
#define CHUNKED(length, type, name, ...)                                        \
    (GPU_EACH(length, type) > 1 ? name(__VA_ARGS__, type, GPU_CHUNK(type))      \
                                : name(__VA_ARGS__, type, 1))
/* Defines typed kernels from DEVICE void NAME_some(const struct ARGS *k, unsigned i, unsigned type,
 * unsigned each), which is called so for the numbers i to i + each - 1 of count; count and length:
 * expressions of k. LAUNCH_CHUNKED launches one. */
#define CHUNKED_KERNEL(name, args, count, length)                               \
    DEVICE void name##_all(const struct args *k, unsigned type, unsigned each)  \
    {                                                                           \
        unsigned n = (count) / each;                                            \
                                                                                \
        for (unsigned i = gpu_index(); i < n; i += gpu_stride())                \
            name##_some(k, i * each, type, each);                               \
    }                                                                           \
    DEVICE void name##_as(const struct args *k, unsigned type)                  \
    {                                                                           \
        CHUNKED(length, type, name##_all, k);                                   \
    }                                                                           \
    TYPED_KERNEL(name, args)
#define LAUNCH_CHUNKED(type, name, count, length, stream, args) \
    LAUNCH_AS(type, name, gpu_blocks((count) / GPU_EACH(length, type)), stream, args)
#define LAUNCH_AS(type, name, nblocks, stream, args)     \
    do {                                                 \
        if ((type) == DTYPE_F32)                         \
            LAUNCH(name##_f32, nblocks, stream, args);   \
        else if ((type) == DTYPE_BF16)                   \
            LAUNCH(name##_bf16, nblocks, stream, args);  \
        else                                             \
            LAUNCH(name##_f16, nblocks, stream, args);   \
    } while (0)

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* gpu_load returns number i of an array of enum dtype `type` as a float; gpu_store sets it to a
 * float rounded to that type. */
DEVICE float gpu_load(const void *p, size_t i, unsigned type)
{
    if (type == DTYPE_F32)
        return ((const float *)p)[i];
#ifdef GPU_EMULATE
    float v;

    dtype_decode((enum dtype)type, (const uint16_t *)p + i, &v, 1);
    return v;
#else
    return type == DTYPE_BF16 ? __bfloat162float(((const __nv_bfloat16 *)p)[i])
                              : __half2float(((const __half *)p)[i]);
#endif
}

DEVICE void gpu_store(void *p, size_t i, unsigned type, float v)
{
    if (type == DTYPE_F32)
        ((float *)p)[i] = v;
#ifdef GPU_EMULATE
    else
        dtype_encode((enum dtype)type, &v, (uint16_t *)p + i, 1);
#else
    else if (type == DTYPE_BF16)
        ((__nv_bfloat16 *)p)[i] = __float2bfloat16_rn(v);
    else
        ((__half *)p)[i] = __float2half_rn(v);
#endif
}

/* Load and store `each` numbers from number i on: one, or GPU_CHUNK(type) or twice as many, at a
 * multiple of `each`. */
DEVICE void gpu_load_some(const void *p, size_t i, unsigned type, unsigned each, float *v)
{
#ifdef __CUDACC__
    for (unsigned n = 0; each > 1 && n < each; n += GPU_CHUNK(type), v += GPU_CHUNK(type)) {
        struct gpu16 r = ((const struct gpu16 *)p)[(i + n) / GPU_CHUNK(type)];

        for (unsigned j = 0; j < 4; j++)
            if (type == DTYPE_F32) {
                v[j] = __uint_as_float(r.word[j]);
            } else if (type == DTYPE_BF16) {
                v[2 * j] = __uint_as_float(r.word[j] << 16);
                v[2 * j + 1] = __uint_as_float(r.word[j] & 0xffff0000u);
            } else {
                v[2 * j] = __half2float(__ushort_as_half((unsigned short)r.word[j]));
                v[2 * j + 1] = __half2float(__ushort_as_half((unsigned short)(r.word[j] >> 16)));
            }
    }
    if (each > 1)
        return;
#else
    emulate_align(p, i, each, type == DTYPE_F32 ? 4 : 2);
#endif
    for (unsigned j = 0; j < each; j++)
        v[j] = gpu_load(p, i + j, type);
}

DEVICE void gpu_store_some(void *p, size_t i, unsigned type, unsigned each, const float *v)
{
#ifdef __CUDACC__
    for (unsigned n = 0; each > 1 && n < each; n += GPU_CHUNK(type), v += GPU_CHUNK(type)) {
        struct gpu16 r;

        for (unsigned j = 0; j < 4; j++)
            if (type == DTYPE_F32)
                r.word[j] = __float_as_uint(v[j]);
            else if (type == DTYPE_BF16)
                r.word[j] = __bfloat16_as_ushort(__float2bfloat16_rn(v[2 * j])) |
                            (unsigned)__bfloat16_as_ushort(__float2bfloat16_rn(v[2 * j + 1])) << 16;
            else
                r.word[j] = __half_as_ushort(__float2half_rn(v[2 * j])) |
                            (unsigned)__half_as_ushort(__float2half_rn(v[2 * j + 1])) << 16;
        ((struct gpu16 *)p)[(i + n) / GPU_CHUNK(type)] = r;
    }
    if (each > 1)
        return;
#else
    emulate_align(p, i, each, type == DTYPE_F32 ? 4 : 2);
#endif
    for (unsigned j = 0; j < each; j++)
        gpu_store(p, i + j, type, v[j]);
}

#define GPU_FLOATS 32 /* numbers that a thread adds up as floats, before doubles */

/* The share of a thread in a matrix of n rows, of which its block adds up one of nparts parts,
 * and at most GPU_BLOCK columns from `first` on: the rows begin, begin + step ... below end of
 * `column`. The threads of a block form rows of `width`; this one is in row `row`. Those that are
 * left over have no rows of the matrix. */
struct gpu_share {
    unsigned begin, end, step, column, width, row;
};

DEVICE struct gpu_share gpu_share(unsigned n, unsigned nparts, unsigned part, unsigned ncolumns,
                                  unsigned first)
{
    unsigned npart = (n + nparts - 1) / nparts, begin = part * npart, t = threadIdx.x;
    unsigned end = begin + npart < n ? begin + npart : n;
    unsigned width = ncolumns - first < GPU_BLOCK ? ncolumns - first : GPU_BLOCK;
    unsigned step = GPU_BLOCK / width, row = t / width;
    struct gpu_share s = {row < step ? begin + row : end, end, step, first + t % width, width, row};

    return s;
}

/* Adds up `each` numbers over the rows of a block, whose threads form rows of `width`, in a fixed
 * order. Number j of thread t is a[j * GPU_BLOCK + t]; the first row then has the sums. */
DEVICE void gpu_add_rows(double *a, unsigned each, unsigned width)
{
    unsigned t = threadIdx.x, row = t / width;

    BARRIER();
    for (unsigned n = GPU_BLOCK / width; n > 1; n = (n + 1) / 2) {
        unsigned half = (n + 1) / 2;

        for (unsigned j = 0; j < each && row + half < n; j++)
            a[j * GPU_BLOCK + t] += a[j * GPU_BLOCK + t + half * width];
        BARRIER();
    }
}

/* Returns to thread t < width the sum of p[t], p[t + pitch] ... over all parts, in a fixed order.
 * scratch: GPU_BLOCK doubles of SHARED memory. */
DEVICE double gpu_add_parts(const double *p, unsigned pitch, unsigned nparts, unsigned width,
                            double *scratch)
{
    unsigned t = threadIdx.x, rows = GPU_BLOCK / width, row = t / width;
    double sum = 0;

    for (unsigned i = row; row < rows && i < nparts; i += rows)
        sum += p[i * pitch + t % width];
    scratch[t] = sum;
    gpu_add_rows(scratch, 1, width);
    return scratch[t];
}

/* Returns to all threads of a block whether it is the last one of its launch, which may read what
 * the others have written. counter: device.counter; last: SHARED. */
DEVICE bool gpu_is_last(unsigned *counter, unsigned *last)
{
    FENCE();
    BARRIER();
    if (threadIdx.x == 0)
        *last = ATOMIC_WRAP(counter, gridDim.x - 1) == gridDim.x - 1;
    BARRIER();
    FENCE();
    return *last;
}

/* Indices have 32 bits, as tensors have fewer than 2^31 elements (cuda_supports): a division of 64
 * bits costs a GPU as much as the memory traffic around it. */
DEVICE unsigned gpu_index(void)
{
    return blockIdx.x * GPU_BLOCK + threadIdx.x;
}

DEVICE unsigned gpu_stride(void)
{
    return gridDim.x * GPU_BLOCK;
}

/* Returns to all threads of a block the sum of their values, added in a fixed order. scratch:
 * GPU_BLOCK doubles of SHARED memory. */
DEVICE double gpu_block_sum(double value, double *scratch)
{
    unsigned t = threadIdx.x;

    scratch[t] = value;
    BARRIER();
    for (unsigned half = GPU_BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            scratch[t] += scratch[t + half];
        BARRIER();
    }
    value = scratch[0];
    BARRIER();
    return value;
}

#endif

/* Returns the number of blocks for a kernel whose threads step through n elements by
 * gpu_stride(). */
static inline unsigned gpu_blocks(size_t n)
{
    size_t blocks = (n + GPU_BLOCK - 1) / GPU_BLOCK, most = GPU_MOST_BLOCKS(blocks);

    return blocks < 1 ? 1 : (unsigned)(blocks < most ? blocks : most);
}
