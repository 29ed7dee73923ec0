/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm, with the formulas of backends/ref/batch_norm.c. Three launches: partial sums over
 * pixels, what follows from them for each channel, and dst = a u + b v + c (u is x without v, or in
 * the gradient u is dy and v is x). Where replicas add their sums up, the second is two. With a
 * ReLU behind the norm dst is at least 0, and in the gradient u counts only where the ReLU let v
 * pass. Here too: the norm of inference, and folding it into a convolution. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/cuda_queue.h"
#include "trainer/backends/cuda/norm/norm_rows.h"

#define SUM_PARTS 1024
#define PART_PIXELS 256 /* of a part at most, unless there are SUM_PARTS parts */

/* What a finish_ kernel makes. */
enum {
    FINISH_SUMS = 1,   /* sums of this replica, for those of all replicas */
    FINISH_PARAMS = 2, /* the gradients of gamma and beta, of this replica, and the mask */
    FINISH_COEF = 4    /* coefficients; forward also statistics */
};

/* The sums over pixels are those of partials, or where these are NULL, `sums`. Other members are
 * NULL where a kernel does not use them. */
struct finish_args {
    const double *partials;      /* [nparts][2][channels] */
    double *sums; /* [2 channels + 1]: the last one is the number of pixels */
    const float *gamma, *beta, *saved;
    float *saved_out, *running_mean, *running_var, *dgamma, *dbeta;
    float *a, *b, *c, *mask; /* coefficients per channel; mask: as in norm_apply_args */
    double eps, momentum;
    unsigned channels, nparts, npixels, what;
};

struct channel_sums {
    double first, second, count;
};

/* Returns the sums of the block's channel, and writes them for FINISH_SUMS. */
DEVICE struct channel_sums finish_read(const struct finish_args *k, double *scratch)
{
    unsigned c = blockIdx.x, n = k->channels;
    struct channel_sums s = {0, 0, (double)k->npixels};

    if (k->partials) {
        for (unsigned i = threadIdx.x; i < k->nparts; i += GPU_BLOCK) {
            s.first += k->partials[2 * i * n + c];
            s.second += k->partials[(2 * i + 1) * n + c];
        }
        s.first = gpu_block_sum(s.first, scratch);
        s.second = gpu_block_sum(s.second, scratch);
    } else {
        s.first = k->sums[c];
        s.second = k->sums[n + c];
        s.count = k->sums[2 * n];
    }
    if ((k->what & FINISH_SUMS) && threadIdx.x == 0) {
        k->sums[c] = s.first;
        k->sums[n + c] = s.second;
        if (c == 0)
            k->sums[2 * n] = s.count;
    }
    return s;
}

/* A block has a channel. Mean and scale from the sums; updates the running statistics. */
KERNEL_BLOCK(finish_forward, finish_args)
{
    SHARED double scratch[GPU_BLOCK];
    struct channel_sums s = finish_read(&k, scratch);
    unsigned c = blockIdx.x;

    if ((k.what & FINISH_COEF) && threadIdx.x == 0) {
        double count = s.count, mean = s.first / count;
        double var = fmax(s.second / count - mean * mean, 0.);
        double unbiased = count > 1 ? count / (count - 1) : 1;
        float scale = (float)(1 / sqrt(var + k.eps));

        k.saved_out[c] = (float)mean;
        k.saved_out[k.channels + c] = scale;
        double momentum =
            k.running_mean[c] == 0 && k.running_var[c] == 1 ? 1 : k.momentum; /* op_is_fresh */
        k.running_mean[c] = (float)((1 - momentum) * (double)k.running_mean[c] + momentum * mean);
        k.running_var[c] =
            (float)((1 - momentum) * (double)k.running_var[c] + momentum * var * unbiased);
        struct norm_line l = norm_line(k.gamma[c], k.beta[c], (float)mean, scale);
        k.a[c] = l.scale;
        k.c[c] = l.shift;
    }
}

KERNEL(finish_infer, finish_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        k.a[c] = (float)((double)k.gamma[c] / sqrt((double)k.running_var[c] + k.eps));
        k.c[c] = k.beta[c] - k.running_mean[c] * k.a[c];
    }
}

