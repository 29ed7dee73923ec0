/* SPDX-License-Identifier: BSD-3-Clause */
/* Batch norm, with the formulas of backends/ref/norm.c. Two launches: sums per channel over
 * the pixels, of which the last block makes what follows for each channel, and dst = a u + b v + c
 * (u is x without v, or in the gradient u is dy and v is x). Where replicas add their sums up there
 * is a third between them. With a ReLU behind the norm dst is at least 0, and in the gradient u
 * counts only where the ReLU let v pass. Here too: the norm of inference, and folding it into a
 * convolution. Group norm takes the same two launches for each image, and between
 * them one that makes its groups' coefficients of all sums. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define SUM_PARTS 1024
#define PART_PIXELS 256 /* of a part at most, unless there are SUM_PARTS parts */

/* A norm's result is scale x + shift. Forward and backward passes compute both here, so that they
 * agree on the sign of each result. */
struct norm_line {
    float scale, shift;
};

DEVICE struct norm_line norm_line(float gamma, float beta, float mean, float deviation)
{
    struct norm_line l = {gamma * deviation, 0};

    l.shift = fmaf(-mean, l.scale, beta);
    return l;
}

/* What is made of the sums. */
enum {
    FINISH_SUMS = 1,   /* sums of this replica, for those of all replicas */
    FINISH_PARAMS = 2, /* the gradients of gamma and beta, of this replica, and the mask */
    FINISH_COEF = 4    /* coefficients; forward also statistics */
};

/* u, v: [npixels][channels]; forward both are x. In the gradient, with beta, a number of u counts
 * only where the ReLU behind the norm lets v pass. Members are NULL where a kernel does not use
 * them. */
struct norm_args {
    const void *u, *v;
    double *partials; /* [nparts][2][channels]: sums of u and of u v over a part of the pixels */
    double *sums;     /* [2 channels + 1]: the last one is the number of pixels */
    unsigned *counter;
    const float *gamma, *beta, *saved;
    float *saved_out, *running_mean, *running_var, *dgamma, *dbeta;
    float *a, *b, *c; /* coefficients per channel */
    float *mask;      /* [2][channels]: u counts only if mask[0] v + mask[1] > 0; or NULL */
    void *dst;
    double eps, momentum;
    unsigned channels, nparts, npixels, what;
    bool backward, relu; /* relu: negative results become 0 */
};

/* Mean and scale of channel c from the sums; updates the running statistics. */
DEVICE void finish_forward(const struct norm_args *k, unsigned c, double first, double second,
                           double count)
{
    double mean = first / count, var = fmax(second / count - mean * mean, 0.);
    double unbiased = count > 1 ? count / (count - 1) : 1;
    float scale = (float)(1 / sqrt(var + k->eps));
    double momentum =
        k->running_mean[c] == 0 && k->running_var[c] == 1 ? 1 : k->momentum; /* op_is_fresh */

    k->saved_out[c] = (float)mean;
    k->saved_out[k->channels + c] = scale;
    k->running_mean[c] = (float)((1 - momentum) * (double)k->running_mean[c] + momentum * mean);
    k->running_var[c] =
        (float)((1 - momentum) * (double)k->running_var[c] + momentum * var * unbiased);
    struct norm_line l = norm_line(k->gamma[c], k->beta[c], (float)mean, scale);
    k->a[c] = l.scale;
    k->c[c] = l.shift;
}

DEVICE void finish_params(const struct norm_args *k, unsigned c, double first, double second)
{
    float mean = k->saved[c], scale = k->saved[k->channels + c];

    k->dbeta[c] = (float)first;
    k->dgamma[c] = (float)((second - (double)mean * first) * (double)scale);
    if (k->mask) {
        struct norm_line l = norm_line(k->gamma[c], k->beta[c], mean, scale);

        k->mask[c] = l.scale;
        k->mask[k->channels + c] = l.shift;
    }
}

DEVICE void finish_backward(const struct norm_args *k, unsigned c, double first, double second,
                            double count)
{
    double m = (double)k->saved[c], factor = (double)k->saved[k->channels + c];
    double a = (double)k->gamma[c] * factor;
    double b = -a * factor * factor * (second - m * first) / count;

    k->a[c] = (float)a;
    k->b[c] = (float)b;
    k->c[c] = (float)(-a * first / count - b * m);
}

