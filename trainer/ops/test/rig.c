/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/ops/test/rig.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"

#define GUARD 256 /* bytes before and after each tensor, workspace and what an op keeps */
#define SENTINEL 0x5a
#define UNWRITTEN 0xff /* NaN in every type */
#define KINK 0.2 /* results of a norm closer to 0 than this before their ReLU have weight 0 */

static void *guarded_alloc(const struct rig *r, struct guarded *g, size_t nbytes)
{
    size_t whole = (nbytes + 2 * GUARD + 63) / 64 * 64;
    struct err e;

    g->nbytes = nbytes;
    if (mirror_open(&g->block, r->device ? r->ops : NULL, r->device, whole, &e))
        bail_out("%s", e.text);
    return (char *)g->block.host + GUARD;
}

static void guarded_clear(struct guarded *g)
{
    char *block = g->block.host;

    memset(block, SENTINEL, GUARD);
    memset(block + GUARD, UNWRITTEN, g->nbytes);
    memset(block + GUARD + g->nbytes, SENTINEL, GUARD);
}

static bool guarded_is_intact(const struct guarded *g)
{
    const char *block = g->block.host;

    for (size_t i = 0; i < GUARD; i++)
        if (block[i] != SENTINEL || block[GUARD + g->nbytes + i] != SENTINEL)
            return false;
    return true;
}

float *rig_read(const struct tensor *t)
{
    float *values = malloc(tensor_count(t) * sizeof *values);

    if (!values)
        bail_out("out of memory");
    if (t->dtype == DTYPE_F32)
        memcpy(values, t->data, tensor_count(t) * sizeof *values);
    else
        dtype_decode(t->dtype, t->half, values, tensor_count(t));
    return values;
}

/* rng_normal, drawn once for all cases: drawing takes most of the time of most cases. */
static double normal_of(uint64_t seed, uint64_t stream, size_t i)
{
    static struct drawn {
        uint64_t seed, stream;
        size_t n;
        float *values;
    } all[24];
    struct drawn *d = all;

    while (d->values && (d->seed != seed || d->stream != stream))
        if (++d == all + sizeof all / sizeof *all)
            bail_out("too many streams of numbers");
    if (i >= d->n) {
        size_t from = d->n;
        *d = (struct drawn){seed, stream, 2 * i + 4096,
                            realloc(d->values, (2 * i + 4096) * sizeof(float))};
        if (!d->values)
            bail_out("out of memory");
        for (size_t k = from; k < d->n; k++)
            d->values[k] = (float)rng_normal(seed, stream, k);
    }
    return d->values[i];
}

static double value_of(enum values how, uint64_t stream, uint64_t i)
{
    switch (how) {
    case VALUES_POSITIVE:
        return 0.5 + rng_uniform(11, stream, i);
    case VALUES_UNIT:
        return rng_uniform(12, stream, i);
    case VALUES_HOLES:
        return rng_uniform(16, stream, i) < 0.2 ? -1 : rng_uniform(12, stream, i);
    case VALUES_CLASS:
        return floor(4 * rng_uniform(12, stream, i)) - 1;
    case VALUES_APART: /* odd multiples of 0.01, shuffled: 911 and 4096 are coprime */
        return 0.02 * (double)(i * 911 % 4096) - 40.95;
    case VALUES_FAR:
        return 100 * normal_of(13, stream, i);
    default:
        return normal_of(13, stream, i);
    }
}

/* Returns whether one of the first n ops writes the tensor. */
static bool is_result(const struct rig *r, const struct tensor *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = -1; op_next_out(r->graph->ops[i], &k);)
            if (r->graph->ops[i]->out[k] == t)
                return true;
    return false;
}

/* The gradient of a ReLU is discontinuous at 0, where differences are meaningless. Results close to
 * 0 get weight 0; the others are smooth. */
static void weigh_kinks(struct rig *r)
{
    const float *x = r->numbers[0], *gamma = r->numbers[1], *beta = r->numbers[2];
    float *dy = r->numbers[OP_MAX_IN];
    size_t nchannels = tensor_channels(r->in[0]), n = tensor_pixels(r->in[0]);

    for (size_t c = 0; c < nchannels; c++) {
        double mean = 0, var = 0;

        for (size_t i = 0; i < n; i++)
            mean += (double)x[i * nchannels + c] / (double)n;
        for (size_t i = 0; i < n; i++)
            var += pow((double)x[i * nchannels + c] - mean, 2) / (double)n;
        for (size_t i = 0; i < n; i++) {
            double scaled = ((double)x[i * nchannels + c] - mean) / sqrt(var + r->op->attr.eps);

            if (fabs((double)gamma[c] * scaled + (double)beta[c]) < KINK)
                dy[i * nchannels + c] = 0;
        }
    }
}

