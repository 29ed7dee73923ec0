/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/backends/cuda/cudnn/cudnn_conv.h"

#include "src/clock.h"
#include "trainer/backends/cuda/cudnn/cudnn_internal.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define TRIES 3         /* engines of a search that are timed at most */
#define TRY_SECONDS 0.3 /* no further engine of a search is timed after so long */
#define MIN_ROOM ((size_t)1 << 20)
#define MAX_ROOM ((size_t)256 << 20)
#define ALIGN 256

struct cudnn_device {
    const struct cudnn_calls *calls;
    void *handle;
    char gpu[128];
    struct map answers; /* by describe_problem without a tail: whether there is an engine */
};

struct cudnn_op {
    struct cudnn_problem problem; /* its tail is what an engine's graph may contain */
    size_t room;   /* bytes of workspace for the engine, and for the passes behind it */
    struct cudnn_search *fused, *search; /* engines of the graph with the tail, and of that
                                          * without; or NULL */
    struct cudnn_plan *plan;             /* the engine that was chosen, or NULL */
};

/* An op as a convolution between x, its source, and y, its result. */
struct operands {
    enum cudnn_direction direction;
    const struct tensor *x, *y, *w;
    const struct tensor *bias, *biased; /* bias, or NULL; the result that it is added to */
    const struct tensor *db, *summed;   /* db = sums of summed over pixels; NULL: none */
    int64_t stride, pad, dilation;
    bool relu; /* behind the bias */
};

/* Returns whether the first engine is taken without timing any. */
static bool takes_first(const struct device *d)
{
    const char *word = getenv("UNET_CUDNN");

    return d->config.deterministic || (word && strcmp(word, "only") == 0);
}

static struct operands operands_of(const struct op *op)
{
    const struct op_kind *kind = op->kind;
    struct tensor *const *in = op->in, *const *out = op->out;
    struct operands o = {.stride = op->attr.stride > 1 ? 2 : 1, .dilation = op_dilation(op)};

    o.pad = o.dilation * (op->attr.kernel / 2);

    if (kind == &conv_transpose2d_kind || kind == &conv_transpose2d_grad_input_kind ||
        kind == &conv_transpose2d_grad_weights_kind) {
        o.stride = 2;
        o.pad = 0;
    }
    if (kind == &conv2d_grad_weights_kind || kind == &conv_transpose2d_grad_weights_kind) {
        bool turned = kind == &conv_transpose2d_grad_weights_kind;

        o.direction = CUDNN_WEIGHTS;
        o.x = in[turned ? 0 : 1];
        o.y = in[turned ? 1 : 0];
        o.w = out[0];
        o.db = out[1];
        o.summed = in[0];
        return o;
    }
    o.direction = kind == &conv2d_grad_input_kind || kind == &conv_transpose2d_kind
                      ? CUDNN_DATA
                      : CUDNN_FORWARD;
    o.x = o.direction == CUDNN_DATA ? out[0] : in[0];
    o.y = o.direction == CUDNN_DATA ? in[0] : out[0];
    o.w = in[1];
    o.bias = in[2]; /* gradients have none */
    o.biased = out[0];
    o.relu = kind == &conv2d_relu_kind;
    return o;
}

/* The bias of a forward convolution, and a ReLU behind it, go into the engine's graph. */
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
                                  .dilation = o->dilation,
                                  .dtype = o->x->dtype};
}

/* Returns the bytes of workspace that an engine may take. */
static size_t room_of(const struct operands *o)
{
    size_t images = tensor_nbytes(o->x) + tensor_nbytes(o->y);

    return images < MIN_ROOM ? MIN_ROOM : images < MAX_ROOM ? round_up(images, ALIGN) : MAX_ROOM;
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
    return err_set(e, ERR_PEER, "cuDNN %zu does not start on %s (%s)", dnn->calls->get_version(),
                   dnn->gpu, dnn->calls->get_error_string(rc));
}

