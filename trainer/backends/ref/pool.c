/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools. */
#include "src/base.h"
#include "trainer/backends/ref/ref.h"

static float *at(const struct tensor *t, int64_t i, int64_t y, int64_t x)
{
    const int64_t *d = t->shape.dim;

    return t->data + ((i * d[DIM_H] + y) * d[DIM_W] + x) * d[DIM_C];
}

/* Max pooling over 3x3 pixels and its gradient. Window y has rows 2y - 1 to 2y + 1. */

#define LANES 16 /* channels of a window at once */

static inline void take_larger(const float *s, size_t n, int k, float *restrict most,
                               int *restrict which)
{
#pragma omp simd
    for (size_t l = 0; l < n; l++) {
        bool larger = s[l] > most[l];

        which[l] = larger ? k : which[l];
        most[l] = larger ? s[l] : most[l];
    }
}

/* Sets the largest values of n (at most LANES) channels of a window, from channel c on, and which
 * of the nine pixels has the first of them. */
VECTOR_CLONES static void window_max(const struct tensor *src, int64_t image, int64_t y, int64_t x,
                                     size_t c, size_t n, float *most, int *which)
{
    int top = y > 0 ? 0 : 1, bottom = 2 * y + 1 < src->shape.dim[DIM_H] ? 2 : 1;
    int left = x > 0 ? 0 : 1, right = 2 * x + 1 < src->shape.dim[DIM_W] ? 2 : 1;
    const float *first = at(src, image, 2 * y + top - 1, 2 * x + left - 1) + c;
    float m[LANES];
    int w[LANES];

    for (size_t l = 0; l < LANES; l++) {
        m[l] = l < n ? first[l] : 0;
        w[l] = top * 3 + left;
    }
    for (int i = top; i <= bottom; i++)
        for (int j = left; j <= right; j++) {
            const float *s = at(src, image, 2 * y + i - 1, 2 * x + j - 1) + c;

            if (n == LANES) /* the usual case: the length is a constant */
                take_larger(s, LANES, i * 3 + j, m, w);
            else
                take_larger(s, n, i * 3 + j, m, w);
        }
    memcpy(most, m, n * sizeof *m);
    memcpy(which, w, n * sizeof *w);
}

static void pool_windows(const struct tensor *src, const struct tensor *dst)
{
    const int64_t *d = dst->shape.dim;
    size_t nc = tensor_channels(dst);

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t x = 0; x < d[DIM_W]; x++)
                for (size_t c = 0; c < nc; c += LANES) {
                    int which[LANES];

                    window_max(src, i, y, x, c, nc - c < LANES ? nc - c : LANES,
                               at(dst, i, y, x) + c, which);
                }
}

/* Adds to row `row` of dx what the windows of row y have for it. */
static void add_windows(const struct tensor *dy, const struct tensor *src, int64_t image, int64_t y,
                        int64_t row, float *dx)
{
    size_t nc = tensor_channels(src);

    for (int64_t x = 0; x < dy->shape.dim[DIM_W]; x++)
        for (size_t c = 0; c < nc; c += LANES) {
            size_t n = nc - c < LANES ? nc - c : LANES;
            const float *d = at(dy, image, y, x) + c;
            float most[LANES];
            int which[LANES];

            window_max(src, image, y, x, c, n, most, which);
            for (size_t l = 0; l < n; l++)
                if (which[l] / 3 == row - 2 * y + 1)
                    dx[(size_t)(2 * x + which[l] % 3 - 1) * nc + c + l] += d[l];
        }
}

/* A row of dx sums the windows that it is in, from the first to the last, so that rows can be
 * computed at the same time. */
static void grad_windows(const struct tensor *dy, const struct tensor *src, float *dx)
{
    const int64_t *d = src->shape.dim;
    size_t line = (size_t)d[DIM_W] * tensor_channels(src);

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t row = 0; row < d[DIM_H]; row++) {
            float *to = dx + (size_t)(i * d[DIM_H] + row) * line;

            memset(to, 0, line * sizeof *to);
            for (int64_t y = row / 2; y <= (row + 1) / 2 && y < dy->shape.dim[DIM_H]; y++)
                add_windows(dy, src, i, y, row, to);
        }
}

/* Max pooling over 2x2 pixels and its gradient. */

/* Pools two rows of src, `width` pixels of n channels each, into one row of dst. */
VECTOR_CLONES static void ref_max_pool2d_rows(const float *src, size_t width, size_t n,
                                              float *restrict dst)
{
    const float *below = src + width * n;

    for (size_t x = 0; x < width / 2; x++, src += 2 * n, below += 2 * n, dst += n)
#pragma omp simd
        for (size_t c = 0; c < n; c++) {
            float top = src[c] > src[n + c] ? src[c] : src[n + c];
            float bottom = below[c] > below[n + c] ? below[c] : below[n + c];

            dst[c] = top > bottom ? top : bottom;
        }
}

/* Of four values the first largest gets dy as its gradient, the others 0; `added` is added to all
 * four, unless it is NULL. dx may be `added`. */
