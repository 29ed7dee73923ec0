/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat, the gradients of the last two, and cast: 16 bytes per thread, or a number
 * where they do not divide. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* relu: a and b are x. Its gradient: a is dy and b is y. n: elements. */
struct elementwise_args {
    const void *a, *b;
    void *dst;
    unsigned n;
    bool adds; /* a + b; otherwise a where b > 0, and 0 elsewhere */
};

DEVICE void combine_some(const struct elementwise_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        float a[GPU_MOST_CHUNK], b[GPU_MOST_CHUNK];

        gpu_load_some(k->a, i * each, type, each, a);
        gpu_load_some(k->b, i * each, type, each, b);
        for (unsigned j = 0; j < each; j++)
            a[j] = k->adds ? a[j] + b[j] : b[j] > 0 ? a[j] : 0;
        gpu_store_some(k->dst, i * each, type, each, a);
    }
}

CHUNKED_KERNEL(combine, elementwise_args, k->n)

struct cast_args {
    const void *src;
    void *dst;
    unsigned n; /* elements */
    bool widens; /* to floats; otherwise from them */
};

/* type: that of 16 bits. */
DEVICE void cast_some(const struct cast_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        float v[GPU_MOST_CHUNK];

        if (k->widens) {
            gpu_load_some(k->src, i * each, type, each, v);
            gpu_store_some(k->dst, i * each, DTYPE_F32, each, v);
        } else {
            gpu_load_some(k->src, i * each, DTYPE_F32, each, v);
            gpu_store_some(k->dst, i * each, type, each, v);
        }
    }
}

CHUNKED_KERNEL(cast, cast_args, k->n)

/* Tensors of na and nb channels and their concatenation; n: its elements. */
struct concat_args {
    void *a, *b, *whole;
    unsigned na, nb, n;
    bool divides; /* the gradient: the concatenation is the source */
};

DEVICE void concat_some(const struct concat_args *k, unsigned type, unsigned each)
{
    for (unsigned i = gpu_index(); i < k->n / each; i += gpu_stride()) {
        unsigned pixel = i * each / (k->na + k->nb), c = i * each % (k->na + k->nb);
        void *part = c < k->na ? k->a : k->b;
        unsigned at = c < k->na ? pixel * k->na + c : pixel * k->nb + (c - k->na);
        float v[GPU_MOST_CHUNK];

        gpu_load_some(k->divides ? k->whole : part, k->divides ? i * each : at, type, each, v);
        gpu_store_some(k->divides ? part : k->whole, k->divides ? at : i * each, type, each, v);
    }
}

CHUNKED_KERNEL(concat, concat_args, k->na | k->nb)

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
                                 op->kind == &add_kind};

    LAUNCH_AS(t, combine, gpu_blocks(k.n / GPU_EACH(k.n, t)), x->device->stream, k);
    return 0;
}

static void queue_concat(struct exec *x, const struct tensor *a, const struct tensor *b,
                         const struct tensor *whole, bool divides)
{
    struct concat_args k = {a->data, b->data, whole->data, (unsigned)tensor_channels(a),
                            (unsigned)tensor_channels(b), (unsigned)tensor_count(whole), divides};

    LAUNCH_AS(whole->dtype, concat, gpu_blocks(k.n / GPU_EACH(k.na | k.nb, whole->dtype)),
              x->device->stream, k);
}

static int run_concat(struct op *op, struct exec *x, struct err *e)
{
    queue_concat(x, op->in[0], op->in[1], op->out[0], false);
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    queue_concat(x, op->out[0], op->out[1], op->in[0], true);
    return 0;
}

static int run_cast(struct op *op, struct exec *x, struct err *e)
{
    enum dtype from = op->in[0]->dtype, to = op->out[0]->dtype, t = to == DTYPE_F32 ? from : to;
    struct cast_args k = {op->in[0]->data, op->out[0]->data, (unsigned)tensor_count(op->out[0]),
                          to == DTYPE_F32};

    LAUNCH_AS(t, cast, gpu_blocks(k.n / GPU_EACH(k.n, t)), x->device->stream, k);
    return 0;
}

const struct kernel cuda_add = {
    &add_kind, cuda_supports_one_type, NULL, run_combine, NULL, KERNEL_ANY};
const struct kernel cuda_cast = {
    &cast_kind, cuda_supports, NULL, run_cast, NULL, KERNEL_HALVES};
const struct kernel cuda_relu = {
    &relu_kind, cuda_supports_one_type, NULL, run_combine, NULL, KERNEL_ANY};
const struct kernel cuda_relu_grad = {
    &relu_grad_kind, cuda_supports_one_type, NULL, run_combine, NULL, KERNEL_ANY};
const struct kernel cuda_concat = {
    &concat_kind, cuda_supports_one_type, NULL, run_concat, NULL, KERNEL_ANY};
const struct kernel cuda_concat_grad = {
    &concat_grad_kind, cuda_supports_one_type, NULL, run_concat_grad, NULL, KERNEL_ANY};

C_END
