/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat and their gradients, and cast: one thread per element. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

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
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        float v = gpu_load(k->a, i, type);

        gpu_store(k->dst, i, type, v > 0 ? v : 0);
    }
}

/* a: dy, b: y */
DEVICE void relu_grad_as(const struct elementwise_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride())
        gpu_store(k->dst, i, type, gpu_load(k->b, i, type) > 0 ? gpu_load(k->a, i, type) : 0);
}

TYPED_KERNEL(add, elementwise_args)
TYPED_KERNEL(relu, elementwise_args)
TYPED_KERNEL(relu_grad, elementwise_args)

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

/* Returns the tensor that contains element i of the concatenation, and sets its place there. */
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

        gpu_store(k->whole, i, type, gpu_load(part, at, type));
    }
}

DEVICE void concat_grad_as(const struct concat_args *k, unsigned type)
{
    for (unsigned i = gpu_index(); i < k->n; i += gpu_stride()) {
        unsigned at;
        void *part = concat_part(k, i, &at);

        gpu_store(part, at, type, gpu_load(k->whole, i, type));
    }
}

TYPED_KERNEL(concat, concat_args)
TYPED_KERNEL(concat_grad, concat_args)

C_BEGIN

static struct elementwise_args elementwise_of(const struct op *op)
{
    struct elementwise_args k = {op->in[0]->data, NULL, op->out[0]->data,
                                 (unsigned)tensor_count(op->out[0])};

    k.b = op->kind->nin > 1 ? op->in[1]->data : NULL;
    return k;
}

static int run_add(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH_AS(op->out[0]->dtype, add, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_relu(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH_AS(op->out[0]->dtype, relu, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_relu_grad(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH_AS(op->out[0]->dtype, relu_grad, gpu_blocks(k.n), x->device->stream, k);
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

    (void)e;
    LAUNCH_AS(op->out[0]->dtype, concat, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    struct concat_args k = concat_of(op->out[0], op->out[1], op->in[0]);

    (void)e;
    LAUNCH_AS(op->out[0]->dtype, concat_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_cast(struct op *op, struct exec *x, struct err *e)
{
    struct cast_args k = {op->in[0]->data, op->out[0]->data, (unsigned)op->in[0]->dtype,
                          (unsigned)op->out[0]->dtype, (unsigned)tensor_count(op->out[0])};

    (void)e;
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
    &relu_grad_kind, cuda_supports_one_type, NULL, run_relu_grad, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_concat = {
    &concat_kind, cuda_supports_one_type, NULL, run_concat, NULL, 0, 0, KERNEL_ANY};
const struct kernel cuda_concat_grad = {
    &concat_grad_kind, cuda_supports_one_type, NULL, run_concat_grad, NULL, 0, 0, KERNEL_ANY};

C_END
