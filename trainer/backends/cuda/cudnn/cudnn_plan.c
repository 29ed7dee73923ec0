/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cudnn/cudnn_plan.h"

#include <stdlib.h>

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

static int create(const struct cudnn_search *s, int type, void **d, struct err *e)
{
    return cudnn_graph_make(s->calls, type, d, e);
}

static int set(const struct cudnn_search *s, void *d, int name, int type, int64_t count,
               const void *elements, struct err *e)
{
    return cudnn_graph_set(s->calls, d, name, type, count, elements, e);
}

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

static void destroy(const struct cudnn_search *s, void *d)
{
    if (d)
        (void)s->calls->destroy_descriptor(d);
}

void cudnn_plan_end(struct cudnn_search *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->nlists; i++) {
        for (int64_t k = 0; k < MAX_ENGINES; k++)
            destroy(s, s->lists[i].configs[k]);
        destroy(s, s->lists[i].heuristics);
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

    if (create(s, DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &l->heuristics, &ignored) ||
        set(s, l->heuristics, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DNN_TYPE_BACKEND_DESCRIPTOR, 1,
            cudnn_graph_descriptor(s->graph), &ignored) ||
        set(s, l->heuristics, DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, 1, &l->mode,
            &ignored) ||
        s->calls->finalize(l->heuristics) != DNN_STATUS_SUCCESS ||
        s->calls->get(l->heuristics, DNN_ATTR_ENGINEHEUR_RESULTS, DNN_TYPE_BACKEND_DESCRIPTOR, 0,
                      &n, NULL) != DNN_STATUS_SUCCESS)
        return;
    if (n > MAX_ENGINES)
        n = MAX_ENGINES;
    for (int64_t i = 0; i < n; i++)
        if (create(s, DNN_BACKEND_ENGINECFG_DESCRIPTOR, &l->configs[i], &ignored))
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
    bool ok = create(s, DNN_BACKEND_ENGINE_DESCRIPTOR, &engine, &ignored) == 0 &&
              s->calls->get(config, DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &one,
                            &engine) == DNN_STATUS_SUCCESS &&
              s->calls->get(engine, DNN_ATTR_ENGINE_GLOBAL_INDEX, DNN_TYPE_INT64, 1, &one, id) ==
                  DNN_STATUS_SUCCESS &&
              s->calls->get(engine, DNN_ATTR_ENGINE_NUMERICAL_NOTE, DNN_TYPE_NUMERICAL_NOTE,
                            DNN_NUMERICAL_NOTES, &n, notes) == DNN_STATUS_SUCCESS &&
              n <= DNN_NUMERICAL_NOTES && suits(&s->problem, notes, n);

    destroy(s, engine);
    return ok;
}

static void *finalize_plan(const struct cudnn_search *s, void *config, size_t most)
{
    void *plan = NULL;
    int64_t workspace = 0, one = 0;
    struct err ignored;

    if (create(s, DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan, &ignored) == 0 &&
        set(s, plan, DNN_ATTR_EXECUTION_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &s->handle, &ignored) ==
            0 &&
        set(s, plan, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &config,
            &ignored) == 0 &&
        s->calls->finalize(plan) == DNN_STATUS_SUCCESS &&
        s->calls->get(plan, DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &one,
                      &workspace) == DNN_STATUS_SUCCESS &&
        workspace >= 0 && (size_t)workspace <= most)
        return plan;
    destroy(s, plan);
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
        destroy(s, plan);
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
