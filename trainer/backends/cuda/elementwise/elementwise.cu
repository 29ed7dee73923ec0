/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat, the gradients of the last two, and cast: a thread per element. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* relu: a and b are x. Its gradient: a is dy and b is y. n: elements. */
struct elementwise_args {
    const void *a, *b;
    void *dst;
    unsigned n;
};

DEVICE void add_as(const struct elementwise_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride())
        gpu_store(k->dst, i, type, gpu_load(k->a, i, type) + gpu_load(k->b, i, type));
}

DEVICE void relu_as(const struct elementwise_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride())
        if (gpu_load(k->b, i, type) > 0)
            gpu_copy(k->dst, i, k->a, i, type);
        else
            gpu_clear(k->dst, i, type);
}

TYPED_KERNEL(add, elementwise_args)
TYPED_KERNEL(relu, elementwise_args)

struct cast_args {
    const void *src;
    void *dst;
    unsigned from, to, n;
};

KERNEL(cast, cast_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        gpu_store(k.dst, i, k.to, gpu_load(k.src, i, k.from));
}

/* Tensors of na and nb channels and their concatenation; n: its elements. */
struct concat_args {
    void *a, *b, *whole;
    unsigned na, nb, n;
};

/* Returns the tensor that contains element i of the concatenation, and sets *at to its index
 * there. */
DEVICE void *concat_part(const struct concat_args *k, unsigned i, unsigned *at)
{
    unsigned pixel = i / (k->na + k->nb), c = i % (k->na + k->nb);

    *at = c < k->na ? pixel * k->na + c : pixel * k->nb + (c - k->na);
    return c < k->na ? k->a : k->b;
}

DEVICE void concat_as(const struct concat_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at;
        const void *part = concat_part(k, i, &at);

        gpu_copy(k->whole, i, part, at, type);
    }
}

DEVICE void concat_grad_as(const struct concat_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at;
        void *part = concat_part(k, i, &at);

        gpu_copy(part, at, k->whole, i, type);
    }
}

TYPED_KERNEL(concat, concat_args)
TYPED_KERNEL(concat_grad, concat_args)

struct unpack_args {
    float *dst;
    const unsigned char *src;
    unsigned n;
};

KERNEL(unpack, unpack_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] = k.src[i] == 255 ? -1 : (float)k.src[i];
}

C_BEGIN

void cuda_unpack(struct device *d, float *dst, const void *src, size_t n)
{
    struct unpack_args k = {dst, (const unsigned char *)src, (unsigned)n};

    LAUNCH(unpack, gpu_blocks(n), d->stream, k);
}

static struct elementwise_args elementwise_of(const struct op *op)
{
    struct elementwise_args k = {op->in[0]->data, op->in[op->kind->nin - 1]->data,
                                 op->out[0]->data, (unsigned)tensor_count(op->out[0])};

    return k;
}

static int run_add(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    LAUNCH_AS(op->out[0]->dtype, add, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_relu(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    LAUNCH_AS(op->out[0]->dtype, relu, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static struct concat_args concat_of(const struct tensor *a, const struct tensor *b,
                                    const struct tensor *whole)
{
    struct concat_args k = {a->data, b->data, whole->data, (unsigned)tensor_channels(a),
                            (unsigned)tensor_channels(b), (unsigned)tensor_count(whole)};

    return k;
}

static int run_concat(struct op *op, struct exec *x, struct err *e)
{
    struct concat_args k = concat_of(op->in[0], op->in[1], op->out[0]);

    LAUNCH_AS(op->out[0]->dtype, concat, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    struct concat_args k = concat_of(op->out[0], op->out[1], op->in[0]);

    LAUNCH_AS(op->out[0]->dtype, concat_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_cast(struct op *op, struct exec *x, struct err *e)
{
    struct cast_args k = {op->in[0]->data, op->out[0]->data, (unsigned)op->in[0]->dtype,
                          (unsigned)op->out[0]->dtype, (unsigned)tensor_count(op->out[0])};

    LAUNCH(cast, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_add = {
    &add_kind, cuda_supports_one_type, NULL, run_add, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_cast = {
    &cast_kind, cuda_supports, NULL, run_cast, NULL, 0, 0, KERNEL_HALVES};
const struct kernel cuda_relu = {
    &relu_kind, cuda_supports_one_type, NULL, run_relu, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_relu_grad = {
    &relu_grad_kind, cuda_supports_one_type, NULL, run_relu, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_concat = {
    &concat_kind, cuda_supports_one_type, NULL, run_concat, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_concat_grad = {
    &concat_grad_kind, cuda_supports_one_type, NULL, run_concat_grad, NULL, 0, 0, KERNEL_ANY};

C_END
