/* SPDX-License-Identifier: BSD-3-Clause */
/* Building, compiling and running a graph. */
#include "src/base.h"
#include "trainer/core/graph.h"

#include <fnmatch.h>

#include "src/clock.h"

/* The look-up of kernels in the tables of a backend and its fallback. */

static bool takes_types(const struct kernel *kernel, const struct op *op)
{
    return kernel->types == KERNEL_ANY ||
           (kernel->types == KERNEL_FLOATS) == (op_half(op) == DTYPE_F32);
}

static const struct kernel *find_kernel(const struct backend *backend, const struct op *op)
{
    for (size_t i = 0; backend->kernels[i]; i++) {
        const struct kernel *kernel = backend->kernels[i];

        if (kernel->kind == op->kind && takes_types(kernel, op) &&
            (!kernel->supports || kernel->supports(op)))
            return kernel;
    }
    return NULL;
}

bool backend_has_kernel(const struct backend *backend, const struct op *op)
{
    return find_kernel(backend, op) != NULL;
}

const struct kernel *backend_kernel(const struct backend *backend, const struct op *op)
{
    const struct kernel *kernel = find_kernel(backend, op);

    return kernel || !backend->fallback ? kernel : find_kernel(backend->fallback, op);
}

struct graph *graph_create(bool training, struct err *e)
{
    struct graph *g = mem_zero(1, sizeof *g, e);

    if (g)
        g->training = training;
    return g;
}

void graph_destroy(struct graph *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->nops; i++) {
        struct op *op = g->ops[i];

        if (op->kernel && op->kernel->release)
            op->kernel->release(op);
        free(op);
    }
    for (size_t i = 0; i < g->ntensors; i++)
        free(g->tensors[i]);
    free(g->ops);
    free(g->tensors);
    free(g->params);
    free(g);
}

static int extend_array(void **array, size_t count, size_t size, struct err *e)
{
    void *p = realloc(*array, (count + 1) * size);

    if (!p)
        return mem_fail(e);
    *array = p;
    return 0;
}

static struct tensor *create_tensor(struct graph *g, const char *name, const char *suffix,
                                    enum tensor_place place, struct shape shape, struct err *e)
{
    struct tensor *t;

    if (extend_array((void **)&g->tensors, g->ntensors, sizeof *g->tensors, e) < 0)
        return NULL;
    t = mem_zero(1, sizeof *t, e);
    if (!t)
        return NULL;
    snprintf(t->name, sizeof t->name, "%s%s", name, suffix);
    t->shape = shape;
    t->place = place;
    g->tensors[g->ntensors++] = t;
    return t;
}

struct tensor *graph_input(struct graph *g, const char *name, struct shape shape, struct err *e)
{
    struct tensor *t = create_tensor(g, name, "", TENSOR_ARENA, shape, e);

    if (t)
        t->pinned = true;
    return t;
}

bool graph_next_pattern(const char **frozen, char dst[TENSOR_NAME_SIZE])
{
    size_t n = *frozen ? strcspn(*frozen, ",") : 0;

    if (!*frozen || !**frozen)
        return false;
    snprintf(dst, TENSOR_NAME_SIZE, "%.*s", (int)n, *frozen);
    *frozen += n + ((*frozen)[n] == ',');
    return true;
}

static bool is_frozen(const char *patterns, const char *name)
{
    char pattern[TENSOR_NAME_SIZE];
    bool found = false;

    while (!found && graph_next_pattern(&patterns, pattern))
        found = fnmatch(pattern, name, 0) == 0;
    return found;
}

struct tensor *graph_param(struct graph *g, const char *layer, const char *what,
                           enum weights_role role, struct shape shape, double low, double high,
                           struct err *e)
{
    char name[TENSOR_NAME_SIZE];
    struct tensor *t;

    snprintf(name, sizeof name, "%s.%s", layer, what);
    bool frozen = role == WEIGHTS_PARAM && is_frozen(g->frozen, name);
    bool trainable = role == WEIGHTS_PARAM && !frozen;
    if (extend_array((void **)&g->params, g->nparams, sizeof *g->params, e) < 0)
        return NULL;
    t = create_tensor(g, name, "", trainable ? TENSOR_VALUE : TENSOR_STATE, shape, e);
    if (!t)
        return NULL;
    if (trainable && g->training) {
        t->needs_grad = true;
        t->grad = create_tensor(g, name, ".grad", TENSOR_GRAD, shape, e);
        if (!t->grad)
            return NULL;
    }
    g->params[g->nparams++] = (struct graph_param){
        .tensor = t, .role = trainable ? WEIGHTS_PARAM : WEIGHTS_STATE, .frozen = frozen,
        .low = low, .high = high};
    return t;
}

