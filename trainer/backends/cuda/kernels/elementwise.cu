/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for single numbers and for biases: 16 bytes per thread, or a number where they do not
 * divide. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* add, relu, concat, the gradients of the last two, and cast. */

/* relu: a and b are x. Its gradient: a is dy and b is y. n: elements. */
struct elementwise_args {
    const void *a, *b;
    void *dst;
    unsigned n;
    bool adds; /* a + b; otherwise a where b > 0, and slope a elsewhere */
    float slope;
};

DEVICE void combine_some(const struct elementwise_args *k, unsigned i, unsigned type, unsigned each)
{
    float a[GPU_MOST_CHUNK], b[GPU_MOST_CHUNK];

    gpu_load_some(k->a, i, type, each, a);
    gpu_load_some(k->b, i, type, each, b);
    for (unsigned j = 0; j < each; j++)
        a[j] = k->adds ? a[j] + b[j] : b[j] > 0 ? a[j] : k->slope > 0 ? k->slope * a[j] : 0;
    gpu_store_some(k->dst, i, type, each, a);
}

CHUNKED_KERNEL(combine, elementwise_args, k->n, k->n)

struct cast_args {
    const void *src;
    void *dst;
    unsigned n; /* elements */
    bool widens; /* to floats; otherwise from them */
};

/* type: that of 16 bits. */
DEVICE void cast_some(const struct cast_args *k, unsigned i, unsigned type, unsigned each)
{
    float v[GPU_MOST_CHUNK];

    if (k->widens) {
        gpu_load_some(k->src, i, type, each, v);
        gpu_store_some(k->dst, i, DTYPE_F32, each, v);
    } else {
        gpu_load_some(k->src, i, DTYPE_F32, each, v);
        gpu_store_some(k->dst, i, type, each, v);
    }
}

CHUNKED_KERNEL(cast, cast_args, k->n, k->n)

/* Tensors of na and nb channels and their concatenation; n: its elements. */
struct concat_args {
    void *a, *b, *whole;
    unsigned na, nb, n;
    bool divides; /* the gradient: the concatenation is the source */
};

DEVICE void concat_some(const struct concat_args *k, unsigned i, unsigned type, unsigned each)
{
    unsigned pixel = i / (k->na + k->nb), c = i % (k->na + k->nb);
    void *part = c < k->na ? k->a : k->b;
    unsigned at = c < k->na ? pixel * k->na + c : pixel * k->nb + (c - k->na);
    float v[GPU_MOST_CHUNK];

    gpu_load_some(k->divides ? k->whole : part, k->divides ? i : at, type, each, v);
    gpu_store_some(k->divides ? part : k->whole, k->divides ? at : i, type, each, v);
}

CHUNKED_KERNEL(concat, concat_args, k->n, k->na | k->nb)

/* n: numbers of all records, `count` of one; images: numbers of an image in front of the target. */
struct unpack_args {
    float *dst;
    const char *records;
    size_t pitch, images;
    unsigned n, count;
    bool is_target;
};

DEVICE void unpack_some(const struct unpack_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        const struct record *r =
            (const struct record *)(k->records + i * each / k->count * k->pitch);
        unsigned kind = k->is_target ? r->target_kind : r->image_kind, at = i * each % k->count;
        float divisor = kind == RECORD_LABELS ? 1 : k->is_target ? r->target_divisor
                                                                 : RECORD_DIVISOR;
        const char *src = (const char *)r + sizeof *r +
                          (k->is_target ? RECORD_PLANE(r->image_kind, k->images) : 0);
        const unsigned char *bytes = (const unsigned char *)src + at;
        float v[GPU_MOST_CHUNK];

        if (kind == RECORD_NUMBERS)
            gpu_load_some(src, at, type, each, v);
        for (unsigned j = 0; kind != RECORD_NUMBERS && j < each; j++)
            v[j] = kind == RECORD_LABELS && bytes[j] == RECORD_IGNORE ? -1
                                                                      : (float)bytes[j] / divisor;
        gpu_store_some(k->dst, i * each, type, each, v);
    }
}

KERNEL(unpack, unpack_args)
{
    CHUNKED(k.count, DTYPE_F32, unpack_some, &k);
}

C_BEGIN

