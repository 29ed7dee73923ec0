/* SPDX-License-Identifier: BSD-3-Clause */
/* The concatenation of two tensors by channels, of any type, and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/move.h"

static int ref_concat_run(struct op *op, struct exec *x, struct err *e)
{
    const char *a = op->in[0]->bytes, *b = op->in[1]->bytes;
    size_t na = move_pixel(op->in[0]), nb = move_pixel(op->in[1]);
    size_t npixels = tensor_pixels(op->out[0]);
    char *dst = op->out[0]->bytes;

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        move_bytes(dst + p * (na + nb), a + p * na, na);
        move_bytes(dst + p * (na + nb) + na, b + p * nb, nb);
    }
    return 0;
}

static int ref_concat_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const char *src = op->in[0]->bytes;
    size_t na = move_pixel(op->out[0]), nb = move_pixel(op->out[1]);
    size_t npixels = tensor_pixels(op->in[0]);
    char *a = op->out[0]->bytes, *b = op->out[1]->bytes;

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        move_bytes(a + p * na, src + p * (na + nb), na);
        move_bytes(b + p * nb, src + p * (na + nb) + na, nb);
    }
    return 0;
}

const struct kernel ref_concat = {
    .kind = &concat_kind, .supports = move_supports, .run = ref_concat_run, .types = KERNEL_ANY};
const struct kernel ref_concat_grad = {
    .kind = &concat_grad_kind, .supports = move_supports, .run = ref_concat_run_grad,
    .types = KERNEL_ANY};