static int fill_outputs(struct graph *g, struct op *op, struct err *e)
{
    struct shape shapes[OP_MAX_OUT] = {0};

    if (op->kind->infer(&op->attr, op->in, shapes, e) < 0)
        return -1;
    for (int i = 0; i < op->kind->nout; i++) {
        char suffix[32];

        if (!op->out[i] && op->kind->may_lack_out >> i & 1)
            continue;
        if (op->out[i]) {
            if (!shape_equal(&op->out[i]->shape, &shapes[i]))
                return err_set(e, ERR_INTERNAL, "%s: result %s has the wrong shape",
                               op->kind->name, op->out[i]->name);
            continue;
        }
        snprintf(suffix, sizeof suffix, "#%zu.%d", g->nops, i);
        op->out[i] = create_tensor(g, op->kind->name, suffix, TENSOR_ARENA, shapes[i], e);
        if (!op->out[i])
            return -1;
        for (int k = -1; op_next_in(op, &k);)
            op->out[i]->needs_grad = op->out[i]->needs_grad || op->in[k]->needs_grad;
    }
    return 0;
}

struct op *graph_append(struct graph *g, const struct op_kind *kind, const struct op_attr *attr,
                        struct tensor *const *in, struct tensor *const *out, struct err *e)
{
    struct op *op;

    for (int i = 0; i < kind->nin; i++)
        if (!in[i] && !(kind->may_lack_in >> i & 1))
            return NULL;
    if (extend_array((void **)&g->ops, g->nops, sizeof *g->ops, e) < 0)
        return NULL;
    op = mem_zero(1, sizeof *op, e);
    if (!op)
        return NULL;
    op->kind = kind;
    if (attr)
        op->attr = *attr;
    memcpy(op->in, in, (size_t)kind->nin * sizeof *in);
    if (out)
        memcpy(op->out, out, (size_t)kind->nout * sizeof *out);
    if (fill_outputs(g, op, e) < 0) {
        free(op);
        return NULL;
    }
    g->ops[g->nops++] = op;
    return op;
}

struct tensor *graph_append_result(struct graph *g, const struct op_kind *kind,
                                   const struct op_attr *attr, struct tensor *const *in,
                                   struct err *e)
{
    struct op *op = graph_append(g, kind, attr, in, NULL, e);

    return op ? op->out[0] : NULL;
}

struct tensor *graph_tensor(struct graph *g, const char *name, struct shape shape, struct err *e)
{
    return create_tensor(g, name, "", TENSOR_ARENA, shape, e);
}

bool graph_is_private(const struct graph *g, const struct op *writer, const struct op *reader)
{
    const struct tensor *t = writer->out[0];

    if (!t || t->pinned || t->place != TENSOR_ARENA)
        return false;
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i] && g->ops[i] != reader)
            for (int k = -1; op_next_in(g->ops[i], &k);)
                if (g->ops[i]->in[k] == t)
                    return false;
    return true;
}

void graph_close_up(struct graph *g)
{
    size_t n = 0, nforward = g->nforward;

    for (size_t i = 0; i < nforward; i++)
        g->nforward -= !g->ops[i];
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i])
            g->ops[n++] = g->ops[i];
    g->nops = n;
}

int graph_backward(struct graph *g, struct err *e)
{
    g->nforward = g->nops;
    for (size_t i = g->nforward; i-- > 0;) {
        const struct op *op = g->ops[i];

        if (!op->kind->is_loss && !op->out[0]->grad)
            continue;
        if (!op->kind->grad)
            return err_set(e, ERR_INTERNAL, "%s has no gradient", op->kind->name);
        if (op->kind->grad(g, op, e) < 0)
            return -1;
    }
    return 0;
}

int graph_place(struct graph *g, const struct weights *w, struct err *e)
{
    for (size_t i = 0; i < g->nparams; i++) {
        struct tensor *t = g->params[i].tensor;
        const struct weights_entry *entry = weights_find(w, t->name);

        if (!entry || entry->role != g->params[i].role || entry->count != tensor_count(t))
            return err_set(e, ERR_INTERNAL, "graph: %s is not among the weights", t->name);
        t->offset = entry->offset;
        if (t->grad)
            t->grad->offset = entry->offset;
    }
    return 0;
}

