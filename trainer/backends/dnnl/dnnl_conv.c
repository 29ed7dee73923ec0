/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions and transposed convolutions as oneDNN primitives.
 *
 * Activations stay NHWC, oneDNN chooses the layout of the weights, and a reorder brings them there
 * (or their gradient back) once in each run. Where oneDNN has nothing better than its own
 * reference implementation (a hundred times slower without a word), or what it has is wrong
 * (dnnl_check), the kernel declines and ours is used. oneDNN's transposed convolution is several times slower with a bias than without, so the
 * bias is added in a pass of our own; bias gradients are sums of our own as well. */
#include "config.h"
#include "trainer/backends/dnnl/dnnl_backend.h"

#include <dnnl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/backends/dnnl/dnnl_check.h"
#include "trainer/backends/ref/chunks.h"
#include "trainer/backends/vector.h"

#define ALIGN 64

enum direction { FORWARD, GRAD_INPUT, GRAD_WEIGHTS };

/* One op in oneDNN's words: src and dst are those of the forward convolution. */
struct problem {
    enum direction direction;
    bool transposed;
    struct tensor *src, *dst, *weights;
    struct tensor *bias; /* its gradient for GRAD_WEIGHTS; NULL for GRAD_INPUT or without one */
    int stride;
    dnnl_memory_desc_t src_desc, dst_desc, bias_desc;
    dnnl_memory_desc_t plain_desc;  /* weights as PyTorch and the checkpoint have them */
    dnnl_memory_desc_t packed_desc; /* weights as oneDNN wants them */
};

/* op->priv */
struct conv {
    struct problem problem;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive, reorder;
    dnnl_memory_t src, dst, bias, plain, packed, scratchpad, reorder_scratchpad;
    size_t packed_size, scratchpad_size; /* bytes, rounded up; the workspace in this order */
};

static dnnl_engine_t engine;
static dnnl_status_t engine_status;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

static void create_engine(void)
{
    engine_status = dnnl_engine_create(&engine, dnnl_cpu, 0);
}

static bool have_engine(void)
{
    pthread_once(&engine_once, create_engine);
    return engine_status == dnnl_success;
}

static size_t round_up(size_t nbytes)
{
    return (nbytes + ALIGN - 1) / ALIGN * ALIGN;
}

static dnnl_status_t init_activation(const struct tensor *t, dnnl_memory_desc_t *desc)
{
    const int64_t *d = t->shape.dim;
    dnnl_dims_t dims = {d[DIM_N], d[DIM_C], d[DIM_H], d[DIM_W]};

    return dnnl_memory_desc_init_by_tag(desc, 4, dims, dnnl_f32, dnnl_nhwc);
}

/* oneDNN calls the dimensions of weights O, I, H, W in every case; ours are I, O, H, W in memory
 * for a transposed convolution. */
static dnnl_status_t init_weights(const struct problem *p, dnnl_format_tag_t tag,
                                  dnnl_memory_desc_t *desc)
{
    const int64_t *d = p->weights->shape.dim;
    dnnl_dims_t dims = {d[p->transposed], d[!p->transposed], d[2], d[3]};

    return dnnl_memory_desc_init_by_tag(desc, 4, dims, dnnl_f32, tag);
}

static dnnl_status_t init_problem(const struct op *op, struct problem *p)
{
    const struct op_kind *kind = op->kind;
    dnnl_status_t status;

    memset(p, 0, sizeof *p);
    p->stride = op->attr.stride > 1 ? op->attr.stride : 1;
    p->transposed = kind == &conv_transpose2d_kind || kind == &conv_transpose2d_grad_input_kind ||
                    kind == &conv_transpose2d_grad_weights_kind;
    if (kind == &conv2d_kind || kind == &conv_transpose2d_kind) {
        p->direction = FORWARD;
        p->src = op->in[0], p->weights = op->in[1], p->dst = op->out[0];
        p->bias = op->in[2];
    } else if (kind == &conv2d_grad_input_kind || kind == &conv_transpose2d_grad_input_kind) {
        p->direction = GRAD_INPUT;
        p->dst = op->in[0], p->weights = op->in[1], p->src = op->out[0];
    } else {
        p->direction = GRAD_WEIGHTS;
        p->dst = op->in[0], p->src = op->in[1], p->weights = op->out[0];
        p->bias = op->out[1];
    }
    status = init_activation(p->src, &p->src_desc);
    if (!status)
        status = init_activation(p->dst, &p->dst_desc);
    if (!status)
        status = init_weights(p, p->transposed ? dnnl_iohw : dnnl_oihw, &p->plain_desc);
    if (!status)
        status = init_weights(p, dnnl_format_tag_any, &p->packed_desc);
    if (!status && p->bias) {
        dnnl_dims_t dims = {p->bias->shape.dim[0]};

        status = dnnl_memory_desc_init_by_tag(&p->bias_desc, 1, dims, dnnl_f32, dnnl_a);
    }
    return status;
}

