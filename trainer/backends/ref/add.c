/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/ref.h"

static int ref_add_run(struct op *op, struct exec *x, struct err *e)
{
    const float *a = op->in[0]->data, *b = op->in[1]->data;
    float *dst = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++)
        dst[i] = a[i] + b[i];
    return 0;
}

const struct kernel ref_add = {.kind = &add_kind, .run = ref_add_run};
