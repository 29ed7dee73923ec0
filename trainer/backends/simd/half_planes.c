/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/simd/half_planes.h"

#include "trainer/backends/simd/simd.h"

const struct half_planes *half_planes_best(void)
{
#ifdef __x86_64__
    if (simd_has_bf16())
        return &half_planes_bf16;
#endif
    return NULL;
}
