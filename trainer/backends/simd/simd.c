/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/simd.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>

enum simd_isa simd_isa(void)
{
#ifdef __x86_64__
    const char *limit = getenv("UNET_ISA");
    bool none = limit && strcmp(limit, "none") == 0, avx2 = limit && strcmp(limit, "avx2") == 0;

    if (!none && !avx2 && __builtin_cpu_supports("avx512f"))
        return SIMD_AVX512;
    if (!none && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return SIMD_AVX2;
#endif
    return SIMD_NONE;
}

bool simd_has_bf16(void)
{
#ifdef __x86_64__
    const char *limit = getenv("UNET_ISA");

    return simd_isa() == SIMD_AVX512 && !(limit && strcmp(limit, "avx512") == 0) &&
           __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

size_t simd_threads(void)
{
#ifdef _OPENMP
    return (size_t)omp_get_max_threads();
#else
    return 1;
#endif
}

size_t simd_thread(void)
{
#ifdef _OPENMP
    return (size_t)omp_get_thread_num();
#else
    return 0;
#endif
}

const struct kernel *const simd_kernels[] = {
    &simd_batch_norm,
    &simd_batch_norm_grad,
    &simd_batch_norm_infer,
    &simd_half_relu,
    &simd_half_relu_grad,
    &simd_half_add,
    &simd_half_max_pool2d,
    &simd_half_max_pool2d_grad,
    &simd_half_max_pool2d_grad_add,
    &simd_half_global_avg_pool,
    &simd_half_global_avg_pool_grad,
    &simd_amx_conv,
    &simd_amx_conv_concat,
    &simd_amx_conv_grad_input,
    &simd_amx_conv_concat_grad_input,
    &simd_amx_conv_grad_weights,
    &simd_amx_conv_concat_grad_weights,
    &simd_amx_both,
    &simd_amx_both_concat,
    &simd_amx_both_norm,
    &simd_amx_norm,
    &simd_amx_transpose,
    &simd_amx_transpose_grad_input,
    &simd_amx_transpose_grad_weights,
    &simd_head,
    &simd_head_grad_input,
    &simd_head_grad_weights,
    &simd_winograd,
    &simd_winograd_grad_input,
    &simd_winograd_grad_weights,
    &simd_winograd_concat,
    &simd_winograd_concat_grad_input,
    &simd_winograd_concat_grad_weights,
    &simd_conv2d,
    &simd_conv2d_grad_input,
    &simd_conv2d_grad_weights,
    &simd_conv_transpose2d,
    &simd_conv_transpose2d_grad_input,
    &simd_conv_transpose2d_grad_weights,
    &simd_direct_conv2d,
    &simd_direct_conv2d_grad_input,
    &simd_direct_conv2d_grad_weights,
    &simd_direct_conv_transpose2d,
    &simd_direct_conv_transpose2d_grad_input,
    &simd_direct_conv_transpose2d_grad_weights,
    &simd_batch_norm_coef,
    &simd_winograd_relu,
    &simd_winograd_pooled,
    &simd_winograd_head,
    &simd_winograd_front_conv2d,
    &simd_winograd_front_transpose,
    &simd_winograd_concat_relu,
    &simd_winograd_both,
    &simd_winograd_both_concat,
    &simd_winograd_split,
    &simd_winograd_both_norm,
    &simd_winograd_norm,
    &simd_winograd_norm_grad,
    &simd_conv2d_relu,
    &simd_head_norm,
    &simd_head_norm_grad,
    &simd_conv_transpose2d_grad,
    &simd_max_pool2d_norm,
    &simd_max_pool2d_norm_grad_add,
    &simd_max_pool2d,
    &simd_max_pool2d_grad,
    &simd_max_pool2d_grad_add,
    &simd_relu_max_pool2d,
    &simd_relu_max_pool2d_grad,
    NULL,
};

const struct backend simd_backend = {.name = "simd", .kernels = simd_kernels, .fuses = true};
