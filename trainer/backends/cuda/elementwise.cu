/* SPDX-License-Identifier: BSD-3-Clause */
/* add, relu, concat and their gradients: one thread per element. */
#include "config.h"
#include "trainer/backends/cuda/cuda_kernel.h"

struct elementwise_args {
    const float *a, *b;
    float *dst;
    unsigned n;
};

KERNEL(add, elementwise_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] = k.a[i] + k.b[i];
}

KERNEL(relu, elementwise_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] = k.a[i] > 0 ? k.a[i] : 0;
}

/* a: dy, b: y */
KERNEL(relu_grad, elementwise_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.dst[i] = k.b[i] > 0 ? k.a[i] : 0;
}

/* Parts of na and nb channels, and the whole of both; n: elements of the whole. */
struct concat_args {
    float *a, *b, *whole;
    unsigned na, nb, n;
};

DEVICE float *concat_part(const struct concat_args *k, unsigned i)
{
    unsigned pixel = i / (k->na + k->nb), c = i % (k->na + k->nb);

    return c < k->na ? k->a + pixel * k->na + c : k->b + pixel * k->nb + (c - k->na);
}

KERNEL(concat, concat_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        k.whole[i] = *concat_part(&k, i);
}

KERNEL(concat_grad, concat_args)
{
    for (unsigned i = gpu_index(); i < k.n; i += gpu_stride())
        *concat_part(&k, i) = k.whole[i];
}

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
    LAUNCH(add, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_relu(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH(relu, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_relu_grad(struct op *op, struct exec *x, struct err *e)
{
    struct elementwise_args k = elementwise_of(op);

    (void)e;
    LAUNCH(relu_grad, gpu_blocks(k.n), x->device->stream, k);
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
    LAUNCH(concat, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

static int run_concat_grad(struct op *op, struct exec *x, struct err *e)
{
    struct concat_args k = concat_of(op->out[0], op->out[1], op->in[0]);

    (void)e;
    LAUNCH(concat_grad, gpu_blocks(k.n), x->device->stream, k);
    return 0;
}

const struct kernel cuda_add = {&add_kind, cuda_supports, NULL, run_add, NULL};
const struct kernel cuda_relu = {&relu_kind, cuda_supports, NULL, run_relu, NULL};
const struct kernel cuda_relu_grad = {&relu_grad_kind, cuda_supports, NULL, run_relu_grad, NULL};
const struct kernel cuda_concat = {&concat_kind, cuda_supports, NULL, run_concat, NULL};
const struct kernel cuda_concat_grad = {&concat_grad_kind, cuda_supports, NULL, run_concat_grad,
                                        NULL};

C_END