/* The backward directions want the forward one as a hint. */
static dnnl_status_t create_conv_desc(const struct problem *p, dnnl_primitive_attr_t attr,
                                      enum direction direction, dnnl_primitive_desc_t hint,
                                      dnnl_primitive_desc_t *desc)
{
    int64_t padding = p->weights->shape.dim[2] / 2;
    dnnl_dims_t strides = {p->stride, p->stride}, pad = {padding, padding};
    dnnl_convolution_desc_t d;
    dnnl_status_t status;

    if (direction == FORWARD)
        status = dnnl_convolution_forward_desc_init(
            &d, dnnl_forward_training, dnnl_convolution_direct, &p->src_desc, &p->packed_desc,
            p->direction == FORWARD && p->bias ? &p->bias_desc : NULL, &p->dst_desc, strides, pad,
            pad);
    else if (direction == GRAD_INPUT)
        status = dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &p->src_desc,
                                                          &p->packed_desc, &p->dst_desc, strides,
                                                          pad, pad);
    else
        status = dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct,
                                                             &p->src_desc, &p->packed_desc, NULL,
                                                             &p->dst_desc, strides, pad, pad);
    return status ? status : dnnl_primitive_desc_create(desc, &d, attr, engine, hint);
}

static dnnl_status_t create_deconv_desc(const struct problem *p, dnnl_primitive_attr_t attr,
                                        enum direction direction, dnnl_primitive_desc_t hint,
                                        dnnl_primitive_desc_t *desc)
{
    dnnl_dims_t strides = {2, 2}, pad = {0, 0};
    dnnl_deconvolution_desc_t d;
    dnnl_status_t status;

    if (direction == FORWARD)
        status = dnnl_deconvolution_forward_desc_init(&d, dnnl_forward_training,
                                                      dnnl_deconvolution_direct, &p->src_desc,
                                                      &p->packed_desc, NULL, &p->dst_desc, strides,
                                                      pad, pad);
    else if (direction == GRAD_INPUT)
        status = dnnl_deconvolution_backward_data_desc_init(&d, dnnl_deconvolution_direct,
                                                            &p->src_desc, &p->packed_desc,
                                                            &p->dst_desc, strides, pad, pad);
    else
        status = dnnl_deconvolution_backward_weights_desc_init(
            &d, dnnl_deconvolution_direct, &p->src_desc, &p->packed_desc, NULL, &p->dst_desc,
            strides, pad, pad);
    return status ? status : dnnl_primitive_desc_create(desc, &d, attr, engine, hint);
}

/* The primitive's descriptor; its scratchpad will be part of the op's workspace. */
static dnnl_status_t create_desc(const struct problem *p, dnnl_primitive_desc_t *desc)
{
    dnnl_status_t (*create)(const struct problem *, dnnl_primitive_attr_t, enum direction,
                            dnnl_primitive_desc_t, dnnl_primitive_desc_t *) =
        p->transposed ? create_deconv_desc : create_conv_desc;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_primitive_attr_t attr;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);

    if (status)
        return status;
    status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!status && p->direction != FORWARD)
        status = create(p, NULL, FORWARD, NULL, &hint);
    if (!status)
        status = create(p, attr, p->direction, hint, desc);
    if (hint)
        dnnl_primitive_desc_destroy(hint);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

static bool supports(const struct op *op)
{
    const char *implementation = "ref";
    dnnl_primitive_desc_t desc;
    struct problem p;

    if (!have_engine() || init_problem(op, &p) || create_desc(&p, &desc))
        return false;
    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &implementation);
    dnnl_primitive_desc_destroy(desc);
    return !strstr(implementation, "ref") && dnnl_check(&dnnl_conv2d, op);
}