/* Returns NULL with the reason if cuDNN is missing or does not start on this device. */
static struct cudnn_device *open_device(struct device *d, struct err *e)
{
    struct cudnn_device *dnn = d->cudnn;

    if (dnn)
        return dnn;
    dnn = calloc(1, sizeof *dnn);
    if (!dnn) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    describe_gpu(d, dnn->gpu, sizeof dnn->gpu);
    dnn->calls = cudnn_library_open(e);
    if (!dnn->calls || open_handle(dnn, d, e)) {
        cudnn_conv_close(dnn);
        return NULL;
    }
    return d->cudnn = dnn;
}

void cudnn_conv_close(struct cudnn_device *d)
{
    if (!d)
        return;
    map_destroy(&d->answers);
    if (d->handle)
        (void)d->calls->destroy(d->handle);
    free(d);
}

/* ---- whether there is an engine */

static void describe_problem(const struct cudnn_device *dnn, const struct cudnn_problem *p,
                             char key[CUDNN_KEY_SIZE])
{
    static const char *const directions[] = {"forward", "data", "weights"};
    static const char *const tails[] = {[CUDNN_ALONE] = "", [CUDNN_BIAS] = ", bias",
                                        [CUDNN_BIAS_RELU] = ", bias, relu"};
    static const char *const types[] = {
        [DTYPE_F32] = "f32", [DTYPE_BF16] = "bf16", [DTYPE_F16] = "fp16"};
    char spread[40] = "";

    if (p->dilation > 1)
        snprintf(spread, sizeof spread, ", dilation %lld", (long long)p->dilation);
    snprintf(key, CUDNN_KEY_SIZE,
             "%s, cuDNN %zu, %s %lldx%lldx%lldx%lld to %lldx%lldx%lld, side %lld, "
             "stride %lld%s, %s%s",
             dnn->gpu, dnn->calls->get_version(), directions[p->direction], (long long)p->n,
             (long long)p->h, (long long)p->w, (long long)p->c, (long long)p->oh,
             (long long)p->ow, (long long)p->k, (long long)p->side, (long long)p->stride, spread,
             p->dtype == DTYPE_F32 && p->tf32 ? "tf32" : types[p->dtype], tails[p->tail]);
}

static bool find_engine(const struct cudnn_device *dnn, const struct cudnn_problem *p, size_t room)
{
    struct err e;
    struct cudnn_search *s = cudnn_plan_search(dnn->calls, dnn->handle, p, &e);
    struct cudnn_plan *plan = s ? cudnn_plan_next(s, room) : NULL;
    bool has = plan != NULL;

    cudnn_plan_close(plan);
    cudnn_plan_end(s);
    return has;
}

/* Asks cuDNN once for each problem. */
static bool has_engine(struct cudnn_device *dnn, struct cudnn_problem p, size_t room)
{
    char key[CUDNN_KEY_SIZE];
    size_t has;

    p.tail = CUDNN_ALONE;
    describe_problem(dnn, &p, key);
    if (!map_get(&dnn->answers, key, &has)) {
        has = find_engine(dnn, &p, room);
        (void)map_set(&dnn->answers, key, has); /* without memory cuDNN is asked again */
    }
    return has;
}

static struct cudnn_problem problem_on(const struct operands *o, const struct device *d)
{
    struct cudnn_problem p = problem_of(o);

    p.tf32 = d->config.tf32;
    p.deterministic = d->config.deterministic;
    return p;
}

/* Floats are supported whatever cuDNN says, as nothing else can do them: prepare_cudnn reports that
 * there is no engine. */
static bool supports_cudnn(const struct op *op)
{
    struct device *d = cuda_queue_current();
    struct err e;

    struct operands o = operands_of(op);
    if (!cuda_supports(op) || o.x->dtype != o.y->dtype)
        return false;
    struct cudnn_device *dnn = o.x->dtype != DTYPE_F32 && d ? open_device(d, &e) : NULL;
    return !dnn || has_engine(dnn, problem_on(&o, d), room_of(&o));
}

