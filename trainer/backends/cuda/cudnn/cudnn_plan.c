/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of cuDNN for one convolution, and the search for an engine that runs one. */
#include "src/base.h"
#include "trainer/backends/cuda/cudnn/cudnn_internal.h"

#define MAX_OPERATIONS 3

/* Ids of tensors: those of the caller, then virtual ones, which are never in memory. */
enum { X = CUDNN_X, Y = CUDNN_Y, WEIGHTS = CUDNN_W, BIAS = CUDNN_B, CONVOLVED, BIASED, NTENSORS };

struct cudnn_graph {
    const struct cudnn_calls *calls;
    struct cudnn_problem problem;
    void *tensors[NTENSORS], *convolution, *add, *relu, *operations[MAX_OPERATIONS], *graph;
    int noperations;
};

static int check(const struct cudnn_calls *c, int status, const char *what, struct err *e)
{
    return status == DNN_STATUS_SUCCESS
               ? 0
               : err_set(e, ERR_INTERNAL, "cuDNN: %s: %s", what, c->get_error_string(status));
}

/* Create a descriptor, and set an attribute of one. */
static int create(const struct cudnn_graph *g, int type, void **d, struct err *e)
{
    return check(g->calls, g->calls->create_descriptor(type, d), "a descriptor", e);
}

static int set(const struct cudnn_graph *g, void *d, int name, int type, int64_t count,
               const void *elements, struct err *e)
{
    char what[32];

    snprintf(what, sizeof what, "attribute %d", name);
    return check(g->calls, g->calls->set(d, name, type, count, elements), what, e);
}

static int set_number(const struct cudnn_graph *g, void *d, int name, int64_t value, struct err *e)
{
    return set(g, d, name, DNN_TYPE_INT64, 1, &value, e);
}

static int finalize(const struct cudnn_graph *g, void *d, const char *what, struct err *e)
{
    return check(g->calls, g->calls->finalize(d), what, e);
}

/* Describes tensor id, [a][channels][rows][columns] with channels innermost in memory. Virtual
 * tensors and the bias are floats. */
static int describe_tensor(struct cudnn_graph *g, int id, const int64_t dims[4], struct err *e)
{
    enum dtype t = id < BIAS ? g->problem.dtype : DTYPE_F32;
    int type = t == DTYPE_BF16  ? DNN_DATA_BFLOAT16
               : t == DTYPE_F16 ? DNN_DATA_HALF
                                : DNN_DATA_FLOAT;
    int64_t strides[] = {dims[1] * dims[2] * dims[3], 1, dims[1] * dims[3], dims[1]};
    bool nowhere = id > BIAS;
    void **d = &g->tensors[id];

    return create(g, DNN_BACKEND_TENSOR_DESCRIPTOR, d, e) ||
                   set(g, *d, DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1, &type, e) ||
                   set(g, *d, DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, 4, dims, e) ||
                   set(g, *d, DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, 4, strides, e) ||
                   set_number(g, *d, DNN_ATTR_TENSOR_UNIQUE_ID, id, e) ||
                   set_number(g, *d, DNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_GRAPH_ALIGN, e) ||
                   (nowhere &&
                    set(g, *d, DNN_ATTR_TENSOR_IS_VIRTUAL, DNN_TYPE_BOOLEAN, 1, &nowhere, e)) ||
                   finalize(g, *d, "a tensor", e)
               ? -1
               : 0;
}

static int describe_tensors(struct cudnn_graph *g, struct err *e)
{
    const struct cudnn_problem *p = &g->problem;
    int64_t x[] = {p->n, p->c, p->h, p->w}, y[] = {p->n, p->k, p->oh, p->ow};
    int64_t weights[] = {p->k, p->c, p->side, p->side}, bias[] = {1, p->k, 1, 1};

    if (describe_tensor(g, X, x, e) || describe_tensor(g, Y, y, e) ||
        describe_tensor(g, WEIGHTS, weights, e))
        return -1;
    if (p->tail == CUDNN_ALONE)
        return 0;
    return describe_tensor(g, BIAS, bias, e) || describe_tensor(g, CONVOLVED, y, e) ||
                   (p->tail == CUDNN_BIAS_RELU && describe_tensor(g, BIASED, y, e))
               ? -1
               : 0;
}

