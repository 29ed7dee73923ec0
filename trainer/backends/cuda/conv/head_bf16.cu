/* SPDX-License-Identifier: BSD-3-Clause */
/* The 1x1 convolution of bfloat16 activations to logits, which are floats: few, so that reading the
 * activations is all there is to it. A norm with ReLU in front of it is applied as they are
 * read. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/warp.h"

#define MAX_LOGITS 16
#define HEAD_PARTS 1024
#define HEAD_PIXELS 256 /* of a part, at least, where there are many */

/* What a chunk of the activations is multiplied with, and its norm's coefficients. */
struct head_chunk {
    float w[8], a[8], b[8];
};

DEVICE struct head_chunk load_chunk(const float *w, const float *coef, unsigned channels)
{
    struct head_chunk h;

    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        h.w[j] = w[j];
        h.a[j] = coef ? coef[j] : 1;
        h.b[j] = coef ? coef[channels + j] : 0;
    }
    return h;
}

DEVICE float number_of(const struct gpu16 *v, const unsigned j)
{
    return j % 2 ? bf16_high(v->word[j / 2]) : bf16_low(v->word[j / 2]);
}

/* Logits of each pixel: z = w y + bias, where y is x, or with coef[2][channels] what a norm and its
 * ReLU make of it, max(0, coef0 x + coef1). */
struct head_args {
    const uint16_t *x;
    const float *coef, *w, *bias; /* w[logits][channels]; coef and bias may be NULL */
    float *z;
    unsigned npixels, channels, logits;
};

KERNEL(head_pixels, head_args)
{
    struct head_chunk h = load_chunk(k.w, k.coef, k.channels);
    unsigned loaded = 0;

    for (unsigned i = gpu_index(); i < k.npixels; i += gpu_stride())
        for (unsigned d = 0; d < k.logits; d++) {
            float sum = k.bias ? k.bias[d] : 0;

            for (unsigned c = 0; c < k.channels; c += 8) {
                struct gpu16 v = gpu16_load(k.x + (size_t)i * k.channels + c);

                if (loaded != d * k.channels + c) {
                    loaded = d * k.channels + c;
                    h = load_chunk(k.w + loaded, k.coef ? k.coef + c : NULL, k.channels);
                }
                UNROLL
                for (unsigned j = 0; j < 8; j++) {
                    float x = number_of(&v, j);

                    sum = fmaf(k.coef ? fmaxf(fmaf(h.a[j], x, h.b[j]), 0.f) : x, h.w[j], sum);
                }
            }
            k.z[i * k.logits + d] = sum;
        }
}

struct head_grad_args {
    const float *dz, *w;
    uint16_t *dx;
    unsigned channels, logits, n; /* n: chunks of dx */
};

KERNEL(head_grad_input, head_grad_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i % (k.channels / 8) * 8, pixel = i / (k.channels / 8);
        struct gpu16 v;

        UNROLL
        for (unsigned j = 0; j < 4; j++) {
            float low = 0, high = 0;

            for (unsigned d = 0; d < k.logits; d++) {
                float dz = k.dz[pixel * k.logits + d];

                low = fmaf(dz, k.w[d * k.channels + c + 2 * j], low);
                high = fmaf(dz, k.w[d * k.channels + c + 2 * j + 1], high);
            }
            v.word[j] = bf16_pair(low, high);
        }
        gpu16_store(k.dx + (size_t)i * 8, v);
    }
}

/* parts[nparts][logits][channels + 1]: sums of dz x over a part of the pixels, and of dz. */
struct head_weights_args {
    const float *dz;
    const uint16_t *x;
    double *parts;
    unsigned npixels, channels, logits, nparts;
};