void cuda_unpack(struct device *d, const struct device_batch *b)
{
    struct unpack_args k = {b->image, (const char *)b->local, b->records.nbytes, b->images,
                            (unsigned)(b->records.count * b->images), (unsigned)b->images, false};

    LAUNCH(unpack, gpu_blocks(k.n / GPU_EACH(k.count, DTYPE_F32)), d->stream, k);
    if (!b->targets)
        return;
    k.dst = b->target;
    k.n = (unsigned)(b->records.count * b->targets);
    k.count = (unsigned)b->targets;
    k.is_target = true;
    LAUNCH(unpack, gpu_blocks(k.n / GPU_EACH(k.count, DTYPE_F32)), d->stream, k);
}

static int run_combine(struct op *op, struct exec *x, struct err *e)
{
    enum dtype t = op->out[0]->dtype;
    struct elementwise_args k = {op->in[0]->data, op->in[op->kind->nin - 1]->data,
                                 op->out[0]->data, (unsigned)tensor_count(op->out[0]),
                                 op->kind == &add_kind, (float)op->attr.slope};

    LAUNCH_CHUNKED(t, combine, k.n, k.n, x->device->stream, k);
    return 0;
}

static int run_concat(struct op *op, struct exec *x, struct err *e)
{
    bool divides = op->kind == &concat_grad_kind;
    struct tensor *const *parts = divides ? op->out : op->in;
    const struct tensor *whole = divides ? op->in[0] : op->out[0];
    struct concat_args k = {parts[0]->data, parts[1]->data, whole->data,
                            (unsigned)tensor_channels(parts[0]),
                            (unsigned)tensor_channels(parts[1]), (unsigned)tensor_count(whole),
                            divides};

    LAUNCH_CHUNKED(whole->dtype, concat, k.n, k.na | k.nb, x->device->stream, k);
    return 0;
}

static int run_cast(struct op *op, struct exec *x, struct err *e)
{
    enum dtype from = op->in[0]->dtype, to = op->out[0]->dtype, t = to == DTYPE_F32 ? from : to;
    struct cast_args k = {op->in[0]->data, op->out[0]->data, (unsigned)tensor_count(op->out[0]),
                          to == DTYPE_F32};

    LAUNCH_CHUNKED(t, cast, k.n, k.n, x->device->stream, k);
    return 0;
}

CUDA_KERNEL(add, cuda_supports_one_type, NULL, run_combine, KERNEL_ANY);
CUDA_KERNEL(cast, cuda_supports, NULL, run_cast, KERNEL_HALVES);
CUDA_KERNEL(relu, cuda_supports_one_type, NULL, run_combine, KERNEL_ANY);
CUDA_KERNEL(relu_grad, cuda_supports_one_type, NULL, run_combine, KERNEL_ANY);
CUDA_KERNEL(concat, cuda_supports_one_type, NULL, run_concat, KERNEL_ANY);
CUDA_KERNEL(concat_grad, cuda_supports_one_type, NULL, run_concat, KERNEL_ANY);

C_END

/* bias and its gradient, as ops and around the convolutions of cuDNN, and means over the pixels of
 * images: 16 bytes per thread, or a number where they do not divide the channels. */

struct bias_args {
    const void *src;
    const float *bias; /* may be NULL */
    void *dst; /* may be src */
    bool widens; /* src has 16 bits, dst are floats */
    unsigned channels, n;
    bool relu; /* negative results become 0 */
};

DEVICE void bias_some(const struct bias_args *k, unsigned i, unsigned type, unsigned each)
{
    float y[GPU_MOST_CHUNK];
    unsigned c = i % k->channels;

    gpu_load_some(k->src, i, type, each, y);
    for (unsigned j = 0; j < each; j++) {
        y[j] += k->bias ? k->bias[c + j] : 0;
        y[j] = k->relu ? fmaxf(y[j], 0.f) : y[j];
    }
    if (k->widens)
        gpu_store_some(k->dst, i, DTYPE_F32, each, y);
    else
        gpu_store_some(k->dst, i, type, each, y);
}

CHUNKED_KERNEL(bias, bias_args, k->n, k->channels)

struct sum_args {
    const void *src;
    double *partials; /* [nparts][channels]: sums over a part of the pixels; NULL: means are made */
    void *dst;        /* [channels] floats; of means [nparts][channels] of the type of src */
    unsigned *counter;
    unsigned channels, npixels, nparts;
};

