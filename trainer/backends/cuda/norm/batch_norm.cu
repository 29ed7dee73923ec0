/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm, with the formulas of backends/ref/batch_norm.c. Four launches: partial sums over
 * pixels, the sums of these, coefficients per channel, and dst = a u + b v + c (u is x without v,
 * or in the gradient u is dy and v is x). Moments or sums that another op has made replace the
 * first two by one; with attr.coef the last is left out; the gradient has one more for dgamma and
 * dbeta. With a ReLU behind the norm dst is at least 0, and in the gradient u counts only where the
 * ReLU let v pass, which one more launch prepares. Here too: the norm of inference, and folding it
 * into a convolution. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/cuda_queue.h"
#include "trainer/backends/cuda/norm/norm_rows.h"

#define SUM_PARTS 1024
#define PART_PIXELS 256 /* of a part at most, unless there are SUM_PARTS parts */

struct total_args {
    const double *partials;
    double *sums; /* [2 channels + 1]: the last one is the number of pixels */
    unsigned channels, nparts, npixels;
};

/* A block adds up one of the 2 * channels sums. */
KERNEL_BLOCK(total, total_args)
{
    SHARED double scratch[GPU_BLOCK];
    double s = 0;

    for (unsigned i = threadIdx.x; i < k.nparts; i += GPU_BLOCK)
        s += k.partials[2 * i * k.channels + blockIdx.x];
    s = gpu_block_sum(s, scratch);
    if (threadIdx.x == 0) {
        k.sums[blockIdx.x] = s;
        if (blockIdx.x == 0)
            k.sums[2 * k.channels] = (double)k.npixels;
    }
}

/* Arguments of the finish_ kernels; each leaves NULL what it does not use. */
struct finish_args {
    const double *sums;
    const float *gamma, *beta, *saved;
    float *saved_out, *running_mean, *running_var, *dgamma, *dbeta;
    float *a, *b, *c, *mask; /* coefficients per channel; mask: [2][channels] */
    double eps, momentum;
    unsigned channels;
};

/* Mean and scale from the sums; updates the running statistics. */
KERNEL(finish_forward, finish_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        double count = k.sums[2 * k.channels], mean = k.sums[c] / count;
        double var = fmax(k.sums[k.channels + c] / count - mean * mean, 0.);
        double unbiased = count > 1 ? count / (count - 1) : 1;
        float scale = (float)(1 / sqrt(var + k.eps));

        k.saved_out[c] = (float)mean;
        k.saved_out[k.channels + c] = scale;
        double momentum =
            k.running_mean[c] == 0 && k.running_var[c] == 1 ? 1 : k.momentum; /* op_is_fresh */
        k.running_mean[c] = (float)((1 - momentum) * (double)k.running_mean[c] + momentum * mean);
        k.running_var[c] =
            (float)((1 - momentum) * (double)k.running_var[c] + momentum * var * unbiased);
        k.a[c] = k.gamma[c] * scale;
        k.c[c] = k.beta[c] - (float)mean * k.a[c];
    }
}

KERNEL(finish_infer, finish_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        k.a[c] = (float)((double)k.gamma[c] / sqrt((double)k.running_var[c] + k.eps));
        k.c[c] = k.beta[c] - k.running_mean[c] * k.a[c];
    }
}

/* The coefficients of the forward pass: u counts where mask[0] v + mask[1] > 0. */
KERNEL(finish_mask, finish_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        float a = k.gamma[c] * k.saved[k.channels + c];

        k.mask[c] = a;
        k.mask[k.channels + c] = k.beta[c] - k.saved[c] * a;
    }
}

/* The gradients of gamma and beta of this replica, before the sums become those of all replicas. */
KERNEL(finish_params, finish_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        double mean = (double)k.saved[c], scale = (double)k.saved[k.channels + c];

        k.dbeta[c] = (float)k.sums[c];
        k.dgamma[c] = (float)((k.sums[k.channels + c] - mean * k.sums[c]) * scale);
    }
}

KERNEL(finish_grad, finish_args)
{
    for (unsigned i = gpu_index(); i < k.channels; i += gpu_stride()) {
        double count = k.sums[2 * k.channels], m = (double)k.saved[i];
        double s = (double)k.saved[k.channels + i], a = (double)k.gamma[i] * s;
        double b = -a * s * s * (k.sums[k.channels + i] - m * k.sums[i]) / count;

        k.a[i] = (float)a;
        k.b[i] = (float)b;
        k.c[i] = (float)(-a * k.sums[i] / count - b * m);
    }
}

/* Weights and bias of a convolution that includes the norm behind it: a thread has one weight. */
struct fold_args {
    const float *w, *gamma, *beta, *mean, *var, *bias; /* bias may be NULL */
    float *w_dst, *bias_dst;
    double eps;
    unsigned window, n; /* weights of a channel of the result; of all */
};