KERNEL_BLOCK(finish_backward, finish_args)
{
    SHARED double scratch[GPU_BLOCK];
    unsigned c = blockIdx.x;
    float mean = k.saved[c], scale = k.saved[k.channels + c];

    struct channel_sums s = finish_read(&k, scratch);
    if ((k.what & FINISH_PARAMS) && threadIdx.x == 0) {
        k.dbeta[c] = (float)s.first;
        k.dgamma[c] = (float)((s.second - (double)mean * s.first) * (double)scale);
        if (k.mask) {
            struct norm_line l = norm_line(k.gamma[c], k.beta[c], mean, scale);

            k.mask[c] = l.scale;
            k.mask[k.channels + c] = l.shift;
        }
    }
    if ((k.what & FINISH_COEF) && threadIdx.x == 0) {
        double m = (double)mean, factor = (double)scale, a = (double)k.gamma[c] * factor;
        double b = -a * factor * factor * (s.second - m * s.first) / s.count;

        k.a[c] = (float)a;
        k.b[c] = (float)b;
        k.c[c] = (float)(-a * s.first / s.count - b * m);
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
    k.npixels = (unsigned)tensor_pixels(op->in[0]);
    k.sums = sums_of(op);
    k.a = (float *)(k.sums + 2 * k.channels + 1);
    k.c = k.a + k.channels;
    k.b = k.c + k.channels;
    k.mask = k.b + k.channels;
    k.eps = op->attr.eps;
    k.momentum = op->attr.momentum;
    return k;
}

/* Queues partial sums, and makes them those of k. */
static void sum(const struct op *op, struct finish_args *k, const struct tensor *u,
                const struct tensor *v, cudaStream_t stream)
{
    const float *gamma = k->mask ? k->gamma : NULL;
    struct norm_sum_args args = {u->data, v->data, gamma, k->beta, k->saved, norm_partials(op),
                                 k->npixels, k->channels, count_parts(op)};

    norm_sum(u->dtype, &args, stream);
    k->partials = args.partials;
    k->nparts = args.nparts;
}

static void apply_to(const struct op *op, const struct finish_args *f, const struct tensor *u,
                     const struct tensor *v, const float *mask, cudaStream_t stream)
{
    const struct tensor *dst = op->out[0];
    struct norm_apply_args k = {u->data, v ? v->data : NULL, f->a, f->b, f->c, mask, dst->data,
                                f->channels, (unsigned)tensor_count(dst), op->attr.relu && !v};

    norm_apply(u->dtype, &k, stream);
}

/* Replaces the sums of k by those over the replicas. */
static int sum_over_replicas(struct finish_args *k, struct exec *x, struct err *e)
{
    k->partials = NULL;
    k->what = FINISH_COEF;
    return cuda_queue_sum(x, k->sums, 2 * k->channels + 1, e);
}

static int find_statistics(const struct op *op, struct exec *x, struct err *e)
{
    cudaStream_t stream = x->device->stream;
    struct finish_args k = finish_of(op);
    bool meets = op->attr.sync && x->sum;

    k.mask = NULL;
    sum(op, &k, op->in[0], op->in[0], stream);
    k.gamma = op->in[1]->data;
    k.beta = op->in[2]->data;
    k.running_mean = op->in[3]->data;
    k.running_var = op->in[4]->data;
    k.saved_out = op->out[1]->data;
    k.what = meets ? FINISH_SUMS : FINISH_COEF;
    LAUNCH(finish_forward, k.channels, stream, k);
    if (meets && sum_over_replicas(&k, x, e))
        return -1;
    if (meets)
        LAUNCH(finish_forward, k.channels, stream, k);
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

static int run_batch_norm_infer(struct op *op, struct exec *x, struct err *e)
{
    struct finish_args k = finish_of(op);

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

    LAUNCH(fold_norm, gpu_blocks(n), x->device->stream, k);
    return 0;
}

static int prepare_fold_norm(struct op *op, struct err *e)
{
    op->begin = begin_fold_norm;
    return 0;
}

static int run_fold_norm(struct op *op, struct exec *x, struct err *e)
{
    return 0;
}

static int run_batch_norm_grad(struct op *op, struct exec *x, struct err *e)
{
    cudaStream_t stream = x->device->stream;
    struct finish_args k = finish_of(op);
    bool meets = op->attr.sync && x->sum;

    k.mask = op->attr.relu ? k.mask : NULL;
    k.gamma = op->in[2]->data;
    k.saved = op->in[3]->data;
    k.beta = k.mask ? op->in[4]->data : NULL;
    k.dgamma = op->out[1]->data;
    k.dbeta = op->out[2]->data;
    sum(op, &k, op->in[0], op->in[1], stream);
    k.what = FINISH_PARAMS | (meets ? FINISH_SUMS : FINISH_COEF);
    LAUNCH(finish_backward, k.channels, stream, k);
    if (meets && sum_over_replicas(&k, x, e))
        return -1;
    if (meets)
        LAUNCH(finish_backward, k.channels, stream, k);
    apply_to(op, &k, op->in[0], op->in[1], k.mask, stream);
    return 0;
}

const struct kernel cuda_batch_norm = {
    &batch_norm_kind, cuda_supports_one_type, batch_norm_prepare, run_batch_norm, NULL,
    OP_RELU, 0, KERNEL_ANY};
const struct kernel cuda_batch_norm_grad = {
    &batch_norm_grad_kind, cuda_supports_one_type, batch_norm_prepare, run_batch_norm_grad, NULL,
    OP_RELU, 0, KERNEL_ANY};
const struct kernel cuda_batch_norm_infer = {
    &batch_norm_infer_kind, cuda_supports_one_type, batch_norm_prepare, run_batch_norm_infer, NULL,
    OP_RELU, 0, KERNEL_ANY};
const struct kernel cuda_fold_norm = {
    &fold_norm_kind, cuda_supports, prepare_fold_norm, run_fold_norm, NULL,
    OP_NO_BIAS, 0, KERNEL_FLOATS};

C_END