/* One block for each part and logit. Threads stand in rows as in norm_rows_bf16.cu. */
KERNEL_BLOCK(head_grad_weights, head_weights_args)
{
    SHARED float values[9 * GPU_BLOCK];
    unsigned part = blockIdx.x / k.logits, d = blockIdx.x % k.logits, t = threadIdx.x;
    unsigned each = (k.npixels + k.nparts - 1) / k.nparts, begin = part * each;
    unsigned end = begin + each < k.npixels ? begin + each : k.npixels, chunks = k.channels / 8;
    double *dst = k.parts + (size_t)blockIdx.x * (k.channels + 1);

    for (unsigned first = 0; first < chunks; first += GPU_BLOCK) {
        unsigned width = chunks - first < GPU_BLOCK ? chunks - first : GPU_BLOCK;
        unsigned rows = GPU_BLOCK / width, row = t / width, chunk = first + t % width;
        float sums[9] = {0};

        for (unsigned i = begin + row; row < rows && i < end; i += rows) {
            struct gpu16 v = gpu16_load(k.x + (size_t)i * k.channels + chunk * 8);
            float dz = k.dz[i * k.logits + d];

            UNROLL
            for (unsigned j = 0; j < 4; j++) {
                sums[2 * j] = fmaf(dz, bf16_low(v.word[j]), sums[2 * j]);
                sums[2 * j + 1] = fmaf(dz, bf16_high(v.word[j]), sums[2 * j + 1]);
            }
            sums[8] += dz;
        }
        UNROLL
        for (unsigned j = 0; j < 9; j++)
            values[j * GPU_BLOCK + t] = sums[j];
        BARRIER();
        for (unsigned i = t; i < 9 * width; i += GPU_BLOCK) {
            unsigned j = i / width, column = i % width;
            double sum = 0;

            if (j == 8 && first + column > 0)
                continue;
            for (unsigned r = 0; r < rows; r++)
                sum += (double)values[j * GPU_BLOCK + r * width + column];
            dst[j < 8 ? (first + column) * 8 + j : k.channels] = sum;
        }
        BARRIER();
    }
}

/* Both gradients of that: dx is the gradient of y; parts[nparts][logits][channels + 1] as above;
 * sums[nparts][2][channels] of dx and of dx x where y is not 0, or NULL. */
struct head_back_args {
    const float *dz, *w, *coef;
    const uint16_t *x;
    uint16_t *dx;
    double *parts, *sums;
    unsigned npixels, channels, logits, nparts;
};

#define BACK_SUMS 25 /* of a chunk: dz y, then g, then g x, then dz */

/* One pixel's chunk: g is the gradient of y, and rounded as it is written. relu: y is behind a norm
 * and its ReLU; otherwise it is x. */
DEVICE void add_back(float *sums, const struct head_chunk *h, const struct gpu16 *x,
                     const struct gpu16 *g, float dz, bool relu)
{
    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        float v = number_of(x, j), y = fmaf(h->a[j], v, h->b[j]);

        if (relu && !(y > 0))
            continue;
        sums[j] = fmaf(dz, y, sums[j]);
        sums[8 + j] += number_of(g, j);
        sums[16 + j] = fmaf(number_of(g, j), v, sums[16 + j]);
    }
    sums[24] += dz;
}

