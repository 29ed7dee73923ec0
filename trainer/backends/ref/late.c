/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/ref/late.h"

#define ALIGN 64

size_t late_size(const struct op *op)
{
    size_t nbytes = op->in[OP_LATE_X] ? tensor_nbytes(op->in[0]) : 0;

    return (nbytes + ALIGN - 1) / ALIGN * ALIGN;
}

const struct tensor *late_gradient(const struct op *op, struct tensor *late, void *memory)
{
    if (!op->in[OP_LATE_X])
        return op->in[0];
    const float *g = op->in[0]->data, *x = op->in[OP_LATE_X]->data, *k = op->in[OP_LATE_COEF]->data;
    size_t n = tensor_channels(op->in[0]), count = tensor_count(op->in[0]);

    *late = *op->in[0];
    late->data = memory;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        size_t c = i % n;
        float a = k[c] * x[i] + k[n + c] > 0 ? k[2 * n + c] * g[i] : 0;

        late->data[i] = a + (k[3 * n + c] * x[i] + k[4 * n + c]);
    }
    return late;
}
