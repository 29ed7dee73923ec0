/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weights of 3x3 convolutions with few channels. A chunk of rows has its own
 * sums; the number of chunks does not depend on the number of threads, and their sums are added in
 * order. */
#include "config.h"
#include "trainer/backends/cpu/conv/conv2d.h"

#include <string.h>

#include "trainer/backends/cpu/conv/conv_kernels.h"
#include "trainer/backends/cpu/isa/simd.h"

/* Returns row r of dst, counted over all images, or zeros if the row is not inside the image. */
static const float *dst_row(const struct conv2d *c, const struct tensor *dst, size_t r, bool inside,
                            const float *zeros)
{
    return inside ? dst->data + r * c->w * c->dst_channels : zeros;
}

/* Sets sums[c->sums] from rows [from, to), counted over all images: the sums of products of these
 * rows of src with the rows of dst whose windows contain them, and behind those the plain sums of
 * these rows of dst for the bias. zeros: as many as a row of dst has values. */
static void conv2d_weights_sum_rows(const struct conv2d *c, const struct tensor *src,
                                    const struct tensor *dst, size_t from, size_t to, float *row,
                                    const float *zeros, float *sums)
{
    size_t lanes = c->rows->lanes;

    memset(sums, 0, c->sums * sizeof *sums);
    for (size_t r = from; r < to; r++) {
        size_t y = r % c->h;
        const float *d = dst_row(c, dst, r, true, zeros);
        const float *below = dst_row(c, dst, r + 1, y + 1 < c->h, zeros);
        const float *above = dst_row(c, dst, r - 1, y > 0, zeros);

        conv2d_copy_row(c, src, r, row);
        for (size_t b = 0; b < c->nblocks; b++) {
            size_t l = b * lanes;
            const float *rows[CONV2D_KERNEL] = {below + (below == zeros ? 0 : l), d + l,
                                         above + (above == zeros ? 0 : l)};

            c->rows->grad_weights(row, c->group * c->src_channels, c->nk, rows, CONV2D_KERNEL,
                                  c->ngroups, c->dst_step, sums + l * CONV2D_KERNEL * c->nk);
            c->rows->sum(d + l, c->ngroups, c->dst_step, sums + c->packed + l);
        }
    }
}

static void finish_weights(const struct conv2d *c, const float *sums, size_t s, size_t d, float *dw)
{
    for (size_t k = 0; k < (size_t)CONV2D_KERNEL * CONV2D_KERNEL; k++) {
        dw[k] = 0;
        for (size_t p = 0; p < c->group; p++)
            dw[k] += sums[conv2d_packed_at(c, k / CONV2D_KERNEL, k % CONV2D_KERNEL, s, d, p)];
    }
}

static void finish_bias(const struct conv2d *c, const float *sums, float *db)
{
    for (size_t d = 0; d < c->dst_channels; d++) {
        db[d] = 0;
        for (size_t p = 0; p < c->group; p++)
            db[d] += sums[c->packed + p * c->dst_channels + d];
    }
}

/* Workspace: the sums of all chunks, a row of zeros, a row of each thread. */
static int conv2d_weights_run(struct op *op, struct exec *x, struct err *e)
{
    const struct conv2d *c = op->priv;
    float *sums = op->workspace, *zeros = sums + c->nchunks * c->sums, *rooms = zeros + c->zeros;
    float *dw = op->out[0]->data;
    size_t nrows = c->n * c->h, ns = c->src_channels, nd = c->dst_channels;

    memset(zeros, 0, c->zeros * sizeof *zeros);
#pragma omp parallel num_threads(c->nthreads)
    {
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < c->nchunks; i++)
            conv2d_weights_sum_rows(c, op->in[1], op->in[0], nrows * i / c->nchunks,
                                    nrows * (i + 1) / c->nchunks, rooms + simd_thread() * c->room,
                                    zeros, sums + i * c->sums);
        conv_rows_add(sums, c->sums, c->nchunks);
#pragma omp for schedule(static)
        for (size_t i = 0; i < nd * ns; i++)
            finish_weights(c, sums, i % ns, i / ns, dw + i * CONV2D_KERNEL * CONV2D_KERNEL);
    }
    if (op->out[1])
        finish_bias(c, sums, op->out[1]->data);
    return 0;
}

static bool conv2d_weights_supports(const struct op *op)
{
    return conv2d_supports(op, op->in[1], op->in[0]);
}

static int conv2d_weights_prepare(struct op *op, struct err *e)
{
    struct conv2d c = conv2d_of(op->in[1], op->in[0], false);

    op->workspace_size = (c.nchunks * c.sums + c.zeros + c.nthreads * c.room) * sizeof(float);
    return simd_keep(op, &c, sizeof c, e);
}

const struct kernel simd_conv2d_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = conv2d_weights_supports,
    .prepare = conv2d_weights_prepare, .run = conv2d_weights_run, .release = simd_release};