/* As head_grad_weights; the blocks of the first logit write dx and the norm's sums, too. */
KERNEL_BLOCK(head_back_part, head_back_args)
{
    SHARED float values[BACK_SUMS * GPU_BLOCK];
    unsigned part = blockIdx.x / k.logits, d = blockIdx.x % k.logits, t = threadIdx.x;
    unsigned each = (k.npixels + k.nparts - 1) / k.nparts, begin = part * each;
    unsigned end = begin + each < k.npixels ? begin + each : k.npixels, chunks = k.channels / 8;
    double *dst = k.parts + (size_t)blockIdx.x * (k.channels + 1);

    for (unsigned first = 0; first < chunks; first += GPU_BLOCK) {
        unsigned width = chunks - first < GPU_BLOCK ? chunks - first : GPU_BLOCK;
        unsigned rows = GPU_BLOCK / width, row = t / width, c = (first + t % width) * 8;
        struct head_chunk h = load_chunk(k.w + c, k.coef ? k.coef + c : NULL, k.channels);
        float sums[BACK_SUMS] = {0};

        for (unsigned i = begin + row; row < rows && i < end; i += rows) {
            struct gpu16 x = gpu16_load(k.x + (size_t)i * k.channels + c), g = x;
            float gradient[8];

            UNROLL
            for (unsigned j = 0; j < 8; j++)
                gradient[j] = k.dz[i * k.logits] * h.w[j];
            for (unsigned e = 1; e < k.logits && d == 0; e++)
                UNROLL
                for (unsigned j = 0; j < 8; j++)
                    gradient[j] = fmaf(k.dz[i * k.logits + e], k.w[e * k.channels + c + j],
                                       gradient[j]);
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                g.word[j] = bf16_pair(gradient[2 * j], gradient[2 * j + 1]);
            if (d == 0)
                gpu16_store(k.dx + (size_t)i * k.channels + c, g);
            add_back(sums, &h, &x, &g, k.dz[i * k.logits + d], k.coef != NULL);
        }
        UNROLL
        for (unsigned j = 0; j < BACK_SUMS; j++)
            values[j * GPU_BLOCK + t] = sums[j];
        BARRIER();
        for (unsigned i = t; i < BACK_SUMS * width; i += GPU_BLOCK) {
            unsigned j = i / width, column = i % width, channel = (first + column) * 8 + j % 8;
            double sum = 0;

            for (unsigned r = 0; r < rows; r++)
                sum += (double)values[j * GPU_BLOCK + r * width + column];
            if (j < 8)
                dst[channel] = sum;
            else if (j == 24 && first + column == 0)
                dst[k.channels] = sum;
            else if (j < 24 && d == 0 && k.sums)
                k.sums[(2 * part + (j - 8) / 8) * k.channels + channel] = sum;
        }
        BARRIER();
    }
}

struct head_total_args {
    const double *parts;
    float *dw, *db; /* db may be NULL */
    unsigned channels, logits, nparts;
};

/* One block for each number. */
KERNEL_BLOCK(head_total, head_total_args)
{
    SHARED double scratch[GPU_BLOCK];
    unsigned n = (k.channels + 1) * k.logits, c = blockIdx.x % (k.channels + 1);
    double sum = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK)
        sum += k.parts[(size_t)i * n + blockIdx.x];
    sum = gpu_block_sum(sum, scratch);
    if (threadIdx.x == 0 && c < k.channels)
        k.dw[blockIdx.x / (k.channels + 1) * k.channels + c] = (float)sum;
    else if (threadIdx.x == 0 && k.db)
        k.db[blockIdx.x / (k.channels + 1)] = (float)sum;
}

C_BEGIN

static bool is_head(const struct op *op, const struct tensor *activations,
                         const struct tensor *logits)
{
    return activations->dtype == DTYPE_BF16 && logits->dtype == DTYPE_F32 && op->attr.kernel == 1 &&
           op->attr.stride <= 1 && tensor_channels(activations) % 8 == 0 &&
           tensor_channels(logits) <= MAX_LOGITS && cuda_supports(op) && cuda_has_bf16();
}

static bool supports_head(const struct op *op)
{
    return is_head(op, op->in[0], op->out[0]);
}

static bool supports_head_grad(const struct op *op)
{
    return is_head(op, op->out[0], op->in[0]);
}

static bool supports_head_weights(const struct op *op)
{
    return is_head(op, op->in[2], op->in[0]);
}

static int run_head(struct op *op, struct exec *x, struct err *e)
{
    struct head_args k = {op->in[0]->half,
                               op->in[OP_COEF] ? op->in[OP_COEF]->data : NULL, op->in[1]->data,
                               op->in[2] ? op->in[2]->data : NULL, op->out[0]->data,
                               (unsigned)tensor_pixels(op->in[0]),
                               (unsigned)tensor_channels(op->in[0]),
                               (unsigned)tensor_channels(op->out[0])};

    (void)e;
    LAUNCH(head_pixels, gpu_blocks(k.npixels), x->device->stream, k);
    return 0;
}