/* ---- an op */

static int no_engine(const struct cudnn_device *dnn, const struct cudnn_problem *p, const char *why,
                     struct err *e)
{
    char key[CUDNN_KEY_SIZE];

    describe_problem(dnn, p, key);
    return err_set(e, ERR_PEER, "%s: %s; update cuDNN (compute capability 7.0 needs cuDNN 9.10 or "
                   "older), or train.backend: cpu (--backend cpu) computes on the CPU", key, why);
}

static int begin_cudnn(struct op *op, struct exec *x, struct err *e);

static int prepare_cudnn(struct op *op, struct err *e)
{
    struct operands o = operands_of(op);
    struct device *d = cuda_queue_current();
    struct cudnn_device *dnn = d ? open_device(d, e) : NULL;

    if (!dnn)
        return d ? -1 : err_set(e, ERR_INTERNAL, "no device is open");
    struct cudnn_problem problem = problem_on(&o, d);
    if (!has_engine(dnn, problem, room_of(&o)))
        return no_engine(dnn, &problem, "cuDNN has no engine for it", e);
    struct cudnn_op *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, ERR_INTERNAL, "out of memory");
    c->problem = problem;
    c->room = room_of(&o);
    if (o.db && c->room < cuda_sum_bias_size(o.summed))
        c->room = round_up(cuda_sum_bias_size(o.summed), ALIGN);
    op->workspace_size = c->room + ALIGN;
    op->kept_size = tensor_count(o.w) * dtype_size(o.x->dtype);
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
    free(c);
}

/* op->kept is weights in cuDNN's order, or their gradient until the next flush. */
static int run_cudnn(struct op *op, struct exec *x, struct err *e)
{
    struct cudnn_op *c = op->priv;
    struct device *d = x->device;
    struct operands o = operands_of(op);
    char *room = (char *)op->workspace + (ALIGN - (uintptr_t)op->workspace % ALIGN) % ALIGN;
    enum cudnn_tail tail = cudnn_plan_engine(c->plan)->tail;
    void *const pointers[] = {[CUDNN_X] = o.x->data, [CUDNN_Y] = o.y->data, [CUDNN_W] = op->kept,
                              [CUDNN_B] = o.bias ? o.bias->data : NULL};

    if (cudnn_plan_run(c->plan, pointers, room, e))
        return -1;
    if (o.direction == CUDNN_WEIGHTS)
        cuda_pack(d, o.w, op->kept, c->problem.dtype, true);
    if ((o.bias || o.relu) && tail == CUDNN_ALONE)
        cuda_add_bias(d, o.biased, o.bias, o.relu);
    if (o.db)
        cuda_sum_bias(d, o.summed, o.db, room);
    return 0;
}

static void begin_chosen(const struct op *op, struct exec *x)
{
    const struct cudnn_op *c = op->priv;
    struct operands o = operands_of(op);

    if (o.direction != CUDNN_WEIGHTS)
        cuda_pack(x->device, o.w, op->kept, c->problem.dtype, false);
}

/* ---- choosing an engine */

struct attempt {
    struct op *op;
    struct exec *x;
};

static int try_once(void *arg, struct err *e)
{
    const struct attempt *a = arg;

    begin_chosen(a->op, a->x);
    cuda_pack_flush(a->x->device);
    int rc = run_cudnn(a->op, a->x, e);
    cuda_pack_flush(a->x->device);
    return rc;
}

/* Times the op with c->plan. Returns false if that fails, or if a CUDA graph cannot contain the
 * plan. One that takes longer than best_us is timed once. */