static int describe_convolution(struct cudnn_graph *g, struct err *e)
{
    const struct cudnn_problem *p = &g->problem;
    int64_t pads[] = {p->pad, p->pad}, strides[] = {p->stride, p->stride};
    int64_t dilations[] = {p->dilation, p->dilation};
    int type = DNN_DATA_FLOAT, mode = DNN_CROSS_CORRELATION;
    void **d = &g->convolution;

    return create(g, DNN_BACKEND_CONVOLUTION_DESCRIPTOR, d, e) ||
                   set_number(g, *d, DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2, e) ||
                   set(g, *d, DNN_ATTR_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, 1, &type, e) ||
                   set(g, *d, DNN_ATTR_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE, 1, &mode,
                       e) ||
                   set(g, *d, DNN_ATTR_CONVOLUTION_PRE_PADDINGS, DNN_TYPE_INT64, 2, pads, e) ||
                   set(g, *d, DNN_ATTR_CONVOLUTION_POST_PADDINGS, DNN_TYPE_INT64, 2, pads, e) ||
                   set(g, *d, DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2, dilations, e) ||
                   set(g, *d, DNN_ATTR_CONVOLUTION_FILTER_STRIDES, DNN_TYPE_INT64, 2, strides, e) ||
                   finalize(g, *d, "a convolution", e)
               ? -1
               : 0;
}

/* Attributes that the three kinds of convolutions have in common, by their names in each. */
static const struct {
    int type, alpha, beta, convolution, tensors[3];
} directions[] = {
    [CUDNN_FORWARD] = {DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                       DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                       DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                       DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                       {DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                        DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                        DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W}},
    [CUDNN_DATA] = {DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                    {DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                     DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                     DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W}},
    [CUDNN_WEIGHTS] = {DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                       DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                       DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                       DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                       {DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                        DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                        DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW}},
};

static int describe_operation(struct cudnn_graph *g, struct err *e)
{
    int direction = g->problem.direction;
    float alpha = 1, beta = 0;
    void **d = &g->operations[g->noperations++];

    if (create(g, directions[direction].type, d, e) ||
        set(g, *d, directions[direction].alpha, DNN_TYPE_FLOAT, 1, &alpha, e) ||
        set(g, *d, directions[direction].beta, DNN_TYPE_FLOAT, 1, &beta, e) ||
        set(g, *d, directions[direction].convolution, DNN_TYPE_BACKEND_DESCRIPTOR, 1,
            &g->convolution, e))
        return -1;
    for (int i = 0; i < 3; i++) {
        int id = i == Y && g->problem.tail != CUDNN_ALONE ? CONVOLVED : i;
        if (set(g, *d, directions[direction].tensors[i], DNN_TYPE_BACKEND_DESCRIPTOR, 1,
                &g->tensors[id], e))
            return -1;
    }
    return finalize(g, *d, "an operation", e);
}

/* Describes an operation y(x) or, with b, y(x, b), number by number. */
static int describe_pointwise(struct cudnn_graph *g, int mode, void **pointwise, void **x, void **b,
                              void **y, struct err *e)
{
    int type = DNN_DATA_FLOAT;
    void **d = &g->operations[g->noperations++];

    return create(g, DNN_BACKEND_POINTWISE_DESCRIPTOR, pointwise, e) ||
                   set(g, *pointwise, DNN_ATTR_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, 1, &mode,
                       e) ||
                   set(g, *pointwise, DNN_ATTR_POINTWISE_MATH_PREC, DNN_TYPE_DATA_TYPE, 1, &type,
                       e) ||
                   finalize(g, *pointwise, "what is done to numbers", e) ||
                   create(g, DNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, d, e) ||
                   set(g, *d, DNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                       DNN_TYPE_BACKEND_DESCRIPTOR, 1, pointwise, e) ||
                   set(g, *d, DNN_ATTR_OPERATION_POINTWISE_XDESC, DNN_TYPE_BACKEND_DESCRIPTOR, 1, x,
                       e) ||
                   (b && set(g, *d, DNN_ATTR_OPERATION_POINTWISE_BDESC, DNN_TYPE_BACKEND_DESCRIPTOR,
                             1, b, e)) ||
                   set(g, *d, DNN_ATTR_OPERATION_POINTWISE_YDESC, DNN_TYPE_BACKEND_DESCRIPTOR, 1, y,
                       e) ||
                   finalize(g, *d, "an operation on numbers", e)
               ? -1
               : 0;
}