static inline __attribute__((always_inline)) void
grad_pair(const float *dy, const float *src, const float *added, size_t width, size_t n, float *dx)
{
    const float *below = src + width * n, *more = added ? added + width * n : NULL;
    float *dx_below = dx + width * n;

    for (size_t x = 0; x < width / 2; x++, dy += n) {
#pragma omp simd
        for (size_t c = 0; c < n; c++) {
            float left = src[c], right = src[n + c], low = below[c], far = below[n + c], d = dy[c];
            float top = left >= right ? left : right, bottom = low >= far ? low : far;
            float up = top >= bottom ? d : 0, down = top >= bottom ? 0 : d;
            float v0 = left >= right ? up : 0, v1 = left >= right ? 0 : up;
            float v2 = low >= far ? down : 0, v3 = low >= far ? 0 : down;

            dx[c] = added ? v0 + added[c] : v0;
            dx[n + c] = added ? v1 + added[n + c] : v1;
            dx_below[c] = added ? v2 + more[c] : v2;
            dx_below[n + c] = added ? v3 + more[n + c] : v3;
        }
        src += 2 * n, below += 2 * n, dx += 2 * n, dx_below += 2 * n;
        if (added)
            added += 2 * n, more += 2 * n;
    }
}

VECTOR_CLONES static void ref_max_pool2d_grad_rows(const float *dy, const float *src,
                                                   const float *added, size_t width, size_t n,
                                                   float *dx)
{
    if (added)
        grad_pair(dy, src, added, width, n, dx);
    else
        grad_pair(dy, src, NULL, width, n, dx);
}

static int ref_max_pool2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W];
    size_t height = (size_t)dst->shape.dim[DIM_H];
    size_t nrows = (size_t)dst->shape.dim[DIM_N] * height;

    if (op->attr.kernel == 3) {
        pool_windows(src, dst);
        return 0;
    }
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++)
        ref_max_pool2d_rows(src->data + tensor_halved_row(src, row, height) * width * n, width, n,
                            dst->data + row * (width / 2) * n);
    return 0;
}

/* Writes n values of dx that no window covers: those of `added`, or 0. */
static void fill_uncovered(const float *added, size_t n, float *dx)
{
    for (size_t i = 0; i < n; i++)
        dx[i] = added ? added[i] : 0;
}

static void grad_pairs(const float *added, const struct tensor *dy, const struct tensor *src,
                       float *dx)
{
    size_t n = tensor_channels(src), width = (size_t)src->shape.dim[DIM_W], line = width * n;
    size_t height = (size_t)dy->shape.dim[DIM_H], rest = (size_t)src->shape.dim[DIM_H] - 2 * height;
    size_t nrows = (size_t)dy->shape.dim[DIM_N] * height;

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        size_t from = tensor_halved_row(src, row, height) * line;
        const float *more = added ? added + from : NULL;
        float *to = dx + from;

        ref_max_pool2d_grad_rows(dy->data + row * (width / 2) * n, src->data + from, more, width, n,
                                 to);
        for (size_t i = 1; width % 2 && i <= 2; i++)
            fill_uncovered(more ? more + i * line - n : NULL, n, to + i * line - n);
        if (rest && row % height == height - 1)
            fill_uncovered(more ? more + 2 * line : NULL, line, to + 2 * line);
    }
}

static int ref_max_pool2d_prepare_grad_add(struct op *op, struct err *e)
{
    op->workspace_size = op->attr.kernel == 3 ? tensor_nbytes(op->out[0]) : 0;
    return 0;
}

static int ref_max_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    bool adds = op->kind == &max_pool2d_grad_add_kind;
    const struct tensor *dy = op->in[adds], *src = op->in[1 + adds];
    const float *a = adds ? op->in[0]->data : NULL;
    float *dst = op->out[0]->data, *dx = adds ? op->workspace : dst;

    if (op->attr.kernel != 3) {
        grad_pairs(a, dy, src, dst);
        return 0;
    }
    grad_windows(dy, src, dx);
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < (adds ? tensor_count(src) : 0); i++)
        dst[i] = a[i] + dx[i];
    return 0;
}

REF_KERNEL(max_pool2d, NULL, ref_max_pool2d_run);
REF_KERNEL(max_pool2d_grad, NULL, ref_max_pool2d_run_grad);
REF_KERNEL(max_pool2d_grad_add, ref_max_pool2d_prepare_grad_add, ref_max_pool2d_run_grad);

/* The mean over 2x2 pixels and its gradient. */

static int ref_avg_pool2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    const int64_t *d = dst->shape.dim;

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t p = 0; p < d[DIM_W]; p++) {
                const float *above = at(src, i, 2 * y, 2 * p);
                const float *below = at(src, i, 2 * y + 1, 2 * p);
                float *to = at(dst, i, y, p);

                for (int64_t c = 0; c < d[DIM_C]; c++)
                    to[c] = (above[c] + above[d[DIM_C] + c] + below[c] + below[d[DIM_C] + c]) / 4;
            }
    return 0;
}