/* Adds up `each` channels over the pixels of a thread. */
DEVICE void add_pixels(const struct sum_args *k, double *sum, const struct gpu_share *s,
                       unsigned type, unsigned each)
{
    for (unsigned i = s->begin; i < s->end;) {
        float some[GPU_MOST_CHUNK] = {0}, v[GPU_MOST_CHUNK];

        for (unsigned n = 0; n < GPU_FLOATS && i < s->end; n++, i += s->step) {
            gpu_load_some(k->src, i * k->channels + s->column * each, type, each, v);
            for (unsigned j = 0; j < each; j++)
                some[j] += v[j];
        }
        for (unsigned j = 0; j < each; j++)
            sum[j] += (double)some[j];
    }
}

/* A block sums up one part of the pixels, its threads in rows of a pixel's channels. */
DEVICE void sum_pixels_part(const struct sum_args *k, double *sums, unsigned type, unsigned each)
{
    unsigned ncolumns = k->channels / each, t = threadIdx.x;

    for (unsigned first = 0; first < ncolumns; first += GPU_BLOCK) {
        struct gpu_share s = gpu_share(k->npixels, k->nparts, blockIdx.x, ncolumns, first);
        double sum[GPU_MOST_CHUNK] = {0};

        add_pixels(k, sum, &s, type, each);
        for (unsigned j = 0; j < each; j++)
            sums[j * GPU_BLOCK + t] = sum[j];
        gpu_add_rows(sums, each, s.width);
        for (unsigned j = 0; s.row == 0 && j < each; j++) {
            size_t at = blockIdx.x * k->channels + s.column * each + j;
            double all = sums[j * GPU_BLOCK + t];

            if (k->partials)
                k->partials[at] = all;
            else
                gpu_store(k->dst, at, type, (float)(all / (k->npixels / k->nparts)));
        }
    }
}

/* The last block adds up the parts. */
DEVICE void sum_pixels_as(const struct sum_args *k, unsigned type)
{
    SHARED(double, sums, GPU_MOST_CHUNK * GPU_BLOCK);
    SHARED(unsigned, last, 1);
    unsigned n = k->channels;

    CHUNKED(k->channels, type, sum_pixels_part, k, sums);
    if (!k->partials || !gpu_is_last(k->counter, last))
        return;
    for (unsigned first = 0; first < n; first += GPU_BLOCK) {
        unsigned width = n - first < GPU_BLOCK ? n - first : GPU_BLOCK;
        double sum = gpu_add_parts(k->partials + first, n, k->nparts, width, sums);

        if (threadIdx.x < width)
            ((float *)k->dst)[first + threadIdx.x] = (float)sum;
    }
}

TYPED_KERNEL_BLOCK(sum_pixels, sum_args)

C_BEGIN

static void add_bias(struct device *d, const struct tensor *x, const struct tensor *bias,
                     const struct tensor *y, bool relu)
{
    struct bias_args k = {x->data, bias ? bias->data : NULL, y->data, x->dtype != y->dtype,
                          (unsigned)tensor_channels(y), (unsigned)tensor_count(y), relu};

    LAUNCH_CHUNKED(x->dtype, bias, k.n, k.channels, d->stream, k);
}

void cuda_add_bias(struct device *d, const struct tensor *y, const struct tensor *bias, bool relu)
{
    add_bias(d, y, bias, y, relu);
}

static unsigned bias_parts(const struct tensor *dy)
{
    size_t parts = tensor_pixels(dy) / 64;

    return parts < 1 ? 1 : parts < 1024 ? (unsigned)parts : 1024;
}

size_t cuda_sum_bias_size(const struct tensor *dy)
{
    return bias_parts(dy) * tensor_channels(dy) * sizeof(double);
}

void cuda_sum_bias(struct device *d, const struct tensor *dy, const struct tensor *db,
                   void *workspace)
{
    struct sum_args k = {dy->data, (double *)workspace, db->data, d->counter,
                         (unsigned)tensor_channels(dy), (unsigned)tensor_pixels(dy),
                         bias_parts(dy)};

    LAUNCH_AS(dy->dtype, sum_pixels, k.nparts, d->stream, k);
}

static bool supports_bias(const struct op *op)
{
    return cuda_supports(op) &&
           (op->out[0]->dtype == op->in[0]->dtype || op->out[0]->dtype == DTYPE_F32);
}