static int describe_tail(struct cudnn_graph *g, struct err *e)
{
    void **t = g->tensors;

    switch (g->problem.tail) {
    case CUDNN_ALONE:
        return 0;
    case CUDNN_BIAS:
        return describe_pointwise(g, DNN_POINTWISE_ADD, &g->add, &t[CONVOLVED], &t[BIAS], &t[Y], e);
    case CUDNN_BIAS_RELU:
        return describe_pointwise(g, DNN_POINTWISE_ADD, &g->add, &t[CONVOLVED], &t[BIAS],
                                  &t[BIASED], e) ||
                       describe_pointwise(g, DNN_POINTWISE_RELU_FWD, &g->relu, &t[BIASED], NULL,
                                          &t[Y], e)
                   ? -1
                   : 0;
    }
    return -1;
}

static int describe_graph(struct cudnn_graph *g, void *handle, struct err *e)
{
    return create(g, DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &g->graph, e) ||
                   (handle && set(g, g->graph, DNN_ATTR_OPERATIONGRAPH_HANDLE, DNN_TYPE_HANDLE, 1,
                                  &handle, e)) ||
                   set(g, g->graph, DNN_ATTR_OPERATIONGRAPH_OPS, DNN_TYPE_BACKEND_DESCRIPTOR,
                       g->noperations, g->operations, e) ||
                   finalize(g, g->graph, "a graph", e)
               ? -1
               : 0;
}

struct cudnn_graph *cudnn_graph_create(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e)
{
    struct cudnn_graph *g = calloc(1, sizeof *g);

    if (!g) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    g->calls = calls;
    g->problem = *problem;
    if (describe_tensors(g, e) || describe_convolution(g, e) || describe_operation(g, e) ||
        describe_tail(g, e) || describe_graph(g, handle, e)) {
        cudnn_graph_destroy(g);
        return NULL;
    }
    return g;
}

static void destroy(const struct cudnn_graph *g, void *d)
{
    if (d)
        (void)g->calls->destroy_descriptor(d);
}

void cudnn_graph_destroy(struct cudnn_graph *g)
{
    if (!g)
        return;
    destroy(g, g->graph);
    for (int i = 0; i < MAX_OPERATIONS; i++)
        destroy(g, g->operations[i]);
    destroy(g, g->relu);
    destroy(g, g->add);
    destroy(g, g->convolution);
    for (int i = 0; i < NTENSORS; i++)
        destroy(g, g->tensors[i]);
    free(g);
}

#define MAX_ENGINES 64 /* engines of a list that are considered */

struct list {
    int mode;
    void *heuristics;
    void *configs[MAX_ENGINES];
    int64_t n;
};

struct cudnn_search {
    const struct cudnn_calls *calls;
    void *handle;
    struct cudnn_problem problem;
    struct cudnn_graph *graph;
    struct list lists[2]; /* filled when the search gets there */
    int nlists;
    int64_t next; /* index of the next engine, over all lists */
};

struct cudnn_plan {
    const struct cudnn_calls *calls;
    void *handle, *plan;
    struct cudnn_engine engine;
};

static const int modes[] = {DNN_HEUR_MODE_A, DNN_HEUR_MODE_FALLBACK};

struct cudnn_search *cudnn_plan_search(const struct cudnn_calls *calls, void *handle,
                                       const struct cudnn_problem *problem, struct err *e)
{
    struct cudnn_search *s = calloc(1, sizeof *s);

    if (!s) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    *s = (struct cudnn_search){.calls = calls, .handle = handle, .problem = *problem,
                               .graph = cudnn_graph_create(calls, handle, problem, e)};
    if (!s->graph) {
        free(s);
        return NULL;
    }
    return s;
}