/* Returns input i, or dy for i = OP_MAX_IN; NULL if there is none. */
static struct tensor *input_of(const struct rig *r, int i)
{
    return i < OP_MAX_IN ? r->in[i] : r->dy;
}

/* Returns whether input i, or dy for i = OP_MAX_IN, is an activation, which may have 16 bits. */
static bool is_activation(const struct test_case *test, int i)
{
    return i == OP_MAX_IN || (test->data >> i & 1 && !test->kind->is_loss);
}

void rig_round(enum dtype t, float *values, size_t n)
{
    for (size_t i = 0; t != DTYPE_F32 && i < n; i++) {
        uint16_t half;

        dtype_encode(t, &values[i], &half, 1);
        dtype_decode(t, &half, &values[i], 1);
    }
}

bool rig_convolves(const struct op_kind *kind)
{
    return kind == &conv2d_kind || kind == &conv2d_relu_kind || kind == &conv2d_grad_kind ||
           kind == &conv2d_grad_input_kind || kind == &conv_transpose2d_kind;
}

/* Returns the largest of the whole numbers, whose products and sums of products are exact; without
 * products, many a sum has more bits than its type and is rounded. */
static double largest_whole(const struct rig *r)
{
    return rig_convolves(r->test->kind) ? 7 : r->numbers_of == DTYPE_BF16 ? 255 : 2047;
}

static void make_numbers(struct rig *r)
{
    double most = largest_whole(r);

    for (int i = 0; i <= OP_MAX_IN; i++) {
        if (!input_of(r, i))
            continue;
        size_t count = tensor_count(input_of(r, i));

        free(r->numbers[i]);
        r->numbers[i] = malloc(count * sizeof(float));
        if (!r->numbers[i])
            bail_out("out of memory");
        for (size_t k = 0; k < count; k++) {
            double value = i < OP_MAX_IN ? value_of(r->test->values[i], (uint64_t)i, k)
                                         : normal_of(14, 0, k);

            if (r->whole)
                value = fmax(-most, fmin(rint(most / 2 * value), most));
            r->numbers[i][k] = (float)value;
        }
        if (is_activation(r->test, i))
            rig_round(r->numbers_of, r->numbers[i], count);
    }
    if (r->dy && r->test->kind == &batch_norm_relu_kind)
        weigh_kinks(r);
}

void rig_fill(struct rig *r)
{
    for (int i = 0; i <= OP_MAX_IN; i++) {
        struct tensor *t = input_of(r, i);

        if (!t)
            continue;
        if (t->dtype == DTYPE_F32)
            memcpy(t->data, r->numbers[i], tensor_nbytes(t));
        else
            dtype_encode(t->dtype, r->numbers[i], t->half, tensor_count(t));
    }
}

void rig_make_whole(struct rig *r)
{
    r->whole = true;
    make_numbers(r);
    rig_fill(r);
}

static void append_gradient(const struct test_case *t, struct graph *g, struct err *e)
{
    struct op *op = g->ops[0];

    for (int i = 0; i < OP_MAX_IN; i++) {
        if ((t->data | t->params) >> i & 1)
            op->in[i]->needs_grad = true;
        if (!(t->params >> i & 1))
            continue;
        op->in[i]->grad = graph_input(g, "grad", t->in[i], e);
        op->in[i]->place = TENSOR_VALUE;
        op->in[i]->grad->place = TENSOR_GRAD;
    }
    if (!t->kind->is_loss)
        op->out[0]->grad = graph_input(g, "dy", op->out[0]->shape, e);
    if (t->kind->grad(g, op, e) < 0)
        bail_out("%s: %s", t->kind->name, e->text);
}

struct graph *rig_graph(const struct test_case *test)
{
    struct err e = {0};
    struct graph *g = graph_create(true, &e);
    struct tensor *in[OP_MAX_IN] = {NULL}, *out[OP_MAX_OUT] = {NULL};
    struct shape shapes[OP_MAX_OUT] = {{0}};