KERNEL(fold_norm, fold_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride()) {
        unsigned c = i / k.window;
        double factor = (double)k.gamma[c] / sqrt((double)k.var[c] + k.eps);
        double b = k.bias ? (double)k.bias[c] : 0;

        k.w_dst[i] = (float)factor * k.w[i];
        if (i % k.window == 0)
            k.bias_dst[c] = (float)((double)k.beta[c] + (b - (double)k.mean[c]) * factor);
    }
}

C_BEGIN

static unsigned count_parts(const struct op *op)
{
    size_t n = (tensor_pixels(op->in[0]) + PART_PIXELS - 1) / PART_PIXELS;

    return n < SUM_PARTS ? (unsigned)n : SUM_PARTS;
}

/* The workspace holds the sums and the number of pixels, coefficients, then partial sums. */
static int batch_norm_prepare(struct op *op, struct err *e)
{
    size_t n = tensor_channels(op->in[0]);

    (void)e;
    op->workspace_size = (2 * n + 1 + 3 * n + 2 * n * count_parts(op)) * sizeof(double);
    return 0;
}

static double *sums_of(const struct op *op)
{
    return (double *)op->workspace;
}

static double *norm_partials(const struct op *op)
{
    unsigned n = (unsigned)tensor_channels(op->in[0]);

    return sums_of(op) + 2 * n + 1 + 3 * n;
}

static struct finish_args finish_of(const struct op *op)
{
    struct finish_args k = {0};

    k.channels = (unsigned)tensor_channels(op->in[0]);
    k.sums = sums_of(op);
    k.a = (float *)(k.sums + 2 * k.channels + 1);
    k.c = k.a + k.channels;
    k.b = k.c + k.channels;
    k.mask = k.b + k.channels;
    if (op->attr.coef && op->kind == &batch_norm_kind) {
        k.a = op->out[0]->data;
        k.c = k.a + k.channels;
    } else if (op->attr.coef) {
        k.mask = op->out[0]->data;
        k.a = k.mask + 2 * k.channels;
        k.b = k.a + k.channels;
        k.c = k.b + k.channels;
    }
    k.eps = op->attr.eps;
    k.momentum = op->attr.momentum;
    return k;
}

static void sum(const struct op *op, const struct tensor *u, const struct tensor *v,
                const float *mask, cudaStream_t stream)
{
    struct norm_sum_args k = {u->data, v->data, mask, norm_partials(op),
                              (unsigned)tensor_pixels(u), (unsigned)tensor_channels(u),
                              count_parts(op)};
    struct total_args t = {k.partials, sums_of(op), k.channels, k.nparts, k.npixels};

    norm_sum(u->dtype, &k, stream);
    LAUNCH(total, 2 * k.channels, stream, t);
}

static void apply_to(const struct op *op, const struct finish_args *f, const struct tensor *u,
                     const struct tensor *v, const float *mask, cudaStream_t stream)
{
    const struct tensor *dst = op->out[0];
    struct norm_apply_args k = {u->data, v ? v->data : NULL, f->a, f->b, f->c, mask, dst->data,
                                f->channels, (unsigned)tensor_count(dst), op->attr.relu && !v};

    norm_apply(u->dtype, &k, stream);
}

static int sum_over_replicas(const struct op *op, struct exec *x, struct err *e)
{
    size_t n = 2 * tensor_channels(op->in[0]) + 1;

    return op->attr.sync && x->sum ? cuda_queue_sum(x, sums_of(op), n, e) : 0;
}

/* Computes out[1], the running statistics and the coefficients. */
static int find_statistics(const struct op *op, struct exec *x, struct err *e)
{
    cudaStream_t stream = x->device->stream;
    struct finish_args k = finish_of(op);

    if (op->in[OP_MOMENTS])
        cuda_moments_sums(op, sums_of(op), x);
    else
        sum(op, op->in[0], op->in[0], NULL, stream);
    if (sum_over_replicas(op, x, e))
        return -1;
    k.gamma = op->in[1]->data;
    k.beta = op->in[2]->data;
    k.running_mean = op->in[3]->data;
    k.running_var = op->in[4]->data;
    k.saved_out = op->out[1]->data;
    LAUNCH(finish_forward, gpu_blocks(k.channels), stream, k);
    return 0;
}

static int run_batch_norm(struct op *op, struct exec *x, struct err *e)
{
    struct finish_args k = finish_of(op);

    if (find_statistics(op, x, e))
        return -1;
    apply_to(op, &k, op->in[0], NULL, NULL, x->device->stream);
    return 0;
}

static int run_batch_norm_coef(struct op *op, struct exec *x, struct err *e)
{
    return find_statistics(op, x, e);
}