void cudnn_plan_end(struct cudnn_search *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->nlists; i++) {
        for (int64_t k = 0; k < MAX_ENGINES; k++)
            destroy(s->graph, s->lists[i].configs[k]);
        destroy(s->graph, s->lists[i].heuristics);
    }
    cudnn_graph_destroy(s->graph);
    free(s);
}

/* ---- engines */

/* Asks cuDNN for the engines of a list; without an answer the list is empty. */
static void fill_list(struct cudnn_search *s, struct list *l)
{
    struct err ignored;
    int64_t n = 0;

    if (create(s->graph, DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &l->heuristics, &ignored) ||
        set(s->graph, l->heuristics, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
            DNN_TYPE_BACKEND_DESCRIPTOR, 1, &s->graph->graph, &ignored) ||
        set(s->graph, l->heuristics, DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, 1, &l->mode,
            &ignored) ||
        s->calls->finalize(l->heuristics) != DNN_STATUS_SUCCESS ||
        s->calls->get(l->heuristics, DNN_ATTR_ENGINEHEUR_RESULTS, DNN_TYPE_BACKEND_DESCRIPTOR, 0,
                      &n, NULL) != DNN_STATUS_SUCCESS)
        return;
    if (n > MAX_ENGINES)
        n = MAX_ENGINES;
    for (int64_t i = 0; i < n; i++)
        if (create(s->graph, DNN_BACKEND_ENGINECFG_DESCRIPTOR, &l->configs[i], &ignored))
            return;
    if (n > 0 && s->calls->get(l->heuristics, DNN_ATTR_ENGINEHEUR_RESULTS,
                               DNN_TYPE_BACKEND_DESCRIPTOR, n, &l->n,
                               l->configs) != DNN_STATUS_SUCCESS)
        l->n = 0;
    l->n = l->n < n ? l->n : n;
}

static const struct list *list_of(struct cudnn_search *s, int i)
{
    while (s->nlists <= i) {
        s->lists[s->nlists].mode = modes[s->nlists];
        fill_list(s, &s->lists[s->nlists++]);
    }
    return &s->lists[i];
}

static bool suits(const struct cudnn_problem *p, const int *notes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (notes[i] == DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
            notes[i] == DNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
            (notes[i] == DNN_NUMERICAL_NOTE_TENSOR_CORE && p->dtype == DTYPE_F32 && !p->tf32) ||
            (notes[i] == DNN_NUMERICAL_NOTE_NONDETERMINISTIC && p->deterministic))
            return false;
    return true;
}

/* Reads the id of a configuration's engine, and returns whether its numerical notes are
 * acceptable. */
static bool look_at(const struct cudnn_search *s, void *config, int64_t *id)
{
    int notes[DNN_NUMERICAL_NOTES];
    int64_t n = 0, one = 0;
    void *engine = NULL;
    struct err ignored;
    bool ok = create(s->graph, DNN_BACKEND_ENGINE_DESCRIPTOR, &engine, &ignored) == 0 &&
              s->calls->get(config, DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &one,
                            &engine) == DNN_STATUS_SUCCESS &&
              s->calls->get(engine, DNN_ATTR_ENGINE_GLOBAL_INDEX, DNN_TYPE_INT64, 1, &one, id) ==
                  DNN_STATUS_SUCCESS &&
              s->calls->get(engine, DNN_ATTR_ENGINE_NUMERICAL_NOTE, DNN_TYPE_NUMERICAL_NOTE,
                            DNN_NUMERICAL_NOTES, &n, notes) == DNN_STATUS_SUCCESS &&
              n <= DNN_NUMERICAL_NOTES && suits(&s->problem, notes, n);

    destroy(s->graph, engine);
    return ok;
}