/* An odd last row or column, which pooling ignored, has gradient 0. */
static int ref_avg_pool2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    const int64_t *d = dx->shape.dim, *small = dy->shape.dim;

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t p = 0; p < d[DIM_W]; p++) {
                float *to = at(dx, i, y, p);
                bool inside = y / 2 < small[DIM_H] && p / 2 < small[DIM_W];
                const float *from = inside ? at(dy, i, y / 2, p / 2) : NULL;

                for (int64_t c = 0; c < d[DIM_C]; c++)
                    to[c] = inside ? from[c] / 4 : 0;
            }
    return 0;
}

REF_KERNEL(avg_pool2d, NULL, ref_avg_pool2d_run);
REF_KERNEL(avg_pool2d_grad, NULL, ref_avg_pool2d_run_grad);

/* Twice the height and width: nearest, or bilinear with pixels at 1/4 and 3/4 between two. */

/* Returns the other of the two pixels of a side of n that are nearest to number `at` of twice as
 * many; the nearest is at / 2. */
static int64_t beside(int64_t at, int64_t n)
{
    int64_t other = at % 2 ? at / 2 + 1 : at / 2 - 1;

    return other < 0 ? 0 : other < n ? other : n - 1;
}

static int ref_upsample2d_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0], *dst = op->out[0];
    const int64_t *d = dst->shape.dim, *s = src->shape.dim;
    bool bilinear = op->attr.bilinear;

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t p = 0; p < d[DIM_W]; p++) {
                int64_t row = beside(y, s[DIM_H]), column = beside(p, s[DIM_W]);
                const float *near = at(src, i, y / 2, p / 2), *across = at(src, i, y / 2, column);
                const float *below = at(src, i, row, p / 2), *far = at(src, i, row, column);
                float *to = at(dst, i, y, p);

                for (int64_t c = 0; c < d[DIM_C]; c++)
                    to[c] = !bilinear ? near[c]
                                      : (9 * near[c] + 3 * (across[c] + below[c]) + far[c]) / 16;
            }
    return 0;
}

/* Returns the weight of pixel `at` of a side of n in number 2 at + offset of twice as many. */
static float share_of(bool bilinear, int64_t at, int64_t n, int offset)
{
    bool inner = offset < 1 ? at > 0 : at < n - 1;
    bool near = offset == 0 || offset == 1;

    return !bilinear ? near : near ? inner ? 0.75F : 1 : inner ? 0.25F : 0;
}

static int ref_upsample2d_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dy = op->in[0], *dx = op->out[0];
    const int64_t *d = dx->shape.dim;

#pragma omp parallel for collapse(2) schedule(static)
    for (int64_t i = 0; i < d[DIM_N]; i++)
        for (int64_t y = 0; y < d[DIM_H]; y++)
            for (int64_t p = 0; p < d[DIM_W]; p++) {
                float *to = at(dx, i, y, p);

                memset(to, 0, (size_t)d[DIM_C] * sizeof *to);
                for (int k = 0; k < 16; k++) {
                    int row = k / 4 - 1, column = k % 4 - 1;
                    float share = share_of(op->attr.bilinear, y, d[DIM_H], row) *
                                  share_of(op->attr.bilinear, p, d[DIM_W], column);

                    if (share <= 0)
                        continue;
                    const float *from = at(dy, i, 2 * y + row, 2 * p + column);
                    for (int64_t c = 0; c < d[DIM_C]; c++)
                        to[c] += share * from[c];
                }
            }
    return 0;
}

REF_KERNEL(upsample2d, NULL, ref_upsample2d_run);
REF_KERNEL(upsample2d_grad, NULL, ref_upsample2d_run_grad);

/* The mean over all pixels of an image and its gradient. */

/* One thread sums a channel of an image, so that the order does not depend on the number of
 * threads. */
static int ref_global_avg_pool_run(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    size_t nc = tensor_channels(src), n = (size_t)src->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(src) / n;

#pragma omp parallel for collapse(2) schedule(static)
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < nc; c++) {
            const float *s = src->data + i * npixels * nc + c;
            double sum = 0;

            for (size_t p = 0; p < npixels; p++)
                sum += (double)s[p * nc];
            op->out[0]->data[i * nc + c] = (float)(sum / (double)npixels);
        }
    return 0;
}

static int ref_global_avg_pool_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *dst = op->out[0];
    size_t nc = tensor_channels(dst), n = (size_t)dst->shape.dim[DIM_N];
    size_t npixels = tensor_pixels(dst) / n;
    const float *dy = op->in[0]->data;

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < n * npixels; p++)
        for (size_t c = 0; c < nc; c++)
            dst->data[p * nc + c] = dy[p / npixels * nc + c] / (float)npixels;
    return 0;
}

REF_KERNEL(global_avg_pool, NULL, ref_global_avg_pool_run);
REF_KERNEL(global_avg_pool_grad, NULL, ref_global_avg_pool_run_grad);