static dnnl_status_t create_memory(const dnnl_memory_desc_t *desc, dnnl_memory_t *memory)
{
    return dnnl_memory_create(memory, desc, engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t create_reorder(struct conv *c, const dnnl_memory_desc_t *from,
                                    const dnnl_memory_desc_t *to)
{
    dnnl_primitive_desc_t desc;
    dnnl_primitive_attr_t attr;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);

    if (status)
        return status;
    status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!status)
        status = dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, attr);
    dnnl_primitive_attr_destroy(attr);
    if (status)
        return status;
    status = dnnl_primitive_create(&c->reorder, desc);
    if (!status) {
        const dnnl_memory_desc_t *pad = dnnl_primitive_desc_query_md(
            desc, dnnl_query_scratchpad_md, 0);

        c->scratchpad_size = round_up(dnnl_memory_desc_get_size(pad));
        status = create_memory(pad, &c->reorder_scratchpad);
    }
    dnnl_primitive_desc_destroy(desc);
    return status;
}

/* Everything that depends on the primitive's descriptor. */
static dnnl_status_t create_conv(struct conv *c, dnnl_primitive_desc_t desc)
{
    const struct problem *p = &c->problem;
    bool backward = p->direction == GRAD_WEIGHTS;
    const dnnl_memory_desc_t *packed = dnnl_primitive_desc_query_md(
        desc, backward ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *pad = dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
    dnnl_status_t status = dnnl_stream_create(&c->stream, engine, dnnl_stream_default_flags);

    if (!status)
        status = dnnl_primitive_create(&c->primitive, desc);
    if (!status)
        status = create_memory(&p->src_desc, &c->src);
    if (!status)
        status = create_memory(&p->dst_desc, &c->dst);
    if (!status && p->bias)
        status = create_memory(&p->bias_desc, &c->bias);
    if (!status)
        status = create_memory(&p->plain_desc, &c->plain);
    if (!status)
        status = create_memory(packed, &c->packed);
    if (!status)
        status = create_memory(pad, &c->scratchpad);
    if (!status)
        status = backward ? create_reorder(c, packed, &p->plain_desc)
                          : create_reorder(c, &p->plain_desc, packed);
    c->packed_size = round_up(dnnl_memory_desc_get_size(packed));
    if (round_up(dnnl_memory_desc_get_size(pad)) > c->scratchpad_size)
        c->scratchpad_size = round_up(dnnl_memory_desc_get_size(pad));
    return status;
}

static void destroy_conv(struct conv *c)
{
    dnnl_memory_t memories[] = {c->src,    c->dst,        c->bias, c->plain,
                                c->packed, c->scratchpad, c->reorder_scratchpad};

    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i])
            dnnl_memory_destroy(memories[i]);
    if (c->primitive)
        dnnl_primitive_destroy(c->primitive);
    if (c->reorder)
        dnnl_primitive_destroy(c->reorder);
    if (c->stream)
        dnnl_stream_destroy(c->stream);
    free(c);
}

static void release(struct op *op)
{
    destroy_conv(op->priv);
}

static int prepare(struct op *op, struct err *e)
{
    struct conv *c = calloc(1, sizeof *c);
    dnnl_primitive_desc_t desc;
    dnnl_status_t status;

    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    status = init_problem(op, &c->problem);
    if (!status)
        status = create_desc(&c->problem, &desc);
    if (!status) {
        status = create_conv(c, desc);
        dnnl_primitive_desc_destroy(desc);
    }
    if (status) {
        destroy_conv(c);
        return err_set(e, ERR_INTERNAL, "oneDNN can't prepare it (status %d)", (int)status);
    }
    op->workspace_size = c->packed_size + c->scratchpad_size;
    if (c->problem.direction == GRAD_WEIGHTS && c->problem.bias)
        op->workspace_size += chunks_workspace(tensor_count(c->problem.bias)) * sizeof(double);
    op->priv = c;
    return 0;
}

static dnnl_status_t bind(const struct op *op, struct conv *c)
{
    const struct problem *p = &c->problem;
    char *scratchpad = (char *)op->workspace + c->packed_size;
    dnnl_status_t status = dnnl_memory_set_data_handle(c->src, p->src->data);

    if (!status)
        status = dnnl_memory_set_data_handle(c->dst, p->dst->data);
    if (!status && p->bias)
        status = dnnl_memory_set_data_handle(c->bias, p->bias->data);
    if (!status)
        status = dnnl_memory_set_data_handle(c->plain, p->weights->data);
    if (!status)
        status = dnnl_memory_set_data_handle(c->packed, op->workspace);
    if (!status)
        status = dnnl_memory_set_data_handle(c->scratchpad, scratchpad);
    if (!status)
        status = dnnl_memory_set_data_handle(c->reorder_scratchpad, scratchpad);
    return status;
}

static dnnl_status_t execute_reorder(struct conv *c, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from},
                                    {DNNL_ARG_TO, to},
                                    {DNNL_ARG_SCRATCHPAD, c->reorder_scratchpad}};

    return dnnl_primitive_execute(c->reorder, c->stream, 3, args);
}