    if (!g)
        bail_out("%s", e.text);
    for (int i = 0; i < OP_MAX_IN; i++)
        in[i] = !test->in[i].ndim ? NULL : graph_input(g, "in", test->in[i], &e);
    if (rig_convolves(test->kind))
        in[1]->is_weight = true;
    if (test->kind->infer(&test->attr, in, shapes, &e) < 0)
        bail_out("%s: %s", test->kind->name, e.text);
    for (int i = 0; i < test->kind->nout; i++)
        if (test->grads >> i & 1) {
            out[i] = graph_tensor(g, "grad", shapes[i], &e);
            out[i]->place = TENSOR_GRAD;
        }
    if (!graph_append(g, test->kind, &test->attr, in, out, &e))
        bail_out("%s: %s", test->kind->name, e.text);
    if (test->step > 0)
        append_gradient(test, g, &e);
    return g;
}

/* Sets the type of activations, and adds the casts that the backend needs. */
static void lower_types(struct graph *g, const struct test_case *test,
                        const struct backend *backend, enum dtype t)
{
    struct op *op = g->ops[0];
    struct err e;

    for (int i = -1; op_next_in(op, &i);)
        if (is_activation(test, i))
            op->in[i]->dtype = t;
    if (test->logits)
        g->logits = op->out[0];
    else if (!test->kind->is_loss && op->out[0] && op->out[0]->grad)
        op->out[0]->grad->dtype = t;
    precision_mark(g, t);
    if (precision_narrow(g, backend, &e) < 0 || precision_lower(g, backend, &e) < 0)
        bail_out("%s", e.text);
}

bool rig_is_possible(const struct test_case *test, const struct backend *backend, enum dtype t)
{
    struct graph *g = rig_graph(test);
    bool possible = true;

    lower_types(g, test, backend, t);
    for (size_t i = 0; i < g->nops; i++)
        possible = possible && backend_kernel(backend, g->ops[i]);
    graph_destroy(g);
    return possible;
}

static void prepare_op(struct rig *r, const struct backend *backend, size_t i)
{
    struct op *op = r->graph->ops[i];
    struct err e;

    op->kernel = backend_kernel(backend, op);
    if (!op->kernel)
        bail_out("%s: no kernel for %s", backend->name, op->kind->name);
    if (op->kernel->prepare && op->kernel->prepare(op, &e) < 0)
        bail_out("%s: %s", op->kind->name, e.text);
    op->workspace = guarded_alloc(r, &r->workspaces[i], op->workspace_size);
    op->kept = guarded_alloc(r, &r->kept[i], op->kept_size);
}

static void create_rig(struct rig *r, const struct test_case *test, const struct backend *backend,
                       struct device *device, enum dtype t, enum dtype numbers)
{
    *r = (struct rig){.test = test, .graph = rig_graph(test), .ops = backend->device,
                      .device = device, .numbers_of = numbers};
    r->op = r->graph->ops[0];
    memcpy(r->in, r->op->in, sizeof r->in);
    if (test->step > 0 && !test->kind->is_loss)
        r->dy = r->op->out[0]->grad;
    lower_types(r->graph, test, backend, t);
    if (r->graph->ntensors > RIG_MAX_TENSORS || r->graph->nops > RIG_MAX_TENSORS)
        bail_out("RIG_MAX_TENSORS is too small for %s", test->kind->name);
    for (size_t i = 0; i < r->graph->nops; i++)
        prepare_op(r, backend, i);
    for (size_t i = 0; i < r->graph->ntensors; i++) {
        struct tensor *tensor = r->graph->tensors[i];

        /* either member of the union */
        tensor->data = guarded_alloc(r, &r->tensors[i], tensor_nbytes(tensor));
        guarded_clear(&r->tensors[i]);
    }
    make_numbers(r);
    rig_fill(r);
}

void rig_create(struct rig *r, const struct test_case *test, const struct backend *backend,
                struct device *device, enum dtype t)
{
    create_rig(r, test, backend, device, t, t);
}

void rig_create_wide(struct rig *r, const struct test_case *test, const struct backend *backend,
                     enum dtype t)
{
    create_rig(r, test, backend, NULL, DTYPE_F32, t);
}

void rig_destroy(struct rig *r)
{
    for (size_t i = 0; i < r->graph->nops; i++) {
        mirror_close(&r->workspaces[i].block);
        mirror_close(&r->kept[i].block);
    }
    for (size_t i = 0; i < r->graph->ntensors; i++)
        mirror_close(&r->tensors[i].block);
    for (int i = 0; i <= OP_MAX_IN; i++)
        free(r->numbers[i]);
    graph_destroy(r->graph);
}