static int run_batch_norm_infer(struct op *op, struct exec *x, struct err *e)
{
    struct finish_args k = finish_of(op);

    (void)e;
    k.gamma = op->in[1]->data;
    k.beta = op->in[2]->data;
    k.running_mean = op->in[3]->data;
    k.running_var = op->in[4]->data;
    LAUNCH(finish_infer, gpu_blocks(k.channels), x->device->stream, k);
    apply_to(op, &k, op->in[0], NULL, NULL, x->device->stream);
    return 0;
}

static int begin_fold_norm(struct op *op, struct exec *x, struct err *e)
{
    struct tensor *const *in = op->in;
    unsigned n = (unsigned)tensor_count(in[0]), nchannels = (unsigned)tensor_count(op->out[1]);
    struct fold_args k = {in[0]->data, in[1]->data, in[2]->data, in[3]->data, in[4]->data,
                          in[5] ? in[5]->data : NULL, op->out[0]->data, op->out[1]->data,
                          op->attr.eps, n / nchannels, n};

    (void)e;
    LAUNCH(fold_norm, gpu_blocks(n), x->device->stream, k);
    return 0;
}

static int prepare_fold_norm(struct op *op, struct err *e)
{
    (void)e;
    op->begin = begin_fold_norm;
    return 0;
}

static int run_fold_norm(struct op *op, struct exec *x, struct err *e)
{
    (void)op, (void)x, (void)e;
    return 0;
}

/* Queues the mask of the forward pass from what that has saved. */
static const float *find_mask(const struct op *op, struct exec *x)
{
    struct finish_args k = finish_of(op);

    k.gamma = op->in[2]->data;
    k.saved = op->in[3]->data;
    k.beta = op->in[4]->data;
    LAUNCH(finish_mask, gpu_blocks(k.channels), x->device->stream, k);
    return k.mask;
}

static int run_batch_norm_grad(struct op *op, struct exec *x, struct err *e)
{
    const float *mask = op->attr.relu ? find_mask(op, x) : NULL;
    cudaStream_t stream = x->device->stream;
    struct finish_args k = finish_of(op);

    if (op->in[OP_SUMS])
        cuda_sums_widen(op, sums_of(op), x);
    else
        sum(op, op->in[0], op->in[1], mask, stream);
    k.gamma = op->in[2]->data;
    k.saved = op->in[3]->data;
    k.dgamma = op->out[1]->data;
    k.dbeta = op->out[2]->data;
    LAUNCH(finish_params, gpu_blocks(k.channels), stream, k);
    if (sum_over_replicas(op, x, e))
        return -1;
    LAUNCH(finish_grad, gpu_blocks(k.channels), stream, k);
    if (!op->attr.coef)
        apply_to(op, &k, op->in[0], op->in[1], mask, stream);
    return 0;
}

/* The kernels that read the coefficients are for bfloat16. */
static bool supports_coef(const struct op *op)
{
    return op->in[0]->dtype == DTYPE_BF16 && tensor_channels(op->in[0]) % 8 == 0 &&
           cuda_supports(op) && cuda_has_bf16();
}

static bool supports_grad_coef(const struct op *op)
{
    return supports_coef(op) && op->in[1]->dtype == DTYPE_BF16;
}

const struct kernel cuda_batch_norm = {
    &batch_norm_kind, cuda_supports_one_type, batch_norm_prepare, run_batch_norm, NULL,
    OP_RELU | OP_TAKES_MOMENTS, 0, KERNEL_ANY};
const struct kernel cuda_batch_norm_coef = {
    &batch_norm_kind, supports_coef, batch_norm_prepare, run_batch_norm_coef, NULL,
    OP_TAKES_MOMENTS, OP_RELU | OP_AS_COEF, KERNEL_HALVES};
const struct kernel cuda_batch_norm_grad = {
    &batch_norm_grad_kind, cuda_supports_one_type, batch_norm_prepare, run_batch_norm_grad, NULL,
    OP_RELU | OP_TAKES_SUMS, 0, KERNEL_ANY};
const struct kernel cuda_batch_norm_grad_coef = {
    &batch_norm_grad_kind, supports_grad_coef, batch_norm_prepare, run_batch_norm_grad, NULL,
    OP_TAKES_SUMS, OP_RELU | OP_AS_COEF, KERNEL_HALVES};
const struct kernel cuda_batch_norm_infer = {
    &batch_norm_infer_kind, cuda_supports_one_type, batch_norm_prepare, run_batch_norm_infer, NULL,
    OP_RELU, 0, KERNEL_ANY};
const struct kernel cuda_fold_norm = {
    &fold_norm_kind, cuda_supports, prepare_fold_norm, run_fold_norm, NULL,
    OP_NO_BIAS, 0, KERNEL_FLOATS};

C_END