static int run_bias(struct op *op, struct exec *x, struct err *e)
{
    add_bias(x->device, op->in[0], op->in[1], op->out[0], false);
    return 0;
}

static int prepare_bias_grad(struct op *op, struct err *e)
{
    op->workspace_size = cuda_sum_bias_size(op->in[0]);
    return 0;
}

static int run_bias_grad(struct op *op, struct exec *x, struct err *e)
{
    cuda_sum_bias(x->device, op->in[0], op->out[0], op->workspace);
    return 0;
}

static int run_global_avg_pool(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    struct sum_args k = {src->data, NULL, op->out[0]->data, NULL, (unsigned)tensor_channels(src),
                         (unsigned)tensor_pixels(src), (unsigned)src->shape.dim[DIM_N]};

    LAUNCH_AS(src->dtype, sum_pixels, k.nparts, x->device->stream, k);
    return 0;
}

CUDA_KERNEL(bias, supports_bias, NULL, run_bias, KERNEL_ANY);
CUDA_KERNEL(bias_grad, cuda_supports, prepare_bias_grad, run_bias_grad, KERNEL_ANY);
CUDA_KERNEL(global_avg_pool, cuda_supports_one_type, NULL, run_global_avg_pool, KERNEL_ANY);

C_END

/* dropout and reshape. The random numbers are those of src/rng.h, one block of four numbers for
 * four elements, so that the device drops the same elements as the host. */

struct dropout_args {
    const void *src;
    void *dst;
    const struct cuda_scalars *scalars;
    uint64_t stream, limit;
    float scale;
    unsigned count, nblocks, n; /* elements and blocks of an image; elements of all images */
};

/* Philox 4x32-10, see src/rng.h. */
DEVICE void random_block(uint64_t seed, uint64_t stream, uint64_t index, unsigned *dst)
{
    unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
    unsigned c0 = (unsigned)index, c1 = (unsigned)(index >> 32);
    unsigned c2 = (unsigned)stream, c3 = (unsigned)(stream >> 32);

    for (int i = 0; i < 10; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
        c1 = (unsigned)p1;
        c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
        c3 = (unsigned)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    dst[0] = c0;
    dst[1] = c1;
    dst[2] = c2;
    dst[3] = c3;
}

DEVICE void dropout_some(const struct dropout_args *k, unsigned i, unsigned type, unsigned each)
{
    unsigned image = i / k->count, at = i % k->count, words[GPU_MOST_CHUNK];
    float v[GPU_MOST_CHUNK];

    gpu_load_some(k->src, i, type, each, v);
    for (unsigned j = 0; j < each; j += 4)
        random_block(k->scalars->noise, k->stream,
                     (k->scalars->first + image) * k->nblocks + (at + j) / 4, words + j);
    for (unsigned j = 0; j < each; j++)
        v[j] = words[each > 1 ? j : at % 4] >= k->limit ? v[j] * k->scale : 0;
    gpu_store_some(k->dst, i, type, each, v);
}

CHUNKED_KERNEL(dropout, dropout_args, k->n, k->count)

C_BEGIN

static int run_dropout(struct op *op, struct exec *x, struct err *e)
{
    const struct tensor *src = op->in[0];
    struct dropout_args k = {src->data, op->out[0]->data, x->device->scalars, op->attr.stream,
                             (uint64_t)(op->attr.rate * 4294967296.),
                             (float)(1 / (1 - op->attr.rate)), 0, 0, 0};

    k.n = (unsigned)tensor_count(src);
    k.count = k.n / (unsigned)src->shape.dim[DIM_N];
    k.nblocks = (k.count + 3) / 4;
    LAUNCH_CHUNKED(src->dtype, dropout, k.n, k.count, x->device->stream, k);
    return 0;
}

/* Copies, unless the result has the memory of the input. */
static int run_reshape(struct op *op, struct exec *x, struct err *e)
{
    const void *src = op->in[0]->data;
    void *dst = op->out[0]->data;

    if (dst == src)
        return 0;
    return cuda_queue_copy(x->device, dst, src, tensor_nbytes(op->out[0]), e);
}

CUDA_KERNEL(dropout, cuda_supports_one_type, NULL, run_dropout, KERNEL_ANY);
CUDA_KERNEL(reshape, cuda_supports_one_type, NULL, run_reshape, KERNEL_ANY);

C_END