static void begin_run(struct rig *r, struct exec *x)
{
    struct err e;

    *x = (struct exec){.grad_scale = 1, .image_scale = 1, .loss_per_weight = 1,
                       .loss_per_image = 1, .noise = (UINT64_C(11) << 32) + 7, .first = 5,
                       .device = r->device, .device_ops = r->device ? r->ops : NULL};
    if (r->device && r->ops->begin(r->device, 0, x, &e) < 0)
        bail_out("%s", e.text);
}

static void end_run(struct rig *r, struct exec *x)
{
    struct device_sums sums = {.loss = x->loss_sum};
    struct err e;

    if (r->device &&
        (r->ops->end(r->device, 0, &e) < 0 || r->ops->wait(r->device, 0, &sums, &e) < 0))
        bail_out("%s", e.text);
    r->loss = sums.loss;
}

static void run_op(struct op *op, struct exec *x)
{
    struct err e;

    if (graph_begin_ops(&op, 1, x, &e) < 0 || op->kernel->run(op, x, &e) < 0)
        bail_out("%s: %s", op->kind->name, e.text);
}

static int copy_block(const struct guarded *g, bool back)
{
    struct err e;

    return back ? mirror_pull(&g->block, &e) : mirror_push(&g->block, &e);
}

void rig_copy(struct rig *r, bool back)
{
    int rc = 0;

    for (size_t i = 0; i < r->graph->ntensors; i++)
        rc |= copy_block(&r->tensors[i], back);
    for (size_t i = 0; i < r->graph->nops; i++)
        rc |= copy_block(&r->workspaces[i], back) | copy_block(&r->kept[i], back);
    if (rc)
        bail_out("a copy to or from the device failed");
}

/* Points *p, if it is in the block, to the same place on the device, or back. */
static bool move_pointer(const struct guarded *g, void **p, bool back)
{
    const struct mirror *m = &g->block;
    char *from = back ? m->there : m->host, *to = back ? m->host : m->there, *at = *p;

    if (at < from || at >= from + m->nbytes)
        return false;
    *p = to + (at - from);
    return true;
}

/* Points tensors and ops to the memory of the device, or back. A tensor may be in another's
 * block. */
static void move_all(struct rig *r, bool back)
{
    size_t n = r->graph->ntensors;

    for (size_t i = 0; r->device && i < n; i++) {
        void *p = r->graph->tensors[i]->data;
        for (size_t k = 0; k < n && !move_pointer(&r->tensors[k], &p, back); k++)
            ;
        r->graph->tensors[i]->data = p;
    }
    for (size_t i = 0; r->device && i < r->graph->nops; i++) {
        move_pointer(&r->workspaces[i], &r->graph->ops[i]->workspace, back);
        move_pointer(&r->kept[i], &r->graph->ops[i]->kept, back);
    }
}

static void run_ops(struct rig *r, struct op **ops, size_t n, long times)
{
    struct exec x;

    move_all(r, false);
    begin_run(r, &x);
    for (long i = 0; i < times; i++)
        for (size_t k = 0; k < n; k++)
            run_op(ops[k], &x);
    end_run(r, &x);
    move_all(r, true);
}

void rig_run(struct rig *r, size_t n)
{

    for (size_t i = 0; i < r->graph->ntensors; i++)
        if (is_result(r, r->graph->tensors[i], n))
            guarded_clear(&r->tensors[i]);
    for (size_t i = 0; i < n; i++) {
        guarded_clear(&r->workspaces[i]);
        guarded_clear(&r->kept[i]);
    }
    rig_copy(r, false);
    run_ops(r, r->graph->ops, n, 1);
    rig_copy(r, true);
}

void rig_repeat(struct rig *r, struct op *op, long times)
{
    run_ops(r, &op, 1, times);
}

bool rig_is_intact(const struct rig *r)
{
    for (size_t i = 0; i < r->graph->ntensors; i++)
        if (!guarded_is_intact(&r->tensors[i]))
            return false;
    for (size_t i = 0; i < r->graph->nops; i++)
        if (!guarded_is_intact(&r->workspaces[i]) || !guarded_is_intact(&r->kept[i]))
            return false;
    return true;
}
