/* SPDX-License-Identifier: BSD-3-Clause */
/* The shortcut of a residual block that halves the size, of any type, and its gradient. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "trainer/backends/ref/move.h"

/* Returns the bytes of a pixel of small before those of large's channels, which are in the
 * middle. */
static size_t offset_of(const struct tensor *small, const struct tensor *large)
{
    return (tensor_channels(small) - tensor_channels(large)) / 2 * dtype_size(small->dtype);
}

/* Returns the byte offset in large of row `row` of small, counted over all images. */
static size_t begin_of(const struct tensor *small, const struct tensor *large, size_t row)
{
    return tensor_halved_row(large, row, (size_t)small->shape.dim[DIM_H]) *
           (size_t)large->shape.dim[DIM_W] * move_pixel(large);
}

static int ref_subsample_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t width = (size_t)dst->shape.dim[DIM_W], nrows = tensor_pixels(dst) / width;
    size_t from = move_pixel(src), to = move_pixel(dst), offset = offset_of(dst, src);

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        const char *s = src->bytes + begin_of(dst, src, row);
        char *d = dst->bytes + row * width * to;

        memset(d, 0, width * to);
        for (size_t i = 0; i < width; i++)
            move_bytes(d + i * to + offset, s + 2 * i * from, from);
    }
    return 0;
}

static int ref_subsample_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    size_t width = (size_t)dy->shape.dim[DIM_W], nrows = tensor_pixels(dy) / width;
    size_t from = move_pixel(dy), to = move_pixel(dx), offset = offset_of(dy, dx);

    memset(dx->bytes, 0, tensor_nbytes(dx));
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        const char *s = dy->bytes + row * width * from;
        char *d = dx->bytes + begin_of(dy, dx, row);

        for (size_t i = 0; i < width; i++)
            move_bytes(d + 2 * i * to, s + i * from + offset, to);
    }
    return 0;
}

const struct kernel ref_subsample = {
    .kind = &subsample_kind, .supports = move_supports, .run = ref_subsample_run,
    .types = KERNEL_ANY};
const struct kernel ref_subsample_grad = {
    .kind = &subsample_grad_kind, .supports = move_supports, .run = ref_subsample_run_grad,
    .types = KERNEL_ANY};