static void *finalize_plan(const struct cudnn_search *s, void *config, size_t most)
{
    void *plan = NULL;
    int64_t workspace = 0, one = 0;
    struct err ignored;

    if (create(s->graph, DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan, &ignored) == 0 &&
        set(s->graph, plan, DNN_ATTR_EXECUTION_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &s->handle,
            &ignored) == 0 &&
        set(s->graph, plan, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_TYPE_BACKEND_DESCRIPTOR, 1,
            &config, &ignored) == 0 &&
        s->calls->finalize(plan) == DNN_STATUS_SUCCESS &&
        s->calls->get(plan, DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &one,
                      &workspace) == DNN_STATUS_SUCCESS &&
        workspace >= 0 && (size_t)workspace <= most)
        return plan;
    destroy(s->graph, plan);
    return NULL;
}

/* Returns NULL if the engine is not acceptable, or needs too much workspace. */
static struct cudnn_plan *make_plan(struct cudnn_search *s, int mode, int64_t index, void *config,
                                    size_t most)
{
    struct cudnn_plan *p;
    int64_t id = 0;
    void *plan = look_at(s, config, &id) ? finalize_plan(s, config, most) : NULL;

    if (!plan)
        return NULL;
    p = calloc(1, sizeof *p);
    if (!p) {
        destroy(s->graph, plan);
        return NULL;
    }
    *p = (struct cudnn_plan){s->calls, s->handle, plan, {mode, index, id, s->problem.tail}};
    return p;
}

struct cudnn_plan *cudnn_plan_next(struct cudnn_search *s, size_t most)
{
    int64_t before = 0;

    for (int i = 0; i < (int)(sizeof modes / sizeof *modes); i++) {
        const struct list *l = list_of(s, i);
        while (s->next - before < l->n) {
            int64_t index = s->next++ - before;
            struct cudnn_plan *p = make_plan(s, l->mode, index, l->configs[index], most);
            if (p)
                return p;
        }
        before += l->n;
    }
    return NULL;
}

struct cudnn_plan *cudnn_plan_find(struct cudnn_search *s, const struct cudnn_engine *engine,
                                     size_t most)
{
    for (int i = 0; i < (int)(sizeof modes / sizeof *modes); i++) {
        const struct list *l = modes[i] == engine->mode ? list_of(s, i) : NULL;
        if (!l || engine->index < 0 || engine->index >= l->n)
            continue;
        struct cudnn_plan *p = make_plan(s, l->mode, engine->index, l->configs[engine->index],
                                         most);
        if (p && p->engine.id == engine->id)
            return p;
        cudnn_plan_close(p);
    }
    return NULL;
}

/* ---- plans */

void cudnn_plan_close(struct cudnn_plan *p)
{
    if (!p)
        return;
    (void)p->calls->destroy_descriptor(p->plan);
    free(p);
}

const struct cudnn_engine *cudnn_plan_engine(const struct cudnn_plan *p)
{
    return &p->engine;
}

int cudnn_plan_run(const struct cudnn_plan *p, void *const pointers[4], void *workspace,
                   struct err *e)
{
    static const int64_t ids[] = {CUDNN_X, CUDNN_Y, CUDNN_W, CUDNN_B};
    int64_t n = p->engine.tail == CUDNN_ALONE ? 3 : 4;
    void *pack = NULL;
    const struct cudnn_calls *c = p->calls;
    int rc = c->create_descriptor(DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);

    if (rc == DNN_STATUS_SUCCESS)
        rc = c->set(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, DNN_TYPE_INT64, n, ids);
    if (rc == DNN_STATUS_SUCCESS)
        rc = c->set(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS, DNN_TYPE_VOID_PTR, n, pointers);
    if (rc == DNN_STATUS_SUCCESS)
        rc = c->set(pack, DNN_ATTR_VARIANT_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1, &workspace);
    if (rc == DNN_STATUS_SUCCESS)
        rc = c->finalize(pack);
    if (rc == DNN_STATUS_SUCCESS)
        rc = c->execute(p->handle, p->plan, pack);
    if (pack)
        (void)c->destroy_descriptor(pack);
    return rc == DNN_STATUS_SUCCESS
               ? 0
               : err_set(e, ERR_INTERNAL, "cuDNN: engine %lld could not be run: %s",
                         (long long)p->engine.id, c->get_error_string(rc));
}
