/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a network: a 1x1 convolution of bfloat16 activations to a few logits of floats, and
 * its gradients. Reading the activations is nearly all of the work, so a norm and ReLU in front are
 * applied as they are read. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/warp.h"

#define MAX_LOGITS 16
#define HEAD_PARTS 1024
#define HEAD_PIXELS 256 /* of a part at most, unless there are HEAD_PARTS parts */

/* Weights of a chunk of 8 channels, and the coefficients of its norm. */
struct head_chunk {
    float w[8], a[8], b[8];
};

DEVICE struct head_chunk load_chunk(const float *w, const float *scale_shift, unsigned channels)
{
    struct head_chunk h;

    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        h.w[j] = w[j];
        h.a[j] = scale_shift ? scale_shift[j] : 1;
        h.b[j] = scale_shift ? scale_shift[channels + j] : 0;
    }
    return h;
}

DEVICE float number_of(const struct gpu16 *v, const unsigned j)
{
    return j % 2 ? bf16_high(v->word[j / 2]) : bf16_low(v->word[j / 2]);
}

/* Logits of each pixel: z = w y + bias. y is x, or with scale_shift[2][channels] the norm and ReLU
 * of x, max(0, scale x + shift). */
struct head_args {
    const uint16_t *x;
    const float *scale_shift, *w, *bias; /* w[logits][channels]; scale_shift and bias may be NULL */
    float *z;
    unsigned npixels, channels, logits;
};

KERNEL(head_pixels, head_args)
{
    struct head_chunk h = {{0}, {0}, {0}};
    unsigned loaded = ~0u; /* none */

    for (unsigned i = gpu_index(); i < k.npixels; i += gpu_stride())
        for (unsigned d = 0; d < k.logits; d++) {
            float sum = k.bias ? k.bias[d] : 0;

            for (unsigned c = 0; c < k.channels; c += 8) {
                struct gpu16 v = gpu16_load(k.x + (size_t)i * k.channels + c);

                if (loaded != d * k.channels + c) {
                    loaded = d * k.channels + c;
                    h = load_chunk(k.w + loaded, k.scale_shift ? k.scale_shift + c : NULL,
                                   k.channels);
                }
                UNROLL
                for (unsigned j = 0; j < 8; j++) {
                    float x = number_of(&v, j);

                    sum = fmaf(k.scale_shift ? fmaxf(fmaf(h.a[j], x, h.b[j]), 0.f) : x, h.w[j],
                               sum);
                }
            }
            k.z[i * k.logits + d] = sum;
        }
}

/* Both gradients: dx is that of y. partials[nparts][logits][channels + 1]: sums of dz y over a part
 * of the pixels, then of dz. sums[nparts][2][channels]: of dx and of dx x where y is positive,
 * or NULL. */
struct head_grad_args {
    const float *dz, *w, *scale_shift;
    const uint16_t *x;
    uint16_t *dx;
    double *partials, *sums;
    unsigned npixels, channels, logits, nparts;
};

#define GRAD_SUMS 25 /* of a chunk: 8 of dz y, 8 of g, 8 of g x, then dz */

/* Adds a pixel's chunk x to a thread's sums. g is the gradient of y, rounded as it is written.
 * relu: y is x behind a norm and its ReLU; otherwise y is x. */
