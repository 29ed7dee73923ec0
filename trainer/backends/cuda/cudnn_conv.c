/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cudnn_conv.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/backends/cuda/cuda_backend.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/cuda_queue.h"
#include "trainer/backends/cuda/cudnn/cudnn_choices.h"
#include "trainer/backends/cuda/cudnn/cudnn_plan.h"

#define TRIES 3         /* engines of a search that are timed at most */
#define TRY_SECONDS 0.3 /* no further engine of a search is timed after so long */
#define MIN_ROOM ((size_t)1 << 20)
#define MAX_ROOM ((size_t)64 << 20)
#define ALIGN 256

struct cudnn_device {
    const struct cudnn_calls *calls;
    void *handle;
    char gpu[128];
};

struct cudnn_op {
    const struct kernel *own; /* the own kernel for the op, */
    struct op own_op;         /* and the op as that has prepared it */
    struct cudnn_problem problem; /* its tail is what an engine's graph may contain */
    size_t packed; /* bytes of weights in cuDNN's order, which the op keeps, or of their gradient,
                    * which is in the workspace */
    size_t room;   /* bytes of workspace for the engine, and for the passes behind it */
    bool chosen;
    struct cudnn_search *fused, *search; /* engines of the graph with the tail, and of that
                                          * without; or NULL */
    struct cudnn_plan *plan;             /* the engine that was chosen; NULL: the own kernel */
};

/* An op as a convolution between x, its source, and y, its result. */
struct operands {
    enum cudnn_direction direction;
    const struct tensor *x, *y, *w;
    const struct tensor *bias, *biased; /* bias, or NULL; the result that it is added to */
    const struct tensor *db, *summed;   /* db = sums of summed over pixels; NULL: none */
    int64_t stride, pad;
    bool relu; /* behind the bias */
};

enum { AUTO, OFF, ONLY };

static int use_of_cudnn(void)
{
    const char *word = getenv("UNET_CUDNN");

    return !word ? AUTO : strcmp(word, "off") == 0 ? OFF : strcmp(word, "only") == 0 ? ONLY : AUTO;
}

static struct operands operands_of(const struct op *op)
{
    const struct op_kind *kind = op->kind;
    const struct tensor *in[] = {op->in[0], op->in[1], op->in[2]};
    const struct tensor *out = op->out[0], *dw = op->out[1], *db = op->out[2];
    int64_t stride = op->attr.stride > 1 ? op->attr.stride : 1, pad = op->attr.kernel / 2;

    if (kind == &conv2d_kind)
        return (struct operands){CUDNN_FORWARD, in[0], out,    in[1], in[2],        out,
                                 NULL,          NULL,  stride, pad,   op->attr.relu};
    if (kind == &conv2d_grad_kind && out)
        return (struct operands){CUDNN_DATA, out, in[0], in[1], NULL, NULL, NULL, NULL,
                                 stride, pad, false};
    if (kind == &conv2d_grad_kind)
        return (struct operands){CUDNN_WEIGHTS, in[2], in[0], dw, NULL, NULL, db, in[0],
                                 stride, pad, false};
    if (kind == &conv_transpose2d_kind)
        return (struct operands){CUDNN_DATA, out,  in[0], in[1], in[2], out,
                                 NULL,       NULL, 2,     0,     false};
    if (out)
        return (struct operands){CUDNN_FORWARD, in[0], out, in[1], NULL, NULL, NULL, NULL, 2, 0,
                                 false};
    return (struct operands){CUDNN_WEIGHTS, in[0], in[2], dw, NULL, NULL, db, in[0], 2, 0, false};
}

/* The bias of a forward convolution, and a ReLU behind it, go into the engine's graph. Moments do
 * not: they are of the numbers that were written. */
static struct cudnn_problem problem_of(const struct operands *o)
{
    const int64_t *x = o->x->shape.dim, *y = o->y->shape.dim, *w = o->w->shape.dim;
    enum cudnn_tail tail = o->direction != CUDNN_FORWARD || !o->bias ? CUDNN_ALONE
                           : o->relu                           ? CUDNN_BIAS_RELU
                                                               : CUDNN_BIAS;