static bool time_attempt(const struct attempt *a, double best_us, double *us)
{
    struct cudnn_op *c = a->op->priv;
    struct device *d = a->x->device;
    double seconds;
    struct err e;

    if (cuda_queue_time(d, try_once, (void *)a, 1e-6 * best_us, &seconds, &e) ||
        !cuda_queue_can_capture(d, try_once, (void *)a)) {
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
            *best = (struct cudnn_choice){*cudnn_plan_engine(c->plan), us};
            cudnn_plan_close(*fastest);
            *fastest = c->plan;
        } else {
            cudnn_plan_close(c->plan);
        }
    }
    c->plan = NULL;
}

/* Takes the choice that an earlier run or rank 0 has made, or times engines with the whole tail and
 * engines followed by our passes, and keeps the choice (cudnn_choices_add). If all that are timed
 * fail, the first that runs is taken. */
static void choose_best(const struct attempt *a, const struct cudnn_device *dnn)
{
    struct cudnn_op *c = a->op->priv;
    struct cudnn_choice choice = {.us = 1e12};
    struct cudnn_plan *fastest = NULL;
    char key[CUDNN_KEY_SIZE];

    describe_problem(dnn, &c->problem, key);
    if (cudnn_choices_find(key, &choice)) {
        struct cudnn_search *of = choice.engine.tail == CUDNN_ALONE ? c->search : c->fused;
        c->plan = of ? cudnn_plan_find(of, &choice.engine, c->room) : NULL;
    }
    bool known = c->plan != NULL;
    if (!known) {
        choice.us = 1e12;
        try_engines(a, c->fused, &choice, &fastest);
        try_engines(a, c->search, &choice, &fastest);
        c->plan = fastest;
    }
    if (!c->plan && !choose_first(a, c->search))
        return;
    if (fastest)
        cudnn_choices_add(key, &choice);
    log_debug("%s: engine %lld, %.1f us%s", key, (long long)cudnn_plan_engine(c->plan)->id,
              choice.us, known ? " (kept)" : "");
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

static int choose_engine(struct op *op, struct exec *x, struct err *e)
{
    struct cudnn_op *c = op->priv;
    const struct cudnn_device *dnn = open_device(x->device, e);
    struct attempt a = {op, x};

    if (!dnn)
        return -1;
    cuda_pack_flush(x->device); /* of earlier ops, not into a capture that is only tried */
    cudnn_plan_end(c->fused);
    cudnn_plan_end(c->search);
    c->fused = c->search = NULL;
    open_searches(op, dnn);
    if (takes_first(x->device))
        (void)(choose_first(&a, c->fused) || choose_first(&a, c->search));
    else
        choose_best(&a, dnn);
    return c->plan ? 0 : no_engine(dnn, &c->problem, "no engine of cuDNN can be run", e);
}

void cudnn_conv_choose(struct op *op, struct exec *x)
{
    const struct cudnn_op *c = op->priv;
    struct err later; /* the op's first run reports it */

    if (op->kernel->supports == supports_cudnn && !c->plan)
        (void)choose_engine(op, x, &later);
}

static int begin_cudnn(struct op *op, struct exec *x, struct err *e)
{
    const struct cudnn_op *c = op->priv;

    if (!c->plan && choose_engine(op, x, e))
        return -1;
    begin_chosen(op, x);
    return 0;
}

#define CUDNN_KERNEL(name)                                                \
    const struct kernel cuda_##name = {                                   \
        .kind = &name##_kind, .supports = supports_cudnn,                 \
        .prepare = prepare_cudnn, .run = run_cudnn,                       \
        .release = release_cudnn, .types = KERNEL_ANY}

CUDNN_KERNEL(conv2d);
CUDNN_KERNEL(conv2d_relu);
CUDNN_KERNEL(conv2d_grad_input);
CUDNN_KERNEL(conv2d_grad_weights);
CUDNN_KERNEL(conv_transpose2d);
CUDNN_KERNEL(conv_transpose2d_grad_input);
CUDNN_KERNEL(conv_transpose2d_grad_weights);