DEVICE void add_chunk(float *sums, const struct head_chunk *h, const struct gpu16 *x,
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

/* A block makes the partial sums of one part and logit; the blocks of the first logit write dx and
 * the sums of the norm as well. Its threads form rows as in norm_rows.cu. */
KERNEL_BLOCK(head_grad, head_grad_args)
{
    SHARED float values[GPU_ROWS(GRAD_SUMS)];
    unsigned part = blockIdx.x / k.logits, d = blockIdx.x % k.logits, t = threadIdx.x;
    unsigned each = (k.npixels + k.nparts - 1) / k.nparts, begin = part * each;
    unsigned end = begin + each < k.npixels ? begin + each : k.npixels, chunks = k.channels / 8;
    double *dst = k.partials + (size_t)blockIdx.x * (k.channels + 1);

    for (unsigned first = 0; first < chunks; first += GPU_BLOCK) {
        unsigned width = chunks - first < GPU_BLOCK ? chunks - first : GPU_BLOCK;
        unsigned rows = GPU_BLOCK / width, row = t / width, c = (first + t % width) * 8;
        unsigned pitch = gpu_rows_pitch(GPU_BLOCK, width);
        struct head_chunk h = load_chunk(k.w + c, k.scale_shift ? k.scale_shift + c : NULL,
                                         k.channels);
        float sums[GRAD_SUMS] = {0};

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
            add_chunk(sums, &h, &x, &g, k.dz[i * k.logits + d], k.scale_shift != NULL);
        }
        UNROLL
        for (unsigned j = 0; j < GRAD_SUMS; j++)
            values[j * pitch + t] = sums[j];
        BARRIER();
        for (unsigned i = t; i < GRAD_SUMS * width; i += GPU_BLOCK) {
            unsigned j = i / width, column = i % width, channel = (first + column) * 8 + j % 8;
            double sum = gpu_rows_sum(values, pitch, i, width, rows);

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
    const double *partials;
    float *dw, *db; /* db may be NULL */
    unsigned channels, logits, nparts;
};

/* A block adds up one number of dw or db. */
KERNEL_BLOCK(head_total, head_total_args)
{
    SHARED double scratch[GPU_BLOCK];
    unsigned n = (k.channels + 1) * k.logits, c = blockIdx.x % (k.channels + 1);
    double sum = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK)
        sum += k.partials[(size_t)i * n + blockIdx.x];
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

static int run_head(struct op *op, struct exec *x, struct err *e)
{
    struct head_args k = {op->in[0]->half,
                          op->in[OP_SCALE_SHIFT] ? op->in[OP_SCALE_SHIFT]->data : NULL,
                          op->in[1]->data, op->in[2] ? op->in[2]->data : NULL, op->out[0]->data,
                          (unsigned)tensor_pixels(op->in[0]), (unsigned)tensor_channels(op->in[0]),
                          (unsigned)tensor_channels(op->out[0])};

    LAUNCH(head_pixels, gpu_blocks(k.npixels), x->device->stream, k);
    return 0;
}

static unsigned count_head_parts(size_t npixels)
{
    size_t n = (npixels + HEAD_PIXELS - 1) / HEAD_PIXELS;

    return n < HEAD_PARTS ? (unsigned)n : HEAD_PARTS;
}

static bool supports_head_grad(const struct op *op)
{
    return op->out[0]->dtype == DTYPE_BF16 && (!op->out[OP_OUT_SUMS] || op->in[OP_SCALE_SHIFT]) &&
           is_head(op, op->in[2], op->in[0]);
}

/* The workspace holds the partial sums of dw and db. */
static int prepare_head_grad(struct op *op, struct err *e)
{
    unsigned nparts = count_head_parts(tensor_pixels(op->in[0]));

    cuda_set_parts(op->out[OP_OUT_SUMS], nparts);
    op->workspace_size = nparts * tensor_channels(op->in[0]) *
                         (tensor_channels(op->in[2]) + 1) * sizeof(double);
    return 0;
}

static int run_head_grad(struct op *op, struct exec *x, struct err *e)
{
    unsigned nparts = count_head_parts(tensor_pixels(op->in[0]));
    struct head_grad_args k = {op->in[0]->data, op->in[1]->data,
                               op->in[OP_SCALE_SHIFT] ? op->in[OP_SCALE_SHIFT]->data : NULL,
                               op->in[2]->half,
                               op->out[0]->half, (double *)op->workspace,
                               cuda_parts(op->out[OP_OUT_SUMS]),
                               (unsigned)tensor_pixels(op->in[0]),
                               (unsigned)tensor_channels(op->in[2]),
                               (unsigned)tensor_channels(op->in[0]), nparts};
    struct head_total_args t = {k.partials, op->out[1]->data, op->out[2]->data, k.channels,
                                k.logits, nparts};

    LAUNCH(head_grad, nparts * k.logits, x->device->stream, k);
    LAUNCH(head_total, (t.channels + 1) * t.logits, x->device->stream, t);
    return 0;
}

const struct kernel cuda_bf16_head = {
    &conv2d_kind, supports_head, NULL, run_head, NULL, OP_HAS_SCALE_SHIFT, 0, KERNEL_HALVES};
const struct kernel cuda_bf16_head_grad = {
    &conv2d_grad_kind, supports_head_grad, prepare_head_grad, run_head_grad, NULL,
    OP_HAS_SCALE_SHIFT | OP_GIVES_SUMS, 0, KERNEL_HALVES};

C_END
