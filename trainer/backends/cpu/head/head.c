/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cpu/head/head.h"

#include <string.h>

#include "trainer/backends/cpu/head/head_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"
#include "trainer/backends/ref/chunks.h"

const struct head_rows *head_rows_of(const struct op *op, const struct tensor *x, const struct tensor *y)
{
    size_t n = tensor_channels(x);

#ifdef __x86_64__
    if (simd_isa() < SIMD_AVX2)
        return NULL;
#endif
    if (op->attr.kernel != 1 || op->attr.stride > 1 || tensor_channels(y) != 1 || y->dtype != DTYPE_F32 ||
        n % HEAD_ROWS_LANES || n > HEAD_MAX_CHANNELS)
        return NULL;
    return x->dtype == head_rows_float.dtype ? &head_rows_float
           : x->dtype == head_rows_half.dtype ? &head_rows_half : NULL;
}

/* Number i of an activation. */
static char *at(const struct tensor *t, size_t i)
{
    return (char *)t->bytes + i * dtype_size(t->dtype);
}

static int run_forward(struct op *op, struct exec *x, struct err *e)
{
    const struct head_rows *rows = head_rows_of(op, op->in[0], op->out[0]);
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->in[0]);
    float bias = op->in[2] ? op->in[2]->data[0] : 0;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += HEAD_BLOCK)
        rows->dot(at(op->in[0], p * n), head_block(p, npixels), op->in[1]->data, n, bias,
                  op->out[0]->data + p);
    return 0;
}

static int run_grad_input(struct op *op, struct exec *x, struct err *e)
{
    const struct head_rows *rows = head_rows_of(op, op->out[0], op->in[0]);
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->out[0]);

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p += HEAD_BLOCK)
        rows->spread(op->in[0]->data + p, head_block(p, npixels), op->in[1]->data, n,
                     at(op->out[0], p * n));
    return 0;
}

void head_add(const struct head_rows *rows, const float *dy, const void *x, size_t npixels, size_t n,
              double *sums)
{
    float part[HEAD_MAX_CHANNELS];

    rows->gather(dy, x, npixels, n, part);
    for (size_t c = 0; c < n; c++)
        sums[c] += (double)part[c];
    for (size_t i = 0; i < npixels; i++)
        sums[n] += (double)dy[i];
}

void head_finish(double *sums, size_t n, float *dw, float *db)
{
    for (size_t i = 1; i < CHUNKS; i++)
        for (size_t c = 0; c <= n; c++)
            sums[c] += sums[i * (n + 1) + c];
    for (size_t c = 0; c < n; c++)
        dw[c] = (float)sums[c];
    *db = (float)sums[n];
}

/* Workspace: sums[CHUNKS][channels + 1] */
static int run_grad_weights(struct op *op, struct exec *x, struct err *e)
{
    const struct head_rows *rows = head_rows_of(op, op->in[1], op->in[0]);
    size_t npixels = tensor_pixels(op->in[0]), n = tensor_channels(op->in[1]);
    double *sums = op->workspace;

    (void)x;
    (void)e;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++) {
        size_t end = chunk_begin(npixels, i + 1);

        memset(sums + i * (n + 1), 0, (n + 1) * sizeof *sums);
        for (size_t p = chunk_begin(npixels, i); p < end; p += HEAD_BLOCK)
            head_add(rows, op->in[0]->data + p, at(op->in[1], p * n), head_block(p, end), n,
                     sums + i * (n + 1));
    }
    head_finish(sums, n, op->out[0]->data, op->out[1]->data);
    return 0;
}

static int prepare_grad_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = CHUNKS * (tensor_channels(op->in[1]) + 1) * sizeof(double);
    return 0;
}

static bool supports_forward(const struct op *op)
{
    return head_rows_of(op, op->in[0], op->out[0]) != NULL;
}

static bool supports_grad_input(const struct op *op)
{
    return head_rows_of(op, op->out[0], op->in[0]) != NULL;
}

static bool supports_grad_weights(const struct op *op)
{
    return head_rows_of(op, op->in[1], op->in[0]) != NULL;
}

const struct kernel simd_head = {
    .kind = &conv2d_kind, .supports = supports_forward, .run = run_forward, .types = KERNEL_ANY};
const struct kernel simd_head_grad_input = {
    .kind = &conv2d_grad_input_kind, .supports = supports_grad_input, .run = run_grad_input,
    .types = KERNEL_ANY};
const struct kernel simd_head_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = supports_grad_weights,
    .prepare = prepare_grad_weights, .run = run_grad_weights, .types = KERNEL_ANY};
