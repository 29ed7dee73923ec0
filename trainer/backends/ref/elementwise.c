/* SPDX-License-Identifier: BSD-3-Clause */
/* The ops that compute, convert or move single numbers; before them the table of the kernels, and
 * the sums per channel that other files use. */
#include "src/base.h"
#include "trainer/backends/ref/ref.h"

#include "src/rng.h"

/* For ops that copy values of any type and compute nothing. */

typedef uint32_t move_wide __attribute__((vector_size(16), aligned(2), may_alias));

/* For the few bytes of a pixel a call of memcpy takes longer than the copy. */
static inline void move_bytes(char *dst, const char *src, size_t nbytes)
{
    if (nbytes % sizeof(move_wide))
        memcpy(dst, src, nbytes);
    else
        for (size_t i = 0; i < nbytes; i += sizeof(move_wide))
            *(move_wide *)(dst + i) = *(const move_wide *)(src + i);
}

static inline size_t move_pixel(const struct tensor *t)
{
    return tensor_channels(t) * dtype_size(t->dtype);
}

/* Returns whether all tensors of the op have one type. */
static inline bool move_supports(const struct op *op)
{
    const struct tensor *t;

    for (int i = -1; (t = op_next(op, &i));)
        if (t->dtype != op->in[0]->dtype)
            return false;
    return true;
}

#define MOVE_KERNEL(name, run_)                                                       \
    const struct kernel ref_##name = {.kind = &name##_kind, .supports = move_supports, \
                                      .run = (run_), .types = KERNEL_ANY}

/* The kernels of the reference backend, one for each kind of op. */

static const struct kernel *const kernels[] = {
#define OP(name) &ref_##name,
#include "trainer/core/ops.def"
#undef OP
    NULL,
};

const struct backend ref_backend = {.name = "ref", .kernels = kernels};

/* Sums per channel in a fixed order (ref.h). */

size_t chunks_workspace(size_t nchannels)
{
    return 2 * (CHUNKS + 1) * vector_period(nchannels);
}

VECTOR_CLONES static void sum_values(const float *restrict a, size_t n, size_t period,
                                     double *restrict sum)
{
    for (; n >= period; n -= period, a += period)
        for (size_t i = 0; i < period; i++)
            sum[i] += (double)a[i];
    for (size_t i = 0; i < n; i++)
        sum[i] += (double)a[i];
}

VECTOR_CLONES static void sum_products(const float *a, const float *b, size_t n, size_t period,
                                       double *restrict sum, double *restrict products)
{
    for (; n >= period; n -= period, a += period, b += period)
        for (size_t i = 0; i < period; i++) {
            sum[i] += (double)a[i];
            products[i] += (double)a[i] * (double)b[i];
        }
    for (size_t i = 0; i < n; i++) {
        sum[i] += (double)a[i];
        products[i] += (double)a[i] * (double)b[i];
    }
}

static void sum_chunk(const float *a, const float *b, size_t begin, size_t end, size_t nchannels,
                      double *sums)
{
    size_t period = vector_period(nchannels);
    size_t first = begin * nchannels, n = (end - begin) * nchannels;

    memset(sums, 0, 2 * period * sizeof *sums);
    if (b)
        sum_products(a + first, b + first, n, period, sums, sums + period);
    else
        sum_values(a + first, n, period, sums);
}

/* Adds sums[2][period] of one chunk to total[2][nchannels]. */
static void add_chunk(const double *sums, size_t nchannels, double *total)
{
    size_t period = vector_period(nchannels);

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < period; i += nchannels)
            for (size_t c = 0; c < nchannels; c++)
                total[k * nchannels + c] += sums[k * period + i + c];
}

void chunks_sum(const float *a, const float *b, size_t npixels, size_t nchannels,
                double *workspace)
{
    size_t stride = 2 * vector_period(nchannels);
    double *total = workspace + CHUNKS * stride;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < CHUNKS; i++)
        sum_chunk(a, b, chunk_begin(npixels, i), chunk_begin(npixels, i + 1), nchannels,
                  workspace + i * stride);
    memset(total, 0, 2 * nchannels * sizeof *total);
    for (size_t i = 0; i < CHUNKS; i++)
        add_chunk(workspace + i * stride, nchannels, total);
    memcpy(workspace, total, 2 * nchannels * sizeof *total);
}

void chunks_bias(const struct tensor *dy, double *workspace, float *db)
{
    size_t n = tensor_channels(dy);

    chunks_sum(dy->data, NULL, tensor_pixels(dy), n, workspace);
    for (size_t c = 0; c < n; c++)
        db[c] = (float)workspace[c];
}

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

REF_KERNEL(add, NULL, ref_add_run);

/* ReLU and its gradient. */

/* Values that one thread takes at a time. */
#define BLOCK 8192

VECTOR_CLONES static void relu(const float *src, float slope, size_t n, float *dst)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dst[i] = src[i] > 0 ? src[i] : slope > 0 ? slope * src[i] : 0;
}

/* dy is always read, because the branch predictor cannot predict the sign of y. */
VECTOR_CLONES static void relu_grad(const float *dy, const float *y, float slope, size_t n,
                                    float *dx)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float d = dy[i];

        dx[i] = y[i] > 0 ? d : slope > 0 ? slope * d : 0;
    }
}

static int ref_relu_run(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data;
    float *dst = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += BLOCK)
        relu(src + i, (float)op->attr.slope, n - i < BLOCK ? n - i : BLOCK, dst + i);
    return 0;
}