    return (struct cudnn_problem){.direction = o->direction,
                                  .tail = tail,
                                  .n = x[DIM_N],
                                  .h = x[DIM_H],
                                  .w = x[DIM_W],
                                  .c = x[DIM_C],
                                  .oh = y[DIM_H],
                                  .ow = y[DIM_W],
                                  .k = y[DIM_C],
                                  .side = w[2],
                                  .stride = o->stride,
                                  .pad = o->pad,
                                  .dtype = o->x->dtype};
}

/* Returns NULL without cuDNN, and reports that once. */
static const struct cudnn_calls *find_cudnn(void)
{
    static atomic_bool reported;
    struct err e;
    const struct cudnn_calls *calls = cudnn_library_open(&e);

    if (!calls && !atomic_exchange(&reported, true))
        log_info("without cuDNN: %s; own kernels do the convolutions", e.text);
    return calls;
}

static const struct kernel *find_own(const struct op *op);

static bool supports_cudnn(const struct op *op)
{
    if (op->kind->nout > 1 && op->out[0] && op->out[1]) /* one gradient at a time */
        return false;
    struct operands o = operands_of(op);
    struct cudnn_problem p = problem_of(&o);

    return use_of_cudnn() != OFF && cuda_supports(op) && o.x->dtype == o.y->dtype &&
           o.w->shape.dim[3] == p.side && p.oh == (p.h + 2 * p.pad - p.side) / p.stride + 1 &&
           p.ow == (p.w + 2 * p.pad - p.side) / p.stride + 1 && find_own(op) && find_cudnn();
}

/* Returns the first kernel of the backend's table that can do the op without cuDNN. */
static const struct kernel *find_own(const struct op *op)
{
    const struct kernel *const *list = cuda_backend.kernels;

    for (size_t i = 0; list[i]; i++)
        if (list[i]->supports != supports_cudnn && backend_can(&cuda_backend, list[i], op))
            return list[i];
    return NULL;
}