static dnnl_status_t execute(struct conv *c)
{
    const dnnl_exec_arg_t forward[] = {{DNNL_ARG_SRC, c->src},
                                       {DNNL_ARG_WEIGHTS, c->packed},
                                       {DNNL_ARG_DST, c->dst},
                                       {DNNL_ARG_SCRATCHPAD, c->scratchpad},
                                       {DNNL_ARG_BIAS, c->bias}};
    const dnnl_exec_arg_t input[] = {{DNNL_ARG_DIFF_DST, c->dst},
                                     {DNNL_ARG_WEIGHTS, c->packed},
                                     {DNNL_ARG_DIFF_SRC, c->src},
                                     {DNNL_ARG_SCRATCHPAD, c->scratchpad}};
    const dnnl_exec_arg_t weights[] = {{DNNL_ARG_SRC, c->src},
                                       {DNNL_ARG_DIFF_DST, c->dst},
                                       {DNNL_ARG_DIFF_WEIGHTS, c->packed},
                                       {DNNL_ARG_SCRATCHPAD, c->scratchpad}};

    if (c->problem.direction == FORWARD)
        return dnnl_primitive_execute(c->primitive, c->stream,
                                      c->problem.transposed || !c->bias ? 4 : 5, forward);
    if (c->problem.direction == GRAD_INPUT)
        return dnnl_primitive_execute(c->primitive, c->stream, 4, input);
    return dnnl_primitive_execute(c->primitive, c->stream, 4, weights);
}

VECTOR_CLONES static void add_bias_row(const float *restrict bias, size_t nchannels, size_t npixels,
                                       float *restrict dst)
{
    for (size_t p = 0; p < npixels; p++, dst += nchannels)
        for (size_t c = 0; c < nchannels; c++)
            dst[c] += bias[c];
}

static void add_bias(const struct problem *p)
{
    size_t nchannels = tensor_channels(p->dst), width = (size_t)p->dst->shape.dim[DIM_W];
    size_t nrows = tensor_pixels(p->dst) / width;

#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < nrows; row++)
        add_bias_row(p->bias->data, nchannels, width, p->dst->data + row * width * nchannels);
}

static void sum_bias_grad(const struct op *op, const struct conv *c)
{
    const struct problem *p = &c->problem;
    double *sums = (double *)(void *)((char *)op->workspace + c->packed_size + c->scratchpad_size);
    size_t nchannels = tensor_channels(p->dst);

    chunks_sum(p->dst->data, NULL, tensor_pixels(p->dst), nchannels, sums);
    for (size_t i = 0; i < nchannels; i++)
        p->bias->data[i] = (float)sums[i];
}

static int run(struct op *op, struct exec *x, struct err *e)
{
    struct conv *c = op->priv;
    enum direction direction = c->problem.direction;
    dnnl_status_t status = bind(op, c);

    (void)x;
    if (!status && direction != GRAD_WEIGHTS)
        status = execute_reorder(c, c->plain, c->packed);
    if (!status)
        status = execute(c);
    if (!status && direction == GRAD_WEIGHTS)
        status = execute_reorder(c, c->packed, c->plain);
    if (!status)
        status = dnnl_stream_wait(c->stream);
    if (status)
        return err_set(e, ERR_INTERNAL, "oneDNN failed (status %d)", (int)status);
    if (direction == FORWARD && c->problem.transposed)
        add_bias(&c->problem);
    if (direction == GRAD_WEIGHTS && c->bias)
        sum_bias_grad(op, c);
    return 0;
}

const struct kernel dnnl_conv2d = {
    .kind = &conv2d_kind, .supports = supports, .prepare = prepare, .run = run, .release = release,
    .may = OP_BARE};
const struct kernel dnnl_conv2d_grad_input = {
    .kind = &conv2d_grad_input_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release};
const struct kernel dnnl_conv2d_grad_weights = {
    .kind = &conv2d_grad_weights_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release, .may = OP_BARE};
const struct kernel dnnl_conv_transpose2d = {
    .kind = &conv_transpose2d_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release};
const struct kernel dnnl_conv_transpose2d_grad_input = {
    .kind = &conv_transpose2d_grad_input_kind, .supports = supports, .prepare = prepare, .run = run,
    .release = release};
const struct kernel dnnl_conv_transpose2d_grad_weights = {
    .kind = &conv_transpose2d_grad_weights_kind, .supports = supports, .prepare = prepare,
    .run = run, .release = release};