static int ref_relu_run_grad(struct op *op, struct exec *x, struct err *e)
{
    const float *dy = op->in[0]->data, *y = op->in[1]->data;
    float *dx = op->out[0]->data;
    size_t n = tensor_count(op->out[0]);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i += BLOCK)
        relu_grad(dy + i, y + i, (float)op->attr.slope, n - i < BLOCK ? n - i : BLOCK, dx + i);
    return 0;
}

REF_KERNEL(relu, NULL, ref_relu_run);
REF_KERNEL(relu_grad, NULL, ref_relu_run_grad);

/* Dropout, whose random numbers depend only on exec.noise, attr.stream, the image's index in the
 * epoch and the value's index in the image (src/rng.h). */

/* One block of random numbers serves four values; a value is kept if its number is at least
 * `limit`. */
static int ref_dropout_run(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data;
    float *dst = op->out[0]->data, scale = (float)(1 / (1 - op->attr.rate));
    size_t images = (size_t)op->in[0]->shape.dim[DIM_N], n = tensor_count(op->out[0]) / images;
    size_t nblocks = (n + 3) / 4;
    uint64_t limit = (uint64_t)(op->attr.rate * 0x1p32);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < images * nblocks; i++) {
        size_t image = i / nblocks, block = i % nblocks, at = image * n + 4 * block;
        uint32_t words[4];

        rng_block(x->noise, op->attr.stream, (x->first + image) * nblocks + block, words);
        for (size_t k = 0; k < 4 && 4 * block + k < n; k++)
            dst[at + k] = words[k] >= limit ? src[at + k] * scale : 0;
    }
    return 0;
}

REF_KERNEL(dropout, NULL, ref_dropout_run);

/* The bias of a tensor's channels and its gradient. */

static int ref_bias_run(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data, *b = op->in[1]->data;
    float *dst = op->out[0]->data;
    size_t n = tensor_channels(op->in[0]), npixels = tensor_pixels(op->in[0]);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++)
        for (size_t c = 0; c < n; c++)
            dst[p * n + c] = src[p * n + c] + b[c];
    return 0;
}

static int ref_bias_prepare_grad(struct op *op, struct err *e)
{
    op->workspace_size = chunks_workspace(tensor_channels(op->in[0])) * sizeof(double);
    return 0;
}

static int ref_bias_run_grad(struct op *op, struct exec *x, struct err *e)
{
    chunks_bias(op->in[0], op->workspace, op->out[0]->data);
    return 0;
}

REF_KERNEL(bias, NULL, ref_bias_run);
REF_KERNEL(bias_grad, ref_bias_prepare_grad, ref_bias_run_grad);

/* Conversion between floats and 16-bit types. */

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

/* Copies a tensor of any type to another shape. */

/* Copies nothing if the result has the input's memory. */
static int ref_reshape_run(struct op *op, struct exec *x, struct err *e)
{
    if (op->out[0]->bytes != op->in[0]->bytes)
        memcpy(op->out[0]->bytes, op->in[0]->bytes, tensor_nbytes(op->out[0]));
    return 0;
}

MOVE_KERNEL(reshape, ref_reshape_run);

/* The concatenation of two tensors by channels, of any type, and its gradient. */

static int ref_concat_run(struct op *op, struct exec *x, struct err *e)
{
    bool divides = op->kind == &concat_grad_kind;
    struct tensor *const *parts = divides ? op->out : op->in;
    const struct tensor *whole = divides ? op->in[0] : op->out[0];
    size_t na = move_pixel(parts[0]), nb = move_pixel(parts[1]), npixels = tensor_pixels(whole);

#pragma omp parallel for schedule(static)
    for (size_t p = 0; p < npixels; p++) {
        char *a = parts[0]->bytes + p * na, *b = parts[1]->bytes + p * nb;
        char *both = whole->bytes + p * (na + nb);

        move_bytes(divides ? a : both, divides ? both : a, na);
        move_bytes(divides ? b : both + na, divides ? both + na : b, nb);
    }
    return 0;
}

MOVE_KERNEL(concat, ref_concat_run);
MOVE_KERNEL(concat_grad, ref_concat_run);

/* The shortcut of a residual block that halves the size, of any type, and its gradient. */

static int ref_subsample_run(struct op *op, struct exec *x, struct err *e)
{
    bool grad = op->kind == &subsample_grad_kind;
    const struct tensor *small = grad ? op->in[0] : op->out[0];
    const struct tensor *large = grad ? op->out[0] : op->in[0];
    size_t width = (size_t)small->shape.dim[DIM_W], nrows = tensor_pixels(small) / width;
    size_t n = move_pixel(large), line = (size_t)large->shape.dim[DIM_W] * n;
    size_t step = move_pixel(small); /* with large's channels in the middle */
    size_t before = (step - n) / dtype_size(large->dtype) / 2 * dtype_size(large->dtype);

    memset(op->out[0]->bytes, 0, tensor_nbytes(op->out[0]));
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++) {
        char *from = large->bytes +
                     tensor_halved_row(large, row, (size_t)small->shape.dim[DIM_H]) * line;
        char *to = small->bytes + row * width * step + before;

        for (size_t i = 0; i < width; i++, from += 2 * n, to += step)
            move_bytes(grad ? from : to, grad ? to : from, n);
    }
    return 0;
}

MOVE_KERNEL(subsample, ref_subsample_run);
MOVE_KERNEL(subsample_grad, ref_subsample_run);