DEVICE void finish(const struct norm_args *k, unsigned c, double first, double second, double count)
{
    if (k->what & FINISH_SUMS) {
        k->sums[c] = first;
        k->sums[k->channels + c] = second;
        if (c == 0)
            k->sums[2 * k->channels] = count;
    }
    if (k->what & FINISH_PARAMS)
        finish_params(k, c, first, second);
    if ((k->what & FINISH_COEF) && k->backward)
        finish_backward(k, c, first, second, count);
    else if (k->what & FINISH_COEF)
        finish_forward(k, c, first, second, count);
}

/* From the sums of all replicas. */
KERNEL(finish_sums, norm_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride())
        finish(&k, c, k.sums[c], k.sums[k.channels + c], k.sums[2 * k.channels]);
}

/* A thread's sums over its pixels, of `each` channels. v is summed as v - pivot, so that floats do:
 * a pivot is a number of the same channel. */
struct pixel_sums {
    float first[GPU_MOST_CHUNK], second[GPU_MOST_CHUNK], pivot[GPU_MOST_CHUNK];
    struct norm_line mask[GPU_MOST_CHUNK];
    unsigned n;
};

DEVICE void add_pixel(const struct norm_args *k, struct pixel_sums *s, unsigned i, unsigned type,
                      unsigned each)
{
    float u[GPU_MOST_CHUNK], v[GPU_MOST_CHUNK];

    gpu_load_some(k->v, i, type, each, v);
    if (k->backward)
        gpu_load_some(k->u, i, type, each, u);
    for (unsigned j = 0; j < each; j++) {
        float d = v[j] - s->pivot[j];
        float w = !k->backward ? d
                  : !k->beta || fmaf(s->mask[j].scale, v[j], s->mask[j].shift) > 0 ? u[j] : 0;

        s->first[j] += w;
        s->second[j] += w * d;
    }
    s->n++;
}

/* Sums channels [c, c + each) over the pixels of a thread. */
DEVICE void sum_column(const struct norm_args *k, struct pixel_sums *s, unsigned c,
                       const struct gpu_share *share, unsigned type, unsigned each)
{
    if (share->begin < share->end)
        gpu_load_some(k->v, share->begin * k->channels + c, type, each, s->pivot);
    for (unsigned j = 0; k->beta && k->backward && j < each; j++)
        s->mask[j] = norm_line(k->gamma[c + j], k->beta[c + j], k->saved[c + j],
                               k->saved[k->channels + c + j]);
    for (unsigned i = share->begin; i < share->end; i += share->step)
        add_pixel(k, s, i * k->channels + c, type, each);
}

/* A block sums up one part of the pixels, of which each thread has `each` channels (gpu_share). */
DEVICE void sum_part(const struct norm_args *k, double *sums, double *products, unsigned type,
                     unsigned each)
{
    unsigned ncolumns = k->channels / each, t = threadIdx.x;

    for (unsigned first = 0; first < ncolumns; first += GPU_BLOCK) {
        struct gpu_share share = gpu_share(k->npixels, k->nparts, blockIdx.x, ncolumns, first);
        struct pixel_sums s = {{0}, {0}, {0}, {{0, 0}}, 0};
        unsigned c = share.column * each;

        sum_column(k, &s, c, &share, type, each);
        for (unsigned j = 0; j < each; j++) {
            double pivot = (double)s.pivot[j], a = (double)s.first[j], b = (double)s.second[j];

            sums[j * GPU_BLOCK + t] = k->backward ? a : a + s.n * pivot;
            products[j * GPU_BLOCK + t] =
                b + pivot * a + (k->backward ? 0 : pivot * a + s.n * pivot * pivot);
        }
        gpu_add_rows(sums, each, share.width);
        gpu_add_rows(products, each, share.width);
        for (unsigned j = 0; share.row == 0 && j < each; j++) {
            k->partials[2 * blockIdx.x * k->channels + c + j] = sums[j * GPU_BLOCK + t];
            k->partials[(2 * blockIdx.x + 1) * k->channels + c + j] = products[j * GPU_BLOCK + t];
        }
    }
}

DEVICE void finish_parts(const struct norm_args *k, double *scratch)
{
    unsigned n = k->channels;

    for (unsigned first = 0; first < n; first += GPU_BLOCK) {
        unsigned width = n - first < GPU_BLOCK ? n - first : GPU_BLOCK;
        double a = gpu_add_parts(k->partials + first, 2 * n, k->nparts, width, scratch);
        double b = gpu_add_parts(k->partials + n + first, 2 * n, k->nparts, width, scratch);

        if (threadIdx.x < width)
            finish(k, first + threadIdx.x, a, b, (double)k->npixels);
    }
}