static size_t round_up(size_t nbytes)
{
    return (nbytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int begin_cudnn(struct op *op, struct exec *x, struct err *e);

static int prepare_cudnn(struct op *op, struct err *e)
{
    struct cudnn_op *c = calloc(1, sizeof *c);
    struct operands o = operands_of(op);
    size_t images = tensor_nbytes(o.x) + tensor_nbytes(o.y);

    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    c->own = find_own(op);
    c->own_op = *op;
    c->own_op.workspace_size = 0;
    if (c->own->prepare && c->own->prepare(&c->own_op, e)) {
        free(c);
        return -1;
    }
    op->workspace_size = c->own_op.workspace_size;
    op->kept_size = c->own_op.kept_size;
    c->problem = problem_of(&o);
    c->packed = round_up(tensor_count(o.w) * dtype_size(o.x->dtype));
    c->room = images < MIN_ROOM ? MIN_ROOM : images < MAX_ROOM ? round_up(images) : MAX_ROOM;
    if (o.db && c->room < cuda_sum_bias_size(o.summed))
        c->room = round_up(cuda_sum_bias_size(o.summed));
    size_t own = c->room + ALIGN + (o.direction == CUDNN_WEIGHTS ? c->packed : 0);
    if (op->workspace_size < own)
        op->workspace_size = own;
    if (o.direction != CUDNN_WEIGHTS && op->kept_size < c->packed)
        op->kept_size = c->packed;
    op->begin = begin_cudnn;
    op->priv = c;
    return 0;
}

static void release_cudnn(struct op *op)
{
    struct cudnn_op *c = op->priv;

    cudnn_plan_close(c->plan);
    cudnn_plan_end(c->fused);
    cudnn_plan_end(c->search);
    if (c->own->release)
        c->own->release(&c->own_op);
    free(c);
}

static int run_own(const struct op *op, struct exec *x, struct err *e)
{
    struct cudnn_op *c = op->priv;

    c->own_op.workspace = op->workspace;
    c->own_op.kept = op->kept;
    return c->own->run(&c->own_op, x, e);
}

static int run_plan(const struct op *op, struct exec *x, struct err *e)
{
    struct cudnn_op *c = op->priv;
    struct device *d = x->device;
    struct operands o = operands_of(op);
    char *aligned = (char *)op->workspace + (ALIGN - (uintptr_t)op->workspace % ALIGN) % ALIGN;
    char *weights = o.direction == CUDNN_WEIGHTS ? aligned : (char *)op->kept;
    char *room = aligned + (o.direction == CUDNN_WEIGHTS ? c->packed : 0);
    enum cudnn_tail tail = cudnn_plan_engine(c->plan)->tail;
    void *const pointers[] = {[CUDNN_X] = o.x->data, [CUDNN_Y] = o.y->data, [CUDNN_W] = weights,
                              [CUDNN_B] = o.bias ? o.bias->data : NULL};

    if (cudnn_plan_run(c->plan, pointers, room, e))
        return -1;
    if (o.direction == CUDNN_WEIGHTS)
        cuda_reorder_weights(d, weights, c->problem.dtype, o.w);
    if ((o.bias || o.relu) && tail == CUDNN_ALONE)
        cuda_add_bias(d, o.biased, o.bias, o.relu);
    if (o.db)
        cuda_sum_bias(d, o.summed, o.db, room);
    if (op->out[OP_OUT_MOMENTS])
        cuda_sum_parts(d, op->out[0], op->out[OP_OUT_MOMENTS]);
    return 0;
}

/* What is done once for the weights, for the engine or the own kernel. */
static int begin_chosen(const struct op *op, struct exec *x, struct err *e)
{
    struct cudnn_op *c = op->priv;
    struct operands o = operands_of(op);

    c->own_op.kept = op->kept;
    if (!c->plan)
        return c->own_op.begin ? c->own_op.begin(&c->own_op, x, e) : 0;
    const int64_t *dim = o.w->shape.dim;
    unsigned in = (unsigned)dim[1], taps = (unsigned)(dim[2] * dim[3]);
    if (o.direction != CUDNN_WEIGHTS)
        cuda_pack(x->device, (struct pack_args){
            .w = o.w->data, .packed = op->kept, .in = in, .out = (unsigned)dim[0], .taps = taps,
            .w_out = taps * in, .w_in = taps, .order = PACK_CUDNN, .type = c->problem.dtype,
            .count = (unsigned)tensor_count(o.w)});
    return 0;
}

/* ---- choosing an engine */

struct attempt {
    struct op *op;
    struct exec *x;
};

static int try_once(void *arg, struct err *e)
{
    const struct attempt *a = arg;
    const struct cudnn_op *c = a->op->priv;

    if (begin_chosen(a->op, a->x, e))
        return -1;
    cuda_pack_flush(a->x->device);
    return c->plan ? run_plan(a->op, a->x, e) : run_own(a->op, a->x, e);
}

/* Times the op with c->plan, or with the own kernel if that is NULL. Returns false if it fails, or
 * if a CUDA graph cannot contain the plan. One that takes longer than best_us is timed once. */
static bool time_attempt(const struct attempt *a, double best_us, double *us)
{
    struct cudnn_op *c = a->op->priv;
    struct device *d = a->x->device;
    double seconds;
    struct err e;

    if (cuda_queue_time(d, try_once, (void *)a, 1e-6 * best_us, &seconds, &e) ||
        (c->plan && !cuda_queue_can_capture(d, try_once, (void *)a))) {
        if (c->plan)
            log_debug("cuDNN: engine %lld is skipped: it cannot be run or captured",
                      (long long)cudnn_plan_engine(c->plan)->id);
        return false;
    }
    *us = 1e6 * seconds;
    return true;
}

/* Sets c->plan to the first engine of a search that runs and that a CUDA graph can contain. Returns
 * false if there is none. */
static bool choose_first(const struct attempt *a, struct cudnn_search *s)
{
    struct cudnn_op *c = a->op->priv;
    struct err e;

    while (s && (c->plan = cudnn_plan_next(s, c->room))) {
        if (try_once((void *)a, &e) == 0 &&
            cuda_queue_can_capture(a->x->device, try_once, (void *)a))
            return true;
        cudnn_plan_close(c->plan);
    }
    return c->plan != NULL;
}

/* Times engines of a search. One that is faster than *best becomes *best, and its plan *fastest. */
static void try_engines(const struct attempt *a, struct cudnn_search *s, struct cudnn_choice *best,
                        struct cudnn_plan **fastest)
{
    struct cudnn_op *c = a->op->priv;
    double began = clock_now(), us;

    for (int i = 0; s && i < TRIES && clock_now() - began < TRY_SECONDS; i++) {
        c->plan = cudnn_plan_next(s, c->room);
        if (!c->plan)
            break;
        if (time_attempt(a, best->us, &us) && us < best->us) {
            *best = (struct cudnn_choice){false, *cudnn_plan_engine(c->plan), us};
            cudnn_plan_close(*fastest);
            *fastest = c->plan;
        } else {
            cudnn_plan_close(c->plan);
        }
    }
    c->plan = NULL;
}

/* Times the own kernel, engines with the whole tail, and engines followed by our passes. */
static void choose_fastest(const struct attempt *a, struct cudnn_choice *best)
{
    struct cudnn_op *c = a->op->priv;
    struct cudnn_plan *fastest = NULL;

    *best = (struct cudnn_choice){.own = true};
    if (!time_attempt(a, 0, &best->us))
        best->us = 1e12;
    try_engines(a, c->fused, best, &fastest);
    try_engines(a, c->search, best, &fastest);
    c->plan = fastest;
}

static void describe_problem(const struct cudnn_device *dnn, const struct cudnn_problem *p,
                             bool moments, char key[CUDNN_KEY_SIZE])
{
    static const char *const directions[] = {"forward", "data", "weights"};
    static const char *const tails[] = {[CUDNN_ALONE] = "", [CUDNN_BIAS] = ", bias",
                                        [CUDNN_BIAS_RELU] = ", bias, relu"};
    static const char *const types[] = {
        [DTYPE_F32] = "f32", [DTYPE_BF16] = "bf16", [DTYPE_F16] = "fp16"};

    snprintf(key, CUDNN_KEY_SIZE,
             "%s, cuDNN %zu, %s %lldx%lldx%lldx%lld to %lldx%lldx%lld, side %lld, "
             "stride %lld, %s%s%s",
             dnn->gpu, dnn->calls->get_version(), directions[p->direction], (long long)p->n,
             (long long)p->h,
             (long long)p->w, (long long)p->c, (long long)p->oh, (long long)p->ow, (long long)p->k,
             (long long)p->side, (long long)p->stride,
             p->dtype == DTYPE_F32 && p->tf32 ? "tf32" : types[p->dtype], tails[p->tail],
             moments ? ", moments" : "");
}

/* Takes the choice that an earlier run or rank 0 has made, or times the candidates and keeps the
 * choice (cudnn_choices_add). */
static void choose_best(const struct attempt *a, const struct cudnn_device *dnn)
{
    struct cudnn_op *c = a->op->priv;
    char key[CUDNN_KEY_SIZE];
    struct cudnn_choice choice;

    describe_problem(dnn, &c->problem, a->op->out[OP_OUT_MOMENTS] != NULL, key);
    bool known = cudnn_choices_find(key, &choice);
    if (known && !choice.own) {
        struct cudnn_search *of = choice.engine.tail == CUDNN_ALONE ? c->search : c->fused;
        c->plan = of ? cudnn_plan_find(of, &choice.engine, c->room) : NULL;
        known = c->plan != NULL;
    }
    if (!known) {
        choose_fastest(a, &choice);
        cudnn_choices_add(key, &choice);
    }
    if (choice.own)
        log_debug("%s: own kernel, %.1f us%s", key, choice.us, known ? " (kept)" : "");
    else
        log_debug("%s: engine %lld, %.1f us%s", key, (long long)choice.engine.id, choice.us,
                  known ? " (kept)" : "");
}

/* ---- the device's part */

static void describe_gpu(const struct device *d, char *dst, size_t size)
{
    struct cudaDeviceProp p;

    memset(&p, 0, sizeof p);
    if (cudaGetDeviceProperties(&p, d->index) != cudaSuccess)
        snprintf(p.name, sizeof p.name, "GPU");
    snprintf(dst, size, "%.80s %d.%d with %d", p.name, p.major, p.minor, p.multiProcessorCount);
}

static int open_handle(struct cudnn_device *dnn, const struct device *d, struct err *e)
{
    int rc = dnn->calls->create(&dnn->handle);

    if (rc == DNN_STATUS_SUCCESS)
        rc = dnn->calls->set_stream(dnn->handle, d->stream);
    if (rc == DNN_STATUS_SUCCESS)
        return 0;
    if (dnn->handle)
        (void)dnn->calls->destroy(dnn->handle);
    dnn->handle = NULL;
    return err_set(e, ERR_CONFIG, "cuDNN %zu does not start (%s)", dnn->calls->get_version(),
                   dnn->calls->get_error_string(rc));
}

/* Returns NULL if cuDNN does not start on this device. */
static const struct cudnn_device *open_device(struct device *d)
{
    struct err e;

    if (!d->cudnn) {
        d->cudnn = calloc(1, sizeof *d->cudnn);
        if (!d->cudnn)
            return NULL;
        d->cudnn->calls = find_cudnn();
        if (open_handle(d->cudnn, d, &e))
            log_warn("%s: convolutions are done by unet-train's own kernels", e.text);
        describe_gpu(d, d->cudnn->gpu, sizeof d->cudnn->gpu);
    }
    return d->cudnn->handle ? d->cudnn : NULL;
}

void cudnn_conv_close(struct cudnn_device *d)
{
    if (d && d->handle)
        (void)d->calls->destroy(d->handle);
    free(d);
}

static void open_searches(const struct op *op, const struct cudnn_device *dnn)
{
    struct cudnn_op *c = op->priv;
    struct cudnn_problem alone = c->problem;
    struct err e;

    alone.tail = CUDNN_ALONE;
    c->search = cudnn_plan_search(dnn->calls, dnn->handle, &alone, &e);
    if (!c->search)
        log_debug("%s: %s", op->kind->name, e.text);
    /* Parameters are packed: a bias behind an odd number of weights may be unaligned. */
    if (c->problem.tail == CUDNN_ALONE ||
        (uintptr_t)operands_of(op).bias->data % CUDNN_GRAPH_ALIGN)
        return;
    c->fused = cudnn_plan_search(dnn->calls, dnn->handle, &c->problem, &e);
    if (!c->fused)
        log_debug("%s in one pass: %s", op->kind->name, e.text);
}

static void choose_engine(struct op *op, struct exec *x)
{
    struct cudnn_op *c = op->priv;
    const struct cudnn_device *dnn = open_device(x->device);
    struct attempt a = {op, x};

    c->chosen = true;
    if (!dnn)
        return;
    cuda_pack_flush(x->device); /* of earlier ops, not into a capture that is only tried */
    c->problem.tf32 = x->device->config.tf32;
    c->problem.deterministic = x->device->config.deterministic;
    open_searches(op, dnn);
    if (c->problem.deterministic || use_of_cudnn() == ONLY)
        (void)(choose_first(&a, c->fused) || choose_first(&a, c->search));
    else if (c->search)
        choose_best(&a, dnn);
}

void cudnn_conv_choose(struct op *op, struct exec *x)
{
    const struct cudnn_op *c = op->priv;

    if (op->kernel->supports == supports_cudnn && !c->chosen)
        choose_engine(op, x);
}

static int begin_cudnn(struct op *op, struct exec *x, struct err *e)
{
    cudnn_conv_choose(op, x);
    return begin_chosen(op, x, e);
}

static int run_cudnn(struct op *op, struct exec *x, struct err *e)
{
    struct cudnn_op *c = op->priv;

    return c->plan ? run_plan(op, x, e) : run_own(op, x, e);
}

#define CUDNN_KERNEL(name, forms)                                         \
    const struct kernel cudnn_conv_##name = {                             \
        .kind = &name##_kind, .supports = supports_cudnn,                 \
        .prepare = prepare_cudnn, .run = run_cudnn,                       \
        .release = release_cudnn, .accepts = forms, .types = KERNEL_ANY}

CUDNN_KERNEL(conv2d, OP_NO_BIAS | OP_GIVES_MOMENTS | OP_RELU);
CUDNN_KERNEL(conv2d_grad, OP_NO_BIAS | OP_INPUT_ONLY | OP_WEIGHTS_ONLY);
CUDNN_KERNEL(conv_transpose2d, 0);
CUDNN_KERNEL(conv_transpose2d_grad, OP_INPUT_ONLY | OP_WEIGHTS_ONLY);
