/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between floats and 16-bit types. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

/* Values that one thread takes at a time. */
#define BLOCK 8192

static void cast(const struct tensor *src, const struct tensor *dst, size_t i, size_t n)
{
    if (src->dtype == DTYPE_F32)
        dtype_encode(dst->dtype, src->data + i, dst->half + i, n);
    else
        dtype_decode(src->dtype, src->half + i, dst->data + i, n);
}

static int ref_cast_run(struct op *op, struct exec *x, struct err *e)
{
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += BLOCK)
        cast(op->in[0], op->out[0], i, n - i < BLOCK ? n - i : BLOCK);
    return 0;
}

const struct kernel ref_cast = {.kind = &cast_kind, .run = ref_cast_run, .types = KERNEL_HALVES};