DEVICE void norm_sums_as(const struct norm_args *k, unsigned type)
{
    SHARED(double, sums, GPU_MOST_CHUNK * GPU_BLOCK);
    SHARED(double, products, GPU_MOST_CHUNK * GPU_BLOCK);
    SHARED(unsigned, last, 1);

    CHUNKED(k->channels, type, sum_part, k, sums, products);
    if (gpu_is_last(k->counter, last))
        finish_parts(k, sums);
}

DEVICE void norm_apply_some(const struct norm_args *k, unsigned i, unsigned type, unsigned each)
{
    unsigned c = i % k->channels;
    float u[GPU_MOST_CHUNK], v[GPU_MOST_CHUNK] = {0};

    gpu_load_some(k->u, i, type, each, u);
    if (k->backward)
        gpu_load_some(k->v, i, type, each, v);
    for (unsigned j = 0; j < each; j++, c++) {
        bool counts = !k->mask || fmaf(k->mask[c], v[j], k->mask[k->channels + c]) > 0;

        u[j] = k->a[c] * (counts ? u[j] : 0) + (k->backward ? k->b[c] * v[j] : 0) + k->c[c];
        u[j] = k->relu && !(u[j] > 0) ? 0 : u[j];
    }
    gpu_store_some(k->dst, i, type, each, u);
}

TYPED_KERNEL_BLOCK(norm_sums, norm_args)
CHUNKED_KERNEL(norm_apply, norm_args, k->npixels * k->channels, k->channels)

KERNEL(finish_infer, norm_args)
{
    for (unsigned c = gpu_index(); c < k.channels; c += gpu_stride()) {
        k.a[c] = (float)((double)k.gamma[c] / sqrt((double)k.running_var[c] + k.eps));
        k.c[c] = k.beta[c] - k.running_mean[c] * k.a[c];
    }
}

/* Per image and channel: sums [2][channels] and a number, coefficients [3][channels] a, b and c. */
struct group_args {
    const double *sums;
    float *coef;
    const float *gamma, *beta, *saved; /* saved: of the gradient; beta: NULL there */
    float *saved_out, *dgamma, *dbeta;
    double eps;
    /* width: channels of a group; npixels: of an image; ngroups: of all images */
    unsigned channels, width, npixels, images, ngroups;
};

/* A thread has a group. */
KERNEL(group_norm, group_args)
{
    for (unsigned i = gpu_index(); i < k.ngroups; i += gpu_stride()) {
        unsigned begin = i * k.width % k.channels, image = i * k.width / k.channels;
        const double *sums = k.sums + (size_t)image * (2 * k.channels + 1);
        float *a = k.coef + (size_t)image * 3 * k.channels, *b = a + k.channels;
        float *c = b + k.channels;
        double count = (double)k.width * k.npixels, first = 0, second = 0;
        double m = k.saved ? (double)k.saved[i] : 0;
        double s = k.saved ? (double)k.saved[k.ngroups + i] : 0;

        for (unsigned j = begin; j < begin + k.width; j++) {
            double one = sums[j], two = sums[k.channels + j];

            first += k.saved ? (double)k.gamma[j] * one : one;
            second += k.saved ? (double)k.gamma[j] * s * (two - m * one) : two;
        }
        first /= count;
        second /= count;
        if (!k.saved) {
            double variance = fmax(second - first * first, 0.);
            k.saved_out[i] = (float)first;
            k.saved_out[k.ngroups + i] = (float)(1 / sqrt(variance + k.eps));
        }
        for (unsigned j = begin; j < begin + k.width; j++)
            if (k.saved) {
                a[j] = (float)((double)k.gamma[j] * s);
                b[j] = (float)(-s * s * second);
                c[j] = (float)(-s * first + s * s * second * m);
            } else {
                struct norm_line l = norm_line(k.gamma[j], k.beta[j], k.saved_out[i],
                                               k.saved_out[k.ngroups + i]);

                a[j] = l.scale;
                c[j] = l.shift;
            }
    }
}