/* Sets op->ready of each op: later ops write gradients only from that offset on. */
static void find_ready(struct graph *g, size_t nparams)
{
    size_t ready = nparams;

    for (size_t i = g->nops; i-- > 0;) {
        struct op *op = g->ops[i];

        op->ready = i < g->nforward ? 0 : ready;
        for (int k = -1; op_next_out(op, &k);)
            if (op->out[k]->place == TENSOR_GRAD && op->out[k]->offset < ready)
                ready = op->out[k]->offset;
    }
}

int graph_compile(struct graph *g, const struct backend *backend, const struct weights *w,
                  struct err *e)
{
    if (graph_place(g, w, e) < 0)
        return -1;
    find_ready(g, w->nparams);
    for (size_t i = 0; i < g->nops; i++) {
        struct op *op = g->ops[i];
        const struct kernel *kernel = backend_kernel(backend, op);

        if (!kernel)
            return err_set(e, ERR_CONFIG, "backend %s can't do this %s; try another backend, or "
                           "a smaller batch if it is large", backend->name, op->kind->name);
        if (kernel->prepare && kernel->prepare(op, e) < 0)
            return err_prefix(e, "%s", op->kind->name);
        op->kernel = kernel; /* set last: graph_destroy releases prepared kernels only */
    }
    return plan_arena(g, e);
}

static void bind_tensor(struct tensor *t, float *base)
{
    if (t->dtype == DTYPE_F32)
        t->data = base + t->offset;
    else
        t->half = (uint16_t *)base + t->offset;
}

void graph_bind(struct graph *g, const struct weights *w, void *arena)
{
    float *base[] = {[TENSOR_ARENA] = arena,
                     [TENSOR_VALUE] = w->values.there,
                     [TENSOR_GRAD] = w->grad,
                     [TENSOR_STATE] = w->states.there};

    for (size_t i = 0; i < g->ntensors; i++)
        bind_tensor(g->tensors[i], base[g->tensors[i]->place]);
    for (size_t i = 0; i < g->nops; i++) {
        g->ops[i]->workspace = (char *)arena + g->ops[i]->workspace_offset;
        g->ops[i]->kept = (char *)arena + g->ops[i]->kept_offset;
    }
}

/* Returns the processor time, or, with a device, clock_now() once that is idle. The time of an op
 * is the difference between two calls. */
static double time_now(const struct exec *x)
{
    struct err e; /* a broken device makes the next op fail, too */

    if (!x->device_ops)
        return clock_cpu();
    (void)x->device_ops->drain(x->device, &e);
    return clock_now();
}

/* Only ERR_INTERNAL concerns the op itself. */
static int name_op(const struct op *op, struct err *e)
{
    return e->code == ERR_INTERNAL ? err_prefix(e, "%s", op->kind->name) : -1;
}

int graph_begin_ops(struct op *const *ops, size_t n, struct exec *x, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (ops[i]->begin && ops[i]->begin(ops[i], x, e) < 0)
            return name_op(ops[i], e);
    if (x->device_ops)
        x->device_ops->flush(x->device);
    return 0;
}

int graph_run(struct graph *g, struct exec *x, int (*ready)(void *arg, size_t upto, struct err *e),
              void *arg, struct err *e)
{
    size_t reported = 0;

    if (!x->kept && graph_begin_ops(g->ops, g->nops, x, e) < 0)
        return -1;
    g->nruns += g->timed;
    for (size_t i = 0; i < g->nops; i++) {
        struct op *op = g->ops[i];

        double began = g->timed ? time_now(x) : 0;

        if (op->kernel->run(op, x, e) < 0)
            return name_op(op, e);
        if (g->timed)
            op->seconds += time_now(x) - began;
        if (ready && op->ready > reported) {
            reported = op->ready;
            if (ready(arg, reported, e) < 0)
                return -1;
        }
    }
    if (x->device_ops)
        x->device_ops->flush(x->device);
    return 0;
}

uint64_t graph_hash(const struct graph *g)
{
    uint64_t hash = g->layers;

    for (size_t i = 0; i < g->nparams; i++) {
        const struct graph_param *p = &g->params[i];
        const struct shape *shape = &p->tensor->shape;

        hash = hash_text(hash, p->tensor->name);
        hash = hash_bytes(hash, &shape->ndim, sizeof shape->ndim);
        hash = hash_bytes(hash, shape->dim, (size_t)shape->ndim * sizeof *shape->dim);
        hash = hash_bytes(hash, &p->l2, sizeof p->l2);
    }
    return hash;
}