static int run_head_grad(struct op *op, struct exec *x, struct err *e)
{
    struct head_grad_args k = {op->in[0]->data, op->in[1]->data, op->out[0]->half,
                               (unsigned)tensor_channels(op->out[0]),
                               (unsigned)tensor_channels(op->in[0]),
                               (unsigned)(tensor_count(op->out[0]) / 8)};

    (void)e;
    LAUNCH(head_grad_input, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static unsigned count_head_parts(size_t npixels)
{
    size_t n = (npixels + HEAD_PIXELS - 1) / HEAD_PIXELS;

    return n < HEAD_PARTS ? (unsigned)n : HEAD_PARTS;
}

static int prepare_head_weights(struct op *op, struct err *e)
{
    (void)e;
    op->workspace_size = (size_t)count_head_parts(tensor_pixels(op->in[0])) *
                         tensor_channels(op->in[0]) * (tensor_channels(op->in[2]) + 1) *
                         sizeof(double);
    return 0;
}

static void total_head(const struct head_total_args *t, cudaStream_t stream)
{
    LAUNCH(head_total, (t->channels + 1) * t->logits, stream, *t);
}

static int run_head_weights(struct op *op, struct exec *x, struct err *e)
{
    struct head_weights_args k = {op->in[0]->data, op->in[2]->half, (double *)op->workspace,
                                  (unsigned)tensor_pixels(op->in[0]),
                                  (unsigned)tensor_channels(op->in[2]),
                                  (unsigned)tensor_channels(op->in[0]),
                                  count_head_parts(tensor_pixels(op->in[0]))};
    struct head_total_args t = {k.parts, op->out[1]->data,
                                op->out[2] ? op->out[2]->data : NULL, k.channels, k.logits,
                                k.nparts};

    (void)e;
    LAUNCH(head_grad_weights, k.nparts * k.logits, x->device->stream, k);
    total_head(&t, x->device->stream);
    return 0;
}

static bool supports_head_grads(const struct op *op)
{
    return op->out[0]->dtype == DTYPE_BF16 && (!op->out[OP_OUT_SUMS] || op->in[OP_COEF]) &&
           is_head(op, op->in[2], op->in[0]);
}

/* Workspace: parts of the sums, then those of the weights' gradient. */
static int prepare_head_grads(struct op *op, struct err *e)
{
    size_t sums = cuda_sums_size(op, count_head_parts(tensor_pixels(op->in[0])));

    if (prepare_head_weights(op, e))
        return -1;
    op->workspace_size += sums;
    return 0;
}

static int run_head_grads(struct op *op, struct exec *x, struct err *e)
{
    unsigned nparts = count_head_parts(tensor_pixels(op->in[0]));
    size_t sums = cuda_sums_size(op, nparts);
    struct head_back_args k = {op->in[0]->data, op->in[1]->data,
                               op->in[OP_COEF] ? op->in[OP_COEF]->data : NULL, op->in[2]->half,
                               op->out[0]->half, (double *)((char *)op->workspace + sums),
                               sums ? (double *)op->workspace : NULL,
                               (unsigned)tensor_pixels(op->in[0]),
                               (unsigned)tensor_channels(op->in[2]),
                               (unsigned)tensor_channels(op->in[0]), nparts};
    struct head_total_args t = {k.parts, op->out[1]->data, op->out[2]->data, k.channels, k.logits,
                                nparts};

    (void)e;
    LAUNCH(head_back_part, nparts * k.logits, x->device->stream, k);
    total_head(&t, x->device->stream);
    cuda_sums_finish(op, k.sums, nparts, x);
    return 0;
}

const struct kernel cuda_bf16_head = {
    &conv2d_kind, supports_head, NULL, run_head, NULL, OP_HAS_COEF, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_head_grad = {
    &conv2d_grad_kind, supports_head_grads, prepare_head_grads, run_head_grads, NULL,
    OP_HAS_COEF | OP_GIVES_SUMS, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_head_grad_input = {
    &conv2d_grad_kind, supports_head_grad, NULL, run_head_grad, NULL, 0, OP_INPUT_ONLY,
    KERNEL_HALVES};
const struct kernel cuda_bf16_head_grad_weights = {
    &conv2d_grad_kind, supports_head_weights, prepare_head_weights, run_head_weights, NULL, 0,
    OP_WEIGHTS_ONLY, KERNEL_HALVES};

C_END