/* A thread has a channel. */
KERNEL(group_norm_params, group_args)
{
    for (unsigned j = gpu_index(); j < k.channels; j += gpu_stride()) {
        double dgamma = 0, dbeta = 0;

        for (unsigned i = 0; i < k.images; i++) {
            const double *sums = k.sums + (size_t)i * (2 * k.channels + 1);
            unsigned group = (i * k.channels + j) / k.width;

            dbeta += sums[j];
            dgamma += (double)k.saved[k.ngroups + group] *
                      (sums[k.channels + j] - (double)k.saved[group] * sums[j]);
        }
        k.dgamma[j] = (float)dgamma;
        k.dbeta[j] = (float)dbeta;
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

static struct norm_args norm_of(const struct op *op, const struct exec *x)
{
    struct norm_args k = {0};

    k.u = k.v = op->in[0]->data;
    k.dst = op->out[0]->data;
    k.counter = x->device->counter;
    k.channels = (unsigned)tensor_channels(op->in[0]);
    k.npixels = (unsigned)tensor_pixels(op->in[0]);
    k.nparts = count_parts(op);
    k.sums = (double *)op->workspace;
    k.a = (float *)(k.sums + 2 * k.channels + 1);
    k.c = k.a + k.channels;
    k.b = k.c + k.channels;
    k.mask = k.b + k.channels;
    k.partials = k.sums + 2 * k.channels + 1 + 3 * k.channels;
    k.eps = op->attr.eps;
    k.momentum = op->attr.momentum;
    return k;
}

static void queue_apply(enum dtype t, const struct norm_args *k, cudaStream_t stream)
{
    LAUNCH_CHUNKED(t, norm_apply, (size_t)k->npixels * k->channels, k->channels, stream, *k);
}

/* what: besides coefficients and sums. */
static int queue_norm(const struct op *op, struct norm_args *k, unsigned what, struct exec *x,
                      struct err *e)
{
    cudaStream_t stream = x->device->stream;
    bool meets = op->attr.sync && x->sum;
    enum dtype t = op->in[0]->dtype;

    k->what = what | (meets ? FINISH_SUMS : FINISH_COEF);
    LAUNCH_AS(t, norm_sums, k->nparts, stream, *k);
    if (meets) {
        if (cuda_queue_sum(x, k->sums, 2 * k->channels + 1, e))
            return -1;
        k->what = FINISH_COEF;
        LAUNCH(finish_sums, gpu_blocks(k->channels), stream, *k);
    }
    queue_apply(t, k, stream);
    return 0;
}

static int run_batch_norm(struct op *op, struct exec *x, struct err *e)
{
    struct norm_args k = norm_of(op, x);

    k.mask = NULL;
    k.relu = op->kind == &batch_norm_relu_kind;
    k.gamma = op->in[1]->data;
    k.beta = op->in[2]->data;
    k.running_mean = op->in[3]->data;
    k.running_var = op->in[4]->data;
    k.saved_out = op->out[1]->data;
    return queue_norm(op, &k, 0, x, e);
}

static int run_batch_norm_grad(struct op *op, struct exec *x, struct err *e)
{
    struct norm_args k = norm_of(op, x);

    k.backward = true;
    k.v = op->in[1]->data;
    k.mask = op->kind == &batch_norm_relu_grad_kind ? k.mask : NULL;
    k.gamma = op->in[2]->data;
    k.saved = op->in[3]->data;
    k.beta = k.mask ? op->in[4]->data : NULL;
    k.dgamma = op->out[1]->data;
    k.dbeta = op->out[2]->data;
    return queue_norm(op, &k, FINISH_PARAMS, x, e);
}

static int run_batch_norm_infer(struct op *op, struct exec *x, struct err *e)
{
    struct norm_args k = norm_of(op, x);
    enum dtype t = op->in[0]->dtype;

    k.mask = NULL;
    k.gamma = op->in[1]->data;
    k.beta = op->in[2]->data;
    k.running_mean = op->in[3]->data;
    k.running_var = op->in[4]->data;
    LAUNCH(finish_infer, gpu_blocks(k.channels), x->device->stream, k);
    queue_apply(t, &k, x->device->stream);
    return 0;
}

static size_t group_sums_count(const struct op *op)
{
    return (size_t)op->in[0]->shape.dim[DIM_N] * (2 * tensor_channels(op->in[0]) + 1);
}

/* The workspace holds the sums of each image, partial sums, then coefficients of each image. */
static int group_norm_prepare(struct op *op, struct err *e)
{
    size_t n = tensor_channels(op->in[0]), images = (size_t)op->in[0]->shape.dim[DIM_N];

    op->workspace_size = (group_sums_count(op) + 2 * n * count_parts(op)) * sizeof(double) +
                         3 * n * images * sizeof(float);
    return 0;
}

/* u, v: as in struct norm_args, of all images; k->saved only in the gradient. */
static void queue_group_norm(const struct op *op, const struct tensor *u, const struct tensor *v,
                             struct group_args *k, struct exec *x)
{
    cudaStream_t stream = x->device->stream;
    enum dtype t = u->dtype;
    unsigned n = (unsigned)tensor_channels(u), images = (unsigned)u->shape.dim[DIM_N];
    unsigned npixels = (unsigned)tensor_pixels(u) / images;
    size_t image = npixels * n * dtype_size(t);
    double *sums = (double *)op->workspace, *partials = sums + group_sums_count(op);
    float *coef = (float *)(partials + 2 * n * count_parts(op));
    struct norm_args one = {0};

    one.backward = k->saved != NULL;
    one.counter = x->device->counter;
    one.partials = partials;
    one.channels = n;
    one.npixels = npixels;
    one.nparts = (npixels + PART_PIXELS - 1) / PART_PIXELS;
    one.nparts = one.nparts < SUM_PARTS ? one.nparts : SUM_PARTS;
    one.what = FINISH_SUMS;
    for (unsigned i = 0; i < images; i++) {
        one.u = (const char *)u->data + i * image;
        one.v = (const char *)v->data + i * image;
        one.sums = sums + (size_t)i * (2 * n + 1);
        LAUNCH_AS(t, norm_sums, one.nparts, stream, one);
    }
    k->sums = sums;
    k->coef = coef;
    k->channels = n;
    k->npixels = npixels;
    k->images = images;
    k->eps = op->attr.eps;
    k->width = op->attr.groups ? n / (unsigned)op->attr.groups : 1;
    k->ngroups = images * n / k->width;
    LAUNCH(group_norm, gpu_blocks(k->ngroups), stream, *k);
    if (k->dgamma)
        LAUNCH(group_norm_params, gpu_blocks(n), stream, *k);
    for (unsigned i = 0; i < images; i++) {
        one.u = (const char *)u->data + i * image;
        one.v = (const char *)v->data + i * image;
        one.dst = (char *)op->out[0]->data + i * image;
        one.a = coef + (size_t)i * 3 * n;
        one.b = one.a + n;
        one.c = one.b + n;
        queue_apply(t, &one, stream);
    }
}

static int run_group_norm(struct op *op, struct exec *x, struct err *e)
{
    struct group_args k = {0};

    k.gamma = op->in[1]->data;
    k.beta = op->in[2]->data;
    k.saved_out = op->out[1]->data;
    queue_group_norm(op, op->in[0], op->in[0], &k, x);
    return 0;
}

static int run_group_norm_grad(struct op *op, struct exec *x, struct err *e)
{
    struct group_args k = {0};

    k.gamma = op->in[2]->data;
    k.saved = op->in[3]->data;
    k.dgamma = op->out[1]->data;
    k.dbeta = op->out[2]->data;
    queue_group_norm(op, op->in[0], op->in[1], &k, x);
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

CUDA_KERNEL(batch_norm, cuda_supports_one_type, batch_norm_prepare, run_batch_norm, KERNEL_ANY);
CUDA_KERNEL(batch_norm_grad, cuda_supports_one_type, batch_norm_prepare,
            run_batch_norm_grad, KERNEL_ANY);
CUDA_KERNEL(batch_norm_relu, cuda_supports_one_type, batch_norm_prepare,
            run_batch_norm, KERNEL_ANY);
CUDA_KERNEL(batch_norm_relu_grad, cuda_supports_one_type, batch_norm_prepare,
            run_batch_norm_grad, KERNEL_ANY);
CUDA_KERNEL(batch_norm_infer, cuda_supports_one_type, batch_norm_prepare,
            run_batch_norm_infer, KERNEL_ANY);
CUDA_KERNEL(group_norm, cuda_supports_one_type, group_norm_prepare, run_group_norm, KERNEL_ANY);
CUDA_KERNEL(group_norm_grad, cuda_supports_one_type, group_norm_prepare,
            run_group_norm_grad, KERNEL_ANY);
CUDA_KERNEL(fold_norm, cuda_supports, prepare_fold_norm, run_fold_norm, KERNEL_FLOATS);

C_END
